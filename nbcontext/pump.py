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

from nbcontext.events import Event, Notice, Waited

T = TypeVar("T")

_WAIT_S = 0.1
"""Seconds without an event after which a view is told that it may show what it holds back."""


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


class Inner(Worker):
    """The worker's side of a subagent, which stops and asks as the worker it runs in."""

    def __init__(self, outer: Worker) -> None:
        super().__init__()
        self.stop = outer.stop
        self._outer = outer

    def emit(self, event: Event) -> None:
        """Have a line to the person shown, and nothing else: the rest is the subagent's own."""
        if isinstance(event, Notice):
            self._outer.emit(event)

    def on_main(self, run: Callable[[], T]) -> T:
        """Run `run` on the thread that shows the outer turn."""
        return self._outer.on_main(run)


def run(job: Callable[[Worker], T], show: Callable[[Event], None]) -> T:
    """Run `job` in a worker thread until it ends, show its events on this thread, and return its value.

    The worker is waited for whatever happens: where `show` fails, it is told to stop, and nothing more is shown.

    Raises:
        Exception: whatever `job` or `show` raised.
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
    screen = _Screen(show, worker.stop)
    interrupts = _Interrupts(worker.stop)
    with interrupts.caught():
        thread.start()
        while not (ended.done.is_set() and not worker.items):
            if not worker.ready.wait(_WAIT_S):
                screen.show(Waited())
            worker.ready.clear()
            while worker.items:
                item = worker.items.popleft()
                if isinstance(item, _Job):
                    _run_here(item, interrupts)
                else:
                    screen.show(item)
    thread.join()
    for error in (screen.error, ended.error):
        if error is not None:
            raise error
    return ended.value  # type: ignore[return-value]


@dataclass(slots=True)
class _Screen:
    """Shows events until that fails once; the worker is never left alone with what it drives."""

    _show: Callable[[Event], None]
    _stop: threading.Event
    error: BaseException | None = None

    def show(self, event: Event) -> None:
        if self.error is not None:
            return
        try:
            self._show(event)
        except BaseException as error:  # noqa: BLE001 - raised once the worker has ended
            self.error = error
            self._stop.set()


def _run_here(job: _Job[object], interrupts: _Interrupts) -> None:
    try:
        with interrupts.raised():
            job.value = job.run()
    except KeyboardInterrupt:
        interrupts.stop.set()
        job.error = MainInterrupted()
    except BaseException as error:  # noqa: BLE001 - handed on to the worker, whole
        job.error = error
    finally:
        job.done.set()


class _Interrupts:
    """What an interrupt does: it sets `stop`, and raises only while the caller's thread runs a job."""

    def __init__(self, stop: threading.Event) -> None:
        self.stop = stop
        self._raises = False

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Catch interrupts; on another thread than the main one none arrives."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def handle(_: int, __: FrameType | None) -> None:
            self.stop.set()
            if self._raises:
                raise KeyboardInterrupt

        before = signal.signal(signal.SIGINT, handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Have an interrupt raise KeyboardInterrupt too, as code of the person expects."""
        self._raises = True
        try:
            yield
        finally:
            self._raises = False
