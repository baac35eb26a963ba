"""A session's log and what follows from it: every entry is written to the store first, then the history moves on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbcontext.errors import SessionError
from nbcontext.history import History, fold

if TYPE_CHECKING:
    from nbcontext.entry import Entry
    from nbcontext.history import Kind
    from nbcontext.result import Insertion
    from nbcontext.store import Store


class Log:
    """The log of one session."""

    def __init__(self, store: Store, session: int, kind: Kind, *, read_only: bool = False) -> None:
        """Read the log as the store has it.

        Raises:
            StoreError: an entry is damaged.
        """
        self.store = store
        self.session = session
        self.read_only = read_only
        self._start = History(kind=kind, mode="ask")
        self.history = self._start
        """The live history."""
        self.last = 0
        """Number of the last entry."""
        logged = list(store.log(session))
        if logged:
            self.history = fold(self._start, (item.entry for item in logged))
            self.last = logged[-1].number

    def write(self, *entries: Entry, insertion: Insertion | None = None) -> None:
        """Write entries, and move the history on.

        Raises:
            SessionError: the session was opened read-only.
            StoreError: another process holds the session now.
        """
        if self.read_only:
            raise SessionError("This session is open read-only: `%llm resume NAME --take` takes it over.")
        self.last = self.store.append(self.session, entries, insertion)
        for entry in entries:
            self.history = self.history.apply(entry)

    def at(self, entry: int) -> History:
        """Return the history as it was after the log's entry `entry`."""
        return fold(self._start, (item.entry for item in self.store.log(self.session, upto=entry)))
