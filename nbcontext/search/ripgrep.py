"""ripgrep as the search tools use it: the binary, its runs, and what it says about the places it left out.

One run does the whole of a listing. `--debug` makes ripgrep name on its standard error every entry that an ignore
rule left out and every link it did not follow, so the notes `(ignored files left out)` and `(unreadable: …)` need no
second walk over the tree; only an ignored folder is listed on its own, to see whether it holds anything the call
would have shown.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nbcontext.errors import ToolError
from nbcontext.execution import processes
from nbcontext.hygiene.clean import shown_path
from nbcontext.outcome import Failure, Text

if TYPE_CHECKING:
    from nbcontext.world import World

HERE = "./"
"""The place as ripgrep is given it when it runs inside; what it finds there begins with it."""
_COMMON = ("--no-config", "--color=never", "--no-require-git", "--no-ignore-messages", "--debug")
_IGNORED = re.compile(rb"DEBUG\|ignore::walk\|.*?: ignoring (.*): Ignore\(IgnoreMatch\((?!Hidden)", re.DOTALL)
_SKIPPED = re.compile(rb"DEBUG\|rg::haystack\|.*?: ignoring (.*): failed to pass haystack filter", re.DOTALL)
_FAILED = re.compile(rb"(?:IO error for operation on )?(.*?): [^:\n]*\(os error \d+\)\Z", re.DOTALL)
_RECORD = b"\nrg: "
"""What parts two things that ripgrep says; a path within one may hold line feeds."""
_ARGUMENTS_AT_ONCE = 500
"""Paths given to one run: far below any platform's limit on the size of arguments."""


class Interrupted(Exception):  # noqa: N818 - no fault: the person stopped the call
    """The stop event was set while ripgrep ran."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a call searches."""

    shown: str
    """Absolute path as the call's answer names it."""
    real: str
    """The same with links followed; ripgrep is given this one."""
    is_file: bool

    def absolute(self, relative: str) -> str:
        """Return the shown path of `relative`, an entry below this place (the place itself where it is a file)."""
        if self.is_file:
            return self.shown
        return f"{self.shown}{relative}" if self.shown.endswith(os.sep) else f"{self.shown}{os.sep}{relative}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Notes:
    """What ripgrep said about places that are not in its answer; paths are real ones."""

    ignored: tuple[str, ...] = ()
    """Files and folders that an ignore rule left out, the topmost of each."""
    unreadable: tuple[str, ...] = ()
    """What could not be read, and links that lead nowhere."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One run of ripgrep."""

    stdout: bytes
    notes: Notes
    problem: str
    """What it said is wrong with its arguments; empty: nothing."""


def find() -> str | None:
    """Return the path of ripgrep: beside the interpreter, where a wheel brings it, else on PATH."""
    name = "rg.exe" if sys.platform == "win32" else "rg"
    beside = Path(sysconfig.get_path("scripts")) / name
    return str(beside) if os.access(beside, os.X_OK) else shutil.which("rg")


class Ripgrep:
    """The runs of one call, which share its time limit."""

    def __init__(self, world: World, place: Place) -> None:
        self.place = place
        self._stop: threading.Event = world.stop
        self._errors = world.context.errors.search
        self._rules = world.context.search
        program = find()
        if program is None:
            raise ToolError(self._errors.no_ripgrep.format(path=shown_path(place.shown)))
        self._program = program

    def run(self, *arguments: str, paths: Sequence[str] | None = None) -> Run:
        """Run ripgrep over `paths` (the call's place where none are given).

        Raises:
            ToolError: it took longer than the time limit, or could not be started.
            Interrupted: the person stopped the call.
        """
        # Below a folder ripgrep is asked from within: paths are short, which 100,000 of them show.
        inside = paths is None and not self.place.is_file
        places = paths if paths is not None else [HERE if inside else self.place.real]
        cwd = Path(self.place.real) if inside else None
        command: list[str | bytes] = [self._program, *_COMMON, *(os.fsencode(a) for a in arguments), "--"]
        command += [os.fsencode(path) for path in places]
        try:
            got = processes.capture(command, seconds=self._rules.seconds, stop=self._stop, cwd=cwd)
        except (OSError, ValueError) as error:  # ValueError: a NUL in an argument
            raise ToolError(self._errors.not_started.format(path=shown_path(self.place.shown), why=error)) from None
        if got.ended == "stopped":
            raise Interrupted
        if got.ended == "timeout":
            said = self._errors.too_slow.format(path=shown_path(self.place.shown), seconds=self._rules.seconds)
            raise ToolError(said)
        return Run(stdout=got.stdout, notes=_notes(got.stderr, self.prefix), problem=_problem(got))

    def files(self, *arguments: str, paths: Sequence[str] | None = None) -> tuple[list[str], Notes]:
        """Return the files that ripgrep would search, relative to the place, unsorted, and the notes on the rest."""
        run = self.run("--files", "-0", *arguments, paths=paths)
        self.check(run)
        if self.place.is_file:
            return [os.path.basename(self.place.real)] if run.stdout else [], run.notes  # noqa: PTH119
        prefix = HERE if paths is None else self.prefix
        if not run.stdout:
            return [], run.notes
        # One replacement over the whole text is ten times a slice of every path.
        text = "\0" + run.stdout.decode("utf-8", "surrogateescape")
        return text[:-1].replace("\0" + prefix, "\0")[1:].split("\0"), run.notes

    def check(self, run: Run) -> None:
        """Raise the tool's error where ripgrep said that something about the call is wrong."""
        if run.problem:
            raise ToolError(self._errors.failed.format(path=shown_path(self.place.shown), why=run.problem))

    @property
    def prefix(self) -> str:
        """What every path below the place begins with."""
        real = self.place.real
        return real if real.endswith(os.sep) else real + os.sep

    def left_out(self, notes: Notes, accepts: Callable[[str], object]) -> bool:
        """Return whether ignore rules left out a file that the call would have shown or searched (decision 26)."""
        folders = []
        for path in notes.ignored:
            relative = path.removeprefix(self.prefix)
            if _is_hidden(relative) or os.path.islink(path):  # noqa: PTH114 - plain strings all along
                continue
            if os.path.isdir(path):  # noqa: PTH112
                folders.append(path)
            elif accepts(relative):
                return True
        for start in range(0, len(folders), _ARGUMENTS_AT_ONCE):
            found, _ = self.files("--no-ignore", paths=folders[start : start + _ARGUMENTS_AT_ONCE])
            if any(accepts(relative) for relative in found):
                return True
        return False


