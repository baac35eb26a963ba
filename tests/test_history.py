"""The history is a function of the log, and the dedupe table one of what the next request carries (decision 10)."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from nbcontext import assets
from nbcontext.entry import (
    Compacted,
    Inserted,
    ModeSet,
    NoteKept,
    PersonalitySet,
    PlanSet,
    PrefixMade,
    Replied,
    TakenBack,
    TurnBegan,
)
from nbcontext.history import History, assistant_message, dump, fold
from nbcontext.hygiene.table import DedupeTable
from nbcontext.outcome import Seen
from nbcontext.plan import PlanItem
from nbcontext.result import Result, Span

CONTEXT = assets.loop().context
PATHS, SHAS = ("/r/a", "/r/b"), ("0" * 64, "1" * 64)


def asks(names):
    calls = [{"id": n, "type": "function", "function": {"name": "read", "arguments": "{}"}} for n in names]
    return dump({"role": "assistant", "content": None, "tool_calls": calls})


def result(number, call_id, *, kind="full", path=None, sha=None, span=None, key=None, stored="s"):
    seen = (Seen(resolved=path, sha256=sha),) if path else ()
    return Result(
        number=number, call_id=call_id, tool="t", kind=kind, sent=f"[#{number:04x}]", stored_sha256=stored, stored_lines=1,
        stored_chars=1, path=path, resolved=path, span=span, sha256=sha, same_key=key, seen=seen,
    )  # fmt: skip


def some_result(data, number, call_id):
    what = data.draw(st.sampled_from(["read", "search", "stub", "cut", "gone", "error"]))
    first = data.draw(st.integers(1, 6))
    span = Span(first=first, last=first + data.draw(st.integers(0, 5)), total=20, cut=what == "cut")
    path, sha = data.draw(st.sampled_from(PATHS)), data.draw(st.sampled_from(SHAS))
    match what:
        case "read" | "cut":
            return result(number, call_id, path=path, sha=sha, span=span)
        case "stub":
            return result(number, call_id, kind="stub", path=path, sha=sha, span=span)
        case "search":
            return result(
                number, call_id, key=data.draw(st.sampled_from("kl")), stored=data.draw(st.sampled_from("st"))
            )
        case "gone":
            return replace(result(number, call_id, kind="deleted"), seen=(Seen(resolved=path, sha256=None),))
        case _:
            return result(number, call_id, kind="error")


class Sessions(RuleBasedStateMachine):
    """Any log that a session can write."""

    @initialize(kind=st.sampled_from(["agent", "chat"]))
    def start(self, kind):
        self.first = self.history = History(kind=kind, mode="ask")
        self.log = []
        self.calls = 0
        self.write(PrefixMade(model="m", api_base=None, system="s", tools="[]", mode="ask", cause="start"))

    def write(self, entry):
        self.log.append(entry)
        self.history = self.history.apply(entry)

    @rule(own=st.booleans())
    def turn(self, own):
        if own:
            self.write(NoteKept(text=f"note {len(self.log)}"))
        last = self.history.turn
        if last is not None and last.open_calls:
            return
        if last is not None and not last.is_answered:
            body = assistant_message("(stopped)").kept
            self.write(Replied(turn=last.number, step=last.step + 1, body=body, origin="", stopped=True))
        number = self.history.last_turn + 1
        self.write(TurnBegan(turn=number, words="w", notes=(), content=f"w{number}", at="2026-12-01T12:00:00+01:00"))

    @precondition(lambda self: self.history.turn is not None and not self.history.turn.open_calls)
    @rule(data=st.data(), calls=st.integers(0, 3))
    def reply(self, data, calls):
        turn = self.history.turn
        if turn.is_answered:
            return
        names = [f"c{self.calls + n}" for n in range(calls)]
        self.calls += calls
        body = asks(names) if names else assistant_message("t").kept
        self.write(Replied(turn=turn.number, step=turn.step + 1, body=body, origin="p"))
        for name in names:
            made = some_result(data, self.history.last_number + 1, name)
            self.write(Inserted(turn=turn.number, step=self.history.turn.step, result=made))

    @precondition(lambda self: self.history.all_turns)
    @rule(data=st.data())
    def undo(self, data):
        live = self.history.all_turns
        count = data.draw(st.integers(1, len(live)))
        self.write(TakenBack(turns=tuple(turn.number for turn in live[-count:])))

    @precondition(lambda self: self.history.turns)
    @rule()
    def compact(self):
        self.write(Compacted(asked="a", content="c"))

    @rule(mode=st.sampled_from(["ask", "plan"]), turn=st.booleans())
    def settings(self, mode, turn):
        self.write(ModeSet(mode=mode))
        self.write(PersonalitySet(name=mode))
        number = self.history.turn.number if turn and self.history.turn else None
        self.write(PlanSet(items=(PlanItem(text=mode),), turn=number))

    @invariant()
    def one_history(self):
        assert fold(self.first, self.log) == self.history

    @invariant()
    def the_table_is_what_is_carried(self):
        carried = list(self.history.carried_results())
        assert self.history.table == DedupeTable.of(carried)
        messages = self.history.carried(CONTEXT)
        assert [m.result for m in messages if m.result is not None] == carried
        for path in PATHS:
            told = [state.sha256 for r in carried for state in r.seen if state.resolved == path]
            assert self.history.table.seen_sha256(path) == (told[-1] if told else None)

    @invariant()
    def an_oracle_of_stubs(self):
        """§2 and §6, by brute force over the results carried."""
        carried = list(self.history.carried_results())
        for path in PATHS:
            for sha in SHAS:
                for first, last in ((1, 1), (3, 5), (2, 9)):
                    full = [
                        r.number
                        for r in carried
                        if r.kind == "full" and r.span and not r.span.cut and (r.resolved, r.sha256) == (path, sha)
                        and r.span.first <= first and last <= r.span.last
                    ]  # fmt: skip
                    found = self.history.table.read_covering(path, sha, Span(first=first, last=last, total=20))
                    assert (found.number if found else None) == (max(full) if full else None)
        for key in "kl":
            for stored in "st":
                same = [r.number for r in carried if (r.same_key, r.stored_sha256) == (key, stored)]
                assert self.history.table.same_answer(key, stored) == (max(same) if same else None)

    @invariant()
    def nothing_is_given_twice(self):
        numbers = [r.result.number for r in self.log if isinstance(r, Inserted)]
        assert numbers == sorted(set(numbers))
        assert self.history.last_number == max(numbers, default=0)


Sessions.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestSessions = Sessions.TestCase


@given(st.lists(st.sampled_from(["turn", "undo", "compact"]), max_size=12))
def test_an_undo_gives_back_what_stood_before(steps):
    """Taking back the last turn is as if it had never been, but for numbers; a summary goes with its turns."""
    history, before = History(kind="agent", mode="ask"), []
    for at, step in enumerate(steps):
        if step == "turn":
            before.append(history)
            number = history.last_turn + 1
            history = history.apply(TurnBegan(turn=number, words="w", notes=(), content=str(at), at="x"))
            history = history.apply(Replied(turn=number, step=1, body=assistant_message(str(at)).kept, origin=""))
        elif step == "compact" and history.turns:
            history = history.apply(Compacted(asked="a", content=str(at)))
        elif step == "undo" and before:
            stood = before.pop()
            history = history.apply(TakenBack(turns=(history.all_turns[-1].number,)))
            if not any(later == "compact" for later in steps[:at]):
                assert history.carried(CONTEXT) == stood.carried(CONTEXT)
            assert [t.number for t in history.all_turns] == [t.number for t in stood.all_turns]
