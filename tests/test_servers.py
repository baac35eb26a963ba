"""The scripted servers refuse what real ones refuse, and what rewrites what was sent."""

import json
import threading
import urllib.error
import urllib.request

import pytest

from nbcontext.call import Call
from nbcontext.model.failures import Stopped
from nbcontext.model.reply import Completion, Finished, TextPiece
from nbcontext.request import Request
from nbcontext.testing import AnthropicServer, Scripted, ScriptedModel, ScriptedServer
from nbcontext.testing.wellformed import anthropic_faults, openai_faults, prefix_fault

SYSTEM = {"role": "system", "content": "s"}
USER = {"role": "user", "content": "q"}
ASKS = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}
RESULT = {"role": "tool", "tool_call_id": "a", "content": "r"}
SAYS = {"role": "assistant", "content": "t"}


def post(server, messages, path="/chat/completions", **more):
    data = json.dumps({"model": "m", "messages": messages, "stream": True, **more}).encode()
    request = urllib.request.Request(server.api_base + path, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=5) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.parametrize("messages", [
    [SYSTEM, USER], [SYSTEM, USER, ASKS, RESULT], [SYSTEM, USER, ASKS, RESULT, SAYS, USER],
    [SYSTEM, USER, {**SAYS, "reasoning_content": "r"}, USER],
])  # fmt: skip
def test_well_formed(messages):
    assert openai_faults({"model": "m", "messages": messages}) == []


@pytest.mark.parametrize("messages", [
    [USER], [SYSTEM], [SYSTEM, USER, USER], [SYSTEM, USER, ASKS], [SYSTEM, USER, ASKS, USER], [SYSTEM, USER, SAYS],
    [SYSTEM, USER, ASKS, RESULT, RESULT], [SYSTEM, USER, ASKS, RESULT, ASKS, RESULT], [SYSTEM, USER, RESULT],
    [SYSTEM, {**USER, "content": ""}], [SYSTEM, {**USER, "content": "\0"}], [SYSTEM, {**USER, "content": "\ud800"}],
    [SYSTEM, {**USER, "cache_control": {}}], [SYSTEM, {**USER, "thinking_blocks": []}], [SYSTEM, USER, SAYS, SYSTEM, USER],
    [SYSTEM, USER, {**SAYS, "tool_calls": []}, USER],
])  # fmt: skip
def test_not_well_formed(messages):
    assert openai_faults({"model": "m", "messages": messages})


TEXT = {"type": "text", "text": "x"}
USE = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
ANSWER = {"type": "tool_result", "tool_use_id": "a", "content": "r"}
MARK = {"cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize(("messages", "good"), [
    ([{"role": "user", "content": [TEXT | MARK]}], True),
    ([{"role": "user", "content": "x"}, {"role": "assistant", "content": [USE]}, {"role": "user", "content": [ANSWER | MARK]}], True),
    ([{"role": "user", "content": "x"}, {"role": "assistant", "content": [USE]}, {"role": "user", "content": [TEXT]}], False),
    ([{"role": "user", "content": "x"}, {"role": "user", "content": "x"}], False),
    ([{"role": "user", "content": [{"type": "text", "text": " "}]}], False),
    ([{"role": "user", "content": [ANSWER]}], False),
    ([{"role": "user", "content": [TEXT | MARK] * 5}], False),
    ([{"role": "user", "content": "x"}, {"role": "assistant", "content": [USE]}, {"role": "user", "content": [ANSWER | {"content": [TEXT | MARK]}]}], False),
    ([], False),
])  # fmt: skip
def test_anthropic(messages, good):
    assert (anthropic_faults({"messages": messages}) == []) is good


def test_prefix():
    before = {"model": "m", "tools": [{"a": 1}], "messages": [SYSTEM, USER]}
    assert prefix_fault({**before, "messages": [SYSTEM, USER, SAYS, USER]}, before) is None
    assert prefix_fault({**before, "messages": [SYSTEM, USER | MARK]}, before) is None
    assert prefix_fault({**before, "messages": [SYSTEM]}, before) == "message 1 is gone"
    assert prefix_fault({**before, "messages": [SYSTEM, SAYS]}, before) == "message 1 changed"
    assert prefix_fault({**before, "tools": [{"b": 1, "a": 1}]}, before) == "tools changed"


def test_server_plays_refuses_and_forgives_once():
    with ScriptedServer(
        [Scripted(text="hello"), Scripted(status=429, headers={"Retry-After": "3"}), Scripted(text="end")]
    ) as server:
        status, text = post(server, [SYSTEM, USER])
        assert status == 200
        assert "hello" in text
        assert text.endswith("data: [DONE]\n\n")
        assert post(server, [SYSTEM, {**USER, "content": "other"}])[0] == 400
        assert server.violations == ["message 1 changed"]
        server.new_epoch()
        assert post(server, [SYSTEM, {**USER, "content": "other"}])[0] == 429
        assert post(server, [SYSTEM, USER])[0] == 400
        assert [len(r["messages"]) for r in server.requests] == [2] * 4


def test_anthropic_server_speaks_events():
    with AnthropicServer([Scripted(text="hi", calls=(Call(id="a", name="f", arguments='{"x":1}'),))]) as server:
        status, text = post(server, [USER], "/v1/messages", max_tokens=5)
    assert status == 200
    kinds = [line.removeprefix("event: ") for line in text.splitlines() if line.startswith("event")]
    assert kinds[0] == "message_start"
    assert kinds[-2:] == ["message_delta", "message_stop"]


def test_a_model_without_a_server():
    model = ScriptedModel(
        [
            Completion(text="one two three", complete=True),
            lambda request: Completion(text=str(len(request.messages))),
            ValueError("x"),
        ]
    )
    request = Request(model="m", messages=(SYSTEM, USER))
    *pieces, last = model.stream(request, threading.Event())
    assert "".join(p.text for p in pieces if isinstance(p, TextPiece)) == "one two three"
    assert isinstance(last, Finished)
    assert next(iter(model.stream(request, threading.Event()))) == TextPiece("2")
    with pytest.raises(ValueError, match="x"):
        next(iter(model.stream(request, threading.Event())))
    stop = threading.Event()
    model.script.append(Completion(text="one two three"))
    stream = model.stream(request, stop)
    next(stream)
    stop.set()
    with pytest.raises(Stopped) as caught:
        next(stream)
    assert caught.value.partial.text == "one two "
    assert model.faults == []
