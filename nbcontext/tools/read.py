"""`read`: a text file's lines, or an image. Which lines are shown, and how, is the pipeline's (§1, decision 7).

An image is shown to a model that sees it; to any other it is what decision 4 calls binary: an error with kind and size.
"""

from __future__ import annotations

from pydantic import Field

from nbcontext import assets
from nbcontext.errors import ToolError
from nbcontext.execution.images import Picture, picture
from nbcontext.files import change
from nbcontext.files.root import Located
from nbcontext.outcome import FileRead, ImageRead
from nbcontext.tools.tool import Arguments, Effect, Tool
from nbcontext.world import World


class ReadArguments(Arguments):
    """Arguments of `read`."""

    path: str = Field(description="The file, relative to the root or absolute.")
    offset: int | None = Field(default=None, ge=1, description="First line to show, from 1.")
    limit: int | None = Field(default=None, ge=1, description="How many lines to show.")


def run(arguments: ReadArguments, world: World) -> FileRead | ImageRead:
    """Return the file's text, or the image; raises `ToolError` where it is neither (decision 4)."""
    located = change.locate(arguments.path, world)
    data = world.root.read(located, world.context.errors.files, world.context.files.max_bytes)
    try:
        file = change.text_of(located, data, world)
    except ToolError:
        shown = picture(data)
        if shown is None or not world.sees_images():
            raise
        return _image(arguments.path, located, shown, world)
    return FileRead(
        path=arguments.path,
        resolved=file.located.resolved,
        sha256=file.sha256,
        text=file.decoded.text,
        offset=arguments.offset or 1,
        limit=arguments.limit,
    )


def _image(path: str, located: Located, shown: Picture, world: World) -> ImageRead:
    rules, text = world.context.images, shown.described(world.context)
    fits = shown.fits(world.context)
    return ImageRead(
        path=path,
        resolved=located.resolved,
        sha256=change.sha256(shown.data),
        text=text if fits else rules.too_large.format(shown=text, bytes=rules.max_bytes, side=rules.max_side),
        images=(shown.url,) if fits else (),
    )


def tool() -> Tool:
    """Return the tool."""
    return Tool(
        name="read",
        description=assets.read("prompts", "tools", "read.md"),
        arguments=ReadArguments,
        run=run,
        effect=Effect.READ,
    )
