"""`nbcontext demo`: the examples on a model that needs no key, opened in JupyterLab or checked without a browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbcontext import assets
from nbcontext.cleaning import VIEW
from nbcontext.display.twin import MARK
from nbcontext.errors import UsageError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from nbcontext.session import Session

FIRST = "01-first-session.ipynb"
_TIMEOUT_S = 120
"""Seconds that one cell of a checked notebook may take."""


def open_lab(port: int | None, *, browser: bool) -> int:
    """Open JupyterLab on a copy of the examples; return its exit status.

    Args:
        port: its port; None: a free one.
        browser: whether a browser is opened, or only the address printed.

    Raises:
        UsageError: JupyterLab is not installed.
    """
    _need("jupyterlab")
    folder = Path(tempfile.mkdtemp(prefix="nbcontext-demo-"))
    _copy(assets.top() / "examples", folder)
    command = [sys.executable, "-m", "jupyterlab", str(folder / FIRST), f"--ServerApp.root_dir={folder}"]
    command += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate", "--LabApp.news_url="]
    command += [f"--ServerApp.port={port}"] if port is not None else []
    command += [] if browser else ["--no-browser"]
    print(f"The examples are in {folder}; stop JupyterLab with Ctrl-C.", flush=True)  # noqa: T201 - told the person
    return subprocess.call(command)


def check() -> int:
    """Run every example in a kernel and print what was checked; return 1 where something does not hold."""
    _need("nbclient")
    failed = False
    with _workplace() as (folder, home):
        for notebook in sorted(folder.glob("*.ipynb")):
            for checked in _checked(notebook, home):
                failed |= not checked.holds
                print(f"{'ok  ' if checked.holds else 'FAIL'} {notebook.name}: {checked.what}", flush=True)  # noqa: T201
    return 1 if failed else 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    """One thing that was looked at."""

    what: str
    holds: bool


def _checked(notebook: Path, home: Path) -> Iterator[Checked]:
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    made = nbformat.reads(notebook.read_text(encoding="utf-8"), as_version=4)  # type: ignore[no-untyped-call]
    before = _names(home)
    try:
        NotebookClient(
            made,
            timeout=_TIMEOUT_S,
            resources={"metadata": {"path": str(notebook.parent)}},
            extra_arguments=["--IPKernelApp.log_level=40"],  # it warns of its own TCP ports, on loopback
        ).execute()
    except CellExecutionError as error:
        yield Checked(what=f"a cell failed: {str(error).strip().splitlines()[-1]}", holds=False)
        return
    cells = [cell for cell in made.cells if cell.cell_type == "code"]
    yield Checked(what=f"{len(cells)} cells ran without an error", holds=True)
    count = sum(len(cell.outputs) for cell in cells)
    yield Checked(what=f"{count} outputs can be read without a kernel", holds=all(map(_reads_alone, cells)))
    for name in sorted(_names(home) - before):
        yield from _session_checks(name)


def _reads_alone(cell: Any) -> bool:
    """Return whether each live view of a cell has its static form before it."""
    shown = [output.get("data", {}) for output in cell.outputs]
    views = [at for at, data in enumerate(shown) if VIEW in data]
    return all(at > 0 and str(shown[at - 1].get("text/html", "")).startswith(MARK) for at in views)


def _session_checks(name: str) -> Iterator[Checked]:
    from nbcontext.guard import first_break, form
    from nbcontext.session import Session
    from nbcontext.settings import Settings
    from nbcontext.store.verify import verify

    session = Session.resume(name, read_only=True)
    requests, results = session.requests, session.results
    kinds = ", ".join(f"{count} {kind}" for kind, count in results["kind"].value_counts().items())
    yield Checked(what=f"session {name}: {len(requests)} requests, {len(results)} results ({kinds})", holds=True)
    sent = [session.request(int(number)) for number in requests["request"]]
    breaks = [at for at, (one, two) in enumerate(pairwise(sent), 2) if first_break(form(one), form(two))]
    yield Checked(what=f"session {name}: every request goes on from the one before", holds=not breaks)
    cached, prompt = requests["cached_tokens"].sum(), requests["prompt_tokens"].sum()
    share = f"{cached:,} of {prompt:,} input tokens from the cache ({_source(session)})"
    yield Checked(what=f"session {name}: {share}", holds=len(requests) < 2 or cached > 0)  # noqa: PLR2004 - one is cold
    found = verify(Settings().open_store())
    yield Checked(what=f"session {name}: the store's hashes hold", holds=not found.faults)


def _source(session: Session) -> str:
    return "simulated" if session.model.startswith("replay/") else "as reported"


def _names(home: Path) -> set[str]:
    from nbcontext.settings import Settings

    return {row.name for row in Settings(home=home).open_store().sessions()}


@contextmanager
def _workplace() -> Iterator[tuple[Path, Path]]:
    """Give a copy of the examples and a store of its own, for this process and the kernels it starts."""
    folder = Path(tempfile.mkdtemp(prefix="nbcontext-check-"))
    home = folder / "home"
    before = os.environ.get("NBCONTEXT_HOME")
    os.environ["NBCONTEXT_HOME"] = str(home)
    try:
        _copy(assets.top() / "examples", folder / "examples")
        yield folder / "examples", home
    finally:
        if before is None:
            del os.environ["NBCONTEXT_HOME"]
        else:
            os.environ["NBCONTEXT_HOME"] = before
        shutil.rmtree(folder, ignore_errors=True)


def _copy(source: Traversable, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for item in source.iterdir():
        if item.is_dir():
            _copy(item, target / item.name)
        else:
            (target / item.name).write_bytes(item.read_bytes())


def _need(module: str) -> None:
    from importlib.util import find_spec

    if find_spec(module) is None:
        raise UsageError(f"The demo needs {module}: install it with pip install 'nbcontext[demo]'.")
