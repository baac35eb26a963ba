"""What each kind of step does: one small function a kind, in the table `STEPS`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from nbcontext.conformance import form
from nbcontext.conformance.comparison import Comparison
from nbcontext.conformance.expression import Form
from nbcontext.conformance.texts import expanded
from nbcontext.errors import ModelError, SessionError, TurnInterrupted
from nbcontext.reply import Reply


def run(step: form.Step, comparison: Comparison, where: str) -> None:
    """Do one step, and keep the differences that it shows."""
    STEPS[type(step)](step, comparison, where)


def _talk(step: form.Exchanging, comparison: Comparison, where: str, say: Callable[[], Reply | None]) -> None:
    """Play the step's exchanges while `say` runs, then compare."""
    comparison.stage.get_ready(step.exchanges)
    try:
        reply = say()
        ends: str = (reply.stopped if reply else "") or "answered"
    except TurnInterrupted:
        ends = "interrupted"
    except ModelError:
        ends = "failed"
    comparison.compare(step.exchanges, where)
    comparison.differ(step.ends, ends, f"{where}, how it ends")


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
    stage.may_change_prefix = True


def _undo(step: form.Undo, comparison: Comparison, _: str) -> None:
    comparison.stage.session.undo(step.turns)


def _rewind(step: form.Rewind, comparison: Comparison, _: str) -> None:
    comparison.stage.session.rewind(step.turn + comparison.stage.turns_before)


def _resume(_: form.Resume, comparison: Comparison, where: str) -> None:
    comparison.stage.resume()
    comparison.compare((), where)


def _mode(step: form.SetMode, comparison: Comparison, _: str) -> None:
    comparison.stage.session.mode = step.mode


def _note(step: form.Note, comparison: Comparison, _: str) -> None:
    comparison.stage.session.note(expanded(step.text, comparison.stage.workspace.root))


def _model(step: form.Move, comparison: Comparison, _: str) -> None:
    comparison.stage.session.model = step.model
    comparison.stage.may_change_prefix = True


def _clock(step: form.SetClock, comparison: Comparison, _: str) -> None:
    comparison.stage.now = datetime.fromisoformat(step.clock).astimezone()


def _change(step: form.Outside, comparison: Comparison, _: str) -> None:
    for change in step.changes:
        comparison.stage.workspace.change(change)


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


STEPS: Final[dict[type[Form], Callable[[Any, Comparison, str], None]]] = {
    form.Ask: _ask,
    form.Continue: _continue,
    form.Retry: _retry,
    form.Compact: _compact,
    form.Undo: _undo,
    form.Rewind: _rewind,
    form.Resume: _resume,
    form.SetMode: _mode,
    form.Note: _note,
    form.Move: _model,
    form.SetClock: _clock,
    form.Outside: _change,
    form.Check: _check,
}
"""Step to (step, comparison, where) -> None. A new kind is a record in `form.py` and a line here."""
