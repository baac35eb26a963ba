"""The rim against servers that refuse what real ones refuse, through real litellm."""

import json
import os
import subprocess
import sys
import threading
import time

import pytest

from nbcontext import assets
from nbcontext.call import Call
from nbcontext.loop import Loop, parse
from nbcontext.model.dial import cost, provider_of, takes_cache_key, window
from nbcontext.model.failures import Busy, CutOff, Refused, RequestFailed, Stopped, TooLong, Unreachable
from nbcontext.model.reply import CallPiece, Completion, Finished, ReasoningPiece, TextPiece
from nbcontext.model.transport import LiteLLM, arguments
from nbcontext.request import Request
from nbcontext.testing import AnthropicServer, Scripted, ScriptedServer
from nbcontext.testing.wellformed import marks
from nbcontext.usage import Usage, normalise

KEY = "sk-test-0123456789abcdef"
SYSTEM = {"role": "system", "content": "Be brief."}
TOOL = {
    "type": "function",
    "function": {
        "name": "read",
        "description": "Reads.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
}
READ = Call(id="call_a", name="read", arguments='{"path": "ä b.txt",  "n":1}')


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


@pytest.fixture
def loop() -> Loop:
    source = json.loads(assets.read("loop.json"))
    source["model"] |= {"backoff_s": 0.01, "timeout_s": 20}
    return parse(json.dumps(source))


def ask(server, *messages, provider="openai", **more):
    name = "claude-sonnet-4-5" if provider == "anthropic" else "scripted"
    return Request(model=f"{provider}/{name}", messages=(SYSTEM, *messages), api_base=server.api_base, **more)


def user(text):
    return {"role": "user", "content": text}


def run(loop, request, stop=None):
    *pieces, last = LiteLLM(loop).stream(request, stop or threading.Event())
    assert isinstance(last, Finished)
    return pieces, last


def conversation(loop, server, provider="openai", steps=3):
    """Ask, answer the calls, ask again; return the requests' messages."""
    messages = [user("one")]
    replies = []
    for _ in range(steps):
        _, last = run(loop, ask(server, *messages, provider=provider, tools=(TOOL,)))
        reply = last.reply
        replies.append(reply)
        messages.append(reply.message())
        messages += [{"role": "tool", "tool_call_id": call.id, "content": f"[#{call.id}]\nx"} for call in reply.calls]
        if not reply.calls:
            messages.append(user("more"))
    return messages, replies


def test_text_and_counts_come_as_sent(loop):
    with ScriptedServer([Scripted(text="Hello, world. " * 3, reasoning="Let me see. ")]) as server:
        pieces, last = run(loop, ask(server, user("hi")))
    assert "".join(p.text for p in pieces if isinstance(p, TextPiece)) == "Hello, world. " * 3
    assert "".join(p.text for p in pieces if isinstance(p, ReasoningPiece)) == "Let me see. "
    assert last.reply.extras == {"reasoning_content": "Let me see. "}
    assert (last.tries, last.reply.finish_reason, last.reply.complete) == (1, "stop", True)
    usage = normalise(last.reply.usage, "openai")
    assert usage.cached_tokens == 0
    assert usage.prompt_tokens > 0
    assert usage.cache_write_tokens is None
    assert last.ttft_ms <= last.ms
    assert not server.violations


def test_wire_is_the_neutral_form(loop):
    script = [
        Scripted(text="See.", reasoning="Hm.", calls=(READ,)),
        Scripted(calls=(READ,), ids="none"),
        Scripted(text="Done."),
    ]
    with ScriptedServer(script) as server:
        messages, replies = conversation(loop, server)
        run(loop, ask(server, *messages, tools=(TOOL,)))
    assert not server.violations
    sent = server.requests[-1]
    expected = [{k: v for k, v in m.items() if v is not None} for m in (SYSTEM, *messages)]
    assert json.dumps(sent["messages"]) == json.dumps(expected)
    assert json.dumps(sent["tools"]) == json.dumps([TOOL])
    assert sent["messages"][2]["tool_calls"][0]["function"]["arguments"] == READ.arguments
    assert sent["stream_options"] == {"include_usage": True}
    assert b"cache_control" not in server.bodies[-1]
    assert b"prompt_cache_key" not in server.bodies[-1]
    assert len({call.id for reply in replies for call in reply.calls}) == 2


def test_history_that_grows_is_cached(loop):
    with ScriptedServer([Scripted(text="word " * 40)]) as server:
        _, replies = conversation(loop, server)
    counts = [normalise(reply.usage, "openai") for reply in replies]
    assert counts[0].cached_tokens == 0
    assert counts[2].cached_tokens > counts[1].cached_tokens > 0


@pytest.mark.parametrize("faults", [
    {"indexes": "none"}, {"indexes": "same"}, {"ids": "empty"}, {"ids": "none"}, {"ids": "same"}, {"objects": True},
    {"names_repeated": True}, {"indexes": "none", "ids": "none", "objects": True}, {"indexes": "same", "ids": "empty"},
    {"indexes": "none", "objects": True},
])  # fmt: skip
def test_calls_survive_what_servers_do(loop, faults, capfd):
    calls = (Call(id="a", name="read", arguments='{"path":"x"}'), Call(id="b", name="read", arguments='{"path":"y"}'))
    with ScriptedServer([Scripted(calls=calls, piece_chars=3, **faults)]) as server:
        pieces, last = run(loop, ask(server, user("hi"), tools=(TOOL,)))
    assert [(c.name, c.arguments) for c in last.reply.calls] == [(c.name, c.arguments) for c in calls]
    ids = [c.id for c in last.reply.calls]
    assert all(ids)
    assert len(set(ids)) == 2
    assert pieces == [CallPiece("read"), CallPiece("read")]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("usage", "prompt"), [
    ("absent", None), ("null", None), ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, None),
    ({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}, 7),
])  # fmt: skip
def test_counts_are_never_made_up(loop, usage, prompt):
    with ScriptedServer([Scripted(text="Hello", usage=usage)]) as server:
        _, last = run(loop, ask(server, user("hi")))
    found = normalise(last.reply.usage, "openai")
    assert (found.prompt_tokens, found.cached_tokens, found.cache_write_tokens) == (prompt, None, None)
    assert last.reply.usage is None or usage != "absent"


