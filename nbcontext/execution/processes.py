"""Child processes that end when they must: at a time limit, when the person stops, and with all they started.

A child leads a session of its own, so its group can be signalled as one. What leaves the group (`setsid`, a daemon)
is found by a variable in its environment that is unique to the call, where the platform shows environments (`/proc`).
What clears its environment and also leaves its session and its parent is not found; nor, without `/proc`, what leaves
the group.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

Ended = Literal["exit", "timeout", "stopped"]

MARKER = "NBCONTEXT_CALL"
"""Environment variable whose value marks every process of one call."""

_TICK = 0.05
"""Seconds between two looks at the stop event and the clock."""
_GRACE = 1.0
"""Seconds that a process has between TERM and KILL."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Captured:
    """What a child put out that was read as it came."""

    stdout: bytes
    stderr: bytes
    code: int
    """Exit status; negative: the signal that killed it."""
    ended: Ended


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished:
    """How a command whose output went to a file came to its end."""

    code: int
    """Exit status; negative: the signal that killed it."""
    ended: Ended


def capture(
    arguments: Sequence[str | bytes], *, seconds: float, stop: threading.Event, cwd: Path | None = None
) -> Captured:
    """Run a child that starts no others; return its output, which is kept apart and read as it comes.

    Raises:
        OSError: it cannot be started.
    """
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, cwd=cwd, bufsize=0
        )
        assert child.stdout is not None  # noqa: S101 - it was asked for
        _widen(child.stdout)
        with child, _watched(child, seconds, stop) as ended:
            stdout = b"".join(_chunks(child.stdout))
            code = child.wait()
        errors.seek(0)
        return Captured(stdout=stdout, stderr=errors.read(), code=code, ended=ended[0])


def _widen(pipe: IO[bytes]) -> None:
    """Let the pipe hold more, where the platform can: fewer waits of the child for the reader."""
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):  # the person's quota of pipe memory is used up
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, 1 << 20)


def _chunks(pipe: IO[bytes]) -> Iterator[bytes]:
    while chunk := os.read(pipe.fileno(), 1 << 20):
        yield chunk


@contextmanager
def _watched(child: subprocess.Popen[bytes], seconds: float, stop: threading.Event) -> Iterator[list[Ended]]:
    """Kill `child` at the time limit, at `stop`, or when the body is left early; the list holds why it ended."""
    ended: list[Ended] = ["exit"]
    done = threading.Event()
    deadline = time.monotonic() + seconds

    def watch() -> None:
        while not (stop.is_set() or time.monotonic() > deadline):
            if done.wait(_TICK):
                return
        ended[0] = "stopped" if stop.is_set() else "timeout"
        child.kill()

    watcher = threading.Thread(target=watch, name="nbcontext-watch", daemon=True)
    watcher.start()
    try:
        yield ended
    finally:
        done.set()
        watcher.join()
        if child.poll() is None:
            child.kill()
            child.wait()


def run(
    arguments: Sequence[str],
    *,
    output: IO[bytes],
    cwd: Path,
    environment: Mapping[str, str],
    seconds: float,
    stop: threading.Event,
) -> Finished:
    """Run a command with both its outputs in the file `output`, as they come; leave no process of it behind.

    The child's own end ends the call: what it left in the background, also what holds `output` open, is killed.

    Raises:
        OSError: it cannot be started.
    """
    mark = uuid.uuid4().hex
    child = subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        cwd=cwd,
        env={**environment, MARKER: mark},
        start_new_session=sys.platform != "win32",
    )
    ended: Ended = "exit"
    try:
        ended = _wait(child, seconds, stop)
    finally:
        _end_all(child, mark, gently=ended != "exit")
    return Finished(code=child.wait(), ended=ended)


def _wait(child: subprocess.Popen[bytes], seconds: float, stop: threading.Event) -> Ended:
    deadline = time.monotonic() + seconds
    pause = 0.002
    while True:
        try:
            child.wait(pause)
        except subprocess.TimeoutExpired:
            pause = min(pause * 2, _TICK)
            if stop.is_set():
                return "stopped"
            if time.monotonic() > deadline:
                return "timeout"
        else:
            return "exit"


def _end_all(child: subprocess.Popen[bytes], mark: str, *, gently: bool) -> None:
    """End the child and all it started: TERM and a moment's grace where it was cut short, then KILL."""
    if sys.platform == "win32":
        if child.poll() is None:
            subprocess.run(["taskkill", "/F", "/T", "/PID", str(child.pid)], check=False, capture_output=True)
        return
    if gently:
        _signal(child.pid, mark, signal.SIGTERM)
        deadline = time.monotonic() + _GRACE
        while time.monotonic() < deadline and (child.poll() is None or _marked(mark)):
            time.sleep(0.01)
    for _ in range(100):  # a process may start another between the look and the kill: look until none is seen
        _signal(child.pid, mark, signal.SIGKILL)
        if child.poll() is not None and not _marked(mark):
            return
        time.sleep(0.005)


def _signal(leader: int, mark: str, number: int) -> None:
    """Send a signal to the leader's group and to every process that carries `mark`."""
    if sys.platform == "win32":
        return
    # The group's id is the leader's, and no new process gets it as long as the group has a member; a group that is gone
    # raises ProcessLookupError, one with only dead members PermissionError on macOS.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)
    for process in _marked(mark):
        try:
            os.kill(process, number)
        except (ProcessLookupError, PermissionError):
            continue


def _marked(mark: str) -> list[int]:
    """Return the living processes whose environment carries `mark`; none where the platform has no `/proc`."""
    wanted = f"{MARKER}={mark}".encode()
    found = []
    try:
        names = os.listdir("/proc")  # noqa: PTH208 - thousands of them: no Path objects
    except OSError:
        return []
    own = os.getpid()
    for name in names:
        if not name.isdecimal() or int(name) == own:
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:  # noqa: PTH123 - thousands of them: no Path objects
                if wanted in file.read():
                    found.append(int(name))
        except OSError:
            continue  # gone, a kernel thread, or somebody else's
    return found
