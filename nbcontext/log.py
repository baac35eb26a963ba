"""A session's log and what follows from it: every entry is written to the store first, then the history moves on."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from nbcontext.entry import Compacted, PrefixMade, TakenBack
from nbcontext.errors import SessionError, StoreError
from nbcontext.history import History, fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbcontext.entry import Entry
    from nbcontext.history import Kind
    from nbcontext.result import Insertion
    from nbcontext.store import Store


_EPOCHS = (PrefixMade, Compacted, TakenBack)
"""Entries after which a request need not extend the one before it."""


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
        self._turning = threading.Lock()
        self._start = History(kind=kind, mode="ask")
        self.history = self._start
        """The live history."""
        with _collector_paused():
            logged = list(store.log(session))
            self.history = folded(self._start, [item.entry for item in logged])
        self.last = logged[-1].number if logged else 0
        """Number of the last entry; 0: there is none."""
        self._epochs = [(item.number, type(item.entry)) for item in logged if isinstance(item.entry, _EPOCHS)]

    def write(self, *entries: Entry, insertion: Insertion | None = None) -> None:
        """Write entries, and move the history on.

        Raises:
            SessionError: the session was opened read-only.
            StoreError: another process holds the session now.
        """
        if self.read_only:
            raise SessionError("This session is open read-only: `%llm resume NAME --take` takes it over.")
        self.last = self.store.append(self.session, entries, insertion, after=self.last)
        for number, entry in enumerate(entries, self.last - len(entries) + 1):
            self.history = self.history.apply(entry)
            if isinstance(entry, _EPOCHS):
                self._epochs.append((number, type(entry)))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep what changes the history apart from a turn that runs: the model's own code may reach the session.

        Raises:
            SessionError: a turn runs.
        """
        if not self._turning.acquire(blocking=False):
            raise SessionError("A turn of this session is running: do this when it is over.")
        try:
            yield
        finally:
            self._turning.release()

    def deliberate(self, since: int) -> set[type[Entry]]:
        """Return the kinds of entries after `since` that let the next request break with the one before (§7, §10.1)."""
        return {kind for number, kind in self._epochs if number > since}

    def at(self, entry: int) -> History:
        """Return the history as it was after the log's entry `entry`."""
        with _collector_paused():
            return folded(self._start, [item.entry for item in self.store.log(self.session, upto=entry)])


def folded(start: History, entries: Sequence[Entry]) -> History:
    """Return the history that entries of the store make.

    Raises:
        StoreError: they do not hold together.
    """
    try:
        return fold(start, entries)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(
            f"The session's log does not hold together ({type(error).__name__}: {error}): run nbcontext verify."
        ) from None


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause the garbage collector while a log is read: all that is made stays, and a look through it is in vain."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
