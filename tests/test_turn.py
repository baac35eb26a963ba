"""Whatever stops a turn, what follows is well-formed, and goes on from what was sent (§ The one rule, decision 24)."""

import itertools
import json
import os
import signal
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from session_world import broken, call, new, says, setup, shapes

from nbcontext import opened
from nbcontext.engine import Surface
from nbcontext.errors import ModelError, NbcontextError, SessionError, TurnInterrupted, UsageError
from nbcontext.events import CallStarted, Notice, RequestEnded, ResultInserted, TextArrived, TurnStarted
from nbcontext.model.failures import Busy, CutOff, Refused, RequestFailed, Stopped, TooLong, Unreachable
from nbcontext.model.reply import Completion
from nbcontext.session import Session
from nbcontext.testing import ScriptedModel

_NAMES = itertools.count(1)


class Screen:
    """Keeps what is shown, and interrupts at the event that is due, by a real signal."""

    def __init__(self):
        self.events = []
        self.interrupt_in = None

    def __call__(self, event):
        if type(event).__name__ == "Waited":
            return
        self.events.append(event)
        if self.interrupt_in is not None:
            self.interrupt_in -= 1
            if self.interrupt_in < 0:
                self.interrupt_in = None
                signal.raise_signal(signal.SIGINT)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("turns")
    (folder / "root").mkdir()
    (folder / "root" / "a.txt").write_text("one\ntwo\n")
    return folder


def calls_of(data):
    kinds = [
        ("list", "{}"),
        ("read", '{"path": "a.txt"}'),
        ("read", "{broken"),
        ("nope", "{}"),
        ("bash", '{"command": "echo x"}'),
    ]
    return [call(*data.draw(st.sampled_from(kinds))) for _ in range(data.draw(st.integers(1, 3)))]


def an_answer(data):
    what = data.draw(st.sampled_from(["text", "text", "calls", "calls", "calls", "empty", "blank", "fail", "cut"]))
    text = data.draw(st.sampled_from(["Hello there, person.", "", "\n ", "a"]))
    match what:
        case "text":
            return says("Some words for the person.", reasoning=data.draw(st.sampled_from(["", "hm, so"])))
        case "calls":
            return says(text, *calls_of(data))
        case "empty" | "blank":
            return says("" if what == "empty" else " \n")
        case "fail":
            kind = data.draw(st.sampled_from([Refused, Busy, Unreachable, RequestFailed]))
            return kind("It failed.")
        case "cut":
            return CutOff("It broke off.", partial=Completion(text=text, calls=(call("bash", '{"comm'),)))


def do(session, action):
    try:
        match action:
            case "ask":
                session.ask("What now?")
            case "continue":
                session.go_on()
            case "retry":
                session.retry()
            case "undo":
                session.undo()
            case "steps":
                session.ask("Only one.", max_steps=1)
    except (ModelError, TurnInterrupted, SessionError):
        return


@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(st.data(), st.sampled_from(["agent", "chat"]))
def test_whatever_happens_the_next_request_is_well_formed(folder, data, kind):
    answers = iter([an_answer(data) for _ in range(data.draw(st.integers(1, 12)))])
    model, screen = ScriptedModel([lambda _: next(answers, says("The last."))]), Screen()
    session, _ = new(folder, model, f"p{next(_NAMES)}", kind=kind, surface=Surface(show=screen))
    actions = st.sampled_from(["ask", "ask", "continue", "retry", "undo", "steps", "resume"])
    may_go_on = False
    for action in data.draw(st.lists(actions, min_size=2, max_size=6)):
        before = len(model.requests)
        if action == "resume":
            session.close()
            session = Session.resume(session.name, setup=setup(folder, model, surface=Surface(show=screen)))
            continue
        screen.interrupt_in = data.draw(st.none() | st.integers(0, 12))
        last_text = messages_of(session)
        do(session, action)
        screen.interrupt_in = None
        if action not in ("retry", "undo"):
            assert messages_of(session)[: len(last_text)] == last_text or kind == "chat"
        if action in ("retry", "undo"):
            may_go_on = False
        for request in model.requests[before:]:
            assert shapes(request) == []
            if may_go_on and kind == "agent":
                assert broken(model.requests[model.requests.index(request) - 1], request) is None
            may_go_on = True
    check_calls(session)
    do(session, "ask")
    assert shapes(model.requests[-1]) == []
    assert model.faults == []
    for number in range(1, len(model.requests) + 1):
        assert session.request(number).messages == model.requests[number - 1].messages
    assert Session.resume(session.name, setup=setup(folder, model)).history == session.history


