"""A session out of a damaged store: all that can be read of it, in the form that an import takes.

Rows are found by their form (see `pages`), whatever of the file still stands. What is left is made to hold together:
an entry whose turn or call is gone is left out, a call whose result is gone is answered by one that says so.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Boolean, Float, Integer, String, Table

from nbcontext.errors import SessionError, UsageError
from nbcontext.hygiene.hashes import text_sha256
from nbcontext.store import pages, transfer
from nbcontext.store.mending import Mending
from nbcontext.store.schema import ENTRIES, REQUESTS, RESULTS, SESSIONS, TEXTS

_TABLES = (SESSIONS, ENTRIES, RESULTS, REQUESTS)
_LOST = "lost-"
"""Begins the name of a session whose own row is gone; its number follows."""

Columns = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Salvaged:
    """What was brought out."""

    source: Path
    lines: int
    """Lines written."""
    lost_entries: int
    """Entries that could not be read, or that what was lost left without their place."""
    lost_texts: int
    """Results whose stored text is gone; in the file it is empty."""
    lost_head: bool
    """Whether the session's own row is gone: its name, root and options are made up."""

    @property
    def summary(self) -> str:
        """What the person is told."""
        told = [f"{self.lines:,} lines from {self.source}"]
        told += [f"{self.lost_entries:,} entries could not be kept"] * bool(self.lost_entries)
        told += [f"{self.lost_texts:,} results have lost their stored text"] * bool(self.lost_texts)
        told += ["what the session was made with is lost: name, root and options are new"] * self.lost_head
        whole = "" if len(told) > 1 else "; nothing was lost"
        return "; ".join(told) + whole + "."


def salvage(files: Sequence[Path], name: str, file: Path) -> Salvaged:
    """Write what can be read of a session to `file`.

    Args:
        files: SQLite files; the first that holds the session is read. None is changed.
        name: the session's; `lost-N` of one whose own row is gone.
        file: where to.

    Raises:
        SessionError: no file holds it; those that can be read are named.
        UsageError: a file cannot be read or written.
    """
    known: list[str] = []
    for source in files:
        try:
            tables = _found(source)
        except OSError as error:
            raise UsageError(f"{source} cannot be read ({error.strerror}): copy it to where it can.") from None
        heads = _heads(tables)
        if name in heads:
            return _written(source, tables, heads[name], file)
        known += heads
    raise SessionError(f"No session {name!r} can be read; there are {', '.join(map(repr, known)) or 'none'}.")


def _written(source: Path, tables: Mapping[Table, Sequence[Columns]], head: Columns, file: Path) -> Salvaged:
    own = {table: [row for row in rows if row.get("session") == head["id"]] for table, rows in tables.items()}
    entries = _by_key(own[ENTRIES], "entry")
    results = {row["entry"]: row for row in _by_key(own[RESULTS], "number").values()}
    for number, row in results.items():  # the entry of a result tells no more than the result does
        made = {"entry": number, "kind": "Inserted", "turn": row["turn"], "at": head["made_at"], "payload": ""}
        entries.setdefault(number, made)
    mending = Mending(kind=head["kind"], results=results)
    written = max([head["last_entry"], *entries])
    kept = mending.entries([entries[number] for number in sorted(entries)], last=written)
    texts = _texts(
        source, {line["result"]["stored_sha256"] for line in kept if "result" in line and "text" not in line}
    )
    lost_texts = 0
    for line in kept:
        if "result" in line and "text" not in line:
            lost_texts += not _give_text(line, texts)
    told = {**{key: head[key] for key in transfer.HEAD}, "entries": len(kept)}
    lines = [{"nbcontext": transfer.FORM, "session": told}, *kept]
    requests = _by_key(own[REQUESTS], "request")
    for number in sorted(requests):
        row = {key: value for key, value in requests[number].items() if key != "session"}
        lines.append({"request": {**row, "entry": mending.place(row["entry"])}})
    count = transfer.write(file, lines)
    return Salvaged(
        source=source,
        lines=count,
        lost_entries=written - mending.kept,
        lost_texts=lost_texts,
        lost_head=bool(head["is_lost"]),
    )


def _found(source: Path) -> dict[Table, list[Columns]]:
    """Return the rows of every table but that of the texts."""
    found: dict[Table, list[Columns]] = {table: [] for table in _TABLES}
    for row in pages.rows(source):
        for table in _TABLES:
            columns = _columns(table, row)
            if columns is not None:
                found[table].append(columns)
                break
    return found


