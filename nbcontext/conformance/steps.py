"""What each kind of step does: one small function a kind, in the table `STEPS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

from nbcontext.conformance import form
from nbcontext.conformance.comparison import Comparison
from nbcontext.conformance.expression import Form
from nbcontext.conformance.texts import expanded
from nbcontext.conformance.tools import Crashed
from nbcontext.errors import ModelError, SessionError, TurnInterrupted
from nbcontext.plan import PlanItem
from nbcontext.reply import Reply


def run(step: form.Step, comparison: Comparison, where: str) -> None:
    """Do one step, and keep the differences that it shows."""
    STEPS[type(step)](step, comparison, where)


def _talk(step: form.Exchanging, comparison: Comparison, where: str, say: Callable[[], Reply | None]) -> None:
    """Play the step's exchanges while `say` runs, then compare."""
    comparison.stage.get_ready(step.exchanges)
    reply = None
    try:
        reply = say()
        ends: str = (reply.stopped if reply else "") or "answered"
    except TurnInterrupted:
        ends = "interrupted"
    except ModelError:
        ends = "failed"
    except Crashed:
        ends = "crashed"
    comparison.compare(step.exchanges, where)
    comparison.differ(step.ends, ends, f"{where}, how it ends")
    if step.answer is not None:
        wanted = expanded(step.answer, comparison.stage.workspace.root)
        comparison.differ(wanted, reply.text if reply else None, f"{where}, the reply's text")


def _ask(step: form.Ask, comparison: Comparison, where: str) -> None:
    stage = comparison.stage
    words = expanded(step.words, stage.workspace.root)
    _talk(step, comparison, where, lambda: stage.session.ask(words))


def _continue(step: form.Continue, comparison: Comparison, where: str) -> None:
    _talk(step, comparison, where, comparison.stage.session.go_on)


def _retry(step: form.Retry, comparison: Comparison, where: str) -> None:
    _talk(step, comparison, where, comparison.stage.session.retry)


def _compact(step: form.Compact, comparison: Comparison, where: str) -> None:
    stage = comparison.stage
    guidance = expanded(step.guidance, stage.workspace.root)
    _talk(step, comparison, where, lambda: stage.session.compact(guidance))
    stage.may_change_prefix = step.ends == "answered"


def _undo(step: form.Undo, comparison: Comparison, _: str) -> None:
    comparison.stage.session.undo(step.turns)


def _rewind(step: form.Rewind, comparison: Comparison, _: str) -> None:
    comparison.stage.session.rewind(step.turn + comparison.stage.turns_before)


def _resume(step: form.Resume, comparison: Comparison, where: str) -> None:
    comparison.stage.resume()
    comparison.compare((), where, results=step.results)


def _mode(step: form.SetMode, comparison: Comparison, _: str) -> None:
    comparison.stage.session.mode = step.mode


def _personality(step: form.SetPersonality, comparison: Comparison, _: str) -> None:
    comparison.stage.session.personality = step.name


def _plan(step: form.SetPlan, comparison: Comparison, _: str) -> None:
    comparison.stage.session.plan = _items(step.items, comparison)


def _items(items: tuple[form.PlanItem, ...], comparison: Comparison) -> tuple[PlanItem, ...]:
    root = comparison.stage.workspace.root
    return tuple(PlanItem(text=expanded(item.text, root), status=item.status) for item in items)


def _front_end(step: form.FrontEnd, comparison: Comparison, _: str) -> None:
    comparison.stage.open_doors(step.has)


def _note(step: form.Note, comparison: Comparison, _: str) -> None:
    comparison.stage.session.note(expanded(step.text, comparison.stage.workspace.root))


def _model(step: form.Move, comparison: Comparison, _: str) -> None:
    comparison.stage.session.model = step.model
    comparison.stage.may_change_prefix = True


def _clock(step: form.SetClock, comparison: Comparison, _: str) -> None:
    comparison.stage.now = datetime.fromisoformat(step.clock).astimezone()


def _change(step: form.Outside, comparison: Comparison, _: str) -> None:
    stage = comparison.stage
    folder = stage.workspace if step.at == "workspace" else stage.home
    for change in step.changes:
        folder.change(change)


def _check(step: form.Check, comparison: Comparison, where: str) -> None:
    stage = comparison.stage
    for path, file in step.files.items():
        wanted, got = stage.workspace.found(path, file)
        comparison.differ(wanted, got, f"{where}, {path}")
    for result, text in step.stored.items():
        try:
            stored: str | None = stage.session.recall(result)
        except SessionError:
            stored = None
        comparison.differ(expanded(text, stage.workspace.root), stored, f"{where}, stored text of {result}")
    _check_session(step, comparison, where)


def _check_session(step: form.Check, comparison: Comparison, where: str) -> None:
    stage = comparison.stage
    if step.turns is not None:
        wanted = [expanded(words, stage.workspace.root) for words in step.turns]
        comparison.differ(wanted, [turn.words for turn in stage.session.history.all_turns], f"{where}, turns")
    if step.mode is not None:
        comparison.differ(step.mode, stage.session.mode, f"{where}, mode")
    if step.plan is not None:
        wanted_items = [asdict(item) for item in _items(step.plan, comparison)]
        comparison.differ(wanted_items, [asdict(item) for item in stage.session.plan], f"{where}, plan")
    if step.requests:
        rows = {str(row["request"]): row for row in stage.session.log.store.requests(stage.session.row.id)}
        for number, columns in step.requests.items():
            got = {name: rows[number].get(name) for name in columns} if number in rows else None
            comparison.differ(columns, got, f"{where}, request {number} in the request table")


STEPS: Final[dict[type[Form], Callable[[Any, Comparison, str], None]]] = {
    form.Ask: _ask,
    form.Continue: _continue,
    form.Retry: _retry,
    form.Compact: _compact,
    form.Undo: _undo,
    form.Rewind: _rewind,
    form.Resume: _resume,
    form.SetMode: _mode,
    form.SetPersonality: _personality,
    form.SetPlan: _plan,
    form.FrontEnd: _front_end,
    form.Note: _note,
    form.Move: _model,
    form.SetClock: _clock,
    form.Outside: _change,
    form.Check: _check,
}
"""Step to (step, comparison, where) -> None. A new kind is a record in `form.py` and a line here."""
