"""What a provider sent, as plain chunks in OpenAI's form, taken below litellm's own stream.

litellm's stream fills in what was not sent: counts by a tokenizer of its own, zeros for nulls, calls glued together.
Its source, `completion_stream`, has the provider's chunks (OpenAI's form) or litellm's translation of them; those are
read here. Only where the source has another form is the stream itself read, and its counts are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Final

from nbcontext.call import Json

Chunk = dict[str, Json]

_DELTA_KEYS: Final = frozenset(
    {"reasoning_content", "reasoning", "reasoning_details", "reasoning_items", "thinking_blocks"}
)
"""What has a place of its own in a delta; a GenericStreamingChunk has none for it."""


def plain(stream: Any) -> Iterator[Chunk]:
    """Yield the chunks of what litellm gave, mostly a CustomStreamWrapper."""
    if not hasattr(stream, "completion_stream"):
        # A few providers' streams come unwrapped (text completions).
        yield from _without_counts(stream)
        return
    if stream.completion_stream is None:
        stream.fetch_sync_stream()
    reports = _tapped(stream.completion_stream)
    source = iter(stream.completion_stream)
    for item in source:
        chunk = _chunk(item)
        if chunk is None:
            stream.completion_stream = chain([item], source)
            yield from _without_counts(stream)
            return
        if reports:
            chunk.pop("usage", None)
            while reports:
                yield {"usage": reports.pop(0)}
        yield chunk


def _chunk(item: Any) -> Chunk | None:
    """Return a source's item as a chunk; None: it has a form of its provider's own."""
    if hasattr(item, "choices") and hasattr(item, "model_dump"):
        # The SDK does not validate what servers send: arguments may be an object, ids may be null.
        return dict(item.model_dump(mode="json", exclude_unset=_is_sdk(item), exclude_none=True, warnings=False))
    if isinstance(item, Mapping) and "choices" in item:
        return dict(item)
    if isinstance(item, Mapping) and "is_finished" in item:
        return _from_generic(item)
    return None


def _is_sdk(item: object) -> bool:
    return type(item).__module__.startswith("openai.")


def _from_generic(item: Mapping[str, Any]) -> Chunk:
    """Return litellm's GenericStreamingChunk (of providers a person registers) as a chunk."""
    delta: Chunk = {"content": item.get("text") or ""}
    if item.get("tool_use"):
        delta["tool_calls"] = [dict(item["tool_use"])]
    fields = item.get("provider_specific_fields") or {}
    delta.update({key: value for key, value in fields.items() if key in _DELTA_KEYS})
    rest = {key: value for key, value in fields.items() if key not in _DELTA_KEYS}
    if rest:
        delta["provider_specific_fields"] = rest
    chunk: Chunk = {"choices": [{"index": 0, "delta": delta}]}
    if item.get("is_finished"):
        chunk["choices"] = [{"index": 0, "delta": delta, "finish_reason": item.get("finish_reason") or None}]
    usage = item.get("usage")
    if usage:
        chunk["usage"] = dict(usage)
    return chunk


def _without_counts(stream: Any) -> Iterator[Chunk]:
    for item in stream:
        chunk = dict(item.model_dump(mode="json", exclude_none=True, warnings=False))
        chunk.pop("usage", None)
        yield chunk


def _tapped(source: Any) -> list[Json]:
    """Return a list that fills, while `source` is read, with the reports of counts as the provider's events have them.

    litellm's translation has zeros for what was not reported, and leaves some out. The list stays empty where `source`
    reads no events as text.
    """
    reports: list[Json] = []
    lines = getattr(source, "response_iterator", None)
    if lines is not None:
        source.response_iterator = _tap(lines, reports)
    return reports


def _tap(lines: Any, reports: list[Json]) -> Iterator[Any]:
    for line in lines:
        text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
        if isinstance(text, str) and '"usage' in text:
            reports.extend(_reports(text))
        yield line


def _reports(text: str) -> Iterator[Json]:
    try:
        event = json.loads(text.strip().removeprefix("data:"))
    except ValueError:
        return
    if not isinstance(event, dict):
        return
    choices = event.get("choices")
    # Beside the event's own: Anthropic's first event has it in the message, Moonshot's last one in the choice.
    for holder in (event, event.get("message"), *(choices if isinstance(choices, list) else ())):
        if isinstance(holder, dict):
            for usage in (holder.get("usage"), holder.get("usageMetadata")):
                if isinstance(usage, dict) and any(value is not None for value in usage.values()):
                    yield usage
