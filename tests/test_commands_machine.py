"""All commands in any order: what is sent is what a plain model of the history says (§§1, 2, 6, 7, 10, decisions 10 to 24)."""

import itertools
import json
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

import history_oracle
import pytest
from history_oracle import Oracle
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from session_world import broken, says, shapes

from nbcontext import assets
from nbcontext.call import Call
from nbcontext.errors import ModelError, SessionError
from nbcontext.model.failures import RequestFailed
from nbcontext.model.reply import Completion
from nbcontext.opening import Setup
from nbcontext.plan import PlanItem
from nbcontext.session import Session
from nbcontext.settings import Settings
from nbcontext.store.verify import verify
from nbcontext.testing import ScriptedModel

history_oracle.MODES = {name: assets.read("prompts", "modes", f"{name}.md") for name in ("plan", "ask", "auto")}
PERSONALITIES = {name: assets.read("prompts", "personalities", f"{name}.md") for name in ("concise", "teacher")}
FILES = ("a.txt", "b.txt")
WORDS = st.text("ab \n<>", min_size=1, max_size=8).filter(str.strip)
CONTENTS = st.lists(st.sampled_from(["x", "y", "xy", "", "z z"]), min_size=1, max_size=6).map(
    lambda ls: "\n".join([*ls, "e"])
)
PATHS = st.sampled_from(["a.txt", *FILES, "./a.txt"])
RANGES = st.sampled_from([{}, {}, {}, {"offset": 1}, {"limit": 1}, {"offset": 2, "limit": 2}, {"limit": 2}])
READS = st.builds(lambda path, more: ("read", {"path": path, **more}), PATHS, RANGES)
CALLS = st.one_of(
    READS,
    READS,
    st.builds(lambda path, what: ("grep", {"path": path, "pattern": what}), st.sampled_from(FILES), st.just("x")),
    st.builds(lambda path, content: ("write", {"path": path, "content": content}), PATHS, CONTENTS),
    st.builds(lambda items: ("plan_write", {"items": items}), st.lists(st.sampled_from(["one", "two"]), max_size=2)),
    st.just(("nope", {})),
)
STEPS = st.lists(st.tuples(st.sampled_from(["", "Look."]), st.lists(CALLS, min_size=1, max_size=3)), max_size=3)
CHANGES = st.one_of(
    st.tuples(st.just("mode"), st.sampled_from(["auto", "auto", "plan", "ask"])),
    st.tuples(st.just("personality"), st.sampled_from(["", *PERSONALITIES])),
    st.tuples(st.just("plan"), st.lists(st.sampled_from(["one", "three"]), max_size=2).map(tuple)),
    st.tuples(st.just("note"), WORDS),
    st.tuples(st.just("rules"), st.sampled_from([None, "One.\n", "Two.\n"])),
    st.tuples(st.just("file"), st.tuples(st.sampled_from(FILES), CONTENTS)),
    st.tuples(st.just("hours"), st.integers(-20, 30)),
)
ENDINGS = st.sampled_from(["text"] * 4 + ["fails", "breaks off", "empty", "max_steps"])
BAD_SUMMARIES = {
    "nothing": says(""),
    "call": says("", Call(id="s", name="list", arguments="{}")),
    "length": says("Half a", finish_reason="length"),
    "error": RequestFailed("no"),
    "written": says('<tool_call>{"name": "read"}'),
}


