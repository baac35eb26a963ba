"""Recorded sessions that `replay/NAME` plays: the ones that ship, exported files, and the sessions of the store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbcontext import assets
from nbcontext.call import Call
from nbcontext.errors import NbcontextError
from nbcontext.history import Message
from nbcontext.model.replay import RecordedReply, RecordedTurn

if TYPE_CHECKING:
    from nbcontext.model.replay import Lookup
    from nbcontext.store import Store

_TEXT_KEYS = frozenset({"role", "content", "tool_calls"})


def lookup(store: Store) -> Lookup:
    """Return what finds a recording by its name.

    A name is that of a shipped recording (`examples/replays`), the path of an exported file (it ends in `.jsonl`), or
    that of a session of `store`.
    """

    def find(name: str) -> list[RecordedTurn] | None:
        if name.endswith(".jsonl"):
            return turns(_entries_of_file(Path(name).expanduser()))
        try:
            shipped = assets.read("examples", "replays", f"{name}.jsonl")
        except NbcontextError:
            shipped = ""
        if shipped:
            return turns(_entries_of_lines(shipped.splitlines()))
        rows = {row.name: row for row in store.sessions()}
        if name not in rows:
            return None
        return turns(entry for entry, _ in store.rows(rows[name].id))

    return find


def turns(entries: Iterable[Mapping[str, Any]]) -> list[RecordedTurn]:
    """Return the turns of a log that were not taken back, with the replies that were not cut short.

    Args:
        entries: rows of the log, oldest first.
    """
    asked: dict[int, str] = {}
    replies: dict[int, list[RecordedReply]] = {}
    for entry in entries:
        if entry["kind"] not in ("TurnBegan", "Replied", "TakenBack"):
            continue
        fields = json.loads(entry["payload"])
        match entry["kind"]:
            case "TurnBegan":
                asked[fields["turn"]] = fields["words"]
                replies[fields["turn"]] = []
            case "Replied" if not fields["stopped"]:
                replies[fields["turn"]].append(_reply(fields["body"]))
            case "TakenBack":
                for turn in fields["turns"]:
                    asked.pop(turn, None)
    return [RecordedTurn(asked=words, replies=tuple(replies[turn])) for turn, words in asked.items()]


def _reply(body: str) -> RecordedReply:
    message = Message(role="assistant", kept=body)
    extras = {key: value for key, value in message.body.items() if key not in _TEXT_KEYS}
    calls: tuple[Call, ...] = message.calls
    return RecordedReply(text=message.text, calls=calls, extras=extras)


def _entries_of_file(file: Path) -> Iterator[Mapping[str, Any]]:
    from nbcontext.store import transfer

    _, lines = transfer.parse(file)
    return (line["entry"] for line in lines if "entry" in line)


def _entries_of_lines(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    for line in lines:
        found = json.loads(line)
        if "entry" in found:
            yield found["entry"]
