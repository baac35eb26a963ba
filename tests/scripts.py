"""What tests of whole sessions share: replies, and a session with a scripted model in folders of its own."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

from nbcontext.call import Call
from nbcontext.engine import Surface
from nbcontext.events import Event, Notice
from nbcontext.model.reply import Completion
from nbcontext.opening import Setup
from nbcontext.session import Session
from nbcontext.settings import Settings
from nbcontext.testing import ScriptedModel

_ids = itertools.count(1)


def calls(*wanted: tuple[str, dict]) -> Completion:
    """Return a reply that makes calls."""
    made = tuple(Call(id=f"c{next(_ids)}", name=name, arguments=json.dumps(given)) for name, given in wanted)
    return Completion(calls=made, finish_reason="tool_calls", complete=True)


def says(text: str) -> Completion:
    """Return a reply of text."""
    return Completion(text=text, finish_reason="stop", complete=True)


class Play:
    """A folder, a home, a scripted model, and what its person was told and asked."""

    def __init__(self, folder: Path, script: list, *, vision: bool = False, model: str = "scripted/one") -> None:
        self.root, self.home = folder / "root", folder / "home"
        self.root.mkdir(exist_ok=True)
        self.model, self.name = ScriptedModel(script, vision=vision), model
        self.told: list[str] = []
        self.asked: list[str] = []
        self.answers: list[str | None] = []
        self.shown: list[object] = []
        self.during: Callable[[Event], None] = lambda _: None

    def setup(self, *, display: bool = False) -> Setup:
        surface = Surface(show=self._show, ask=self._ask, display=self.shown.append if display else None)
        return Setup(settings=Settings(home=self.home), client=self.model, surface=surface)

    def new(self, name: str = "s", *, display: bool = False, **given: object) -> Session:
        given = {"mode": "auto", "model": self.name, **given}
        return Session.new(name, root=self.root, setup=self.setup(display=display), **given)

    def resume(self, name: str = "s", **given: object) -> Session:
        return Session.resume(name, setup=self.setup(), **given)

    def results(self, session: Session) -> list[str]:
        """Return the text of every result, oldest first."""
        return [row["sent"] for row in session.log.store.result_rows(session.row.id)]

    def offered(self) -> list[str]:
        """Return the names of the tools that the last request offered."""
        return [tool["function"]["name"] for tool in self.model.requests[-1].tools]

    def _show(self, event: Event) -> None:
        if isinstance(event, Notice):
            self.told.append(event.text)
        self.during(event)

    def _ask(self, question: str) -> str | None:
        self.asked.append(question)
        return self.answers.pop(0) if self.answers else None
