"""What `grep` finds: ripgrep over the tree as it is, then over the decoded text of the files that need it.

ripgrep looks at bytes, decision 4 at text, and for most files that is the same. The first run goes over the tree and
also looks for what makes a file different (bytes that are no UTF-8, a NUL). Files where that, a carriage return or a
long line shows are decoded as a read decodes them, and ripgrep runs once more over those texts. A pattern of plain
letters matches the same in either, so it is looked for alone, which is the faster run, and each file it is found in
is looked at.
"""

from __future__ import annotations

import base64
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbcontext.files.encoding import NotTextError, decode
from nbcontext.search.ripgrep import HERE, Notes, Ripgrep, Run, order

_INVALID_UTF8 = (
    r"(?-u:[\xC0\xC1\xF5-\xFF]|[\xC2-\xDF](?:[^\x80-\xBF]|$)|\xE0(?:[^\xA0-\xBF]|$)|\xED(?:[^\x80-\x9F]|$)"
    r"|[\xE1-\xEC\xEE\xEF](?:[^\x80-\xBF]|$)|[\xE0-\xEF][\x80-\xBF](?:[^\x80-\xBF]|$)|\xF0(?:[^\x90-\xBF]|$)"
    r"|[\xF1-\xF3](?:[^\x80-\xBF]|$)|\xF4(?:[^\x80-\x8F]|$)|[\xF0-\xF4][\x80-\xBF](?:[^\x80-\xBF]|$)"
    r"|[\xF0-\xF4][\x80-\xBF]{2}(?:[^\x80-\xBF]|$)|(?:^|[\x00-\x7F])[\x80-\xBF]|[\xC2-\xDF][\x80-\xBF]{2}"
    r"|[\xE0-\xEF][\x80-\xBF]{3}|[\xF0-\xF4][\x80-\xBF]{4}|\x00)"
)
"""Bytes mode: every place where a line stops being UTF-8, and NUL. What it finds too much is only decoded in vain."""
_PLAIN_PATTERN = re.compile(r"[A-Za-z0-9_ ,:;<>=!@%&~'\"/-]+")
_ENDS = re.compile(r"\$|\\[zZ]|\(\?[a-zA-Z-]*R")
"""What in a pattern may look at a line's end: then a carriage return before the line feed makes a file odd too."""
_FILE_MOST = 50
"""Matching lines of a file in the first run; a file with as many is decoded. Keeps a large binary file short."""
_DENSE = 8000
"""Files that a plain pattern may be found in before the run that needs no decoding of each is the faster one."""
_BATCH_BYTES = 32 * 1024 * 1024
"""Decoded text that is laid out for one run."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a file that is shown."""

    line: int
    """From 1."""
    text: str
    """Without its terminator, as a read shows it."""
    match: bool
    """False: a line of context."""
    start: int = 0
    """Character where the first match begins."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What is looked for."""

    pattern: str
    ignore_case: bool
    context: int
    """Lines shown on either side of a match."""
    line_bytes: int
    """Bytes of a line above which the place of its match is needed."""

    @property
    def options(self) -> list[str]:
        """Options that both runs share."""
        options = ["-n", "-a", f"-C{self.context}"]
        return [*options, "-i"] if self.ignore_case else options


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """All that was found."""

    rows: dict[str, list[Row]]
    """By path relative to the place, in the order of `order`; a file's rows by line."""
    notes: Notes


def find(ripgrep: Ripgrep, question: Question, accepts: Callable[[str], object]) -> Found:
    """Return every match in the files that `accepts` takes (relative paths)."""
    plain = _PLAIN_PATTERN.fullmatch(question.pattern) is not None
    run = _first(ripgrep, question, alone=plain)
    files = dict(_records(ripgrep, run.stdout, accepts))
    if plain and len(files) > _DENSE:
        run = _first(ripgrep, question, alone=False)
        files = dict(_records(ripgrep, run.stdout, accepts))
        plain = False
    rows: dict[str, list[Row]] = {}
    odd = []
    for path, records in files.items():
        known = _rows(records, question.line_bytes)
        if known is None or (plain and not _is_utf8(_real(ripgrep, path))):
            odd.append(path)
        else:
            rows[path] = known
    failed: list[str] = []
    rows.update(_decoded(ripgrep, question, order(odd), failed))
    notes = Notes(ignored=run.notes.ignored, unreadable=(*run.notes.unreadable, *failed))
    return Found(rows={path: rows[path] for path in order(rows)}, notes=notes)


def _first(ripgrep: Ripgrep, question: Question, *, alone: bool) -> Run:
    options = [*question.options, "-0", "-H", "--no-heading", "--no-context-separator", f"-m{_FILE_MOST}"]
    options += [f"-M{question.line_bytes}", "--max-columns-preview"]
    patterns = ["-e", question.pattern]
    if not alone:
        patterns = ["-e", _INVALID_UTF8, *patterns]
        if _ENDS.search(question.pattern):
            patterns += ["-e", r"\r"]
    run = ripgrep.run(*options, *patterns)
    ripgrep.check(run)
    return run


