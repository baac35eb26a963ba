"""The root: the one folder that a session's file tools read and write in, and never leave.

A path is first located: expanded as a shell does, made absolute, resolved as POSIX `realpath` does, and refused where
it leads outside, through links and for paths that do not exist yet too. What is located is then opened component by
component without following links (`nbcontext.files.folder`), so nothing swapped in between leads outside either. Every
failure of the system becomes a `ToolError` that names the absolute path.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from nbcontext.errors import ToolError
from nbcontext.files.folder import opened
from nbcontext.files.transaction import ChangedError, FileState, commit
from nbcontext.hygiene.clean import shown_path

if TYPE_CHECKING:
    from nbcontext.loop import FileErrors

_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_SUGGESTED_FROM = 20_000
"""Names of a folder that are compared for a suggestion: more would take longer than the answer is worth."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Located:
    """A path of a call, found to lie inside the root."""

    given: str
    """As the call gave it."""
    absolute: str
    """Absolute and without `.` and `..`, links not followed: what messages name."""
    resolved: str
    """Absolute, links followed: what identifies the file (§1)."""

    @property
    def shown(self) -> str:
        """The absolute path as a message shows it, control characters as escapes."""
        return shown_path(self.absolute)

    @property
    def is_link(self) -> bool:
        """Whether the last name of the path is itself a symbolic link."""
        return os.path.islink(self.absolute)  # noqa: PTH114


@dataclass(frozen=True, kw_only=True, slots=True)
class FileChange:
    """What is to become of one file."""

    located: Located
    before: bytes | None
    """The bytes it must still hold; None: it must not exist."""
    after: bytes | None
    """The bytes it shall hold; None: it shall be gone."""
    mode_of: Located | None = None
    """Of a new file: the file whose permission bits it takes (a move); None: the process's own rule (umask)."""


