"""Two threads for one turn: a worker drives it, the caller's thread shows what happens and can be interrupted.

The worker is never interrupted between two writes: an interrupt only sets `stop`, at which it ends by itself with a
well-formed history. While the caller's thread runs something for the worker (the `python` tool, a question to the
person), an interrupt raises there as usual, and is then `stop` as well.
"""

from __future__ import annotations

import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Generic, TypeVar

from nbcontext.events import Event

T = TypeVar("T")


class MainInterrupted(Exception):  # noqa: N818 - not an error: the person's wish
    """What the caller's thread was running for the worker was interrupted."""


@dataclass(slots=True)
class _Job(Generic[T]):
    """Something that the worker asks the caller's thread to run."""

    run: Callable[[], T]
    done: threading.Event = field(default_factory=threading.Event)
    value: T | None = None
    error: BaseException | None = None


class Worker:
    """The worker's side: how it shows, asks and learns that it shall stop."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        """Set when the person interrupts."""
        self.items: deque[Event | _Job[object]] = deque()
        self.ready = threading.Event()

    def emit(self, event: Event) -> None:
        """Have an event shown on the caller's thread."""
        self.items.append(event)
        self.ready.set()

    def on_main(self, run: Callable[[], T]) -> T:
        """Run `run` on the caller's thread and return its value.

        Raises:
            MainInterrupted: the person interrupted it.
        """
        job: _Job[object] = _Job(run)
        self.items.append(job)
        self.ready.set()
        job.done.wait()
        if job.error is not None:
            raise job.error
        return job.value  # type: ignore[return-value]


def run(job: Callable[[Worker], T], show: Callable[[Event], None]) -> T:
    """Run `job` in a worker thread until it ends, show its events on this thread, and return its value.

    Raises:
        Exception: whatever `job` raised.
    """
    worker = Worker()
    ended: _Job[T] = _Job(lambda: job(worker))

    def work() -> None:
        try:
            ended.value = ended.run()
        except BaseException as error:  # noqa: BLE001 - handed on to the caller's thread, whole
            ended.error = error
        finally:
            ended.done.set()
            worker.ready.set()

    thread = threading.Thread(target=work, name="nbcontext-turn", daemon=True)
    with _interrupt_sets(worker.stop):
        thread.start()
        while not (ended.done.is_set() and not worker.items):
            worker.ready.wait(0.5)
            worker.ready.clear()
            while worker.items:
                item = worker.items.popleft()
                if isinstance(item, _Job):
                    _run_here(item, worker.stop)
                else:
                    show(item)
    thread.join()
    if ended.error is not None:
        raise ended.error
    return ended.value  # type: ignore[return-value]


def _run_here(job: _Job[object], stop: threading.Event) -> None:
    try:
        with _interrupt_raises():
            job.value = job.run()
    except KeyboardInterrupt:
        stop.set()
        job.error = MainInterrupted()
    except BaseException as error:  # noqa: BLE001 - handed on to the worker, whole
        job.error = error
    finally:
        job.done.set()


@contextmanager
def _interrupt_sets(stop: threading.Event) -> Iterator[None]:
    """Have an interrupt set `stop` instead of raising; on another thread than the main one none arrives."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(_: int, __: FrameType | None) -> None:
        stop.set()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _interrupt_raises() -> Iterator[None]:
    """Have an interrupt raise KeyboardInterrupt, as code of the person expects."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
