"""Runs cases on the real code, each in a temporary folder with a store of its own."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nbcontext.conformance import steps, tools
from nbcontext.conformance.comparison import Comparison
from nbcontext.conformance.difference import Difference
from nbcontext.conformance.form import Case
from nbcontext.conformance.stage import Stage
from nbcontext.conformance.workspace import Workspace
from nbcontext.errors import NbcontextError
from nbcontext.search import ripgrep
from nbcontext.settings import Settings


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """What came of one case."""

    case: Case
    difference: Difference | None = None
    """The first difference; None: it passed, or was not run."""
    missing: str = ""
    """What it needs and this machine has not; empty: it was run."""


def run(case: Case) -> Ran:
    """Run one case; nothing outside its temporary folder is touched."""
    if lacking := missing(case):
        return Ran(case=case, missing=lacking)
    with tempfile.TemporaryDirectory(prefix="nbcontext-", ignore_cleanup_errors=True) as given:
        folder = Path(given).resolve()
        workspace = Workspace(folder / "workspace")
        root = workspace.root
        settings = Settings(home=folder / "home", store_url=f"sqlite:///{folder / 'sessions.sqlite'}")
        with tools.environment(case.session.environment, root), tools.registered(case, root):
            try:
                return Ran(case=case, difference=_first(case, workspace, settings))
            finally:
                settings.open_store().close()


def missing(case: Case) -> str:
    """Return what a case needs and this machine has not; empty: nothing."""
    return next((need for need in case.needs if not NEEDS[need]()), "")


def _first(case: Case, workspace: Workspace, settings: Settings) -> Difference | None:
    """Return the first difference of a case; after one, the steps that follow would only repeat it."""
    where = "setting up"
    try:
        workspace.folder.mkdir()
        for path, file in case.files.items():
            workspace.put(path, file)
        for path, file in case.home.items():
            Workspace(settings.home_folder()).put(path, file)
        stage = Stage(case, workspace, settings)
        comparison = Comparison(stage)
        with contextlib.closing(stage):
            for number, step in enumerate(case.steps, 1):
                where = f"step {number} ({step.do})"
                steps.run(step, comparison, where)
                if comparison.differences:
                    return comparison.differences[0]
    except (NbcontextError, OSError, UnicodeError) as error:
        return Difference(where=where, expected="no error", got=f"{type(error).__name__}: {error}")
    return None


def _has_links() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        try:
            (Path(folder) / "link").symlink_to("target")
        except (OSError, NotImplementedError):
            return False
    return True


NEEDS: Final[dict[str, Callable[[], bool]]] = {
    "bash": lambda: shutil.which("bash") is not None,
    "python3": lambda: shutil.which("python3") is not None,
    "ripgrep": lambda: ripgrep.find() is not None,
    "links": _has_links,
}
"""What a case may need of a machine, and how that is found out."""
