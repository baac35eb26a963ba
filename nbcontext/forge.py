"""Whether a project is connected to a forge: its repository names a remote."""

from __future__ import annotations

from pathlib import Path


def is_connected(root: Path) -> bool:
    """Return whether the repository that `root` lies in has a remote; False where there is none that can be read."""
    import pygit2

    try:
        found = pygit2.discover_repository(str(root))
        return found is not None and len(list(pygit2.Repository(found).remotes.names())) > 0
    except pygit2.GitError:
        return False
