"""How a session comes to be: made new or found in the store, and which one of this process is open."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbcontext import permission
from nbcontext.engine import Surface, now
from nbcontext.errors import SessionError, UsageError
from nbcontext.settings import Settings
from nbcontext.toolbox import toolbox
from nbcontext.tools.own import OWN

if TYPE_CHECKING:
    from nbcontext.entry import Mode
    from nbcontext.history import Kind
    from nbcontext.store import SessionRow, Store
    from nbcontext.sender import Model


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """What a session was made with; it stays."""

    without: tuple[str, ...] = ()
    """Tools that it does not have."""
    max_steps: int = 100
    """Requests of one turn at most."""
    window: int | None = None
    """Tokens of the model's window where the person named them."""

    @classmethod
    def loads(cls, text: str) -> Options:
        """Return the options that a row of the store holds."""
        found: dict[str, Any] = json.loads(text)
        return cls(**{**found, "without": tuple(found["without"])})

    def dumps(self) -> str:
        """Return them as JSON."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, kw_only=True, slots=True)
class Setup:
    """What a session is opened in: defaults, the way to models, and its person."""

    settings: Settings = field(default_factory=Settings)
    client: Model | None = None
    """None: litellm."""
    surface: Surface = field(default_factory=Surface)
    clock: Callable[[], datetime] = now
    """The person's local time, with its offset."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What a new session is to be, checked."""

    model: str
    root: Path
    kind: Kind
    mode: Mode
    options: Options


def wanted(
    settings: Settings,
    *,
    model: str | None,
    root: str | Path | None,
    kind: Kind | None,
    mode: Mode | None,
    without: Collection[str],
    max_steps: int | None,
    window: int | None,
) -> Wanted:
    """Return what a new session is to be, with the defaults in the places of None.

    Raises:
        UsageError: no model is configured, or a value is wrong.
    """
    chosen = model or settings.model_or_environment()
    if not chosen:
        raise UsageError(
            "No model is configured: name one with `--model` (`openai/gpt-…`, `anthropic/claude-…`, "
            "`replay/first-session` needs no key) or set NBCONTEXT_MODEL."
        )
    folder = Path(root or ".").expanduser().resolve()
    if not folder.is_dir():
        raise UsageError(f"The root {folder} is no folder: name one that there is.")
    kind, mode = kind or settings.kind, mode or settings.mode
    check(kind, ("agent", "chat"), "kind of session")
    check(mode, permission.MODES, "permission mode")
    toolbox(OWN.values(), without)
    options = Options(without=tuple(sorted(without)), max_steps=max_steps or settings.max_steps, window=window)
    return Wanted(model=chosen, root=folder, kind=kind, mode=mode, options=options)


def add(store: Store, name: str | None, made: Wanted, *, replace: bool) -> SessionRow:
    """Add a session to the store; this process holds it.

    Args:
        store: where to.
        name: its name; None: the next free `session-N`.
        made: what it is.
        replace: whether a session that has the name is renamed to make room.

    Raises:
        SessionError: the name is taken.
    """
    taken = {row.name: row for row in store.sessions()}
    if name is None:
        name = _free("session", taken, start=len(taken) + 1)
    elif replace and name in taken:
        store.rename(taken[name].id, _free(name, taken, start=1))
    return store.add_session(name=name, kind=made.kind, root=str(made.root), options=made.options.dumps())


def find(store: Store, name: str | None, *, read_only: bool, take: bool) -> SessionRow:
    """Return a stored session, the last used without a name; unless read-only, this process holds it.

    Raises:
        SessionError: there is none, or another process holds it.
    """
    if name is None:
        stored = store.sessions()
        if not stored:
            raise SessionError("There is no stored session yet: start one with `%llm new`.")
        name = stored[0].name
    row = store.session(name)
    other = None if read_only else store.hold(row.id, take=take)
    if other is not None:
        raise SessionError(
            f"The session {name!r} is held by {other.shown}. Open it with `%llm resume {name} --read-only`, "
            f"or take it over with `%llm resume {name} --take`."
        )
    return row


def check(value: str, known: Collection[str], what: str) -> None:
    """Raise a UsageError where `value` is not one of `known`."""
    if value not in known:
        raise UsageError(f"{value!r} is no {what}; there are {', '.join(known)}.")


def _free(stem: str, taken: Collection[str], *, start: int) -> str:
    while f"{stem}-{start}" in taken:
        start += 1
    return f"{stem}-{start}"
