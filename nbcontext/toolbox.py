"""Which tools a session has, in their fixed order (§10.4)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from nbcontext.errors import UsageError
from nbcontext.tools import (
    apply_patch,
    bash,
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
    write,
)

if TYPE_CHECKING:
    from nbcontext.tools.tool import Tool

_MAKERS = (
    *(read.tool, recall.tool, listing.tool, glob.tool, grep.tool, search.tool),
    *(edit.tool, multiedit.tool, apply_patch.tool, write.tool, bash.tool, python.tool),
)


def toolbox(own: Iterable[Tool] = (), without: Collection[str] = ()) -> Mapping[str, Tool]:
    """Return a session's tools by name: ours in their order, then the person's own in the order of their names.

    Args:
        own: tools that the person registered.
        without: names of tools that the session is not to have.

    Raises:
        UsageError: `without` names a tool that there is not, or an own tool has one of our names.
    """
    made = [*(make() for make in _MAKERS), *planning.tools()]
    ours = {tool.name for tool in made}
    for tool in sorted(own, key=lambda tool: tool.name):
        if tool.name in ours:
            raise UsageError(f"The tool {tool.name!r} of your own has a name that nbcontext uses; give it another.")
        made.append(tool)
    known = [tool.name for tool in made]
    if unknown := sorted(set(without) - set(known)):
        raise UsageError(f"--without names {unknown[0]!r}, which is no tool; the tools are {', '.join(known)}.")
    return {tool.name: tool for tool in made if tool.name not in without}
