"""A stream read in a thread of its own, so that who waits for it can leave at once, even while the server is silent.

Leaving shuts down the socket that the thread waits at, wherever in which library that is: the server learns that nobody
listens (a local one stops computing), the thread's wait ends, and the thread with it.
"""

from __future__ import annotations

import queue
import socket
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing, suppress
from types import TracebackType

from nbcontext.model.chunks import Chunk


class Reader(threading.Thread):
    """Reads chunks until their end, an error, or `leave`."""

    def __init__(self, read: Callable[[threading.Event], Generator[Chunk]]) -> None:
        """Make it; `read` gets the event that is set when nobody wants its chunks any more."""
        super().__init__(name="nbcontext-stream", daemon=True)
        self._read = read
        self._left = threading.Event()
        self._queue: queue.SimpleQueue[Chunk | BaseException | None] = queue.SimpleQueue()

    def run(self) -> None:
        """Read; the thread's own."""
        with _Handover(self._queue.put), closing(self._read(self._left)) as chunks:
            for chunk in chunks:
                if self._left.is_set():
                    return
                self._queue.put(chunk)

    def take(self, timeout_s: float) -> Chunk | BaseException | None:
        """Return the next chunk, what ended the reading, or None at its end.

        Raises:
            queue.Empty: nothing came for `timeout_s` seconds.
        """
        return self._queue.get(timeout=timeout_s)

    def leave(self) -> list[Chunk]:
        """End the reading; return the chunks that were not taken yet."""
        self._left.set()
        if self.is_alive() and self.ident is not None:
            _hang_up(self.ident)
        rest = []
        while not self._queue.empty():
            item = self._queue.get()
            if isinstance(item, dict):
                rest.append(item)
        return rest


class _Handover(AbstractContextManager[None]):
    """Hands whatever ends a block, an error or None, to somebody else; nothing leaves the block."""

    def __init__(self, put: Callable[[BaseException | None], None]) -> None:
        self._put = put

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self._put(error)
        return True


def _hang_up(thread: int) -> None:
    """Shut down the socket that `thread` waits at, if it waits at one.

    It is found among the variables of the functions the thread is in, nearest first: no library tells it while it
    waits for the first byte of an answer. `socket.socket.shutdown` is called by name, since TLS has one of its own that
    first drops what the waiting thread uses.
    """
    frame = sys._current_frames().get(thread)  # noqa: SLF001 - documented; there is no other way to another thread's frames
    while frame is not None:
        for value in list(frame.f_locals.values()):
            for found in (value, getattr(value, "_sock", None), getattr(value, "sock", None)):
                if isinstance(found, socket.socket):
                    with suppress(OSError):
                        socket.socket.shutdown(found, socket.SHUT_RDWR)
                    return
        frame = frame.f_back
