"""`display`: a result, a table, an image or a text, shown to the person where a front end can show something."""

from __future__ import annotations

import csv
import io
from itertools import islice
from typing import TYPE_CHECKING

from pydantic import Field

from nbcontext import assets, lines
from nbcontext.errors import ToolError
from nbcontext.execution.images import picture
from nbcontext.exhibit import Exhibit, ShownImage, ShownTable, ShownText
from nbcontext.files import change
from nbcontext.files.nearest import clipped
from nbcontext.outcome import NotStored, Outcome, Text
from nbcontext.tools import recall
from nbcontext.tools.tool import Arguments, Effect, Tool
from nbcontext.world import World

if TYPE_CHECKING:
    from nbcontext.loop_tools import Displays

_DELIMITERS = {".csv": ",", ".tsv": "\t"}


class DisplayArguments(Arguments):
    """Arguments of `display`."""

    result: str | None = Field(default=None, description="Id of a result, such as #0012.", coerce_numbers_to_str=True)
    path: str | None = Field(default=None, description="A file, relative to the root or absolute: an image, CSV, text.")


def run(arguments: DisplayArguments, world: World) -> Outcome:
    """Show something; raises `ToolError` where there is nothing to show, or nowhere."""
    if world.display is None:
        raise ToolError(world.context.unavailable.display.format(tool="display"), kind="unavailable")
    if (arguments.result is None) is (arguments.path is None):
        raise ToolError(world.context.errors.display.one_of)
    if arguments.path is not None:
        return _file(arguments.path, world)
    found = recall.run(recall.RecallArguments(id=arguments.result or ""), world)
    if isinstance(found, NotStored):
        return found
    shown_id = world.context.id(found.of)
    most = world.context.display.lines
    text = "\n".join(islice(found.lines, most))
    world.display(Exhibit(title=shown_id, shown=ShownText(text=text, more_lines=max(found.total - most, 0))))
    return Text(text=world.context.display.result.format(id=shown_id))


def _file(path: str, world: World) -> Text:
    rules, located = world.context.display, change.locate(path, world)
    data = world.root.read(located, world.context.errors.files, world.context.files.max_bytes)
    if len(data) > rules.max_bytes:
        said = world.context.errors.display.too_large
        raise ToolError(said.format(path=located.shown, size=len(data), most=rules.max_bytes))
    shown: ShownImage | ShownTable | ShownText
    try:
        text = change.text_of(located, data, world).decoded.text
    except ToolError:
        image = picture(data)
        if image is None:
            raise
        shown = ShownImage(type=image.type, data=data, name=image.described(world.context))
        what = rules.image.format(kind=shown.name.rstrip("."))
    else:
        shown, what = _text_or_table(text, located.resolved, world)
    assert world.display is not None  # noqa: S101 - looked at above
    world.display(Exhibit(title=located.shown, shown=shown))
    return Text(text=rules.file.format(path=located.shown, what=what))


def _text_or_table(text: str, path: str, world: World) -> tuple[ShownTable | ShownText, str]:
    rules = world.context.display
    delimiter = next((sign for end, sign in _DELIMITERS.items() if path.lower().endswith(end)), None)
    if delimiter and (found := _table(text, delimiter, rules)):
        table, rows, columns = found
        return table, rules.table.format(rows=rows, columns=columns)
    total = lines.count(text)
    first = "\n".join(islice(lines.iterate(text, 1), rules.lines))
    return ShownText(text=first, more_lines=max(total - rules.lines, 0)), rules.text.format(lines=total)


def _table(text: str, delimiter: str, rules: Displays) -> tuple[ShownTable, int, int] | None:
    """Return the first rows of a table, and how many rows and columns it has; None where the text is none."""
    kept: list[list[str]] = []
    count = columns = 0
    try:
        for row in csv.reader(io.StringIO(text.replace("\0", "␀"), newline=""), delimiter=delimiter):
            if not row:
                continue
            count, columns = count + 1, max(columns, len(row))
            if len(kept) <= rules.rows:
                kept.append([clipped(cell, rules.cell_chars) for cell in row[: rules.columns]])
    except csv.Error:
        return None
    if not kept:
        return None
    width = min(columns, rules.columns)
    heads, *rows = [(*row, *[""] * (width - len(row))) for row in kept]
    more = max(count - len(kept), 0)
    made = ShownTable(heads=heads, rows=tuple(rows), more_rows=more, more_columns=columns - width)
    return made, count - 1, columns


def tool() -> Tool:
    """Return the tool."""
    return Tool(
        name="display",
        description=assets.read("prompts", "tools", "display.md"),
        arguments=DisplayArguments,
        run=run,
        effect=Effect.READ,
        on_main=True,
        requires="display",
    )
