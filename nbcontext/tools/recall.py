"""`recall`: a stored result again (§4, decision 7a). Which of its lines are shown is the pipeline's."""

from __future__ import annotations

from pydantic import Field

from nbcontext import assets
from nbcontext.files.nearest import clipped
from nbcontext.outcome import NotStored, Recalled
from nbcontext.tools.tool import Arguments, Effect, Tool
from nbcontext.world import World


class RecallArguments(Arguments):
    """Arguments of `recall`."""

    id: str = Field(description="The result's id, such as #0012.", coerce_numbers_to_str=True)
    offset: int | None = Field(default=None, ge=1, description="First line to show, from 1.")
    limit: int | None = Field(default=None, ge=1, description="How many lines to show.")
    column: int | None = Field(
        default=None,
        ge=1,
        description="Character of the first line to begin at, from 1, to go on in a line that was cut.",
    )


def run(arguments: RecallArguments, world: World) -> Recalled | NotStored:
    """Return the stored result, or that there is none of this id."""
    number = world.context.number(arguments.id)
    if number is None:
        return NotStored(asked=clipped(arguments.id.strip(), world.context.files.quote_chars))
    total = world.shelf.total(number)
    if total is None:
        return NotStored(asked=world.context.id(number))
    offset = arguments.offset or 1
    return Recalled(
        of=number,
        total=total,
        lines=world.shelf.lines(number, offset),
        offset=offset,
        limit=arguments.limit,
        column=arguments.column or 1,
    )


def tool() -> Tool:
    """Return the tool."""
    return Tool(
        name="recall",
        description=assets.read("prompts", "tools", "recall.md"),
        arguments=RecallArguments,
        run=run,
        effect=Effect.READ,
    )
