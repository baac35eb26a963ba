// Numbers and texts as a person reads them. Pure.

/** A whole number with commas; "?" where it is unknown. */
export function count(value) {
  return value === null || value === undefined ? "?" : Math.round(value).toLocaleString("en-US");
}

/** US dollars. */
export function money(value) {
  return value === null || value === undefined ? "?" : `$${value < 0.01 ? value.toFixed(4) : value.toFixed(2)}`;
}

/** Milliseconds as seconds. */
export function seconds(ms) {
  return ms === null || ms === undefined ? "?" : `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)} s`;
}

/** The least of 1, 2, 5 times a power of ten that is not below `most`. */
export function nice(most) {
  if (!(most > 0)) return 1;
  const scale = 10 ** Math.floor(Math.log10(most));
  for (const factor of [1, 2, 5, 10]) if (factor * scale >= most * (1 - 1e-9)) return factor * scale;
  return 10 * scale;
}

/** A line in pieces: [text, hit], where hit is the number of the hit in this line, -1 outside; `spans` are sorted. */
export function pieces(line, spans) {
  const made = [];
  let at = 0;
  spans.forEach(([start, end], hit) => {
    if (start < at || end <= start) return;
    if (start > at) made.push([line.slice(at, start), -1]);
    made.push([line.slice(start, end), hit]);
    at = end;
  });
  if (at < line.length || !made.length) made.push([line.slice(at), -1]);
  return made;
}

/** Hit `to` of a list of hits' lines, as its line and its number within that line. */
export function placeOf(lines, to) {
  let within = 0;
  for (let at = to - 1; at >= 0 && lines[at] === lines[to]; at--) within++;
  return { line: lines[to], within };
}

/** The first hit at or after `line`; 0 where there is none after it. */
export function hitFrom(lines, line) {
  let low = 0, high = lines.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lines[middle] < line) low = middle + 1;
    else high = middle;
  }
  return low < lines.length ? low : 0;
}
