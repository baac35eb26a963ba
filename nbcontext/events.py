"""What happens in a turn, as it happens: what a front end shows."""

from __future__ import annotations

from dataclasses import dataclass

from nbcontext.call import Call
from nbcontext.entry import Note
from nbcontext.result import Result
from nbcontext.usage import Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnStarted:
    """The person's message stands in the store and is about to be sent."""

    turn: int
    notes: tuple[Note, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class TextArrived:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ReasoningArrived:
    """A piece of the model's reasoning."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CallStarted:
    """A tool call is about to be run."""

    step: int
    call: Call


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultInserted:
    """A call was answered; the model will be sent this."""

    step: int
    result: Result


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestEnded:
    """A request was answered, or failed."""

    request: int
    step: int
    usage: Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """One line to the person."""

    text: str


@dataclass(frozen=True, slots=True)
class Waited:
    """Nothing happened for a moment: what was held back may be shown."""


Event = TurnStarted | TextArrived | ReasoningArrived | CallStarted | ResultInserted | RequestEnded | Notice | Waited
