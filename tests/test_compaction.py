"""§7 and decisions 22 to 23: a summary is asked for as the next turn, and a failure changes nothing."""

import dataclasses
import json
import os
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_world import broken, call, new, says, setup, shapes

from nbcontext import assets, compaction
from nbcontext.engine import Surface
from nbcontext.errors import ModelError, TurnInterrupted
from nbcontext.events import Notice, TextArrived
from nbcontext.history import History, user_message
from nbcontext.model.failures import Busy, CutOff, Stopped, TooLong
from nbcontext.model.reply import Completion
from nbcontext.session import Session
from nbcontext.testing import ScriptedModel

CONTEXT = assets.loop().context
TEMPLATE = assets.read("prompts", "tasks", "compact.md")
ASKED = compaction.question(TEMPLATE, CONTEXT)


def read(path):
    return call("read", json.dumps({"path": path}))


def files(folder, count=1, name="f{}.txt"):
    (folder / "root").mkdir()
    for number in range(1, count + 1):
        (folder / "root" / name.format(number)).write_text(f"line {number}\n" * number)


def test_it_is_the_next_turn_of_the_same_conversation(tmp_path):
    files(tmp_path)
    session, model = new(
        tmp_path, [says("Look.", read("f1.txt")), says("Read."), says("  The summary.\n"), says("On.")]
    )
    session.ask("Read it")
    session.compact()
    first, asking = model.requests[1:3]
    assert asking.tools == first.tools
    assert broken(first, asking) is None
    assert asking.messages[-1] == {"role": "user", "content": ASKED}
    assert "{{" not in ASKED
    assert len(asking.messages) == len(first.messages) + 2
    assert shapes(asking) == []
    session.ask("Go on")
    sent = [m["content"] for m in model.requests[-1].messages[1:]]
    assert sent[0] == CONTEXT.compaction.asked
    assert sent[1].startswith("The summary.\n\n## Files read before this summary\n\n")
    assert sent[1].endswith(
        "| f1.txt | 1-1 of 1 | " + session.history.before.turns[0].messages[2].result.sha256[:8] + " | #0001 |"
    )
    assert sent[2] == "Go on\n\n<note>\nToday is 2026-12-01.\n</note>"
    assert list(session.requests["purpose"]) == ["turn", "step", "compaction", "turn"]
    assert list(session.requests["cause"])[-1] == "compaction"


def test_the_persons_guidance(tmp_path):
    session, model = new(tmp_path, [says("A."), says("S.")])
    session.ask("a")
    session.compact("the {names} | matter")
    assert (
        model.requests[-1].messages[-1]["content"]
        == f"{ASKED}\n\nThe person asks you to mind this: the {{names}} | matter"
    )


FAILURES = [
    says(""), says(" \n"), says("", call("list")), says("", reasoning="hm"), says("Cut", finish_reason="length"),
    says('{"name": "list", "arguments": {}}'), says('```json\n{"name": "list", "arguments": {}}\n```'), says("<tool_call>x</tool_call>"),
    Busy("Busy."), CutOff("Cut.", partial=Completion(text="Half a summary")), Stopped("Stopped.", partial=Completion(text="Half")),
]  # fmt: skip


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_leaves_the_session_as_it_was(tmp_path, failure):
    if isinstance(failure, Completion):
        failure = dataclasses.replace(failure, usage={"prompt_tokens": 50, "completion_tokens": 5})
    session, model = new(tmp_path, [says("A."), failure, says("B.")])
    session.ask("a")
    before = session.history
    with pytest.raises((ModelError, TurnInterrupted)):
        session.compact()
    assert session.history == before
    assert Session.resume("s", setup=setup(tmp_path, model)).history == before
    if isinstance(failure, Completion):
        assert list(session.requests["prompt_tokens"])[1] == 50
    session.ask("b")
    assert broken(model.requests[0], model.requests[-1]) is None
    assert session.results.empty


def test_an_interrupt_of_a_summary(tmp_path):
    class Waiting(ScriptedModel):
        def stream(self, request, stop):
            if len(self.requests) == 1:
                os.kill(os.getpid(), signal.SIGINT)
                assert stop.wait(5)
            yield from super().stream(request, stop)

    session, _ = new(tmp_path, Waiting([says("A."), says("Never.")]))
    session.ask("a")
    before = session.history
    with pytest.raises(TurnInterrupted):
        session.compact()
    assert session.history == before


