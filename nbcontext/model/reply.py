"""What a model answers: pieces while it streams, a whole reply at the end."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from nbcontext.call import Call, Json
from nbcontext.hygiene.clean import sendable

_UNFIT = re.compile(r"\\u(?:0000|d[89a-f])")
"""What may be the JSON escape of a NUL or of half a surrogate pair."""


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

    def fit(self) -> Completion:
        """Return the reply with nothing in its texts that no message may carry (decision 5)."""
        if not _UNFIT.search(json.dumps([self.message(), self.finish_reason])):
            return self
        return replace(
            self,
            text=sendable(self.text),
            calls=tuple(replace(call, id=sendable(call.id), name=sendable(call.name)) for call in self.calls),
            extras={key: _fit(value) for key, value in self.extras.items()},
            call_extras={
                sendable(name): {key: _fit(value) for key, value in extras.items()}
                for name, extras in self.call_extras.items()
            },
            finish_reason=None if self.finish_reason is None else sendable(self.finish_reason),
        )

    def message(self) -> dict[str, Json]:
        """Return the assistant's message, in the neutral form, that puts this reply into the history."""
        message: dict[str, Json] = {
            "role": "assistant",
            "content": self.text if self.text.strip() else None,
            **self.extras,
        }
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


def _fit(value: Json) -> Json:
    if isinstance(value, str):
        return sendable(value)
    if isinstance(value, dict):
        return {key: _fit(inner) for key, inner in value.items()}
    return [_fit(inner) for inner in value] if isinstance(value, list) else value


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
    wire: Mapping[str, object] | None = None
    """The body that was sent; None: unknown."""


Piece = TextPiece | ReasoningPiece | CallPiece | Finished
