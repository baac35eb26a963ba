"""Which session of this process is open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbcontext.errors import SessionError

if TYPE_CHECKING:
    from nbcontext.session import Session

_current: Session | None = None


def current() -> Session:
    """Return the open session.

    Raises:
        SessionError: none is open.
    """
    if _current is None:
        raise SessionError("No session is open: start one with `%llm new`, or open one with `%llm resume`.")
    return _current


def put(session: Session) -> Session:
    """Make `session` the open one; the MCP servers that only the one before had are closed."""
    global _current  # a ContextVar does not survive from cell to cell on ipykernel 7
    before, _current = _current, session
    if before is not None:
        before.let_go()
    return session
