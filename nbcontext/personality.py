"""Personalities: prompts that a person chooses, ours in `prompts/personalities` and their own in the home folder."""

from __future__ import annotations

from pathlib import Path

from nbcontext import assets
from nbcontext.errors import UsageError

FOLDER = "personalities"


def names(home: Path) -> list[str]:
    """Return the names that may be chosen, sorted."""
    ours = (assets.top() / "prompts" / FOLDER).iterdir()
    own = (home / FOLDER).iterdir() if (home / FOLDER).is_dir() else ()
    return sorted({Path(place.name).stem for place in (*ours, *own) if place.name.endswith(".md")})


def text(name: str, home: Path) -> str:
    """Return a personality's prompt, the person's own before ours; empty for the empty name.

    Raises:
        UsageError: there is none of that name, or it cannot be read.
    """
    if not name:
        return ""
    if name not in names(home):
        raise UsageError(
            f"There is no personality {name!r}; there are {', '.join(names(home))}. "
            f"One of your own is a file {home / FOLDER / f'{name}.md'}."
        )
    own = home / FOLDER / f"{name}.md"
    if not own.is_file():
        return assets.read("prompts", FOLDER, f"{name}.md")
    try:
        return own.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{own} cannot be read ({error}): mend it, or move it away.") from None
