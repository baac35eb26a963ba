"""What drives a session's turns: log, tools, model and world put together for one turn at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from nbcontext import assets, instructions, keys, personality, prefix, pump
from nbcontext.compactor import Compactor
from nbcontext.entry import PrefixMade, Told
from nbcontext.notes import Standing
from nbcontext.outgoing import Outgoing, Shape
from nbcontext.runner import Runner
from nbcontext.sender import Model, Sender, Sent
from nbcontext.turn import TurnDriver
from nbcontext.world import Namespace, World

if TYPE_CHECKING:
    from nbcontext.events import Event
    from nbcontext.files.root import Root
    from nbcontext.log import Log
    from nbcontext.loop import Context
    from nbcontext.request import Request
    from nbcontext.shelf import StoredResults
    from nbcontext.tools.tool import Tool

T = TypeVar("T")


def now() -> datetime:
    """Return the person's local time, with its offset."""
    return datetime.now().astimezone()


@dataclass(frozen=True, kw_only=True, slots=True)
class Surface:
    """Where a session meets its person: how events are shown, questions are asked, and where code runs."""

    show: Callable[[Event], None] = lambda _: None
    ask: Callable[[str], str | None] = lambda _: None
    """Asks the person and returns their words; None where there is no front end to ask in."""
    namespace: Namespace | None = None
    """None: there is no notebook, so `python` cannot be used."""


