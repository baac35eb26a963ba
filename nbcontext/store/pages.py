"""The rows of a SQLite file that SQLite itself can no longer open or walk: every leaf page is read by itself.

Follows SQLite's "Database File Format": b-tree pages, records, overflow chains, and the frames of the write-ahead log.
Which table a row is of is not known here; the caller tells by its form.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path

Value = int | float | str | bytes | None

_TABLE_LEAF = 0x0D
_FILE_HEADER = 100
"""Bytes before the first page's own header."""
_WAL_HEADER, _FRAME_HEADER = 32, 24
_USUAL_PAGE = 4096
_SIZES = tuple(1 << power for power in range(9, 17))
_WHOLE = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 7: 8, 8: 0, 9: 0}
"""Serial type of a record's column to its bytes; 12 and more are blobs and texts."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row that was found."""

    rowid: int
    values: tuple[Value, ...]


def rows(file: Path) -> Iterator[Row]:
    """Yield every row of every table that can be read, in no order; one that was moved may come twice.

    Raises:
        OSError: the file cannot be read.
    """
    wal = file.with_name(f"{file.name}-wal")
    log = wal.read_bytes() if wal.is_file() else b""
    if file.stat().st_size == 0:
        return
    with file.open("rb") as opened, mmap(opened.fileno(), 0, access=ACCESS_READ) as data:
        yield from _Pages(data, log).rows()


class _Pages:
    """The pages of a file, with those of its write-ahead log in their places."""

    def __init__(self, data: mmap, log: bytes) -> None:
        self._data = data
        self.size = _page_size(data, log)
        self._newer = _frames(log, self.size)
        self.count = max(-(-len(data) // self.size), *self._newer, 0)

    def rows(self) -> Iterator[Row]:
        """Yield the rows of all leaf pages."""
        for number in range(1, self.count + 1):
            page = self._page(number)
            start = _FILE_HEADER if number == 1 else 0
            if len(page) < self.size or page[start] != _TABLE_LEAF:
                continue
            (cells,) = struct.unpack_from(">H", page, start + 3)
            for cell in range(min(cells, self.size // 4)):
                try:
                    (place,) = struct.unpack_from(">H", page, start + 8 + 2 * cell)
                    yield self._row(page, place)
                except (struct.error, IndexError, ValueError):
                    continue  # this row is damaged, the next need not be

    def _page(self, number: int) -> bytes:
        newer = self._newer.get(number)
        return self._data[(number - 1) * self.size : number * self.size] if newer is None else newer

    def _row(self, page: bytes, place: int) -> Row:
        """Return the row of the cell at `place`; a ValueError or IndexError where there is none that is whole."""
        length, place = _varint(page, place)
        rowid, place = _varint(page, place)
        if length > self.count * self.size:
            raise ValueError(length)
        most = self.size - 35
        if length <= most:
            record = page[place : place + length]
        else:
            least = (self.size - 12) * 32 // 255 - 23
            local = least + (length - least) % (self.size - 4)
            local = local if local <= most else least
            (following,) = struct.unpack_from(">I", page, place + local)
            record = page[place : place + local] + self._overflow(following, length - local)
        if len(record) != length:
            raise ValueError(length)
        return Row(rowid if rowid < 1 << 63 else rowid - (1 << 64), tuple(_values(record)))

    def _overflow(self, number: int, length: int) -> bytes:
        parts, seen = [], set()
        while length > 0:
            page = self._page(number)
            if number in seen or len(page) < self.size or number < 1:
                raise ValueError(number)
            seen.add(number)
            (number,) = struct.unpack_from(">I", page, 0)
            parts.append(page[4 : 4 + min(length, self.size - 4)])
            length -= len(parts[-1])
        return b"".join(parts)


def _page_size(data: mmap, log: bytes) -> int:
    (said,) = struct.unpack_from(">H", data, 16) if len(data) >= _FILE_HEADER else (0,)
    said = 65536 if said == 1 else said
    if said not in _SIZES and len(log) >= _WAL_HEADER:
        (said,) = struct.unpack_from(">I", log, 8)
    return said if said in _SIZES else _USUAL_PAGE


def _frames(log: bytes, size: int) -> Mapping[int, bytes]:
    """Return the newest committed pages of a write-ahead log, by their number."""
    committed: dict[int, bytes] = {}
    waiting: dict[int, bytes] = {}
    for place in range(_WAL_HEADER, len(log) - _FRAME_HEADER - size + 1, _FRAME_HEADER + size):
        number, commit, *salt = struct.unpack_from(">IIII", log, place)
        if salt != list(struct.unpack_from(">II", log, 16)):
            break  # what follows is of an earlier round
        waiting[number] = log[place + _FRAME_HEADER : place + _FRAME_HEADER + size]
        if commit:
            committed |= waiting
            waiting = {}
    return committed


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """Return the number that begins at `place`, and the place after it."""
    value = 0
    for step in range(8):
        byte = data[place + step]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:  # noqa: PLR2004 - the bit that says that more follows
            return value, place + step + 1
    return value << 8 | data[place + 8], place + 9


def _values(record: bytes) -> Iterator[Value]:
    end, place = _varint(record, 0)
    body = end
    while place < end:
        kind, place = _varint(record, place)
        length = _WHOLE[kind] if kind in _WHOLE else (kind - 12) // 2
        if length < 0 or body + length > len(record):
            raise ValueError(kind)
        yield _value(kind, record[body : body + length])
        body += length


def _value(kind: int, data: bytes) -> Value:
    match kind:
        case 0:
            return None
        case 7:
            number: float = struct.unpack(">d", data)[0]
            return number
        case 8 | 9:
            return kind - 8
        case _ if kind < 7:  # noqa: PLR2004 - the kinds of whole numbers
            return int.from_bytes(data, "big", signed=True)
        case _ if kind % 2:
            return data.decode()
    return data
