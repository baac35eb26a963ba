"""A session: what a person can do with one. The magics only call what is here; `nbcontext.engine` turns the crank."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nbcontext import assets, frames, opened, opening, permission, personality, takeback
from nbcontext.engine import Engine, Surface
from nbcontext.entry import ModeSet, NoteKept, PersonalitySet, PlanSet, PrefixMade
from nbcontext.errors import SessionError, TurnInterrupted, UsageError
from nbcontext.files.root import Root
from nbcontext.log import Log
from nbcontext.model.failures import Stopped
from nbcontext.offer import Offer
from nbcontext.opening import Setup
from nbcontext.servers.registry import Servers
from nbcontext.settings import Options
from nbcontext.shelf import StoredResults

if TYPE_CHECKING:
    import pandas as pd

    from nbcontext.entry import Entry, TakenBack
    from nbcontext.history import History, Kind
    from nbcontext.plan import Mode, PlanItem
    from nbcontext.reply import Reply
    from nbcontext.request import Request
    from nbcontext.store import SessionRow
    from nbcontext.tools.tool import Tool
    from nbcontext.turn import TurnDriver


class Session:
    """One session. Make it with `Session.new` or `Session.resume`."""

    def __init__(self, row: SessionRow, log: Log, setup: Setup, servers: Servers) -> None:
        self.name = row.name
        self.row = row
        """What the store knows of it, as it was when the session was opened."""
        self._options = Options.loads(row.options)
        context = assets.loop().context
        self._engine = Engine(
            log=log,
            context=context,
            root=Root(Path(row.root)),
            shelf=StoredResults(store=log.store, session=row.id, context=context),
            home=setup.settings.home_folder(),
            cache_folder=setup.settings.cache_folder(),
            cache_key=f"nbcontext-{row.id}-{row.made_at}",
            options=self._options,
            offer=Offer(context=context, kind=log.history.kind, options=self._options, servers=servers),
            surface=setup.surface,
            clock=setup.clock,
            is_strict=setup.settings.is_strict,
            given_client=setup.client,
        )

    @classmethod
    def new(  # noqa: PLR0913 - one argument for each option of `%llm new`
        cls,
        name: str | None = None,
        *,
        model: str | None = None,
        api_base: str | None = None,
        root: str | Path | None = None,
        kind: Kind | None = None,
        mode: Mode | None = None,
        without: Collection[str] = (),
        max_steps: int | None = None,
        window: int | None = None,
        mcp: Sequence[str] = (),
        replace: bool = False,
        setup: Setup | None = None,
    ) -> Session:
        """Start a session and make it the current one.

        Args:
            name: its name; None: the next free `session-N`.
            model: as litellm names it; None: the configured one.
            api_base: the endpoint; None: the provider's own.
            root: the folder that its file tools never leave; None: the working folder.
            kind: `agent` or `chat` (decision 17); None: the configured one.
            mode: the permission mode; None: the configured one.
            without: tools that it shall not have.
            max_steps: requests of one turn at most; None: as configured.
            window: tokens of the model's window, where the model is unknown.
            mcp: MCP servers, each as `NAME=COMMAND` or `NAME=URL`; beside them it has those of the root's `.mcp.json`.
            replace: whether a session of that name is renamed to make room.
            setup: what it is opened in; None: defaults, litellm, and nobody to ask.

        Raises:
            SessionError: the name is taken.
            UsageError: no model is configured, or an argument is wrong.
            StoreError: the store cannot be used.
        """
        setup = setup or Setup()
        made = opening.wanted(
            setup.settings,
            model=model,
            root=root,
            kind=kind,
            mode=mode,
            without=without,
            max_steps=max_steps,
            window=window,
            mcp=mcp,
        )
        store = opening.store_of(setup)
        with opening.connected(made.options, made.root, setup) as servers:
            row = opening.add(store, name, made, replace=replace)
            session = cls(row, Log(store, row.id, made.kind), setup, servers)
            session.log.write(ModeSet(mode=made.mode))
            session.log.write(session._engine.make_prefix(made.model, api_base, "start"))
            return opened.put(session)

    @classmethod
    def resume(
        cls, name: str | None = None, *, read_only: bool = False, take: bool = False, setup: Setup | None = None
    ) -> Session:
        """Open a stored session, the last used without a name, and make it the current one.

        Args:
            name: the session's name.
            read_only: whether only to look.
            take: whether to take it over from a process that holds it.
            setup: what it is opened in.

        Raises:
            SessionError: there is none, or another process holds it.
            StoreError: the store cannot be used, or is damaged.
            AssetError: a prompt that it may need is missing or broken.
        """
        setup = setup or Setup()
        store = opening.store_of(setup)
        row = opening.find(store, name, read_only=read_only, take=take)
        log = opening.read(store, row, setup, read_only=read_only)
        servers = Servers() if read_only else opening.connecting(Options.loads(row.options), Path(row.root), setup)
        session = cls(row, log, setup, servers)
        if not read_only and log.history.turn and log.history.turn.open_calls:
            session._engine.work(lambda driver: driver.answer_open_calls())
        return opened.put(session)

    def ask(self, words: str, *, max_steps: int | None = None) -> Reply:
        """Send a message and return the answer, when the model asks for nothing more.

        Args:
            words: the message.
            max_steps: requests at most; None: the session's own limit.

        Raises:
            UsageError: the message is empty.
            ModelError: a request failed; what had arrived is kept.
            TurnInterrupted: the person stopped it; what had arrived is kept.
        """
        if not words.strip():
            raise UsageError("The message is empty: write what you want to say.")
        return self._engine.turn(lambda driver: driver.begin(words), max_steps)

    def go_on(self, *, max_steps: int | None = None) -> Reply:
        """Go on with the last turn after `max_steps`, an interrupt or a failure, without new words.

        Raises:
            SessionError: the last answer is whole.
        """
        turn = self.history.turn
        if turn is None or not turn.is_stopped:
            raise SessionError("There is nothing to go on with: the last answer is whole. Write a new message.")
        words = self._engine.context.go_on if turn.is_answered else None
        return self._engine.turn(lambda driver: driver.begin(words) if words else driver.answer_open_calls(), max_steps)

    def retry(self, *, max_steps: int | None = None) -> Reply:
        """Take the last turn back and ask it again.

        Raises:
            SessionError: there is no turn.
        """
        turns = self.history.all_turns
        if not turns:
            raise SessionError("There is no turn to ask again.")
        self.undo()
        return self.ask(turns[-1].words, max_steps=max_steps)

    def undo(self, turns: int = 1) -> tuple[int, ...]:
        """Take the last turns back, with their reads and results; return their numbers.

        Raises:
            SessionError: there are not so many.
        """
        return self._take_back(takeback.last(self.history, turns))

    def rewind(self, turn: int) -> tuple[int, ...]:
        """Take back all turns after `turn`; return their numbers.

        Raises:
            SessionError: that turn is not live, or is the last.
        """
        return self._take_back(takeback.after(self.history, turn))

    def note(self, text: str) -> None:
        """Keep a note that goes with the next message."""
        if not text.strip():
            raise UsageError("The note is empty: write what the model shall be told.")
        self._write(NoteKept(text=text))

    def compact(self, guidance: str = "") -> None:
        """Replace the history by a summary that the model makes (§7); a failure changes nothing.

        Args:
            guidance: what the summary shall mind.

        Raises:
            ModelError: there is nothing to summarise, the request failed, or the reply is no summary.
            TurnInterrupted: the person stopped it.
        """

        def job(driver: TurnDriver) -> None:
            driver.answer_open_calls()
            driver.compactor.compact(guidance)

        try:
            with self.log.alone():
                self._engine.work(job)
        except Stopped:
            raise TurnInterrupted("Stopped. No summary was made; the session is as it was.") from None

    @property
    def history(self) -> History:
        """The live history."""
        return self.log.history

    @property
    def kind(self) -> Kind:
        """`agent` or `chat`."""
        return self.history.kind

    @property
    def root(self) -> Path:
        """The folder that its file tools never leave."""
        return self._engine.root.folder

    @property
    def is_read_only(self) -> bool:
        """Whether it was opened read-only."""
        return self.log.read_only

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Its tools, in the order they are offered."""
        return tuple(self._engine.tools.values())

    def unavailable(self, tool: Tool) -> str | None:
        """Return what a call of one of its tools is answered now; None: it can be used (§10.4)."""
        return self._engine.unavailable(tool)

    @property
    def surface(self) -> Surface:
        """Where it meets its person."""
        return self._engine.surface

    @surface.setter
    def surface(self, surface: Surface) -> None:
        self._engine.surface = surface

    @property
    def mode(self) -> Mode:
        """The permission mode; setting it tells the model with the next message."""
        return self.history.mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        opening.check(mode, permission.MODES, "permission mode")
        if mode != self.history.mode:
            self._write(ModeSet(mode=mode))

    @property
    def personality(self) -> str:
        """The personality, empty for none; setting it tells the model with the next message."""
        return self.history.personality

    @personality.setter
    def personality(self, name: str) -> None:
        personality.text(name, self._engine.home)
        if name != self.history.personality:
            self._write(PersonalitySet(name=name))

    @property
    def plan(self) -> tuple[PlanItem, ...]:
        """The plan; setting it tells the model with the next message."""
        return self.history.plan

    @plan.setter
    def plan(self, items: Sequence[PlanItem]) -> None:
        if tuple(items) != self.history.plan:
            self._write(PlanSet(items=tuple(items)))

    @property
    def model(self) -> str:
        """The model, as litellm names it; setting it moves the session: a new prefix, no note."""
        return self._prefix.model

    @model.setter
    def model(self, model: str) -> None:
        self.move(model)

    def move(self, model: str, api_base: str | None = None) -> None:
        """Move the session to another model: the system prompt and the tool list are made anew (§10.1).

        Args:
            model: as litellm names it.
            api_base: its endpoint; None: the one before where the provider stays, else the provider's own.
        """
        if api_base is None and model.partition("/")[0] == self._prefix.model.partition("/")[0]:
            api_base = self._prefix.api_base
        if model != self._prefix.model or api_base != self._prefix.api_base:
            self._write(self._engine.make_prefix(model, api_base, "model"))

    @property
    def log(self) -> Log:
        """Its log and store, for the views."""
        return self._engine.log

    @property
    def results(self) -> pd.DataFrame:
        """All results of the session, one row each (interface: `s.results`)."""
        store, session = self.log.store, self.row.id
        return frames.results(store.result_rows(session), store.requests(session), self._engine.context)

    @property
    def requests(self) -> pd.DataFrame:
        """All requests of the session, one row each (interface: `s.requests`)."""
        return frames.requests(self.log.store.requests(self.row.id))

    @property
    def breaks(self) -> list[tuple[int, str]]:
        """The requests that did not go on from the one before though they should (§10.5), and where they broke."""
        rows = self.log.store.requests(self.row.id)
        return [(row["request"], row["broken"]) for row in rows if row["broken"]]

    def recall(self, result_id: str) -> str:
        """Return a result's stored text, in full.

        Args:
            result_id: its id, with or without `#`.

        Raises:
            SessionError: the session never gave that id.
        """
        found = self._engine.shelf.text(result_id)
        if found is None:
            raise SessionError(self._engine.shelf.not_stored(result_id))
        return found

    def request(self, number: int) -> Request:
        """Return exactly what request `number` sent, made again from the log.

        Raises:
            SessionError: there was no such request.
        """
        made = self._engine.request(number)
        if made is None:
            raise SessionError(f"There is no request {number} in this session; `%llm requests` lists them.")
        return made

    def export(self, file: str | Path) -> int:
        """Write the whole session as JSON Lines; return the lines written (see `nbcontext.store.transfer`)."""
        from nbcontext.store import transfer

        return transfer.export(self.log.store, self.row, Path(file))

    def let_go(self) -> None:
        """Close its MCP servers; one that it calls again is connected again."""
        self._engine.offer.servers.close()

    def close(self) -> None:
        """Let go of the session, so that another process may open it, and of its MCP servers."""
        self.let_go()
        if not self.is_read_only:
            self.log.store.release(self.row.id)

    @property
    def _prefix(self) -> PrefixMade:
        made = self.history.prefix
        if made is None:
            raise SessionError("The session was never started: make a new one.")
        return made

    def _write(self, entry: Entry) -> None:
        with self.log.alone():
            self.log.write(entry)

    def _take_back(self, taken: TakenBack) -> tuple[int, ...]:
        model, api_base = self._prefix.model, self._prefix.api_base
        with self.log.alone():
            self.log.write(taken)
            if (self._prefix.model, self._prefix.api_base) != (model, api_base):
                # The turns before a summary had another model's prefix: the session stays with the model it has.
                self.log.write(self._engine.make_prefix(model, api_base, "model"))
        return taken.turns
