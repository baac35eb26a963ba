"""A recorded session plays again through litellm, without a network."""

import threading

import pytest

from nbcontext import assets
from nbcontext.call import Call
from nbcontext.errors import ModelError
from nbcontext.model.replay import RecordedReply, RecordedTurn, next_reply, register_replay
from nbcontext.model.transport import LiteLLM
from nbcontext.request import Request
from nbcontext.usage import normalise

READ = Call(id="call_a", name="read", arguments='{"path":  "ä.txt"}')
TURNS = (
    RecordedTurn(
        asked="What is there?",
        replies=(
            RecordedReply(text="Let me look.", calls=(READ,), extras={"reasoning_content": "hm"}),
            RecordedReply(text="A file. " * 9),
        ),
    ),
    RecordedTurn(asked="Thanks", replies=(RecordedReply(text="Welcome."),)),
)
SYSTEM = {"role": "system", "content": "s"}


def user(text):
    return {"role": "user", "content": text}


@pytest.fixture(autouse=True)
def recordings():
    register_replay(lambda name: TURNS if name == "first" else None)


def play(*messages, name="first"):
    request = Request(model=f"replay/{name}", messages=(SYSTEM, *messages))
    *_, last = LiteLLM(assets.loop()).stream(request, threading.Event())
    return last.reply


def test_a_whole_session():
    messages = [user("What is there?\n\n<note>\nToday is 2026-12-01.\n</note>")]
    counts = []
    for expected in (*TURNS[0].replies, *TURNS[1].replies):
        reply = play(*messages)
        assert (reply.text, reply.calls, dict(reply.extras)) == (expected.text, expected.calls, dict(expected.extras))
        assert reply.usage["simulated"] is True
        counts.append(normalise(reply.usage, "replay"))
        messages.append(reply.message())
        messages.append(
            {"role": "tool", "tool_call_id": "call_a", "content": "[#0001]\nx"} if reply.calls else user("Other words")
        )
    assert [c.cached_tokens > 0 for c in counts] == [False, True, True]
    assert counts[2].prompt_tokens > counts[1].prompt_tokens > counts[1].cached_tokens > 0
    assert play(*messages).text.startswith("The recording is over")


def test_next_is_told_from_the_request_alone():
    answered = [SYSTEM, user("x"), {"role": "assistant", "content": "A"}, user("Thanks")]
    assert next_reply(TURNS, answered).text == "Welcome."
    # After a compaction the number says less than the words.
    assert next_reply(TURNS, [SYSTEM, user("What is there?")]).text == "Let me look."
    assert next_reply(TURNS, [SYSTEM, user("Thanks")]).text == "Welcome."
    assert next_reply(TURNS, [SYSTEM, user("else")]).text == "Let me look."
    assert "over" in next_reply(TURNS, [SYSTEM]).text
    assert "over" in next_reply((), [SYSTEM, user("x")]).text


def test_no_such_recording():
    with pytest.raises(ModelError, match="no recording 'none'"):
        play(user("x"), name="none")