def test_text_before_a_call_is_the_summary_and_the_call_is_not_run(tmp_path):
    session, _ = new(
        tmp_path, [says("A."), says("So far.", call("write", '{"path": "x", "content": "x"}')), says("B.")]
    )
    session.ask("a")
    session.compact()
    assert session.history.summary[1].text == "So far."
    assert session.results.empty
    assert not (session.root / "x").exists()


def test_there_must_be_something_to_summarise(tmp_path):
    session, model = new(tmp_path, [says("A.")])
    with pytest.raises(ModelError, match="nothing to summarise"):
        session.compact()
    assert model.requests == []


def test_the_table_keeps_the_newest_read_of_each_file(tmp_path):
    files(tmp_path, 60)
    (tmp_path / "root" / "a|b.txt").write_text("x\n")
    (tmp_path / "root" / "empty").write_text("")
    first = [read(f"f{n}.txt") for n in range(1, 61)]
    second = [read("empty"), read("a|b.txt"), call("read", '{"path": "f20.txt", "offset": 3, "limit": 2}'), read("f30.txt"), read("nope"),
              call("read", '{"path": "./f59.txt"}')]  # fmt: skip
    session, _ = new(tmp_path, [says("", *first), says("A."), says("", *second), says("B."), says("S."), says("C.")])
    session.ask("a")
    (session.root / "f59.txt").write_text("changed\n")
    session.ask("b")
    session.compact()
    rows = session.history.summary[1].text.split("|---|---|---|---|\n")[1].split("\n")
    assert len(rows) == 50
    names = [row.split(" | ")[0].removeprefix("| ") for row in rows]
    # f20's second read is a stub of the first, f30's too: the first ones stand; f59 was changed and is read anew.
    assert names[-3:] == ["empty", "a\\|b.txt", "./f59.txt"]
    assert "f20.txt" in names
    assert names.count("f59.txt") == 0
    assert names[0] == "f13.txt"
    assert rows[-3].split(" | ")[1] == "empty"


def test_after_it_a_read_is_a_full_read_and_recall_still_works(tmp_path):
    files(tmp_path)
    script = [
        says("", read("f1.txt")),
        says("A."),
        says("S."),
        says("", read("f1.txt"), call("recall", '{"id": "1"}')),
        says("B."),
        says("S2."),
        says("C."),
    ]
    session, model = new(tmp_path, script)
    session.ask("a")
    session.compact()
    kinds = [r.kind for r in session.ask("b").results]
    assert kinds == ["full", "recall"]
    session.compact()
    assert session.history.summary[1].text.count("f1.txt") == 1
    assert "#0002" in session.history.summary[1].text
    assert model.faults == []


def test_an_undo_past_it(tmp_path):
    files(tmp_path)
    script = [
        says("", read("f1.txt")),
        says("A."),
        says("B."),
        says("S."),
        says("C."),
        says("", read("f1.txt")),
        says("D."),
    ]
    session, model = new(tmp_path, script)
    session.ask("a")
    session.ask("b")
    stood = session.history
    session.compact()
    session.ask("c")
    assert session.undo(2) == (2, 3)
    assert session.history.summary == ()
    assert [t.number for t in session.history.turns] == [1]
    assert session.history.prefix == stood.prefix
    (result,) = session.ask("d").results
    assert result.kind == "stub"
    assert broken(model.requests[1], model.requests[-1]) is None
    assert Session.resume("s", setup=setup(tmp_path, model)).history == session.history


@pytest.mark.parametrize("kind", ["agent", "chat"])
def test_a_chats_table_covers_the_reads_it_no_longer_carries(tmp_path, kind):
    files(tmp_path, 3)
    script = [
        says("", read("f1.txt")),
        says("A."),
        says("", read("f2.txt")),
        says("B."),
        says("", read("f3.txt")),
        says("C."),
        says("S."),
    ]
    session, _ = new(tmp_path, script, kind=kind)
    for word in "abc":
        session.ask(word)
    session.undo()
    session.compact()
    text = session.history.summary[1].text
    assert ["f1.txt" in text, "f2.txt" in text, "f3.txt" in text] == [True, True, False]


