"""A turn as a person watches it: in a notebook as blocks of which the last is updated, in a terminal as text.

Both take events (`nbcontext.events`) on the main thread. A view shows each piece of the answer once; its parts are
`Output`s, so what is shown can be tested without a front end.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Protocol

from nbcontext.display.blocks import MOST_CHARS, Blocks
from nbcontext.display.markdown import is_harmless, to_html
from nbcontext.display.status import Status
from nbcontext.display.summary import answer_line, call_line
from nbcontext.events import CallStarted, Notice, ResultInserted, TextArrived
from nbcontext.plain import visible

if TYPE_CHECKING:
    from nbcontext.call import Call
    from nbcontext.events import Event
    from nbcontext.loop import Context

PAUSE_S = 0.05
"""Seconds between two updates of one block: at most twenty a second."""

_GROWTH = 1.5

CALLS_A_BLOCK = 20
"""Lines of calls that one block holds."""

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
        self._asked: dict[str, Call] = {}
        self._waiting: list[str] = []
        self._shown_at = -PAUSE_S
        self._shown_chars = 0
        self._status = Status(clock)
        self._told = ""

    def show(self, event: Event) -> None:
        """Show an event."""
        self._status.show(event)
        match event:
            case TextArrived(text=text):
                self._end_calls()
                self._waiting.append(text)
                self._show_if_due()
            case CallStarted(call=call):
                self._asked[call.id] = call
                self._open_calls(running=call_line(call))
                self._show_if_due()
            case ResultInserted(result=result):
                calls = self._open_calls(running="")
                calls.lines.append(answer_line(self._asked.pop(result.call_id, None), result))
                self._show_if_due()
            case Notice(text=text):
                self._end_text()
                self._end_calls()
                self._finish(_note_bundle(text))
            case _:
                self._show_if_due()

    def end(self, closing: str) -> None:
        """Show what is still held back, then the closing line."""
        self._end_text()
        self._end_calls()
        if closing or self._handle is not None:
            self._finish(_note_bundle(closing) if closing else {"text/html": "", "text/plain": ""})

    def _end_text(self) -> None:
        text = "".join((*self._take_waiting(), self._blocks.tail))
        if text:
            self._finish(text_bundle(text))
        self._blocks, self._shown_chars = Blocks(), 0

    def _take_waiting(self) -> list[str]:
        """Return the blocks that the waiting text finished."""
        text = "".join(self._waiting)
        self._waiting.clear()
        return self._blocks.feed(text)

    def _open_calls(self, *, running: str) -> _Calls:
        """Return the block of calls that still changes; a full one is left as it is, so that updates stay small."""
        self._end_text()
        if self._calls is not None and len(self._calls.lines) >= CALLS_A_BLOCK:
            self._end_calls()
        self._calls = self._calls or _Calls([])
        self._calls.running = running
        return self._calls

    def _end_calls(self) -> None:
        if self._calls is not None:
            self._finish(self._calls.bundle())
            self._calls = None

    def _show_if_due(self) -> None:
        """Show what changed, unless something was shown just now: then it is held back."""
        if self._clock() - self._shown_at < PAUSE_S:
            return
        if self._calls is not None:
            self._put(self._calls.bundle())
            return
        if done := self._take_waiting():
            # What is finished is shown as one; what follows it waits for its own time.
            self._finish(text_bundle("".join(done)))
            self._shown_chars = 0
            return
        tail = self._blocks.tail
        # A block that finds no end is shown ever more seldom, so that its updates do not add up to its square.
        if len(tail) > (self._shown_chars if len(tail) < MOST_CHARS else self._shown_chars * _GROWTH):
            self._put(text_bundle(tail))
            self._shown_chars = len(tail)
        elif self._status.line() != self._told:
            self._put(text_bundle(tail) if tail else {})

    def _finish(self, bundle: Bundle) -> None:
        """Show a block for the last time, without the status below it."""
        self._put(bundle, last=True)
        self._handle = None

    def _put(self, bundle: Bundle, *, last: bool = False) -> None:
        if not last:
            self._told, bundle = self._status.line(), self._status.below(bundle)
        if self._handle is None:
            self._handle = self._display(bundle)
        else:
            self._handle.update(bundle)
        self._shown_at = self._clock()


class TerminalView:
    """Shows a turn as text: each piece once, nothing rewritten."""

    def __init__(self, context: Context, write: Callable[[str], None]) -> None:
        self._context = context
        self._write = write
        self._in_text = False
        self._asked: dict[str, Call] = {}

    def show(self, event: Event) -> None:
        """Show an event."""
        match event:
            case TextArrived(text=text):
                self._write(visible(text))
                self._in_text = not text.endswith("\n")
            case CallStarted(call=call):
                self._asked[call.id] = call
            case ResultInserted(result=result):
                asked = self._asked.pop(result.call_id, None)
                self._line(f"  {answer_line(asked, result)}")
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
