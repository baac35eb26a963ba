"""Who may write to a session: one kernel at a time, told by process and host (issue of two kernels on one session)."""

from __future__ import annotations

import json
import os
import platform
import secrets
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Holder:
    """A process that holds a session."""

    host: str
    pid: int
    started: str
    """What tells this process from a later one with the same number: its start time in clock ticks, where known."""
    token: str
    """Random; a write is taken only from the holder whose token stands in the store."""

    def dumps(self) -> str:
        """Return the holder as JSON."""
        return json.dumps(asdict(self))

    @property
    def shown(self) -> str:
        """The holder as a person is told of it."""
        return f"process {self.pid} on {self.host}"

    def is_alive(self) -> bool:
        """Return whether the process still runs; a holder on another host is taken to."""
        if self.host != platform.node() or os.name == "nt":  # Windows has no signal 0: it would end the process
            return True
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True
        return self.started == _started(self.pid) and not _is_dead(self.pid)


def parse(text: str | None) -> Holder | None:
    """Return the holder that a row names; None where nobody holds the session."""
    return None if text is None else Holder(**json.loads(text))


@cache
def this_process() -> Holder:
    """Return the holder that this process is, the same for all its sessions."""
    return Holder(host=platform.node(), pid=os.getpid(), started=_started(os.getpid()), token=secrets.token_hex(8))


def _started(pid: int) -> str:
    fields = _stat(pid)
    return fields[19] if fields else ""


def _is_dead(pid: int) -> bool:
    """Return whether the process has ended and its parent has not looked yet: a killed kernel's mostly has not."""
    fields = _stat(pid)
    return bool(fields) and fields[0] in "ZX"


def _stat(pid: int) -> list[str]:
    """Return the fields of `/proc/PID/stat` from the state on (proc(5)); none where the platform has no `/proc`."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return []
    return stat.rpartition(")")[2].split()