# -- by itself


class Windowed(ScriptedModel):
    """A model whose window is known."""

    def window(self, model, api_base):
        return 10_000


def used(tokens):
    return {"prompt_tokens": tokens, "completion_tokens": 1}


def test_it_is_asked_for_once_while_it_fits(tmp_path):
    notices = []
    script = [says("A.", usage=used(100)), says("B.", usage=used(7000)), says("Summary.", usage=used(7100)), says("C.", usage=used(400)),
              says("D.", usage=used(500))]  # fmt: skip
    session, model = new(tmp_path, Windowed(script), surface=Surface(show=notices.append))
    session.ask("a")
    session.ask("b")
    session.ask("Pending  words,\nas they are")
    session.ask("d")
    assert list(session.requests["purpose"]) == ["turn", "turn", "compaction", "turn", "turn"]
    assert model.requests[3].messages[3]["content"].startswith("Pending  words,\nas they are\n\n<note>")
    assert any("summarised" in event.text for event in notices if isinstance(event, Notice))
    shown = "".join(event.text for event in notices if isinstance(event, TextArrived))
    assert "Summary." not in shown


def test_after_an_undo_it_is_not_asked_for_what_is_gone(tmp_path):
    script = [says("A.", usage=used(100)), says("B.", usage=used(9000)), says("C.", usage=used(120))]
    session, _ = new(tmp_path, Windowed(script))
    session.ask("a")
    session.ask("b")
    session.undo()
    session.ask("c")
    assert list(session.requests["purpose"]) == ["turn", "turn", "turn"]


def test_where_it_fails_the_message_goes_all_the_same(tmp_path):
    script = [says("A.", usage=used(9000)), Busy("Busy."), says("B.", usage=used(100))]
    notices = []
    session, model = new(tmp_path, Windowed(script), surface=Surface(show=notices.append))
    session.ask("a")
    assert session.ask("b").text == "B."
    assert broken(model.requests[0], model.requests[-1]) is None
    assert any("No summary was made" in event.text for event in notices if isinstance(event, Notice))


def test_an_unknown_window_never_asks_and_a_named_one_does(tmp_path):
    for name, window, expected in (("u", None, ["turn", "turn"]), ("n", 10_000, ["turn", "compaction", "turn"])):
        session, _ = new(tmp_path, [says("A.", usage=used(9000)), says("S."), says("B.")], name, window=window)
        session.ask("a")
        session.ask("b")
        assert list(session.requests["purpose"]) == expected


def test_the_separate_form_where_even_the_question_does_not_fit(tmp_path):
    notices = []
    script = [says("A" * 90_000), TooLong("x"), TooLong("x"), says("From the transcript."), says("B.")]
    session, model = new(tmp_path, script, surface=Surface(show=notices.append))
    session.ask("a")
    assert session.ask("Words").text == "B."
    separate = model.requests[3]
    assert [m["role"] for m in separate.messages] == ["system", "user"]
    assert CONTEXT.compaction.elided in separate.messages[1]["content"]
    assert "assistant:\nAAAA" in separate.messages[1]["content"]
    assert session.request(4).messages == separate.messages
    assert any("shortened transcript" in event.text for event in notices if isinstance(event, Notice))
    assert model.requests[4].messages[2]["content"] == "From the transcript."


@given(st.lists(st.text(max_size=50), max_size=8), st.integers(0, 300))
def test_a_transcript_fits(texts, most):
    messages = [user_message(text) for text in texts]
    made = compaction.transcript(messages, most, CONTEXT)
    assert len(made) <= max(most, len(CONTEXT.compaction.elided))
    whole = compaction.transcript(messages, 1 << 30, CONTEXT)
    if len(whole) <= most:
        assert made == whole
    assert made.startswith(whole[: max(0, (most - len(CONTEXT.compaction.elided)) // 2)])


def test_no_reads_no_table():
    assert compaction.table(History(kind="agent", mode="ask"), CONTEXT) == ""
    assert compaction.content("S.", "") == "S."
