"""Stored texts by their hash, in parts, so that a window of a huge one is read without the rest of it."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, Insert, func, insert, select
from sqlalchemy.dialects import postgresql

from nbcontext.store.schema import TEXTS

PART_CHARS = 1_000_000
"""Characters a part holds at most; far below any database's limit for one value."""


def keep(connection: Connection, sha256: str, text: str) -> None:
    """Store `text` under its hash; a text that is there already is not stored again."""
    if connection.execute(select(TEXTS.c.part).where(TEXTS.c.sha256 == sha256).limit(1)).first() is not None:
        return
    lines_before = 0
    for part, start in enumerate(range(0, max(len(text), 1), PART_CHARS)):
        piece = text[start : start + PART_CHARS]
        row = {"sha256": sha256, "part": part, "lines_before": lines_before, "text": piece}
        connection.execute(_insert(connection), row)
        lines_before += piece.count("\n")


def _insert(connection: Connection) -> Insert:
    """Return the insert of a part; where writers are not one after the other, another may store the same text now."""
    if connection.dialect.name == "postgresql":
        return postgresql.insert(TEXTS).on_conflict_do_nothing()
    return insert(TEXTS)


def lines(connection: Connection, sha256: str, offset: int) -> Iterator[str]:
    """Yield the lines of a stored text from line `offset` (from 1) on, without terminators (decision 3)."""
    # The line feed before line `offset` lies in the last part that fewer than offset-1 line feeds come before.
    start = select(func.max(TEXTS.c.part)).where(TEXTS.c.sha256 == sha256, TEXTS.c.lines_before < offset - 1)
    first = connection.execute(start).scalar() or 0
    begun: list[str] = []  # what there is of a line that goes on in the next part
    to_skip = -1
    for part in range(first, 1 << 30):
        query = select(TEXTS.c.lines_before, TEXTS.c.text).where(TEXTS.c.sha256 == sha256, TEXTS.c.part == part)
        row = connection.execute(query).first()
        if row is None:
            break
        if to_skip < 0:
            to_skip = offset - 1 - row.lines_before
        pieces = row.text.split("\n")
        if len(pieces) > 1:
            pieces[0] = "".join((*begun, pieces[0]))
            begun = []
        begun.append(pieces.pop())
        for piece in pieces[to_skip:]:
            yield piece.removesuffix("\r")
        to_skip = max(to_skip - len(pieces), 0)
    last = "".join(begun)
    if last and not to_skip:
        yield last


def parts(connection: Connection, sha256: str) -> Iterator[str]:
    """Yield the parts of a stored text, in order."""
    for part in range(1 << 30):
        query = select(TEXTS.c.text).where(TEXTS.c.sha256 == sha256, TEXTS.c.part == part)
        text = connection.execute(query).scalar()
        if text is None:
            return
        yield text


def whole(connection: Connection, sha256: str) -> str | None:
    """Return a stored text in full; None where there is none under that hash."""
    query = select(TEXTS.c.text).where(TEXTS.c.sha256 == sha256).order_by(TEXTS.c.part)
    parts = connection.execute(query).scalars().all()
    return "".join(parts) if parts else None
