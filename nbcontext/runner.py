"""From a call to an outcome: whatever the model asked for is answered, nothing is ever raised (decision 2)."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from nbcontext import consent, permission
from nbcontext.call import Call, Json, same_key
from nbcontext.errors import ToolError
from nbcontext.hygiene.clean import shown_path
from nbcontext.outcome import Failure, Outcome
from nbcontext.permission import Verdict
from nbcontext.pump import MainInterrupted
from nbcontext.tools.tool import Arguments, Effect, Requirement, Tool

if TYPE_CHECKING:
    from nbcontext.loop import Context
    from nbcontext.plan import Mode
    from nbcontext.pump import Worker
    from nbcontext.world import World

_QUOTED_CHARS = 200
"""Characters of broken arguments that the answer quotes."""
_SIDE_BY_SIDE = 4

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """What running one call gave."""

    outcome: Outcome
    same_key: str | None
    """What the call is compared by (§6); None: it is not compared by result."""
    ms: float | None
    """Milliseconds the tool ran; None: it did not run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Runner:
    """Runs the calls of a session."""

    offered: Callable[[], Mapping[str, Tool]]
    """Gives the tools that the session offers now, by name, in their order."""
    context: Context
    ask: Callable[[str], str | None]
    """Asks the person on the main thread and returns their words; None where there is no front end to ask in."""
    worker: Worker
    unavailable: Callable[[Tool], str | None]
    """The text that a call is answered with while its tool's condition is not met; None: it is met (§10.4)."""

    def side_by_side(self, calls: Sequence[Call]) -> int:
        """Return how many of the first calls only read and may run at once; at least 1."""
        count, tools = 0, self.offered()
        for call in calls:
            tool = tools.get(call.name)
            if tool is None or tool.effect is not Effect.READ or tool.on_main:
                break
            count += 1
        return max(count, 1)

    def run_all(self, calls: Sequence[Call], mode: Mode, world: World) -> list[Answered]:
        """Return what each of `calls` gave, in their order; they run side by side."""
        if len(calls) == 1:
            return [self.run(calls[0], mode, world)]
        with ThreadPoolExecutor(min(_SIDE_BY_SIDE, len(calls)), thread_name_prefix="nbcontext-tool") as pool:
            return list(pool.map(lambda call: self.run(call, mode, world), calls))

    def run(self, call: Call, mode: Mode, world: World) -> Answered:
        """Return what one call gave."""
        if self.worker.stop.is_set():
            return _unrun(Failure(text=self.context.errors.calls.interrupted, kind="interrupted"))
        tools = self.offered()
        tool = tools.get(call.name)
        if tool is None:
            known = ", ".join(tools)
            return _unrun(Failure(text=self.context.errors.calls.unknown_tool.format(tool=call.name, tools=known)))
        raw = call.parsed()
        if raw is None:
            quoted = json.dumps(call.arguments[:_QUOTED_CHARS], ensure_ascii=False)
            return _unrun(
                Failure(text=self.context.errors.calls.broken_arguments.format(tool=tool.name, arguments=quoted))
            )
        try:
            arguments = tool.arguments.model_validate(raw)
        except ValidationError as error:
            return _unrun(Failure(text=self._invalid(tool, error, _named(tool, raw, world))))
        named = _named(tool, raw, world)
        barred = self._guarded(tool, lambda: self._barred(tool, arguments, raw, mode, named))
        if barred is not None:
            return _unrun(barred)
        compared = same_key(tool.name, raw) if tool.name in self.context.dedupe.by_result else None
        started = time.monotonic()
        outcome = self._guarded(tool, lambda: self._outcome(tool, arguments, world))
        return Answered(outcome=outcome, same_key=compared, ms=round((time.monotonic() - started) * 1000, 1))

    def _invalid(self, tool: Tool, error: ValidationError, named: str) -> str:
        parts = []
        for found in error.errors():
            where = ".".join(map(str, found["loc"])) or "arguments"
            kind = found["type"]
            said = {"extra_forbidden": "unknown argument", "missing": "missing argument"}.get(kind, found["msg"])
            parts.append(f"{where}: {said}")
        known = ", ".join(tool.arguments.model_fields) or "none"
        return self.context.errors.calls.wrong_arguments.format(tool=named, problems="; ".join(parts), known=known)

    def _barred(
        self, tool: Tool, arguments: Arguments, raw: Mapping[str, Json], mode: Mode, named: str
    ) -> Failure | None:
        """Return why the call is not run, with what it is told by; None where it may."""
        errors = self.context.errors.calls
        verdict = permission.verdict(mode, tool.effect_of(arguments))
        said = self._lacking(tool, meet=verdict is not Verdict.REFUSE)
        if self.worker.stop.is_set():
            return Failure(text=errors.interrupted, kind="interrupted")
        if said is not None:
            return Failure(text=said, kind="unavailable")
        match verdict:
            case Verdict.RUN:
                return None
            case Verdict.REFUSE:
                return Failure(text=errors.mode_refused.format(tool=named, mode=mode), kind="refused")
            case Verdict.ASK:
                return self._asked(tool, raw, mode, named)

    def _lacking(self, tool: Tool, *, meet: bool) -> str | None:
        """Return what a call is told where the tool's condition is not met, and could not be brought about."""
        if tool.on_main and callable(tool.requires):  # a person's own code: it runs where their cells do
            return self.worker.on_main(lambda: self.unavailable(tool))
        said = self.unavailable(tool)
        if said is None or not (meet and isinstance(tool.requires, Requirement)):
            return said
        return None if tool.requires.meet(self.worker.stop) else said

    def _asked(self, tool: Tool, raw: Mapping[str, Json], mode: Mode, named: str) -> Failure | None:
        """Ask the person; return why the call is not run, None where they said yes."""
        errors = self.context.errors.calls
        try:
            words = self.worker.on_main(lambda: self.ask(consent.question(tool.name, raw)))
        except MainInterrupted:
            return Failure(text=errors.interrupted, kind="interrupted")
        if words is None:
            return Failure(text=errors.nobody_to_ask.format(tool=named, mode=mode), kind="refused")
        match consent.meaning(words):
            case "yes":
                return None
            case "no":
                return Failure(text=errors.person_refused.format(tool=named), kind="refused")
            case said:
                return Failure(text=errors.person_said.format(tool=named, words=said), kind="refused")

    def _outcome(self, tool: Tool, arguments: Arguments, world: World) -> Outcome:
        if tool.on_main:
            return self.worker.on_main(lambda: tool.run(arguments, world))
        return tool.run(arguments, world)

    def _guarded(self, tool: Tool, job: Callable[[], T]) -> T | Failure:
        """Return what `job`, a part of running `tool`, gives; whatever it raises is a failure of the call."""
        try:
            return job()
        except ToolError as error:
            return Failure(text=error.text, kind=error.kind)
        except (MainInterrupted, KeyboardInterrupt):
            self.worker.stop.set()
            return Failure(text=self.context.errors.calls.interrupted, kind="interrupted")
        except (Exception, SystemExit) as error:  # noqa: BLE001 - one of two places: a fault of a tool, or of a person's own, is a result
            said = f"{type(error).__name__}: {error}"
            return Failure(text=self.context.errors.calls.tool_failed.format(tool=tool.name, error=said))


def _named(tool: Tool, raw: Mapping[str, Json], world: World) -> str:
    """Return a call as a refusal names it: the tool, and the absolute path where it names one (§1, decision 2)."""
    path = raw.get("path")
    if not isinstance(path, str) or "path" not in tool.arguments.model_fields:
        return tool.name
    absolute = os.path.normpath(world.root.folder / os.path.expanduser(path))  # noqa: PTH111 - `~` may be no user's
    return f"{tool.name} ({shown_path(absolute)})"


def _unrun(outcome: Failure) -> Answered:
    return Answered(outcome=outcome, same_key=None, ms=None)
