// Sequence numbers: whether a message is the next one, an old one, or one after a gap. Pure.

/** What to do with message `number` where `last` was the last one: "take", "skip", or "ask" for the whole state. */
export function judge(last, number) {
  if (number === last + 1) return "take";
  return number <= last ? "skip" : "ask";
}
