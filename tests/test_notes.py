"""Notes say how things stand against what the model was last told (§10.3, decisions 18, 19), by a model of telling."""

import itertools
from datetime import datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from session_world import NOON, broken, new, says, setup

from nbcontext import assets, plan
from nbcontext.errors import UsageError
from nbcontext.plan import PlanItem
from nbcontext.session import Session
from nbcontext.testing import ScriptedModel

CONTEXT = assets.loop().context
_NAMES = itertools.count(1)


class Clock:
    def __init__(self, now=NOON):
        self.now = now

    def __call__(self):
        return self.now


def at(text):
    return datetime.fromisoformat(text)


def sent(model):
    """The person's words of the last message, and the notes below them."""
    words, *notes = model.requests[-1].messages[-1]["content"].split("\n\n<note>\n")
    assert all(note.endswith("\n</note>") for note in notes)
    return words, [note.removesuffix("\n</note>") for note in notes]


def test_a_note_stands_in_the_message_as_it_is_sent(tmp_path):
    session, model = new(tmp_path, [says()], mode="ask")
    session.mode = "plan"
    session.personality = "concise"
    (session.root / "AGENTS.md").write_text("Mind this.\n")
    session.plan = [PlanItem(text="One", status="done"), PlanItem(text="Two")]
    session.note("what\nnow?")
    session.ask("Hello")
    mode = assets.read("prompts", "modes", "plan.md").rstrip("\n")
    concise = assets.read("prompts", "personalities", "concise.md").rstrip("\n")
    assert model.requests[-1].messages[-1]["content"] == (
        "Hello"
        "\n\n<note>\nToday is 2026-12-01.\n</note>"
        f"\n\n<note>\nThe permission mode is now plan: {mode}\n</note>"
        f"\n\n<note>\nThe personality is now concise: {concise}\n</note>"
        "\n\n<note>\nAGENTS.md is now:\nMind this.\n</note>"
        "\n\n<note>\nThe plan is now:\n1. [x] One\n2. [ ] Two\n</note>"
        "\n\n<note>\nwhat\nnow?\n</note>"
    )


@pytest.mark.parametrize(("times", "dates"), [
    (["2026-12-01T12:00+01:00", "2026-12-01T23:59+01:00"], ["2026-12-01", None]),
    (["2026-12-01T23:59:59+01:00", "2026-12-02T00:00:01+01:00", "2026-12-02T00:10+01:00"], ["2026-12-01", "2026-12-02", None]),
    (["2026-12-02T00:10+01:00", "2026-12-01T23:50+01:00", "2026-12-02T00:20+01:00"], ["2026-12-02", "2026-12-01", "2026-12-02"]),
    (["2026-12-01T23:30+01:00", "2026-12-02T07:30+09:00", "2026-12-01T22:40+00:00"], ["2026-12-01", "2026-12-02", "2026-12-01"]),
    (["2026-12-31T23:59+01:00", "2027-01-01T00:00+01:00"], ["2026-12-31", "2027-01-01"]),
])  # fmt: skip
def test_the_date_as_the_person_has_it(tmp_path, times, dates):
    clock = Clock()
    session, model = new(tmp_path, [lambda _: says()], clock=clock)
    for time, day in zip(times, dates, strict=True):
        clock.now = at(time)
        session.ask("x")
        assert sent(model)[1] == ([f"Today is {day}."] if day else [])
    assert "2026" not in model.requests[-1].messages[0]["content"]


def test_the_date_comes_again_where_it_was_taken_back(tmp_path):
    session, model = new(tmp_path, [lambda _: says("Summary.")])
    session.ask("a")
    session.ask("b")
    assert sent(model)[1] == []
    session.undo(2)
    session.ask("c")
    assert sent(model)[1] == ["Today is 2026-12-01."]
    session.compact()
    assert sent(model)[1] == []
    session.ask("d")
    assert sent(model)[1] == ["Today is 2026-12-01."]
    session.move("other/model")
    session.ask("e")
    assert sent(model)[1] == []


@pytest.mark.parametrize("again", [False, True])
def test_a_prefix_made_anew_has_told_what_stood_then(tmp_path, again):
    """The system prompt of a move tells the mode; a note from before it does not count any more (decision 19)."""
    session, model = new(tmp_path, [lambda _: says()], mode="ask")
    session.mode = "plan"
    session.ask("a")
    session.mode = "auto"
    session.personality = "concise"
    session.move("other/model")
    if again:
        session = Session.resume("s", setup=setup(tmp_path, model))
    session.ask("b")
    assert sent(model)[1] == []
    assert "The permission mode is auto:" in model.requests[-1].messages[0]["content"]
    session.mode = "plan"
    session.ask("c")
    assert [note.split(":")[0] for note in sent(model)[1]] == ["The permission mode is now plan"]


def test_a_file_that_came_and_went(tmp_path):
    session, model = new(tmp_path, [lambda _: says()])
    file = session.root / "CLAUDE.md"
    session.ask("a")
    for text, told in [
        ("Be brief.\n", ["CLAUDE.md is now:\nBe brief."]), ("Be brief.\n", []), (None, ["CLAUDE.md was removed."]), (None, []),
        ("Be long.", ["CLAUDE.md is now:\nBe long."]), ("Be long.\n\n", ["CLAUDE.md is now:\nBe long.\n"]),
    ]:  # fmt: skip
        file.unlink(missing_ok=True)
        if text is not None:
            file.write_text(text)
        session.ask("b")
        assert sent(model)[1] == told, text
    file.write_text("".join(f"line {n}\n" for n in range(200)))
    session.ask("c")
    file.write_text("".join(f"line {n}\n" for n in range(199)) + "other\n")
    session.ask("d")
    (note,) = sent(model)[1]
    assert note.startswith("CLAUDE.md changed:\n@@ -197,4 +197,4 @@\n")
    file.write_text("".join(f"line {n}\n" for n in range(200)))
    session.undo()
    session.ask("e")
    assert sent(model)[1] == []


