"""Subagents: a session of its own for one prompt, driven in the thread of the call that asked for it (`task`)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nbcontext.entry import ModeSet
from nbcontext.errors import NbcontextError
from nbcontext.log import Log
from nbcontext.model.failures import Stopped
from nbcontext.offer import Offer
from nbcontext.outcome import Failure, Outcome, Text
from nbcontext.pump import Inner
from nbcontext.shelf import StoredResults

if TYPE_CHECKING:
    from nbcontext.engine import Engine
    from nbcontext.pump import Worker
    from nbcontext.store import SessionRow
    from nbcontext.turn import TurnDriver

_NOT_FOR_ONE = ("task", "plan_write", "plan_update", "plan_submit")
"""A subagent has none of its own, and the plan is the session's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Door:
    """The way from one call to subagents."""

    engine: Engine
    """Drives the session that asks."""
    worker: Worker

    def tools(self) -> tuple[str, ...]:
        """Return the names of the tools that one can have, in their order."""
        return tuple(name for name in self.engine.tools if name not in _NOT_FOR_ONE)

    def ask(self, prompt: str, tools: Collection[str]) -> Outcome:
        """Have a new subagent with these tools do what `prompt` says; return its final text, or how it failed."""
        row = self._add(tuple(name for name in self.tools() if name in tools))
        errors, context = self.engine.context.errors.tasks, self.engine.context
        steps = self.engine.options.max_steps
        try:
            ending, text = self._drive(row, prompt)
        except Stopped:
            ending, text = "interrupted", ""
        except NbcontextError as error:
            return Failure(text=errors.failed.format(name=row.name, error=error))
        finally:
            self.engine.log.store.release(row.id)
        if ending == "interrupted":
            return Failure(text=context.errors.calls.interrupted, kind="interrupted", partial=text)
        if ending == "max_steps":
            return Failure(text=errors.steps.format(name=row.name, steps=steps, text=text or context.no_text))
        return Text(text=text or context.no_text)

    def _drive(self, row: SessionRow, prompt: str) -> tuple[str, str]:
        """Return how the subagent's turn ended, and its last text."""
        child = self._engine(row)
        made = self.engine.log.history.prefix
        assert made is not None  # noqa: S101 - a session whose model asks for a task was started
        child.log.write(ModeSet(mode=self.engine.log.history.mode))
        child.log.write(child.make_prefix(made.model, made.api_base, "start"))
        driver: TurnDriver = child.driver(Inner(self.worker))
        driver.begin(prompt)
        ending = driver.drive(self.engine.options.max_steps)
        texts = [message.text for message in child.log.history.turns[-1].messages if message.role == "assistant"]
        return ending, next((text for text in reversed(texts) if text), "")

    def _engine(self, row: SessionRow) -> Engine:
        parent = self.engine
        options = parent.options.loads(row.options)
        log = Log(parent.log.store, row.id, "agent")
        return replace(
            parent,
            log=log,
            shelf=StoredResults(store=log.store, session=row.id, context=parent.context),
            cache_key=f"nbcontext-{row.id}-{row.made_at}",
            options=options,
            offer=Offer(context=parent.context, kind="agent", options=options, servers=parent.offer.servers),
            surface=replace(parent.surface, ask=self._asker(row.name)),
            _sender=None,
        )

    def _asker(self, name: str) -> Callable[[str], str | None]:
        form, ask = self.engine.context.tasks.question, self.engine.surface.ask
        return lambda question: ask(form.format(name=name, question=question))

    def _add(self, only: tuple[str, ...]) -> SessionRow:
        """Add the subagent's session to the store, under the next free name."""
        parent, store = self.engine, self.engine.log.store
        rows = {row.id: row for row in store.sessions()}
        own, taken = rows[parent.log.session], {row.name for row in rows.values()}
        options = replace(parent.options, only=only, without=())
        names = (
            parent.context.tasks.name.format(session=own.name, number=number) for number in range(1, len(rows) + 2)
        )
        name = next(name for name in names if name not in taken)
        return store.add_session(name=name, kind="agent", root=own.root, options=options.dumps())
