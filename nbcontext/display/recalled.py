"""A stored result as a person looks at it: what of it the model was sent, and its static form. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from itertools import islice
from typing import TYPE_CHECKING

from nbcontext.display.twin import Twin
from nbcontext.plain import visible

if TYPE_CHECKING:
    from nbcontext.loop import Context
    from nbcontext.result import Result

BYTES = 38_000
"""Bytes of the static form in a saved notebook, at most."""

_FRAME_BYTES = 1_500
"""Of those, what the frame around the lines may take."""
_LINE_CHARS = 2_000
"""Characters of one line that the static form shows."""

MARKS = {"+": "add", "-": "del", "@": "hunk"}
"""How a line of a diff begins to what it is."""
_TINTS = {"add": "rgba(0,158,115,0.16)", "del": "rgba(213,94,0,0.16)", "hunk": "rgba(0,114,178,0.12)"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Unsent:
    """The lines of a stored text that the model was not sent."""

    first: int = 0
    """From 1; 0: there are none."""
    last: int = 0
    cut: int = 0
    """Characters shown of the first line, which was cut; 0: it was not."""
    instead: str = ""
    """The one line that the model was sent in their place."""

    @property
    def count(self) -> int:
        """How many they are."""
        return self.last - self.first + 1 if self.first else 0

    def covers(self, number: int) -> bool:
        """Return whether line `number` is one of them."""
        return self.first <= number <= self.last if self.first else False


def bracket(result: Result) -> str:
    """Return the result's first line as the model was sent it."""
    return result.sent.split("\n", 1)[0]


def unsent(result: Result, context: Context) -> Unsent:
    """Return which lines of the stored text the model was not sent, read from what it was sent (§2, §3, §6)."""
    first, _, body = result.sent.partition("\n")
    if result.kind == "stub":
        return Unsent(first=1 if result.stored_lines else 0, last=result.stored_lines, instead=first)
    start, _, end = context.cap.elided.format(lines="\0", id=context.id(result.number)).partition("\0")
    sent = body.split("\n")
    for at, line in enumerate(sent):
        count = line.removeprefix(start).removesuffix(end)
        if line.startswith(start) and line.endswith(end) and count.isdigit():
            cut = len(sent[0]) - len(context.cut) if at == 1 and sent[0].endswith(context.cut) else 0
            many = int(count)
            return Unsent(first=at + 1 if many else 0, last=at + many if many else 0, cut=cut, instead=line)
    return Unsent()


def twin(
    result: Result, lines: Iterable[str], *, first: int, context: Context, title: str, limit: int = 2000, note: str = ""
) -> Twin:
    """Return the static form of a window: as many whole lines as fit, the rest counted.

    Args:
        result: the result.
        lines: the lines of its stored text from `first` on.
        first: number of the first of them.
        context: the form of ids, and how much a window shows.
        title: whose result it is.
        limit: lines that were asked for.
        note: what is to be known about it; empty: nothing.
    """
    gone = unsent(result, context)
    window = list(islice(lines, min(limit, context.window.max_lines)))
    last = first + len(window) - 1
    shown, used = [], _FRAME_BYTES
    for number, line in enumerate(window, first):
        made = _line(number, line, gone, is_diff=result.kind == "diff")
        used += len(json.dumps(made, ensure_ascii=False).encode(errors="replace"))
        if used > BYTES:
            break
        shown.append(made)
    of = f"lines {first:,}-{last:,} of {result.stored_lines:,}" if window else f"{result.stored_lines:,} lines"
    summary = f"{title} · {bracket(result)[:200]} · {result.kind} · {of}"
    more = (
        [f"{len(window) - len(shown):,} more lines of the window are not shown here."]
        if len(shown) < len(window)
        else []
    )
    told = [line for line in (note, _told(gone), *more) if line]
    html = "".join(f"<div>{escape(visible(line))}</div>" for line in told)
    if shown:
        html += f'<pre style="overflow-x:auto;max-height:40em;margin:0.3em 0">{"".join(shown)}</pre>'
    head = "\n".join((visible(summary), *map(visible, told)))
    text = "\n".join((head, *(visible(line) for line in window)))
    return Twin(summary=summary, html=html, text=text, short=head)


def _told(gone: Unsent) -> str:
    if gone.first:
        return f"Lines {gone.first:,}-{gone.last:,} (marked ┊) were not sent; the model was sent: {gone.instead[:200]}"
    return f"Of the first line the model was sent {gone.cut:,} characters." if gone.cut else ""


def _line(number: int, line: str, gone: Unsent, *, is_diff: bool) -> str:
    shown = visible(line)
    if len(shown) > _LINE_CHARS:
        shown = f"{shown[:_LINE_CHARS]}… ({len(shown) - _LINE_CHARS:,} more characters)"
    mark = "┊" if gone.covers(number) else " "
    tint = _TINTS.get(MARKS.get(line[:1], "")) if is_diff else None
    made = f"{number:>6}{mark} {escape(shown, quote=False)}\n"
    return f'<span style="background:{tint}">{made}</span>' if tint else made
