"""Images: what their first bytes tell, the text that stands for one, and the form in which one is sent. Pure."""

from __future__ import annotations

import base64
import binascii
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbcontext.loop import Context

_KILO = 1000
_SIGNATURES = (
    ("image/png", b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/gif", b"GIF87a"),
    ("image/gif", b"GIF89a"),
)
_NAMES = {"image/png": "PNG image", "image/jpeg": "JPEG image", "image/gif": "GIF image", "image/webp": "WebP image"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Picture:
    """An image that a model may be sent."""

    type: str
    """MIME type."""
    data: bytes

    @property
    def name(self) -> str:
        """The kind of image, in words."""
        return _NAMES[self.type]

    def described(self, context: Context) -> str:
        """Return the sentence that tells its kind and size."""
        pixels, size = _pixels(self.data), shown_size(len(self.data))
        if pixels is None:
            return context.images.unsized.format(kind=self.name, size=size)
        return context.images.shown.format(kind=self.name, width=pixels[0], height=pixels[1], size=size)

    def fits(self, context: Context) -> bool:
        """Return whether it is small enough to be sent; one whose size its header does not tell is not."""
        pixels = _pixels(self.data)
        rules = context.images
        return pixels is not None and max(pixels) <= rules.max_side and len(self.data) <= rules.max_bytes

    @property
    def url(self) -> str:
        """The image as a data URL."""
        return f"data:{self.type};base64,{base64.b64encode(self.data).decode()}"


def picture(data: bytes) -> Picture | None:
    """Return the PNG, JPEG, GIF or WebP image that `data` is; None: it is none of these."""
    for kind, signature in _SIGNATURES:
        if data.startswith(signature):
            return Picture(type=kind, data=data)
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return Picture(type="image/webp", data=data)
    return None


def placeholder(kind: str, content: Any, context: Context) -> str:
    """Return what stands for an image of MIME type `kind`; `content` is its bytes, base64 of them, or SVG text."""
    data = _bytes(kind, content)
    size = shown_size(len(data))
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


def shown_size(count: int) -> str:
    """Return a size as a person reads it; a kB is 1000 bytes."""
    if count < _KILO:
        return f"{count} B"
    return f"{count / _KILO:.1f} kB" if count < _KILO**2 else f"{count / _KILO**2:.1f} MB"


def _pixels(data: bytes) -> tuple[int, int] | None:
    """Return width and height of a PNG, GIF, WebP or JPEG; None where the bytes do not tell."""
    if data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) >= 24:  # noqa: PLR2004 - where PNG's header ends
        width, height = struct.unpack(">II", data[16:24])
        return width, height
    if data.startswith(b"GIF8") and len(data) >= 10:  # noqa: PLR2004 - where GIF's screen size ends
        width, height = struct.unpack("<HH", data[6:10])
        return width, height
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP" and len(data) >= 30:  # noqa: PLR2004 - where its sizes end
        return _webp(data)
    return _jpeg(data) if data.startswith(b"\xff\xd8") else None


def _webp(data: bytes) -> tuple[int, int] | None:
    """Return the size that a WebP file's first chunk tells (RFC 9649)."""
    if data[12:16] == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if data[12:16] == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if data[12:16] == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:  # noqa: PLR2004 - JPEG's marker byte
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # noqa: PLR2004 - the frame headers
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + int.from_bytes(data[at + 2 : at + 4])
    return None
