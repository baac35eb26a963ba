"""What a tool gives: values without identity. The hygiene pipeline gives them an id, a bracket and their final text.

A failure is a value like any other. Paths named `path` are as the call gave them; `resolved` is the absolute path with
links followed, which identifies the file (§1).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from nbcontext.plan import Mode, PlanItem

FailureKind = Literal["error", "refused", "unavailable", "interrupted"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """A file's state that a result tells the model."""

    resolved: str
    """Absolute path, links followed."""
    sha256: str | None
    """Full hex SHA-256 of its bytes; None where the file is gone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileRead:
    """A text file's content, of which the pipeline shows a window."""

    path: str
    resolved: str
    sha256: str
    """Full hex SHA-256 of the file's bytes on disk."""
    text: str
    """The whole decoded text, without its byte order mark."""
    offset: int = 1
    """First line asked for, from 1."""
    limit: int | None = None
    """Lines asked for; None: as many as the window takes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recalled:
    """A stored result's text, of which the pipeline shows a window (§4)."""

    of: int
    """Number of the stored result."""
    total: int
    """Lines of its whole stored text; 0 where that is empty."""
    lines: Iterable[str]
    """Its lines from `offset` on; only as many as are shown are taken."""
    offset: int = 1
    limit: int | None = None
    column: int = 1
    """Character of the first line to begin at, from 1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NotStored:
    """A recall of an id that the session never gave (§4)."""

    asked: str
    """The id as it is shown: normalised where it is one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageRead:
    """An image file that the model is shown."""

    path: str
    resolved: str
    sha256: str
    """Full hex SHA-256 of the file's bytes on disk."""
    text: str
    """Its kind and size."""
    images: tuple[str, ...]
    """The image as a data URL; empty: it is too large to be sent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """Output as text: of a command, a search, a listing, a person's own tool."""

    text: str
    images: tuple[str, ...] = ()
    """Images that came with it, as data URLs; the text has a placeholder for each."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """What became of one file (§5, decisions 14 and 15)."""

    path: str
    resolved: str
    sha256: str | None
    """Full hex SHA-256 of the new bytes; None where the file was deleted."""
    kind: Literal["diff", "created", "moved", "deleted", "unchanged", "endings"]
    hunks: str = ""
    """The diff's hunks without a final line feed; empty where there are none."""
    lines: int = 0
    """Of a created file, its lines."""
    moved_from: str | None = None
    """Of a moved file, its earlier path as the call gave it."""
    moved_from_resolved: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Changes:
    """What a call changed, file by file, in the call's order; never empty."""

    files: tuple[Change, ...]
    note: str = ""
    """What the tool adds after the diff (§5); empty: nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """A call that is not answered with what it asked for (decision 2)."""

    text: str
    kind: FailureKind = "error"
    partial: str = ""
    """Output there was before an interrupt; it stands before `text`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Planned:
    """What came of a call of a plan tool: its answer, and what it changed of the session."""

    text: str
    plan: tuple[PlanItem, ...] | None = None
    """The new plan; None: it stays."""
    mode: Mode | None = None
    """The permission mode that the person's answer sets; None: it stays."""


Outcome = FileRead | ImageRead | Recalled | NotStored | Text | Changes | Planned | Failure
