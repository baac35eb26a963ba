"""`multiedit`: several replacements in one file, each on the last one's result, all or none (decisions 13 and 14)."""

from __future__ import annotations

from pydantic import Field

from nbcontext import assets
from nbcontext.errors import ToolError
from nbcontext.files import change
from nbcontext.outcome import Changes
from nbcontext.tools.replacing import Replacement, replaced, written
from nbcontext.tools.tool import Arguments, Effect, Tool
from nbcontext.world import World


class MultieditArguments(Arguments):
    """Arguments of `multiedit`."""

    path: str = Field(description="The file, relative to the root or absolute. It must have been read.")
    edits: tuple[Replacement, ...] = Field(description="The edits, in order; each sees the last one's result.")


def run(arguments: MultieditArguments, world: World) -> Changes:
    """Make all edits; raises `ToolError`, naming the edit from 1, where one of them cannot be made."""
    errors = world.context.errors.files
    located = change.locate(arguments.path, world)
    file = change.read_to_change(located, world)
    if not arguments.edits:
        raise ToolError(errors.no_edits.format(path=located.shown))
    text = file.decoded.text
    for number, edit in enumerate(arguments.edits, 1):
        problem, text = replaced(text, edit, located, world)
        if problem:
            start = change.quoted(edit.old_string, world)
            raise ToolError(errors.edit_at.format(number=number, start=start, problem=problem))
    for edit in arguments.edits:
        change.check_stand_ins(edit.new_lines, located, world)
    return written(file, text, "".join(edit.new_string for edit in arguments.edits), world)


def tool() -> Tool:
    """Return the tool."""
    return Tool(
        name="multiedit",
        description=assets.read("prompts", "tools", "multiedit.md"),
        arguments=MultieditArguments,
        run=run,
        effect=Effect.CHANGE,
    )
