"""What `edit` and `multiedit` share: one replacement, what is wrong with it, and the file written (decision 14)."""

from __future__ import annotations

from pydantic import Field

from nbcontext import lines
from nbcontext.errors import ToolError
from nbcontext.files import change
from nbcontext.files.replacement import replace
from nbcontext.files.root import Located
from nbcontext.outcome import Changes
from nbcontext.tools.tool import Arguments
from nbcontext.world import World


class Replacement(Arguments):
    """One replacement, as a call gives it."""

    old_string: str = Field(description="The text to replace, exactly as it stands in the file, without line numbers.")
    new_string: str = Field(description="The text to put in its place.")
    replace_all: bool = Field(default=False, description="Replace every occurrence instead of the only one.")

    @property
    def new_lines(self) -> list[str]:
        """The lines of the new text."""
        return lines.split(self.new_string)


def replaced(text: str, wanted: Replacement, located: Located, world: World) -> tuple[str, str]:
    """Return what is wrong with a replacement (empty: nothing) and the text it makes."""
    errors, path = world.context.errors.files, located.shown
    if not wanted.old_string:
        return errors.old_empty.format(path=path), text
    if wanted.old_string == wanted.new_string:
        return errors.old_is_new.format(path=path), text
    made = replace(text, wanted.old_string, wanted.new_string, replace_all=wanted.replace_all)
    if made.text is not None:
        return "", made.text
    if made.places:
        shown = change.places_shown(made.places, world)
        return errors.old_ambiguous.format(path=path, count=len(made.places), lines=shown), text
    place = change.place_shown(lines.split(wanted.old_string), text, world)
    if place:
        return errors.old_not_found_near.format(path=path, place=place), text
    return errors.old_not_found.format(path=path), text


def written(file: change.TextFile, text: str, new: str, world: World) -> Changes:
    """Write `text`, of which `new` was brought, over `file`; raises `ToolError` where nothing would change."""
    errors = world.context.errors.files
    data = change.encoded(text, new, file.decoded, file.located, world)
    if data == file.data:
        raise ToolError(errors.no_change.format(path=file.located.shown))
    world.root.replace(file.located, data, errors, before=file.data)
    return change.noted((change.changed(file.located, file, text, data),), world)
