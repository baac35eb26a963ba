"""A case on stage: its workspace, its session on the real code, and the model that plays the case's replies."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from nbcontext import assets, hygiene
from nbcontext.call import Call
from nbcontext.conformance.exchange import Exchange
from nbcontext.conformance.form import Case, Door
from nbcontext.conformance.player import Player
from nbcontext.conformance.workspace import Workspace
from nbcontext.engine import Surface
from nbcontext.entry import Inserted, Replied, TakenBack, TurnBegan
from nbcontext.events import Event, ResultInserted
from nbcontext.history import assistant_message, dump
from nbcontext.hygiene.table import EMPTY
from nbcontext.log import Log
from nbcontext.model.reply import Completion
from nbcontext.opening import Setup
from nbcontext.outcome import Text
from nbcontext.session import Session
from nbcontext.toolbox import toolbox
from nbcontext.tools.own import OWN

if TYPE_CHECKING:
    from nbcontext.exhibit import Exhibit
    from nbcontext.request import Request
    from nbcontext.result import Result
    from nbcontext.settings import Settings


class Stage:
    """What the steps of one case act on."""

    def __init__(self, case: Case, workspace: Workspace, settings: Settings) -> None:
        """Open the case's session; its files are laid out and its tools registered before."""
        self.case = case
        self.workspace = workspace
        self.home = Workspace(settings.home_folder())
        self.settings = settings
        self.now = datetime.fromisoformat(case.session.clock).astimezone()
        self.results: list[Result] = []
        """All results inserted so far, as they were shown."""
        self.may_change_prefix = True
        """Whether the next request may have another system prompt and tool list than the one before."""
        self._front_end = frozenset(case.session.front_end)
        self._consents = list(case.session.consent)
        self._model = Player(workspace, vision=case.session.vision)
        self.session = self._open()

    @property
    def requests(self) -> list[Request]:
        """All requests sent so far."""
        return self._model.requests

    @property
    def faults(self) -> list[str]:
        """What a server would refuse of them."""
        return self._model.faults

    @property
    def turns_before(self) -> int:
        """Turns of the session that are none of the case's."""
        return 0 if self.case.first_number == 1 else 1

    def get_ready(self, exchanges: tuple[Exchange, ...]) -> None:
        """Get ready to play the replies of `exchanges`."""
        self._model.waiting = list(exchanges)

    def resume(self) -> None:
        """Open the session anew from its store."""
        self.session = Session.resume(self.case.name, setup=self._setup)

    def open_doors(self, doors: Iterable[Door]) -> None:
        """Have a front end that can do this and no more."""
        self._front_end = frozenset(doors)
        self.session.surface = self._surface

    def close(self) -> None:
        """Let go of the session, and of its servers."""
        self.session.close()

    @property
    def _surface(self) -> Surface:
        return Surface(
            show=self._show,
            ask=lambda _: self._consents.pop(0) if self._consents else None,
            display=_look_away if "display" in self._front_end else None,
            page=lambda: "page" in self._front_end,
        )

    @property
    def _setup(self) -> Setup:
        return Setup(settings=self.settings, client=self._model, surface=self._surface, clock=lambda: self.now)

    def _open(self) -> Session:
        made = self.case.session
        left_out = () if made.only is None else [name for name in toolbox(OWN.values()) if name not in made.only]
        session = Session.new(
            self.case.name,
            model=made.model,
            root=self.workspace.folder,
            kind=made.kind,
            mode=made.mode,
            without=(*left_out, *made.without),
            max_steps=made.max_steps,
            window=made.window,
            mcp=made.mcp,
            setup=self._setup,
        )
        if self.case.first_number == 1:
            return session
        self._begin_at(session, self.case.first_number)
        return Session.resume(self.case.name, setup=self._setup)

    def _begin_at(self, session: Session, number: int) -> None:
        """Write a turn with result `number` - 1 and take it back, so that the next result is `number`."""
        log = Log(self.settings.open_store(), session.row.id, session.kind)
        call = Call(id="c0", name="bash", arguments="{}")
        around = hygiene.Surroundings(context=assets.loop().context, table=EMPTY)
        insertion = hygiene.insert(Text(text="-"), around, number=number - 1, call_id=call.id, tool=call.name)
        reply = dump(Completion(calls=(call,)).message())
        user = dump({"role": "user", "content": "-"})
        log.write(TurnBegan(turn=1, words="-", notes=(), content=user, at=self.now.isoformat()))
        log.write(Replied(turn=1, step=1, body=reply, origin=""))
        log.write(Inserted(turn=1, step=1, result=insertion.result), insertion=insertion)
        log.write(Replied(turn=1, step=2, body=assistant_message("-").kept, origin=""))
        log.write(TakenBack(turns=(1,)))

    def _show(self, event: Event) -> None:
        if isinstance(event, ResultInserted):
            self.results.append(event.result)


def _look_away(_: Exhibit) -> None:
    """Be shown something: a case has nobody who looks."""
