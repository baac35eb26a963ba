"""The commands of `%llm`: a table of names, options and what each does with the desk (interface: commands)."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nbcontext import permission, personality, plan
from nbcontext.errors import UsageError
from nbcontext.notebook import reports
from nbcontext.notebook.desk import Desk, Shown
from nbcontext.notebook.options import Options
from nbcontext.session import Session

if TYPE_CHECKING:
    from nbcontext.reply import Reply

Run = Callable[[Desk, Namespace], "Shown | None"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """One command."""

    name: str
    summary: str
    """One line that says what it does."""
    run: Run
    """Does it, and gives what it shows; None: it showed what there was."""
    declare: Callable[[Options], None] = lambda _: None
    """Adds its options."""
    takes_text: bool = False
    """Whether the rest of the line is its text as it stands, in `text`."""
    takes_id: bool = False
    """Whether its first word is a result's id, with or without `#`."""

    def options(self) -> Options:
        """Return the parser of its options."""
        parser = Options(f"%llm {self.name}", self.summary)
        if self.takes_text:
            parser.add_argument("text", help="the rest of the line, as it stands")
        else:
            self.declare(parser)
        return parser

    def parse(self, line: str) -> Namespace:
        """Return the options that a line gives.

        Raises:
            UsageError: they are wrong.
        """
        if self.takes_id:
            line = line.removeprefix("#")  # an id begins as a comment does
        return Namespace(text=line) if self.takes_text else self.options().parse(line)


def whole(value: str) -> int:
    """Return a whole number of a command line."""
    return int(value)


# -- sessions


def _declare_new(parser: Options) -> None:
    parser.add_argument("name", nargs="?", help="the session's name; without one, the next free session-N")
    parser.add_argument("--model", help="as litellm names it: openai/gpt-…, anthropic/claude-…, replay/NAME")
    parser.add_argument("--api-base", metavar="URL", help="the endpoint, where it is not the provider's own")
    parser.add_argument("--root", metavar="DIR", help="the folder that file tools never leave; else the working folder")
    parser.add_argument(
        "--kind", choices=("agent", "chat"), help="agent resends every result, chat none of earlier replies"
    )
    parser.add_argument("--mode", choices=permission.MODES, help="the permission mode")
    parser.add_argument("--without", metavar="TOOL,…", default="", help="tools that the session shall not have")
    parser.add_argument("--max-steps", metavar="N", type=whole, help="requests of one turn at most")
    parser.add_argument("--window", metavar="N", type=whole, help="tokens of the model's window, where it is unknown")
    parser.add_argument(
        "--mcp", metavar="NAME=COMMAND", action="append", default=[], help="an MCP server: its command, or its URL"
    )
    parser.add_argument("--replace", action="store_true", help="rename a session that has the name")


def _new(desk: Desk, given: Namespace) -> Shown:
    made = Session.new(
        given.name,
        model=given.model,
        api_base=given.api_base,
        root=given.root,
        kind=given.kind,
        mode=given.mode,
        without=[name.strip() for name in given.without.split(",") if name.strip()],
        max_steps=_positive(given.max_steps, "--max-steps"),
        window=_positive(given.window, "--window"),
        mcp=given.mcp,
        replace=given.replace,
        setup=desk.setup(),
    )
    desk.last_shown.pop(made.name, None)
    return Shown.line(
        f"New session {made.name} with {made.model} in {_near(made.root)} ({made.kind}, mode {made.mode})."
    )


def _declare_resume(parser: Options) -> None:
    parser.add_argument("name", nargs="?", help="the session; without one, the last used")
    parser.add_argument("--read-only", action="store_true", help="only look")
    parser.add_argument("--take", action="store_true", help="take it over from a process that holds it")


def _resume(desk: Desk, given: Namespace) -> Shown:
    made = Session.resume(given.name, read_only=given.read_only, take=given.take, setup=desk.setup())
    desk.last_shown.pop(made.name, None)
    state = ", read-only" if made.is_read_only else ""
    turns = len(made.history.turns)
    return Shown.line(f"Session {made.name} with {made.model}: {turns} turns, mode {made.mode}{state}.")


def _sessions(desk: Desk, _: Namespace) -> Shown:
    return reports.sessions(desk.store().sessions())


# -- what can be changed


def _model(desk: Desk, given: Namespace) -> Shown:
    session = desk.session()
    if given.model:
        session.move(given.model, given.api_base)
    return Shown.line(f"The model is {session.model}.")


