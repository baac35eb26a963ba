"""An image as the text that stands for it: its type, its size in pixels where its header tells, and in bytes. Pure."""

from __future__ import annotations

import base64
import binascii
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbcontext.loop import Context

_KILO = 1000


def placeholder(kind: str, content: Any, context: Context) -> str:
    """Return what stands for an image of MIME type `kind`; `content` is its bytes, base64 of them, or SVG text."""
    data = _bytes(kind, content)
    size = _size(len(data))
    pixels = _pixels(data)
    if pixels is None:
        return context.commands.image_unsized.format(type=kind, size=size)
    return context.commands.image.format(type=kind, width=pixels[0], height=pixels[1], size=size)


def _bytes(kind: str, content: Any) -> bytes:
    if isinstance(content, bytes):
        return content
    text = str(content)
    if kind != "image/svg+xml":
        try:
            return base64.b64decode(text)
        except (binascii.Error, ValueError):
            pass
    return text.encode("utf-8", "replace")


def _size(count: int) -> str:
    """Return a size as a person reads it; a kB is 1000 bytes."""
    if count < _KILO:
        return f"{count} B"
    return f"{count / _KILO:.1f} kB" if count < _KILO**2 else f"{count / _KILO**2:.1f} MB"


def _pixels(data: bytes) -> tuple[int, int] | None:
    """Return width and height of a PNG, GIF or JPEG; None where the bytes do not tell."""
    if data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) >= 24:  # noqa: PLR2004 - where PNG's header ends
        width, height = struct.unpack(">II", data[16:24])
        return width, height
    if data.startswith(b"GIF8") and len(data) >= 10:  # noqa: PLR2004 - where GIF's screen size ends
        width, height = struct.unpack("<HH", data[6:10])
        return width, height
    return _jpeg(data) if data.startswith(b"\xff\xd8") else None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:  # noqa: PLR2004 - JPEG's marker byte
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # noqa: PLR2004 - the frame headers
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + int.from_bytes(data[at + 2 : at + 4])
    return None
