"""A turn as a person watches it: in a notebook as blocks of which the last is updated, in a terminal as text.

Both take events (`nbcontext.events`) on the main thread. A view shows each piece of the answer once; its parts are
`Output`s, so what is shown can be tested without a front end.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

from nbcontext.display.blocks import Blocks
from nbcontext.display.markdown import is_harmless, to_html
from nbcontext.display.plain import visible
from nbcontext.display.summary import call_line, result_line
from nbcontext.events import CallStarted, Notice, ResultInserted, TextArrived

if TYPE_CHECKING:
    from nbcontext.events import Event
    from nbcontext.loop import Context

PAUSE_S = 0.05
"""Seconds between two updates of one block: at most twenty a second."""

Bundle = dict[str, str]


class Handle(Protocol):
    """One output that can be replaced."""

    def update(self, bundle: Bundle) -> None:
        """Show `bundle` in its place."""


class View(Protocol):
    """What watches a turn."""

    def show(self, event: Event) -> None:
        """Show an event."""

    def end(self, closing: str) -> None:
        """Show what is still held back, and the closing line where there is one."""


@dataclass(slots=True)
class _Calls:
    """The lines of the calls of one step."""

    lines: list[str]
    running: str = ""

    def bundle(self) -> Bundle:
        lines = [*self.lines, *([f"… {self.running}"] if self.running else [])]
        shown = "<br>".join(escape(line) for line in lines)
        style = "font-family:var(--jp-code-font-family,monospace);font-size:0.85em;opacity:0.75"
        return {"text/html": f'<div style="{style}">{shown}</div>', "text/plain": "\n".join(lines)}


class NotebookView:
    """Shows a turn as outputs of the running cell."""

    def __init__(
        self, context: Context, display: Callable[[Bundle], Handle], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Make the view.

        Args:
            context: the form of ids.
            display: adds an output to the cell and returns the handle that replaces it.
            clock: seconds.
        """
        self._context = context
        self._display = display
        self._clock = clock
        self._handle: Handle | None = None
        self._blocks = Blocks()
        self._calls: _Calls | None = None
        self._shown_at = 0.0
        self._held = False

    def show(self, event: Event) -> None:
        """Show an event."""
        match event:
            case TextArrived(text=text):
                self._end_calls()
                for block in self._blocks.feed(text):
                    self._put(text_bundle(block))
                    self._handle = None
                if self._blocks.tail:
                    self._put_soon(text_bundle, self._blocks.tail)
            case CallStarted(call=call):
                self._end_text()
                self._calls = self._calls or _Calls([])
                self._calls.running = call_line(call)
                self._put_soon(lambda calls: calls.bundle(), self._calls)
            case ResultInserted(result=result):
                self._end_text()
                self._calls = self._calls or _Calls([])
                self._calls.lines.append(result_line(result, self._context))
                self._calls.running = ""
                self._put_soon(lambda calls: calls.bundle(), self._calls)
            case Notice(text=text):
                self._end_text()
                self._end_calls()
                self._put(_note_bundle(text))
                self._handle = None
            case _:
                self._flush_if_due()

    def end(self, closing: str) -> None:
        """Show what is still held back, then the closing line."""
        self._end_text()
        self._end_calls()
        if closing:
            self._put(_note_bundle(closing))
            self._handle = None

    def _end_text(self) -> None:
        if self._blocks.tail:
            self._put(text_bundle(self._blocks.tail))
            self._handle = None
        self._blocks = Blocks()

    def _end_calls(self) -> None:
        if self._calls is not None:
            self._put(self._calls.bundle())
            self._calls = self._handle = None

    def _put_soon(self, make: Callable[[Any], Bundle], value: object) -> None:
        """Show now, or hold back until the block may be updated again."""
        if self._handle is None or self._clock() - self._shown_at >= PAUSE_S:
            self._put(make(value))
        else:
            self._held = True

    def _flush_if_due(self) -> None:
        if self._held and self._clock() - self._shown_at >= PAUSE_S:
            self._put(
                text_bundle(self._blocks.tail) if self._blocks.tail else self._calls.bundle() if self._calls else {}
            )

    def _put(self, bundle: Bundle) -> None:
        if not bundle:
            return
        if self._handle is None:
            self._handle = self._display(bundle)
        else:
            self._handle.update(bundle)
        self._shown_at, self._held = self._clock(), False


class TerminalView:
    """Shows a turn as text: each piece once, nothing rewritten."""

    def __init__(self, context: Context, write: Callable[[str], None]) -> None:
        self._context = context
        self._write = write
        self._in_text = False

    def show(self, event: Event) -> None:
        """Show an event."""
        match event:
            case TextArrived(text=text):
                self._write(visible(text))
                self._in_text = not text.endswith("\n")
            case ResultInserted(result=result):
                self._line(f"  {result_line(result, self._context)}")
            case Notice(text=text):
                self._line(visible(text))
            case _:
                return

    def end(self, closing: str) -> None:
        """Write the closing line on a line of its own."""
        self._line(closing)

    def _line(self, text: str) -> None:
        self._write(("\n" if self._in_text else "") + (f"{text}\n" if text else ""))
        self._in_text = False


class QuietView:
    """Shows nothing."""

    def show(self, event: Event) -> None:
        """Do nothing."""

    def end(self, closing: str) -> None:
        """Do nothing."""


def text_bundle(markdown: str) -> Bundle:
    """Return a piece of an answer for a notebook: HTML, Markdown where that is harmless, and text."""
    shown = visible(markdown)
    bundle = {"text/html": to_html(markdown), "text/plain": shown}
    if is_harmless(markdown):
        bundle["text/markdown"] = shown
    return bundle


def _note_bundle(text: str) -> Bundle:
    return {
        "text/html": f'<div style="font-size:0.85em;opacity:0.75">{escape(visible(text))}</div>',
        "text/plain": visible(text),
    }
