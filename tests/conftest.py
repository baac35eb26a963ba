"""What all tests share: nothing of the user's is touched, and what CI must have is not skipped there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the benchmarks out unless they are named: `pytest tests/bench`."""
    bench = Path(__file__).parent / "bench"
    named = any(
        bench in (Path(arg.split("::")[0]).resolve(), *Path(arg.split("::")[0]).resolve().parents)
        for arg in config.args
    )
    return True if collection_path == bench and not named else None


def lacking(reason: str) -> None:
    """Skip a test that needs what this machine lacks; with `CI` set it fails instead."""
    if os.environ.get("CI"):
        pytest.fail(f"CI must have it: {reason}")
    pytest.skip(reason)


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test a store of its own, and no configuration of the user's."""
    monkeypatch.setenv("NBCONTEXT_HOME", str(tmp_path_factory.mktemp("home")))
    for name in ("NBCONTEXT_MODEL", "NBCONTEXT_STORE"):
        monkeypatch.delenv(name, raising=False)
