"""What `Session.ask` gives: the answer to one message of the person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbcontext.plain import visible
from nbcontext.result import Result
from nbcontext.usage import Usage

if TYPE_CHECKING:
    from nbcontext.history import Turn


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

    @classmethod
    def of(cls, turn: Turn, requests: Sequence[Mapping[str, Any]], *, seconds: float, ending: str) -> Reply:
        """Return the answer that a turn came to.

        Args:
            turn: the turn.
            requests: the rows of the requests that were sent for it.
            seconds: how long it took.
            ending: `answered`, or why it is no whole answer.
        """
        return cls(
            turn=turn.number,
            text=turn.reply_text,
            steps=len(requests),
            results=tuple(turn.results),
            usage=Usage(**{name: _sum(row[name] for row in requests) for name in Usage.__slots__}),
            cost=_sum(row["cost"] for row in requests),
            seconds=round(seconds, 3),
            stopped="" if ending == "answered" else ending,
            simulated=any('"simulated"' in (row["usage"] or "") for row in requests),
        )

    def _repr_markdown_(self) -> str:
        """Show the answer in a notebook, control characters as symbols."""
        return visible(self.text)


def _sum(values: Iterable[Any]) -> Any:
    """Return the sum; None where there is nothing to add or a value is unknown."""
    found = list(values)
    return None if not found or any(value is None for value in found) else sum(found)
