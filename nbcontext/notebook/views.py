"""The live views of a kernel: opened beside their static form, kept up to date, frozen.

In the cell stand two outputs: the static form, folded, and below it the view. One view of a kind lives at a time. While
a turn runs, changes are sent a few times a second at most; at the end of every cell the whole state is sent once, and
the static form is made anew.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from nbcontext.display.progress import View
from nbcontext.events import RequestEnded, ResultInserted, Waited

if TYPE_CHECKING:
    from nbcontext.events import Event
    from nbcontext.widgets.live import LiveView
    from nbcontext.widgets.model import Model

PAUSE_S = 0.4
"""Seconds between two rounds of messages: with three views and the answer's text below 30 messages a second."""

Form = Literal["widget", "html", "text"]
Show = Callable[[dict[str, Any], dict[str, Any]], Callable[[dict[str, Any]], None]]
"""Adds an output of that data and metadata to the running cell, and gives what replaces its data."""

_NOTHING = {"text/html": "", "text/plain": ""}


def form(wanted: str, shell: object) -> Form:
    """Return the form in which things are shown.

    Args:
        wanted: the trait `display`.
        shell: the running IPython. A terminal shows text; VS Code and Colab get no scripts of ours by default.
    """
    if wanted in ("widget", "html", "text"):
        return wanted  # type: ignore[return-value]
    kinds = {kind.__name__ for kind in type(shell).__mro__}
    prints = type(getattr(shell, "display_pub", None)).__name__ == "DisplayPublisher"
    if prints or "TerminalInteractiveShell" in kinds:
        return "text"
    elsewhere = "google.colab" in sys.modules or bool(os.environ.keys() & {"VSCODE_PID", "VSCODE_CWD"})
    return "widget" if "ZMQInteractiveShell" in kinds and not elsewhere else "html"


@dataclass(slots=True)
class _Open:
    """One live view."""

    model: Model
    widget: LiveView
    replace_twin: Callable[[dict[str, Any]], None]
    replace_view: Callable[[dict[str, Any]], None]
    is_changed: bool = False


@dataclass(slots=True)
class Views:
    """The live views, by kind."""

    show_output: Show
    clock: Callable[[], float] = time.monotonic
    _open: dict[str, _Open] = field(default_factory=dict)
    _pushed_at: float = 0.0
    _is_due: bool = False

    def open(self, model: Model) -> None:
        """Show a view; an older one of its kind freezes."""
        from nbcontext.widgets.live import live

        self._freeze(model.kind)
        widget = live(model)
        data, metadata = widget.data()
        twin = self.show_output(dict(model.twin().folded(model.name)), {})
        view = self.show_output(data, metadata)
        self._open[model.kind] = _Open(model, widget, replace_twin=twin, replace_view=view)

    def show(self, event: Event) -> None:
        """Take note of an event of a turn, and send what changed if something was not sent just now."""
        if not self._open:
            return
        self._is_due |= isinstance(event, ResultInserted | RequestEnded)
        if self._is_due and isinstance(event, ResultInserted | RequestEnded | Waited):
            now = self.clock()
            if now - self._pushed_at >= PAUSE_S:
                self._push()
                self._pushed_at, self._is_due = now, False

    def settle(self) -> None:
        """Bring every view up to date when a cell has ended; one that did not change is left alone."""
        self._push()
        self._is_due = False
        for each in self._open.values():
            if each.is_changed:
                each.widget.settle()
                each.replace_twin(dict(each.model.twin().folded(each.model.name)))
                each.is_changed = False

    def freeze(self) -> int:
        """Replace every view by its static form; return how many there were."""
        kinds = list(self._open)
        for kind in kinds:
            self._freeze(kind)
        return len(kinds)

    def _push(self) -> None:
        for each in self._open.values():
            each.is_changed |= each.widget.push()

    def _freeze(self, kind: str) -> None:
        frozen = self._open.pop(kind, None)
        if frozen is None:
            return
        frozen.replace_twin(dict(frozen.model.twin().opened()))
        frozen.replace_view(dict(_NOTHING))
        frozen.widget.settle()
        frozen.widget.close()


@dataclass(slots=True)
class Watched:
    """A turn's view, with the live views told of what happens too."""

    inner: View
    views: Views

    def show(self, event: Event) -> None:
        """Show an event."""
        self.inner.show(event)
        self.views.show(event)

    def end(self, closing: str) -> None:
        """Show what is held back, and the closing line."""
        self.inner.end(closing)
