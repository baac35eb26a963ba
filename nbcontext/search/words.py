"""Words as `search` compares them, and the passages it ranks. Pure.

A word is a run of letters, digits and `_`, without regard to case and diacritics. An identifier counts as itself and
as its parts (`parseHTTPHeader`: parse, http, header; `max_file_size`: max, file, size). Scripts without spaces
between words (Chinese, Japanese, Thai …) count by single characters and by pairs of neighbours.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_WORD = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_LONGEST = 100
"""Characters of a word that are compared: longer ones are data, not words."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """Some lines of a file that belong together."""

    first: int
    """Line, from 1."""
    last: int
    text: str
    """The lines without the last one's terminator."""


def words(text: str) -> Iterator[str]:
    """Yield the words of `text` in their compared form, parts of identifiers after the whole."""
    for found in _WORD.finditer(text):
        word = found[0]
        if len(word) > _LONGEST * 10:
            continue
        if word.isascii():
            yield from _identifier(word)
            continue
        at = 0
        for run in _UNSPACED.finditer(word):
            yield from _identifier(_folded(word[at : run.start()]))
            yield from run[0]
            yield from (run[0][i : i + 2] for i in range(len(run[0]) - 1))
            at = run.end()
        yield from _identifier(_folded(word[at:]))


def passages(lines: Sequence[str], most: int) -> Iterator[Passage]:
    """Yield the passages of a file: paragraphs, short ones together, none over `most` lines or all blank."""
    enough = max(most // 3, 1)
    start = end = -1
    for index, line in enumerate(lines):
        if line.strip():
            start, end = (index if start < 0 else start), index
        elif start >= 0 and end - start + 1 >= enough:
            yield _passage(lines, start, end)
            start = -1
        if start >= 0 and index - start + 1 == most:
            yield _passage(lines, start, end)
            start = -1
    if start >= 0:
        yield _passage(lines, start, end)


def _passage(lines: Sequence[str], start: int, end: int) -> Passage:
    return Passage(first=start + 1, last=end + 1, text="\n".join(lines[start : end + 1]))


def _folded(word: str) -> str:
    split = unicodedata.normalize("NFKD", word)
    return unicodedata.normalize("NFC", "".join(c for c in split if not unicodedata.combining(c)))


def _identifier(word: str) -> Iterator[str]:
    whole = word.strip("_")[:_LONGEST].casefold()
    if not whole:
        return
    yield whole
    parts = [part.casefold() for part in _PART.findall(word[:_LONGEST])]
    if len(parts) > 1:
        yield from parts
