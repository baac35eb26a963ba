"""A tool result as it stands in the session: what the model is sent, and the facts about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nbcontext.outcome import Seen

Kind = Literal[
    "full",
    "capped",
    "stub",
    "recall",
    "diff",
    "created",
    "moved",
    "deleted",
    "unchanged",
    "error",
    "refused",
    "unavailable",
    "interrupted",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """What one step of the pipeline did to one result; a step that did nothing reports nothing."""

    step: str
    kind: str
    """The kind that the step gave the result."""
    lines_kept: int
    lines_elided: int
    chars_kept: int
    """Code points, `\\r\\n` as one."""
    chars_elided: int
    stands_for: int | None = None
    """Number of the result that a stub names; None: it is no stub."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """The lines of a text that a read or a recall shows."""

    first: int
    last: int
    total: int
    """Lines of the whole text."""
    cut: bool = False
    """Whether a line of it was cut, so that it is no full read (decision 7)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """One tool result of a session."""

    number: int
    """From 1, never reused; `Context.id` shows it (§1)."""
    call_id: str
    """The call's id, as the model's provider gave it or as it was made unique."""
    tool: str
    kind: Kind
    sent: str
    """The text of the tool message, bracket included."""
    stored_sha256: str
    """Full hex SHA-256 of the stored text as UTF-8."""
    stored_lines: int
    stored_chars: int
    """Code points of the stored text."""
    path: str | None = None
    """Of a read or a change of one file: its path as the call gave it."""
    resolved: str | None = None
    span: Span | None = None
    """Of a read or a recall: the lines shown."""
    sha256: str | None = None
    """Of a read or a change of one file: full hex SHA-256 of its bytes."""
    stands_for: int | None = None
    """Of a stub: the number of the result it names."""
    same_key: str | None = None
    """Of a call compared by result (§6): tool and arguments, canonical; None: never compared."""
    seen: tuple[Seen, ...] = ()
    """The states of files that this result tells the model."""
    images: tuple[str, ...] = ()
    """Data URLs of images that the tool message carries after its text, where the provider takes them there."""

    @property
    def is_full_read(self) -> bool:
        """Whether a stub may stand for this result's lines (§2, decision 8)."""
        return self.kind == "full" and self.span is not None and not self.span.cut


@dataclass(frozen=True, kw_only=True, slots=True)
class Insertion:
    """A result and the full text to store with it (§1: before any cap, and for a stub the text it stands for)."""

    result: Result
    stored: str
    reports: tuple[Report, ...] = ()
    """What each step of the pipeline did, in order."""
