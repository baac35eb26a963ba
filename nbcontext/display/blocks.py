"""An answer as blocks while it streams: only the last one changes, so that what is sent grows with the answer.

A finished block ends where the Markdown has a blank line outside a fence; a new one is begun once the last has
`BLOCK_CHARS` characters. A block that has grown to `MOST_CHARS` without such a place ends at a line, its fence closed
and opened again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

BLOCK_CHARS = 1500
MOST_CHARS = 6000

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)")


@dataclass(slots=True)
class Blocks:
    """Splits streamed text into blocks."""

    tail: str = ""
    """The block that still changes."""
    _scanned: int = 0
    _fence: str = ""
    _opened: str = ""

    def feed(self, text: str) -> list[str]:
        """Take more text; return the blocks that it finished."""
        self.tail += text
        done: list[str] = []
        while (end := self._end()) is not None:
            block, self.tail = self.tail[:end], self.tail[end:]
            if self._fence:
                block = f"{block}{self._fence}\n"
                self.tail = f"{self._opened}\n{self.tail}"
            self._scanned, self._fence = 0, ""
            done.append(block)
        return done

    def _end(self) -> int | None:
        """Return where the tail's first block ends; None where it is not to end yet."""
        start = self._scanned
        while (newline := self.tail.find("\n", start)) >= 0:
            line = self.tail[start:newline]
            start = self._scanned = newline + 1
            self._note_fence(line)
            if not self._fence and not line.strip() and start >= BLOCK_CHARS:
                return start
            if start >= MOST_CHARS:
                return start
        return None

    def _note_fence(self, line: str) -> None:
        found = _FENCE.fullmatch(line)
        if found is None:
            return
        mark = found[1]
        if not self._fence:
            self._fence, self._opened = mark, line
        elif mark[0] == self._fence[0] and len(mark) >= len(self._fence) and not found[2].strip():
            self._fence = ""
