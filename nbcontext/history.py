"""The live history of a session, and what a request carries of it: functions of the log (decision 10).

`History.apply` is the one place where an entry changes what the history is; a running session and a resumed one use it
alike. Nothing here is ever changed in place.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from nbcontext.call import Call, Json
from nbcontext.entry import (
    Compacted,
    Entry,
    Inserted,
    ModeSet,
    Note,
    NoteKept,
    PersonalitySet,
    PlanSet,
    PrefixMade,
    Replied,
    TakenBack,
    TurnBegan,
)
from nbcontext.hygiene.table import EMPTY, DedupeTable
from nbcontext.plan import PlanItem
from nbcontext.result import Result

if TYPE_CHECKING:
    from nbcontext.loop import Context

Kind = Literal["agent", "chat"]


def dump(body: dict[str, Json]) -> str:
    """Return a message as the JSON text that is kept and sent: compact, keys in their order."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message in its neutral sent form."""

    role: Literal["user", "assistant", "tool"]
    kept: str = ""
    """The message as JSON, as it is kept; empty of a tool's, which is made from its result."""
    origin: str = ""
    """Of an assistant's: the provider that wrote it."""
    result: Result | None = None
    """Of a tool's: the result it carries."""
    stopped: bool = False

    @cached_property
    def body(self) -> dict[str, Json]:
        """The message as a value; never changed."""
        if self.result is not None:
            return {"role": "tool", "tool_call_id": self.result.call_id, "content": self.result.sent}
        value: dict[str, Json] = json.loads(self.kept)
        return value

    @cached_property
    def with_images(self) -> dict[str, Json]:
        """The message as a provider is sent it that takes images in a tool's message: after the text, as parts."""
        if self.result is None or not self.result.images:
            return self.body
        parts: list[Json] = [{"type": "text", "text": self.result.sent}]
        parts += ({"type": "image_url", "image_url": {"url": url}} for url in self.result.images)
        return {**self.body, "content": parts}

    @property
    def sent(self) -> str:
        """The message as JSON."""
        return self.kept or dump(self.body)

    @property
    def text(self) -> str:
        """The message's text; empty where it has none."""
        content = self.body.get("content")
        return content if isinstance(content, str) else ""

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls of an assistant's message, in order."""
        found = self.body.get("tool_calls")
        if not isinstance(found, list):
            return ()
        return tuple(_call(item) for item in found)


def _call(item: Json) -> Call:
    assert isinstance(item, dict)  # noqa: S101 - we wrote it
    function = item["function"]
    assert isinstance(function, dict)  # noqa: S101
    return Call(id=str(item["id"]), name=str(function["name"]), arguments=str(function["arguments"]))


def user_message(content: str) -> Message:
    """Return a user message."""
    return Message(role="user", kept=dump({"role": "user", "content": content}))


def assistant_message(content: str, *, origin: str = "", stopped: bool = False) -> Message:
    """Return an assistant message of text alone."""
    return Message(
        role="assistant", kept=dump({"role": "assistant", "content": content}), origin=origin, stopped=stopped
    )


def tool_message(result: Result) -> Message:
    """Return the message that carries a result."""
    return Message(role="tool", result=result)


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """What the person said, and all that came of it."""

    number: int
    words: str
    at: str
    notes: tuple[Note, ...] = ()
    messages: tuple[Message, ...] = ()
    """The user message, then replies and results in order."""
    step: int = 0
    """The last reply's step; 0: none yet."""

    @property
    def results(self) -> Iterator[Result]:
        """The turn's results, oldest first."""
        return (message.result for message in self.messages if message.result is not None)

    @property
    def reply_text(self) -> str:
        """All text parts of the reply, in order, joined by a blank line (decision 17)."""
        return "\n\n".join(m.text for m in self.messages if m.role == "assistant" and m.text)

    @property
    def is_answered(self) -> bool:
        """Whether the turn ends with an assistant message that asks for nothing more."""
        last = self.messages[-1]
        return last.role == "assistant" and not last.calls

    @property
    def has_run_out(self) -> bool:
        """Whether the turn ends with results that all came: nothing but a limit on its steps keeps it from going on."""
        results = list(self.results)
        return self.messages[-1].result is not None and all(result.kind != "interrupted" for result in results)

    @property
    def is_stopped(self) -> bool:
        """Whether the reply was stopped, so that `continue` may go on."""
        return self.messages[-1].stopped or not self.is_answered

    @property
    def open_calls(self) -> tuple[Call, ...]:
        """The calls of the last reply that have no result yet."""
        answered = set()
        for message in reversed(self.messages):
            if message.result is not None:
                answered.add(message.result.call_id)
            elif message.role == "assistant":
                return tuple(call for call in message.calls if call.id not in answered)
            else:
                break
        return ()


