"""Damage of a SQLite store: found, told, and left as it is; a new store is begun beside it.

A store's files are `sessions.sqlite`, `sessions-2.sqlite`, and so on. The highest that opens is the store; where none
does, the next number is. A damaged file is only ever read.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from nbcontext.errors import StoreError, UsageError

_NAME = re.compile(r"sessions(?:-([1-9]\d{0,8}))?\.sqlite")
_LOOKED_THROUGH_BYTES = 32_000_000
"""A file up to this size is looked through when it is opened, some milliseconds; of a larger one only the start is."""
_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY_S = 30


class StoreDamaged(StoreError):  # noqa: N818 - the field's word for it
    """The store's database is damaged."""


def files(home: Path) -> list[Path]:
    """Return the files of the store in `home`, oldest first."""
    found = {_number(place): place for place in home.glob("sessions*.sqlite") if _NAME.fullmatch(place.name)}
    return [found[number] for number in sorted(found)]


def file_of(url: str) -> Path:
    """Return the file of a SQLAlchemy URL.

    Raises:
        UsageError: it is of no SQLite file.
    """
    from sqlalchemy.engine import make_url

    place = make_url(url)
    if place.get_backend_name() != "sqlite" or not place.database:
        raise UsageError(
            f"Only what is kept in a SQLite file can be salvaged; the store is {place}. Export it as it is."
        )
    return Path(place.database)


def chosen(home: Path) -> tuple[Path, str | None]:
    """Return the file that is the store, which need not be there yet, and a line on one that is damaged, if one is."""
    found = files(home)
    store = _next(found[-1]) if found else home / "sessions.sqlite"
    damaged = {}
    for place in reversed(found):
        said = fault(place)
        if said is None:
            store = place
            break
        damaged[place] = said
    if not damaged:  # one that was left earlier: it is not opened again to look
        damaged = {place: "it could not be read" for place in found if _number(place) < _number(store)}
    newest = max(damaged, key=_number, default=None)
    return store, line(newest, damaged[newest], store) if newest else None


def fault(place: Path, *, thorough: bool = False) -> str | None:
    """Return what is wrong with a SQLite file; None: nothing was found, or it cannot be read for another reason.

    Args:
        place: the file, which is not changed.
        thorough: whether all of it is checked, however large it is.
    """
    try:
        if place.stat().st_size == 0:
            return None
        uri = f"file:{quote(str(place))}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=_BUSY_S)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if not thorough and place.stat().st_size > _LOOKED_THROUGH_BYTES:
                return None
            check = "integrity_check(5)" if thorough else "quick_check(1)"
            rows = [str(row[0]) for row in connection.execute(f"PRAGMA {check}")]
    except sqlite3.DatabaseError as error:
        return str(error) if is_damage(error) else None
    except OSError:
        return None
    return None if rows == ["ok"] else " ".join("; ".join(rows).split())


def is_damage(error: BaseException | None) -> bool:
    """Return whether a driver's error says that the file itself is damaged."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _CODES


@contextmanager
def leaving(place: Path | None) -> Iterator[None]:
    """Begin a new, empty store beside a file that turns out to be damaged: the next session that is opened is there.

    Args:
        place: the file; None: the store is no file of ours, and is never left.
    """
    try:
        yield
    except StoreDamaged:
        if place is not None:
            _next(place).touch(mode=0o600)
        raise


def is_left(place: Path) -> bool:
    """Return whether a later store was begun beside this file."""
    return _next(place).exists()


def line(place: Path, said: str, beside: Path | None = None) -> str:
    """Return what a person is told of a damaged file, and of the one that is the store in its place."""
    now = f"; it is left as it is, and sessions are kept in {beside.name} beside it" if beside else ""
    return (
        f"The store {place} is damaged ({said}){now}. In a shell, `nbcontext export NAME FILE --salvage` brings out "
        f"what can be read, for `%llm import FILE`; then move the damaged file away."
    )


def _number(place: Path) -> int:
    found = _NAME.fullmatch(place.name)
    return int(found[1]) if found and found[1] else 1


def _next(place: Path) -> Path:
    return place.with_name(f"sessions-{_number(place) + 1}.sqlite")
