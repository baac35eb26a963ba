"""What happened in a session, entry by entry. The log only ever grows; the history is what `history.fold` makes of it.

Undo, rewind and compaction are entries like any other: they change what the history is, never what was stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nbcontext.plan import Mode, PlanItem
from nbcontext.result import Result


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """One block that a user message carries after the person's words (§10.3)."""

    kind: Literal["date", "mode", "personality", "instructions", "plan", "mcp", "own"]
    text: str
    """The text between `<note>` and `</note>`."""
    name: str = ""
    """Of an instruction file or a server: which."""
    value: str | None = ""
    """What the note tells, for the next comparison: the date as YYYY-MM-DD, the mode's or personality's name, the
    file's or server's text (None: the file is gone), the plan as JSON."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """A text that the system prompt tells: an instruction file's or an MCP server's."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PrefixMade:
    """The system prompt and the tool list were made: the exact bytes that every request sends from here on (§10.1)."""

    model: str
    """As litellm names it."""
    api_base: str | None
    """None: the provider's own."""
    system: str
    tools: str
    """The tool list as JSON."""
    mode: Mode
    """The permission mode that the system prompt tells."""
    cause: Literal["start", "model", "compaction"]
    personality: str = ""
    """The personality that it tells; empty: none."""
    instructions: tuple[Told, ...] = ()
    """The instruction and memory files that it tells, in their order."""
    servers: tuple[Told, ...] = ()
    """The MCP servers' instructions that it tells."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnBegan:
    """The person spoke."""

    turn: int
    """From 1, never used again in the session."""
    words: str
    """The person's words."""
    notes: tuple[Note, ...]
    content: str
    """The user message's content as sent: the words, then the notes."""
    at: str
    """ISO 8601 with offset, the person's local time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Replied:
    """The model answered one request."""

    turn: int
    step: int
    """Requests of the turn, from 1."""
    body: str
    """The assistant message in its neutral sent form, as JSON."""
    origin: str
    """The provider that wrote it; only it is sent the message's provider fields back."""
    stopped: bool = False
    """Whether it is cut short, or stands for a reply that never came (decision 24)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Inserted:
    """A call was answered."""

    turn: int
    step: int
    result: Result
    ms: float | None = None
    """Milliseconds the tool ran; None where it was not run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TakenBack:
    """The last turns of the live history are no part of it any more (undo, rewind, retry)."""

    turns: tuple[int, ...]
    """Their numbers, oldest first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModeSet:
    """The person changed the permission mode; the model is told by the next note."""

    mode: Mode


@dataclass(frozen=True, kw_only=True, slots=True)
class PersonalitySet:
    """The person chose a personality; the model is told by the next note."""

    name: str
    """Empty: none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanSet:
    """The plan changed."""

    items: tuple[PlanItem, ...]
    turn: int | None = None
    """The turn in which the model changed it; None: the person did."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Compacted:
    """The history was replaced by a summary (§7)."""

    asked: str
    """The user message that stands for what was asked."""
    content: str
    """The assistant message: the summary, and the table of reads where there is one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NoteKept:
    """The person wrote a note of their own; it waits for the next user message."""

    text: str


Entry = (
    PrefixMade | TurnBegan | Replied | Inserted | TakenBack | ModeSet | PersonalitySet | PlanSet | Compacted | NoteKept
)
