r"""Terminal output as the text a person would see: no escape sequences, no progress lines that were overwritten. Pure.

What a terminal does with a line is done to it: `\r` goes back to its start and what follows overwrites it character
by character, a backspace goes back by one, `CSI K` erases, `CSI G`, `C` and `D` move within the line. Sequences that
address other lines, colours, titles and the rest (CSI, OSC, DCS, their one-byte C1 forms, two-character escapes) are
dropped. A `\r` right before `\n` belongs to the terminator, which stays as it came. Every other control character
stays.

`Cleaner` does it in pieces: however the text is cut, the outcome is the same, and no more than the current line is
kept.
"""

from __future__ import annotations

import re

_STRING_END = r"(?:\x07|\x1b\\|\x9c)"
_TOKEN = re.compile(
    r"(?P<text>[^\x08\n\r\x1b\x90\x98\x9b\x9d-\x9f]+)"
    r"|(?P<end>\r*\n)"
    r"|(?P<back>\r+)"
    r"|(?P<left>\x08)"
    r"|(?:\x1b\[|\x9b)(?P<parameters>[\x30-\x3f]*)[\x20-\x2f]*(?P<final>[\x40-\x7e])"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*"
    + _STRING_END
    + r"|(?P<escape>\x1b[\x20-\x2f]*[\x30-\x7e])"
)
_OPEN = re.compile(
    r"\r+\Z"
    r"|(?:\x1b\[|\x9b)[\x30-\x3f]*[\x20-\x2f]*\Z"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*\x1b?\Z"
    r"|\x1b[\x20-\x2f]*\Z"
)
"""What at the end of a piece may go on in the next."""
_PLAIN = re.compile(r"[^\x08\r\x1b\x90\x98\x9b\x9d-\x9f]*\n")
_STRING_MOST = 65_536
"""Characters after which a string sequence that does not end is no sequence: its introducer alone is dropped."""
_COLUMN_MOST = 100_000
"""How far right of the text a sequence may move the cursor: no short sequence may make a huge line."""


class Cleaner:
    """Cleans text that comes in pieces."""

    def __init__(self) -> None:
        self._held = ""
        """The end of the last piece, which may be the start of a sequence."""
        self._line = _Line()

    def feed(self, piece: str) -> str:
        """Return the lines that are finished with this piece, cleaned."""
        return self._clean(self._held + piece, final=False)

    def finish(self) -> str:
        """Return the rest: the last line, which no terminator ended."""
        return self._clean(self._held, final=True) + self._line.take()

    def _clean(self, text: str, *, final: bool) -> str:
        self._held = ""
        done: list[str] = []
        at, size = 0, len(text)
        while at < size:
            if self._line.is_empty and (plain := _PLAIN.match(text, at)):
                done.append(plain[0])
                at = plain.end()
                continue
            opened = None if final else _OPEN.match(text, at)
            if opened and size - at <= _STRING_MOST:
                self._held = text[at:]
                break
            token = _TOKEN.match(text, at)
            if token is None or (token.end() - at > _STRING_MOST and token.lastgroup not in ("text", "end", "back")):
                at += _introducer(text, at)
                continue
            at = token.end()
            if token.lastgroup == "end":
                done.append(self._line.take() + ("\r\n" if len(token[0]) > 1 else "\n"))
            else:
                self._line.apply(token)
        return "".join(done)


def clean(text: str) -> str:
    """Return `text` as a terminal would leave it (see the module)."""
    cleaner = Cleaner()
    return cleaner.feed(text) + cleaner.finish()


def _introducer(text: str, at: int) -> int:
    """Return the length of the introducer of a sequence that is none: it alone is dropped, what follows is text."""
    return 2 if text[at] == "\x1b" and text[at + 1 : at + 2] in {"[", "]", "P", "X", "^", "_"} else 1


class _Line:
    """The line that the cursor is in."""

    def __init__(self) -> None:
        self._text: list[str] = []
        """Runs of text while nothing moved the cursor back, else single characters."""
        self._cells: list[str] | None = None
        self._column = 0
        """Where the next character goes; the end of the text while nothing moved the cursor back."""

    @property
    def is_empty(self) -> bool:
        return not self._text and self._cells is None

    def take(self) -> str:
        """Return the line and begin a new one."""
        whole = "".join(self._text if self._cells is None else self._cells)
        self._text, self._cells, self._column = [], None, 0
        return whole

    def apply(self, token: re.Match[str]) -> None:
        match token.lastgroup:
            case "text":
                self._write(token[0])
            case "back":
                self._move(0)
            case "left":
                self._move(max(self._column - 1, 0))
            case "final":
                self._control(token["parameters"], token["final"])

    def _control(self, parameters: str, final: str) -> None:
        number = int(parameters) if parameters.isdecimal() and len(parameters) < 7 else 0  # noqa: PLR2004
        here = self._column
        match final:
            case "K" if parameters in ("", "0"):
                cells = self._opened()
                del cells[here:]
            case "K" if parameters == "1":
                cells = self._opened()
                cells[: here + 1] = " " * min(here + 1, len(cells))
            case "K" if parameters == "2":
                self._opened().clear()
            case "G" | "`":
                self._move(min(max(number, 1) - 1, _COLUMN_MOST))
            case "C" | "a":
                self._move(min(here + max(number, 1), max(here, _COLUMN_MOST)))
            case "D":
                self._move(max(here - max(number, 1), 0))

    def _opened(self) -> list[str]:
        if self._cells is None:
            self._cells = list("".join(self._text))
        return self._cells

    def _move(self, column: int) -> None:
        self._opened()
        self._column = column

    def _write(self, text: str) -> None:
        if self._cells is None:
            self._text.append(text)
            self._column += len(text)
            return
        cells, start = self._cells, self._column
        if start > len(cells):
            cells.extend(" " * (start - len(cells)))
        cells[start : start + len(text)] = text
        self._column = start + len(text)
