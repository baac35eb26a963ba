"""One open folder, reached from a top folder without following a single link.

Where the system has them, folders are held as descriptors, each opened relative to the one above with `O_NOFOLLOW`, and
every operation is relative to such a descriptor: a link put in place between a check and a use is an error and never a
way out. Where it has none (Windows), whole paths are used, and the path is checked again right before each use.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

_BENEATH = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_KEEP_LINKS = os.link in os.supports_follow_symlinks

Made = Callable[[tuple[str, ...]], None]
"""Told of each folder right before it is made, by its names from the top folder down."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Folder:
    """An open folder; entries are plain names in it. Every method raises `OSError` as the system does."""

    path: str
    fd: int | None
    """Descriptor that operations are relative to; None where the system has no such operations."""

    def open(self, entry: str, flags: int, mode: int = 0o666) -> int:
        """Return a descriptor of `entry`, which is no link."""
        return os.open(self._at(entry), flags | _NO_LINKS, mode, dir_fd=self.fd)

    def stat(self, entry: str) -> os.stat_result:
        """Return the state of `entry` itself, be it a link."""
        return os.stat(self._at(entry), dir_fd=self.fd, follow_symlinks=False)

    def writable(self, entry: str) -> bool:
        """Return whether the permission bits of `entry` let this process write to it."""
        return os.access(self._at(entry), os.W_OK, dir_fd=self.fd)

    def rename(self, entry: str, to: str) -> None:
        """Give `entry` the name `to`, in place of what has it."""
        os.replace(self._at(entry), self._at(to), src_dir_fd=self.fd, dst_dir_fd=self.fd)

    def link(self, entry: str, to: str) -> None:
        """Give `entry` the further name `to`; raises `FileExistsError` where that is taken."""
        os.link(self._at(entry), self._at(to), src_dir_fd=self.fd, dst_dir_fd=self.fd, follow_symlinks=not _KEEP_LINKS)

    def remove(self, entry: str) -> None:
        """Remove the file or link `entry`."""
        os.unlink(self._at(entry), dir_fd=self.fd)

    def remove_folder(self, entry: str) -> None:
        """Remove the empty folder `entry`."""
        os.rmdir(self._at(entry), dir_fd=self.fd)

    def names(self) -> list[str]:
        """Return the names of all entries."""
        return os.listdir(self.path if self.fd is None else self.fd)  # noqa: PTH208 - Path takes no descriptor

    def sync(self) -> None:
        """Ask the system to keep the folder's entries over a power cut, where it can."""
        if self.fd is not None:
            with suppress(OSError):
                os.fsync(self.fd)

    def _at(self, entry: str) -> str:
        return entry if self.fd is not None else os.path.join(self.path, entry)  # noqa: PTH118


@contextmanager
def opened(top: str, names: Sequence[str], make: Made | None = None) -> Iterator[Folder]:
    """Open the folder that `names` lead to from `top`, which has no links in it.

    A missing folder is made where `make` is given. Raises `OSError`: one is missing, closed to us, a link or no folder.
    """
    if not _BENEATH:
        with _whole(top, names, make) as folder:
            yield folder
        return
    fd = os.open(top, _FOLDER | _NO_LINKS)
    try:
        for depth, name in enumerate(names):
            below = _below(fd, name, names[: depth + 1], make)
            os.close(fd)
            fd = below
        yield Folder(path=os.path.join(top, *names), fd=fd)  # noqa: PTH118
    finally:
        os.close(fd)


def _below(fd: int, name: str, names: Sequence[str], make: Made | None) -> int:
    try:
        return os.open(name, _FOLDER | _NO_LINKS, dir_fd=fd)
    except FileNotFoundError:
        if make is None:
            raise
    make(tuple(names))
    with suppress(FileExistsError):  # somebody made it at the same moment
        os.mkdir(name, dir_fd=fd)
    return os.open(name, _FOLDER | _NO_LINKS, dir_fd=fd)


@contextmanager
def _whole(top: str, names: Sequence[str], make: Made | None) -> Iterator[Folder]:
    path = top
    for depth, name in enumerate(names):
        path = os.path.join(path, name)  # noqa: PTH118
        if make is not None and not os.path.lexists(path):
            make(tuple(names[: depth + 1]))
            with suppress(FileExistsError):
                os.mkdir(path)  # noqa: PTH102
    if os.path.normcase(os.path.realpath(path, strict=True)) != os.path.normcase(path):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    yield Folder(path=path, fd=None)
