"""The files by which a person tells every session what to mind: `AGENTS.md` and `CLAUDE.md`, and their own memory file.

Their order is fixed (§10.1): from the repository's top down to the root, in each folder `AGENTS.md` before `CLAUDE.md`,
the memory file last. Without a repository only the root's are taken. A file reached twice (one a link to the other)
is told once.
"""

from __future__ import annotations

import os
from pathlib import Path

from nbcontext.errors import UsageError
from nbcontext.files.encoding import NotTextError, decode

NAMES = ("AGENTS.md", "CLAUDE.md")
MEMORY = "memory.md"
"""Name of the person's memory file in the home folder of the store, and what it is told by."""


def found(root: Path, home: Path) -> dict[str, str]:
    """Return the files that there are, by the names they are told by (relative to the root), in their order.

    Args:
        root: the session's folder.
        home: the folder of the memory file.

    Raises:
        UsageError: a file cannot be read, or is no text.
    """
    texts: dict[str, str] = {}
    seen: set[Path] = set()
    places = [(folder / name, os.path.relpath(folder / name, root)) for folder in _folders(root) for name in NAMES]
    for place, shown in (*places, (home / MEMORY, MEMORY)):
        if not place.is_file() or place.resolve() in seen:
            continue
        seen.add(place.resolve())
        texts[Path(shown).as_posix()] = _read(place)
    return texts


def _folders(root: Path) -> list[Path]:
    """Return the folders from the repository's top down to the root; the root alone where there is no repository."""
    up = [root, *root.parents]
    top = next((place for place, folder in enumerate(up) if (folder / ".git").exists()), 0)
    return up[top::-1]


def _read(place: Path) -> str:
    try:
        return decode(place.read_bytes()).text
    except OSError as error:
        raise UsageError(f"{place} cannot be read ({error.strerror}): mend it, or move it away.") from None
    except NotTextError as error:
        raise UsageError(f"{place} is no text ({error.kind}): mend it, or move it away.") from None
