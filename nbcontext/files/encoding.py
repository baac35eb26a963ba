"""Which bytes are text, and the way between bytes and text that loses nothing (decision 4). Pure.

UTF-8 with or without a byte order mark, UTF-16 with one, else Latin-1 where no C0 control character but tab, line feed,
carriage return, form feed and escape occurs. A UTF-16 file may hold lone surrogates (Windows allows them): they come
through unharmed. `decode` then `encode` gives the same bytes, always.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from nbcontext.errors import NbcontextError

Encoding = Literal["utf-8", "utf-16-le", "utf-16-be", "latin-1"]

_BOMS: dict[Encoding, bytes] = {
    "utf-8": b"\xef\xbb\xbf",
    "utf-16-le": b"\xff\xfe",
    "utf-16-be": b"\xfe\xff",
    "latin-1": b"",
}
_UTF_16: tuple[Encoding, ...] = ("utf-16-le", "utf-16-be")
_UTF_32 = (b"\xff\xfe\0\0", b"\0\0\xfe\xff")
_NUL_WITHIN = 8 * 1024
_NO_LATIN_1 = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"BM", "BMP image"),
    (b"II*\0", "TIFF image"),
    (b"MM\0*", "TIFF image"),
    (b"\0\0\1\0", "icon"),
    (b"%PDF-", "PDF document"),
    (b"PK\3\4", "ZIP archive"),
    (b"PK\5\6", "ZIP archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\0", "xz data"),
    (b"\x28\xb5\x2f\xfd", "Zstandard data"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip archive"),
    (b"Rar!", "RAR archive"),
    (b"\x7fELF", "ELF executable"),
    (b"MZ", "Windows executable"),
    (b"\xcf\xfa\xed\xfe", "Mach-O executable"),
    (b"\xca\xfe\xba\xbe", "Java class or Mach-O executable"),
    (b"\0asm", "WebAssembly module"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"PAR1", "Parquet table"),
    (b"\x93NUMPY", "NumPy array"),
    (b"\x89HDF", "HDF5 data"),
    (b"\x80\4", "pickle data"),
    (b"\x80\5", "pickle data"),
    (b"OggS", "Ogg media"),
    (b"ID3", "MP3 audio"),
    (b"wOFF", "font"),
    (b"wOF2", "font"),
    *((mark, "UTF-32 text") for mark in _UTF_32),
)
_KINDS_INSIDE = (
    (0, b"RIFF", 8, b"WEBP", "WebP image"),
    (0, b"RIFF", 8, b"WAVE", "WAV audio"),
    (4, b"ftyp", 4, b"ftyp", "MP4 or HEIF media"),
    (257, b"ustar", 257, b"ustar", "tar archive"),
)


class NotTextError(NbcontextError):
    """Bytes are no text that decision 4 knows."""

    def __init__(self, *, kind: str, size: int) -> None:
        super().__init__(f"{size} bytes of {kind} are no text.")
        self.kind = kind
        self.size = size


@dataclass(frozen=True, kw_only=True, slots=True)
class Decoded:
    """A text and all that is needed to write it as it was."""

    text: str
    """Without its byte order mark, terminators as they are."""
    encoding: Encoding
    bom: bool
    """Whether the bytes begin with a byte order mark."""

    @property
    def name(self) -> str:
        """The encoding's name as people write it."""
        return {"utf-8": "UTF-8", "latin-1": "Latin-1"}.get(self.encoding, "UTF-16")


def decode(data: bytes) -> Decoded:
    """Return the text that `data` is.

    Raises:
        NotTextError: it is binary.
    """
    if not data.startswith(_UTF_32):
        for encoding in _UTF_16:
            if data.startswith(_BOMS[encoding]) and len(data) % 2 == 0:
                return Decoded(text=data[2:].decode(encoding, "surrogatepass"), encoding=encoding, bom=True)
    if b"\0" not in data[:_NUL_WITHIN]:
        bom = data.startswith(_BOMS["utf-8"])
        try:
            return Decoded(text=data[3 if bom else 0 :].decode("utf-8"), encoding="utf-8", bom=bom)
        except UnicodeDecodeError:
            if not _NO_LATIN_1.search(data):
                return Decoded(text=data.decode("latin-1"), encoding="latin-1", bom=False)
    raise NotTextError(kind=kind(data), size=len(data))


def encode(text: str, like: Decoded) -> bytes:
    """Return `text` as bytes in the encoding of `like`, with its byte order mark; `unencodable` text must be kept out.

    Raises:
        UnicodeEncodeError: a character that the encoding cannot hold.
    """
    errors = "surrogatepass" if like.encoding.startswith("utf-16") else "strict"
    return (_BOMS[like.encoding] if like.bom else b"") + text.encode(like.encoding, errors)


def unencodable(text: str, encoding: Encoding) -> str | None:
    """Return the first character of `text` that `encoding` cannot hold, as `U+XXXX`; None: it holds all."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError as error:
        return f"U+{ord(text[error.start]):04X}"
    return None


def kind(data: bytes) -> str:
    """Return what `data` is by its first bytes; `data` where they tell nothing."""
    for mark, name in _KINDS:
        if data.startswith(mark):
            return name
    for first, mark, second, other, name in _KINDS_INSIDE:
        if data.startswith(mark, first) and data.startswith(other, second):
            return name
    return "data"
