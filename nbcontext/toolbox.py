"""Which tools there are for a session, in their fixed order (§10.4)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from nbcontext.errors import UsageError
from nbcontext.servers.tools import PREFIX
from nbcontext.tools import (
    apply_patch,
    bash,
    display,
    edit,
    glob,
    grep,
    listing,
    multiedit,
    planning,
    python,
    read,
    recall,
    search,
    skill_manage,
    task,
    write,
)

if TYPE_CHECKING:
    from nbcontext.tools.tool import Tool

_MAKERS = (
    *(read.tool, recall.tool, listing.tool, glob.tool, grep.tool, search.tool),
    *(edit.tool, multiedit.tool, apply_patch.tool, write.tool, bash.tool, python.tool),
)
_LATER_MAKERS = (display.tool, skill_manage.tool, task.tool)


def ours() -> tuple[Tool, ...]:
    """Return our own tools, in their order."""
    return (*(make() for make in _MAKERS), *planning.tools(), *(make() for make in _LATER_MAKERS))


def toolbox(
    own: Iterable[Tool] = (), without: Collection[str] = (), servers: Iterable[Tool] = ()
) -> Mapping[str, Tool]:
    """Return tools by name: ours in their order, the person's own in the order of their names, then those of servers.

    Args:
        own: tools that the person registered.
        without: names of tools that the session is not to have.
        servers: tools of MCP servers, in the order of their names.

    Raises:
        UsageError: `without` names a tool that there is not, or an own tool has a name that is taken.
    """
    made = list(ours())
    taken = {tool.name for tool in made}
    for tool in sorted(own, key=lambda tool: tool.name):
        if tool.name in taken or tool.name.startswith(PREFIX):
            raise UsageError(f"The tool {tool.name!r} of your own has a name that nbcontext uses; give it another.")
        made.append(tool)
    made.extend(servers)
    known = [tool.name for tool in made]
    # A server that is down may have a tool that nobody knows yet: such a name is taken as it is.
    if unknown := sorted(name for name in set(without) - set(known) if not name.startswith(PREFIX)):
        raise UsageError(f"--without names {unknown[0]!r}, which is no tool; the tools are {', '.join(known)}.")
    return {tool.name: tool for tool in made if tool.name not in without}
