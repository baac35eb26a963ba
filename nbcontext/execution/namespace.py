"""Namespaces in which `python` runs: the notebook's own, and a plain dict where there is no IPython.

The code is run as a cell is, but not by `run_cell`: so `In`, `Out`, `_`, the execution count and the history stay the
person's. Output, displays, the result and the traceback go into one text in the order they come; nothing reaches the
cell that is running, and whatever the code raises ends here.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import codecs
import inspect
import io
import itertools
import linecache
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import CodeType
from typing import TYPE_CHECKING, Any, NoReturn

from nbcontext.assets import loop
from nbcontext.execution.images import placeholder
from nbcontext.execution.terminal import Cleaner
from nbcontext.lines import without_final
from nbcontext.world import Ran

if TYPE_CHECKING:
    from nbcontext.loop import Context

_NAME = "<python-{}>"
_COUNT = itertools.count(1)
_CELL_MARKS = ("<python-", "<ipython-input-", "ipykernel_")
"""What the file name of a frame holds that is the model's or the person's own code."""


class _Sink(io.RawIOBase):
    """Collects what is written, cleaned as it comes; any thread may write."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._cleaner = Cleaner()
        self._parts: list[str] = []
        self._lock = threading.RLock()

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        piece = bytes(data)
        with self._lock:
            self._parts.append(self._cleaner.feed(self._decoder.decode(piece)))
        return len(piece)

    def block(self, text: str) -> None:
        """Add `text` on lines of its own."""
        with self._lock:
            self._finish()
            self._parts.append(self._cleaner.feed(text + "\n"))

    def take(self) -> str:
        """Return all there is."""
        with self._lock:
            self._finish(line=False)
            return without_final("".join(self._parts))

    def _finish(self, *, line: bool = True) -> None:
        rest = self._cleaner.feed(self._decoder.decode(b"", final=True)) + self._cleaner.finish()
        self._cleaner = Cleaner()
        self._parts.append(rest + "\n" if rest and line else rest)


class DictNamespace:
    """A namespace that is a dict: for use without IPython."""

    def __init__(self, names: dict[str, Any], context: Context | None = None) -> None:
        self._names = names
        self._names.setdefault("__builtins__", builtins)
        self._names.setdefault("__name__", "__main__")
        self._context = context or loop().context

    def run(self, code: str, stop: threading.Event) -> Ran:
        """Run `code`; see `Namespace`."""
        return _run(code, stop, self._names, self._context, transform=str, shown=_plain, doors=_no_doors)


class NotebookNamespace:
    """The namespace of an IPython shell: magics, `!commands`, `display` and top-level `await` work as in a cell."""

    def __init__(self, shell: Any, context: Context | None = None) -> None:
        self._shell = shell
        self._context = context or loop().context

    def run(self, code: str, stop: threading.Event) -> Ran:
        """Run `code`; see `Namespace`."""
        return _run(
            code,
            stop,
            self._shell.user_ns,
            self._context,
            transform=self._shell.transform_cell,
            shown=self._shown,
            doors=self._doors,
        )

    def _shown(self, value: object) -> Mapping[str, Any]:
        data, _ = self._shell.display_formatter.format(value)
        found: Mapping[str, Any] = data
        # What fails to show itself raises here, so that its traceback is the answer.
        return found if "text/plain" in found else {**found, "text/plain": repr(value)}

    @contextmanager
    def _doors(self, show: Callable[[Mapping[str, Any]], None]) -> Iterator[None]:
        """Lead the shell's displays, `!commands` and `exit()` to the answer while the code runs."""
        from IPython.core.displaypub import DisplayPublisher

        class Publisher(DisplayPublisher):
            def publish(self, data: Mapping[str, Any], *_: object, **__: object) -> None:
                show(data)

            def clear_output(self, wait: bool = False) -> None:
                pass

        def leave(*_: object) -> NoReturn:
            raise SystemExit

        shell = self._shell
        with ExitStack() as stack:
            publisher = Publisher(parent=shell)  # type: ignore[no-untyped-call]
            stack.enter_context(_attribute(shell, "display_pub", publisher))
            stack.enter_context(_attribute(shell, "ask_exit", leave))
            stack.enter_context(_attribute(shell, "showtraceback", lambda *_, **__: None))
            stack.enter_context(_attribute(shell, "system", shell.system_piped))
            try:
                yield
            finally:
                inline = sys.modules.get("matplotlib_inline.backend_inline")
                if inline is not None and "matplotlib.pyplot" in sys.modules:
                    inline.flush_figures()


