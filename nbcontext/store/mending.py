"""The entries that are left of a damaged log, made to hold together, so that a session can go on from them.

Of a log that is whole nothing is changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbcontext import assets, hygiene
from nbcontext.entry import Inserted, PrefixMade, Replied, TakenBack, TurnBegan
from nbcontext.errors import StoreError
from nbcontext.history import History, Message, assistant_message
from nbcontext.hygiene import DedupeTable, Surroundings
from nbcontext.outcome import Failure
from nbcontext.store import codec

if TYPE_CHECKING:
    from nbcontext.call import Call
    from nbcontext.entry import Entry
    from nbcontext.history import Kind

Columns = dict[str, Any]


@dataclass(kw_only=True, slots=True)
class Mending:
    """Makes the entries of one session hold together."""

    kind: Kind
    results: Mapping[int, Columns]
    """Rows of the results by their entry's number."""
    kept: int = 0
    """Entries of those given that were kept."""
    _places: dict[int, int] = field(default_factory=dict)
    _history: History = field(init=False)
    _lines: list[Columns] = field(default_factory=list)
    _numbers: set[int] = field(default_factory=set)
    """Of the results that there are, whether or not they can be kept."""

    def __post_init__(self) -> None:
        """Begin before the first entry."""
        self._history = History(kind=self.kind, mode="ask")

    def entries(self, rows: Sequence[Columns], *, last: int) -> list[Columns]:
        """Return the lines of an exported session for these rows of its log, numbered anew without a gap.

        Args:
            rows: in order, without those of which nothing is left.
            last: number of the last entry that was written.
        """
        self._numbers = {row["number"] for row in self.results.values()}
        read = [(row, entry) for row in rows if (entry := self._entry(row)) is not None]
        is_whole = [row["entry"] for row, _ in read] == list(range(1, last + 1))
        for row, entry in read if is_whole else _prefix_first(read):
            if not is_whole:
                for before in self._lacking(entry):
                    self._add({**row, "kind": type(before).__name__, "payload": codec.entry_payload(before)}, before)
            if (is_whole or self._holds(entry)) and self._add(row, entry):
                self.kept += 1
                self._places[row["entry"]] = len(self._lines)
        return self._lines

    def place(self, entry: int) -> int:
        """Return the new number of an entry; of one that was left out, that of the last one kept before it."""
        return max((new for old, new in self._places.items() if old <= entry), default=0)

    def _add(self, row: Columns, entry: Entry) -> bool:
        """Add an entry to the lines and the history; return whether it could be."""
        try:
            self._history = self._history.apply(entry)
        except (LookupError, TypeError, ValueError, AttributeError):
            return False
        number = len(self._lines) + 1
        line: Columns = {"entry": {**_without_session(row), "entry": number, "turn": getattr(entry, "turn", None)}}
        if isinstance(entry, Inserted):
            line |= self._result_line(row, entry, number)
        self._lines.append(line)
        return True

    def _result_line(self, row: Columns, entry: Inserted, number: int) -> Columns:
        found = self.results.get(row["entry"])
        if found is not None and found["number"] == entry.result.number:
            return {"result": {**_without_session(found), "entry": number}}
        return {"result": {"entry": number, **codec.result_row(entry, ())}, "text": _after_id(entry)}

    def _entry(self, row: Columns) -> Entry | None:
        """Return the entry that a row holds; None: it cannot be read."""
        try:
            if row["kind"] != Inserted.__name__:
                entry = codec.entry_of(row["kind"], row["payload"])
                return entry if _is_sound(entry) else None
            found = self.results.get(row["entry"])
            if found is None:
                return None
            fields = (found[name] for name in codec.RESULT_FIELDS)
            return codec.inserted_of((found["turn"], found["step"], found["ms"], *fields))
        except StoreError:
            return None

    def _holds(self, entry: Entry) -> bool:
        """Return whether the history so far has the place that an entry takes."""
        history, last = self._history, self._history.turn
        match entry:
            case TurnBegan(turn=turn):
                return turn > history.last_turn
            case Replied(turn=turn):
                return last is not None and last.number == turn and not last.open_calls and not last.is_answered
            case Inserted(turn=turn, result=result):
                is_asked = last is not None and last.number == turn and result.call_id in _ids(last.open_calls)
                return is_asked and result.number > history.last_number
            case TakenBack(turns=turns):
                return bool({live.number for live in history.all_turns} & set(turns))
        return True

    def _lacking(self, entry: Entry) -> Iterator[Entry]:
        """Yield the entries that were lost before `entry`, as far as a provider would refuse the history without."""
        last = self._history.turn
        if last is None or not (isinstance(entry, TurnBegan) or getattr(entry, "turn", None) == last.number):
            return
        if isinstance(entry, Inserted):
            ids = [call.id for call in last.open_calls]
            unanswered = last.open_calls[: ids.index(entry.result.call_id)] if entry.result.call_id in ids else ()
        else:
            unanswered = last.open_calls if isinstance(entry, Replied | TurnBegan) else ()
        for call in unanswered:
            yield self._lost(call, last.number, last.step)
        last = self._history.turns[-1]  # with what was just answered
        has_run_out = self.kind == "chat" and last.has_run_out
        if isinstance(entry, TurnBegan) and not last.is_answered and not has_run_out:
            body = assistant_message(assets.loop().context.stopped).kept
            yield Replied(turn=last.number, step=last.step + 1, body=body, origin="", stopped=True)

    def _lost(self, call: Call, turn: int, step: int) -> Inserted:
        """Return what stands for a result that is lost, under its id: the one that is lost too."""
        number = self._history.last_number + 1
        if number in self._numbers:
            number = max(self._numbers) + 1
        self._numbers.add(number)
        context = assets.loop().context
        said = Failure(text=context.errors.calls.lost)
        around = Surroundings(context=context, table=DedupeTable())
        made = hygiene.insert(said, around, number=number, call_id=call.id, tool=call.name)
        return Inserted(turn=turn, step=step, result=made.result)


def _prefix_first(read: Sequence[tuple[Columns, Entry]]) -> list[tuple[Columns, Entry]]:
    """Return the entries with a prefix before the first turn: a later one where the first is lost."""
    found = list(read)
    kinds = [type(entry) for _, entry in found]
    turn = kinds.index(TurnBegan) if TurnBegan in kinds else len(kinds)
    if PrefixMade in kinds and kinds.index(PrefixMade) > turn:
        found.insert(turn, found.pop(kinds.index(PrefixMade)))
    return found


def _is_sound(entry: Entry) -> bool:
    """Return whether what an entry holds as JSON is of its form."""
    try:
        if isinstance(entry, Replied):
            message = Message(role="assistant", kept=entry.body)
            return message.body.get("role") == "assistant" and all(call.id for call in message.calls)
        if isinstance(entry, PrefixMade):
            return all(tool["function"]["name"] for tool in json.loads(entry.tools))
    except (ValueError, TypeError, LookupError, AttributeError, AssertionError):
        return False
    return True


def _ids(calls: Sequence[Call]) -> set[str]:
    return {call.id for call in calls}


def _without_session(row: Columns) -> Columns:
    return {key: value for key, value in row.items() if key != "session"}


def _after_id(entry: Inserted) -> str:
    return entry.result.sent.partition("\n")[2]