def _declare_model(parser: Options) -> None:
    parser.add_argument("model", nargs="?", help="the model to move the session to; without one, it is shown")
    parser.add_argument("--api-base", metavar="URL", help="its endpoint, where it is not the provider's own")


def _mode(desk: Desk, given: Namespace) -> Shown:
    session = desk.session()
    if given.mode:
        session.mode = given.mode
    return Shown.line(f"The permission mode is {session.mode}.")


def _declare_personality(parser: Options) -> None:
    parser.add_argument("name", nargs="?", help="the personality, or none; without a name, they are listed")


def _personality(desk: Desk, given: Namespace) -> Shown:
    session = desk.session()
    if given.name:
        session.personality = "" if given.name == "none" else given.name
    home = desk.settings().home_folder()
    return Shown.line(
        f"The personality is {session.personality or 'none'}; there are {', '.join(personality.names(home))}, none."
    )


def _declare_plan(parser: Options) -> None:
    parser.add_argument("what", nargs="?", choices=("show", "edit", "clear"), default="show", help="what to do with it")


def _plan(desk: Desk, given: Namespace) -> Shown:
    session = desk.session()
    if given.what == "clear":
        session.plan = ()
    if given.what == "edit":
        words = desk.ask(f"{plan.shown(session.plan)}\nThe new items, parted by ` ; ` (nothing: it stays): ")
        if words is None:
            raise UsageError("There is no front end to ask in: set `nbcontext.current().plan` instead.")
        if words.strip():
            session.plan = plan.parse("\n".join(words.split(";")))
    return reports.plan(session.plan)


def _compact(desk: Desk, given: Namespace) -> None:
    desk.run(lambda session: session.compact(given.text))


def _note(desk: Desk, given: Namespace) -> Shown:
    desk.session().note(given.text)
    return Shown.line("The note goes with your next message.")


def _declare_mode(parser: Options) -> None:
    parser.add_argument("mode", nargs="?", choices=permission.MODES, help="the new mode; without one, it is shown")


# -- time


def _declare_undo(parser: Options) -> None:
    parser.add_argument("turns", nargs="?", type=whole, default=1, help="how many; 1 without a number")


def _undo(desk: Desk, given: Namespace) -> Shown:
    taken = desk.session().undo(given.turns)
    return Shown.line(f"Taken back: turn {', '.join(map(str, taken))}.")


def _declare_rewind(parser: Options) -> None:
    parser.add_argument("turn", type=whole, help="the turn after which all is taken back")


def _rewind(desk: Desk, given: Namespace) -> Shown:
    taken = desk.session().rewind(given.turn)
    return Shown.line(f"Taken back: turn {', '.join(map(str, taken))}.")


def _declare_steps(parser: Options) -> None:
    parser.add_argument("--max-steps", metavar="N", type=whole, help="requests at most")


def _retry(desk: Desk, given: Namespace) -> None:
    _watch(desk, lambda session: session.retry(max_steps=_positive(given.max_steps, "--max-steps")))


def _continue(desk: Desk, given: Namespace) -> None:
    _watch(desk, lambda session: session.go_on(max_steps=_positive(given.max_steps, "--max-steps")))


def _watch(desk: Desk, turn: Callable[[Session], Reply]) -> None:
    session = desk.session()
    desk.watch(lambda: turn(session))


# -- looking


def _results(desk: Desk, _: Namespace) -> Shown:
    return reports.results(desk.session())


def _declare_recall(parser: Options) -> None:
    parser.add_argument("id", help="the result's id, with or without #")
    parser.add_argument("offset", nargs="?", type=whole, default=1, help="first line, from 1")
    parser.add_argument("limit", nargs="?", type=whole, help="lines at most")


def _recall(desk: Desk, given: Namespace) -> Shown:
    return reports.recall(
        desk.session(), given.id, _positive(given.offset, "offset") or 1, _positive(given.limit, "limit")
    )


def _requests(desk: Desk, _: Namespace) -> Shown:
    return reports.requests(desk.session())


def _cache(desk: Desk, _: Namespace) -> Shown:
    return reports.cache(desk.session())


def _freeze(desk: Desk, _: Namespace) -> Shown:
    count = desk.freeze()
    return Shown.line(f"{count} views frozen." if count else "There is no live view.")


