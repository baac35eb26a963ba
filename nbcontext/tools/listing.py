"""`list`: one level of a folder; folders end in `/` (decision 26).

Files and links are named by the folder itself, ripgrep says which of them an ignore rule leaves out. A link is an
entry like another and is not followed, so one to a folder has no `/`; one that leads nowhere is shown and noted.
Hidden entries are left out, as ripgrep leaves them out.
"""

from __future__ import annotations

import os

from pydantic import Field

from nbcontext.assets import read
from nbcontext.errors import ToolError
from nbcontext.hygiene.clean import shown_path
from nbcontext.outcome import Outcome
from nbcontext.search import ripgrep
from nbcontext.tools.tool import Arguments, Effect, Tool
from nbcontext.world import World


class ListArguments(Arguments):
    """Arguments of `list`."""

    path: str | None = Field(default=None, description="Folder to list; the root where left out.")


def run(arguments: ListArguments, world: World) -> Outcome:
    """List one level of a folder, sorted by the bytes of the paths; of a file, its own path."""
    place = ripgrep.locate(world, arguments.path)
    if place.is_file:
        return ripgrep.answer(world, place, shown_path(place.shown), more=0, ignored=False)
    listing = ripgrep.Ripgrep(world, place)
    try:
        # Only with the level below it does ripgrep look at, and name, the folders of this one.
        _, notes = listing.files("--max-depth=2")
    except ripgrep.Interrupted:
        return ripgrep.interrupted(world)
    # ripgrep names a path that is no UTF-8 with U+FFFD in it, so names are compared in that form.
    left_out = {_lossy(path) for path in notes.ignored}
    names, ignored = [], False
    unreadable = {path for path in notes.unreadable if os.sep not in path.removeprefix(listing.prefix)}
    for name, is_folder, dangling in _entries(place, world):
        real = listing.prefix + name
        if _lossy(real) in left_out:
            ignored = True
            continue
        names.append(name + "/" if is_folder else name)
        if dangling:
            unreadable.add(real)
    found = ripgrep.order(names)
    most = world.context.search.entries
    shown = ripgrep.shown_paths(place, found[:most])
    more = max(len(found) - most, 0)
    return ripgrep.answer(world, place, shown, more=more, ignored=ignored, unreadable=unreadable)


def _entries(place: ripgrep.Place, world: World) -> list[tuple[str, bool, bool]]:
    """Return (name, is a folder, is a link that leads nowhere) of every entry that is not hidden."""
    try:
        with os.scandir(place.real) as entries:
            return [
                (entry.name, entry.is_dir(follow_symlinks=False), entry.is_symlink() and not os.path.exists(entry.path))  # noqa: PTH110
                for entry in entries
                if not entry.name.startswith(".")
            ]
    except OSError as error:
        said = world.context.errors.search.unreadable
        raise ToolError(said.format(path=shown_path(place.shown), why=error.strerror)) from None


def _lossy(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "replace")


def tool() -> Tool:
    """Return the tool `list`."""
    description = read("prompts", "tools", "list.md")
    return Tool(name="list", description=description, arguments=ListArguments, run=run, effect=Effect.READ)
