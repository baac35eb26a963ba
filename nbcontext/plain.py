"""Text for a person's eyes: control characters as symbols, so that nothing in it is obeyed (decision 5)."""

from __future__ import annotations

import re

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_DELETE = 0x7F
_C1 = 0x80
_SURROGATES = (0xD800, 0xDFFF)


def visible(text: str) -> str:
    """Return `text` with control characters as symbols, but for tab and line feed.

    C0 controls become their Unicode pictures (escape: `␛`), C1 controls and marks that turn the reading direction their
    code in brackets, lone surrogates U+FFFD.
    """
    return _CONTROL.sub(lambda found: _symbol(ord(found[0])), text)


def _symbol(code: int) -> str:
    if code < _DELETE:
        return chr(0x2400 + code)
    if code == _DELETE:
        return "␡"
    if _SURROGATES[0] <= code <= _SURROGATES[1]:
        return "\ufffd"
    return f"⟨{code:02X}⟩" if code > _C1 else "⟨80⟩"


def clipped(text: str, most: int) -> str:
    """Return `text` on one line, at most `most` characters, visible."""
    line = visible(text.replace("\n", "⏎"))
    return line if len(line) <= most else f"{line[: most - 1]}…"
