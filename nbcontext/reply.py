"""What `Session.ask` gives: the answer to one message of the person."""

from __future__ import annotations

from dataclasses import dataclass

from nbcontext.hygiene.clean import sendable
from nbcontext.result import Result
from nbcontext.usage import Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """The answer to one message."""

    turn: int
    text: str
    """All text parts of the answer in order, joined by a blank line."""
    steps: int
    """Requests that were sent for it."""
    results: tuple[Result, ...]
    """The tool results on the way, oldest first."""
    usage: Usage
    """Sums over its requests; None where a request did not report."""
    cost: float | None
    """US dollars; None where a request's cost is unknown."""
    seconds: float
    stopped: str = ""
    """Why it is no whole answer: `interrupted`, `max_steps`; empty: it is one."""
    simulated: bool = False
    """Whether a request's token counts were simulated."""

    def _repr_markdown_(self) -> str:
        """Show the answer in a notebook, control characters as symbols."""
        return sendable(self.text)
