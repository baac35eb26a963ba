"""The provider `replay/NAME`: the assistant's side of a recorded session, offline and at once, by litellm's own road.

Which reply comes next is told from the request alone, so undo, retry and resume need nothing from here: the turn by the
number of the person's messages, the reply within it by the assistant's messages after the last of them. Where the
person's last message is a recorded one, its turn is played, whatever the number says (after a compaction it says less).
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from nbcontext.call import Call, Json
from nbcontext.errors import ModelError
from nbcontext.model.dial import REPLAY
from nbcontext.model.library import load
from nbcontext.request import common

_PIECE_CHARS: Final = 12
"""Characters of a streamed piece."""
_CHARS_A_TOKEN: Final = 4
_REMEMBERED: Final = 8
"""Requests whose prefix a recording's simulated server still has."""
_OVER: Final = "The recording is over: it has no further reply."


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedReply:
    """One reply of the model."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    extras: Mapping[str, Json] = field(default_factory=dict)
    """Keys of the assistant's message that its provider wanted back."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedTurn:
    """What the person asked, and the replies up to the turn's end."""

    asked: str
    """Without notes."""
    replies: tuple[RecordedReply, ...]


Lookup = Callable[[str], Sequence[RecordedTurn] | None]
"""A recording's name to its turns; None: there is no such recording."""


class _Server:
    """What all replays of this process share."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lookups: list[Lookup] = []
        self._seen: dict[str, deque[str]] = {}

    def register(self, lookup: Lookup) -> None:
        with self._lock:
            if lookup not in self._lookups:
                self._lookups.append(lookup)

    def turns(self, name: str) -> Sequence[RecordedTurn]:
        for lookup in reversed(self._lookups):
            found = lookup(name)
            if found is not None:
                return found
        raise ModelError(f"There is no recording {name!r}. Name one that is stored, as `replay/NAME`.")

    def cached_chars(self, name: str, prompt: str) -> int:
        """Return how much of `prompt`'s beginning an earlier request of `name` had; remember it from now on."""
        with self._lock:
            seen = self._seen.setdefault(name, deque(maxlen=_REMEMBERED))
            longest = max((common(prompt, earlier) for earlier in seen), default=0)
            seen.append(prompt)
        return longest


_server = _Server()


def register_replay(lookup: Lookup) -> None:
    """Add a place where recordings are found; the newest is asked first."""
    _server.register(lookup)


def next_reply(turns: Sequence[RecordedTurn], messages: Sequence[Mapping[str, Any]]) -> RecordedReply:
    """Return the reply that comes next in a conversation; past the recording's end, one that says so."""
    asked = [position for position, message in enumerate(messages) if message.get("role") == "user"]
    number = len(asked) - 1
    last = str(messages[asked[-1]].get("content") or "") if asked else ""
    same = [n for n, turn in enumerate(turns) if turn.asked and last.startswith(turn.asked)]
    here = min(same, key=lambda n: abs(n - number)) if same else number
    since = messages[asked[-1] + 1 :] if asked else messages
    step: int = sum(message.get("role") == "assistant" for message in since)
    if not 0 <= here < len(turns) or step >= len(turns[here].replies):
        return RecordedReply(text=_OVER)
    return turns[here].replies[step]


def simulated_usage(name: str, sent: Mapping[str, Any], reply: RecordedReply) -> dict[str, Json]:
    """Return token counts by a simple rule (four characters a token), marked as simulated."""
    prompt = json.dumps([sent.get("tools") or [], sent["messages"]], ensure_ascii=False, default=str)
    written = len(reply.text) + sum(len(call.name) + len(call.arguments) for call in reply.calls)
    # The last bracket pair is no part of the prefix that grows.
    cached = min(_server.cached_chars(name, prompt[:-2]), len(prompt) - 2)
    prompt_tokens = max(1, -(-len(prompt) // _CHARS_A_TOKEN))
    completion_tokens = max(1, -(-written // _CHARS_A_TOKEN))
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
        "prompt_tokens_details": {"cached_tokens": min(cached // _CHARS_A_TOKEN, prompt_tokens - 1)},
        "simulated": True,
    }


def streamed(reply: RecordedReply, usage: Mapping[str, Json]) -> Iterator[dict[str, Any]]:
    """Yield `reply` as litellm's GenericStreamingChunk, in small pieces."""
    if reply.extras:
        yield _chunk(provider_specific_fields=dict(reply.extras))
    for piece in _cut(reply.text):
        yield _chunk(text=piece)
    for index, call in enumerate(reply.calls):
        first = {"id": call.id, "type": "function", "index": index, "function": {"name": call.name, "arguments": ""}}
        yield _chunk(tool_use=first)
        for piece in _cut(call.arguments):
            rest = {"id": None, "type": "function", "index": index, "function": {"name": None, "arguments": piece}}
            yield _chunk(tool_use=rest)
    yield _chunk(is_finished=True, finish_reason="tool_calls" if reply.calls else "stop", usage=dict(usage))


def install() -> None:
    """Make `replay` one of litellm's providers."""
    litellm = load()
    if any(entry["provider"] == REPLAY for entry in litellm.custom_provider_map):
        return

    class Replay(litellm.CustomLLM):  # type: ignore[misc, name-defined]
        """litellm's way to a provider of one's own."""

        def streaming(self, model: str, messages: list[Any], **rest: Any) -> Iterator[dict[str, Any]]:
            name = model.removeprefix(f"{REPLAY}/")
            reply = next_reply(_server.turns(name), messages)
            tools = (rest.get("optional_params") or {}).get("tools")
            yield from streamed(reply, simulated_usage(name, {"messages": messages, "tools": tools}, reply))

    litellm.custom_provider_map = [*litellm.custom_provider_map, {"provider": REPLAY, "custom_handler": Replay()}]


def _chunk(**given: Any) -> dict[str, Any]:
    return {
        "text": "",
        "tool_use": None,
        "is_finished": False,
        "finish_reason": "",
        "usage": None,
        "index": 0,
        "provider_specific_fields": None,
        **given,
    }


def _cut(text: str) -> Iterator[str]:
    for start in range(0, len(text), _PIECE_CHARS):
        yield text[start : start + _PIECE_CHARS]
