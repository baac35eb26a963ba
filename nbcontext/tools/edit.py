"""`edit`: one text in a file replaced by another (decisions 3, 12 and 14)."""

from __future__ import annotations

from pydantic import Field

from nbcontext import assets
from nbcontext.errors import ToolError
from nbcontext.files import change
from nbcontext.outcome import Changes
from nbcontext.tools.replacing import Replacement, replaced, written
from nbcontext.tools.tool import Effect, Tool
from nbcontext.world import World


class EditArguments(Replacement):
    """Arguments of `edit`."""

    path: str = Field(description="The file, relative to the root or absolute. It must have been read.")


def run(arguments: EditArguments, world: World) -> Changes:
    """Replace a text; raises `ToolError` where the file may not be changed or the text is not at one place."""
    located = change.locate(arguments.path, world)
    file = change.read_to_change(located, world)
    problem, text = replaced(file.decoded.text, arguments, located, world)
    if problem:
        raise ToolError(problem)
    change.check_stand_ins(arguments.new_lines, located, world)
    return written(file, text, arguments.new_string, world)


def tool() -> Tool:
    """Return the tool."""
    return Tool(
        name="edit",
        description=assets.read("prompts", "tools", "edit.md"),
        arguments=EditArguments,
        run=run,
        effect=Effect.CHANGE,
    )
