"""How a session comes to be: made new or found in the store, and which one of this process is open."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from nbcontext import assets, keys, permission, personality, prompts
from nbcontext.engine import Surface, now
from nbcontext.errors import SessionError, UsageError
from nbcontext.events import Notice
from nbcontext.log import Log
from nbcontext.servers import config, consent
from nbcontext.servers.registry import Servers, servers
from nbcontext.settings import Options, Settings
from nbcontext.toolbox import toolbox
from nbcontext.tools.own import OWN

if TYPE_CHECKING:
    from nbcontext.history import Kind
    from nbcontext.loop import Context
    from nbcontext.plan import Mode
    from nbcontext.sender import Model
    from nbcontext.store import SessionRow, Store


_NAME_CHARS = 100
"""Characters of a session's name at most."""


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


def wanted(  # noqa: PLR0913 - one for each option of `%llm new`
    settings: Settings,
    *,
    model: str | None,
    root: str | Path | None,
    kind: Kind | None,
    mode: Mode | None,
    without: Collection[str],
    max_steps: int | None,
    window: int | None,
    mcp: Sequence[str] = (),
) -> Wanted:
    """Return what a new session is to be, with the defaults in the places of None.

    Raises:
        AssetError: a prompt that the session may need is missing or broken.
        UsageError: no model is configured, or a value is wrong.
    """
    prompts.check()
    chosen = model or settings.model_or_environment()
    if not chosen:
        raise UsageError(
            "No model is configured: name one with `--model` (`openai/gpt-…`, `anthropic/claude-…`, "
            "`replay/first-session` needs no key; `local`, a model on your own machine, is not in this release) or set "
            "NBCONTEXT_MODEL."
        )
    folder = Path(root or ".").expanduser().resolve()
    if not folder.is_dir():
        raise UsageError(f"The root {folder} is no folder: name one that there is.")
    kind, mode = kind or settings.kind, mode or settings.mode
    check(kind, ("agent", "chat"), "kind of session")
    check(mode, permission.MODES, "permission mode")
    toolbox(OWN.values(), without)
    config.named(mcp, folder)
    options = Options(
        without=tuple(sorted(without)), max_steps=max_steps or settings.max_steps, window=window, mcp=tuple(mcp)
    )
    return Wanted(model=chosen, root=folder, kind=kind, mode=mode, options=options)


@contextmanager
def connected(options: Options, root: Path, setup: Setup) -> Iterator[Servers]:
    """Give a new session's servers, connected as far as they answer; where the session does not come to be, leave them.

    What became of them is shown to the person.

    Raises:
        UsageError: see `mcp_servers`.
    """
    context = assets.loop().context
    found = mcp_servers(options, root, setup, context)
    try:
        found.start(context.mcp.connect_s)
        found.wait(threading.Event())
        for text in found.take_told():
            setup.surface.show(Notice(text=text))
        yield found
    except BaseException:  # whatever it was, an interrupt too: no process stays behind
        found.close()
        raise


def connecting(options: Options, root: Path, setup: Setup) -> Servers:
    """Return a resumed session's servers, being connected; a project's list that is broken is told, and has none."""
    context = assets.loop().context
    try:
        found = mcp_servers(options, root, setup, context)
    except UsageError as error:
        found = mcp_servers(options, root, setup, context, with_project=False)
        found.told.append(str(error))
    found.start(context.mcp.connect_s)
    return found


def mcp_servers(options: Options, root: Path, setup: Setup, context: Context, *, with_project: bool = True) -> Servers:
    """Return the MCP servers of a session: those that the person named, and of a project's list those they allow.

    Args:
        options: what the session was made with.
        root: its folder, in which the project's list may lie.
        setup: whom to ask about the list's commands: they come with the project, and could do anything.
        context: the rules.
        with_project: whether the project's list is looked at.

    Raises:
        UsageError: the list is broken.
    """
    own = config.named(options.mcp, root)
    file = root / context.mcp.file
    found, left_out = config.of_project(file, root) if with_project else ((), ())
    listed = [each for each in found if each.name not in {other.name for other in own}]
    run, told = consent.allowed(listed, file, setup.settings.home_folder(), setup.surface.ask)
    return servers(
        (*own, *run),
        context,
        environment=lambda: keys.without_keys(os.environ),
        folder=setup.settings.cache_folder() / "mcp",
        told=(*left_out, *told),
    )


def store_of(setup: Setup) -> Store:
    """Return the store; that it is a new one beside one that is damaged is shown to the person, once.

    Raises:
        StoreError: it cannot be used.
    """
    store = setup.settings.open_store()
    if told := store.take_told():
        setup.surface.show(Notice(text=told))
    return store


def read(store: Store, row: SessionRow, setup: Setup, *, read_only: bool) -> Log:
    """Return a stored session's log.

    Raises:
        AssetError: a prompt that the session may need is missing or broken.
        StoreError: the log is damaged.
        UsageError: the session's personality is gone.
    """
    if not read_only:
        prompts.check()
    log = Log(store, row.id, "chat" if row.kind == "chat" else "agent", read_only=read_only)
    if not read_only:
        personality.text(log.history.personality, setup.settings.home_folder())
    return log


def add(store: Store, name: str | None, made: Wanted, *, replace: bool) -> SessionRow:
    """Add a session to the store; this process holds it.

    Args:
        store: where to.
        name: its name; None: the next free `session-N`.
        made: what it is.
        replace: whether a session that has the name is renamed to make room.

    Raises:
        SessionError: the name is taken.
        UsageError: it cannot be a name.
    """
    taken = {row.name: row for row in store.sessions()}
    if name is not None and (not name.isprintable() or not 1 <= len(name) <= _NAME_CHARS):
        raise UsageError(f"A session's name has 1 to {_NAME_CHARS} printable characters; {name!r} has not.")
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
        own = (row for row in stored if Options.loads(row.options).only is None)  # a subagent's is no place to go on
        last = next(own, None)
        if last is None:
            raise SessionError("There is no stored session yet: start one with `%llm new`.")
        name = last.name
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
