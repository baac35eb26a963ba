"""Text whose pieces may part a character: JSON lets a server send the two halves of a surrogate pair apart."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def joined(pieces: Iterable[str]) -> str:
    """Return the pieces as one text, halves that meet as the one character they are; a half alone becomes U+FFFD."""
    text = "".join(pieces)
    if _SURROGATE.search(text):
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


class Splice:
    """Pieces as they can be shown: the first half of a pair waits for the piece with the second."""

    def __init__(self) -> None:
        self._waiting = ""

    def feed(self, piece: str) -> str:
        """Return what can be shown now that `piece` has come."""
        piece, self._waiting = self._waiting + piece, ""
        if "\ud800" <= piece[-1:] <= "\udbff":
            piece, self._waiting = piece[:-1], piece[-1]
        return joined([piece])

    def end(self) -> str:
        """Return what still waits."""
        rest, self._waiting = joined([self._waiting]), ""
        return rest