class Commands(RuleBasedStateMachine):
    """A session and its oracle, side by side."""

    @initialize(
        kind=st.sampled_from(["agent", "chat"]),
        mode=st.sampled_from(["auto", "plan"]),
        rules=st.sampled_from([None, "One.\n"]),
    )
    def start(self, kind, mode, rules):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name).resolve() / "root"
        self.root.mkdir()
        self.files = {"/": str(self.root)}
        for name in FILES:
            self.put(name, f"x {name}\ny\nx\n\nlast")
        self.put_rules(rules)
        self.now = datetime.fromisoformat("2026-12-01T12:00:00+01:00")
        self.ids = itertools.count(1)
        self.queue = []
        self.model = ScriptedModel([self.next_reply])
        self.own = Settings(home=self.root.parent / "home", is_strict=True)
        self.session = Session.new("s", model="test/one", root=self.root, kind=kind, mode=mode, setup=self.setup())
        self.oracle = Oracle(kind, mode, "test/one", rules)
        self.systems = {}
        """A prefix's number to the system prompt and tools that were sent with it."""
        self.before = None
        """The request that the next one must extend; None: a deliberate break came between."""

    def setup(self):
        return Setup(settings=self.own, client=self.model, clock=lambda: self.now)

    def put(self, name, content):
        self.files[name] = content
        (self.root / name).write_text(content)

    def put_rules(self, text):
        place = self.root / "AGENTS.md"
        place.unlink(missing_ok=True) if text is None else place.write_text(text)

    # -- turns

    @rule(changes=st.lists(CHANGES, max_size=2), words=WORDS, steps=STEPS, ending=ENDINGS)
    def ask(self, changes, words, steps, ending):
        for what, value in changes:
            self.change(what, value)
        self.oracle.begin(words, PERSONALITIES)
        if self.oracle.kind == "chat":
            self.before = None
        self.turn(steps, ending, lambda most: self.session.ask(words, max_steps=most))

    @rule(words=WORDS, step=CALLS)
    def ask_one_thing(self, words, step):
        self.ask([], words, [("", [step])], "text")

    @rule(steps=STEPS, ending=ENDINGS)
    def go_on(self, steps, ending):
        turn = self.oracle.last
        if turn is None or (turn.is_answered and not turn.stopped):
            with pytest.raises(SessionError):
                self.session.go_on()
            return
        if turn.is_answered:
            self.oracle.begin("Go on.", PERSONALITIES)
            self.before = None if self.oracle.kind == "chat" else self.before
        self.turn(steps, ending, lambda most: self.session.go_on(max_steps=most))

    @rule(steps=STEPS, ending=ENDINGS)
    def retry(self, steps, ending):
        turns = self.oracle.live.all_turns
        if not turns:
            with pytest.raises(SessionError):
                self.session.retry()
            return
        words = turns[-1].words
        self.oracle.take_back([turns[-1].number])
        self.oracle.begin(words, PERSONALITIES)
        self.before = None
        self.turn(steps, ending, lambda most: self.session.retry(max_steps=most))

    def turn(self, steps, ending, job):
        """Drive a turn: the model's replies are laid out, each request is compared with what the oracle carries."""
        if ending == "max_steps" and not steps:
            ending = "text"
        turn = self.oracle.last
        turn.failed = False
        replies = [
            Completion(text=text, finish_reason="tool_calls", complete=True, calls=tuple(
                Call(id=f"c{next(self.ids)}", name=name, arguments=json.dumps(given)) for name, given in calls))
            for text, calls in steps
        ]  # fmt: skip
        last = {
            "text": says("Well."), "fails": RequestFailed("no"), "empty": says("  "),
            "breaks off": RequestFailed("no", partial=Completion(text="Half a")),
        }  # fmt: skip
        self.queue = [lambda request, reply=reply: self.came(request, reply) for reply in replies]
        if ending in last:
            self.queue.append(lambda request: self.came(request, last[ending]))
        self.model.script = [self.next_reply]
        most = len(replies) if ending == "max_steps" else None
        if ending in ("fails", "empty", "breaks off"):
            with pytest.raises(ModelError):
                job(most)
        else:
            reply = job(most)
            assert reply.stopped == ("max_steps" if ending == "max_steps" else "")
        self.settle(None)
        assert self.queue == []
        turn.failed = ending in ("fails", "empty", "breaks off")
        if ending in ("text", "breaks off"):
            text = "Well." if ending == "text" else "Half a\n\n(stopped)"
            turn.messages.append({"role": "assistant", "content": text})
            turn.stopped = ending == "breaks off"

    def next_reply(self, request):
        return self.queue.pop(0)(request)

    def came(self, request, reply):
        """A request came: compare it; where it is answered with calls, the oracle answers them before the next."""
        self.settle(request)
        self.check(request, self.oracle.carried)
        if isinstance(reply, Completion) and reply.calls:
            self.oracle.last.messages.append(dict(reply.message()))
            self.unsettled = reply.calls
        return reply

    unsettled = ()

    def settle(self, request):
        """Have the oracle answer the calls of the reply before, and compare its results with those of the session."""
        for call in self.unsettled:
            arguments = {**json.loads(call.arguments), "id": call.id}
            made = self.oracle.answer(call.name, arguments, self.files, self.root)
            row = self.session.log.store.result(self.session.row.id, made.number)
            assert row.kind == made.kind
            if made.kind in ("diff", "refused", "error"):
                assert row.sent.startswith(made.text)
                made.text = row.sent
            assert row.sent == made.text
        self.unsettled = ()
        for name in FILES:
            assert (self.root / name).read_text() == self.files[name]

    def check(self, request, carried):
        """A request is what the oracle says, and goes on from the one before."""
        prefix = self.oracle.live.prefix
        assert [dict(message) for message in request.messages[1:]] == carried
        assert request.model == prefix["model"]
        system = request.messages[0]["content"]
        assert self.systems.setdefault(prefix["number"], (system, request.tools)) == (system, request.tools)
        assert f"The permission mode is {prefix['mode']}: " in system
        assert ("## Personality" in system) == bool(prefix["personality"])
        assert ("What AGENTS.md says" in system) == (prefix["rules"] is not None)
        assert shapes(request) == []
        if self.before is not None:
            assert broken(self.before, request) is None
        self.before = request

    # -- time

    @rule(count=st.integers(1, 4))
    def undo(self, count):
        live = [turn.number for turn in self.oracle.live.all_turns]
        if count > len(live):
            with pytest.raises(SessionError):
                self.session.undo(count)
            return
        assert self.session.undo(count) == tuple(live[-count:])
        self.oracle.take_back(live[-count:])
        self.before = None

    @rule(data=st.data())
    def rewind(self, data):
        live = [turn.number for turn in self.oracle.live.all_turns]
        number = data.draw(st.integers(0, self.oracle.turns_ever + 1))
        if number not in live[:-1]:
            with pytest.raises(SessionError):
                self.session.rewind(number)
            return
        later = live[live.index(number) + 1 :]
        assert self.session.rewind(number) == tuple(later)
        self.oracle.take_back(later)
        self.before = None

    @rule(guidance=st.sampled_from(["", "Mind x."]), failing=st.sampled_from([None] * 6 + [*BAD_SUMMARIES]))
    def compact(self, guidance, failing):
        template = assets.read("prompts", "tasks", "compact.md").replace("{{transcript}}", "")
        question = template + (f"\n\nThe person asks you to mind this: {guidance}" if guidance else "")
        carried = list(self.oracle.carried)
        if carried and (carried[-1]["role"] != "assistant"):
            carried.append({"role": "assistant", "content": "(stopped)"})
        before, has_turns = self.before, bool(self.oracle.live.turns)
        reply = BAD_SUMMARIES[failing] if failing else says("A summary.", Call(id="s", name="list", arguments="{}"))
        sent = []
        self.model.script = [lambda request: sent.append(request) or reply]
        if failing or not has_turns:
            with pytest.raises(ModelError):
                self.session.compact(guidance)
        else:
            self.session.compact(guidance)
        assert len(sent) == has_turns
        for request in sent:
            self.before = before if self.oracle.kind == "agent" else None
            self.check(request, [*carried, {"role": "user", "content": question}])
        self.before = before
        if has_turns and not failing:
            self.oracle.compacted("A summary.")
            self.before = None

    @rule()
    def resume(self):
        history = self.session.history
        self.session.close()
        self.session = Session.resume("s", setup=self.setup())
        assert self.session.history == history

    @rule(model=st.sampled_from(["test/one", "test/two", "other/three"]))
    def move(self, model):
        is_other = model != self.oracle.live.prefix["model"]
        self.session.move(model)
        if is_other:
            self.oracle.move(model)
            self.before = None

    # -- what changes beside it

    def change(self, what, value):
        oracle = self.oracle
        match what:
            case "mode":
                self.session.mode = oracle.mode = value
            case "personality":
                self.session.personality = oracle.personality = value
            case "plan":
                oracle.plans += [(value, None)] if value != oracle.plan else []
                self.session.plan = [PlanItem(text=item) for item in value]
            case "note":
                self.session.note(value)
                oracle.waiting.append(value)
            case "rules":
                self.put_rules(value)
                oracle.rules = value
            case "file":
                self.put(*value)
            case "hours":
                self.now += timedelta(hours=value)
                oracle.day = self.now.date().isoformat()

    # -- what always holds

    @invariant()
    def it_stands_as_the_oracle_says(self):
        if not hasattr(self, "session"):
            return
        history, oracle = self.session.history, self.oracle
        assert [turn.number for turn in history.all_turns] == [turn.number for turn in oracle.live.all_turns]
        assert [turn.words for turn in history.turns] == [turn.words for turn in oracle.live.turns]
        assert (history.last_turn, history.last_number) == (oracle.turns_ever, oracle.results_ever)
        assert (history.mode, history.personality) == (oracle.mode, oracle.personality)
        assert tuple(item.text for item in history.plan) == oracle.plan
        assert list(history.own_notes) == oracle.waiting
        assert self.model.faults == []

    def teardown(self):
        if not hasattr(self, "session"):
            return
        assert [int(value[1:], 16) for value in self.session.results["id"]] == list(
            range(1, self.oracle.results_ever + 1)
        )
        assert self.session.breaks == []
        for number, request in enumerate(self.model.requests, 1):
            assert self.session.request(number) == request
        assert verify(self.session.log.store).faults == ()
        self.session.close()
        self.session.log.store.close()
        self.folder.cleanup()


