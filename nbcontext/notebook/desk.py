"""What commands act on: the defaults, the open session, and where things are shown and asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from nbcontext import opened, opening
from nbcontext.display.progress import QuietView
from nbcontext.display.summary import closing_line
from nbcontext.engine import Surface
from nbcontext.errors import NbcontextError
from nbcontext.events import Notice
from nbcontext.opening import Setup
from nbcontext.session import Session
from nbcontext.settings import Settings

if TYPE_CHECKING:
    from nbcontext.display.progress import View
    from nbcontext.events import Event
    from nbcontext.exhibit import Exhibit
    from nbcontext.reply import Reply
    from nbcontext.store import Store
    from nbcontext.widgets.model import Model
    from nbcontext.world import Namespace


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """What a command shows, in HTML and as text."""

    html: str
    text: str
    model: Model | None = None
    """Of a view: where the front end can, it lives below this, its static form."""

    @classmethod
    def view(cls, model: Model) -> Shown:
        """Return a view."""
        twin = model.twin()
        return cls(html=twin.opened()["text/html"], text=twin.text, model=model)

    @classmethod
    def line(cls, text: str) -> Shown:
        """Return one line of text."""
        return cls(html=f"<div>{escape(text)}</div>", text=text)


@dataclass(kw_only=True, slots=True)
class Desk:
    """The person's side of a kernel."""

    settings: Callable[[], Settings]
    """The defaults as they stand now."""
    view: Callable[[], View]
    """Makes what watches a turn."""
    present: Callable[[Shown], None]
    """Shows a command's answer."""
    ask: Callable[[str], str | None] = lambda _: None
    """Asks the person and returns their words; None where there is no front end to ask in."""
    namespace: Namespace | None = None
    display: Callable[[Exhibit], None] | None = None
    """Shows the person something at the model's wish; None: nothing here can."""
    freeze: Callable[[], int] = lambda: 0
    """Replaces every live view by its static form, and returns how many there were."""
    last_shown: dict[str, int] = field(default_factory=dict)
    """Session name to the turn last shown or sent in this kernel (`--keep`)."""

    def setup(self) -> Setup:
        """Return what a session is opened in here."""
        return Setup(settings=self.settings(), surface=self._surface(self._tell))

    def store(self) -> Store:
        """Return the store; that it is a new one beside one that is damaged is shown, once."""
        return opening.store_of(self.setup())

    def session(self) -> Session:
        """Return the open session.

        Raises:
            SessionError: none is open.
        """
        return opened.current()

    def has_session(self) -> bool:
        """Return whether a session is open."""
        try:
            opened.current()
        except NbcontextError:
            return False
        return True

    def ensure_session(self) -> Session:
        """Return the open session; open a new one with the defaults where there is none, and say so."""
        if not self.has_session():
            made = Session.new(setup=self.setup())
            self.present(Shown.line(f"New session {made.name} with {made.model}."))
        return opened.current()

    def run(self, job: Callable[[Session], object]) -> None:
        """Run something with the open session that takes time, and show what happens."""
        session = self.session()
        view = self.view()
        before, session.surface = session.surface, self._surface(view.show)
        try:
            job(session)
        finally:
            session.surface = before
            view.end("")

    def watch(self, turn: Callable[[], Reply], *, quiet: bool = False) -> Reply:
        """Run a turn of the open session and show it as it comes."""
        session = self.session()
        view = QuietView() if quiet else self.view()
        before, session.surface = session.surface, self._surface(view.show)
        try:
            reply = turn()
        except NbcontextError as error:
            view.end("")
            raise error from None
        finally:
            session.surface = before
        view.end(closing_line(reply))
        self.last_shown[session.name] = reply.turn
        return reply

    def _surface(self, show: Callable[[Event], None]) -> Surface:
        return Surface(show=show, ask=self.ask, namespace=self.namespace, display=self.display)

    def _tell(self, event: Event) -> None:
        """Show what is said to the person outside of a turn."""
        if isinstance(event, Notice):
            self.present(Shown.line(event.text))
