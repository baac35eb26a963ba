"""Taking turns back: an undo, a rewind. An entry like any other; what was stored stays (§7). Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbcontext.entry import TakenBack
from nbcontext.errors import SessionError

if TYPE_CHECKING:
    from nbcontext.history import History


def last(history: History, turns: int) -> TakenBack:
    """Return what takes the last `turns` turns back, those before a summary too.

    Raises:
        SessionError: there are not so many.
    """
    live = history.all_turns
    if not 1 <= turns <= len(live):
        raise SessionError(f"{turns} turns cannot be taken back: there are {len(live)}.")
    return TakenBack(turns=tuple(turn.number for turn in live[-turns:]))


def after(history: History, turn: int) -> TakenBack:
    """Return what takes back all turns after `turn`.

    Raises:
        SessionError: that turn is not live, or is the last.
    """
    numbers = [live.number for live in history.all_turns]
    if turn not in numbers:
        raise SessionError(f"There is no live turn {turn}; there are {', '.join(map(str, numbers)) or 'none'}.")
    later = tuple(numbers[numbers.index(turn) + 1 :])
    if not later:
        raise SessionError(f"Turn {turn} is the last: there is nothing after it to take back.")
    return TakenBack(turns=later)
