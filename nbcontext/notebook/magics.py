"""The IPython rim: `%%llm`, `%llm`, their completion, and what a front end shows. Thin over `Session`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from IPython.core.magic import Magics, cell_magic, line_magic, magics_class, no_var_expand
from traitlets import Bool, Enum, Integer, Unicode
from traitlets.config import Configurable

from nbcontext.errors import UsageError
from nbcontext.notebook.cells import take_llm

if TYPE_CHECKING:
    from collections.abc import Callable

    from IPython.core.interactiveshell import InteractiveShell

    from nbcontext.display.progress import Bundle, View
    from nbcontext.exhibit import Exhibit
    from nbcontext.history import Kind
    from nbcontext.notebook.desk import Desk, Shown
    from nbcontext.notebook.views import Form, Views
    from nbcontext.plan import Mode
    from nbcontext.settings import Settings


class NBContext(Configurable):
    """Defaults of sessions: `%config NBContext.model = …`, `c.NBContext.model = …` in `ipython_config.py`."""

    model = Unicode("", help="the model of new sessions, as litellm names it").tag(config=True)
    kind = Enum(("agent", "chat"), "agent", help="the kind of new sessions").tag(config=True)
    mode = Enum(("plan", "ask", "edit", "auto"), "ask", help="the permission mode of new sessions").tag(config=True)
    max_steps = Integer(100, min=1, help="requests of one turn at most").tag(config=True)
    strict = Bool(False, help="whether a request that breaks with the one before is an error").tag(config=True)
    home = Unicode("", help="folder of the store; else NBCONTEXT_HOME, else the user's data folder").tag(config=True)
    store = Unicode("", help="a SQLAlchemy URL; else NBCONTEXT_STORE, else SQLite in the home folder").tag(config=True)
    display = Enum(("auto", "widget", "html", "text"), "auto", help="the form of what is shown").tag(config=True)

    def settings(self) -> Settings:
        """Return them as a record."""
        from pathlib import Path

        from nbcontext.settings import Settings

        return Settings(
            model=self.model or None,
            kind=cast("Kind", self.kind),
            mode=cast("Mode", self.mode),
            max_steps=self.max_steps,
            is_strict=self.strict,
            home=Path(self.home).expanduser() if self.home else None,
            store_url=self.store or None,
        )


@magics_class
class LLMMagics(Magics):
    """`%%llm` and `%llm`."""

    def __init__(self, shell: InteractiveShell, config: NBContext) -> None:
        super().__init__(shell)
        self._shell = shell
        self._config = config
        self._made: Desk | None = None
        self._views: Views | None = None

    @property
    def desk(self) -> Desk:
        """What commands act on, made when the first cell needs it."""
        if self._made is None:
            from nbcontext.execution.namespace import NotebookNamespace
            from nbcontext.notebook.desk import Desk

            self._made = Desk(
                settings=self._config.settings,
                view=self._view,
                present=self._present,
                ask=_ask,
                namespace=NotebookNamespace(self._shell),
                display=self._exhibit,
                freeze=self.views.freeze,
            )
        return self._made

    @no_var_expand
    @cell_magic("llm")  # type: ignore[arg-type]
    def cell(self, line: str, cell: str) -> None:
        """Send the cell's text as the person's next message."""
        from nbcontext.notebook.ask import ask_cell

        ask_cell(self.desk, line, cell, evaluate=self._evaluate, assign=self._assign)

    @no_var_expand
    @line_magic("llm")  # type: ignore[arg-type]
    def line(self, line: str) -> None:
        """Run a command, or show where things stand."""
        from nbcontext.notebook import reports
        from nbcontext.notebook.commands import command

        name, *others = line.split(None, 1)[:2] or [""]
        rest = others[0] if others else ""
        if not name or name.startswith("#"):
            self._present(reports.status(self.desk.session()))
            return
        chosen = command(name)
        shown = chosen.run(self.desk, chosen.parse(rest.strip()))
        if shown is not None:
            self._present(shown)

    def complete(self, _: object, event: Any) -> list[str]:
        """Return what may stand at the cursor of a `%llm` line (an IPython completer)."""
        from nbcontext.notebook.completion import candidates

        return candidates(self.desk, event.line[: len(event.line)], event.symbol)

    def _evaluate(self, expression: str) -> object:
        return eval(expression, self._shell.user_global_ns, self._shell.user_ns)  # noqa: S307 - the person's own code

    def _assign(self, name: str, value: str) -> None:
        if not name.isidentifier():
            raise UsageError(f"--to takes a variable's name; {name!r} is none.")
        self._shell.user_ns[name] = value

    def _is_notebook(self) -> bool:
        return self._form() != "text"

    def _form(self) -> Form:
        from nbcontext.notebook.views import form

        return form(self._config.display, self._shell)

    @property
    def views(self) -> Views:
        """The live views of this kernel."""
        if self._views is None:
            from nbcontext.notebook.views import Views

            self._views = Views(_output)
        return self._views

    def settle(self, *_: object) -> None:
        """Bring the live views up to date; called when a cell has ended."""
        if self._views is not None:
            self._views.settle()

    def _view(self) -> View:
        from nbcontext import assets
        from nbcontext.display.progress import NotebookView, TerminalView

        context = assets.loop().context
        if self._is_notebook():
            from nbcontext.notebook.views import Watched

            return Watched(NotebookView(context, _display), self.views)
        return TerminalView(context, _write)

    def _exhibit(self, exhibit: Exhibit) -> None:
        from nbcontext.display.exhibits import bundle

        made = bundle(exhibit)
        if self._is_notebook():
            _display(made)
        else:
            _write(f"{made['text/plain']}\n")

    def _present(self, shown: Shown) -> None:
        if shown.model is not None and self._form() == "widget":
            self.views.open(shown.model)
        elif shown.model is not None and self._is_notebook():
            _display(shown.model.twin().opened())
        elif self._is_notebook():
            _display({"text/html": shown.html, "text/plain": shown.text})
        else:
            _write(f"{shown.text}\n")


class _Handle:
    """An output of the running cell that can be replaced."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def update(self, bundle: Bundle) -> None:
        """Show `bundle` in its place."""
        self._handle.update(bundle, raw=True)


