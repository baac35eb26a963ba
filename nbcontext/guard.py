"""The prefix guard: inside an epoch a request extends the one before it, byte for byte (§10.5). Pure.

Requests are looked at as the model's server gets them: the neutral form, and the body that litellm puts on the wire.
Cache marks are no part of either (decision 21).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbcontext.request import Request

_FIXED = ("model", "system", "systemInstruction", "instructions", "tools", "tool_choice")
"""What a body has before its messages, by the providers' names for it."""
_GROWING = ("messages", "contents", "input")
"""The providers' names for the messages."""
_OPAQUE = ("input", "args", "arguments", "parameters", "input_schema")
"""The providers' names for what the model or a tool wrote as JSON: no mark is ever put there."""
_MARKS = ("cache_control", "cachePoint", "prompt_cache_breakpoint")


@dataclass(frozen=True, kw_only=True, slots=True)
class Break:
    """Where a request does not go on from the one before it."""

    what: str
    """The part: `model`, `system`, `tools`, `messages`."""
    message: int | None = None
    """Of the messages, which one, from 1 (the first after the system prompt); None: another part broke."""
    character: int = 0
    """Characters that the part's text still shares with what it was before."""

    @property
    def cause(self) -> str:
        """The break as a request's cause (interface: `cause`)."""
        return f"history changed at message {self.message}" if self.message is not None else f"{self.what} changed"

    @property
    def shown(self) -> str:
        """The break as a person is told of it, with its place."""
        return f"{self.cause}, character {self.character + 1}"


def form(request: Request) -> Mapping[str, object]:
    """Return a request in its neutral form, as a body to compare."""
    return {"model": request.model, "tools": request.tools, "messages": request.messages}


def first_break(before: Mapping[str, object], now: Mapping[str, object]) -> Break | None:
    """Return the first place where the body `now` does not extend the body `before`; None: it extends it."""
    for name in _FIXED:
        one, two = before.get(name), now.get(name)
        if one is two:
            continue
        texts = _text(one), _text(two)
        if texts[0] != texts[1]:
            return Break(what=_WORDS.get(name, name), character=_shared(*texts))
    for name in _GROWING:
        earlier, later = before.get(name), now.get(name)
        if isinstance(earlier, Sequence) and isinstance(later, Sequence):
            return _in_messages(earlier, later)
    return None


_WORDS = {"systemInstruction": "system", "instructions": "system"}


def _in_messages(earlier: Sequence[object], later: Sequence[object]) -> Break | None:
    offset = 1 if not (earlier and _is_system(earlier[0])) else 0
    for number, one in enumerate(earlier):
        two = later[number] if number < len(later) else None
        if one is two:
            continue  # two that are only equal may still differ in the order of their keys, which is sent
        texts = _text(one), _text(two)
        if texts[0] != texts[1]:
            place = number + offset
            what = "system" if place == 0 else "messages"
            return Break(what=what, message=place or None, character=_shared(*texts))
    return None


def _is_system(message: object) -> bool:
    return isinstance(message, Mapping) and message.get("role") in ("system", "developer")


def _text(value: object) -> str:
    """Return a part of a body as JSON without cache marks; content that a mark made a list is the text it was."""
    return json.dumps(_unmarked(value), ensure_ascii=False, default=str)


def _unmarked(value: object) -> object:
    if isinstance(value, Mapping):
        bare = {key: inner if key in _OPAQUE else _unmarked(inner) for key, inner in value.items() if key not in _MARKS}
        return bare["text"] if list(bare) == ["type", "text"] and bare["type"] == "text" else bare
    if isinstance(value, Sequence) and not isinstance(value, str):
        items = [_unmarked(inner) for inner in value if not (isinstance(inner, Mapping) and "cachePoint" in inner)]
        return items[0] if len(items) == 1 and isinstance(items[0], str) else items
    return value


def _shared(one: str, two: str) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
