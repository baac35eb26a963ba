"""§3: large output keeps its head and its tail, with one line between that says how much was left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nbcontext import lines
from nbcontext.outcome import FileRead, Recalled

if TYPE_CHECKING:
    from nbcontext.hygiene.draft import Draft, Surroundings
    from nbcontext.loop import Cap


@dataclass(frozen=True, kw_only=True, slots=True)
class _End:
    """One end of a text: as many whole lines as fit."""

    text: str
    lines: int
    """Whole lines, and a cut first line as one (decision 6)."""


def cap(draft: Draft, around: Surroundings) -> Draft:
    """Cut the body to head and tail where it is over the cap; a read or a recall has its own window."""
    rule = around.context.cap
    if draft.kind == "stub" or isinstance(draft.outcome, FileRead | Recalled) or not over(draft.body, rule):
        return draft
    body = draft.body
    total = lines.count(body)
    first_end = _line_end(body, 0)
    if first_end > rule.head_chars:
        head, rest = _End(text=body[: rule.head_chars] + around.context.cut, lines=1), body.find("\n") + 1
        rest = rest or len(body)
    else:
        head, rest = _head(body, rule)
    tail = _tail(body, rest, rule)
    elided = total - head.lines - tail.lines
    between = rule.elided.format(lines=elided, id=around.context.id(draft.number))
    parts = (head.text, between, tail.text) if tail.lines else (head.text, between)
    kept = f"{head.text}\n{tail.text}"
    capped = replace(draft, kind="capped" if draft.kind == "full" else draft.kind, body="\n".join(parts), stored=body)
    return capped.reported(
        "cap",
        kept,
        lines_kept=head.lines + tail.lines,
        lines_elided=elided,
        chars_elided=max(len(body) - len(kept), 0),
    )


def over(text: str, rule: Cap) -> bool:
    r"""Return whether `text` is over the cap; the limits are inclusive, and `\r\n` counts as one character."""
    size = len(text)
    if size > 2 * rule.max_chars:  # even if it were all "\r\n": no second pass over a large text
        return True
    return lines.count(text) > rule.max_lines or (size > rule.max_chars and lines.length(text) > rule.max_chars)


def _line_end(text: str, start: int) -> int:
    """Return where the line that begins at `start` ends, before its terminator."""
    end = text.find("\n", start)
    if end < 0:
        return len(text)
    return end - 1 if end > start and text[end - 1] == "\r" else end


def _head(text: str, rule: Cap) -> tuple[_End, int]:
    """Return the head, and where what follows it begins."""
    start = end = taken = used = 0
    while taken < rule.head_lines and start < len(text):
        line_end = _line_end(text, start)
        used += line_end - start + (1 if taken else 0)
        if used > rule.head_chars:
            break
        taken, end = taken + 1, line_end
        start = text.find("\n", start) + 1 or len(text)
    return _End(text=text[:end], lines=taken), start


def _tail(text: str, begin: int, rule: Cap) -> _End:
    """Return the tail of what `text` has from `begin` on."""
    stop = end = last = len(lines.without_final(text))
    taken = used = 0
    while taken < rule.tail_lines and begin <= end and begin < len(text):
        start = text.rfind("\n", begin, end) + 1 or begin
        size = _line_end(text, start) - start
        used += size + (1 if taken else 0)
        if used > rule.tail_chars:
            break
        taken, stop, end = taken + 1, start, start - 1
    return _End(text=text[stop:last], lines=taken)
