"""The database behind the store: opened private to its owner, brought up to date, one transaction a write."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, insert, inspect, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from nbcontext.errors import StoreError
from nbcontext.store import damage
from nbcontext.store.schema import MIGRATIONS, MIGRATIONS_TABLE


def connect(url: str | Path) -> Engine:
    """Return the engine of the store at `url`, or in a SQLite file, with its tables up to date.

    Raises:
        StoreError: the place cannot be written, the database is damaged, or a newer version wrote it.
    """
    try:
        if isinstance(url, Path):
            _make_private(url)
            engine = create_engine(URL.create("sqlite", database=str(url)))
        else:
            engine = create_engine(make_url(url))
    except OSError as error:
        raise StoreError(
            f"The store {url} cannot be made ({error.strerror}): set NBCONTEXT_HOME to a folder you can write."
        ) from None
    except ImportError as error:
        raise StoreError(
            f"NBCONTEXT_STORE needs a driver that is not installed ({error}): install it with pip."
        ) from None
    except SQLAlchemyError as error:
        raise StoreError(f"NBCONTEXT_STORE is no database URL that can be used: {_short(error)}.") from None
    if engine.dialect.name == "sqlite":
        _prepare_sqlite(engine)
    try:
        _migrate(engine)
    except DBAPIError as error:
        raise _failed(engine, error, "opened") from None
    return engine


def reading(engine: Engine) -> Engine:
    """Return the engine for reads: its transactions see one state of the store, and never wait for a writer."""
    if engine.dialect.name == "sqlite":
        return engine.execution_options(nbcontext_reads=True)
    return engine.execution_options(isolation_level="REPEATABLE READ")


@contextmanager
def looking(engine: Engine) -> Iterator[Connection]:
    """Give a connection that sees one state of the store; `engine` is one for reads.

    Raises:
        StoreError: the database cannot be read, or is damaged.
    """
    try:
        with engine.connect() as connection:
            yield connection
    except DBAPIError as error:
        raise _failed(engine, error, "read") from None


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Give a connection in a transaction of its own, committed at the end.

    Raises:
        IntegrityError: a row is there already.
        StoreError: the database cannot be written; nothing was.
    """
    try:
        with engine.begin() as connection:
            yield connection
    except IntegrityError:
        raise
    except DBAPIError as error:
        raise _failed(engine, error, "written") from None


def _failed(engine: Engine, error: DBAPIError, done: str) -> StoreError:
    place = engine.url.render_as_string()
    if damage.is_damage(error.orig):
        return damage.StoreDamaged(
            f"The store {place} is damaged ({_short(error)}); nothing was written. In a shell, `nbcontext verify` says "
            f"more, and `nbcontext export NAME FILE --salvage` brings out what can be read."
        )
    then = " Make room for it or mend it, then go on with `%llm continue`." if done == "written" else ""
    return StoreError(f"The store {place} cannot be {done} ({_short(error)}); nothing was written.{then}")


def _make_private(file: Path) -> None:
    """Make a SQLite file and its folder, readable by their owner alone.

    SQLite gives its `-wal` and `-shm` files the mode of the database, so that must be right before the first write.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))


def _prepare_sqlite(engine: Engine) -> None:
    @event.listens_for(engine, "connect")
    def set_pragmas(connection: Any, _: object) -> None:
        connection.isolation_level = None  # transactions are begun below, and by nobody else
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "busy_timeout=30000", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # At once as a writer: a transaction that reads first and then writes would fail when another wrote between.
        reads = connection.get_execution_options().get("nbcontext_reads", False)
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _migrate(engine: Engine) -> None:
    done: set[str] = set()
    with reading(engine).connect() as connection:
        if inspect(connection).has_table(MIGRATIONS_TABLE.name):
            done = set(connection.execute(select(MIGRATIONS_TABLE.c.name)).scalars())
    known = {step.__name__ for step in MIGRATIONS}
    if newer := sorted(done - known):
        raise StoreError(
            f"A newer nbcontext wrote this store (it has the step {newer[0]!r}); it was left as it is. "
            f"Upgrade nbcontext, or set NBCONTEXT_HOME to another folder."
        )
    for step in MIGRATIONS:
        if step.__name__ in done:
            continue
        with engine.begin() as connection:
            MIGRATIONS_TABLE.create(connection, checkfirst=True)
            query = select(MIGRATIONS_TABLE.c.name).where(MIGRATIONS_TABLE.c.name == step.__name__)
            if connection.execute(query).first() is None:  # another process may have come first
                step(connection)
                at = datetime.now().astimezone().isoformat(timespec="seconds")
                connection.execute(insert(MIGRATIONS_TABLE), {"name": step.__name__, "at": at})


def _short(error: SQLAlchemyError) -> str:
    cause = error.orig if isinstance(error, DBAPIError) else error
    return str(cause).split("\n", 1)[0]