def _columns(table: Table, row: pages.Row) -> Columns | None:
    """Return a row as one of `table`; None: it has not its form. Columns that came later may be missing at its end."""
    values = list(row.values)
    columns = list(table.columns)
    if len(values) > len(columns):
        return None
    values += [None] * (len(columns) - len(values))
    made: Columns = {}
    for column, value in zip(columns, values, strict=True):
        if table is SESSIONS and column.primary_key:
            made[column.name] = row.rowid  # SQLite keeps a whole-number key in the row's place
        elif value is None and column.nullable:
            made[column.name] = None
        elif isinstance(value, int | float) and isinstance(column.type, Float):
            made[column.name] = float(value)
        elif isinstance(value, int) and isinstance(column.type, Integer | Boolean):
            made[column.name] = bool(value) if isinstance(column.type, Boolean) else value
        elif isinstance(value, str) and isinstance(column.type, String):
            made[column.name] = value
        else:
            return None
    return made


def _by_key(rows: Sequence[Columns], key: str) -> dict[int, Columns]:
    """Return rows by a key; of two of one key the fuller: the other is what a row was before it was written to."""
    found: dict[int, Columns] = {}
    for row in rows:
        before = found.get(row[key])
        if before is None or _fullness(row) > _fullness(before):
            found[row[key]] = row
    return found


def _fullness(row: Columns) -> tuple[int, int]:
    return sum(value is not None for value in row.values()), row.get("last_entry", 0)


def _heads(tables: Mapping[Table, Sequence[Columns]]) -> dict[str, Columns]:
    """Return the sessions' own rows by name; of a session whose row is gone one is made up."""
    heads = {}
    newest: dict[int, Columns] = {}
    for row in tables[SESSIONS]:
        if row["id"] not in newest or row["last_entry"] >= newest[row["id"]]["last_entry"]:
            newest[row["id"]] = row
    for row in newest.values():
        heads[row["name"]] = {**row, "kind": _kind(row["kind"]), "options": _options(row["options"]), "is_lost": False}
    for number in sorted({row["session"] for row in tables[ENTRIES]} - newest.keys()):
        name, at = f"{_LOST}{number}", min(row["at"] for row in tables[ENTRIES] if row["session"] == number)
        made_up = {"id": number, "kind": "agent", "root": str(Path.cwd()), "options": {}, "last_entry": 0}
        heads[name] = {**made_up, "name": name, "made_at": at, "is_lost": True}
    return heads


def _kind(kind: str) -> str:
    return kind if kind in ("agent", "chat") else "agent"


def _options(text: str) -> dict[str, Any]:
    try:
        options = json.loads(text)
    except ValueError:
        return {}
    return options if isinstance(options, dict) else {}


def _texts(source: Path, wanted: Collection[str]) -> dict[str, str]:
    """Return the stored texts of these hashes, as far as they are whole."""
    parts: dict[str, dict[int, str]] = {}
    for row in pages.rows(source):
        columns = _columns(TEXTS, row) if len(row.values) == len(TEXTS.columns) else None
        if columns is not None and columns["sha256"] in wanted:
            parts.setdefault(columns["sha256"], {})[columns["part"]] = columns["text"]
    joined = {sha256: "".join(found[part] for part in sorted(found)) for sha256, found in parts.items()}
    return {sha256: text for sha256, text in joined.items() if text_sha256(text) == sha256}


def _give_text(line: Columns, texts: Mapping[str, str]) -> bool:
    """Put a result's stored text into its line; where it is lost, and not what was sent, an empty one, marked so."""
    result = line["result"]
    for text in (texts.get(result["stored_sha256"]), *_said(result["sent"])):
        if text is not None and text_sha256(text) == result["stored_sha256"]:
            line["text"] = text
            return True
    report = {"step": "salvage", "kind": result["kind"], "lines_kept": 0, "lines_elided": result["stored_lines"]}
    report |= {"chars_kept": 0, "chars_elided": result["stored_chars"], "stands_for": None}
    line["text"] = ""
    line["result"] = {
        **result,
        "stored_sha256": text_sha256(""),
        "stored_lines": 0,
        "stored_chars": 0,
        "reports": json.dumps([*_reports(result["reports"]), report]),
    }
    return False


def _said(sent: str) -> Iterator[str]:
    """Yield what follows the bracket of a result: its stored text, where that was sent whole (decision 7a)."""
    yield sent.partition("\n")[2]
    yield sent.partition("] ")[2]


def _reports(text: str) -> list[Any]:
    try:
        reports = json.loads(text)
    except ValueError:
        return []
    return reports if isinstance(reports, list) else []
