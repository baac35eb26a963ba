"""The record that travels through the pipeline, and what every step may look at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nbcontext import lines
from nbcontext.result import Kind, Report, Span

if TYPE_CHECKING:
    from nbcontext.hygiene.table import DedupeTable
    from nbcontext.loop import Context
    from nbcontext.outcome import Outcome, Seen


@dataclass(frozen=True, kw_only=True, slots=True)
class Surroundings:
    """What a result is inserted into: the rules, and what is in front of the model."""

    context: Context
    table: DedupeTable
    """Which earlier results the request being built carries (§2, decision 10)."""
    secrets: tuple[str, ...] = ()
    """Values of the providers' key variables, which no result may hold (decision 28)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """A result in the making; each step answers with a new one."""

    number: int
    call_id: str
    tool: str
    outcome: Outcome
    same_key: str | None = None
    """Tool and arguments of a call that is compared by result (§6); None: never compared."""
    kind: Kind = "full"
    bracket: str = ""
    inline: bool = False
    """Whether the body's first line stands on the bracket's line (decision 1)."""
    body: str = ""
    stored: str | None = None
    """The stored text where it differs from the body as it ends; None: the body."""
    stored_sha256: str = ""
    """Full hex SHA-256 of the stored text, made once where the step `same` or the end needs it."""
    path: str | None = None
    resolved: str | None = None
    sha256: str | None = None
    span: Span | None = None
    stands_for: int | None = None
    seen: tuple[Seen, ...] = ()
    images: tuple[str, ...] = ()
    reports: tuple[Report, ...] = ()

    @property
    def sent(self) -> str:
        """The result as the model is sent it."""
        if not self.body and self.span is None:  # nothing is shown; of lines shown, a body without text is an empty one
            return self.bracket
        return f"{self.bracket}{' ' if self.inline else chr(10)}{self.body}"

    def reported(
        self, step: str, kept: str, *, lines_kept: int | None = None, lines_elided: int = 0, chars_elided: int = 0
    ) -> Draft:
        """Return the draft with what `step` did on record; `kept` is the text that it kept, `lines_kept` its lines."""
        report = Report(
            step=step,
            kind=self.kind,
            lines_kept=lines.count(kept) if lines_kept is None else lines_kept,
            lines_elided=lines_elided,
            chars_kept=lines.length(kept),
            chars_elided=chars_elided,
            stands_for=self.stands_for,
        )
        return replace(self, reports=(*self.reports, report))
