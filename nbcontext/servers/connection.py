"""The connection to one server: begun and ended from any thread, and never waited for without an end.

A task in the loop's thread holds it from the first byte to the last, since the SDK must be left where it was entered.
What happens to it is state that other threads read: `is_up`, `listing`, `why`.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from nbcontext.servers import listing as listings
from nbcontext.servers import loop
from nbcontext.servers.config import ServerConfig, expanded
from nbcontext.servers.listing import ListedTool, Listing

if TYPE_CHECKING:
    import httpx2
    from mcp import Client
    from mcp.client.session import IncomingMessage
    from mcp.types import CallToolResult

    from nbcontext.loop_tools import Mcp

_LOOK_S = 0.05
"""How often a waiting call looks whether it is to stop."""
_MOST_PAGES = 100
"""Pages of a list of tools that are asked for: a server that never ends it is no reason to wait for ever."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallFailed:
    """A call that gave no result."""

    kind: Literal["down", "ended", "no_answer", "refused", "stopped"]
    """`down`: it was never sent; `ended`: the server ended meanwhile; `refused`: the server answered with an error."""
    why: str = ""


class Connection:
    """One server of the process."""

    def __init__(
        self, config: ServerConfig, *, rules: Mcp, cut: str, environment: Callable[[], Mapping[str, str]], folder: Path
    ) -> None:
        """Make it; nothing is connected.

        Args:
            config: how the server is reached.
            rules: the times and sizes.
            cut: ends a text that was cut.
            environment: gives the environment of a command, without providers' keys; its variables are also what
                `${NAME}` of the entry stands for where it is not a key.
            folder: where its listing and its command's standard error are kept.
        """
        self.config = config
        self.why = ""
        """Why it is not up: what the person is told; empty before the first try."""
        self._rules, self._cut, self._environment, self._folder = rules, cut, environment, folder
        self._file = folder / f"{config.key}.json"
        self.listing: Listing | None = listings.load(self._file)
        """What the server offers, as it last told; None: it never did."""
        self._lock = threading.Lock()
        self._ready: Future[bool] | None = None
        self._client: Client | None = None
        self._held: dict[asyncio.Task[None], tuple[asyncio.Event, Future[bool]]] = {}
        """The tasks that hold a connection, the present one and those that are ending, each with what ends it and what
        tells whether it came up."""

    @property
    def name(self) -> str:
        """The server's name."""
        return self.config.name

    @property
    def close_s(self) -> float:
        """Seconds that it takes to end at most."""
        return self._rules.close_s

    @property
    def is_up(self) -> bool:
        """Whether a call can be sent to it now."""
        return self._client is not None

    @property
    def is_used(self) -> bool:
        """Whether it was ever connected or tried to be: there may be something to close."""
        return self._ready is not None

    def connect(self, seconds: float) -> Future[bool]:
        """Begin to connect, unless it is up or being connected; return what tells whether it came up in time."""
        with self._lock:
            if self._ready is None or (self._ready.done() and not self.is_up):
                self._ready = Future()
                loop.run(self._hold(self._ready, seconds))
            return self._ready

    def wait(self, stop: threading.Event) -> bool:
        """Wait for a try to connect that is under way; return whether the server is up. Ends when `stop` is set."""
        ready = self._ready
        while ready is not None and not ready.done() and not stop.is_set():
            wait([ready], timeout=_LOOK_S)
        return self.is_up

    def call(self, tool: str, arguments: Mapping[str, Any], stop: threading.Event) -> CallToolResult | CallFailed:
        """Return what a call gave; a server that is gone, silent or that refuses it is a value too."""
        client = self._client
        if client is None:
            return CallFailed(kind="down", why=self.why)
        answer = loop.run(client.call_tool(tool, dict(arguments)))
        until = time.monotonic() + self._rules.call_s
        while not wait([answer], timeout=_LOOK_S).done:
            if stop.is_set() or time.monotonic() > until:
                answer.cancel()
                return CallFailed(kind="stopped" if stop.is_set() else "no_answer")
        error = answer.exception()
        if error is None:
            return answer.result()
        if _is_end(error) or self._client is not client:
            if self._client is client:
                self._client = None
                loop.event_loop().call_soon_threadsafe(self._leave_connected)
            return CallFailed(kind="ended", why=_words(error))
        return CallFailed(kind="refused", why=_words(error))

    def close(self) -> Future[None]:
        """End the connection; return what is done when no process of it is left."""
        with self._lock:  # from now on: whoever connects again at once gets another one, and not this one's end
            if self._client is not None:
                self._client, self.why = None, "it was closed"
            return loop.run(self._close())

    # -- in the loop's thread

    async def _hold(self, ready: Future[bool], seconds: float) -> None:
        """Connect and stay connected until the server ends or it is left."""
        ended = asyncio.Event()
        task = asyncio.ensure_future(self._live(ready, ended))
        self._held[task] = ended, ready

        def give_up() -> None:
            if not ready.done():
                self.why = f"it did not answer within {seconds:g} s"
                ready.set_result(False)
                task.cancel()

        timer = asyncio.get_running_loop().call_later(seconds, give_up)
        await asyncio.wait([task])
        timer.cancel()
        del self._held[task]
        error = None if task.cancelled() else task.exception()
        if self._ready is ready and error is not None:
            self.why = _words(error)
        if not ready.done():
            ready.set_result(False)

    async def _live(self, ready: Future[bool], ended: asyncio.Event) -> None:
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(await self._made_client(stack, ended))
            listing = await self._listed(client)
            if ready.done():  # too late: nobody waits for it
                return
            self.listing, self.why, self._client = listing, "", client
            listings.keep(self._file, listing)
            ready.set_result(True)
            try:
                await ended.wait()
            finally:
                self.why = "it ended"
                self._client = None if self._client is client else self._client

    async def _made_client(self, stack: AsyncExitStack, ended: asyncio.Event) -> Client:
        from mcp import Client, types

        _quieten()
        from nbcontext.servers.transport import Watched

        tasks: set[asyncio.Task[None]] = set()

        async def heard(message: IncomingMessage) -> None:
            if isinstance(message, types.ToolListChangedNotification):
                # Not awaited here: the list is asked for on the connection that gave the message.
                task = asyncio.ensure_future(self._list_again(client))
                tasks.add(task)
                task.add_done_callback(tasks.discard)

        transport = self._http(stack) if self.config.url else self._stdio(stack)
        client = Client(Watched(await transport, ended.set), message_handler=heard, cache=None)
        return client

    async def _stdio(self, stack: AsyncExitStack) -> Any:
        from mcp import StdioServerParameters, stdio_client

        environment = self._environment()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        log = os.open(self._folder / f"{self.config.key}.log", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        errors = stack.enter_context(os.fdopen(log, "w", encoding="utf-8"))
        own = {name: expanded(value, os.environ) for name, value in self.config.environment}
        parameters = StdioServerParameters(
            command=expanded(self.config.command, os.environ),
            args=[expanded(argument, os.environ) for argument in self.config.arguments],
            env={**environment, **own},
            cwd=self.config.root,
            encoding_error_handler="replace",
        )
        return stdio_client(parameters, errlog=errors)

    async def _http(self, stack: AsyncExitStack) -> Any:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        made: httpx2.AsyncClient = httpx2.AsyncClient(
            headers={name: expanded(value, os.environ) for name, value in self.config.headers},
            timeout=httpx2.Timeout(self._rules.connect_s, read=self._rules.call_s),
        )
        client = await stack.enter_async_context(made)
        return streamable_http_client(expanded(self.config.url, os.environ), http_client=client)

    async def _listed(self, client: Client) -> Listing:
        most, found = self._rules.text_chars, {}
        cursor: str | None = None
        pages = _MOST_PAGES if client.server_capabilities.tools is not None else 0
        for _ in range(pages):
            page = await client.list_tools(cursor=cursor)
            for tool in page.tools:
                found[tool.name] = ListedTool(
                    name=tool.name,
                    description=listings.clipped(tool.description or "", most, self._cut),
                    schema=listings.canonical(tool.input_schema),
                    only_reads=bool(tool.annotations and tool.annotations.read_only_hint),
                )
            cursor = page.next_cursor
            if cursor is None:
                break
        told = listings.clipped((client.instructions or "").strip(), most, self._cut)
        return Listing(tools=tuple(found[name] for name in sorted(found)), instructions=told)

    async def _list_again(self, client: Client) -> None:
        task = asyncio.ensure_future(self._listed(client))
        await asyncio.wait([task], timeout=self._rules.connect_s)
        if task.done() and not task.cancelled() and task.exception() is None:
            self.listing = task.result()
            listings.keep(self._file, self.listing)
        else:
            task.cancel()

    def _leave_connected(self) -> None:
        """Have what holds a connection end it by itself: a cancelled one could leave its process behind."""
        for ended, ready in self._held.values():
            if ready.done():
                ended.set()

    async def _close(self) -> None:
        held = set(self._held)
        self._leave_connected()
        for task, (_, ready) in self._held.items():
            if not ready.done():
                task.cancel()  # a try to connect is given up
        if held:
            _, left = await asyncio.wait(held, timeout=self._rules.close_s)
            for task in left:
                task.cancel()


def _quieten() -> None:
    """Have what the SDK logs go where the person's own logging sends it, and nowhere by itself."""
    import logging

    for name in ("mcp", "client"):
        logging.getLogger(name).addHandler(logging.NullHandler())


def _is_end(error: BaseException) -> bool:
    """Return whether an error of a call says that the connection is gone, or that the server forgot the session."""
    import anyio
    from mcp import MCPError
    from mcp.types import CONNECTION_CLOSED, INVALID_REQUEST

    if isinstance(error, MCPError):
        return error.code == CONNECTION_CLOSED or (
            error.code == INVALID_REQUEST and error.message == "Session terminated"
        )
    return isinstance(error, anyio.ClosedResourceError | anyio.BrokenResourceError | OSError | asyncio.CancelledError)


def _words(error: BaseException | None) -> str:
    """Return an error's first line; of a group, its first error's."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if error is None:
        return "it ended"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    said = str(error).strip().split("\n", 1)[0].rstrip(".")
    return said or type(error).__name__
