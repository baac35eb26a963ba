"""Whether a file is still as a result showed it, asked only for rows in view and hashed only when it looks new."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

_MOST_BYTES = 50_000_000
"""Larger files are not hashed while somebody scrolls."""
_CHUNK = 1 << 20


@dataclass(slots=True)
class Disk:
    """The files on disk, with what was found out about them."""

    _known: dict[str, tuple[tuple[int, int, int], str]] = field(default_factory=dict)

    def state(self, path: str | None, sha256: str | None) -> str:
        """Return `same`, `changed`, `gone` or `?` (it cannot be read, or is too large); empty where no file is meant.

        Args:
            path: the file's absolute path.
            sha256: full hex SHA-256 of the bytes that a result saw.
        """
        if path is None or sha256 is None:
            return ""
        try:
            now = Path(path).stat()
            if not stat.S_ISREG(now.st_mode):
                return "changed"
            if now.st_size > _MOST_BYTES:
                return "?"
            return "same" if self._hash(path, now) == sha256 else "changed"
        except (FileNotFoundError, NotADirectoryError):
            return "gone"
        except (OSError, ValueError):
            return "?"

    def _hash(self, path: str, now: os.stat_result) -> str:
        looks = (now.st_mtime_ns, now.st_size, now.st_ino)
        known = self._known.get(path)
        if known is not None and known[0] == looks:
            return known[1]
        digest = hashlib.sha256()
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
        self._known[path] = (looks, digest.hexdigest())
        return self._known[path][1]
