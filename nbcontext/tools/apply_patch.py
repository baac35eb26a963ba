"""`apply_patch`: a patch over any number of files, all of it or nothing (decisions 13, 15 and 16).

No file is named twice, under whatever path: what a later section would see or undo of an earlier one is never a
question. Delete and Move take a link's name only from the file it leads to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pydantic import Field

from nbcontext import assets, lines
from nbcontext.errors import ToolError
from nbcontext.files import change, placement
from nbcontext.files.patch import PatchError, Section, parse
from nbcontext.files.root import FileChange, Located
from nbcontext.hygiene.clean import shown_path
from nbcontext.outcome import Change, Changes
from nbcontext.tools.tool import Arguments, Effect, Tool
from nbcontext.world import World


class ApplyPatchArguments(Arguments):
    """Arguments of `apply_patch`."""

    patch: str = Field(description="The patch, from `*** Begin Patch` to `*** End Patch`.")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Planned:
    """What one section comes to."""

    change: Change
    files: tuple[FileChange, ...]


def run(arguments: ApplyPatchArguments, world: World) -> Changes:
    """Apply a patch; raises `ToolError` where it is none, or any part of it cannot be applied."""
    sections = _parsed(arguments.patch, world)
    named: set[str] = set()
    planned = [_plan(section, named, world) for section in sections]
    files = [file for plan in planned for file in plan.files if file.before != file.after]
    if not files:
        raise ToolError(world.context.errors.files.no_change.format(path=shown_path(planned[0].change.resolved)))
    world.root.apply(files, world.context.errors.files)
    return change.noted(tuple(plan.change for plan in planned), world)


def _parsed(patch: str, world: World) -> tuple[Section, ...]:
    errors = world.context.errors.files
    try:
        return parse(patch)
    except PatchError as error:
        said = {
            "no_begin": errors.patch_no_begin,
            "no_end": errors.patch_no_end,
            "no_file": errors.patch_no_file,
            "no_path": errors.patch_no_path,
            "add_line": errors.patch_add_line,
            "hunk_line": errors.patch_hunk_line,
            "empty_hunk": errors.patch_empty_hunk,
            "empty_update": errors.patch_empty_update,
            "empty": errors.patch_empty,
        }[error.problem]
        text = change.quoted(error.line, world)
        raise ToolError(errors.patch_form.format(line=error.number, text=text, problem=said)) from None


def _plan(section: Section, named: set[str], world: World) -> _Planned:
    located = _named(section.path, named, world)
    change.check_stand_ins(section.new_lines, located, world)
    if section.kind == "Add":
        return _add(section, located, world)
    if section.kind == "Delete" or section.move_to is not None:
        _check_no_link(located, world)
    if section.kind == "Delete":
        return _delete(located, world)
    return _update(section, located, named, world)


def _named(path: str, named: set[str], world: World) -> Located:
    located = change.locate(path, world)
    if located.resolved in named:
        raise ToolError(world.context.errors.files.patch_twice.format(path=located.shown))
    named.add(located.resolved)
    return located


def _check_absent(located: Located, world: World) -> None:
    errors = world.context.errors.files
    if world.root.exists(located, errors):
        raise ToolError(errors.patch_exists.format(path=located.shown))


def _check_no_link(located: Located, world: World) -> None:
    if located.is_link:
        target = replace(located, absolute=located.resolved).shown
        raise ToolError(world.context.errors.files.patch_link.format(path=located.shown, target=target))


def _add(section: Section, located: Located, world: World) -> _Planned:
    _check_absent(located, world)
    text = "".join(f"{line}\n" for line in section.added)
    data = change.encoded_new(text, located, world)
    made = Change(
        path=section.path,
        resolved=located.resolved,
        sha256=change.sha256(data),
        kind="created",
        lines=lines.count(text.removeprefix("\ufeff")),
    )
    return _Planned(change=made, files=(FileChange(located=located, before=None, after=data),))


def _delete(located: Located, world: World) -> _Planned:
    data = change.seen_bytes(located, world)
    gone = Change(path=located.given, resolved=located.resolved, sha256=None, kind="deleted")
    return _Planned(change=gone, files=(FileChange(located=located, before=data, after=None),))


def _update(section: Section, located: Located, named: set[str], world: World) -> _Planned:
    file = change.read_to_change(located, world)
    text = _placed(section, file, world)
    data = change.encoded(text, "\n".join(section.new_lines), file.decoded, located, world)
    made = change.changed(located, file, text, data)
    if section.move_to is None:
        return _Planned(change=made, files=(FileChange(located=located, before=file.data, after=data),))
    to = _named(section.move_to, named, world)
    _check_absent(to, world)
    moved = replace(
        made,
        path=section.move_to,
        resolved=to.resolved,
        kind="moved",
        moved_from=section.path,
        moved_from_resolved=located.resolved,
    )
    new = FileChange(located=to, before=None, after=data, mode_of=located)
    return _Planned(change=moved, files=(new, FileChange(located=located, before=file.data, after=None)))


def _placed(section: Section, file: change.TextFile, world: World) -> str:
    errors, path, text = world.context.errors.files, file.located.shown, file.decoded.text
    try:
        return placement.apply(text, section.hunks)
    except placement.PlacementError as error:
        limits = world.context.files
        shown = "\n".join(line[: limits.line_chars] for line in error.wanted[: limits.near_lines])
        if error.problem == "many":
            places = change.places_shown(error.places, world)
            raise ToolError(errors.hunk_ambiguous.format(path=path, lines=shown, places=places)) from None
        if error.problem == "not_at_end":
            raise ToolError(errors.hunk_not_at_end.format(path=path, lines=shown)) from None
        place = change.place_shown(list(error.wanted), text, world)
        if not place:
            said = errors.hunk_not_found.format(path=path, lines=shown, first=error.after)
        else:
            said = errors.hunk_not_found_near.format(path=path, lines=shown, first=error.after, place=place)
        raise ToolError(said) from None


def tool() -> Tool:
    """Return the tool."""
    return Tool(
        name="apply_patch",
        description=assets.read("prompts", "tools", "apply_patch.md"),
        arguments=ApplyPatchArguments,
        run=run,
        effect=Effect.CHANGE,
    )
