"""`python`: code in the notebook's own namespace (decision 27)."""

from __future__ import annotations

from pydantic import Field

from nbcontext.assets import read
from nbcontext.errors import ToolError
from nbcontext.outcome import Failure, Outcome, Text
from nbcontext.tools.tool import Arguments, Effect, Tool
from nbcontext.world import World


class PythonArguments(Arguments):
    """Arguments of `python`."""

    code: str = Field(description="Python code, as a notebook's cell; the value of a last expression is answered.")


def run(arguments: PythonArguments, world: World) -> Outcome:
    """Run code where the notebook's cells run.

    Raises:
        ToolError: there is no notebook.
    """
    if world.namespace is None:
        raise ToolError(world.context.errors.commands.no_namespace, kind="unavailable")
    ran = world.namespace.run(arguments.code, world.stop)
    if ran.interrupted:
        return Failure(kind="interrupted", text=world.context.errors.calls.interrupted, partial=ran.text)
    return Text(text=ran.text or world.context.commands.none)


def tool() -> Tool:
    """Return the tool `python`."""
    description = read("prompts", "tools", "python.md")
    return Tool(
        name="python",
        description=description,
        arguments=PythonArguments,
        run=run,
        effect=Effect.COMMAND,
        on_main=True,
    )
