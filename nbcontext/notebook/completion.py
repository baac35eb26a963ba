"""What Tab offers on a `%llm` line: commands, options, session names and ids (interface)."""

from __future__ import annotations

from argparse import Action
from typing import TYPE_CHECKING

from nbcontext import permission
from nbcontext.errors import NbcontextError
from nbcontext.notebook import ask
from nbcontext.notebook.commands import COMMANDS

if TYPE_CHECKING:
    from nbcontext.notebook.desk import Desk
    from nbcontext.notebook.options import Options

_SESSION_COMMANDS = ("resume",)
_IDS = 50
"""Newest ids offered."""


def candidates(desk: Desk, line: str, symbol: str) -> list[str]:
    """Return what may stand where `symbol`, the word at the cursor, stands.

    Args:
        desk: the sessions and the open one.
        line: the line up to the cursor.
        symbol: the word being completed.
    """
    if line.lstrip().startswith("%%llm"):
        return _matching(_after(ask.options(), line, symbol, desk), symbol)
    before = line.split()[1:]
    if symbol and before and before[-1].endswith(symbol):
        before = before[:-1]
    if not before:
        return _matching([command.name for command in COMMANDS], symbol)
    found = next((command for command in COMMANDS if command.name == before[0]), None)
    if found is None or found.takes_text:
        return []
    offered = _after(found.options(), line, symbol, desk)
    if found.name in _SESSION_COMMANDS:
        offered += _names(desk)
    if found.name == "recall":
        offered += _ids(desk)
    if found.name == "mode":
        offered += permission.MODES
    if found.name == "help":
        offered += [command.name for command in COMMANDS]
    return _matching(offered, symbol)


def _after(parser: Options, line: str, symbol: str, desk: Desk) -> list[str]:
    """Return what may follow the last word: an option's values, else the options."""
    words = line.split()
    if symbol and words and words[-1].endswith(symbol):
        words = words[:-1]
    last = words[-1] if words else ""
    actions: list[Action] = parser._actions  # noqa: SLF001 - argparse has no other way to its options
    for action in actions:
        if last in action.option_strings and action.nargs != 0:
            return _names(desk) if last == "--session" else [str(choice) for choice in action.choices or ()]
    return [option for action in actions for option in action.option_strings]


def _names(desk: Desk) -> list[str]:
    try:
        return [row.name for row in desk.settings().open_store().sessions()]
    except NbcontextError:
        return []


def _ids(desk: Desk) -> list[str]:
    if not desk.has_session():
        return []
    frame = desk.session().results
    return [str(value) for value in frame["id"].tail(_IDS)][::-1]


def _matching(offered: list[str], symbol: str) -> list[str]:
    return [value for value in offered if value.startswith(symbol)]
