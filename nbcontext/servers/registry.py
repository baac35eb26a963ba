"""The servers of the process: one connection for each entry, shared by the sessions that name it."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from nbcontext.entry import Told
from nbcontext.servers import tools
from nbcontext.servers.config import ServerConfig
from nbcontext.servers.connection import Connection

if TYPE_CHECKING:
    from nbcontext.loop import Context
    from nbcontext.tools.tool import Tool


@dataclass(eq=False, kw_only=True, slots=True)
class Servers:
    """The servers of one session."""

    connections: tuple[Connection, ...] = ()
    """By the servers' names."""
    told: list[str] = field(default_factory=list)
    """What the person is still to be told of them."""
    _said: dict[str, str] = field(default_factory=dict)
    """By server, what the person was last told of why it is down."""

    def start(self, seconds: float) -> None:
        """Begin to connect to all of them."""
        if self.connections:
            _hold(self)
        for connection in self.connections:
            connection.connect(seconds)

    def wait(self, stop: threading.Event) -> None:
        """Wait for the tries to connect that are under way; what came of them the person is to be told."""
        for connection in self.connections:
            connection.wait(stop)
            down = "" if connection.is_up or stop.is_set() else connection.why
            if down and self._said.get(connection.name) != down:
                place = "Its tools keep their place." if connection.listing else "Nothing is known of its tools yet."
                self.told.append(f"The MCP server {connection.name} is not there: {down}. {place}")
            self._said[connection.name] = down

    def take_told(self) -> list[str]:
        """Return what the person is to be told, once."""
        told, self.told = self.told, []
        return told

    def tools(self, context: Context) -> tuple[Tool, ...]:
        """Return their tools."""
        return tools.tools(self.connections, context)

    def instructions(self) -> tuple[Told, ...]:
        """Return what those that are up say, in the order of their names."""
        return tuple(
            Told(name=each.name, text=each.listing.instructions)
            for each in self.connections
            if each.is_up and each.listing and each.listing.instructions
        )

    def close(self) -> None:
        """Let go of them: those that no other session has are closed; a call connects one again."""
        _release(self)


def servers(
    configs: Iterable[ServerConfig],
    context: Context,
    *,
    environment: Callable[[], Mapping[str, str]],
    folder: Path,
    told: Iterable[str] = (),
) -> Servers:
    """Return the servers that `configs` name, by their names; nothing is connected yet.

    Args:
        configs: the entries.
        context: the rules.
        environment: gives the environment of their commands, without providers' keys.
        folder: where what they last told is kept.
        told: what the person is to be told of other entries.
    """
    with _lock:
        found = [
            _connections.setdefault(
                config.key,
                Connection(config, rules=context.mcp, cut=context.cut, environment=environment, folder=folder),
            )
            for config in sorted(configs, key=lambda config: config.name)
        ]
    return Servers(connections=tuple(found), told=list(told))


_lock = threading.Lock()
_connections: dict[str, Connection] = {}
_in_use: set[Servers] = set()


def _hold(held: Servers) -> None:
    with _lock:
        if not _in_use:
            atexit.unregister(_close_all)
            atexit.register(_close_all)
        _in_use.add(held)


def _release(left: Servers) -> None:
    with _lock:
        _in_use.discard(left)
        wanted = {connection for held in _in_use for connection in held.connections}
        unwanted = [connection for connection in left.connections if connection not in wanted]
    for connection in unwanted:
        if connection.is_used:
            connection.close()


def _close_all() -> None:
    """Leave no process behind when the interpreter ends."""
    with _lock:
        used = [connection for connection in _connections.values() if connection.is_used]
    # Longer than a connection takes to end: an interpreter that ends waits for nothing for ever.
    wait([connection.close() for connection in used], timeout=max((each.close_s for each in used), default=0) + 1)
