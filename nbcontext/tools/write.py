"""`write`: a file's whole content. A new file gets its folders too; one that exists keeps its form (decision 3)."""

from __future__ import annotations

from pydantic import Field

from nbcontext import assets, lines
from nbcontext.files import change
from nbcontext.files.replacement import rewrite
from nbcontext.files.root import Located
from nbcontext.outcome import Change, Changes
from nbcontext.tools.tool import Arguments, Effect, Tool
from nbcontext.world import World

_BOM = "\ufeff"


class WriteArguments(Arguments):
    """Arguments of `write`."""

    path: str = Field(description="The file, relative to the root or absolute.")
    content: str = Field(description="The whole text the file shall hold.")


def run(arguments: WriteArguments, world: World) -> Changes:
    """Write the file whole; raises `ToolError` where it exists and may not be changed (decision 12)."""
    return change.noted((written(arguments.path, arguments.content, world),), world)


def written(path: str, content: str, world: World) -> Change:
    """Write a file whole; return what became of it. Raises `ToolError` as `run`."""
    located = change.locate(path, world)
    change.check_stand_ins(lines.split(content), located, world)
    if world.root.exists(located, world.context.errors.files):
        return _over(located, content, world)
    return _new(located, content, world)


def _new(located: Located, content: str, world: World) -> Change:
    data = change.encoded_new(content, located, world)
    world.root.replace(located, data, world.context.errors.files, before=None)
    return Change(
        path=located.given,
        resolved=located.resolved,
        sha256=change.sha256(data),
        kind="created",
        lines=lines.count(content.removeprefix(_BOM)),
    )


def _over(located: Located, content: str, world: World) -> Change:
    file = change.read_to_change(located, world)
    text = rewrite(file.decoded.text, content.removeprefix(_BOM))  # the file keeps its own mark, or none
    data = change.encoded(text, text, file.decoded, located, world)
    if data != file.data:
        world.root.replace(located, data, world.context.errors.files, before=file.data)
    return change.changed(located, file, text, data)


def tool() -> Tool:
    """Return the tool."""
    return Tool(
        name="write",
        description=assets.read("prompts", "tools", "write.md"),
        arguments=WriteArguments,
        run=run,
        effect=Effect.CHANGE,
    )
