"""The `*** Begin Patch` form, parsed (decision 16). Pure.

Forgiven: white space around markers, a missing first `@@`, a here-document around the whole. An empty line in a hunk is
an empty line of context (models drop its space); at a hunk's end, before a marker, it parts two sections. White space
before a marker makes it no context line, but `*** End Patch` is a marker only as the last line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from nbcontext import lines
from nbcontext.errors import NbcontextError

Problem = Literal[
    "no_begin", "no_end", "no_file", "no_path", "add_line", "hunk_line", "empty_hunk", "empty_update", "empty"
]

_FILE = re.compile(r"\s*\*\*\* (Add|Update|Delete) File:(.*)", re.DOTALL)
_MOVE = re.compile(r"\s*\*\*\* Move to:(.*)", re.DOTALL)
_END_OF_FILE = "*** End of File"
_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_HERE = re.compile(r"(?:[\w./-]+\s+)*<<-?\s*(['\"]?)(\w+)\1")


class PatchError(NbcontextError):
    """A text is no patch."""

    def __init__(self, problem: Problem, number: int, line: str) -> None:
        super().__init__(f"{problem} at line {number}")
        self.problem = problem
        self.number = number
        """Line of the patch, from 1."""
        self.line = line


@dataclass(frozen=True, kw_only=True, slots=True)
class Hunk:
    """Some lines of a file in a row, and what they become."""

    anchors: tuple[str, ...]
    """Lines that come before it, in order; they stay."""
    body: tuple[tuple[str, str], ...]
    """(space, `-` or `+`; line) each."""
    at_end: bool = False
    """Whether its last line is the file's last."""

    @property
    def old(self) -> list[str]:
        """The lines that must stand in the file."""
        return [line for mark, line in self.body if mark != "+"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """What a patch does to one file."""

    kind: Literal["Add", "Update", "Delete"]
    path: str
    move_to: str | None = None
    added: tuple[str, ...] = ()
    """Of a new file, its lines."""
    hunks: tuple[Hunk, ...] = ()

    @property
    def new_lines(self) -> list[str]:
        """All lines that the patch brings."""
        return [*self.added, *(line for hunk in self.hunks for mark, line in hunk.body if mark == "+")]


def parse(patch: str) -> tuple[Section, ...]:
    """Return the sections of a patch, at least one.

    Raises:
        PatchError: the first line that is not of the form.
    """
    return _Reader(lines.split(patch)).sections()


@dataclass(slots=True)
class _Reader:
    rows: list[str]
    at: int = 0
    stop: int = field(init=False)

    def __post_init__(self) -> None:
        rows = self.rows
        first = next((i for i, row in enumerate(rows) if row.strip()), 0)
        self.stop = next((i for i in range(len(rows) - 1, -1, -1) if rows[i].strip()), -1)
        here = _HERE.fullmatch(rows[first].strip()) if rows else None
        if here and self.stop > first and rows[self.stop].strip() == here[2]:
            first += 1
            while self.stop > first and not rows[self.stop - 1].strip():
                self.stop -= 1
            self.stop -= 1
        self.at = first

    def sections(self) -> tuple[Section, ...]:
        if self.at >= len(self.rows) or self.rows[self.at].strip() != _BEGIN:
            raise self.error("no_begin")
        if self.stop <= self.at or self.rows[self.stop].strip() != _END:
            self.at = max(self.stop, 0)
            raise self.error("no_end")
        self.at += 1
        found = []
        while self.at < self.stop:
            if self.rows[self.at].strip():
                found.append(self.section())
            else:
                self.at += 1
        if not found:
            raise self.error("empty")
        return tuple(found)

    def section(self) -> Section:
        match = _FILE.fullmatch(self.rows[self.at])
        if not match:
            raise self.error("no_file")
        path = match[2].strip()
        if not path:
            raise self.error("no_path")
        start, kind = self.at, match[1]
        self.at += 1
        if kind == "Add":
            return Section(kind="Add", path=path, added=self.added())
        if kind == "Delete":
            return Section(kind="Delete", path=path)
        move_to = self.move_to()
        hunks = self.hunks()
        if not hunks and move_to is None:
            self.at = start
            raise self.error("empty_update")
        return Section(kind="Update", path=path, move_to=move_to, hunks=hunks)

    def move_to(self) -> str | None:
        match = _MOVE.fullmatch(self.rows[self.at])
        if not match:
            return None
        path = match[1].strip()
        if not path:
            raise self.error("no_path")
        self.at += 1
        return path

    def added(self) -> tuple[str, ...]:
        found = []
        while self.at < self.stop and not _FILE.fullmatch(self.rows[self.at]):
            row = self.rows[self.at]
            if row.startswith("+"):
                found.append(row[1:])
            elif row.strip() or not self.parted():
                raise self.error("add_line")
            self.at += 1
        return tuple(found)

    def parted(self, hunk: str = "*** ") -> bool:
        """Return whether nothing but empty lines comes before the next section, or a line that begins with `hunk`."""
        ahead = next((row for row in self.rows[self.at : self.stop] if row.strip()), None)
        return ahead is None or ahead.startswith(hunk) or _FILE.fullmatch(ahead) is not None

    def hunks(self) -> tuple[Hunk, ...]:
        found = []
        while self.at < self.stop and not _FILE.fullmatch(self.rows[self.at]):
            if self.rows[self.at] or not self.parted("@@"):
                found.append(self.hunk())
            else:
                self.at += 1
        return tuple(found)

    def hunk(self) -> Hunk:
        start, anchors = self.at, []
        while self.at < self.stop and self.rows[self.at].startswith("@@"):
            anchor = self.rows[self.at][2:].removeprefix(" ")
            if anchor.strip():
                anchors.append(anchor)
            self.at += 1
        body: list[tuple[str, str]] = []
        at_end = False
        while self.at < self.stop and not self.rows[self.at].startswith("@@"):
            row = self.rows[self.at]
            if _FILE.fullmatch(row):
                break
            self.at += 1
            if row.strip() == _END_OF_FILE:
                at_end = True
                break
            if row and row[0] not in " -+":
                self.at -= 1
                raise self.error("hunk_line")
            body.append((row[0], row[1:]) if row else ("", ""))
        while body and body[-1] == ("", ""):
            body.pop()
        if not body:
            self.at = start
            raise self.error("empty_hunk")
        return Hunk(anchors=tuple(anchors), body=tuple((mark or " ", line) for mark, line in body), at_end=at_end)

    def error(self, problem: Problem) -> PatchError:
        line = self.rows[self.at] if self.at < len(self.rows) else ""
        return PatchError(problem, self.at + 1, line)
