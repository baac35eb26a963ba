"""Defaults of sessions and the place where they are stored: what a person set, else the environment, else ours."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbcontext.history import Kind
    from nbcontext.plan import Mode
    from nbcontext.store import Store

MAX_STEPS = 100
"""Requests of one turn at most (interface: Defaults)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """What a session was made with; it stays."""

    without: tuple[str, ...] = ()
    """Tools that it does not have."""
    max_steps: int = MAX_STEPS
    """Requests of one turn at most."""
    window: int | None = None
    """Tokens of the model's window where the person named them."""
    mcp: tuple[str, ...] = ()
    """MCP servers that the person named, each as `NAME=COMMAND`."""
    only: tuple[str, ...] | None = None
    """Of a subagent: the tools that it is narrowed to; None: it is none."""

    @classmethod
    def loads(cls, text: str) -> Options:
        """Return the options that a row of the store holds."""
        found: dict[str, Any] = json.loads(text)
        lists = {name: tuple(found[name]) for name in ("without", "mcp", "only") if found.get(name) is not None}
        return cls(**{**found, **lists})

    def dumps(self) -> str:
        """Return them as JSON."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What a person may set once for all sessions."""

    model: str | None = None
    """None: `NBCONTEXT_MODEL`."""
    kind: Kind = "agent"
    mode: Mode = "ask"
    max_steps: int = MAX_STEPS
    is_strict: bool = False
    """Whether a request that breaks with the one before is an error instead of a cause (§10.5)."""
    home: Path | None = None
    """Folder of the store; None: `NBCONTEXT_HOME`, else the platform's user data folder."""
    store_url: str | None = None
    """A SQLAlchemy URL; None: `NBCONTEXT_STORE`, else SQLite in the home folder."""

    def model_or_environment(self, environment: Mapping[str, str] = os.environ) -> str | None:
        """Return the model that a new session has; None where none is configured."""
        return self.model or environment.get("NBCONTEXT_MODEL") or None

    def home_folder(self, environment: Mapping[str, str] = os.environ) -> Path:
        """Return the folder of the store."""
        if self.home is not None:
            return self.home
        if named := environment.get("NBCONTEXT_HOME"):
            return Path(named).expanduser()
        from platformdirs import user_data_path

        return user_data_path("nbcontext", appauthor=False)

    def cache_folder(self, environment: Mapping[str, str] = os.environ) -> Path:
        """Return the folder for what can be made again (the search index)."""
        if self.home is not None or environment.get("NBCONTEXT_HOME"):
            return self.home_folder(environment) / "cache"
        from platformdirs import user_cache_path

        return user_cache_path("nbcontext", appauthor=False)

    def open_store(self, environment: Mapping[str, str] = os.environ) -> Store:
        """Return the store, opened once a process, and again where its file turned out to be damaged.

        Raises:
            StoreError: it cannot be opened.
        """
        place = self.home_folder(environment), self.store_url_or_environment(environment)
        if (store := _open(*place)).is_left:
            _open.cache_clear()
            store = _open(*place)
        return store

    def store_url_or_environment(self, environment: Mapping[str, str] = os.environ) -> str | None:
        """Return the SQLAlchemy URL of the store; None: it is SQLite in the home folder."""
        return self.store_url or environment.get("NBCONTEXT_STORE") or None


@cache
def _open(home: Path, url: str | None) -> Store:
    from nbcontext.store import Store

    return Store(home, url)