@pytest.mark.parametrize("provider", ["deepseek", "moonshot", "mistral", "groq", "xai", "hosted_vllm", "together_ai"])
def test_other_providers_dialects(loop, provider, monkeypatch, capfd):
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", KEY)
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105, "cached_tokens": 40}
    calls = (READ, Call(id="", name="read", arguments="{}"))
    with ScriptedServer([Scripted(text="hi", reasoning="hm", calls=calls, ids="empty", usage=usage)]) as server:
        _, last = run(loop, ask(server, user("q"), provider=provider, tools=(TOOL,)))
    found = normalise(last.reply.usage, provider)
    assert (found.prompt_tokens, found.cached_tokens, found.cache_write_tokens) == (100, 40, None)
    assert [c.arguments for c in last.reply.calls] == [c.arguments for c in calls]
    assert last.reply.extras == {"reasoning_content": "hm"}
    assert server.violations == []
    assert capfd.readouterr() == ("", "")


def test_an_empty_reply_is_a_reply(loop):
    with ScriptedServer([Scripted()]) as server:
        pieces, last = run(loop, ask(server, user("hi")))
    assert pieces == []
    assert (last.reply.text, last.reply.calls, last.ttft_ms) == ("", (), None)


def test_length_with_half_the_arguments_is_complete(loop):
    half = Call(id="a", name="read", arguments='{"path":')
    with ScriptedServer([Scripted(calls=(half,), finish_reason="length")]) as server:
        _, last = run(loop, ask(server, user("hi"), tools=(TOOL,)))
    assert (last.reply.complete, last.reply.calls[0].parsed()) == (True, None)


# Anthropic


