"""What a model answers: pieces while it streams, a whole reply at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nbcontext.call import Call, Json


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """One reply, whole or as far as it came."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    extras: Mapping[str, Json] = field(default_factory=dict)
    """Keys of the assistant's message that its provider wants back word for word (`reasoning_content`,
    `thinking_blocks`, …)."""
    call_extras: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    """Call id to keys of that call that its provider wants back (thought signatures)."""
    reasoning: str = ""
    """The model's reasoning as text, for the person."""
    finish_reason: str | None = None
    """As the provider gave it; None: it gave none, so the reply may be cut."""
    usage: Mapping[str, Json] | None = None
    """Token counts as the provider reported them; None: it reported none."""
    model: str | None = None
    """The model that answered, as the provider names it."""
    complete: bool = False
    """Whether the provider said that the reply is at its end."""

    def message(self) -> dict[str, Json]:
        """Return the assistant's message, in the neutral form, that puts this reply into the history."""
        message: dict[str, Json] = {"role": "assistant", "content": self.text or None, **self.extras}
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.sent_arguments},
                    **self.call_extras.get(call.id, {}),
                }
                for call in self.calls
            ]
        return message


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Text of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningPiece:
    """Text of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class CallPiece:
    """A call has begun; its arguments are still coming."""

    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished:
    """The last piece of a stream that came to its end."""

    reply: Completion
    ttft_ms: int | None
    """Milliseconds from sending the request to the first piece; None: there was none."""
    ms: int
    """Milliseconds from sending the request to its end, earlier tries left out."""
    tries: int = 1
    """HTTP requests made."""


Piece = TextPiece | ReasoningPiece | CallPiece | Finished