READ = ("read", {"path": "a.txt"})
SEQUENCES = {
    "a summary empties the table": lambda m: (
        m.ask_one_thing("a", READ), m.compact("", None), m.ask_one_thing("b", READ), m.ask_one_thing("c", READ)),
    "an undo past a summary brings its prefix back": lambda m: (
        m.ask_one_thing("a", READ), m.change("mode", "plan"), m.change("rules", "Two.\n"), m.ask_one_thing("b", READ),
        m.compact("", None), m.resume(), m.ask_one_thing("c", READ), m.undo(2), m.ask_one_thing("d", READ), m.undo(2),
        m.ask_one_thing("e", READ)),
    "an undo past a summary and a move stays with the model": lambda m: (
        m.ask_one_thing("a", READ), m.compact("", None), m.move("other/three"), m.ask_one_thing("b", READ), m.undo(2),
        m.ask_one_thing("c", READ), m.compact("", None), m.compact("", None), m.undo(1), m.ask_one_thing("d", READ)),
    "a turn that ran out, and a summary that fails": lambda m: (
        m.ask([], "a", [("", [READ])], "max_steps"), m.compact("", "error"), m.ask_one_thing("b", READ)),
    "a turn that ran out, and a later one that fails and is undone": lambda m: (
        m.ask([], "a", [("", [READ])], "max_steps"), m.ask([], "b", [], "fails"), m.undo(1), m.ask_one_thing("c", READ)),
    "a turn that fails, and goes on": lambda m: (
        m.ask([], "a", [("", [READ])], "fails"), m.go_on([("", [READ])], "breaks off"), m.go_on([], "fails"),
        m.compact("", None), m.go_on([], "text"), m.ask_one_thing("b", READ)),
    "notes that wait again": lambda m: (
        m.change("note", "one"), m.change("plan", ("one",)), m.ask_one_thing("a", READ), m.change("note", "two"),
        m.ask([], "b", [("", [("plan_write", {"items": ["two"]})])], "text"), m.undo(2), m.change("note", "three"),
        m.ask_one_thing("c", READ), m.retry([], "fails"), m.retry([], "text")),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["agent", "chat"])
@pytest.mark.parametrize("sequence", SEQUENCES)
def test_a_sequence(sequence, kind):
    machine = Commands()
    machine.start(kind, "auto", "One.\n")
    SEQUENCES[sequence](machine)
    machine.it_stands_as_the_oracle_says()
    machine.teardown()


TestCommands = Commands.TestCase
TestCommands.settings = settings(
    max_examples=30, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
