"""Changes of several files that happen all or not at all (decision 13).

Every new content is written to a file of its own beside its place and synced; then every file is looked at once more;
only then are the names moved, each with a way back that is taken if a later one fails. One lock for the process keeps
two writers apart, across sessions too.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from nbcontext.errors import NbcontextError
from nbcontext.files.folder import Folder, opened

_LOCK = threading.Lock()
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)


class ChangedError(NbcontextError):
    """A file is not as it was when its change was worked out; nothing was written."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(f"{'/'.join(names)} changed meanwhile; read it again.")
        self.names = names


@dataclass(frozen=True, kw_only=True, slots=True)
class FileState:
    """One file before and after."""

    names: tuple[str, ...]
    """Its path from the top folder down; no name of it is a link."""
    before: bytes | None
    """None: it does not exist."""
    after: bytes | None
    """None: it shall not exist."""
    mode_of: tuple[str, ...] | None = None
    """Of a new file: the file whose permission bits it takes."""


def commit(top: str, states: Sequence[FileState]) -> None:
    """Bring each of `states`, no two of one file, from before to after.

    Raises:
        ChangedError: a file is not as its `before` says.
        OSError: the system refused; its `filename` is the absolute path of the change that failed.
    """
    alone = len(states) == 1  # one rename is atomic by itself
    with _LOCK:
        done: list[tuple[FileState, str]] = []
        with ExitStack() as back:
            temporary = [_prepare(top, state, back) for state in states]
            for state in states:
                _check(top, state)
            for state, name in zip(states, temporary, strict=True):
                if not alone and state.before is not None:
                    done.append((state, _keep(top, state, back)))
                    _check(top, state)  # once more: where case is ignored, two names may be one file, just changed
                _move(top, state, name, back)
            back.pop_all()
        for state, kept in done:
            _remove(top, (*state.names[:-1], kept))
        for names in {state.names[:-1] for state in states}:
            with suppress(OSError), opened(top, names) as folder:
                folder.sync()


def _prepare(top: str, state: FileState, back: ExitStack) -> str | None:
    """Write the new content beside its place; return the name it has there, None where there is no new content."""

    def made(names: tuple[str, ...]) -> None:
        back.callback(_remove_folder, top, names)

    with _naming(top, state), opened(top, state.names[:-1], made if state.after is not None else None) as folder:
        if state.before is not None and not folder.writable(state.names[-1]):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if state.after is None:
            return None
        rights = folder.stat(state.names[-1]) if state.before is not None else None
        if state.mode_of is not None:
            with opened(top, state.mode_of[:-1]) as place:
                rights = place.stat(state.mode_of[-1])
        return _write_new(top, folder, state, state.after, rights, back)
    raise AssertionError  # a suppressing `with` is what mypy fears; neither is one


def _write_new(
    top: str, folder: Folder, state: FileState, data: bytes, rights: os.stat_result | None, back: ExitStack
) -> str:
    name = _temporary_name()
    back.callback(_remove, top, (*state.names[:-1], name))
    with os.fdopen(folder.open(name, _NEW), "wb") as file:
        file.write(data)
        file.flush()
        if rights is not None:
            _give(file.fileno(), rights)
        os.fsync(file.fileno())
    return name


def _give(fd: int, rights: os.stat_result) -> None:
    """Give an open file the owner (where we may) and permission bits of another."""
    if not hasattr(os, "fchmod"):
        return
    mode = stat.S_IMODE(rights.st_mode)
    own = os.fstat(fd)
    if (own.st_uid, own.st_gid) != (rights.st_uid, rights.st_gid):
        try:
            os.fchown(fd, rights.st_uid, rights.st_gid)
        except PermissionError:
            mode &= ~(stat.S_ISUID | stat.S_ISGID)  # these bits lend the owner's rights, and the owner is another now
    os.fchmod(fd, mode)


def _check(top: str, state: FileState) -> None:
    """Raise `ChangedError` unless the file is as `before` says."""
    try:
        with _naming(top, state), opened(top, state.names[:-1]) as folder:
            if state.before is None:
                folder.stat(state.names[-1])
                raise ChangedError(state.names)
            with os.fdopen(folder.open(state.names[-1], _READ), "rb") as file:
                if (
                    not stat.S_ISREG(os.fstat(file.fileno()).st_mode)
                    or file.read(len(state.before) + 1) != state.before
                ):
                    raise ChangedError(state.names)
    except FileNotFoundError:
        if state.before is not None:
            raise ChangedError(state.names) from None


def _keep(top: str, state: FileState, back: ExitStack) -> str:
    """Give the file as it is a second name, and arrange that it comes back by it; return that name."""
    name = _temporary_name()
    with _naming(top, state), opened(top, state.names[:-1]) as folder:
        try:
            folder.link(state.names[-1], name)
        except (OSError, NotImplementedError):  # a file system without hard links: a copy
            name = _write_new(top, folder, state, state.before or b"", folder.stat(state.names[-1]), back)
    back.callback(_bring_back, top, state.names, name)
    return name


def _move(top: str, state: FileState, temporary: str | None, back: ExitStack) -> None:
    name = state.names[-1]
    with _naming(top, state), opened(top, state.names[:-1]) as folder:
        if temporary is None:
            folder.remove(name)
        elif state.before is not None:
            folder.rename(temporary, name)
        else:
            _move_new(folder, state, temporary)
            back.callback(_remove, top, state.names)  # only now: what stood there before us is not ours to remove


def _move_new(folder: Folder, state: FileState, temporary: str) -> None:
    """Give a new file its name, never in place of another's."""
    try:
        folder.link(temporary, state.names[-1])
    except FileExistsError:
        raise ChangedError(state.names) from None
    except (OSError, NotImplementedError):  # a file system without hard links
        with suppress(FileNotFoundError):
            folder.stat(state.names[-1])
            raise ChangedError(state.names) from None
        folder.rename(temporary, state.names[-1])
    else:
        folder.remove(temporary)


def _bring_back(top: str, names: tuple[str, ...], kept: str) -> None:
    with suppress(OSError), opened(top, names[:-1]) as folder:
        folder.rename(kept, names[-1])
    _remove(top, (*names[:-1], kept))  # two names of one file: such a rename does nothing


def _remove(top: str, names: tuple[str, ...]) -> None:
    with suppress(OSError), opened(top, names[:-1]) as folder:
        folder.remove(names[-1])


def _remove_folder(top: str, names: tuple[str, ...]) -> None:
    with suppress(OSError), opened(top, names[:-1]) as folder:  # one that somebody has put a file in stays
        folder.remove_folder(names[-1])


def _temporary_name() -> str:
    return f".{secrets.token_hex(8)}.tmp"


@contextmanager
def _naming(top: str, state: FileState) -> Iterator[None]:
    """Let an `OSError` name the absolute path of the change it belongs to."""
    try:
        yield
    except OSError as error:
        error.filename = os.path.join(top, *state.names)  # noqa: PTH118
        raise
