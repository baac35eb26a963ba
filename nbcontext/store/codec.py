"""Entries and results as rows, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, get_args

from nbcontext.entry import (
    Entry,
    Inserted,
    Note,
    PlanItem,
    PlanSet,
    PrefixMade,
    Replied,
    TakenBack,
    Told,
    TurnBegan,
)
from nbcontext.errors import StoreError
from nbcontext.outcome import Seen
from nbcontext.result import Report, Result, Span

_KINDS: dict[str, type[Entry]] = {kind.__name__: kind for kind in get_args(Entry)}


def dumps(value: object) -> str:
    """Return `value` as compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def entry_payload(entry: Entry) -> str:
    """Return what the entries table keeps of an entry beside its kind."""
    if isinstance(entry, Inserted):
        return dumps({"turn": entry.turn, "step": entry.step, "number": entry.result.number, "ms": entry.ms})
    return dumps(asdict(entry))


def entry_of(kind: str, payload: str, results: Mapping[int, Result]) -> Entry:
    """Return the entry that a row holds.

    Args:
        kind: the entry's class, by name.
        payload: its JSON.
        results: the session's results by number, for `Inserted`.

    Raises:
        StoreError: the kind is unknown (a newer version wrote it) or the row is damaged.
    """
    made = _KINDS.get(kind)
    if made is None:
        raise StoreError(f"The session has an entry of the unknown kind {kind!r}: a newer nbcontext wrote it. Upgrade.")
    try:
        fields = json.loads(payload)
        if made is Inserted:
            return Inserted(turn=fields["turn"], step=fields["step"], result=results[fields["number"]], ms=fields["ms"])
        if made is TurnBegan:
            fields["notes"] = tuple(Note(**note) for note in fields["notes"])
        if made is TakenBack:
            fields["turns"] = tuple(fields["turns"])
        if made is PlanSet:
            fields["items"] = tuple(PlanItem(**item) for item in fields["items"])
        if made is PrefixMade:
            for name in ("instructions", "servers"):
                fields[name] = tuple(Told(**told) for told in fields[name])
        return made(**fields)
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"An entry of the session cannot be read ({error}): run nbcontext verify to see what is damaged."
        ) from None


def result_row(result: Result, reports: tuple[Report, ...]) -> dict[str, Any]:
    """Return a result as a row of the results table, without session and entry."""
    span = result.span
    return {
        "number": result.number,
        "call_id": result.call_id,
        "tool": result.tool,
        "kind": result.kind,
        "sent": result.sent,
        "stored_sha256": result.stored_sha256,
        "stored_lines": result.stored_lines,
        "stored_chars": result.stored_chars,
        "path": result.path,
        "resolved": result.resolved,
        "first_line": span.first if span else None,
        "last_line": span.last if span else None,
        "total_lines": span.total if span else None,
        "cut": span.cut if span else None,
        "sha256": result.sha256,
        "stands_for": result.stands_for,
        "same_key": result.same_key,
        "seen": dumps([[state.resolved, state.sha256] for state in result.seen]) if result.seen else None,
        "reports": dumps([asdict(report) for report in reports]),
    }


RESULT_FIELDS = (
    *("number", "call_id", "tool", "kind", "sent", "stored_sha256", "stored_lines", "stored_chars", "path", "resolved"),
    *("first_line", "last_line", "total_lines", "cut", "sha256", "stands_for", "same_key", "seen"),
)
"""The columns that `result_of` takes, in its order."""


def result_of(row: Sequence[Any]) -> Result:
    """Return the result that the columns `RESULT_FIELDS` of a row hold."""
    number, call_id, tool, kind, sent, stored_sha256, stored_lines, stored_chars, path, resolved, *rest = row
    first, last, total, cut, sha256, stands_for, same_key, seen = rest
    return Result(
        number=number,
        call_id=call_id,
        tool=tool,
        kind=kind,
        sent=sent,
        stored_sha256=stored_sha256,
        stored_lines=stored_lines,
        stored_chars=stored_chars,
        path=path,
        resolved=resolved,
        span=None if first is None else Span(first=first, last=last, total=total, cut=cut),
        sha256=sha256,
        stands_for=stands_for,
        same_key=same_key,
        seen=tuple(Seen(resolved=r, sha256=s) for r, s in json.loads(seen)) if seen else (),
    )
