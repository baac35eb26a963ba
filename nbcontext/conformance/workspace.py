"""The folder of a case: its files laid out, changed from outside, and compared."""

from __future__ import annotations

import base64
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from nbcontext.conformance.files import BytesFile, Change, Delete, File, Folder, Link, Rename, TextFile, Touch, Write
from nbcontext.conformance.texts import expanded

_BOMS = {"utf-8-bom": b"\xef\xbb\xbf", "utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}
_LATER_NS = 5_000_000_000
"""Nanoseconds by which a touched file is newer: more than any file system's grain."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A case's folder."""

    folder: Path
    """Absolute, links followed."""

    @property
    def root(self) -> str:
        """What `{root}` stands for."""
        return str(self.folder)

    def put(self, path: str, file: File) -> None:
        """Make an entry, with the folders above it; what is there is replaced."""
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_symlink() or place.is_file():
            place.unlink()
        match file:
            case Folder():
                place.mkdir(exist_ok=True)
            case Link():
                place.symlink_to(expanded(file.link, self.root))
            case _:
                place.write_bytes(self.data(file))
                mode = file.mode if isinstance(file, TextFile | BytesFile) else None
                if mode is not None:
                    place.chmod(int(mode, 8))

    def data(self, file: File) -> bytes:
        """Return the bytes of a file that is no folder and no link."""
        match file:
            case BytesFile():
                return base64.b64decode(file.base64)
            case TextFile():
                encoding = file.encoding.removesuffix("-bom")
                text = expanded(file.text, self.root)
                return _BOMS.get(file.encoding, b"") + text.encode(encoding, "surrogatepass")
            case Folder() | Link():
                raise TypeError("a folder and a link have no bytes")
            case _:
                return expanded(file, self.root).encode("utf-8", "surrogatepass")

    def change(self, change: Change) -> None:
        """Make an outside change."""
        match change:
            case Write():
                self._write(change)
            case Delete():
                place = self.folder / change.delete
                if place.is_dir() and not place.is_symlink():
                    shutil.rmtree(place)
                else:
                    place.unlink()
            case Rename():
                (self.folder / change.to).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / change.rename).replace(self.folder / change.to)
            case Touch():
                state = (self.folder / change.touch).stat()
                os.utime(self.folder / change.touch, ns=(state.st_atime_ns, state.st_mtime_ns + _LATER_NS))

    def _write(self, change: Write) -> None:
        place = self.folder / change.write
        before = place.stat() if change.keep_time else None
        self.put(change.write, change.file)
        if before is not None:
            os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))

    def found(self, path: str, wanted: File | None) -> tuple[str, str]:
        """Return what must be at `path` and what is there, each as text that can be compared and shown."""
        return self._shown(wanted), self._there(path, with_mode=getattr(wanted, "mode", None) is not None)

    def _shown(self, wanted: File | None) -> str:
        match wanted:
            case None:
                return "nothing"
            case Folder():
                return "a folder"
            case Link():
                return f"a link to {expanded(wanted.link, self.root)}"
            case _:
                mode = wanted.mode if isinstance(wanted, TextFile | BytesFile) else None
                return _file(self.data(wanted), "" if mode is None else f"{int(mode, 8):o}")

    def _there(self, path: str, *, with_mode: bool) -> str:
        place = self.folder / path
        if place.is_symlink():
            return f"a link to {place.readlink()}"
        if place.is_dir():
            return "a folder"
        if not place.exists():
            return "nothing"
        return _file(place.read_bytes(), f"{place.stat().st_mode & 0o7777:o}" if with_mode else "")


def _file(data: bytes, mode: str) -> str:
    return f"a file{mode and f' of mode {mode}'}: {data!r}"