def _display(bundle: Bundle) -> _Handle:
    from IPython.display import display

    return _Handle(display(bundle, raw=True, display_id=True))  # type: ignore[no-untyped-call]


def _output(data: dict[str, Any], metadata: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    from IPython.display import display

    handle = display(data, metadata=metadata, raw=True, display_id=True)  # type: ignore[no-untyped-call]
    return lambda replacement: handle.update(replacement, raw=True)


def _write(text: str) -> None:
    print(text, end="", flush=True)  # noqa: T201 - a terminal is shown text


def _ask(question: str) -> str | None:
    from IPython.core.error import StdinNotImplementedError

    try:
        return input(question)
    except (EOFError, StdinNotImplementedError):
        return None


_loaded: dict[int, tuple[LLMMagics, NBContext]] = {}


def load(shell: InteractiveShell) -> None:
    """Register the magics with `shell`; doing it twice is doing it once."""
    if id(shell) in _loaded:
        return
    config = NBContext(parent=shell)
    magics = LLMMagics(shell, config)
    shell.configurables.append(config)  # type: ignore[arg-type]
    shell.register_magics(magics)
    shell.input_transformers_cleanup.insert(0, take_llm)
    for key in ("%llm", "%%llm"):
        shell.set_hook("complete_command", magics.complete, str_key=key)  # type: ignore[no-untyped-call]
    shell.events.register("post_run_cell", _warm)
    shell.events.register("post_run_cell", magics.settle)
    _loaded[id(shell)] = (magics, config)


def unload(shell: InteractiveShell) -> None:
    """Take everything away again that `load` registered."""
    found = _loaded.pop(id(shell), None)
    if found is None:
        return
    for configurable in found:
        shell.configurables.remove(configurable)  # type: ignore[arg-type]
    for kind in ("cell", "line"):
        shell.magics_manager.magics[kind].pop("llm", None)
    shell.magics_manager.registry.pop(LLMMagics.__name__, None)
    shell.input_transformers_cleanup.remove(take_llm)
    for key in ("%llm", "%%llm"):
        shell.strdispatchers["complete_command"].strs.pop(key, None)
    magics = found[0]
    magics.views.freeze()
    shell.events.unregister("post_run_cell", magics.settle)
    if _warm in shell.events.callbacks["post_run_cell"]:
        shell.events.unregister("post_run_cell", _warm)


_cells_since_load = 0


def _warm(*_: object) -> None:
    """Import litellm in the background after the first cell that runs after the load (interface: `%load_ext`).

    The first cell that ends is the one that loaded.
    """
    global _cells_since_load  # noqa: PLW0603 - IPython calls a plain function
    _cells_since_load += 1
    if _cells_since_load == 2:  # noqa: PLR2004 - the load's own cell, then one more
        from nbcontext.model.library import warm

        warm()