class Root:
    """A folder and all that lies beneath it."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(os.path.realpath(folder))
        """Absolute, links followed."""
        self._top = str(self.folder)

    def locate(self, given: str, errors: FileErrors) -> Located:
        """Return where `given` leads (decision 31: `~` as a shell does, a backslash is no separator).

        Raises:
            ToolError: it leads outside the root (refused), or it is no path that could name anything.
        """
        if not given.strip():
            raise ToolError(errors.empty_path.format(root=shown_path(self._top)))
        if "\0" in given or not _encodable(given):
            raise ToolError(errors.bad_path.format(path=shown_path(given), root=shown_path(self._top)))
        # join, realpath and normpath as functions: Path would drop what tells `link/../x` from `x`.
        joined = os.path.join(self._top, os.path.expanduser(given))  # noqa: PTH111, PTH118
        absolute, resolved = os.path.normpath(joined), os.path.realpath(joined)
        if os.path.realpath(absolute) != resolved:
            absolute = resolved
        located = Located(given=given, absolute=absolute, resolved=resolved)
        if not self._holds(resolved):
            said = errors.outside.format(path=located.shown, root=shown_path(self._top))
            raise ToolError(said, kind="refused")
        try:
            missing = _first_missing(self._top, self._names(located))
        except OSError as error:
            raise self._failure(error, located, errors) from None
        if missing and "\\" in given and os.sep != "\\":
            said = errors.backslash.format(path=located.shown, given=shown_path(given.replace("\\", "/")))
            raise ToolError(said)
        return located

    def read(self, located: Located, errors: FileErrors, most: int | None = None) -> bytes:
        """Return the bytes of a regular file, of at most `most` bytes; anything else is turned down without blocking.

        Raises:
            ToolError: there is no such file, or it cannot be read.
        """
        try:
            with opened(self._top, self._names(located)[:-1]) as folder:
                name = os.path.basename(located.resolved)  # noqa: PTH119
                self._check_regular(folder.stat(name) if self._names(located) else self.folder.stat(), located, errors)
                with os.fdopen(folder.open(name, _READ), "rb") as file:
                    state = os.fstat(file.fileno())
                    self._check_regular(state, located, errors)
                    data = file.read() if most is None else file.read(most + 1 if state.st_size <= most else 0)
                    if most is not None and max(state.st_size, len(data)) > most:
                        size = max(state.st_size, len(data))
                        raise ToolError(errors.too_large.format(path=located.shown, size=size, most=most))
                    return data
        except OSError as error:
            raise self._failure(error, located, errors) from None

    def exists(self, located: Located, errors: FileErrors) -> bool:
        """Return whether anything stands at the resolved path.

        Raises:
            ToolError: that cannot be told.
        """
        try:
            return not _first_missing(self._top, self._names(located))
        except OSError as error:
            raise self._failure(error, located, errors) from None

    def check_file(self, located: Located, errors: FileErrors) -> None:
        """Raise `ToolError` unless a regular file stands at the resolved path; it is not opened."""
        try:
            state = os.lstat(located.resolved)
        except OSError as error:
            raise self._failure(error, located, errors) from None
        self._check_regular(state, located, errors)

    def replace(self, located: Located, data: bytes, errors: FileErrors, *, before: bytes | None) -> None:
        """Write one file whole, or leave it as it is (decision 13); see `apply`."""
        self.apply([FileChange(located=located, before=before, after=data)], errors)

    def apply(self, changes: Sequence[FileChange], errors: FileErrors) -> None:
        """Make all of `changes`, each of another file, or none of them (decision 13).

        Raises:
            ToolError: a file is no longer as `before` says (refused), or the system would not have it.
        """
        by_path = {change.located.resolved: change.located for change in changes}
        states = [
            FileState(
                names=tuple(self._names(change.located)),
                before=change.before,
                after=change.after,
                mode_of=tuple(self._names(change.mode_of)) if change.mode_of else None,
            )
            for change in changes
        ]
        try:
            commit(self._top, states)
        except ChangedError as error:
            located = by_path[os.path.join(self._top, *error.names)]  # noqa: PTH118
            raise ToolError(errors.changed.format(path=located.shown), kind="refused") from None
        except OSError as error:
            at = error.filename if isinstance(error.filename, str) else ""
            located = by_path.get(at) or changes[0].located
            raise self._failure(error, located, errors, writing=True) from None

    def _holds(self, resolved: str) -> bool:
        top, path = os.path.normcase(self._top), os.path.normcase(resolved)
        return path == top or path.startswith(top.rstrip(os.sep) + os.sep)

    def _names(self, located: Located) -> list[str]:
        return [name for name in located.resolved[len(self._top) :].split(os.sep) if name]  # noqa: PTH206

    def _check_regular(self, state: os.stat_result, located: Located, errors: FileErrors) -> None:
        if stat.S_ISDIR(state.st_mode):
            raise ToolError(errors.is_folder.format(path=located.shown))
        if not stat.S_ISREG(state.st_mode):
            kinds = (
                (stat.S_ISFIFO, errors.kind_pipe),
                (stat.S_ISSOCK, errors.kind_socket),
                (stat.S_ISLNK, errors.kind_link),
            )
            kind = next((name for test, name in kinds if test(state.st_mode)), errors.kind_device)
            raise ToolError(errors.not_regular.format(path=located.shown, kind=kind))

    def _failure(self, error: OSError, located: Located, errors: FileErrors, *, writing: bool = False) -> ToolError:
        path, code = located.shown, error.errno or 0
        if code == errno.ENOENT and not writing:
            return ToolError(self._not_found(located, errors))
        denied = errors.not_writable if writing else errors.no_permission
        forms = {
            errno.ELOOP: errors.link_loop,
            errno.ENAMETOOLONG: errors.name_too_long,
            errno.EACCES: denied,
            errno.EPERM: denied,
            errno.EROFS: denied,
            errno.ENOTDIR: errors.not_a_folder,
            errno.EEXIST: errors.not_a_folder,
            errno.EISDIR: errors.is_folder,
        }
        if code in forms:
            return ToolError(forms[code].format(path=path))
        return ToolError(errors.failed.format(path=path, reason=error.strerror or type(error).__name__))

    def _not_found(self, located: Located, errors: FileErrors) -> str:
        """Say that a file is missing, with the names most like it in the deepest folder there is."""
        names = self._names(located)
        depth = next((n for n in range(len(names)) if not os.path.lexists(os.path.join(self._top, *names[: n + 1]))), 0)  # noqa: PTH118
        there = os.path.join(self._top, *names[:depth])  # noqa: PTH118
        wanted = names[depth] if names else ""
        try:
            with opened(self._top, names[:depth]) as folder:
                near = get_close_matches(wanted, folder.names()[:_SUGGESTED_FROM], n=3, cutoff=0.6)
        except OSError:
            near = []
        if near:
            shown = ", ".join(shown_path(os.path.join(there, name)) for name in near)  # noqa: PTH118
            return errors.not_found_similar.format(path=located.shown, names=shown)
        return errors.not_found.format(path=located.shown, folder=shown_path(there))


def _encodable(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def _first_missing(top: str, names: Sequence[str]) -> bool:
    """Return whether one of `names`, each inside the last from `top` on, does not exist.

    Raises:
        OSError: a name is a link (so `realpath` had met a loop), is too long, or lies in what is no folder.
    """
    path = top
    for name in names:
        path = os.path.join(path, name)  # noqa: PTH118
        try:
            state = os.lstat(path)
        except FileNotFoundError:
            return True
        if stat.S_ISLNK(state.st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    return False