@dataclass(frozen=True, kw_only=True, slots=True)
class History:
    """What is live of a session."""

    kind: Kind
    mode: Mode
    personality: str = ""
    prefix: PrefixMade | None = None
    prefix_turn: int = 0
    """The last turn when the prefix was made: it tells more newly than the notes up to there (decision 19)."""
    summary: tuple[Message, ...] = ()
    """The two messages that the last compaction left; empty: there was none."""
    before: History | None = None
    """The history that the last compaction replaced, for an undo that goes past it."""
    turns: tuple[Turn, ...] = ()
    """The live turns since the last compaction."""
    table: DedupeTable = EMPTY
    """The dedupe table of what the next request carries."""
    own_notes: tuple[str, ...] = ()
    """Notes of the person's that wait for the next user message."""
    plans: tuple[PlanSet, ...] = ()
    """The changes of the plan that stand, oldest first; the last is the plan."""
    last_turn: int = 0
    """Highest turn number ever given."""
    last_number: int = 0
    """Highest result number ever given (§1: never reused)."""

    def apply(self, entry: Entry) -> History:
        """Return the history after one more entry of the log."""
        match entry:
            case TurnBegan():
                return self._began(entry)
            case Replied() | Inserted():
                return _extended(self, (entry,))
            case TakenBack():
                return self._taken_back(entry)
            case PrefixMade():
                return replace(self, prefix=entry, prefix_turn=self.last_turn)
            case ModeSet(mode=mode):
                return replace(self, mode=mode)
            case PersonalitySet(name=name):
                return replace(self, personality=name)
            case PlanSet():
                return replace(self, plans=(*self.plans, entry))
            case Compacted():
                return self._compacted(entry)
            case NoteKept(text=text):
                return replace(self, own_notes=(*self.own_notes, text))

    @property
    def turn(self) -> Turn | None:
        """The last live turn; None before the first."""
        return self.turns[-1] if self.turns else None

    @property
    def plan(self) -> tuple[PlanItem, ...]:
        """The plan as it stands; empty: there is none."""
        return self.plans[-1].items if self.plans else ()

    @property
    def all_turns(self) -> tuple[Turn, ...]:
        """The live turns, those that a compaction summarised before the others."""
        return (*(self.before.all_turns if self.before else ()), *self.turns)

    def _began(self, entry: TurnBegan) -> History:
        turn = Turn(
            number=entry.turn,
            words=entry.words,
            at=entry.at,
            notes=entry.notes,
            messages=(user_message(entry.content),),
        )
        return replace(
            self,
            turns=(*self.turns, turn),
            # A chat carries no earlier reply's results: with a new turn nothing is in front of the model.
            table=EMPTY if self.kind == "chat" else self.table,
            own_notes=(),
            last_turn=max(self.last_turn, entry.turn),
        )

    def _compacted(self, entry: Compacted) -> History:
        summary = (user_message(entry.asked), assistant_message(entry.content))
        # The table is emptied: no stub may point at what is no longer in the context (§7).
        return replace(self, summary=summary, before=self, turns=(), table=EMPTY)

    def _taken_back(self, entry: TakenBack) -> History:
        taken = [turn for turn in self.all_turns if turn.number in entry.turns]
        live = self
        while live.before is not None and {turn.number for turn in live.before.all_turns} & set(entry.turns):
            live = live.before  # a summary goes with the turns that it is of
        kept = tuple(turn for turn in live.turns if turn.number not in entry.turns)
        # The person's own notes go back to waiting: the model is no longer told them.
        waiting = tuple(note.text for turn in taken for note in turn.notes if note.kind == "own")
        grown = replace(
            self,
            prefix=live.prefix,
            prefix_turn=live.prefix_turn,
            summary=live.summary,
            before=live.before,
            turns=kept,
            own_notes=(*waiting, *self.own_notes),
            plans=tuple(plan for plan in self.plans if plan.turn not in entry.turns),
        )
        return replace(grown, table=DedupeTable.of(grown.carried_results()))

    def carried_results(self) -> Iterator[Result]:
        """Yield the results that the next request carries, oldest first (§2)."""
        for turn in self.turns if self.kind == "agent" else self.turns[-1:]:
            yield from turn.results

    def carried(self, context: Context) -> list[Message]:
        """Return the messages that the next request carries after the system prompt (decision 17)."""
        found = list(self.summary)
        if self.kind == "agent":
            found += (message for turn in self.turns for message in turn.messages)
            return found
        for turn in self.turns[:-1]:
            found += (turn.messages[0], assistant_message(turn.reply_text or context.no_text))
        found += self.turns[-1].messages if self.turns else ()
        return found


def fold(start: History, entries: Iterable[Entry]) -> History:
    """Return the history that a whole log makes; the same as applying entry by entry, without the copies between."""
    history = start
    pending: list[Replied | Inserted] = []
    for entry in entries:
        if isinstance(entry, Replied | Inserted):
            pending.append(entry)
            continue
        history = _extended(history, pending).apply(entry)
        pending.clear()
    return _extended(history, pending)


def _extended(history: History, pending: Sequence[Replied | Inserted]) -> History:
    """Return the history with replies and results of its last turn, as many as there are at once."""
    if not pending:
        return history
    last, number = history.turns[-1], history.last_number
    messages, step = list(last.messages), last.step
    for entry in pending:
        if isinstance(entry, Inserted):
            number = max(number, entry.result.number)
            messages.append(tool_message(entry.result))
        else:
            messages.append(Message(role="assistant", kept=entry.body, origin=entry.origin, stopped=entry.stopped))
        step = max(step, entry.step)
    grown = replace(last, messages=tuple(messages), step=step)
    table = history.table.extended(entry.result for entry in pending if isinstance(entry, Inserted))
    return replace(history, turns=(*history.turns[:-1], grown), table=table, last_number=number)


if TYPE_CHECKING:
    from nbcontext.plan import Mode
