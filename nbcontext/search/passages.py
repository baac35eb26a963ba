"""The kept index of `search`: passages of a folder's text files, ranked by BM25 (SQLite's FTS5).

One index a searched folder, so that a rank depends on nothing but that folder's files. A file is read again where its
size, times or inode differ from what they were. The change time cannot be set back, so content changed under the same
size and modification time is seen; a file changed so shortly before it was read that a later change could carry the
same time is read again the next time too. What the index holds can always be made again: a broken one is, and where
none can be kept, one in memory does.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from nbcontext import lines
from nbcontext.files.encoding import NotTextError, decode
from nbcontext.search.words import passages, words

_FORM = 1
"""Version of the index's form, in its file's name: another form is another file."""
_RACY_NS = 2_000_000_000
"""Nanoseconds between a change and a read within which the clock may not tell a second change apart."""
_WAIT = 20.0
"""Seconds to wait for another kernel that writes the same index."""
_TABLES = (
    "CREATE TABLE IF NOT EXISTS file (id INTEGER PRIMARY KEY, path BLOB UNIQUE NOT NULL, state TEXT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS passage (
        id INTEGER PRIMARY KEY, file INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, text TEXT NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS passage_of_file ON passage (file)",
    # Words come split and folded by `words`: all that is left to this tokenizer is to part them at the spaces.
    "CREATE VIRTUAL TABLE IF NOT EXISTS word USING fts5 (words, detail='column', tokenize = \"ascii tokenchars '_'\")",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """A passage that holds a word of the query."""

    path: str
    """Relative to the folder."""
    first: int
    last: int
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranked:
    """The best passages, and how many more there are."""

    hits: tuple[Hit, ...]
    more: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What an index may take."""

    passage_lines: int
    max_file_bytes: int
    """Larger files are not searched by words: they are data."""
    deadline: float
    """Time of the monotonic clock at which reading files ends."""


class TooSlowError(Exception):
    """The deadline came before all files were read; what was read is kept, so the next call goes on from there."""


class StoppedError(Exception):
    """The person stopped the call."""


def search(
    query: str,
    folder: str,
    files: Iterable[str],
    *,
    cache: Path | None,
    count: int,
    limits: Limits,
    stop: threading.Event,
) -> Ranked:
    """Return the `count` best passages for the words of `query` among `files`, paths relative to `folder`.

    Ties are broken by the bytes of the path, then by line. With `cache` None nothing is kept.

    Raises:
        TooSlowError: reading the files took longer than allowed.
        StoppedError: `stop` was set.
    """
    listed = list(files)

    def ask(place: str) -> Ranked:
        with closing(_opened(place)) as index:
            _update(index, folder, listed, limits, stop)
            return _rank(index, query, count)

    if cache is None:
        return ask(":memory:")
    place = cache / f"search-{_FORM}-{sha256(os.fsencode(folder)).hexdigest()[:32]}.sqlite"
    try:
        _prepare(place)
        return _with_rebuild(ask, place)
    except (OSError, sqlite3.OperationalError):  # no room, no right to write, held for too long by another kernel
        return ask(":memory:")


def _prepare(place: Path) -> None:
    """Make the index's file readable to nobody else: it holds what the files hold."""
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(place, os.O_RDWR | os.O_CREAT, 0o600))


def _with_rebuild(ask: Callable[[str], Ranked], place: Path) -> Ranked:
    try:
        return ask(str(place))
    except sqlite3.OperationalError as error:
        if "no such" not in str(error) and "malformed" not in str(error):
            raise
    except sqlite3.DatabaseError:
        pass
    for name in (place, Path(f"{place}-wal"), Path(f"{place}-shm"), Path(f"{place}-journal")):
        name.unlink(missing_ok=True)
    _prepare(place)
    try:
        return ask(str(place))
    except sqlite3.DatabaseError as error:
        raise OSError(str(error)) from error


def _opened(place: str) -> sqlite3.Connection:
    index = sqlite3.connect(place, timeout=_WAIT, isolation_level=None)
    try:
        index.execute("PRAGMA synchronous = OFF")  # a crash may break it: then it is made again
        index.execute("PRAGMA cache_size = -65536")
        for table in _TABLES:
            index.execute(table)
    except sqlite3.Error:
        index.close()
        raise
    return index


