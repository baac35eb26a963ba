"""The world that the tests of search tools and commands run in: real files in a folder of the test."""

import os
import threading
from pathlib import Path

from nbcontext.assets import loop
from nbcontext.files.root import Root
from nbcontext.hygiene.table import DedupeTable
from nbcontext.world import World


class NoShelf:
    def total(self, number):
        return None

    def lines(self, number, offset):
        return iter(())

    def stand_in(self, line):
        return None


def world(folder: Path, *, namespace=None, stop: threading.Event | None = None, cache: Path | None = None) -> World:
    return World(
        root=Root(folder),
        context=loop().context,
        table=DedupeTable(),
        shelf=NoShelf(),
        cache_folder=cache or folder.parent / "cache",
        environment=dict(os.environ),
        namespace=namespace,
        stop=stop or threading.Event(),
    )


def fill(folder: Path, **files: str | bytes) -> Path:
    """Write files; `__` in a key stands for `/` and a trailing `_py` for `.py`."""
    for key, content in files.items():
        write(folder, key.replace("__", "/").replace("_py", ".py"), content)
    return folder


def write(folder: Path, name: str, content: str | bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
