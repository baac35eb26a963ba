"""What tests run against instead of a model: servers that play a script, and a model without a server.

The servers refuse what real ones refuse. Shipped, so that what is built on nbcontext can be tested the same way.
"""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self

from nbcontext.model.failures import Stopped
from nbcontext.model.reply import CallPiece, Completion, Finished, Piece, ReasoningPiece, TextPiece
from nbcontext.request import Request, common
from nbcontext.testing import scripted, wellformed
from nbcontext.testing.scripted import Scripted
from nbcontext.usage import Usage

__all__ = ["AnthropicServer", "Scripted", "ScriptedModel", "ScriptedServer"]

_CHARS_A_TOKEN: Final = 4


class ScriptedServer:
    """An OpenAI-compatible server on the loop-back interface; a context manager.

    It answers one scripted reply after the other, the last one over and over. A request that is not well-formed, or
    does not go on from the one before, is refused with HTTP 400 and noted in `violations`.
    """

    path: str = "/v1/chat/completions"

    def __init__(self, script: Sequence[Scripted], *, extends: bool = True) -> None:
        """Make it; `extends=False` takes requests that do not go on from the one before."""
        self.script = list(script)
        self.requests: list[dict[str, Any]] = []
        """Every body, as it came."""
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        """Of every request, names in lower case."""
        self.violations: list[str] = []
        self.hung_up = threading.Event()
        """Set when a client left while the server was silent or writing."""
        self._extends = extends
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._before: dict[str, Any] | None = None
        self._prompts: list[str] = []
        self._answered = 0
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.scripted = self

    @property
    def api_base(self) -> str:
        """The base URL for a session."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def new_epoch(self) -> None:
        """Permit the next request not to go on from the one before (a compaction, an undo, another session)."""
        self._before = None

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()

    def faults(self, body: Mapping[str, Any]) -> list[str]:
        """Return what is wrong with a body by itself."""
        return wellformed.openai_faults(body)

    def usage(self, prompt: str, cached_chars: int, written: int) -> dict[str, Any]:
        """Return the computed report."""
        total = -(-len(prompt) // _CHARS_A_TOKEN)
        return {
            "prompt_tokens": total,
            "completion_tokens": written,
            "total_tokens": total + written,
            "prompt_tokens_details": {"cached_tokens": cached_chars // _CHARS_A_TOKEN},
        }

    def lines(self, reply: Scripted, usage: Mapping[str, Any]) -> Iterator[str]:
        """Yield the stream's events as text."""
        for chunk in scripted.chunks(reply, usage):
            yield f"data: {json.dumps(chunk)}\n\n"
        yield "data: [DONE]\n\n"

    def error_body(self, status: int, message: str) -> dict[str, Any]:
        """Return the body of an error's response, which is also the data of an error event."""
        return {"error": {"message": message, "type": "scripted", "code": status}}

    def take(self, raw: bytes, headers: Mapping[str, str]) -> tuple[Scripted, dict[str, Any]]:
        """Record a request; return the reply that is its turn and the computed report."""
        body = json.loads(raw)
        with self._lock:
            self.requests.append(body)
            self.bodies.append(raw)
            self.headers.append({name.lower(): value for name, value in headers.items()})
            faults = self.faults(body)
            broken = wellformed.prefix_fault(body, self._before) if self._before and self._extends else None
            if faults or broken:
                self.violations += [*faults, *([broken] if broken else [])]
                return Scripted(status=400, error="; ".join([*faults, broken or ""])), {}
            self._before = body
            reply = self.script[min(self._answered, len(self.script) - 1)]
            self._answered += 1
            prompt = wellformed.prompt(body)
            cached = max((common(prompt, earlier) for earlier in self._prompts), default=0)
            if reply.status == 200:  # noqa: PLR2004 - HTTP's own
                self._prompts.append(prompt)
        written = len(reply.text) + len(reply.reasoning) + sum(len(call.arguments) for call in reply.calls)
        return reply, self.usage(prompt, cached, max(1, written // _CHARS_A_TOKEN))

    def silent(self, connection: socket.socket) -> None:
        """Wait until the server is closed or the client leaves."""
        while not self._closing.wait(0.02):
            readable, _, _ = select.select([connection], [], [], 0)
            if readable:
                try:
                    left = not connection.recv(1, socket.MSG_PEEK)
                except OSError:
                    left = True
                if left:
                    self.hung_up.set()
                    return


class AnthropicServer(ScriptedServer):
    """A server of Anthropic's Messages API; its `api_base` goes without `/v1`."""

    path = "/v1/messages"

    @property
    def api_base(self) -> str:
        """The base URL for a session."""
        return super().api_base.removesuffix("/v1")

    def faults(self, body: Mapping[str, Any]) -> list[str]:
        """Return what is wrong with a body by itself."""
        return wellformed.anthropic_faults(body)

    def usage(self, prompt: str, cached_chars: int, written: int) -> dict[str, Any]:
        """Return the computed report: input tokens without the cached ones."""
        total, cached = -(-len(prompt) // _CHARS_A_TOKEN), cached_chars // _CHARS_A_TOKEN
        return {
            "input_tokens": 1,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": max(0, total - cached - 1),
            "output_tokens": written,
        }

    def lines(self, reply: Scripted, usage: Mapping[str, Any]) -> Iterator[str]:
        """Yield the stream's events as text."""
        for event in scripted.events(reply, usage):
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"

    def error_body(self, status: int, message: str) -> dict[str, Any]:
        """Return the body of an error's response, which is also the data of an error event."""
        kinds = {401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}
        return {"type": "error", "error": {"type": kinds.get(status, "invalid_request_error"), "message": message}}


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    scripted: ScriptedServer

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the base class gives them
        """Note that a client left; nothing is printed."""
        self.scripted.hung_up.set()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it
        """Print nothing."""

    def do_POST(self) -> None:
        """Answer one request."""
        server = self.server.scripted
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.split("?")[0] != server.path:
            self._send(404, server.error_body(404, f"no such path: {self.path}"), {})
            return
        reply, usage = server.take(raw, dict(self.headers.items()))
        if reply.status != 200:  # noqa: PLR2004 - HTTP's own
            key = self.headers.get("Authorization", "").removeprefix("Bearer ") or self.headers.get("x-api-key", "")
            message = reply.error.replace("{key}", key)
            self._send(reply.status, server.error_body(reply.status, message), reply.headers)
            return
        if reply.hang_after == -1:
            server.silent(self.connection)
            self.close_connection = True
            return
        self._stream(server, reply, usage)

    def _stream(self, server: ScriptedServer, reply: Scripted, usage: Mapping[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()
        for number, line in enumerate(server.lines(reply, usage)):
            if number == reply.hang_after:
                server.silent(self.connection)
                return
            if number == reply.cut_after:
                return
            if number == reply.error_after:
                self._write(f"event: error\ndata: {json.dumps(server.error_body(529, reply.error))}\n\n")
                break
            if reply.delay_s:
                time.sleep(reply.delay_s)
            self._write(line)
        self.wfile.write(b"0\r\n\r\n")

    def _write(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _send(self, status: int, body: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


class ScriptedModel:
    """A model without a server: the same `stream` as the real ones, one scripted reply after the other.

    An entry of the script is a reply, an error to raise, or a function of the request that returns either.
    """

    def __init__(
        self,
        script: Sequence[Completion | Exception | Callable[[Request], Completion | Exception]],
        *,
        vision: bool = False,
    ) -> None:
        """Make it; `vision` is whether it sees images."""
        self.script = list(script)
        self.vision = vision
        self.requests: list[Request] = []
        self.faults: list[str] = []
        """What was wrong with the requests (wellformed.py)."""

    def stream(self, request: Request, stop: threading.Event) -> Iterator[Piece]:
        """Yield the next reply's pieces, last of all `Finished`.

        Raises:
            Stopped: `stop` was set; the text given out is `partial`.
            Exception: the script's.
        """
        self.requests.append(request)
        body = {"messages": list(request.messages), "tools": list(request.tools)}
        self.faults += wellformed.openai_faults(json.loads(json.dumps(body)))
        entry = self.script[min(len(self.requests), len(self.script)) - 1]
        reply = entry(request) if callable(entry) else entry
        if isinstance(reply, Exception):
            raise reply
        given: list[str] = []
        for piece in _pieces(reply):
            if stop.is_set():
                raise Stopped("The answer was stopped.", partial=Completion(text="".join(given)))
            if isinstance(piece, TextPiece):
                given.append(piece.text)
            yield piece
        yield Finished(reply=reply, ttft_ms=0, ms=0)

    def provider_of(self, model: str, api_base: str | None) -> str:  # noqa: ARG002 - as the real one's
        """Return what stands before the model's first slash."""
        return model.partition("/")[0]

    def window(self, model: str, api_base: str | None) -> int | None:  # noqa: ARG002 - as the real one's
        """Return None: a script fits everywhere."""
        return None

    def has_vision(self, model: str, api_base: str | None) -> bool:  # noqa: ARG002 - as the real one's
        """Return whether it sees images."""
        return self.vision

    def cost(self, model: str, usage: Usage) -> float | None:  # noqa: ARG002 - as the real one's
        """Return None: nobody pays for a script."""
        return None


def _pieces(reply: Completion) -> Iterator[Piece]:
    yield from map(ReasoningPiece, scripted.cut(reply.reasoning, 8))
    yield from map(TextPiece, scripted.cut(reply.text, 8))
    for call in reply.calls:
        yield CallPiece(call.name)