def test_anthropic_marks_land_on_blocks(loop):
    two = (READ, Call(id="call_b", name="read", arguments='{"path": "b"}'))
    script = [
        Scripted(text="See.", reasoning="Hm.", calls=two),
        Scripted(calls=(READ,), ids="none"),
        Scripted(text="Ok"),
    ]
    script[1] = Scripted(calls=(Call(id="call_c", name="read", arguments="{}"),))
    with AnthropicServer(script) as server:
        messages, replies = conversation(loop, server, "anthropic")
        run(loop, ask(server, *messages, provider="anthropic", tools=(TOOL,)))
    assert not server.violations
    for request in server.requests:
        found = marks(request)
        assert len(found) <= 4
        assert "tools.0" in found
        assert "system.0" in found
        last = len(request["messages"]) - 1
        assert f"messages.{last}.content.{len(request['messages'][last]['content']) - 1}" in found
    # What a request marked last, the next one marks too.
    for before, after in zip(server.requests, server.requests[1:], strict=False):
        place = f"messages.{len(before['messages']) - 1}.content.{len(before['messages'][-1]['content']) - 1}"
        assert place in marks(after)
    assert replies[0].extras["thinking_blocks"] == [{"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"}]
    blocks = server.requests[1]["messages"][1]["content"]
    assert [b["type"] for b in blocks] == ["thinking", "text", "tool_use", "tool_use"]
    assert blocks[0]["signature"] == "c2lnbmVk"
    assert blocks[2]["input"] == {"path": "ä b.txt", "n": 1}


def test_anthropic_counts_are_inclusive(loop):
    with AnthropicServer([Scripted(text="word " * 30)]) as server:
        _, replies = conversation(loop, server, "anthropic")
    for reply in replies:
        usage = normalise(reply.usage, "anthropic")
        raw = reply.usage
        assert usage.prompt_tokens == 1 + raw["cache_read_input_tokens"] + raw["cache_creation_input_tokens"]
        assert usage.completion_tokens == raw["output_tokens"] > 1
    assert normalise(replies[-1].usage, "anthropic").cached_tokens > 0


@pytest.mark.parametrize("usage", ["absent", {"input_tokens": 9, "output_tokens": 4}])
def test_anthropic_counts_are_never_made_up(loop, usage):
    with AnthropicServer([Scripted(text="Hello", usage=usage)]) as server:
        _, last = run(loop, ask(server, user("hi"), provider="anthropic"))
    found = normalise(last.reply.usage, "anthropic")
    expected = (None, None) if usage == "absent" else (9, None)
    assert (found.prompt_tokens, found.cached_tokens) == expected


# Failures


def test_one_request_a_try_and_no_more_tries_than_said(loop):
    with ScriptedServer([Scripted(status=500, error="boom")]) as server, pytest.raises(Busy) as caught:
        run(loop, ask(server, user("hi")))
    assert len(server.requests) == 3
    assert caught.value.retryable
    assert "boom" in str(caught.value)
    assert "Error" not in str(caught.value)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_busy_then_an_answer(loop, provider):
    kind = AnthropicServer if provider == "anthropic" else ScriptedServer
    script = [Scripted(status=429, headers={"Retry-After": "0.4"}), Scripted(text="ok")]
    started = time.monotonic()
    with kind(script) as server:
        _, last = run(loop, ask(server, user("hi"), provider=provider))
    assert (last.reply.text, last.tries, len(server.requests)) == ("ok", 2, 2)
    assert time.monotonic() - started >= 0.4


def test_no_waiting_for_longer_than_said(loop):
    with (
        ScriptedServer([Scripted(status=429, headers={"Retry-After": "3600"})]) as server,
        pytest.raises(Busy) as caught,
    ):
        run(loop, ask(server, user("hi")))
    assert len(server.requests) == 1
    assert caught.value.retry_after_s == 3600


@pytest.mark.parametrize(("status", "error", "kind"), [
    (401, "Incorrect API key provided: {key}. See x.", Refused),
    (400, "This model's maximum context length is 8192 tokens.", TooLong),
    (400, "prompt is too long: 300000 tokens > 200000 maximum", TooLong),
    (400, "the request exceeds the available context size", TooLong),
    (400, "bad parameter", Refused), (404, "no such model", Refused),
    (429, "You exceeded your current quota, please check your plan and billing details.", Refused),
])  # fmt: skip
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_what_does_not_pass_is_not_tried_again(loop, status, error, kind, provider, capfd):
    server_kind = AnthropicServer if provider == "anthropic" else ScriptedServer
    with server_kind([Scripted(status=status, error=error)]) as server, pytest.raises(kind) as caught:
        run(loop, ask(server, user("hi"), provider=provider))
    assert len(server.requests) == 1
    assert KEY not in str(caught.value)
    assert KEY not in repr(caught.value.args)
    assert caught.value.too_long == (kind is TooLong)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600
    assert capfd.readouterr() == ("", "")


