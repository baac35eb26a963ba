"""What the store gives of a session: its own row, and the entries of its log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nbcontext.entry import Entry
from nbcontext.store import codec


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionRow:
    """A session as the store knows it."""

    id: int
    name: str
    kind: str
    root: str
    made_at: str
    used_at: str
    options: str
    """What the session was made with, as JSON."""
    last_entry: int
    holder: str | None

    @classmethod
    def of(cls, row: Any) -> SessionRow:
        """Return the session that a row of the sessions table holds."""
        fields: dict[str, Any] = row._asdict()
        return cls(**{**fields, "root": codec.path_of(fields["root"])})


@dataclass(frozen=True, kw_only=True, slots=True)
class Logged:
    """One entry of a session's log, as it was written."""

    number: int
    entry: Entry
