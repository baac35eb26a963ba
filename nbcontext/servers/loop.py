"""The thread in which the SDK runs: one event loop for all servers of the process, begun when the first is needed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


@cache
def event_loop() -> asyncio.AbstractEventLoop:
    """Return the loop; it runs in a daemon thread, which no interrupt reaches."""
    made = asyncio.new_event_loop()
    threading.Thread(target=made.run_forever, name="nbcontext-servers", daemon=True).start()
    return made


def run(job: Coroutine[Any, Any, T]) -> Future[T]:
    """Run `job` in the loop; return at once with what will hold its value."""
    return asyncio.run_coroutine_threadsafe(job, event_loop())
