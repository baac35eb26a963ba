r"""What a line is, in one place: it ends at `\n` and at nothing else (decision 3).

A `\r` right before the `\n` belongs to the terminator. A terminator at the end starts no further line, and a last line
needs none. `str.splitlines` also splits at form feed, U+0085 and U+2028, so it is never used.
"""

from __future__ import annotations

from collections.abc import Iterator


def count(text: str) -> int:
    """Return how many lines `text` has; the empty text has none."""
    return text.count("\n") + (1 if text and not text.endswith("\n") else 0)


def length(text: str) -> int:
    r"""Return the characters (Unicode code points) of `text`, a terminator `\r\n` counting as one (decision 5)."""
    return len(text) - text.count("\r\n")


def without_final(text: str) -> str:
    """Return `text` less one final line terminator."""
    if text.endswith("\n"):
        return text[:-2] if text.endswith("\r\n") else text[:-1]
    return text


def iterate(text: str, offset: int = 1) -> Iterator[str]:
    """Yield the lines of `text` from line `offset` (from 1) on, without their terminators."""
    start = 0
    for _ in range(offset - 1):
        start = text.find("\n", start) + 1
        if start == 0:
            return
    size = len(text)
    while start < size:
        end = text.find("\n", start)
        if end < 0:
            yield text[start:]
            return
        yield text[start : end - 1] if end > start and text[end - 1] == "\r" else text[start:end]
        start = end + 1


def split(text: str) -> list[str]:
    """Return all lines of `text` without their terminators."""
    if "\r\n" in text:
        return list(iterate(text))
    parts = text.split("\n")
    if parts[-1] == "":
        parts.pop()
    return parts


def split_keeping(text: str) -> list[tuple[str, str]]:
    r"""Return all lines of `text` as (line, terminator) pairs; a terminator is `\n`, `\r\n` or, at the end, empty."""
    pairs = [(part[:-1], "\r\n") if part.endswith("\r") else (part, "\n") for part in text.split("\n")]
    last, terminator = pairs.pop()
    last = last + "\r" if terminator == "\r\n" else last
    if last:
        pairs.append((last, ""))
    return pairs
