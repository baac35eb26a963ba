"""Where sessions are kept: every entry, result, text and request, written before anything is sent.

The log of a session only grows. A write is one transaction, and is taken only from the process that holds the session.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, insert, select, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from nbcontext.entry import Entry, Inserted
from nbcontext.errors import SessionError, StoreError
from nbcontext.result import Insertion, Result
from nbcontext.store import codec, damage, database, holder, texts
from nbcontext.store.rows import Logged, SessionRow
from nbcontext.store.schema import ENTRIES, REQUESTS, RESULTS, SESSIONS

__all__ = ["Logged", "SessionRow", "Store"]

_MOST = 2**31 - 1
"""The largest number that a column holds in every database."""
_RESULT = select(*(RESULTS.c[field] for field in codec.RESULT_FIELDS))


class Store:
    """The sessions of one database."""

    def __init__(self, home: Path, url: str | Path | None = None) -> None:
        """Open the store.

        Args:
            home: folder of the SQLite file, used where `url` is None.
            url: a SQLAlchemy URL, or one SQLite file.

        Raises:
            StoreError: it cannot be opened, is damaged, or was written by a newer version.
        """
        self.file: Path | None = None
        self._told: str | None = None
        if url is None:
            url, self._told = damage.chosen(home)
            self.file = url
        with damage.leaving(self.file):
            self._engine = database.connect(url)
        self._reading = database.reading(self._engine)

    @property
    def is_left(self) -> bool:
        """Whether its file was found damaged and a new store was begun beside it."""
        return self.file is not None and damage.is_left(self.file)

    def take_told(self) -> str | None:
        """Return the line that the person is to be told of a damaged file, once; None: there is none."""
        told, self._told = self._told, None
        return told

    @contextmanager
    def _looking(self) -> Iterator[Connection]:
        with damage.leaving(self.file), database.looking(self._reading) as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with damage.leaving(self.file), database.writing(self._engine) as connection:
            yield connection

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    # -- sessions

    def add_session(self, *, name: str, kind: str, root: str, options: str) -> SessionRow:
        """Add a session that this process holds.

        Raises:
            SessionError: the name is taken.
        """
        now = _now()
        row = {
            "name": name,
            "kind": kind,
            "root": codec.path_column(root),
            "made_at": now,
            "used_at": now,
            "options": options,
            "last_entry": 0,
            "holder": holder.this_process().dumps(),
        }
        try:
            with self._writing() as connection:
                connection.execute(insert(SESSIONS), row)
        except IntegrityError:
            raise SessionError(
                f"There is a session named {name!r} already: open it with `%llm resume {name}`, "
                f"or start afresh with `--replace` (the old one is renamed, nothing is lost)."
            ) from None
        return self.session(name)

    def session(self, name: str) -> SessionRow:
        """Return a session.

        Raises:
            SessionError: there is none of that name.
        """
        with self._looking() as connection:
            row = connection.execute(select(SESSIONS).where(SESSIONS.c.name == name)).first()
        if row is None:
            raise SessionError(f"There is no session named {name!r}; `%llm sessions` lists them.")
        return SessionRow.of(row)

    def sessions(self) -> list[SessionRow]:
        """Return all sessions, the last used first."""
        with self._looking() as connection:
            rows = connection.execute(select(SESSIONS).order_by(SESSIONS.c.used_at.desc(), SESSIONS.c.id.desc()))
            return [SessionRow.of(row) for row in rows]

    def rename(self, session: int, name: str) -> None:
        """Give a session another name; nothing else of it changes."""
        with self._writing() as connection:
            connection.execute(update(SESSIONS).where(SESSIONS.c.id == session).values(name=name))

    def hold(self, session: int, *, take: bool = False) -> holder.Holder | None:
        """Make this process the one that may write; return who holds the session instead, None where we do.

        Args:
            session: its number.
            take: whether to take it from a process that still runs; that one's next write fails.
        """
        with self._writing() as connection:
            query = select(SESSIONS.c.holder).where(SESSIONS.c.id == session).with_for_update()
            other = holder.parse(connection.execute(query).scalar_one())
            mine = holder.this_process()
            if other is not None and other != mine and other.is_alive() and not take:
                return other
            connection.execute(update(SESSIONS).where(SESSIONS.c.id == session).values(holder=mine.dumps()))
        return None

    def release(self, session: int) -> None:
        """Let go of a session that this process holds."""
        mine = holder.this_process().dumps()
        with self._writing() as connection:
            connection.execute(
                update(SESSIONS).where(SESSIONS.c.id == session, SESSIONS.c.holder == mine).values(holder=None)
            )

    # -- the log

    def append(self, session: int, entries: Sequence[Entry], insertion: Insertion | None = None, *, after: int) -> int:
        """Write entries, and with an `Inserted` its result and text, in one transaction; return the last one's number.

        Args:
            session: its number.
            entries: in order.
            insertion: what an `Inserted` among them inserts.
            after: number of the last entry that the writer knows.

        Raises:
            StoreError: another process holds the session now, or it went on without the writer; nothing was written.
        """
        now, mine = _now(), holder.this_process().dumps()
        with self._writing() as connection:
            taken = connection.execute(
                update(SESSIONS)
                .where(SESSIONS.c.id == session, SESSIONS.c.holder == mine, SESSIONS.c.last_entry == after)
                .values(last_entry=SESSIONS.c.last_entry + len(entries), used_at=now)
                .returning(SESSIONS.c.last_entry)
            ).scalar()
            if taken is None:
                raise self._not_ours(session)
            last: int = taken
            rows = []
            for number, entry in enumerate(entries, last - len(entries) + 1):
                turn = getattr(entry, "turn", None)
                rows.append(
                    {
                        "session": session,
                        "entry": number,
                        "kind": type(entry).__name__,
                        "turn": turn,
                        "at": now,
                        "payload": codec.entry_payload(entry),
                    }
                )
                if isinstance(entry, Inserted) and insertion is not None:
                    texts.keep(connection, insertion.result.stored_sha256, insertion.stored)
                    made = codec.result_row(entry, insertion.reports)
                    connection.execute(insert(RESULTS), {"session": session, "entry": number, **made})
            connection.execute(insert(ENTRIES), rows)
        return last

    def _not_ours(self, session: int) -> StoreError:
        with self._looking() as connection:
            text = connection.execute(select(SESSIONS.c.holder).where(SESSIONS.c.id == session)).scalar()
        other = holder.parse(text)
        if other == holder.this_process():
            return StoreError(
                "This session went on elsewhere in this kernel, and this copy of it is old; nothing was written. "
                "Open it again with `%llm resume NAME`."
            )
        who = other.shown if other else "nobody"
        return StoreError(
            f"This session is held by {who} now; nothing was written. Take it back with `%llm resume NAME --take`."
        )

    def log(self, session: int, *, upto: int | None = None) -> Iterator[Logged]:
        """Yield a session's log, oldest first.

        Args:
            session: its number.
            upto: the last entry to give; None: all of them.

        Raises:
            StoreError: a row is damaged.
        """
        with self._looking() as connection:
            inserted = select(RESULTS.c.entry, RESULTS.c.turn, RESULTS.c.step, RESULTS.c.ms, *_RESULT.selected_columns)
            inserted = inserted.where(RESULTS.c.session == session).order_by(RESULTS.c.entry)
            others = select(ENTRIES.c.entry, ENTRIES.c.kind, ENTRIES.c.payload)
            others = others.where(ENTRIES.c.session == session, ENTRIES.c.kind != Inserted.__name__)
            others = others.order_by(ENTRIES.c.entry)
            if upto is not None:
                inserted = inserted.where(RESULTS.c.entry <= upto)
                others = others.where(ENTRIES.c.entry <= upto)
            results = connection.execute(inserted).all()
            rest = connection.execute(others).all()
        made = (
            ((number, codec.inserted_of(row)) for number, *row in results),
            ((number, codec.entry_of(kind, payload)) for number, kind, payload in rest),
        )
        for number, entry in heapq.merge(*made, key=itemgetter(0)):
            yield Logged(number=number, entry=entry)

    def rows(self, session: int) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
        """Yield a session's log as rows, oldest first, each with the row of the result that it inserted."""
        with self._looking() as connection:
            held = connection.execute(select(RESULTS).where(RESULTS.c.session == session)).all()
            results = {row.entry: _without_session(row) for row in held}
            query = select(ENTRIES).where(ENTRIES.c.session == session).order_by(ENTRIES.c.entry)
            for row in connection.execute(query).all():
                yield _without_session(row), results.get(row.entry)

    def add_rows(self, made_with: Mapping[str, Any], options: str, lines: Sequence[Mapping[str, Any]]) -> None:
        """Add a session from rows, as `rows` and `requests` gave them, in one transaction; nobody holds it.

        Raises:
            SessionError: the name is taken.
            StoreError: a row is not of a table's form.
        """
        entries = [line["entry"] for line in lines if "entry" in line]
        session = {**made_with, "options": options, "used_at": _now(), "last_entry": len(entries)}
        try:
            with self._writing() as connection:
                key = connection.execute(insert(SESSIONS).returning(SESSIONS.c.id), session).scalar_one()
                for line in lines:
                    if "entry" in line:
                        connection.execute(insert(ENTRIES), {**line["entry"], "session": key})
                    if "result" in line:
                        texts.keep(connection, line["result"]["stored_sha256"], line["text"])
                        connection.execute(insert(RESULTS), {**line["result"], "session": key})
                    if "request" in line:
                        connection.execute(insert(REQUESTS), {**line["request"], "session": key})
        except IntegrityError:
            raise SessionError(
                f"There is a session named {made_with['name']!r} already: import under another name."
            ) from None
        except (SQLAlchemyError, KeyError, TypeError, ValueError, OverflowError, StoreError) as error:
            raise StoreError(f"The rows cannot be added ({str(error).splitlines()[0]}); nothing was.") from None

    # -- results

    def result(self, session: int, number: int) -> Result | None:
        """Return a result; None where the session never gave that number."""
        if not _is_key(number):
            return None
        with self._looking() as connection:
            query = _RESULT.where(RESULTS.c.session == session, RESULTS.c.number == number)
            row = connection.execute(query).first()
        return None if row is None else codec.result_of(row)

    def result_rows(self, session: int) -> list[Mapping[str, Any]]:
        """Return all results as rows of the table, oldest first."""
        with self._looking() as connection:
            query = select(RESULTS).where(RESULTS.c.session == session).order_by(RESULTS.c.number)
            return [row._asdict() for row in connection.execute(query)]

    def result_facts(self, session: int, *, after: int = 0) -> list[Mapping[str, Any]]:
        """Return the results with a number above `after` as rows, oldest first, with `sent_chars` for what was sent."""
        columns = [column for column in RESULTS.c if column.name not in ("sent", "images")]
        query = select(*columns, func.length(RESULTS.c.sent).label("sent_chars"))
        query = query.where(RESULTS.c.session == session, RESULTS.c.number > after).order_by(RESULTS.c.number)
        with self._looking() as connection:
            found = [row._asdict() for row in connection.execute(query)]
        return [{**row, "resolved": codec.path_of(row["resolved"])} for row in found]

    def numbers_of(self, session: int, resolved: str) -> list[int]:
        """Return the numbers of all results of one file, by its absolute path, oldest first."""
        where = (RESULTS.c.session == session, RESULTS.c.resolved == codec.path_column(resolved))
        with self._looking() as connection:
            return list(connection.execute(select(RESULTS.c.number).where(*where).order_by(RESULTS.c.number)).scalars())

    def has_stub_of(self, session: int, number: int) -> bool:
        """Return whether a stub of the session names result `number`."""
        if not _is_key(number):
            return False
        with self._looking() as connection:
            query = select(RESULTS.c.number).where(RESULTS.c.session == session, RESULTS.c.stands_for == number)
            return connection.execute(query.limit(1)).first() is not None

    def lines(self, sha256: str, offset: int = 1) -> Iterator[str]:
        """Yield the lines of a stored text from line `offset` (from 1) on."""
        with self._looking() as connection:
            yield from texts.lines(connection, sha256, offset)

    def parts(self, sha256: str) -> Iterator[str]:
        """Yield a stored text in pieces."""
        with self._looking() as connection:
            yield from texts.parts(connection, sha256)

    def text(self, sha256: str) -> str | None:
        """Return a stored text in full; None where there is none under that hash."""
        with self._looking() as connection:
            return texts.whole(connection, sha256)

    # -- requests

    def begin_request(self, session: int, row: Mapping[str, Any]) -> int:
        """Write a request before it is sent; return its number, from 1."""
        with self._writing() as connection:
            highest = select(func.max(REQUESTS.c.request)).where(REQUESTS.c.session == session)
            number: int = (connection.execute(highest).scalar() or 0) + 1
            connection.execute(insert(REQUESTS), {"session": session, "request": number, **row})
        return number

    def end_request(self, session: int, request: int, values: Mapping[str, Any]) -> None:
        """Write what came of a request; nothing to write is nothing done."""
        if not values:
            return
        with self._writing() as connection:
            where = (REQUESTS.c.session == session, REQUESTS.c.request == request)
            connection.execute(update(REQUESTS).where(*where).values(**values))

    def requests(self, session: int, *, after: int = 0) -> list[dict[str, Any]]:
        """Return a session's requests with a number above `after` as rows, oldest first."""
        with self._looking() as connection:
            where = (REQUESTS.c.session == session, REQUESTS.c.request > after)
            query = select(REQUESTS).where(*where).order_by(REQUESTS.c.request)
            return [row._asdict() for row in connection.execute(query)]

    def request(self, session: int, number: int) -> dict[str, Any] | None:
        """Return one request as a row; None where there was none."""
        if not _is_key(number):
            return None
        with self._looking() as connection:
            query = select(REQUESTS).where(REQUESTS.c.session == session, REQUESTS.c.request == number)
            row = connection.execute(query).first()
        return None if row is None else row._asdict()

    def last_request(self, session: int, *, purposes: Collection[str] | None = None, turn: int | None = None) -> int:
        """Return the number of the last request, of these purposes and that turn where they are named; 0: none is."""
        with self._looking() as connection:
            highest = select(func.max(REQUESTS.c.request)).where(REQUESTS.c.session == session)
            if purposes is not None:
                highest = highest.where(REQUESTS.c.purpose.in_(purposes))
            if turn is not None:
                highest = highest.where(REQUESTS.c.turn == turn)
            return connection.execute(highest).scalar() or 0


def _is_key(number: int) -> bool:
    """Return whether `number` can be a row's: what a database cannot hold is none."""
    return 0 < number <= _MOST


def _without_session(row: Any) -> dict[str, Any]:
    return {key: value for key, value in row._asdict().items() if key != "session"}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")  # so that what is later sorts later everywhere
