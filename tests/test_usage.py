"""Every provider's report in one form; what was not reported is None."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbcontext.usage import Usage, normalise


@pytest.mark.parametrize(("provider", "raw", "expected"), [
    # Expected: prompt, cached, written, completion, reasoning.
    ("openai", {"prompt_tokens": 100, "completion_tokens": 9, "total_tokens": 109, "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 20}, "completion_tokens_details": {"reasoning_tokens": 4}}, (100, 64, 20, 9, 4)),
    ("openai", {"prompt_tokens": 100, "completion_tokens": 9}, (100, None, None, 9, None)),
    ("openai", {"prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 0}}, (100, 0, None, 9, None)),
    ("openai", {"prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": None}, (100, None, None, 9, None)),
    ("openai", {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 60}, "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 3}}, (100, 60, None, 7, 3)),
    ("anthropic", {"input_tokens": 10, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 30, "output_tokens": 7}, (100, 60, 30, 7, None)),
    ("anthropic", {"input_tokens": 10, "output_tokens": 7}, (10, None, None, 7, None)),
    ("anthropic", {"input_tokens": 10, "cache_read_input_tokens": -1, "output_tokens": 7}, (None, None, None, 7, None)),
    ("anthropic", {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60, "cache_creation_tokens": 30}, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 30}, (100, 60, 30, 7, None)),
    ("bedrock", {"inputTokens": 10, "outputTokens": 7, "totalTokens": 107, "cacheReadInputTokens": 60, "cacheWriteInputTokens": 30}, (100, 60, 30, 7, None)),
    ("gemini", {"promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 5, "thoughtsTokenCount": 2, "totalTokenCount": 107}, (100, 60, None, 7, 2)),
    ("gemini", {"usageMetadata": {"promptTokenCount": 100}}, (100, None, None, None, None)),
    ("deepseek", {"prompt_tokens": 100, "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36, "completion_tokens": 7}, (100, 64, None, 7, None)),
    ("deepseek", {"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36, "completion_tokens": 7}, (100, 64, None, 7, None)),
    ("moonshot", {"prompt_tokens": 100, "completion_tokens": 7, "cached_tokens": 60}, (100, 60, None, 7, None)),
    ("ollama", {"prompt_eval_count": 100, "eval_count": 7}, (100, None, None, 7, None)),
    ("openai", {"timings": {"cache_n": 60, "prompt_n": 40, "predicted_n": 7}}, (100, 60, None, 7, None)),
    ("xai", {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 112, "completion_tokens_details": {"reasoning_tokens": 7}}, (100, None, None, 12, 7)),
    # What cannot be.
    ("openai", {"prompt_tokens": 100, "completion_tokens": -1, "prompt_tokens_details": {"cached_tokens": 101}}, (100, None, None, None, None)),
    ("openai", {"prompt_tokens": 100, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 60}}, (100, None, None, 1, None)),
    ("openai", {"prompt_tokens": 0, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 0}}, (None, None, None, None, None)),
    ("openai", {"prompt_tokens": True, "completion_tokens": "7"}, (None, None, None, None, None)),
    ("openai", {"prompt_tokens": 12.0, "completion_tokens": 1.5}, (12, None, None, None, None)),
    ("openai", {"prompt_tokens": float("nan"), "completion_tokens": float("inf")}, (None, None, None, None, None)),
    ("openai", {"prompt_tokens": 5, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 3}}, (5, None, None, 2, None)),
    ("openai", {}, (None,) * 5),
    ("openai", None, (None,) * 5),
    ("openai", {"unknown": 3}, (None,) * 5),
])  # fmt: skip
def test_forms(provider, raw, expected):
    found = normalise(raw, provider)
    assert (
        found.prompt_tokens,
        found.cached_tokens,
        found.cache_write_tokens,
        found.completion_tokens,
        found.reasoning_tokens,
    ) == expected


keys = st.sampled_from(["prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens", "prompt_tokens_details", "completion_tokens_details", "cache_write_tokens", "reasoning_tokens", "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "inputTokens", "cacheReadInputTokens", "promptTokenCount", "thoughtsTokenCount", "prompt_eval_count", "timings", "usage", "cache_n", "prompt_n"])  # fmt: skip
values = st.one_of(st.none(), st.booleans(), st.integers(-5, 200), st.floats(), st.text(max_size=3))


@given(
    st.dictionaries(keys, values | st.dictionaries(keys, values)),
    st.sampled_from(["openai", "anthropic", "gemini", ""]),
)
def test_numbers_are_possible_whatever_is_reported(raw, provider):
    usage = normalise(raw, provider)
    assert isinstance(usage, Usage)
    counts = [
        usage.prompt_tokens,
        usage.cached_tokens,
        usage.cache_write_tokens,
        usage.completion_tokens,
        usage.reasoning_tokens,
    ]
    assert all(count is None or (type(count) is int and count >= 0) for count in counts)
    if usage.prompt_tokens is not None:
        assert (usage.cached_tokens or 0) + (usage.cache_write_tokens or 0) <= usage.prompt_tokens
