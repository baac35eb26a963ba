"""The files that ship with the package: `loop.json`, `prompts/`, `conformance/`.

In a wheel they lie in `nbcontext/_assets`, in a checkout or an editable install two folders up from this file.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING

from nbcontext.errors import AssetError

if TYPE_CHECKING:
    from nbcontext.loop import Loop


def top() -> Traversable:
    """Return the folder that holds `loop.json`.

    Raises:
        AssetError: neither place holds it; the installation is broken.
    """
    for place in (files("nbcontext") / "_assets", Path(__file__).resolve().parent.parent):
        if (place / "loop.json").is_file():
            return place
    raise AssetError("loop.json is not beside the package: the installation is broken, install nbcontext again.")


def read(*names: str) -> str:
    """Return the text of one shipped file, by the names of its folders and its own.

    Raises:
        AssetError: the file is missing or is no UTF-8.
    """
    place = top()
    for name in names:
        place = place / name
    try:
        return place.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        shown = "/".join(names)
        raise AssetError(f"{shown} cannot be read ({type(error).__name__}): install nbcontext again.") from None


@cache
def loop() -> Loop:
    """Return `loop.json` as records, read once a process (see `nbcontext.loop`)."""
    from nbcontext.loop import parse  # pydantic is heavy: not at import

    return parse(read("loop.json"))
