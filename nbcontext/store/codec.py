"""Entries and results as rows, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, get_args

from nbcontext.entry import (
    Entry,
    Inserted,
    Note,
    PlanSet,
    PrefixMade,
    TakenBack,
    Told,
    TurnBegan,
)
from nbcontext.errors import StoreError
from nbcontext.outcome import Seen
from nbcontext.plan import PlanItem
from nbcontext.result import Report, Result, Span

_SURROGATE = re.compile("[\ud800-\udfff]")
_KINDS: dict[str, type[Entry]] = {kind.__name__: kind for kind in get_args(Entry)}


def dumps(value: object) -> str:
    """Return `value` as compact JSON; where it holds a lone surrogate, which no database takes, all escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if storable(text) else json.dumps(value, separators=(",", ":"))


def storable(text: str) -> bool:
    """Return whether a database can hold `text`: it has no lone surrogate."""
    return text.isascii() or not _SURROGATE.search(text)


def path_column(path: str | None) -> str | None:
    """Return an absolute path as a column holds it; one that is no UTF-8 as a JSON string, so it begins with `"`."""
    return path if path is None or storable(path) else json.dumps(path)


def path_of(column: str | None) -> str | None:
    """Return the path that a column holds."""
    if column is None or not column.startswith('"'):
        return column
    try:
        return str(json.loads(column))
    except ValueError:  # the row is damaged: shown as it is
        return column


def entry_payload(entry: Entry) -> str:
    """Return what the entries table keeps of an entry beside its kind."""
    return "" if isinstance(entry, Inserted) else dumps(asdict(entry))


def entry_of(kind: str, payload: str) -> Entry:
    """Return the entry that a row holds; one that inserted a result is made by `inserted_of` instead.

    Args:
        kind: the entry's class, by name.
        payload: its JSON.

    Raises:
        StoreError: the kind is unknown (a newer version wrote it) or the row is damaged.
    """
    made = _KINDS.get(kind)
    if made is None:
        raise StoreError(f"The session has an entry of the unknown kind {kind!r}: a newer nbcontext wrote it. Upgrade.")
    try:
        fields = json.loads(payload)
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


def result_row(entry: Inserted, reports: tuple[Report, ...]) -> dict[str, Any]:
    """Return an inserted result as a row of the results table, without session and entry number."""
    result = entry.result
    span = result.span
    return {
        "turn": entry.turn,
        "step": entry.step,
        "ms": entry.ms,
        "number": result.number,
        "call_id": result.call_id,
        "tool": result.tool,
        "kind": result.kind,
        "sent": result.sent,
        "stored_sha256": result.stored_sha256,
        "stored_lines": result.stored_lines,
        "stored_chars": result.stored_chars,
        "path": result.path,
        "resolved": path_column(result.resolved),
        "first_line": span.first if span else None,
        "last_line": span.last if span else None,
        "total_lines": span.total if span else None,
        "cut": span.cut if span else None,
        "sha256": result.sha256,
        "stands_for": result.stands_for,
        "same_key": result.same_key,
        "seen": None if result.seen == _own_state(result) else dumps([[s.resolved, s.sha256] for s in result.seen]),
        "images": dumps(result.images) if result.images else None,
        "reports": dumps([asdict(report) for report in reports]),
    }


def _own_state(result: Result) -> tuple[Seen, ...]:
    """Return what most results tell: the state of the one file that they name."""
    return () if result.resolved is None else (Seen(resolved=result.resolved, sha256=result.sha256),)


def inserted_of(row: Sequence[Any]) -> Inserted:
    """Return the entry that turn, step and time of a row, and then the columns `RESULT_FIELDS`, hold."""
    turn, step, ms, *result = row
    return Inserted(turn=turn, step=step, result=result_of(result), ms=ms)


RESULT_FIELDS = (
    *("number", "call_id", "tool", "kind", "sent", "stored_sha256", "stored_lines", "stored_chars", "path", "resolved"),
    *("first_line", "last_line", "total_lines", "cut", "sha256", "stands_for", "same_key", "seen", "images"),
)
"""The columns that `result_of` takes, in its order."""


def result_of(row: Sequence[Any]) -> Result:
    """Return the result that the columns `RESULT_FIELDS` of a row hold.

    Raises:
        StoreError: the row is damaged.
    """
    try:
        return _result_of(row)
    except (ValueError, TypeError) as error:
        raise StoreError(f"Result {row[0]} cannot be read ({error}): run nbcontext verify.") from None


def _result_of(row: Sequence[Any]) -> Result:
    number, call_id, tool, kind, sent, stored_sha256, stored_lines, stored_chars, path, resolved, *rest = row
    first, last, total, cut, sha256, stands_for, same_key, seen, images = rest
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
        resolved=path_of(resolved),
        span=None if first is None else Span(first=first, last=last, total=total, cut=cut),
        sha256=sha256,
        stands_for=stands_for,
        same_key=same_key,
        seen=_seen(seen, path_of(resolved), sha256),
        images=tuple(json.loads(images)) if images else (),
    )


def _seen(seen: str | None, resolved: str | None, sha256: str | None) -> tuple[Seen, ...]:
    if seen is not None:
        return tuple(Seen(resolved=r, sha256=s) for r, s in json.loads(seen))
    return () if resolved is None else (Seen(resolved=resolved, sha256=sha256),)
