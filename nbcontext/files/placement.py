"""Where the hunks of a patch belong in a text, and the text with them applied (decision 16). Pure.

Hunks go forward: each is looked for after the last one and its own anchors, with its lines as they are, then without
trailing white space, then with all white space normalised; the first of these three that finds it must find one place.
Of several anchors each is the first such line after the one before. The anchor of a hunk that only adds must itself be
at one place, for nothing else says where the hunk goes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Literal

from nbcontext import lines
from nbcontext.errors import NbcontextError
from nbcontext.files.patch import Hunk

_TIERS: tuple[Callable[[str], str], ...] = (str, str.rstrip, lambda line: " ".join(line.split()))


class PlacementError(NbcontextError):
    """Lines of a patch are at no place, or at several."""

    def __init__(self, problem: Literal["missing", "many", "not_at_end"], wanted: Sequence[str], after: int) -> None:
        super().__init__(f"{problem}: {len(wanted)} lines after line {after}")
        self.problem = problem
        self.wanted = tuple(wanted)
        self.after = after
        """Number of the line after which they were looked for; 0: from the start."""
        self.places: tuple[int, ...] = ()
        """Numbers of the lines that the places begin with."""


class _Tier:
    """The lines of a text as one tier compares them, and where each of them stands."""

    def __init__(self, rows: Sequence[str], key: Callable[[str], str]) -> None:
        self._rows, self._key = rows, key

    @cached_property
    def _keys(self) -> list[str]:
        return [self._key(row) for row in self._rows]

    @cached_property
    def _index(self) -> dict[str, list[int]]:
        index: defaultdict[str, list[int]] = defaultdict(list)
        for at, key in enumerate(self._keys):
            index[key].append(at)
        return dict(index)

    def find(self, wanted: Sequence[str], start: int) -> list[int]:
        """Return every index from `start` on where the lines `wanted` stand in a row."""
        keys = [self._key(line) for line in wanted]
        # The rarest line decides where to look.
        offset, places = min(
            ((i, self._index.get(key, [])) for i, key in enumerate(keys)), key=lambda pair: len(pair[1])
        )
        starts = (at - offset for at in places[bisect_left(places, start + offset) :])
        return [at for at in starts if self._keys[at : at + len(keys)] == keys]


class _Place:
    """A text being searched, hunk after hunk."""

    def __init__(self, rows: Sequence[str]) -> None:
        self._size = len(rows)
        self._tiers = [_Tier(rows, key) for key in _TIERS]
        self.at = 0
        """Index of the first line after the last hunk."""

    def find(self, hunk: Hunk) -> int:
        """Return the index at which a hunk begins, and go past it."""
        for number, anchor in enumerate(hunk.anchors, 1):
            decides = number == len(hunk.anchors) and not hunk.old and not hunk.at_end
            self.at = self._one([anchor], single=decides) + 1
        if not hunk.old:
            self.at = self._size if hunk.at_end or not hunk.anchors else self.at
            return self.at
        begin = self._one(hunk.old, at_end=hunk.at_end)
        self.at = begin + len(hunk.old)
        return begin

    def _one(self, wanted: Sequence[str], *, single: bool = True, at_end: bool = False) -> int:
        elsewhere = False
        for tier in self._tiers:
            found = tier.find(wanted, self.at)
            if at_end and found:
                elsewhere = True
                found = [at for at in found if at + len(wanted) == self._size]
            if len(found) == 1 or (found and not single):
                return found[0]
            if found:
                error = PlacementError("many", wanted, self.at)
                error.places = tuple(at + 1 for at in found)
                raise error
        raise PlacementError("not_at_end" if elsewhere else "missing", wanted, self.at)


def apply(text: str, hunks: Sequence[Hunk]) -> str:
    r"""Return `text` with all `hunks` applied; no line changes but those they remove and add.

    An added line takes the terminator of the line before it, which may be a removed one. Where the last line of `text`
    has no terminator, neither has an added line that comes to be last.

    Raises:
        PlacementError: a hunk's lines or anchors are at no place or at several.
    """
    rows = lines.split_keeping(text)
    place = _Place([line for line, _ in rows])
    made: list[tuple[str, str]] = []
    at = 0
    last_added = False
    for hunk in hunks:
        begin = place.find(hunk)
        if begin > at:
            made.extend(rows[at:begin])
            last_added = False
        at = begin
        for mark, line in hunk.body:
            if mark == "+":
                made.append((line, _terminator(rows, at)))
            else:
                if mark == " ":
                    made.append(rows[at])
                at += 1
            last_added = mark == "+" or (last_added and mark == "-")
    made.extend(rows[at:])
    return _joined(made, open_end=bool(rows) and not rows[-1][1], last_added=last_added and at == len(rows), rows=rows)


def _joined(made: list[tuple[str, str]], *, open_end: bool, last_added: bool, rows: list[tuple[str, str]]) -> str:
    if not open_end:
        return "".join(line + end for line, end in made)
    usual = _terminator(rows, len(rows))
    parts = [line + (end or usual) for line, end in made[:-1]]
    if made:
        line, end = made[-1]
        parts.append(line if last_added else line + end)
    return "".join(parts)


def _terminator(rows: list[tuple[str, str]], at: int) -> str:
    """Return the terminator of the nearest line before `at` that has one, else of the one there, else a line feed."""
    for index in range(at - 1, max(at - 3, -1), -1):
        if rows[index][1]:
            return rows[index][1]
    return (rows[at][1] if at < len(rows) else "") or "\n"
