"""A request's token counts in one form, whatever form the provider reported them in (decision 25).

`prompt_tokens` is all input, what was read from and written to the cache included. What was not reported is None, and
so is a number that cannot be; the caller keeps the report as it came. Each form's source is named at its function;
which of them a report has is told by its keys, and by the provider only where the keys do not tell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

Raw = Mapping[str, object]

_MOST: Final = 2**31 - 1
"""More tokens than any request can have."""
_EXCLUSIVE_PROVIDERS: Final = frozenset({"anthropic", "azure_ai", "bedrock", "vertex_ai"})
"""Whose reports with `input_tokens` leave out cached tokens (Anthropic's form)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Tokens of one request; None: not reported, or a number that cannot be."""

    prompt_tokens: int | None = None
    """All input tokens."""
    cached_tokens: int | None = None
    """Of those, the ones read from the cache."""
    cache_write_tokens: int | None = None
    """Of those, the ones written to it, where that is billed or reported."""
    completion_tokens: int | None = None
    """All output tokens."""
    reasoning_tokens: int | None = None
    """Of those, the ones spent on reasoning."""


def normalise(raw: Raw | None, provider: str) -> Usage:
    """Return `raw`, a report in any provider's form, in ours.

    Args:
        raw: the report as it came; None where there was none.
        provider: litellm's name of the provider.
    """
    if not raw:
        return Usage()
    for wrapper in ("usageMetadata", "usage_metadata", "usage"):
        inner = raw.get(wrapper)
        if isinstance(inner, Mapping):
            return normalise(inner, provider)
    return _possible(_read(raw, provider))


def _read(raw: Raw, provider: str) -> Usage:
    """Return the numbers as they were reported, by the first form whose keys are there."""
    if raw.keys() & {"prompt_tokens", "prompt_cache_hit_tokens", "completion_tokens"}:
        found = _chat(raw)
    elif raw.keys() & {"promptTokenCount", "candidatesTokenCount"}:
        found = _gemini(raw)
    elif raw.keys() & {"inputTokens", "outputTokens"}:
        found = _converse(raw)
    elif raw.keys() & {"input_tokens", "output_tokens"}:
        found = _anthropic(raw) if _is_anthropic(raw, provider) else _responses(raw)
    elif raw.keys() & {"prompt_eval_count", "eval_count"}:
        # Ollama's own form (ollama: api/types.go Metrics). What it had cached it does not say.
        found = Usage(prompt_tokens=_count(raw, "prompt_eval_count"), completion_tokens=_count(raw, "eval_count"))
    else:
        timings = raw.get("timings", raw)
        found = _llama(timings) if isinstance(timings, Mapping) else Usage()
    return found


def _chat(raw: Raw) -> Usage:
    """OpenAI's chat form and its dialects; litellm's own form, where Anthropic's keys stand beside and are included."""
    details = _group(raw, "prompt_tokens_details", "input_tokens_details")
    prompt = _count(raw, "prompt_tokens")
    completion = _count(raw, "completion_tokens")
    reasoning = _count(_group(raw, "completion_tokens_details", "output_tokens_details"), "reasoning_tokens")
    # DeepSeek: prompt_cache_hit_tokens; Moonshot: cached_tokens at the top.
    cached = _first(
        _count(details, "cached_tokens", "cache_read_tokens"),
        _count(raw, "prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens"),
    )
    write = _first(
        _count(details, "cache_write_tokens", "cache_creation_tokens"), _count(raw, "cache_creation_input_tokens")
    )
    if prompt is None and "prompt_tokens" not in raw:
        prompt = _sum(_count(raw, "prompt_cache_hit_tokens"), _count(raw, "prompt_cache_miss_tokens"))
    if reasoning and completion is not None and _count(raw, "total_tokens") == (prompt or 0) + completion + reasoning:
        # xAI leaves reasoning out of completion_tokens; its own total shows it.
        completion += reasoning
    return Usage(
        prompt_tokens=prompt,
        cached_tokens=cached,
        cache_write_tokens=write,
        completion_tokens=completion,
        reasoning_tokens=reasoning,
    )


def _responses(raw: Raw) -> Usage:
    """OpenAI's Responses form: `input_tokens` includes what was cached."""
    details = _group(raw, "input_tokens_details")
    return Usage(
        prompt_tokens=_count(raw, "input_tokens"),
        cached_tokens=_count(details, "cached_tokens"),
        cache_write_tokens=_count(details, "cache_write_tokens"),
        completion_tokens=_count(raw, "output_tokens"),
        reasoning_tokens=_count(_group(raw, "output_tokens_details"), "reasoning_tokens"),
    )


def _is_anthropic(raw: Raw, provider: str) -> bool:
    if "input_tokens_details" in raw:
        return False
    return "cache_read_input_tokens" in raw or "cache_creation_input_tokens" in raw or provider in _EXCLUSIVE_PROVIDERS


def _anthropic(raw: Raw) -> Usage:
    """Anthropic's form: `input_tokens` is only what stands after the last cache mark that was read or written."""
    completion = _count(raw, "output_tokens")
    reasoning = _count(_group(raw, "output_tokens_details"), "thinking_tokens", "reasoning_tokens")
    return _exclusive(
        raw, "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", completion, reasoning
    )


def _converse(raw: Raw) -> Usage:
    """Bedrock Converse's form: as Anthropic's, in camel case."""
    read = "cacheReadInputTokens" if "cacheReadInputTokens" in raw else "cacheReadInputTokenCount"
    write = "cacheWriteInputTokens" if "cacheWriteInputTokens" in raw else "cacheWriteInputTokenCount"
    return _exclusive(raw, "inputTokens", read, write, _count(raw, "outputTokens"), None)


def _exclusive(raw: Raw, fresh: str, read: str, write: str, completion: int | None, reasoning: int | None) -> Usage:
    counts = {key: _count(raw, key) for key in (fresh, read, write)}
    # A part that is there but cannot be leaves the sum unknown; a part that is not there was not asked for.
    known = all(counts[key] is not None or raw.get(key) is None for key in counts) and counts[fresh] is not None
    return Usage(
        prompt_tokens=sum(count or 0 for count in counts.values()) if known else None,
        cached_tokens=counts[read],
        cache_write_tokens=counts[write],
        completion_tokens=completion,
        reasoning_tokens=reasoning,
    )


def _gemini(raw: Raw) -> Usage:
    """Gemini's `usageMetadata`: the prompt includes what was cached; thoughts are counted beside the candidates."""
    thoughts = _count(raw, "thoughtsTokenCount")
    candidates = _count(raw, "candidatesTokenCount")
    return Usage(
        prompt_tokens=_sum(_count(raw, "promptTokenCount"), _count(raw, "toolUsePromptTokenCount") or 0),
        cached_tokens=_count(raw, "cachedContentTokenCount"),
        completion_tokens=_sum(candidates, thoughts or 0) if candidates is not None else thoughts,
        reasoning_tokens=thoughts,
    )


def _llama(timings: Raw) -> Usage:
    """llama.cpp's `timings`: `prompt_n` is what was processed, `cache_n` what was reused."""
    cached = _count(timings, "cache_n")
    return Usage(
        prompt_tokens=_sum(cached, _count(timings, "prompt_n")),
        cached_tokens=cached,
        completion_tokens=_count(timings, "predicted_n"),
    )


def _possible(usage: Usage) -> Usage:
    """Return `usage` with each number that cannot be as None."""
    prompt, cached, write = usage.prompt_tokens, usage.cached_tokens, usage.cache_write_tokens
    completion, reasoning = usage.completion_tokens, usage.reasoning_tokens
    if prompt == 0:
        # No request is empty: such zeros are filled in where nothing was counted.
        prompt, cached, write, completion = None, None, None, completion or None
    if prompt is not None:
        cached = cached if cached is None or cached <= prompt else None
        write = write if write is None or write <= prompt else None
        if cached is not None and write is not None and cached + write > prompt:
            cached = write = None
    if completion is not None and reasoning is not None and reasoning > completion:
        reasoning = None
    return Usage(
        prompt_tokens=prompt,
        cached_tokens=cached,
        cache_write_tokens=write,
        completion_tokens=completion,
        reasoning_tokens=reasoning,
    )


def _count(raw: Raw, *keys: str) -> int | None:
    """Return the first count under one of `keys`; None where it is none. JSON has one kind of number: 12.0 is 12."""
    for key in keys:
        value = raw.get(key)
        if value is None:
            continue
        if isinstance(value, float) and math.isfinite(value) and value.is_integer():
            value = int(value)
        return value if type(value) is int and 0 <= value <= _MOST else None
    return None


def _group(raw: Raw, *keys: str) -> Raw:
    for key in keys:
        value = raw.get(key)
        if isinstance(value, Mapping):
            return value
    return {}


def _first(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second
