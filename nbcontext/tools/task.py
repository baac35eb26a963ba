"""`task`: a subagent, which has a session of its own and no more tools than this one, and answers its final text."""

from __future__ import annotations

from pydantic import Field

from nbcontext import assets
from nbcontext.errors import ToolError
from nbcontext.outcome import Outcome
from nbcontext.tools.tool import Arguments, Effect, Tool
from nbcontext.world import World


class TaskArguments(Arguments):
    """Arguments of `task`."""

    prompt: str = Field(description="What it shall do and what it shall answer; it knows nothing of this conversation.")
    tools: list[str] | None = Field(default=None, description="Names of the tools it has; all of yours where left out.")


def run(arguments: TaskArguments, world: World) -> Outcome:
    """Have a subagent do something; raises `ToolError` where it is asked nothing, or cannot have a tool."""
    errors = world.context.errors.tasks
    if world.subagents is None:
        raise ToolError(world.context.unavailable.own.format(tool="task"), kind="unavailable")
    if not arguments.prompt.strip():
        raise ToolError(errors.empty)
    known = world.subagents.tools()
    wanted = known if arguments.tools is None else arguments.tools
    if unknown := [name for name in wanted if name not in known]:
        raise ToolError(errors.unknown_tool.format(tool=unknown[0], tools=", ".join(known)))
    return world.subagents.ask(arguments.prompt, frozenset(wanted))


def tool() -> Tool:
    """Return the tool."""
    return Tool(
        name="task",
        description=assets.read("prompts", "tools", "task.md"),
        arguments=TaskArguments,
        run=run,
        effect=Effect.TASK,
    )