def messages_of(session):
    return [message.sent for turn in session.history.all_turns for message in turn.messages]


def check_calls(session):
    """Every call has exactly one result, in order, and no id was given twice."""
    numbers = []
    for turn in session.history.all_turns:
        asked = [c.id for m in turn.messages for c in m.calls]
        given_ = [m.result.call_id for m in turn.messages if m.result]
        assert asked == given_
        numbers += [m.result.number for m in turn.messages if m.result]
    assert numbers == sorted(set(numbers))


def interrupted_after(kind, count=1):
    """A screen that interrupts at the `count`-th event of a kind."""
    screen = Screen()
    seen = itertools.count(1)

    def show(event):
        screen(event)
        if isinstance(event, kind) and next(seen) == count:
            signal.raise_signal(signal.SIGINT)

    return show


class SlowModel(ScriptedModel):
    """Waits to be stopped after the first piece of its first reply."""

    def stream(self, request, stop):
        for piece in super().stream(request, stop):
            yield piece
            if len(self.requests) == 1:
                assert stop.wait(10)


def test_partial_text_is_kept_and_marked(folder):
    model = SlowModel([says("12345678" * 200), says("Then more.")])
    session, _ = new(folder, model, "partial", surface=Surface(show=interrupted_after(TextArrived)))
    with pytest.raises(TurnInterrupted):
        session.ask("Tell me")
    kept = session.history.turn.messages[-1].text
    assert kept.endswith("\n\n(stopped)")
    assert kept.startswith("12345678")
    session.surface = Surface()
    assert session.go_on().text == "Then more."
    assert [m["content"] for m in model.requests[-1].messages[2:]] == [kept, "Go on."]
    assert session.requests["completion_tokens"].isna().all()


def test_an_interrupt_between_two_calls_answers_the_rest(folder):
    model = ScriptedModel(
        [says("", call("bash", '{"command": "echo one"}'), call("bash", '{"command": "sleep 60"}')), says("Good.")]
    )
    session, _ = new(folder, model, "between", surface=Surface(show=interrupted_after(ResultInserted)))
    with pytest.raises(TurnInterrupted):
        session.ask("Run both")
    kinds = [result.kind for result in session.history.turn.results]
    assert kinds == ["full", "interrupted"]
    assert [r.sent.split("\n", 1)[1] for r in session.history.turn.results][
        1
    ] == "Interrupted: the call did not finish."
    session.surface = Surface()
    assert session.go_on().text == "Good."
    assert shapes(model.requests[-1]) == []


def test_a_running_command_is_stopped_and_keeps_its_output(folder):
    def show(event):
        if isinstance(event, CallStarted):
            threading.Thread(target=interrupt_when_it_runs, daemon=True).start()

    def interrupt_when_it_runs():
        with (folder / "root" / "runs").open() as pipe:  # opened once the command opens its other end
            pipe.read(1)
            os.kill(os.getpid(), signal.SIGINT)

    os.mkfifo(folder / "root" / "runs")
    command = json.dumps({"command": "echo so far; echo > runs; sleep 60"})
    model = ScriptedModel([says("", call("bash", command)), says("Good.")])
    session, _ = new(folder, model, "running", surface=Surface(show=show))
    with pytest.raises(TurnInterrupted):
        session.ask("Run it")
    (result,) = session.history.turn.results
    assert result.kind == "interrupted"
    assert result.sent.endswith("]\nso far\nInterrupted: the call did not finish.")


