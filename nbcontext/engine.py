"""What drives a session's turns: log, tools, model and world put together for one turn at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from nbcontext import assets, forge, instructions, keys, personality, prefix, prompts, pump
from nbcontext.compactor import Compactor
from nbcontext.entry import PrefixMade, Told
from nbcontext.errors import TurnInterrupted
from nbcontext.events import Notice
from nbcontext.model.failures import Stopped
from nbcontext.notes import Standing
from nbcontext.offer import Offer
from nbcontext.outgoing import Outgoing, Shape
from nbcontext.reply import Reply
from nbcontext.request import takes_images
from nbcontext.runner import Runner
from nbcontext.sender import Model, Sender, Sent
from nbcontext.settings import Options
from nbcontext.subagent import Door
from nbcontext.tools.tool import Requirement
from nbcontext.turn import TurnDriver
from nbcontext.world import Namespace, World

if TYPE_CHECKING:
    import threading

    from nbcontext.events import Event
    from nbcontext.exhibit import Exhibit
    from nbcontext.files.root import Root
    from nbcontext.log import Log
    from nbcontext.loop import Context
    from nbcontext.request import Request
    from nbcontext.shelf import StoredResults
    from nbcontext.tools.tool import Tool

T = TypeVar("T")

_OFFERED_LATER = "The next list offers it: after a summary (`%llm compact`), or with another model."


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
    display: Callable[[Exhibit], None] | None = None
    """Shows the person something at the model's wish; None: nothing here can."""
    page: Callable[[], bool] = lambda: False
    """Tells whether a page is open that tools may act on."""


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
    options: Options
    """What the session was made with."""
    offer: Offer
    """Its tools."""
    surface: Surface
    clock: Callable[[], datetime]
    is_strict: bool
    """Whether a request that breaks with the one before is an error (§10.5)."""
    given_client: Model | None = None
    """What requests are sent through; None: litellm, imported when the first is sent."""
    _sender: Sender | None = field(default=None)
    _told_new: frozenset[str] = frozenset()
    """Tools that the person was told to be offered later."""

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

        def run(worker: pump.Worker) -> T:
            self._get_ready(worker.stop)
            return job(self.driver(worker))

        return pump.run(run, self.surface.show)

    def _get_ready(self, stop: threading.Event) -> None:
        """Wait until litellm is imported, where requests go through it: seconds, in which the person may stop.

        Raises:
            Stopped: they did.
        """
        from nbcontext.model.library import load
        from nbcontext.model.transport import LiteLLM

        if isinstance(self.client, LiteLLM):
            load(stop)

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools that the prefix offers, by name, in their order."""
        made = self.log.history.prefix
        return self.offer.kept(made.tools) if made else {}

    def turn(self, begin: Callable[[TurnDriver], None], max_steps: int | None) -> Reply:
        """Begin a turn, or go on with one, and drive it to its end.

        Args:
            begin: writes the person's message, or what an open turn lacks.
            max_steps: requests at most; None: the session's own limit.

        Raises:
            ModelError: a request failed; what had arrived is kept.
            TurnInterrupted: the person stopped it; what had arrived is kept.
        """
        before = self.log.store.last_request(self.log.session)
        started = time.monotonic()

        def drive(driver: TurnDriver) -> str:
            begin(driver)
            return driver.drive(max_steps or self.options.max_steps)

        with self.log.alone():
            try:
                ending = self.work(drive)
            except Stopped:
                raise TurnInterrupted("Stopped before the message was sent. Run the cell again.") from None
        if ending == "interrupted":
            raise TurnInterrupted("Stopped. What had arrived is kept; `%llm continue` goes on.")
        rows = self.log.store.requests(self.log.session, after=before)
        return Reply.of(self.log.history.turns[-1], rows, seconds=time.monotonic() - started, ending=ending)

    def request(self, number: int) -> Request | None:
        """Return exactly what request `number` sent, made again from the log; None where there was none."""
        row = self.log.store.request(self.log.session, int(number))  # a table's column gives numbers of pandas' own
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
        tools = self.offer.fresh(lambda: self.client.has_vision(model, api_base))
        told = prefix.Telling(
            root=str(self.root.folder),
            mode=history.mode,
            mode_text=prompts.mode(history.mode),
            personality=history.personality,
            personality_text=personality.text(history.personality, self.home),
            instructions=tuple(Told(name=name, text=text) for name, text in texts.items()),
            servers=self.offer.servers.instructions(),
        )
        return PrefixMade(
            model=model,
            api_base=api_base,
            system=prefix.system_prompt(prompts.system(with_context="recall" in tools), told),
            tools=prefix.tool_list(tools.values()),
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
            sender = self._sender = Sender(
                log=self.log,
                model=self.client,
                clock=self.clock,
                earlier=self._sent_before,
                is_strict=self.is_strict,
            )
        return sender

    def driver(self, worker: pump.Worker) -> TurnDriver:
        """Return what drives turns in `worker`; servers that are being connected are waited for first."""
        self.offer.servers.wait(worker.stop)
        for text in (*self.offer.servers.take_told(), *self._news()):
            worker.emit(Notice(text=text))
        made = self.log.history.prefix
        provider = self.client.provider_of(made.model, made.api_base) if made else ""
        outgoing = Outgoing(context=self.context, provider=provider, cache_key=self.cache_key)
        compactor = Compactor(
            log=self.log,
            context=self.context,
            sender=self.sender,
            outgoing=outgoing,
            worker=worker,
            template=prompts.compact(),
            window=self._window,
            prefix=self._prefix_after_summary,
        )
        runner = Runner(
            offered=lambda: self.tools,
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
                met = True
            case "plan":
                met = self.log.history.mode == "plan"
            case "display":
                met = self.surface.display is not None
            case "page":
                met = self.surface.page()
            case "forge":
                met = forge.is_connected(self.root.folder)
            case Requirement(is_met=is_met):
                met = is_met()
            case condition:
                met = condition()
        return None if met else self.offer.text_of(tool)

    def _news(self) -> list[str]:
        """Return a line to the person on the tools that came since the list was made; each is told once (§10.4)."""
        made = self.log.history.prefix
        if made is None:
            return []
        later = self.offer.later(made.tools)
        new = [name for name in later if name not in self._told_new]
        self._told_new = frozenset(later)
        if not new:
            return []
        names = ", ".join(new)
        return [f"Registered since the session's tool list was made: {names}. {_OFFERED_LATER}"]

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
            display=self.surface.display,
            subagents=Door(engine=self, worker=worker) if self.options.only is None else None,
            sees_images=self._sees_images,
            tools=tuple(self.tools),
            stop=worker.stop,
        )

    def _sees_images(self) -> bool:
        """Return whether the model is shown the images of a result: it sees them, and its provider takes them there."""
        made = self.log.history.prefix
        if made is None or not takes_images(made.model, self.client.provider_of(made.model, made.api_base)):
            return False
        return self.client.has_vision(made.model, made.api_base)

    def _standing(self) -> Standing:
        """Return how things stand now, for the notes of the next message."""
        history = self.log.history
        return Standing(
            today=self.clock().date(),
            mode_text=prompts.mode(history.mode),
            personality_text=personality.text(history.personality, self.home),
            instructions=instructions.found(self.root.folder, self.home),
            servers=self.offer.servers.instructions(),
        )

    def _window(self) -> int | None:
        made = self.log.history.prefix
        if self.options.window is not None or made is None:
            return self.options.window
        return self.client.window(made.model, made.api_base)

    def _prefix_after_summary(self) -> PrefixMade:
        made = self.log.history.prefix
        assert made is not None  # noqa: S101 - a session that is summarised was started
        return self.make_prefix(made.model, made.api_base, "compaction")

    def _sent_before(self) -> Sent | None:
        """Return the last request of a turn as it is stored; None: there was none."""
        number = self.log.store.last_request(self.log.session, purposes=("turn", "step"))
        row, made = self.log.store.request(self.log.session, number), self.request(number)
        if row is None or made is None:
            return None
        return Sent(
            request=made,
            at=datetime.fromisoformat(row["sent_at"]),
            entry=row["entry"],
            prompt_tokens=row["prompt_tokens"],
        )