def _declare_request(parser: Options) -> None:
    parser.add_argument("number", type=whole, help="the request's number")


def _request(desk: Desk, given: Namespace) -> Shown:
    return reports.request(desk.session(), given.number)


def _tools(desk: Desk, _: Namespace) -> Shown:
    return reports.tools(desk.session())


# -- files


def _declare_file(parser: Options) -> None:
    parser.add_argument("file", help="a JSON Lines file")


def _export(desk: Desk, given: Namespace) -> Shown:
    lines = desk.session().export(Path(given.file).expanduser())
    return Shown.line(f"Session {desk.session().name} is in {given.file}: {lines:,} lines.")


def _declare_import(parser: Options) -> None:
    parser.add_argument("file", help="a JSON Lines file that export wrote")
    parser.add_argument("--name", help="the session's name; else as in the file")


def _import(desk: Desk, given: Namespace) -> Shown:
    from nbcontext.store import transfer

    name = transfer.import_(desk.store(), Path(given.file).expanduser(), given.name)
    return Shown.line(f"Imported as {name}: `%llm resume {name}` opens it.")


def _declare_help(parser: Options) -> None:
    parser.add_argument("command", nargs="?", help="the command to tell about")


def _help(_: Desk, given: Namespace) -> Shown:
    if given.command:
        return reports.text(command(given.command).options().format_help())
    lines = [f"%llm {each.name:<10} {each.summary}" for each in COMMANDS]
    return reports.text("\n".join(["%%llm [options]   the cell's text is your next message", *lines]))


COMMANDS: tuple[Command, ...] = (
    Command(name="new", summary="starts a session", declare=_declare_new, run=_new),
    Command(name="resume", summary="opens a stored session", declare=_declare_resume, run=_resume),
    Command(name="sessions", summary="lists all sessions", run=_sessions),
    Command(name="model", summary="shows the model, or moves to another", declare=_declare_model, run=_model),
    Command(name="mode", summary="shows the permission mode, or changes it", declare=_declare_mode, run=_mode),
    Command(name="personality", summary="shows the personality, or changes it", declare=_declare_personality,
            run=_personality),
    Command(name="plan", summary="shows the plan, or changes it", declare=_declare_plan, run=_plan),
    Command(name="note", summary="keeps a note that goes with the next message", takes_text=True, run=_note),
    Command(name="undo", summary="takes the last turns back", declare=_declare_undo, run=_undo),
    Command(name="rewind", summary="takes back all turns after one", declare=_declare_rewind, run=_rewind),
    Command(name="retry", summary="asks the last turn again", declare=_declare_steps, run=_retry),
    Command(name="continue", summary="goes on without new words", declare=_declare_steps, run=_continue),
    Command(name="compact", summary="replaces the history by a summary; words guide it", takes_text=True,
            run=_compact),
    Command(name="results", summary="shows the result table", run=_results),
    Command(name="recall", summary="shows a stored result", declare=_declare_recall, run=_recall, takes_id=True),
    Command(name="cache", summary="shows the cached tokens of each request", run=_cache),
    Command(name="requests", summary="shows the request table", run=_requests),
    Command(name="request", summary="shows exactly what a request sent", declare=_declare_request, run=_request),
    Command(name="freeze", summary="replaces every live view by its static form", run=_freeze),
    Command(name="tools", summary="lists the session's tools", run=_tools),
    Command(name="export", summary="writes the session to a file", declare=_declare_file, run=_export),
    Command(name="import", summary="reads a session from a file", declare=_declare_import, run=_import),
    Command(name="help", summary="lists the commands, or tells about one", declare=_declare_help, run=_help),
)  # fmt: skip


def command(name: str) -> Command:
    """Return the command of that name.

    Raises:
        UsageError: there is none.
    """
    for each in COMMANDS:
        if each.name == name:
            return each
    raise UsageError(f"There is no command {name!r}; `%llm help` lists them: {', '.join(c.name for c in COMMANDS)}.")


def _near(folder: Path) -> str:
    """Return a folder relative to the working folder where it lies in it, so that a saved notebook can travel."""
    here = Path.cwd().resolve()
    return folder.relative_to(here).as_posix() if folder.is_relative_to(here) else str(folder)


def _positive(value: int | None, what: str) -> int | None:
    if value is not None and value < 1:
        raise UsageError(f"{what} must be at least 1, it is {value}.")
    return value
