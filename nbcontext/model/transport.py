"""A request sent through litellm, its reply given out in pieces; tried again only where that can help."""

from __future__ import annotations

import copy
import json
import os
import queue
import random
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, suppress
from typing import Any, Final

from nbcontext.call import Json
from nbcontext.loop import Loop
from nbcontext.model import replay
from nbcontext.model.assembly import Assembly
from nbcontext.model.chunks import Chunk, plain
from nbcontext.model.diagnosis import diagnosed, ended_early
from nbcontext.model.dial import REPLAY, cost, has_vision, provider_of, takes_cache_key, window
from nbcontext.model.failures import RequestFailed, Stopped
from nbcontext.model.library import load
from nbcontext.model.reader import Reader
from nbcontext.model.reply import Finished, Piece
from nbcontext.request import Request, call_ids, marked
from nbcontext.usage import Usage

_LOOK_S: Final = 0.05
"""How often a waiting stream looks whether it is to stop."""


class LiteLLM:
    """The models that litellm knows, and the recorded ones (`replay/NAME`)."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    def stream(self, request: Request, stop: threading.Event) -> Iterator[Piece]:
        """Send `request`; yield the reply's pieces as they come, last of all `Finished`.

        It can be called from any thread. An interrupt while it waits is as if `stop` had been set; one between two
        pieces leaves the stream as it is: set `stop` and take the next piece to get what had arrived.

        Raises:
            Stopped: `stop` was set; what had arrived is `partial`.
            RequestFailed: see failures.py; what had arrived is `partial`.
        """
        limits = self._loop.model
        for tries in range(1, limits.retries + 2):
            shown = False
            try:
                for piece in self._once(request, stop, tries):
                    yield piece
                    shown = True
            except RequestFailed as error:
                if shown or not error.retryable or tries > limits.retries or stop.is_set():
                    raise
                wait_s = limits.backoff_s * 2 ** (tries - 1) * random.uniform(1, 1.5)  # noqa: S311 - spreads retries
                wait_s = wait_s if error.retry_after_s is None else error.retry_after_s
                if wait_s > limits.backoff_max_s:
                    raise
                if _interrupted(stop, wait_s):
                    raise Stopped(f"The request to {request.model} was stopped.", partial=error.partial) from None
            else:
                return

    def provider_of(self, model: str, api_base: str | None) -> str:
        """Return litellm's name of the provider that serves `model`; empty where it knows none."""
        return provider_of(model, api_base)

    def window(self, model: str, api_base: str | None) -> int | None:
        """Return the tokens of the model's window; None where that is unknown."""
        return window(model, api_base)

    def has_vision(self, model: str, api_base: str | None) -> bool:
        """Return whether the model sees images; False where that is unknown."""
        return has_vision(model, api_base)

    def cost(self, model: str, usage: Usage) -> float | None:
        """Return what a request cost in US dollars; None where that is unknown."""
        return cost(model, usage)

    def _once(self, request: Request, stop: threading.Event, tries: int) -> Iterator[Piece]:
        assembly = Assembly(call_ids(request.messages))
        wire = _Wire()
        reader = Reader(lambda left: _chunks(request, self._loop, left, wire))
        started, first = time.monotonic(), None
        reader.start()
        try:
            while (chunk := _next(reader, stop)) is not None:
                if isinstance(chunk, BaseException):
                    raise diagnosed(chunk, request, assembly.reply(), self._loop) from None
                for piece in assembly.feed(chunk):
                    first = first or time.monotonic()
                    yield piece
        except _Stop:
            for chunk in reader.leave():
                assembly.feed(chunk)
            raise Stopped(f"The answer of {request.model} was stopped.", partial=assembly.reply()) from None
        finally:
            reader.leave()
        reply = assembly.reply()
        if not reply.complete:
            raise ended_early(request, reply, self._loop)
        ttft_ms = None if first is None else round((first - started) * 1000)
        yield Finished(
            reply=reply, ttft_ms=ttft_ms, ms=round((time.monotonic() - started) * 1000), tries=tries, wire=wire.body
        )


def arguments(request: Request, loop: Loop, provider: str) -> dict[str, Any]:
    """Return the keyword arguments of `litellm.completion` that send `request` to `provider`.

    Messages and tools are copies: litellm changes what it is given.
    """
    import httpx

    messages, tools = marked(request, provider)
    limits = loop.model
    sent: dict[str, Any] = {
        "model": request.model,
        "messages": [_own(message) for message in messages],
        "stream": True,
        "stream_options": {"include_usage": True},
        "num_retries": 0,
        "max_retries": 0,
        "timeout": httpx.Timeout(limits.timeout_s, connect=limits.connect_timeout_s),
    }
    base = request.api_base or _configured_base(provider)
    if tools:
        sent["tools"] = [_own(tool) for tool in tools]
        if request.tool_choice is not None:
            sent["tool_choice"] = request.tool_choice
    if request.max_tokens is not None:
        sent["max_tokens"] = request.max_tokens
    if request.api_base is not None:
        sent["api_base"] = request.api_base
    if base and provider == "openai" and not (load().api_key or load().openai_key or os.environ.get("OPENAI_API_KEY")):
        # A server of one's own mostly wants no key, but the SDK wants one to send.
        sent["api_key"] = "none"
    if request.cache_key and takes_cache_key(request.model, provider, base):
        sent["prompt_cache_key"] = request.cache_key
    return sent


class _Wire:
    """Takes note of the body that litellm puts on the wire, from what it tells its logger."""

    def __init__(self) -> None:
        self.body: Mapping[str, object] | None = None

    def note(self, details: Mapping[str, Any]) -> None:
        """Keep the body of the first thing that is logged of a request (litellm: `logger_fn`)."""
        if self.body is not None:
            return
        body = (details.get("additional_args") or {}).get("complete_input_dict")
        with suppress(ValueError):
            body = json.loads(body) if isinstance(body, str | bytes) else body
        self.body = copy.deepcopy(body) if isinstance(body, dict) else None


def _chunks(request: Request, loop: Loop, left: threading.Event, wire: _Wire) -> Generator[Chunk]:
    """Send `request` and yield what comes; runs in the reader's thread."""
    litellm = load()
    provider = provider_of(request.model, request.api_base)
    if provider == REPLAY:
        replay.install()
    sent = arguments(request, loop, provider)
    if left.is_set():
        return
    with closing(litellm.completion(**sent, logger_fn=wire.note)) as stream:
        yield from plain(stream)


class _Stop(Exception):  # noqa: N818 - it is no error
    """Nobody waits for the rest."""


def _next(reader: Reader, stop: threading.Event) -> Chunk | BaseException | None:
    """Return the reader's next item; an interrupt sets `stop`.

    Raises:
        _Stop: `stop` was set.
    """
    try:
        while not stop.is_set():
            with suppress(queue.Empty):
                return reader.take(_LOOK_S)
    except KeyboardInterrupt:
        stop.set()
    raise _Stop


def _interrupted(stop: threading.Event, wait_s: float) -> bool:
    try:
        return stop.wait(wait_s)
    except KeyboardInterrupt:
        stop.set()
        return True


def _configured_base(provider: str) -> str | None:
    if provider != "openai":
        return None
    return load().api_base or os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")


def _own(value: Json) -> Json:
    """Return a copy of plain data; copy.deepcopy takes ten times as long."""
    if isinstance(value, dict):
        return {key: _own(inner) for key, inner in value.items()}
    return [_own(inner) for inner in value] if isinstance(value, list) else value
