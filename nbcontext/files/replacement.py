r"""Replacing a text in a text as `edit` and `multiedit` do (decisions 3 and 14). Pure.

A `\n` in what is looked for matches `\r\n` too, and every line feed of what is put there becomes the terminator of the
line where the match starts. Texts are compared with all terminators as `\n`; positions are then led back, so nothing
outside a match changes by a byte.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Replaced:
    """What came of one replacement."""

    text: str | None
    """The new text; None where there are no or, without `replace_all`, several places."""
    places: tuple[int, ...]
    """Lines, from 1, that matches start in; overlapping matches are places of their own without `replace_all`."""


def replace(text: str, old: str, new: str, *, replace_all: bool) -> Replaced:
    r"""Put `new` where `old` stands in `text`; `old` is not empty.

    A `\r\n` in `old` is looked for as it stands first, and as a line feed where that is nowhere.
    """
    matches = _matches(text, old, overlapping=not replace_all)
    if not matches:
        return Replaced(text=None, places=())
    places = tuple(_line_numbers(text, [start for start, _ in matches]))
    if len(matches) > 1 and not replace_all:
        return Replaced(text=None, places=places)
    fed = new.replace("\r\n", "\n")
    parts, at = [], 0
    for start, end in matches:
        parts += [text[at:start], fed.replace("\n", terminator_at(text, start)) if "\n" in fed else fed]
        at = end
    parts.append(text[at:])
    return Replaced(text="".join(parts), places=places)


def terminator_at(text: str, position: int) -> str:
    r"""Return the terminator of the line that `position` is in; of a last line without one, that of the line before."""
    end = text.find("\n", position)
    if end < 0:
        end = text.rfind("\n", 0, position)
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def _matches(text: str, old: str, *, overlapping: bool) -> list[tuple[int, int]]:
    """Return (start, end) of every place of `old`, in order."""
    plain, wanted = text.replace("\r\n", "\n"), old.replace("\r\n", "\n")
    feeds = _feeds(text) if len(plain) != len(text) else []
    exact: list[tuple[int, int]] = []
    found: list[tuple[int, int]] = []
    start = plain.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        place = (start + bisect_left(feeds, start), end + bisect_left(feeds, end))
        found.append(place)
        if len(wanted) != len(old) and text[place[0] : place[1]] == old:
            exact.append(place)
        start = plain.find(wanted, start + 1 if overlapping else end)
    return exact or found


def _feeds(text: str) -> list[int]:
    r"""Return where the line feeds of `\r\n` stand once every `\r\n` is a `\n`."""
    positions: list[int] = []
    at = text.find("\r\n")
    while at >= 0:
        positions.append(at - len(positions))
        at = text.find("\r\n", at + 2)
    return positions


def _line_numbers(text: str, positions: list[int]) -> list[int]:
    numbers, line, at = [], 1, 0
    for position in positions:
        line += text.count("\n", at, position)
        at = position
        numbers.append(line)
    return numbers


def rewrite(text: str, content: str) -> str:
    r"""Return `content` with the terminators that a `write` over `text` gives it (decision 3).

    Where `text` has one kind of terminator it is that. Where it has both, a line that stays keeps its own, and another
    takes that of the line before it. Where it has none, `content` stays as it is.
    """
    crlf = text.count("\r\n")
    if not crlf and "\n" not in text:
        return content
    fed = content.replace("\r\n", "\n")
    if crlf == text.count("\n"):
        return fed.replace("\n", "\r\n")
    return _aligned(text, fed) if crlf else fed


def _aligned(text: str, fed: str) -> str:
    from nbcontext import lines
    from nbcontext.files import diff

    old = lines.split_keeping(text)
    pairs = lines.split_keeping(fed)
    terminators: list[str | None] = [None] * len(pairs)
    for at_old, at_new, count in diff.kept(text, fed):
        for step in range(count):
            terminators[at_new + step] = old[at_old + step][1]
    last = old[0][1]
    parts = []
    for (line, own), kept in zip(pairs, terminators, strict=True):
        last = kept or last
        parts.append(line + (last if own else ""))
    return "".join(parts)