def test_the_persons_own_notes_wait_and_come_back(tmp_path):
    session, model = new(tmp_path, [lambda _: says()])
    session.note("one")
    session.note("two")
    session = Session.resume("s", setup=setup(tmp_path, model))
    session.ask("a")
    assert sent(model)[1][1:] == ["one", "two"]
    session.ask("b")
    assert sent(model)[1] == []
    session.undo(2)
    session.ask("c")
    assert sent(model)[1][1:] == ["one", "two"]
    with pytest.raises(UsageError):
        session.note(" ")


ACTIONS = st.one_of(
    st.tuples(st.just("mode"), st.sampled_from(["ask", "plan", "auto"])),
    st.tuples(st.just("personality"), st.sampled_from(["", "concise", "teacher"])),
    st.tuples(st.just("file"), st.sampled_from([None, "one\n", "two\n"])),
    st.tuples(st.just("plan"), st.sampled_from(["", "a", "b"])),
    st.tuples(st.just("day"), st.integers(1, 3)),
    st.tuples(st.just("note"), st.sampled_from("xy")),
    *(st.tuples(st.just(name), st.none()) for name in ("ask", "ask", "undo", "compact", "move", "resume")),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("notes")


class Telling:
    """An oracle beside a session: what the model knows by the prefix and by the notes of the turns that stand."""

    def __init__(self, folder):
        self.folder, self.clock, self.model = folder, Clock(), ScriptedModel([lambda _: says("Words.")])
        self.file = folder / "root" / "AGENTS.md"
        self.file.unlink(missing_ok=True)
        self.session, _ = new(folder, self.model, f"n{next(_NAMES)}", clock=self.clock, mode="ask")
        self.now = {"mode": "ask", "personality": "", "file": None, "plan": "", "day": 1}
        self.told = {"mode": "ask", "personality": "", "file": None}
        self.own, self.turns = [], []
        self.is_over = False
        """Whether the oracle ends here: what follows a summary or an undo past a move is told by the tests above."""

    def mode(self, value):
        self.session.mode = value

    def personality(self, value):
        self.session.personality = value

    def change_file(self, value):
        self.file.unlink(missing_ok=True)
        if value is not None:
            self.file.write_text(value)

    def plan(self, value):
        self.session.plan = [PlanItem(text=value)] if value else []

    def day(self, value):
        self.clock.now = at(f"2026-12-0{value}T12:00+01:00")

    def note(self, value):
        self.session.note(value)
        self.own.append(value)

    def move(self, _):
        self.session.move(f"m/{next(_NAMES)}")
        self.told |= {key: self.now[key] for key in ("mode", "personality", "file")}
        self.turns = [{**turn, "moved": True} for turn in self.turns]

    def resume(self, _):
        self.session = Session.resume(self.session.name, setup=setup(self.folder, self.model, clock=self.clock))

    def compact(self, _):
        if self.session.history.turns:
            self.session.compact()
            assert "<note>" not in self.model.requests[-1].messages[-1]["content"]
            self.is_over = True

    def undo(self, _):
        if self.turns:
            turn = self.turns.pop()
            self.session.undo()
            self.told, self.own, self.is_over = turn["told"], turn["own"] + self.own, turn["moved"]

    def ask(self, _):
        self.turns.append({"told": dict(self.told), "own": self.own, "moved": False})
        self.session.ask("w")
        assert sent(self.model) == ("w", expected_notes(self.told, self.now, self.own))
        self.told, self.own = dict(self.now), []
        previous, last = (self.model.requests * 2)[-2:]
        if previous.model == last.model and len(previous.messages) < len(last.messages):
            assert broken(previous, last) is None


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(st.lists(ACTIONS, max_size=14))
def test_in_any_order_each_change_is_told_once(folder, actions):
    oracle = Telling(folder)
    for what, value in actions:
        getattr(oracle, "change_file" if what == "file" else what)(value)
        if what in oracle.now:
            oracle.now[what] = value
        if oracle.is_over:
            return


def expected_notes(told, now, own):
    made = []
    if told.get("day") != now["day"]:
        made.append(f"Today is 2026-12-0{now['day']}.")
    if told["mode"] != now["mode"]:
        text = assets.read("prompts", "modes", f"{now['mode']}.md").removesuffix("\n")
        made.append(f"The permission mode is now {now['mode']}: {text}")
    if told["personality"] != now["personality"]:
        name = now["personality"]
        text = assets.read("prompts", "personalities", f"{name}.md").removesuffix("\n") if name else ""
        made.append(f"The personality is now {name}: {text}" if name else CONTEXT.notes.no_personality)
    if told["file"] != now["file"]:
        text = (now["file"] or "").removesuffix("\n")
        made.append("AGENTS.md was removed." if now["file"] is None else f"AGENTS.md is now:\n{text}")
    if told.get("plan", "") != now["plan"]:
        items = plan.shown([PlanItem(text=now["plan"])]) if now["plan"] else CONTEXT.notes.no_plan
        made.append(f"The plan is now:\n{items}")
    return made + own
