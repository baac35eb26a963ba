"""`bash`: a command in the root folder; its output as a person would see it, then how it ended (decision 27)."""

from __future__ import annotations

import codecs
import shutil
import signal
import tempfile
from typing import IO

from pydantic import Field

from nbcontext.assets import read
from nbcontext.errors import ToolError
from nbcontext.execution import processes
from nbcontext.execution.terminal import Cleaner
from nbcontext.outcome import Failure, Outcome, Text
from nbcontext.tools.tool import Arguments, Effect, Tool
from nbcontext.world import World

_PIECE_BYTES = 1024 * 1024


class BashArguments(Arguments):
    """Arguments of `bash`."""

    command: str = Field(description="The command, as a shell takes it.")
    timeout: int | None = Field(default=None, ge=1, description="Seconds it may take; it is ended then.")


def run(arguments: BashArguments, world: World) -> Outcome:
    """Run a command; its processes are gone when this returns.

    Raises:
        ToolError: it cannot be started.
    """
    rules, errors, folder = world.context.commands, world.context.errors.commands, world.root.folder
    seconds = arguments.timeout or rules.seconds
    if seconds > rules.max_seconds:
        raise ToolError(errors.long_timeout.format(seconds=seconds, most=rules.max_seconds))
    if "\0" in arguments.command:
        raise ToolError(errors.nul.format(path=folder))
    environment = {**world.environment, **rules.environment}
    shell = shutil.which("bash", path=environment.get("PATH")) or shutil.which("sh") or "sh"
    # The output lies in a file while the command runs: of any size, and no process can hold the call by a pipe.
    with tempfile.TemporaryFile() as output:
        try:
            finished = processes.run(
                [shell, "-c", arguments.command],
                output=output,
                cwd=folder,
                environment=environment,
                seconds=seconds,
                stop=world.stop,
            )
        except (OSError, ValueError) as error:  # ValueError: a lone surrogate that no argument can hold
            raise ToolError(errors.not_started.format(path=folder, why=error)) from None
        ending = "" if finished.ended == "stopped" else _ending(finished, seconds, world)
        text = _text(output, ending)
    if finished.ended == "stopped":
        return Failure(kind="interrupted", text=world.context.errors.calls.interrupted, partial=text)
    return Text(text=text or rules.none)


def _ending(finished: processes.Finished, seconds: int, world: World) -> str:
    """Return the line that says how the command ended; empty where it ended well."""
    rules = world.context.commands
    if finished.ended == "timeout":
        return rules.timed_out.format(seconds=seconds)
    if finished.code < 0:
        try:
            name = signal.Signals(-finished.code).name
        except ValueError:  # a real-time signal has no name
            name = str(-finished.code)
        return rules.killed.format(signal=name)
    return rules.exit.format(status=finished.code) if finished.code else ""


def _text(output: IO[bytes], ending: str) -> str:
    """Return the output, decoded and cleaned piece by piece, and `ending` on a line of its own."""
    output.seek(0)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    cleaner = Cleaner()
    parts: list[str] = []
    while piece := output.read(_PIECE_BYTES):
        parts.append(cleaner.feed(decoder.decode(piece)))
    parts.append(cleaner.feed(decoder.decode(b"", final=True)))
    parts.append(cleaner.finish())
    if ending:
        last = next((part for part in reversed(parts) if part), "\n")
        parts.append(ending if last.endswith("\n") else f"\n{ending}")
    return "".join(parts)  # once: a large output is held in pieces and as one, and never a third time


def tool() -> Tool:
    """Return the tool `bash`."""
    description = read("prompts", "tools", "bash.md")
    return Tool(name="bash", description=description, arguments=BashArguments, run=run, effect=Effect.COMMAND)