@dataclass(kw_only=True, slots=True)
class Engine:
    """Drives the turns of one session."""

    log: Log
    context: Context
    root: Root
    shelf: StoredResults
    home: Path
    """The person's folder: memory file, personalities."""
    cache_folder: Path
    cache_key: str
    tools: Mapping[str, Tool]
    """By name, in the order they are offered; another mapping from the next epoch on."""
    surface: Surface
    clock: Callable[[], datetime]
    window: int | None
    """Tokens of the model's window where the person named them."""
    given_client: Model | None = None
    """What requests are sent through; None: litellm, imported when the first is sent."""
    _sender: Sender | None = field(default=None)

    @property
    def client(self) -> Model:
        """What requests are sent through."""
        client = self.given_client
        if client is None:
            from nbcontext import recordings
            from nbcontext.model.replay import register_replay
            from nbcontext.model.transport import LiteLLM

            register_replay(recordings.lookup(self.log.store))
            client = self.given_client = LiteLLM(assets.loop())
        return client

    def work(self, job: Callable[[TurnDriver], T]) -> T:
        """Run `job` with a driver in a worker's thread, and show what happens on this one."""
        return pump.run(lambda worker: job(self._driver(worker)), self.surface.show)

    def request(self, number: int) -> Request | None:
        """Return exactly what request `number` sent, made again from the log; None where there was none."""
        row = self.log.store.request(self.log.session, number)
        if row is None:
            return None
        outgoing = Outgoing(context=self.context, provider=row["provider"], cache_key=self.cache_key)
        shape = Shape.loads(row["shape"]) if row["shape"] else None
        return outgoing.request(self.log.at(row["entry"]), shape)

    def make_prefix(self, model: str, api_base: str | None, cause: prefix.Cause) -> PrefixMade:
        """Return the system prompt and the tool list of the epoch that begins now (§10.1).

        Raises:
            AssetError: a prompt is missing.
            UsageError: an instruction file cannot be read.
        """
        history = self.log.history
        texts = instructions.found(self.root.folder, self.home)
        told = prefix.Telling(
            root=str(self.root.folder),
            mode=history.mode,
            mode_text=mode_text(history.mode),
            personality=history.personality,
            personality_text=personality.text(history.personality, self.home),
            instructions=tuple(Told(name=name, text=text) for name, text in texts.items()),
        )
        return PrefixMade(
            model=model,
            api_base=api_base,
            system=prefix.system_prompt(_prompts(with_context="recall" in self.tools), told),
            tools=prefix.tool_list(self.tools.values()),
            mode=history.mode,
            cause=cause,
            personality=history.personality,
            instructions=told.instructions,
            servers=told.servers,
        )

    @property
    def sender(self) -> Sender:
        """Sends the session's requests."""
        sender = self._sender
        if sender is None:
            sender = self._sender = Sender(log=self.log, model=self.client, clock=self.clock, earlier=self._sent_before)
        return sender

    def _driver(self, worker: pump.Worker) -> TurnDriver:
        made = self.log.history.prefix
        provider = self.client.provider_of(made.model, made.api_base) if made else ""
        outgoing = Outgoing(context=self.context, provider=provider, cache_key=self.cache_key)
        compactor = Compactor(
            log=self.log,
            context=self.context,
            sender=self.sender,
            outgoing=outgoing,
            worker=worker,
            template=assets.read("prompts", "tasks", "compact.md"),
            window=self._window,
            prefix=self._prefix_after_summary,
        )
        runner = Runner(
            tools=self.tools,
            context=self.context,
            ask=self.surface.ask,
            worker=worker,
            unavailable=self.unavailable,
        )
        return TurnDriver(
            log=self.log,
            context=self.context,
            sender=self.sender,
            outgoing=outgoing,
            compactor=compactor,
            runner=runner,
            worker=worker,
            world=lambda: self._world(worker),
            secrets=keys.secrets(os.environ),
            standing=self._standing,
        )

    def unavailable(self, tool: Tool) -> str | None:
        """Return what a call of `tool` is answered while its condition is not met; None: it is met (§10.4)."""
        match tool.requires:
            case None:
                return None
            case "plan":
                return None if self.log.history.mode == "plan" else self.context.unavailable.plan.format(tool=tool.name)
            case condition:
                return None if condition() else self.context.unavailable.own.format(tool=tool.name)

    def _world(self, worker: pump.Worker) -> World:
        history = self.log.history
        return World(
            root=self.root,
            context=self.context,
            table=history.table,
            shelf=self.shelf,
            cache_folder=self.cache_folder,
            environment=keys.without_keys(os.environ),
            plan=history.plan,
            ask=self.surface.ask,
            namespace=self.surface.namespace,
            stop=worker.stop,
        )

    def _standing(self) -> Standing:
        """Return how things stand now, for the notes of the next message."""
        history = self.log.history
        return Standing(
            today=self.clock().date(),
            mode_text=mode_text(history.mode),
            personality_text=personality.text(history.personality, self.home),
            instructions=instructions.found(self.root.folder, self.home),
        )

    def _window(self) -> int | None:
        made = self.log.history.prefix
        if self.window is not None or made is None:
            return self.window
        return self.client.window(made.model, made.api_base)

    def _prefix_after_summary(self) -> PrefixMade:
        made = self.log.history.prefix
        assert made is not None  # noqa: S101 - a session that is summarised was started
        return self.make_prefix(made.model, made.api_base, "compaction")

    def _sent_before(self) -> Sent | None:
        """Return the session's last request as it is stored; None: there was none."""
        number = self.log.store.last_request(self.log.session)
        row, made = self.log.store.request(self.log.session, number), self.request(number)
        if row is None or made is None:
            return None
        return Sent(
            request=made,
            at=datetime.fromisoformat(row["sent_at"]),
            purpose=row["purpose"],
            prompt_tokens=row["prompt_tokens"],
            completion_tokens=row["completion_tokens"],
        )


def mode_text(mode: str) -> str:
    """Return the text of a permission mode's prompt."""
    return assets.read("prompts", "modes", f"{mode}.md")


def _prompts(*, with_context: bool) -> prefix.Prompts:
    """Return the files that a system prompt is made from; §9's block only where there is `recall`."""
    return prefix.Prompts(
        system=assets.read("prompts", "system.md"),
        context=assets.read("prompts", "blocks", "context.md") if with_context else "",
        personality=assets.read("prompts", "blocks", "personality.md"),
        instructions=assets.read("prompts", "blocks", "instructions.md"),
        server=assets.read("prompts", "blocks", "server.md"),
    )