def test_unreachable(loop):
    with ScriptedServer([Scripted()]) as server:
        pass
    with pytest.raises(Unreachable) as caught:
        run(loop, ask(server, user("hi")))
    assert caught.value.retryable
    assert server.api_base in str(caught.value)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("fault", [{"cut_after": 4}, {"error_after": 4}, {"finish_reason": None}])
def test_a_broken_answer_keeps_what_came(loop, provider, fault, capfd):
    kind = AnthropicServer if provider == "anthropic" else ScriptedServer
    with kind([Scripted(text="one two three four five", error="overloaded", **fault)]) as server:
        stream = LiteLLM(loop).stream(ask(server, user("hi"), provider=provider), threading.Event())
        shown = []
        with pytest.raises(CutOff) as caught:
            shown.extend(stream)
    text = "".join(piece.text for piece in shown)
    assert text
    assert caught.value.partial.text == text
    assert not caught.value.partial.complete
    assert len(server.requests) == 1
    assert capfd.readouterr() == ("", "")


def test_cut_before_anything_was_shown_is_tried_again(loop):
    with ScriptedServer([Scripted(text="x", cut_after=0), Scripted(text="whole")]) as server:
        _, last = run(loop, ask(server, user("hi")))
    assert (last.reply.text, last.tries) == ("whole", 2)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("after", [-1, 0, 4])
def test_stop_while_the_server_is_silent(loop, provider, after):
    kind = AnthropicServer if provider == "anthropic" else ScriptedServer
    stop = threading.Event()
    with kind([Scripted(text="one two three four", hang_after=after)]) as server:
        stream = LiteLLM(loop).stream(ask(server, user("hi"), provider=provider), stop)
        threading.Timer(0.4, stop.set).start()
        shown = []
        with pytest.raises(Stopped) as caught:
            shown.extend(stream)
        assert stop.is_set()
        since = time.monotonic()
        assert server.hung_up.wait(1)
        assert time.monotonic() - since < 0.5
    assert caught.value.partial.text == "".join(piece.text for piece in shown)
    for _ in range(50):
        if not any(t.name == "nbcontext-stream" for t in threading.enumerate()):
            break
        time.sleep(0.02)
    else:
        pytest.fail("the reading thread is still there")


def test_stop_while_waiting_for_the_next_try(loop):
    stop = threading.Event()
    with ScriptedServer([Scripted(status=503, headers={"Retry-After": "20"})]) as server:
        threading.Timer(0.5, stop.set).start()
        started = time.monotonic()
        with pytest.raises(Stopped):
            run(loop, ask(server, user("hi")), stop)
    assert time.monotonic() - started < 3


def test_silence_has_an_end(loop):
    brief = loop.model_copy(update={"model": loop.model.model_copy(update={"timeout_s": 0.4})})
    with (
        ScriptedServer([Scripted(text="x", hang_after=-1)]) as server,
        pytest.raises(Unreachable, match=r"silent for 0\.4 s"),
    ):
        run(brief, ask(server, user("hi")))
    assert len(server.requests) == 1


def test_what_is_sent_where(loop, monkeypatch):
    request = Request(
        model="openai/gpt-4o",
        messages=(SYSTEM, user("q")),
        cache_key="k",
        max_tokens=5,
        tools=(TOOL,),
        tool_choice="auto",
    )
    sent = arguments(request, loop, "openai")
    assert (sent["prompt_cache_key"], sent["max_tokens"], sent["tool_choice"]) == ("k", 5, "auto")
    assert (sent["num_retries"], sent["max_retries"]) == (0, 0)
    assert "api_key" not in sent
    assert "api_base" not in sent
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.delenv("OPENAI_API_KEY")
    sent = arguments(request, loop, "openai")
    assert "prompt_cache_key" not in sent
    assert sent["api_key"] == "none"
    assert "prompt_cache_key" not in arguments(request, loop, "anthropic")
    assert sent["tools"][0] is not TOOL


