"""What a running cell tells below its last block: steps, the running tool, tokens, how to stop. Pure but for the clock.

It is part of the block that still changes: it costs no output and no message of its own, moves with the answer, and is
in nothing that is saved: a finished block is shown once more without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from nbcontext.display.summary import call_line, number
from nbcontext.events import CallStarted, ReasoningArrived, RequestEnded, ResultInserted, TextArrived, TurnStarted

if TYPE_CHECKING:
    from nbcontext.events import Event

STOP = "stop: interrupt the kernel (■, or I twice)"
_STYLE = "font-size:.85em;opacity:.75"


@dataclass(slots=True)
class Status:
    """The state of a turn as it runs."""

    clock: Callable[[], float]
    """Seconds."""
    _turn: int = 0
    _step: int = 1
    _doing: str = ""
    _since: float = 0.0
    _prompt: int | None = 0
    _cached: int | None = 0
    _completion: int | None = 0
    _requests: int = field(default=0)

    def show(self, event: Event) -> None:
        """Take note of an event."""
        match event:
            case TurnStarted(turn=turn):
                self._turn = turn
                self._now("waiting for the model")
            case TextArrived():
                self._now("writing")
            case ReasoningArrived():
                self._now("thinking")
            case CallStarted(step=step, call=call):
                self._step = step
                self._now(call_line(call))
            case ResultInserted(step=step):
                self._step = step
                self._now("waiting for the model")
            case RequestEnded(step=step, usage=usage):
                self._step, self._requests = step, self._requests + 1
                self._prompt = _sum(self._prompt, usage.prompt_tokens)
                self._cached = _sum(self._cached, usage.cached_tokens)
                self._completion = _sum(self._completion, usage.completion_tokens)
            case _:
                return

    def line(self) -> str:
        """Return it as one line; empty before a turn begins."""
        if not self._turn:
            return ""
        parts = [f"step {self._step}", f"{self._doing} {self.clock() - self._since:.0f} s"]
        if self._requests:
            parts.append(f"{number(self._prompt)} input tokens ({number(self._cached)} cached)")
            parts.append(f"{number(self._completion)} output tokens")
        return " · ".join((*parts, STOP))

    def below(self, bundle: dict[str, str]) -> dict[str, str]:
        """Return a block's data with the line below it."""
        line = self.line()
        if not line:
            return bundle
        # A timer is read out on request, not every second.
        told = f'<div role="timer" aria-label="Status of the turn" style="{_STYLE}">… {escape(line)}</div>'
        return {"text/html": f"{bundle.get('text/html', '')}{told}", "text/plain": bundle.get("text/plain", "")}

    def _now(self, doing: str) -> None:
        if doing != self._doing:
            self._doing, self._since = doing, self.clock()


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second
