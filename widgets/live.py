"""A view as a widget: its model's state as one small trait, updates and answers as messages with sequence numbers.

The one module that imports anywidget. Messages from the page arrive on any thread and at any time (while a cell runs
they may wait for its end), so nothing relies on them, and a lock keeps the model's users apart.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from functools import cache
from typing import Any

import anywidget
import traitlets

from nbcontext.plain import visible

from .model import Answer, Later, Message, Model
from .modules import joined, style


class LiveView(anywidget.AnyWidget):
    """One live view; `live` makes the class of its kind."""

    state = traitlets.Unicode().tag(sync=True)
    """The model's state and the number of the last message as JSON; a page that is loaded again begins from it.

    As one text, because a saved notebook has every number of a list on a line of its own.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._lock = threading.RLock()
        self._seq = 0
        self._is_old = False
        self._later: Later | None = None
        super().__init__(state=self._whole())
        self.on_msg(self._on_message)

    def data(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what is displayed: the widget, and a line of text for what shows no widgets; and its metadata."""
        data, metadata = self._repr_mimebundle_() or ({}, {})
        return {**data, "text/plain": f"(the live {self._model.name}; its static form stands above)"}, metadata

    def push(self) -> bool:
        """Have the model look again, and send what changed; return whether anything did."""
        with self._lock:
            changed = self._model.update()
            if changed is None:
                return False
            self._seq += 1
            self._is_old = True
            self.send({"update": changed, "seq": self._seq})
        return True

    def get_state(self, *args: Any, **more: Any) -> dict[str, Any]:
        """Return the traits; the model's state is made anew for a page that is loaded again, not for every message."""
        if self._is_old:
            with self._lock:
                self._trait_values["state"] = self._whole()
                self._is_old = False
        found: dict[str, Any] = super().get_state(*args, **more)
        return found

    def settle(self) -> None:
        """Send the whole state once: what a lossy channel dropped is made good, and savers of state see it."""
        with self._lock:
            self.send_state("state")

    def _whole(self) -> str:
        return json.dumps({**self._model.state(), "seq": self._seq}, ensure_ascii=False, separators=(",", ":"))

    def _on_message(self, _: object, content: Any, __: object) -> None:
        if not isinstance(content, Mapping) or "ask" not in content:
            return
        if content["ask"] == "state":
            self.settle()
            return
        with self._lock:
            made = self._answer(content)
        if isinstance(made, Later):
            self._run_later(content, made)
        else:
            self._reply(content, made)

    def _answer(self, content: Mapping[str, Any]) -> Answer | Later:
        try:
            return self._model.answer(content)
        except Exception as error:  # noqa: BLE001 - around a view's rendering: the page is told, the kernel goes on
            return Answer(content={"problem": visible(str(error) or type(error).__name__)})

    def _run_later(self, content: Mapping[str, Any], later: Later) -> None:
        """Run what takes time in a thread; a newer one ends the older."""
        if self._later is not None:
            self._later.stop()
        self._later = later

        def work() -> None:
            try:
                made = later.work()
            except Exception as error:  # noqa: BLE001 - as above
                made = Answer(content={"problem": visible(str(error) or type(error).__name__)})
            self._reply(content, made)

        threading.Thread(target=work, name="nbcontext-view", daemon=True).start()

    def _reply(self, content: Mapping[str, Any], made: Answer) -> None:
        message: Message = {"answer": content.get("id"), **made.content}
        self.send(message, [made.buffer] if made.buffer is not None else None)


@cache
def _class_of(kind: str) -> type[LiveView]:
    return type(f"Live{kind.title()}", (LiveView,), {"_esm": joined(f"{kind}.js"), "_css": style(kind)})


def live(model: Model) -> LiveView:
    """Return the widget of a model."""
    return _class_of(model.kind)(model)
