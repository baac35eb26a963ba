"""What changed since the model was last told, as notes on the next user message (§10.2, §10.3, decisions 18 and 19).

What the model was last told is read from the live history: after an undo or a compaction it is what still stands there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from nbcontext import plan
from nbcontext.entry import Note
from nbcontext.hygiene.clean import sendable

if TYPE_CHECKING:
    from nbcontext.entry import Told
    from nbcontext.history import History
    from nbcontext.loop import Context


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """How things stand when the person's next message goes."""

    today: date
    """The person's local date."""
    mode_text: str
    """The text of the present mode's prompt."""
    personality_text: str = ""
    """The text of the present personality's prompt; empty: there is none."""
    instructions: Mapping[str, str | None] | None = None
    """Instruction and memory files by the name they are told by, in their order; None where a file is gone."""
    servers: tuple[Told, ...] = ()
    """What MCP servers say, in the order of their names."""


def pending(
    history: History, context: Context, now: Standing, diff: Callable[[str, str], str] = lambda _old, _new: ""
) -> tuple[Note, ...]:
    """Return the notes that the next user message carries, in their order (decision 18).

    Args:
        history: the live history, its mode, personality, plan and waiting notes.
        context: the texts.
        now: how things stand.
        diff: gives the hunks that make one text the other; empty: none are to be had.
    """
    return (
        *_date(history, context, now),
        *_mode(history, context, now),
        *_personality(history, context, now),
        *_instructions(history, context, now, diff),
        *_plan(history, context),
        *_servers(history, context, now),
        *(Note(kind="own", text=text) for text in history.own_notes),
    )


def content(words: str, notes: tuple[Note, ...], context: Context) -> str:
    """Return a user message's content: the person's words, then each note as a block (decision 18)."""
    return sendable(words + "".join(context.note.format(text=note.text) for note in notes))


def one_less_newline(text: str) -> str:
    """Return a file's text as a note carries it: one trailing line feed dropped (decision 18)."""
    return text.removesuffix("\n")


def _date(history: History, context: Context, now: Standing) -> Iterator[Note]:
    day = now.today.isoformat()
    if _last(history, "date") != day:
        yield Note(kind="date", value=day, text=context.notes.date.format(date=day))


def _mode(history: History, context: Context, now: Standing) -> Iterator[Note]:
    told = _last(history, "mode", history.prefix.mode if history.prefix else None)
    if told != history.mode:
        said = context.notes.mode.format(mode=history.mode, text=one_less_newline(now.mode_text))
        yield Note(kind="mode", value=history.mode, text=said)


def _personality(history: History, context: Context, now: Standing) -> Iterator[Note]:
    told = _last(history, "personality", history.prefix.personality if history.prefix else "")
    if told == history.personality:
        return
    if history.personality:
        text = one_less_newline(now.personality_text)
        said = context.notes.personality.format(name=history.personality, text=text)
    else:
        said = context.notes.no_personality
    yield Note(kind="personality", value=history.personality, text=said)


def _instructions(history: History, context: Context, now: Standing, diff: Callable[[str, str], str]) -> Iterator[Note]:
    first = {told.name: told.text for told in history.prefix.instructions} if history.prefix else {}
    if now.instructions is None:
        return
    noted = {note.name: None for turn in history.turns for note in turn.notes if note.kind == "instructions"}
    for name in {**now.instructions, **first, **noted}:
        before = _last(history, "instructions", first.get(name), name=name)
        text = now.instructions.get(name)
        if text == before:
            continue
        if text is None:
            said = context.notes.removed.format(name=name)
        else:
            said = context.notes.instructions.format(name=name, text=one_less_newline(text))
            hunks = diff(before, text) if before is not None else ""
            shorter = context.notes.changed.format(name=name, text=hunks)
            said = shorter if hunks and len(shorter) < len(said) else said
        yield Note(kind="instructions", name=name, value=text, text=said)


def _plan(history: History, context: Context) -> Iterator[Note]:
    stands = plan.dumps(history.plan)
    if stands != _told_plan(history):
        items = plan.shown(history.plan) or context.notes.no_plan
        yield Note(kind="plan", value=stands, text=context.notes.plan.format(items=items))


def _told_plan(history: History) -> str:
    """Return the plan that the model knows: its own last change of it, or the last note's, in the live history."""
    for turn in reversed(history.turns):
        own = [change for change in history.plans if change.turn == turn.number]
        if own:
            return plan.dumps(own[-1].items)
        for note in turn.notes:
            if note.kind == "plan":
                return note.value or ""
    return plan.dumps(())


def _servers(history: History, context: Context, now: Standing) -> Iterator[Note]:
    first = {told.name: told.text for told in history.prefix.servers} if history.prefix else {}
    for told in now.servers:
        if _last(history, "mcp", first.get(told.name), name=told.name) != told.text:
            said = context.notes.server.format(name=told.name, text=one_less_newline(told.text))
            yield Note(kind="mcp", name=told.name, value=told.text, text=said)


def _last(history: History, kind: str, otherwise: str | None = None, *, name: str = "") -> str | None:
    """Return what the last live note of this kind and name told, else what the prefix did.

    A prefix made anew has told all that it tells: only the notes after it count (decision 19).
    """
    for turn in reversed(history.turns):
        if kind != "date" and turn.number <= history.prefix_turn:
            break
        for note in turn.notes:
            if note.kind == kind and note.name == name:
                return note.value
    return otherwise
