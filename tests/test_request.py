"""Marks change no text, foreign keys stay home, the same request has the same bytes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbcontext.request import Request, body, call_ids, common, marked, takes_marks, without_foreign

SYSTEM = {"role": "system", "content": "s"}
TOOLS = ({"type": "function", "function": {"name": "a"}}, {"type": "function", "function": {"name": "b"}})
CALLS = [{"id": "x", "type": "function", "function": {"name": "a", "arguments": "{}"}, "extra_content": {"g": 1}}]

steps = st.lists(st.sampled_from(["text", "calls", "both"]), max_size=8)


def history(kinds):
    messages = [SYSTEM, {"role": "user", "content": "q"}]
    for kind in kinds:
        calls = {} if kind == "text" else {"tool_calls": CALLS}
        messages.append({"role": "assistant", "content": None if kind == "calls" else "t", **calls})
        messages.append(
            {"role": "user", "content": "q"}
            if kind == "text"
            else {"role": "tool", "tool_call_id": "x", "content": "r"}
        )
    return Request(model="anthropic/claude-x", messages=tuple(messages), tools=TOOLS)


def places(messages):
    return [n for n, m in enumerate(messages) if "cache_control" in m]


def bare(items):
    return [{k: v for k, v in item.items() if k != "cache_control"} for item in items]


@given(steps)
def test_marks(kinds):
    request = history(kinds)
    before = body(request)
    messages, tools = marked(request, "anthropic")
    assert body(request) == before
    assert bare(messages) == list(request.messages)
    assert bare(tools) == list(request.tools)
    found = places(messages)
    assert places(tools) == [1]
    assert found[0] == 0
    assert found[-1] == len(messages) - 1
    assert len(found) <= 3
    if kinds:
        # Where the request before this one ended.
        assert len(messages) - 3 in found
    assert marked(request, "openai") == (list(request.messages), list(request.tools))


@pytest.mark.parametrize(("model", "provider", "takes"), [
    ("anthropic/claude-x", "anthropic", True), ("bedrock/anthropic.claude-x", "bedrock", True), ("vertex_ai/gemini", "vertex_ai", False),
    ("openai/claude-x", "openai", False), ("openrouter/anthropic/claude-x", "openrouter", True), ("replay/claude", "replay", False),
])  # fmt: skip
def test_who_takes_marks(model, provider, takes):
    assert takes_marks(model, provider) is takes


def test_what_cannot_be_marked_is_left():
    request = Request(
        model="anthropic/c",
        messages=({"role": "system", "content": ""}, {"role": "assistant", "content": None, "tool_calls": CALLS}),
    )
    messages, tools = marked(request, "anthropic")
    assert "cache_control" not in messages[0]
    assert messages[1]["tool_calls"][0]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in CALLS[0]
    assert tools == []


def test_foreign_keys_stay_home():
    answer = {
        "role": "assistant",
        "content": "t",
        "tool_calls": CALLS,
        "thinking_blocks": [1],
        "reasoning_content": "r",
    }
    pairs = [(SYSTEM, ""), ({"role": "user", "content": "q", "name": "n"}, ""), (answer, "anthropic")]
    assert without_foreign(pairs, "anthropic") == tuple(m for m, _ in pairs)
    foreign = without_foreign(pairs, "openai")
    assert foreign[:2] == (pairs[0][0], pairs[1][0])
    assert foreign[2] == {
        "role": "assistant",
        "content": "t",
        "tool_calls": [{k: v for k, v in CALLS[0].items() if k != "extra_content"}],
    }


def test_body_is_exact():
    request = Request(model="m", messages=({"role": "user", "content": "é\ud800", "b": 1, "a": 2},))
    assert json.loads(body(request))["messages"] == [{"role": "user", "content": "é\ud800", "b": 1, "a": 2}]
    assert body(request).isascii()
    assert body(request).index('"b"') < body(request).index('"a"')
    assert call_ids(history(["calls"]).messages) == {"x"}


@given(st.text(alphabet="ab", max_size=9), st.text(alphabet="ab", max_size=9))
def test_common(first, second):
    size = common(first, second)
    assert first[:size] == second[:size]
    assert size == min(len(first), len(second)) or first[size] != second[size]
