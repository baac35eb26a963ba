"""The tables of the store, and the named steps that bring an older store up to date."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

METADATA = MetaData()

SESSIONS = Table(
    "sessions",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("kind", String(8), nullable=False),  # agent, chat
    Column("root", Text, nullable=False),  # absolute path of the session's folder
    Column("made_at", String(40), nullable=False),  # ISO 8601 with offset
    Column("options", Text, nullable=False),  # what the session was made with, as JSON
    Column("last_entry", Integer, nullable=False),  # number of the log's last entry; 0: none
    Column("used_at", String(40), nullable=False),
    Column("holder", Text),  # who may write, as JSON; null: nobody
)

ENTRIES = Table(
    "entries",
    METADATA,
    Column("session", ForeignKey("sessions.id"), primary_key=True),
    Column("entry", Integer, primary_key=True),  # from 1, in the order things happened
    Column("kind", String(16), nullable=False),  # the entry's class
    Column("turn", Integer),
    Column("at", String(40), nullable=False),
    Column("payload", Text, nullable=False),  # the entry as JSON; empty of `Inserted`, which is a row of results
)

RESULTS = Table(
    "results",
    METADATA,
    Column("session", ForeignKey("sessions.id"), primary_key=True),
    Column("number", Integer, primary_key=True),  # the id, from 1
    Column("entry", Integer, nullable=False),
    Column("turn", Integer, nullable=False),
    Column("step", Integer, nullable=False),
    Column("ms", Float),  # milliseconds the tool ran; null: it was not run
    Column("call_id", Text, nullable=False),
    Column("tool", Text, nullable=False),
    Column("kind", String(12), nullable=False),
    Column("sent", Text, nullable=False),  # the tool message's text
    Column("stored_sha256", String(64), nullable=False),  # of the full text, which is in texts
    Column("stored_lines", BigInteger, nullable=False),
    Column("stored_chars", BigInteger, nullable=False),  # code points
    Column("path", Text),  # as the call gave it
    Column("resolved", Text),
    Column("first_line", Integer),
    Column("last_line", Integer),
    Column("total_lines", Integer),
    Column("cut", Boolean),
    Column("sha256", String(64)),  # of the file's bytes
    Column("stands_for", Integer),
    Column("same_key", Text),
    Column("seen", Text),  # states of files it tells, as JSON; null: just that of `resolved`
    Column("images", Text),  # data URLs that the tool message carries, as JSON; null: none
    Column("reports", Text, nullable=False),  # what each step of the pipeline did, as JSON
    Index("results_entry", "session", "entry"),
)

TEXTS = Table(
    "texts",
    METADATA,
    Column("sha256", String(64), primary_key=True),  # of the whole text as UTF-8
    Column("part", Integer, primary_key=True),  # from 0
    Column("lines_before", BigInteger, nullable=False),  # line feeds in the parts before
    Column("text", Text, nullable=False),
)

REQUESTS = Table(
    "requests",
    METADATA,
    Column("session", ForeignKey("sessions.id"), primary_key=True),
    Column("request", Integer, primary_key=True),  # from 1
    Column("entry", Integer, nullable=False),  # the log's last entry when it was sent: what it carried follows from it
    Column("turn", Integer, nullable=False),
    Column("step", Integer, nullable=False),
    Column("purpose", String(12), nullable=False),  # turn, step, compaction, measure
    Column("model", Text, nullable=False),
    Column("provider", Text, nullable=False),
    Column("body_sha256", String(64), nullable=False),  # of the request's canonical body
    Column("shape", Text),  # how it differs from what the history alone makes (a compaction's), as JSON
    Column("sent_at", String(40), nullable=False),
    Column("usage", Text),  # as the provider reported it, as JSON; null: it reported none
    Column("prompt_tokens", Integer),
    Column("cached_tokens", Integer),
    Column("cache_write_tokens", Integer),
    Column("completion_tokens", Integer),
    Column("reasoning_tokens", Integer),
    Column("cost", Float),  # US dollars; null: unknown
    Column("ttft_ms", Float),
    Column("ms", Float),
    Column("cause", Text, nullable=False, default=""),
    Column("broken", Text),  # where it did not go on from the request before though it should; null: it did
    Column("finish_reason", Text),
    Column("error", Text),
)

_STEPS = Table(
    "migrations",
    METADATA,
    Column("name", String(100), primary_key=True),
    Column("at", String(40), nullable=False),
)


def make_first_tables(connection: Connection) -> None:
    """Make the tables of the first release."""
    METADATA.create_all(connection, tables=[SESSIONS, ENTRIES, RESULTS, TEXTS, REQUESTS])


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (make_first_tables,)
"""In order; each runs once, in a transaction of its own, and is never changed after a release."""
MIGRATIONS_TABLE = _STEPS
