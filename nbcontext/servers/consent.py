"""Whether a project's servers may be run: asked of the person once for each entry, and remembered by its hash."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from nbcontext.plain import visible
from nbcontext.servers.config import ServerConfig

_FILE = "mcp-consent.json"
_HASH = re.compile(r"[0-9a-f]{64}")


def allowed(
    servers: Iterable[ServerConfig], file: Path, home: Path, ask: Callable[[str], str | None]
) -> tuple[tuple[ServerConfig, ...], tuple[str, ...]]:
    """Return the servers that may be run, and what the person is to be told of the others.

    Args:
        servers: what a project's list names.
        file: that list.
        home: the folder in which consent is remembered.
        ask: asks the person; gives None where there is nobody to ask.
    """
    given = _remembered(home)
    run: list[ServerConfig] = []
    told: list[str] = []
    for server in servers:
        if server.key not in given:
            words = ask(_question(server, file))
            if words is None or words.strip().lower() not in ("y", "yes"):
                why = "nobody is here to be asked about it" if words is None else "you did not allow it"
                told.append(f"The MCP server {visible(server.name)} of {file} is not run: {why}.")
                continue
            given |= {server.key}
            _remember(home, given)
        run.append(server)
    return tuple(run), tuple(told)


def _question(server: ServerConfig, file: Path) -> str:
    lines = [f"{file} names the MCP server {visible(server.name)}:", f"  {visible(server.shown)}"]
    lines += (f"  with {visible(name)}={visible(value)}" for name, value in (*server.environment, *server.headers))
    return "\n".join([*lines, "Run it, now and in later sessions here? [y]es, [n]o: "])


def _remembered(home: Path) -> set[str]:
    """Return the hashes of the entries that the person allowed; none where the file is damaged."""
    try:
        found = json.loads((home / _FILE).read_text(encoding="ascii"))
    except (OSError, ValueError, RecursionError):
        return set()
    return (
        {item for item in found if isinstance(item, str) and _HASH.fullmatch(item)}
        if isinstance(found, list)
        else set()
    )


def _remember(home: Path, keys: Iterable[str]) -> None:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = home / f".{_FILE}.{os.getpid()}.part"
    with os.fdopen(os.open(beside, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="ascii") as out:
        json.dump(sorted(keys), out)
    beside.replace(home / _FILE)