def _update(index: sqlite3.Connection, folder: str, listed: list[str], limits: Limits, stop: threading.Event) -> None:
    """Bring the index to what the listed files are now."""
    index.execute("BEGIN IMMEDIATE")
    try:
        known = {path: (number, state) for number, path, state in index.execute("SELECT id, path, state FROM file")}
        wanted = {os.fsencode(path) for path in listed}
        for path in known.keys() - wanted:
            _forget(index, known[path][0])
        for path in sorted(wanted):
            if stop.is_set():
                raise StoppedError
            if time.monotonic() > limits.deadline:
                raise TooSlowError
            number, before = known.get(path, (None, ""))
            full = os.path.join(os.fsencode(folder), path)  # noqa: PTH118 - bytes
            if number is not None and before and before == _state(full):
                continue
            if number is not None:
                _forget(index, number)
            _add(index, path, full, limits)
    finally:
        index.execute("COMMIT")  # also what was done so far: each file is whole, and the next call goes on


def _forget(index: sqlite3.Connection, number: int) -> None:
    index.execute("DELETE FROM word WHERE rowid IN (SELECT id FROM passage WHERE file = ?)", (number,))
    index.execute("DELETE FROM passage WHERE file = ?", (number,))
    index.execute("DELETE FROM file WHERE id = ?", (number,))


def _state(path: bytes) -> str:
    try:
        found = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - bytes
    except OSError:
        return ""
    return _shown_state(found)


def _shown_state(found: os.stat_result) -> str:
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}"


def _add(index: sqlite3.Connection, path: bytes, full: bytes, limits: Limits) -> None:
    """Read a file into the index; a binary, too large or unreadable one is kept as known and empty."""
    now = time.time_ns()
    try:
        descriptor = os.open(full, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            data = file.read(limits.max_file_bytes) if found.st_size <= limits.max_file_bytes else b""
    except OSError:
        return
    racy = now - max(found.st_ctime_ns, found.st_mtime_ns) < _RACY_NS
    number = index.execute(
        "INSERT INTO file (path, state) VALUES (?, ?)", (path, "" if racy else _shown_state(found))
    ).lastrowid
    for first, last, text, spelt in _spelt(data, limits):
        row = index.execute(
            "INSERT INTO passage (file, first, last, text) VALUES (?, ?, ?, ?)", (number, first, last, text)
        ).lastrowid
        index.execute("INSERT INTO word (rowid, words) VALUES (?, ?)", (row, spelt))


def _spelt(data: bytes, limits: Limits) -> Iterator[tuple[int, int, str, str]]:
    try:
        text = decode(data).text
    except NotTextError:
        return
    for passage in passages(lines.split(text), limits.passage_lines):
        # SQLite takes no lone surrogate, which a UTF-16 file may hold.
        clean = passage.text.encode("utf-8", "replace").decode()
        yield passage.first, passage.last, clean, " ".join(words(clean))


def _rank(index: sqlite3.Connection, query: str, count: int) -> Ranked:
    asked = dict.fromkeys(words(query.encode("utf-8", "replace").decode()))
    if not asked:
        return Ranked(hits=(), more=0)
    # Each word is letters, digits and `_`: nothing in it is FTS5's own syntax.
    match = " OR ".join(f'"{word}"' for word in asked)
    found = index.execute(
        "SELECT f.path, p.first, p.last, p.text FROM word"
        " JOIN passage p ON p.id = word.rowid JOIN file f ON f.id = p.file"
        " WHERE word MATCH ?"
        " ORDER BY round(bm25(word), 9), f.path, p.first LIMIT ?",
        (match, count),
    ).fetchall()
    total = index.execute("SELECT count(*) FROM word WHERE word MATCH ?", (match,)).fetchone()[0]
    hits = (Hit(path=os.fsdecode(path), first=first, last=last, text=text) for path, first, last, text in found)
    return Ranked(hits=tuple(hits), more=total - len(found))
