"""The doors to effects: all that a tool may touch, handed in as one argument, so that tests hand in another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from nbcontext.exhibit import Exhibit
    from nbcontext.files.root import Root
    from nbcontext.hygiene.table import DedupeTable
    from nbcontext.loop import Context
    from nbcontext.outcome import Outcome
    from nbcontext.plan import PlanItem


class Shelf(Protocol):
    """The session's stored results, for `recall` and for what must not be copied back (decision 29)."""

    def total(self, number: int) -> int | None:
        """Return the lines of result `number`'s stored text; None where the session never gave that number."""

    def lines(self, number: int, offset: int) -> Iterator[str]:
        """Yield the lines of result `number`'s stored text from line `offset` (from 1) on."""

    def stand_in(self, line: str) -> int | None:
        """Return the result to recall where `line` is a stub's sentence or an elided line of this session."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """What code that was run in a namespace gave."""

    text: str
    """Output, result and traceback in the order they came; empty where there was none."""
    interrupted: bool = False
    """Whether the person stopped it."""


class Namespace(Protocol):
    """Where `python` runs: the notebook's own namespace."""

    def run(self, code: str, stop: threading.Event) -> Ran:
        """Run `code`; whatever it raises, an interrupt too, is told in the answer and raised no further."""


class Subagents(Protocol):
    """The way to a subagent: a session of its own that is asked one thing (`task`)."""

    def tools(self) -> tuple[str, ...]:
        """Return the names of the tools that one can have, in their order."""

    def ask(self, prompt: str, tools: Collection[str]) -> Outcome:
        """Have a new subagent with these tools do what `prompt` says; return its final text, or how it failed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """What one call is run in."""

    root: Root
    """The folder that file and search tools never leave."""
    context: Context
    """The texts and numbers of `loop.json`."""
    table: DedupeTable
    """What the model has in front of it: which files were seen, and in which state (decision 12)."""
    shelf: Shelf
    cache_folder: Path
    """A folder of the user's for what can be made again (the search index)."""
    environment: Mapping[str, str]
    """Environment variables for commands, without any provider's key (decision 27)."""
    plan: tuple[PlanItem, ...] = ()
    """The session's plan."""
    ask: Callable[[str], str | None] = lambda _: None
    """Asks the person and returns their words; None where there is no front end to ask in."""
    namespace: Namespace | None = None
    """None where there is no notebook: `python` answers that it cannot be used."""
    display: Callable[[Exhibit], None] | None = None
    """Shows the person something; None where there is no front end that can."""
    subagents: Subagents | None = None
    """None: this is a subagent itself."""
    sees_images: Callable[[], bool] = lambda: False
    """Tells whether the model is shown the images of a result."""
    tools: Collection[str] = ()
    """Names of the session's tools."""
    stop: threading.Event = field(default_factory=threading.Event)
    """Set when the person interrupts; a long tool looks at it and ends."""