def order(paths: Iterable[str]) -> list[str]:
    """Return `paths` sorted by their bytes; for text without escaped bytes that is the order of its code points."""
    found = list(paths)
    try:
        "".join(found).encode()
    except UnicodeEncodeError:
        return sorted(found, key=os.fsencode)
    found.sort()
    return found


def shown_paths(place: Place, relative: list[str]) -> str:
    """Return the shown paths of entries below the place, one a line."""
    paths = [place.absolute(path) for path in relative]
    joined = "\n".join(paths)
    if joined.isascii() and joined.replace("\n", "").isprintable() and joined.count("\n") == max(len(paths) - 1, 0):
        return joined
    return "\n".join(map(shown_path, paths))


def locate(world: World, given: str | None) -> Place:
    """Return the place that `path` names, the root where there is none.

    Raises:
        ToolError: it leads outside the root, is not there, or is neither a folder nor a file.
    """
    located = world.root.locate(given or ".", world.context.errors.files)
    texts = world.context.errors.search
    shown = shown_path(located.absolute)
    if os.path.isfile(located.resolved):  # noqa: PTH113
        return Place(shown=located.absolute, real=located.resolved, is_file=True)
    if os.path.isdir(located.resolved):  # noqa: PTH112
        return Place(shown=located.absolute, real=located.resolved, is_file=False)
    if os.path.islink(located.absolute):  # noqa: PTH114
        raise ToolError(texts.dangling.format(path=shown, target=shown_path(located.resolved)))
    raise ToolError((texts.no_file if os.path.lexists(located.resolved) else texts.not_found).format(path=shown))


def answer(world: World, place: Place, shown: str, *, more: int, ignored: bool, unreadable: Iterable[str] = ()) -> Text:
    """Return what a search tool answers: what it found, then one line for each thing to know about it.

    The order is fixed: results, `(N more)`, `(ignored files left out)`, `(unreadable: …)`.
    """
    rules = world.context.search
    parts = [shown or rules.none]
    if more:
        parts.append(rules.more.format(count=more))
    if ignored:
        parts.append(rules.ignored)
    real = place.real.rstrip(os.sep)
    for path in order(set(unreadable)):
        seen = place.shown.rstrip(os.sep) + path[len(real) :] if path.startswith(real) else path
        parts.append(rules.unreadable.format(path=shown_path(seen)))
    return Text(text="\n".join(parts))


def interrupted(world: World, partial: str = "") -> Failure:
    """Return what a search tool answers when the person stopped it."""
    return Failure(kind="interrupted", text=world.context.errors.calls.interrupted, partial=partial)


def _notes(stderr: bytes, prefix: str) -> Notes:
    def real(path: bytes) -> str:
        name = os.fsdecode(path)
        return prefix + name.removeprefix(HERE) if name.startswith(HERE) else name

    ignored, unreadable = [], []
    for record in _records(stderr):
        if found := _IGNORED.match(record):
            ignored.append(real(found[1]))
        elif found := _SKIPPED.match(record):
            path = real(found[1])
            if os.path.islink(path) and not os.path.exists(path):  # noqa: PTH110, PTH114 - plain strings all along
                unreadable.append(path)
        elif found := _FAILED.match(record):
            unreadable.append(real(found[1]))
    return Notes(ignored=tuple(ignored), unreadable=tuple(unreadable))


def _records(stderr: bytes) -> list[bytes]:
    return [record.rstrip(b"\n") for record in (b"\n" + stderr).split(_RECORD)[1:]]


def _problem(got: processes.Captured) -> str:
    """Return what ripgrep said against its arguments: status 2 with a message that is about no single file."""
    if got.code != 2:  # noqa: PLR2004 - ripgrep's status for any error
        return ""
    said = [record for record in _records(got.stderr) if not record.startswith(b"DEBUG|") and not _FAILED.match(record)]
    return b"\n".join(said).decode("utf-8", "replace").strip()


def _is_hidden(relative: str) -> bool:
    return relative.startswith(".") or "/." in relative
