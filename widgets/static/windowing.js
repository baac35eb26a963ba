// Which rows of a long list are in view, and which of them are still to be asked for. Pure.

/** The rows to draw: those in view and a margin on both sides, as [first, after the last]. */
export function inView(top, height, rowHeight, total, margin) {
  const first = Math.max(0, Math.floor(top / rowHeight) - margin);
  const last = Math.min(total, Math.ceil((top + height) / rowHeight) + margin);
  return [Math.min(first, Math.max(last, 0)), Math.max(last, 0)];
}

/** What of [first, last) is not in `rows` (a Map by place), as one stretch [first, last); null: nothing. */
export function lacking(rows, first, last) {
  while (first < last && rows.has(first)) first++;
  while (last > first && rows.has(last - 1)) last--;
  return first < last ? [first, last] : null;
}

/** Forget the rows that are far from [first, last), so that scrolling on for ever keeps a page small. */
export function forget(rows, first, last, most) {
  if (rows.size <= most) return;
  const middle = (first + last) / 2;
  const far = [...rows.keys()].sort((a, b) => Math.abs(b - middle) - Math.abs(a - middle));
  for (const key of far.slice(0, rows.size - most)) rows.delete(key);
}

/** Where a list is to be scrolled so that row `at` is in view; null: it is. */
export function scrollTo(at, top, height, rowHeight) {
  if (at * rowHeight < top) return at * rowHeight;
  if ((at + 1) * rowHeight > top + height) return (at + 1) * rowHeight - height;
  return null;
}

/** Where a key leads from row `at`; null: it is no key of movement. */
export function step(key, at, total, page) {
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: total - 1 }[key];
  return to === undefined ? null : Math.max(0, Math.min(total - 1, to));
}