def test_without_a_key_a_server_of_ones_own_answers(loop, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with ScriptedServer([Scripted(text="ok")]) as server:
        assert run(loop, ask(server, user("hi"), cache_key="k"))[1].reply.text == "ok"
    assert b"prompt_cache_key" not in server.bodies[0]


def test_streams_side_by_side(loop):
    with ScriptedServer([Scripted(text="word " * 50)], extends=False) as server:
        found = []
        threads = [
            threading.Thread(target=lambda n=n: found.append(run(loop, ask(server, user(f"q{n}")))[1].reply.text))
            for n in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == ["word " * 50] * 6
    assert not server.violations


def test_a_left_stream_hangs_up(loop):
    with ScriptedServer([Scripted(text="one two three four", hang_after=3)]) as server:
        stream = LiteLLM(loop).stream(ask(server, user("hi")), threading.Event())
        next(stream)
        stream.close()
        assert server.hung_up.wait(1)


def test_a_lone_surrogate_is_refused_once(loop):
    with ScriptedServer([Scripted(text="x")]) as server, pytest.raises(RequestFailed) as caught:
        run(loop, ask(server, user("\ud800")))
    assert not caught.value.retryable


# What litellm's tables say


def test_providers_and_prices():
    assert provider_of("replay/x") == "replay"
    assert provider_of("openai/gpt-x", "http://127.0.0.1/v1") == "openai"
    assert provider_of("claude-sonnet-4-5") == "anthropic"
    assert provider_of("nonsense") == ""
    assert takes_cache_key("openai/gpt-4o", "openai", None)
    assert takes_cache_key("openai/gpt-4o", "openai", "https://api.openai.com/v1")
    assert not takes_cache_key("openai/gpt-4o", "openai", "http://127.0.0.1:1/v1")
    assert not takes_cache_key("anthropic/claude-sonnet-4-5", "anthropic", None)
    assert window("anthropic/claude-sonnet-4-5") >= 200_000
    assert window("openai/gpt-4o", "http://127.0.0.1/v1") is None
    assert window("replay/x") is None
    full = cost("openai/gpt-4o", Usage(prompt_tokens=1000, completion_tokens=0, cached_tokens=0))
    cached = cost("openai/gpt-4o", Usage(prompt_tokens=1000, completion_tokens=0, cached_tokens=800))
    assert full == pytest.approx(1000 * 2.5e-6)
    assert cached == pytest.approx(200 * 2.5e-6 + 800 * 1.25e-6)
    claude = Usage(prompt_tokens=1000, completion_tokens=10, cached_tokens=500, cache_write_tokens=300)
    assert cost("anthropic/claude-sonnet-4-5", claude) == pytest.approx((200 * 3 + 500 * 0.3 + 300 * 3.75 + 150) * 1e-6)
    assert cost("openai/scripted", Usage(prompt_tokens=1, completion_tokens=1)) is None
    assert cost("openai/gpt-4o", Usage(prompt_tokens=1)) is None


def test_litellm_is_imported_late_and_quietly():
    code = """
import sys, warnings
import nbcontext, nbcontext.usage, nbcontext.request, nbcontext.model.assembly, nbcontext.model.transport, nbcontext.testing
assert "litellm" not in sys.modules and "openai" not in sys.modules and "httpx" not in sys.modules
before = list(warnings.filters)
from nbcontext.model import library
library.warm()
assert library.load() is sys.modules["litellm"]
assert warnings.filters == before, warnings.filters
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_reply_message_leaves_nothing_out():
    reply = Completion(
        text="", calls=(READ,), extras={"reasoning_content": "r"}, call_extras={"call_a": {"extra_content": {"x": 1}}}
    )
    message = reply.message()
    assert message["reasoning_content"] == "r"
    assert message["content"] is None
    assert message["tool_calls"][0]["extra_content"] == {"x": 1}