def _run(
    code: str,
    stop: threading.Event,
    names: dict[str, Any],
    context: Context,
    *,
    transform: Callable[[str], str],
    shown: Callable[[object], Mapping[str, Any]],
    doors: Callable[[Callable[[Mapping[str, Any]], None]], Any],
) -> Ran:
    sink = _Sink()

    def show(data: Mapping[str, Any]) -> None:
        text = _text(data, context)
        if text:
            sink.block(text)

    interrupted = stop.is_set()
    if interrupted:
        return Ran(text="", interrupted=True)
    with _streams(sink, context), doors(show):
        try:
            value = _execute(code, names, transform)
            if value is not None:
                show(shown(value))
        except KeyboardInterrupt:
            interrupted = True
        except SystemExit as error:
            sink.block(context.commands.stopped_exit.format(status=error.code))
        except BaseException as error:  # noqa: BLE001 - whatever the code raises is its answer, and goes no further
            sink.block(_traceback(error))
    return Ran(text=sink.take(), interrupted=interrupted)


def _execute(code: str, names: dict[str, Any], transform: Callable[[str], str]) -> object:
    """Run the code; return the value of a last expression that no semicolon hides, else None."""
    source = transform(code)
    name = _NAME.format(next(_COUNT))
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    if tree.body:
        _evaluate(_compiled(tree, name), names)
    if not isinstance(last, ast.Expr):
        return None
    value = _evaluate(_compiled(ast.Expression(last.value), name), names)
    return None if code.rstrip().endswith(";") else value


def _compiled(tree: ast.Module | ast.Expression, name: str) -> CodeType:
    mode = "exec" if isinstance(tree, ast.Module) else "eval"
    code: CodeType = compile(tree, name, mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    return code


def _evaluate(code: CodeType, names: dict[str, Any]) -> object:
    value = eval(code, names)  # noqa: S307 - running code is this tool's work; the permission mode decided
    if not code.co_flags & inspect.CO_COROUTINE:
        return value
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(value)
    # The kernel's own loop runs in this thread, and no loop runs inside another.
    answer: list[object] = []
    failure: list[BaseException] = []

    def wait() -> None:
        try:
            answer.append(asyncio.run(value))
        except BaseException as error:  # noqa: BLE001 - carried to the thread that waits for it
            failure.append(error)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return answer[0]


@contextmanager
def _streams(sink: _Sink, context: Context) -> Iterator[None]:
    """Lead standard output and error into `sink`; standard input is empty and `input()` says that nobody answers."""

    def no_input(*_: object, **__: object) -> NoReturn:
        raise EOFError(context.errors.commands.no_input)

    out = io.TextIOWrapper(sink, "utf-8", "replace", newline="", write_through=True)  # type: ignore[type-var]
    with ExitStack() as stack:
        for name, stream in (("stdout", out), ("stderr", out), ("stdin", io.StringIO())):
            stack.enter_context(_attribute(sys, name, stream))
        stack.enter_context(_attribute(builtins, "input", no_input))
        yield


@contextmanager
def _attribute(place: Any, name: str, value: object) -> Iterator[None]:
    """Set an attribute for a while, and put back what the place itself had."""
    own = name in vars(place) or not hasattr(type(place), name) or _is_trait(place, name)
    before = getattr(place, name, None)
    own = own and hasattr(place, name)
    setattr(place, name, value)
    try:
        yield
    finally:
        if own:
            setattr(place, name, before)
        else:
            delattr(place, name)


def _is_trait(place: Any, name: str) -> bool:
    return bool(getattr(place, "has_trait", lambda _: False)(name))


@contextmanager
def _no_doors(_: Callable[[Mapping[str, Any]], None]) -> Iterator[None]:
    yield


def _plain(value: object) -> Mapping[str, Any]:
    return {"text/plain": repr(value)}


def _text(data: Mapping[str, Any], context: Context) -> str:
    """Return a display as text: an image as a placeholder, else plain text, else the first text there is."""
    for kind, content in data.items():
        if kind.startswith("image/"):
            return placeholder(kind, content, context)
    for kind in ("text/plain", *sorted(data)):
        if isinstance(data.get(kind), str):
            return str(data[kind])
    return ""


def _traceback(error: BaseException) -> str:
    """Return the traceback, trimmed to the frames of notebook code and the last one, where it was raised."""
    told = traceback.TracebackException.from_exception(error)
    seen: set[int] = set()
    waiting: list[traceback.TracebackException | None] = [told]
    while waiting:
        part = waiting.pop()
        if part is None or id(part) in seen:
            continue
        seen.add(id(part))
        waiting += [part.__cause__, part.__context__, *(part.exceptions or ())]
        frames = [frame for frame in part.stack if frame.filename != __file__]
        own = [any(mark in frame.filename for mark in _CELL_MARKS) for frame in frames]
        first = own.index(True) if True in own else len(frames)
        kept = [frame for at, frame in enumerate(frames) if own[at] or (at == len(frames) - 1 and at > first)]
        part.stack = traceback.StackSummary.from_list(kept)
    return "".join(told.format()).rstrip("\n")