def _records(
    ripgrep: Ripgrep, stdout: bytes, accepts: Callable[[str], object]
) -> Iterator[tuple[str, list[tuple[int, bool, bytes]]]]:
    """Yield each file's lines as (number, match, text) from `PATH NUL NUMBER (:|-) TEXT LF`."""
    is_file, prefix = ripgrep.place.is_file, len(HERE)
    at, size = 0, len(stdout)
    current, relative, taken = b"", "", False
    records: list[tuple[int, bool, bytes]] = []
    while at < size:
        path_end = stdout.index(b"\0", at)
        path = stdout[at:path_end]
        if path != current:
            if taken:
                yield relative, records
            current, records = path, []
            relative = os.path.basename(ripgrep.place.real) if is_file else os.fsdecode(path[prefix:])  # noqa: PTH119
            taken = bool(accepts(relative))
        end = stdout.index(b"\n", path_end)
        digits = path_end + 1
        mark = digits + 1
        while stdout[mark] not in b":-":
            mark += 1
        records.append((int(stdout[digits:mark]), stdout[mark] == ord(":"), stdout[mark + 1 : end]))
        at = end + 1
    if taken:
        yield relative, records


def _rows(records: list[tuple[int, bool, bytes]], line_bytes: int) -> list[Row] | None:
    """Return a file's rows; None where its text must be decoded to know them."""
    rows = []
    if len(records) >= _FILE_MOST:
        return None
    for number, match, data in records:
        if len(data) > line_bytes or b"\0" in data or b"\r" in data:
            return None
        try:
            rows.append(Row(number, data.decode(), match))
        except UnicodeDecodeError:
            return None
    return rows


def _decoded(
    ripgrep: Ripgrep, question: Question, paths: Iterable[str], failed: list[str]
) -> Iterator[tuple[str, list[Row]]]:
    """Yield the rows of files whose text must be decoded; a binary file has none."""
    waiting: list[tuple[str, bytes]] = []
    held = 0
    for path in paths:
        real = _real(ripgrep, path)
        try:
            text = decode(_content(real)).text
        except NotTextError:
            continue
        except OSError:
            failed.append(real)
            continue
        # The terminator `\r\n` is one (decision 3); a lone surrogate of a UTF-16 file comes back as it went.
        data = text.replace("\r\n", "\n").encode("utf-8", "surrogatepass")
        waiting.append((path, data))
        held += len(data)
        if held > _BATCH_BYTES:
            yield from _second(ripgrep, question, waiting)
            waiting, held = [], 0
    if waiting:
        yield from _second(ripgrep, question, waiting)


def _real(ripgrep: Ripgrep, path: str) -> str:
    return ripgrep.place.real if ripgrep.place.is_file else ripgrep.prefix + path


def _is_utf8(path: str) -> bool:
    """Return whether a file is UTF-8 that needs no other look: no NUL in it, and it can be read."""
    try:
        data = _content(path)
        data.decode()
    except (OSError, UnicodeDecodeError):
        return False
    return b"\0" not in data


def _content(path: str) -> bytes:
    """Return a file's bytes; a link that took its place meanwhile is not followed."""
    with os.fdopen(
        os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)), "rb"
    ) as file:
        return file.read()


def _second(ripgrep: Ripgrep, question: Question, texts: list[tuple[str, bytes]]) -> Iterator[tuple[str, list[Row]]]:
    with tempfile.TemporaryDirectory(prefix="nbcontext-") as folder:
        for index, (_, data) in enumerate(texts):
            (Path(folder) / str(index)).write_bytes(data)
        options = [*question.options, "--json", "--no-ignore", "--encoding=none", "-e", question.pattern]
        run = ripgrep.run(*options, paths=[folder])
    ripgrep.check(run)
    found: dict[int, list[Row]] = {}
    for line in run.stdout.split(b"\n"):
        message: dict[str, Any] = json.loads(line) if line else {"type": ""}
        if message["type"] in ("match", "context"):
            facts = message["data"]
            index = int(os.path.basename(_bytes(facts["path"])))  # noqa: PTH119 - bytes
            found.setdefault(index, []).append(_row(facts, match=message["type"] == "match"))
    for index in sorted(found):
        yield texts[index][0], found[index]


def _row(data: dict[str, Any], *, match: bool) -> Row:
    raw = _bytes(data["lines"])
    text = (raw[:-1] if raw.endswith(b"\n") else raw).decode("utf-8", "surrogatepass")
    start = len(raw[: data["submatches"][0]["start"]].decode("utf-8", "replace")) if data["submatches"] else 0
    return Row(data["line_number"], text, match, start)


def _bytes(value: dict[str, str]) -> bytes:
    """Return what ripgrep's JSON holds as text, or in base64 where it is no UTF-8."""
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])
