"""`plan_write`, `plan_update`, `plan_submit`: the plan of a session, shown to the person as a list (decision 30)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from nbcontext import assets, plan
from nbcontext.errors import ToolError
from nbcontext.outcome import Planned
from nbcontext.plan import PlanItem
from nbcontext.tools.tool import Arguments, Effect, Tool
from nbcontext.world import World


class WriteArguments(Arguments):
    """Arguments of `plan_write`."""

    items: list[str] = Field(description="The whole plan, one step an item, in order.")


class UpdateArguments(Arguments):
    """Arguments of `plan_update`."""

    item: int = Field(ge=1, description="The item's number, from 1.")
    status: Literal["pending", "in_progress", "done"] = Field(description="Its new status.")


class SubmitArguments(Arguments):
    """Arguments of `plan_submit`: none."""


def write(arguments: WriteArguments, world: World) -> Planned:
    """Replace the plan; an item that stood in it keeps its status."""
    before = {item.text: item for item in world.plan}
    texts = [text.strip() for text in arguments.items if text.strip()]
    items = tuple(before.get(text, PlanItem(text=text)) for text in texts)
    return Planned(text=_shown(items, world), plan=items)


def update(arguments: UpdateArguments, world: World) -> Planned:
    """Change an item's status; raises `ToolError` where there is no such item."""
    if arguments.item > len(world.plan):
        said = world.context.errors.plan.no_item.format(item=arguments.item, count=len(world.plan))
        raise ToolError(said)
    items = tuple(
        PlanItem(text=item.text, status=arguments.status) if number == arguments.item else item
        for number, item in enumerate(world.plan, 1)
    )
    return Planned(text=_shown(items, world), plan=items)


def submit(_: SubmitArguments, world: World) -> Planned:
    """Show the plan to the person and ask; yes sets the mode to `edit`, told by the next note (decision 30)."""
    answers = world.context.plan
    words = world.ask(answers.question.format(items=_shown(world.plan, world)))
    if words is None:
        return Planned(text=answers.awaits)
    short = words.strip().lower()
    if short in ("y", "yes"):
        return Planned(text=answers.yes, mode="edit")
    if short in ("", "n", "no"):
        return Planned(text=answers.no)
    return Planned(text=answers.words.format(words=words.strip()))


def tools() -> tuple[Tool, ...]:
    """Return the three tools."""
    return (
        Tool(
            name="plan_write", arguments=WriteArguments, run=write, effect=Effect.PLAN, description=_told("plan_write")
        ),
        Tool(
            name="plan_update",
            arguments=UpdateArguments,
            run=update,
            effect=Effect.PLAN,
            description=_told("plan_update"),
        ),
        Tool(
            name="plan_submit",
            arguments=SubmitArguments,
            run=submit,
            effect=Effect.PLAN,
            description=_told("plan_submit"),
            on_main=True,
            requires="plan",
        ),
    )


def _told(name: str) -> str:
    return assets.read("prompts", "tools", f"{name}.md")


def _shown(items: tuple[PlanItem, ...], world: World) -> str:
    return plan.shown(items) or world.context.notes.no_plan
