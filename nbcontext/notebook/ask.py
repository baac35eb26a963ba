"""A `%%llm` cell: its options, its expressions, and the message it sends."""

from __future__ import annotations

from collections.abc import Callable
from keyword import iskeyword
from typing import TYPE_CHECKING

from nbcontext.display.progress import text_bundle
from nbcontext.errors import UsageError
from nbcontext.notebook import expansion, reports
from nbcontext.notebook.commands import whole
from nbcontext.notebook.desk import Desk, Shown
from nbcontext.notebook.options import Options, words
from nbcontext.session import Session

if TYPE_CHECKING:
    from argparse import Namespace


def options() -> Options:
    """Return the parser of `%%llm`'s options."""
    parser = Options("%%llm", "Sends the cell's text as your next message.")
    parser.add_argument("--session", metavar="NAME", help="the session to send it to")
    parser.add_argument("--model", metavar="MODEL", help="moves the session to another model first")
    parser.add_argument("--to", metavar="VAR", help="the variable that the reply's text goes into")
    parser.add_argument("--quiet", action="store_true", help="shows nothing")
    parser.add_argument("--max-steps", metavar="N", type=whole, help="requests at most")
    parser.add_argument("--keep", action="store_true", help="shows the stored answer where this turn was asked already")
    parser.add_argument("--help", action="store_true", help="tells the options")
    return parser


def ask_cell(
    desk: Desk, line: str, cell: str, *, evaluate: Callable[[str], object], assign: Callable[[str, str], None]
) -> None:
    """Run a `%%llm` cell.

    Args:
        desk: what it acts on.
        line: the magic line's options.
        cell: the body, with the line feed that IPython adds.
        evaluate: gives the value of a Python expression of the person's.
        assign: sets a variable of the person's.

    Raises:
        NbcontextError: whatever ends the cell; one readable line.
    """
    if "--help" in words(line):
        desk.present(reports.text(options().format_help()))
        return
    given = options().parse(line)
    if given.max_steps is not None and given.max_steps < 1:
        raise UsageError(f"--max-steps must be at least 1, it is {given.max_steps}.")
    body = cell.removesuffix("\n")
    if not body.strip():
        raise UsageError("The cell is empty: write your message below %%llm.")
    if given.to is not None and (not given.to.isidentifier() or iskeyword(given.to)):
        raise UsageError(f"--to takes a variable's name; {given.to!r} is none.")
    message = expansion.expanded(body, evaluate)
    session = _session(desk, given)
    kept = _kept(desk, session, message, quiet=given.quiet) if given.keep else None
    text = kept if kept is not None else desk.watch(lambda: _ask(session, message, given), quiet=given.quiet).text
    if given.to is not None:
        assign(given.to, text)


def _ask(session: Session, message: str, given: Namespace) -> Reply:
    return session.ask(message, max_steps=given.max_steps)


def _session(desk: Desk, given: Namespace) -> Session:
    if given.session and not (desk.has_session() and desk.session().name == given.session):
        Session.resume(given.session, setup=desk.setup())
    if not desk.has_session() and given.model:
        made = Session.new(model=given.model, setup=desk.setup())
        desk.present(Shown.line(f"New session {made.name} with {made.model}."))
    session = desk.ensure_session()
    if given.model and given.model != session.model:
        session.move(given.model)
    return session


def _kept(desk: Desk, session: Session, message: str, *, quiet: bool) -> str | None:
    """Show the stored answer of the turn after the last one shown, where it was asked with this very message."""
    last = desk.last_shown.get(session.name, 0)
    whole = (turn for turn in session.history.all_turns if turn.number > last and not turn.is_stopped)
    turn = next(whole, None)
    if turn is None or turn.words != message:
        return None
    desk.last_shown[session.name] = turn.number
    if quiet:
        return turn.reply_text
    bundle = text_bundle(turn.reply_text)
    desk.present(Shown(html=bundle["text/html"], text=bundle["text/plain"]))
    desk.present(Shown.line(f"Stored answer of turn {turn.number}; nothing was sent."))
    return turn.reply_text


if TYPE_CHECKING:
    from nbcontext.reply import Reply