@pytest.mark.parametrize("kind", [Refused, Busy, Unreachable, CutOff, RequestFailed])
@pytest.mark.parametrize("partial", [None, Completion(text=""), Completion(text="Half")])
def test_a_failed_request_keeps_what_came(folder, kind, partial):
    model = ScriptedModel([kind("No.", partial=partial), says("Whole.")])
    session, _ = new(folder, model, f"f{next(_NAMES)}")
    with pytest.raises(kind):
        session.ask("Hello")
    assert session.requests["finish_reason"].isna().all()
    reply = session.go_on()
    assert reply.text == "Whole."
    assert shapes(model.requests[-1]) == []
    assert broken(*model.requests) is None
    texts = [m.get("content") for m in model.requests[-1].messages[2:]]
    assert texts == (["Half\n\n(stopped)", "Go on."] if partial and partial.text else [])


@pytest.mark.parametrize("reply", [says(""), says(" \n"), says("", reasoning="only thoughts")])
def test_an_empty_reply_is_no_message(folder, reply):
    model = ScriptedModel([reply, says("Whole.")])
    session, _ = new(folder, model, f"e{next(_NAMES)}")
    with pytest.raises(RequestFailed, match="nothing"):
        session.ask("Hello")
    session.ask("Hello again")
    assert shapes(model.requests[-1]) == []
    assert [m["role"] for m in model.requests[-1].messages[1:]] == ["user", "assistant", "user"]


def test_the_most_steps(folder):
    notices = []
    model = ScriptedModel([lambda _: says("", call("list")), lambda _: says("", call("list")), says("Whole.")])
    session, _ = new(folder, model, "steps", surface=Surface(show=notices.append))
    reply = session.ask("Look", max_steps=2)
    assert (reply.steps, reply.stopped) == (2, "max_steps")
    assert any("2 steps" in event.text for event in notices if isinstance(event, Notice))
    assert session.go_on().text == "Whole."
    assert broken(*model.requests[-2:]) is None
    with pytest.raises(SessionError, match="nothing to go on"):
        session.go_on()


def test_retry_asks_the_same_words_again(folder):
    model = ScriptedModel([says("One."), says("Two.")])
    session, _ = new(folder, model, "retry")
    session.ask("Say  it\n")
    assert session.retry().text == "Two."
    assert model.requests[0].messages == model.requests[1].messages
    assert [turn.number for turn in session.history.turns] == [2]
    with pytest.raises(SessionError):
        session.undo(2)
    session.undo()
    with pytest.raises(SessionError):
        session.retry()


def test_rewind(folder):
    session, _ = new(folder, [lambda _: says("Yes.")], "rewind")
    for word in "abcd":
        session.ask(word)
    assert session.rewind(2) == (3, 4)
    for wrong in (2, 3, 9):
        with pytest.raises(SessionError):
            session.rewind(wrong)
    assert session.ask("e").turn == 5


def test_a_chat_carries_texts_alone(folder):
    script = [says("Let me look.", call("read", '{"path": "a.txt"}')), says("Two lines."), says("Bye.")]
    session, model = new(folder, script, "chat", kind="chat")
    session.ask("Look")
    session.ask("Thanks")
    sent = model.requests[-1].messages
    assert [m["role"] for m in sent] == ["system", "user", "assistant", "user"]
    assert sent[2] == {"role": "assistant", "content": "Let me look.\n\nTwo lines."}
    assert shapes(model.requests[-1]) == []


def test_an_empty_message_is_refused(folder):
    session, model = new(folder, [says()], "empty")
    for words in ("", " \n\t"):
        with pytest.raises(UsageError):
            session.ask(words)
    assert model.requests == []


def test_a_turn_keeps_others_out(folder):
    """What the model runs may reach the session it is run in; the turn is not torn apart."""
    session, model = new(folder, [says("", call("bash", '{"command": "true"}')), says("Whole.")], "alone")
    refused = []

    def show(event):
        if not isinstance(event, CallStarted):
            return
        for act in (lambda: session.ask("x"), session.undo, session.retry, session.compact, session.go_on,
                    lambda: session.note("n"), lambda: setattr(session, "mode", "plan"), lambda: session.move("a/b")):  # fmt: skip
            try:
                act()
            except SessionError as error:
                refused.append(str(error))

    session.surface = Surface(show=show)
    assert session.ask("Run it").text == "Whole."
    assert len(refused) == 8
    assert shapes(model.requests[-1]) == []


