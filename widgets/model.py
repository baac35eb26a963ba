"""What every view's model gives its widget and its static form, and the session it looks at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from nbcontext.errors import SessionError

if TYPE_CHECKING:
    from nbcontext.display.twin import Twin
    from nbcontext.history import History
    from nbcontext.loop import Context
    from nbcontext.request import Request
    from nbcontext.session import Session
    from nbcontext.store import Store

Message = dict[str, Any]
"""What travels to a page: JSON."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What a page is answered."""

    content: Message
    buffer: bytes | None = None
    """Text or numbers beside it, not escaped."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Later:
    """An answer that takes time: `work` is run in a thread, and a newer one stops it by `stop`."""

    work: Callable[[], Answer]
    stop: Callable[[], None]


class Model(Protocol):
    """A view's model; a lock around its methods keeps threads apart."""

    kind: str
    """`results`, `recall`, `cache`: the ES module, and of each there is one live view."""
    name: str
    """What a person calls it."""

    def state(self) -> Message:
        """Return all that is shown now, small enough to be saved."""

    def update(self) -> Message | list[Any] | None:
        """Look again; return what changed since the last state or update, None where nothing did."""

    def twin(self) -> Twin:
        """Return the static form of what is shown now."""

    def answer(self, asked: Mapping[str, Any]) -> Answer | Later:
        """Return what a page asked for.

        Raises:
            NbcontextError: there is no such thing.
        """


@dataclass(slots=True)
class Look:
    """The session that a view looks at, whatever session is opened later."""

    session: Session
    current: Callable[[], Session]
    """Gives the open session; raises `SessionError` where none is."""
    note: str = field(default="", init=False)
    """What is to be known about what is shown; empty: it is the open session."""
    name: str = field(default="", init=False)

    def __post_init__(self) -> None:
        """Look for the first time."""
        self.again()

    def again(self) -> None:
        """Find out how the session stands now: it may be opened anew, renamed, or another may be open."""
        try:
            now = self.current()
        except SessionError:
            now = None
        if now is not None and now.row.id == self.id:
            self.session, self.name, self.note = now, now.name, ""
            return
        rows = (row.name for row in self.store.sessions() if row.id == self.id)
        self.name = next(rows, self.session.name)
        other = f"the open one is {now.name}" if now else "none is open"
        self.note = f"This is session {self.name}; {other}."

    @property
    def id(self) -> int:
        """The session's number in the store."""
        return self.session.row.id

    @property
    def store(self) -> Store:
        """Where it is stored."""
        return self.session.log.store

    @property
    def history(self) -> History:
        """Its live history."""
        return self.session.history

    @property
    def context(self) -> Context:
        """The form of ids and hashes."""
        from nbcontext import assets

        return assets.loop().context

    def request(self, number: int) -> Request:
        """Return exactly what request `number` sent.

        Raises:
            SessionError: there was no such request.
        """
        return self.session.request(number)

    def back(self, command: str) -> str:
        """Return how a dead view is brought back."""
        return f"%llm resume {self.name}, then %llm {command}"


def whole(asked: Mapping[str, Any], key: str, default: int = 0) -> int:
    """Return a whole number that a page sent; what is none is `default`."""
    value = asked.get(key)
    return value if type(value) is int and abs(value) < 1 << 53 else default
