// The sums in the chart's head, and how one more request changes them. Pure.
import { count } from "./format.js";

/** Where a bar has what; see `Bar.packed`. */
export const FIRST = 0, TURN = 1, READ = 2, WRITTEN = 3, OTHER = 4, OUTPUT = 5, COST = 6, TTFT = 7, MARKS = 8, CAUSE = 9, LAST = 10, UNSPLIT = 11, EXPECTED = 12;

/** A bar as it travels, whole: what was left out at its end is unknown, empty or as usual. */
export function whole(bar) {
  const made = Array.from({ length: 13 }, (_, at) => bar[at] ?? null);
  made[MARKS] ??= "";
  made[CAUSE] ??= "";
  made[LAST] ??= made[FIRST];
  return made;
}

/** A bar's input tokens; null: unknown. */
export function input(bar) {
  return bar[READ] === null ? bar[UNSPLIT] : bar[READ] + bar[WRITTEN] + bar[OTHER];
}

/** The sums (`Head.packed`) with one more request; `before` is the bar before it, undefined where there was none. */
export function grown([requests, prompt, cached, sent, fresh, cost, unpriced, unknown, simulated], bar, before) {
  const tokens = input(bar), known = bar[READ] !== null;
  return [requests + 1, prompt + (known ? tokens : 0), cached + (known ? bar[READ] : 0), sent + (tokens || 0),
    fresh + Math.max((tokens || 0) - (before ? input(before) || 0 : 0), 0), cost + (bar[COST] || 0),
    unpriced + (bar[COST] === null), unknown + !known, simulated];
}

/** The sums in one line. */
export function headline([requests, prompt, cached, sent, fresh, cost, unpriced, unknown, simulated]) {
  const price = requests && unpriced === requests ? "?" : `$${cost.toFixed(4)}`;
  const rate = prompt ? `${(100 * cached / prompt).toFixed(1)}%` : "?";
  const times = fresh ? `${(sent / fresh).toFixed(1)} times` : "?";
  const some = unpriced && unpriced < requests ? ` (${count(unpriced)} unknown)` : "";
  return [`${count(requests)} requests`, `hit rate ${rate}`, `amplification ${times}`, `cost ${price}${some}`,
    unknown ? `${count(unknown)} without cached tokens reported` : "", simulated ? "token counts simulated" : ""].filter(Boolean).join(" · ");
}
