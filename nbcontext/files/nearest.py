"""Where in a text something that is not there was most likely meant to be, and how that place is shown. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

_MOST_CHARS = 4_000_000
"""A larger text is only searched for equal lines: comparing all of it letter by letter would hold the call up."""
_MOST_PLACES = 1_000
"""Places of one line that are counted: a line that stands everywhere says nothing about where."""
_GRAM = 3
_LIKE = 0.4
"""Share of a line's letter groups that another must have to be like it."""


def nearest(wanted: Sequence[str], lines: Sequence[str]) -> int | None:
    """Return the index from which `lines` are most like `wanted`; None where nothing is alike.

    Lines that are equal but for white space vote for where `wanted` would begin; where there is none, the line most
    like the longest of `wanted` decides.
    """
    keys = [" ".join(line.split()) for line in wanted]
    places: defaultdict[str, list[int]] = defaultdict(list)
    looked_for = {key for key in keys if key}
    for index, line in enumerate(lines):
        key = " ".join(line.split())
        if key in looked_for and len(places[key]) < _MOST_PLACES:
            places[key].append(index)
    votes: Counter[int] = Counter()
    for offset, key in enumerate(keys):
        for index in places.get(key, ()):
            votes[max(index - offset, 0)] += len(key)
    if votes:
        return min(votes, key=lambda start: (-votes[start], start))
    return _most_like(keys, lines)


def _most_like(keys: Sequence[str], lines: Sequence[str]) -> int | None:
    offset, key = max(enumerate(keys), key=lambda pair: len(pair[1]), default=(0, ""))
    grams = _grams(key)
    if not grams or sum(map(len, lines)) > _MOST_CHARS:
        return None
    best, place = _LIKE, None
    for index, line in enumerate(lines):
        found = _grams(line)
        score = 2 * len(grams & found) / (len(grams) + len(found)) if found else 0.0
        if score > best:
            best, place = score, index
    return None if place is None else max(place - offset, 0)


def _grams(line: str) -> set[str]:
    line = line.casefold()
    return {line[i : i + _GRAM] for i in range(max(len(line) - _GRAM + 1, 0))}


def visible(line: str) -> str:
    """Return `line` with tabs as `→`, spaces as `·`, a carriage return as `␍` and the no-break space as `⍽`."""
    return line.translate({9: "→", 32: "·", 13: "␍", 0xA0: "⍽"})


def clipped(line: str, most: int) -> str:
    """Return `line`, cut to `most` characters and marked where it is longer."""
    return line if len(line) <= most else line[:most] + "…"
