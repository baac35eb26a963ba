"""What is wrong with a request's body: the demands of the strictest servers, and that nothing sent was rewritten.

Each function returns the faults as sentences; no fault, no sentence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

Body = Mapping[str, Any]

_BAD_CHARACTER: Final = re.compile("[\x00\ud800-\udfff]")
_BODY_KEYS: Final = frozenset(
    {"model", "messages", "tools", "tool_choice", "stream", "stream_options", "max_tokens", "max_completion_tokens"}
)
_EXTRA_KEYS: Final = frozenset({"reasoning_content", "reasoning", "reasoning_details"})
_MESSAGE_KEYS: Final = {
    "system": frozenset({"role", "content"}),
    "user": frozenset({"role", "content"}),
    "assistant": frozenset({"role", "content", "tool_calls"}) | _EXTRA_KEYS,
    "tool": frozenset({"role", "content", "tool_call_id"}),
}
_MOST_MARKS: Final = 4


def openai_faults(body: Body) -> list[str]:
    """Return the faults of a body for `/chat/completions`."""
    return [*_characters(body), *_unknown(body), *_openai_order(body.get("messages", []))]


def anthropic_faults(body: Body) -> list[str]:
    """Return the faults of a body for `/v1/messages`."""
    return [*_characters(body), *_anthropic_order(body.get("messages", [])), *_marks(body)]


def prefix_fault(body: Body, before: Body) -> str | None:
    """Return how `body` does not go on from the request `before` it; cache marks do not count."""
    for key in ("model", "tools", "system"):
        if _bytes(body.get(key)) != _bytes(before.get(key)):
            return f"{key} changed"
    now, then = body.get("messages", []), before.get("messages", [])
    for position, message in enumerate(then):
        if position >= len(now):
            return f"message {position} is gone"
        if _bytes(now[position]) != _bytes(message):
            return f"message {position} changed"
    return None


def prompt(body: Body) -> str:
    """Return what a server's cache compares: tools, system prompt, messages, without cache marks."""
    parts = [_bytes(body.get("tools") or []), _bytes(body.get("system") or "")]
    return "".join([*parts, *(_bytes(message) for message in body.get("messages", []))])


def marks(body: Body) -> list[str]:
    """Return where the body has cache marks, as paths like `messages.3.content.0`."""
    return [path for path, value in _walk(body, "") if isinstance(value, Mapping) and "cache_control" in value]


def _characters(body: Body) -> Iterator[str]:
    for path, value in _walk(body, ""):
        if isinstance(value, str) and _BAD_CHARACTER.search(value):
            yield f"{path} has a NUL or a lone surrogate"


def _unknown(body: Body) -> Iterator[str]:
    for key in body.keys() - _BODY_KEYS:
        yield f"unknown key {key}"
    for position, message in enumerate(body.get("messages", [])):
        for key in message.keys() - _MESSAGE_KEYS.get(message.get("role"), frozenset()):
            yield f"messages.{position}: unknown key {key} of role {message.get('role')}"
    for path in marks(body):
        yield f"{path} has a cache mark"
    names = [tool.get("function", {}).get("name") for tool in body.get("tools") or []]
    if len(set(names)) != len(names):
        yield "two tools have one name"


def _openai_order(messages: Sequence[Body]) -> Iterator[str]:
    expected: set[str] = {"system"}
    waiting: list[str] = []
    seen: set[str] = set()
    for position, message in enumerate(messages):
        role = str(message.get("role"))
        if role not in expected:
            yield f"messages.{position}: {role} where {' or '.join(sorted(expected))} must stand"
        calls = message.get("tool_calls") or []
        if not message.get("content") and not calls:
            yield f"messages.{position} is empty"
        if "tool_calls" in message and not calls:
            yield f"messages.{position} has an empty list of calls"
        if role == "tool":
            yield from _answered(waiting, message.get("tool_call_id"), f"messages.{position}")
        for call in calls:
            yield from _fresh(seen, call.get("id"), f"messages.{position}")
            waiting.append(call.get("id"))
            if not _is_object(call.get("function", {}).get("arguments")):
                yield f"messages.{position}: arguments are no JSON object"
        expected = (
            {"tool"}
            if waiting
            else {"system": {"user"}, "user": {"assistant"}, "tool": {"assistant"}}.get(role, {"user"})
        )
    if waiting or not messages or messages[-1].get("role") not in {"user", "tool"}:
        yield "the last message is not the person's and no result"


def _anthropic_order(messages: Sequence[Body]) -> Iterator[str]:
    waiting: list[str] = []
    seen: set[str] = set()
    for position, message in enumerate(messages):
        where = f"messages.{position}"
        if message.get("role") != ("user", "assistant")[position % 2]:
            yield f"{where}: roles do not alternate"
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        yield from _empty(blocks, where)
        for block in blocks:
            if block.get("type") == "tool_result":
                yield from _answered(waiting, block.get("tool_use_id"), where)
        if message.get("role") == "user" and waiting:
            yield f"{where}: calls without a result: {waiting}"
            waiting.clear()
        for block in blocks:
            if block.get("type") == "tool_use":
                yield from _fresh(seen, block.get("id"), where)
                waiting.append(str(block.get("id")))
    if not messages or messages[-1].get("role") != "user":
        yield "the last message is not the user's"


def _empty(blocks: Sequence[Body], where: str) -> Iterator[str]:
    if not blocks:
        yield f"{where} is empty"
    if any(block.get("type") == "text" and not str(block.get("text")).strip() for block in blocks):
        yield f"{where} has an empty text"


def _marks(body: Body) -> Iterator[str]:
    found = marks(body)
    if len(found) > _MOST_MARKS:
        yield f"{len(found)} cache marks"
    for path in found:
        if not re.fullmatch(r"tools\.\d+|system\.\d+|messages\.\d+\.content\.\d+", path):
            yield f"a cache mark inside {path}"


def _answered(waiting: list[str], name: Any, where: str) -> Iterator[str]:
    if name in waiting:
        waiting.remove(name)
    else:
        yield f"{where}: a result of no call: {name}"


def _fresh(seen: set[str], name: Any, where: str) -> Iterator[str]:
    if not isinstance(name, str) or not name or name in seen:
        yield f"{where}: the call's id {name!r} is empty or was there before"
    seen.add(str(name))


def _is_object(text: Any) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (TypeError, ValueError):
        return False


def _walk(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    yield path, value
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _walk(inner, f"{path}.{key}" if path else str(key))


def _bytes(value: Any) -> str:
    return json.dumps(_bare(value), separators=(",", ":"))


def _bare(value: Any) -> Any:
    if isinstance(value, Mapping):
        bare = {key: _bare(inner) for key, inner in value.items() if key != "cache_control"}
        content = bare.get("content")
        if isinstance(content, str) and "role" in bare:
            # A text and a list of that one text are the same to Anthropic's server.
            bare["content"] = [{"type": "text", "text": content}]
        return bare
    return [_bare(inner) for inner in value] if isinstance(value, list) else value
