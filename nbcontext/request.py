"""A request to a model as data: what is sent, the cache marks some providers need, and the exact bytes to hash.

A message is in the neutral form every provider's is made from: `role` and `content`; of an assistant's message also
`tool_calls` and what its provider wants back word for word; of a tool's message also `tool_call_id`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from nbcontext.call import Json

Message = Mapping[str, Json]

NEUTRAL_KEYS: Final = frozenset({"role", "content", "tool_calls", "tool_call_id", "name"})
"""What a message has for every provider; its other keys belong to the provider that wrote it."""

NEUTRAL_CALL_KEYS: Final = frozenset({"id", "type", "function"})

_MARK: Final[dict[str, Json]] = {"type": "ephemeral"}
_MARKING_PROVIDERS: Final = frozenset({"anthropic"})
_HOSTS_OF_IMAGES: Final = frozenset({"azure_ai", "bedrock", "bedrock_converse", "vertex_ai"})
_HOSTS_OF_MARKING_MODELS: Final = frozenset({"azure_ai", "bedrock", "bedrock_converse", "openrouter", "vertex_ai"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One request."""

    model: str
    """As litellm names it: `provider/model`."""
    messages: tuple[Message, ...]
    """In the neutral form; the first is the system prompt."""
    tools: tuple[Message, ...] = ()
    """In OpenAI's function form."""
    api_base: str | None = None
    """None: the provider's own."""
    cache_key: str = ""
    """The same for all of a session's requests; sent only where the provider takes one. Empty: none."""
    max_tokens: int | None = None
    """Most tokens of the reply; None: the provider's own limit."""
    tool_choice: str | None = None
    """`auto`, `none`, `required`; None: the provider's default."""


def body(request: Request) -> str:
    """Return what was sent as JSON text, keys in the order they are sent: the same text, the same prefix."""
    return json.dumps(
        {"model": request.model, "tools": request.tools, "messages": request.messages}, separators=(",", ":")
    )


def takes_marks(model: str, provider: str) -> bool:
    """Return whether `model`, served by `provider`, caches only where a request is marked (Anthropic's models)."""
    return provider in _MARKING_PROVIDERS or (
        provider in _HOSTS_OF_MARKING_MODELS and ("claude" in model.lower() or "anthropic" in model.lower())
    )


def takes_images(model: str, provider: str) -> bool:
    """Return whether `provider` gives `model` the images of a tool's message, sent as parts of its content.

    litellm puts them into the tool's result for Anthropic's Messages API, wherever it is served, and for Bedrock's
    Converse API; an OpenAI-compatible server may refuse them, and others lose them.
    """
    return provider == "anthropic" or (
        provider in _HOSTS_OF_IMAGES and ("claude" in model.lower() or "anthropic" in model.lower())
    )


def marked(request: Request, provider: str) -> tuple[list[dict[str, Json]], list[dict[str, Json]]]:
    """Return copies of messages and tools, with `provider`'s cache marks where it needs them (decision 21).

    At most four: the last tool, the system prompt, the last message, and the message that was last in the request
    before. A provider looks back only some 20 blocks from a mark, so the fourth keeps what that request wrote in reach
    however much was appended since. A mark is a key of the message, never of its content: litellm then puts it on the
    block itself, on a tool's result and not inside it.
    """
    messages = [dict(message) for message in request.messages]
    tools = [dict(tool) for tool in request.tools]
    if not takes_marks(request.model, provider):
        return messages, tools
    if tools:
        tools[-1]["cache_control"] = dict(_MARK)
    for position in {0, len(messages) - 1, _last_before(messages)}:
        if 0 <= position < len(messages):
            _mark(messages[position])
    return messages, tools


def without_foreign(messages: Iterable[tuple[Message, str]], provider: str) -> tuple[Message, ...]:
    """Return the messages for `provider`, less what another provider's model wrote for itself.

    Args:
        messages: each with the provider whose model wrote it; the empty string where no model did.
        provider: the one that is to read them.
    """
    return tuple(message if origin in {provider, ""} else _neutral(message) for message, origin in messages)


def call_ids(messages: Iterable[Message]) -> frozenset[str]:
    """Return the ids of all calls in `messages`; a new call must have another."""
    found = set()
    for message in messages:
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, Sequence) and not isinstance(calls, str) else ():
            if isinstance(call, Mapping) and isinstance(name := call.get("id"), str):
                found.add(name)
    return frozenset(found)


def common(first: str, second: str) -> int:
    """Return how many characters two texts begin with alike."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first.startswith(second[:middle]):
            low = middle
        else:
            high = middle - 1
    return low


def _last_before(messages: Sequence[Message]) -> int:
    """Return where the request before this one ended: right before the newest assistant message; -1: there was none."""
    for position in range(len(messages) - 1, 0, -1):
        if messages[position].get("role") == "assistant":
            return position - 1
    return -1


def _mark(message: dict[str, Json]) -> None:
    calls = message.get("tool_calls")
    if message.get("role") == "assistant" and isinstance(calls, list) and calls:
        # The calls are the message's last blocks.
        last = calls[-1]
        message["tool_calls"] = [
            *calls[:-1],
            {**last, "cache_control": dict(_MARK)} if isinstance(last, dict) else last,
        ]
    elif message.get("content"):
        message["cache_control"] = dict(_MARK)


def _neutral(message: Message) -> Message:
    kept: dict[str, Json] = {key: value for key, value in message.items() if key in NEUTRAL_KEYS}
    calls = kept.get("tool_calls")
    if isinstance(calls, Sequence) and not isinstance(calls, str):
        kept["tool_calls"] = [
            {key: value for key, value in call.items() if key in NEUTRAL_CALL_KEYS}
            if isinstance(call, Mapping)
            else call
            for call in calls
        ]
    return kept
