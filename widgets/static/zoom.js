// Which requests a chart shows. Pure.

/** The range [first, last) zoomed by `factor` (below 1: closer) around the place `focus`. */
export function zoomed([first, last], total, factor, focus) {
  const size = Math.max(1, Math.min(total, Math.round((last - first) * factor)));
  const share = last > first ? (focus - first) / (last - first) : 0.5;
  const start = Math.round(focus - share * size);
  return clamped(start, start + size, total);
}

/** The range moved by a share of itself. */
export function panned([first, last], total, share) {
  const by = Math.max(1, Math.round((last - first) * Math.abs(share))) * Math.sign(share);
  return clamped(first + by, last + by, total);
}

/** The range moved so that it lies in [0, total). */
export function clamped(first, last, total) {
  const size = Math.min(last - first, total);
  const start = Math.max(0, Math.min(first, total - size));
  return [start, start + size];
}