def test_a_view_that_fails_leaves_no_worker_behind(folder):
    def show(event):
        if isinstance(event, TextArrived):
            raise ZeroDivisionError

    model = ScriptedModel([says("word " * 50), says("Whole.")])
    session, _ = new(folder, model, "view", surface=Surface(show=show))
    with pytest.raises(ZeroDivisionError):
        session.ask("Talk")
    session.surface = Surface()
    assert session.ask("Again").text == "Whole."
    assert shapes(model.requests[-1]) == []


def test_a_second_copy_of_a_session_cannot_write_over_the_first(folder):
    session, model = new(folder, [lambda _: says("Yes.")], "twice")
    session.ask("one")
    again = Session.resume("twice", setup=setup(folder, model))
    again.ask("two")
    with pytest.raises(NbcontextError, match="went on elsewhere"):
        session.ask("three")
    assert again.ask("three").turn == 3


def test_events_tell_the_turn_in_its_order(folder):
    events = []
    script = [says("Look.", call("list")), says("So.")]
    session, _ = new(folder, script, "events", surface=Surface(show=events.append))
    reply = session.ask("Look")
    kinds = [type(event).__name__ for event in events if type(event).__name__ != "Waited"]
    assert kinds == [
        "TurnStarted",
        "TextArrived",
        "RequestEnded",
        "CallStarted",
        "ResultInserted",
        "TextArrived",
        "RequestEnded",
    ]
    assert isinstance(events[0], TurnStarted)
    assert [e.request for e in events if isinstance(e, RequestEnded)] == [1, 2]
    assert (reply.steps, len(reply.results), reply.text) == (2, 1, "Look.\n\nSo.")
    assert opened.current() is session


def test_what_no_server_takes_never_leaves(folder):
    hostile = says("a\0b\ud800c", call("read", '{"path": "a\\u0000\\ud800.txt"}', "id\0\ud800"))
    session, model = new(folder, [hostile, says("Good.")], "hostile")
    session.note("n\0\udfff")
    session.ask("w\0\ud800")
    assert json.dumps([dict(m) for m in model.requests[-1].messages]).count("\\ud8") == 0
    assert shapes(model.requests[-1]) == []
    assert Session.resume("hostile", setup=setup(folder, model)).history == session.history


def test_too_long_is_summarised_once_and_sent_again(folder):
    model = ScriptedModel([says("One."), TooLong("Too long."), says("The summary."), says("Two.")])
    session, _ = new(folder, model, "long")
    session.ask("First")
    assert session.ask("Second, word for word").text == "Two."
    contents = [m["content"] for m in model.requests[-1].messages[1:]]
    assert contents[1] == "The summary."
    assert contents[2].startswith("Second, word for word")
    assert shapes(model.requests[-1]) == []
    assert broken(model.requests[0], model.requests[2]) is None
    assert list(session.requests["purpose"]) == ["turn", "turn", "compaction", "turn"]
    model.script += [TooLong("Still."), says("Another."), TooLong("Still.")]
    with pytest.raises(TooLong):
        session.ask("Third")


def test_too_long_in_the_middle_of_a_turn(folder):
    model = ScriptedModel([says("", call("list")), TooLong("Too long."), says("Summed up."), says("Went on.")])
    session, _ = new(folder, model, "middle")
    assert session.ask("Go", max_steps=2).text.endswith("Went on.")
    assert shapes(model.requests[-1]) == []


def test_an_interrupt_of_the_summary_sends_nothing(folder):
    model = ScriptedModel([says("One."), TooLong("x"), Stopped("Stopped."), says("Two.")])
    session, _ = new(folder, model, "stopped-summary")
    session.ask("First")
    with pytest.raises(TurnInterrupted):
        session.ask("Second")
    assert session.go_on().text == "Two."
    assert shapes(model.requests[-1]) == []


def test_a_persons_tool_that_leaves_is_a_fault_of_the_tool(folder):
    from nbcontext.tools.own import OWN, tool

    @tool(read_only=True)
    def leave() -> str:
        """Leave the process."""
        raise SystemExit(3)

    session, _ = new(folder, [says("", call("leave")), says("Still here.")], "leave")
    try:
        reply = session.ask("Leave")
    finally:
        del OWN["leave"]
    assert (reply.results[0].kind, reply.text) == ("error", "Still here.")
