"""`read`: a text file's lines. Which of them are shown, and how, is the pipeline's (§1, decision 7)."""

from __future__ import annotations

from pydantic import Field

from nbcontext import assets
from nbcontext.files import change
from nbcontext.outcome import FileRead
from nbcontext.tools.tool import Arguments, Effect, Tool
from nbcontext.world import World


class ReadArguments(Arguments):
    """Arguments of `read`."""

    path: str = Field(description="The file, relative to the root or absolute.")
    offset: int | None = Field(default=None, ge=1, description="First line to show, from 1.")
    limit: int | None = Field(default=None, ge=1, description="How many lines to show.")


def run(arguments: ReadArguments, world: World) -> FileRead:
    """Return the file's text; raises `ToolError` where it cannot be read as text (decision 4)."""
    file = change.read(change.locate(arguments.path, world), world)
    return FileRead(
        path=arguments.path,
        resolved=file.located.resolved,
        sha256=file.sha256,
        text=file.decoded.text,
        offset=arguments.offset or 1,
        limit=arguments.limit,
    )


def tool() -> Tool:
    """Return the tool."""
    return Tool(
        name="read",
        description=assets.read("prompts", "tools", "read.md"),
        arguments=ReadArguments,
        run=run,
        effect=Effect.READ,
    )
