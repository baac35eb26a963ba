"""A session as one JSON Lines file, and back: nothing is lost, nothing is made up.

The first line is `{"nbcontext": 1, "session": {…}}`; then one line for each row: `{"entry": {…}}` (a result's row and
full text stand with its `Inserted` entry) and `{"request": {…}}`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from nbcontext.errors import UsageError
from nbcontext.store import SessionRow, Store
from nbcontext.store.codec import dumps, path_column

FORM = 1
"""Version of the file's form."""
HEAD = ("name", "kind", "root", "made_at", "options")
"""What the first line tells of the session."""


def export(store: Store, session: SessionRow, file: Path) -> int:
    """Write a session to `file`, readable by its owner alone; return the lines written.

    Raises:
        UsageError: the file cannot be written; none is left half-written.
    """
    return write(file, _lines(store, session))


def write(file: Path, lines: Iterable[Mapping[str, Any]]) -> int:
    """Write the lines of an exported session to `file`, readable by its owner alone; return how many.

    Raises:
        UsageError: the file cannot be written; none is left half-written.
    """
    if not file.name or file.is_dir():
        raise UsageError(f"{file} is a folder: name a file in it.")
    if file.exists() and not _is_export(file):
        raise UsageError(f"{file} is there and is no exported session: name another file, or move it away.")
    beside = file.with_name(f".{file.name}.{os.getpid()}.part")
    count = 0
    try:
        with os.fdopen(os.open(beside, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
            for line in lines:
                out.write(f"{dumps(line)}\n")
                count += 1
        beside.replace(file)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise UsageError(
            f"{file} cannot be written ({error.strerror}): name a file in a folder you can write."
        ) from None
    return count


def _is_export(file: Path) -> bool:
    """Return whether a file is empty or begins as an exported session does."""
    try:
        with file.open(encoding="utf-8", errors="replace") as lines:
            return lines.readline().startswith('{"nbcontext":') or not file.stat().st_size
    except OSError:
        return True  # what is wrong with it, writing tells


def _lines(store: Store, session: SessionRow) -> Iterator[dict[str, Any]]:
    made_with = {
        "name": session.name,
        "kind": session.kind,
        "root": path_column(session.root),
        "made_at": session.made_at,
        "options": json.loads(session.options),
        "entries": store.session(session.name).last_entry,
    }
    yield {"nbcontext": FORM, "session": made_with}
    for entry, result in store.rows(session.id):
        line: dict[str, Any] = {"entry": entry}
        if result is not None:
            line |= {"result": result, "text": store.text(result["stored_sha256"])}
        yield line
    for request in store.requests(session.id):
        yield {"request": {key: value for key, value in request.items() if key != "session"}}


def parse(file: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return an exported session: what it was made with, and its other lines.

    Raises:
        UsageError: the file cannot be read, or is no exported session; the line is named.
    """
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read ({error}): name a file that `%llm export` wrote.") from None
    found: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            value = json.loads(line)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise UsageError(f"{file}, line {number}, is no JSON object: the file is damaged or no exported session.")
        found.append(value)
    if not found or not isinstance(head := found[0].get("session"), dict):
        raise UsageError(f"{file} is no exported session: its first line does not name one.")
    if found[0].get("nbcontext") != FORM:
        raise UsageError(f"{file} has the form {found[0].get('nbcontext')!r}; this nbcontext reads form {FORM}.")
    return head, found[1:]


def import_(store: Store, file: Path, name: str | None = None) -> str:
    """Add the session of an exported file to the store; return its name.

    Args:
        store: where to.
        file: the exported file.
        name: the session's name; None: as in the file, with a number where that is taken.

    Raises:
        UsageError: see `parse`, or a row is not as it was written; nothing was added.
        SessionError: `name` is taken.
    """
    head, lines = parse(file)
    if missing := sorted(set(HEAD) - head.keys()):
        raise UsageError(
            f"{file}, line 1, does not tell the session's {missing[0]}: the file was changed or is damaged."
        )
    taken = {row.name for row in store.sessions()}
    chosen = name or str(head["name"])
    number = 2
    while name is None and chosen in taken:
        chosen, number = f"{head['name']}-{number}", number + 1
    rows = [_checked(line, file, number) for number, line in enumerate(lines, 2)]
    entries = [line["entry"].get("entry") for line in rows if "entry" in line]
    if "entries" in head and entries != list(range(1, head["entries"] + 1)):
        raise UsageError(f"{file} does not hold all of the session's entries in their order: it was cut or changed.")
    store.add_rows(
        {"name": chosen, "kind": head["kind"], "root": head["root"], "made_at": head["made_at"]},
        json.dumps(head["options"]),
        rows,
    )
    return chosen


def _checked(line: Mapping[str, Any], file: Path, number: int) -> Mapping[str, Any]:
    from nbcontext.hygiene.hashes import text_sha256

    result = line.get("result")
    if (
        any(not isinstance(line.get(key, {}), dict) for key in ("entry", "result", "request"))
        or not ("entry" in line or "request" in line)
        or (result is not None and text_sha256(line.get("text") or "") != result.get("stored_sha256"))
    ):
        raise UsageError(f"{file}, line {number}, is not as it was written: the file was changed or is damaged.")
    return line
