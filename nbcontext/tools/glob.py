"""`glob`: the files whose path matches a pattern, one a line (decision 26)."""

from __future__ import annotations

from pydantic import Field

from nbcontext.assets import read
from nbcontext.errors import ToolError
from nbcontext.hygiene.clean import shown_path
from nbcontext.outcome import Outcome
from nbcontext.search import globs, ripgrep
from nbcontext.tools.tool import Arguments, Effect, Tool
from nbcontext.world import World


class GlobArguments(Arguments):
    """Arguments of `glob`."""

    pattern: str = Field(
        description="Glob anchored at path: `*` and `?` stay within a folder, `**` crosses folders; [a-z], {a,b}."
    )
    path: str | None = Field(default=None, description="Folder to look in; the root where left out.")


def run(arguments: GlobArguments, world: World) -> Outcome:
    """List the matching files, sorted by the bytes of their paths."""
    place = ripgrep.locate(world, arguments.path)
    pattern = _relative(arguments.pattern, place, world)
    accepts = globs.matcher(pattern)
    listing = ripgrep.Ripgrep(world, place)
    try:
        files, notes = listing.files()
        found = ripgrep.order(filter(accepts, files))
        ignored = listing.left_out(notes, accepts)
    except ripgrep.Interrupted:
        return ripgrep.interrupted(world)
    most = world.context.search.entries
    shown = ripgrep.shown_paths(place, found[:most])
    more = max(len(found) - most, 0)
    return ripgrep.answer(world, place, shown, more=more, ignored=ignored, unreadable=notes.unreadable)


def _relative(pattern: str, place: ripgrep.Place, world: World) -> str:
    """Return the pattern relative to the place; an absolute one may begin with the place's own path."""
    base = place.shown.rstrip("/") + "/"
    if pattern.startswith(base):
        return pattern[len(base) :]
    if pattern.startswith("/") or ".." in pattern.split("/"):
        said = world.context.errors.search.outside_glob
        raise ToolError(said.format(pattern=shown_path(pattern), path=shown_path(place.shown)))
    return pattern


def tool() -> Tool:
    """Return the tool `glob`."""
    description = read("prompts", "tools", "glob.md")
    return Tool(name="glob", description=description, arguments=GlobArguments, run=run, effect=Effect.READ)
