"""What a permission mode lets a call do (interface: Modes). Pure: asking the person is the caller's."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from nbcontext.tools.tool import Effect

if TYPE_CHECKING:
    from nbcontext.plan import Mode


class Verdict(Enum):
    """What is to be done with a call."""

    RUN = auto()
    ASK = auto()
    REFUSE = auto()


_TABLE: dict[str, dict[Effect, Verdict]] = {
    "plan": {Effect.CHANGE: Verdict.REFUSE, Effect.COMMAND: Verdict.REFUSE},
    "ask": {Effect.CHANGE: Verdict.ASK, Effect.COMMAND: Verdict.ASK},
    "edit": {Effect.COMMAND: Verdict.ASK},
    "auto": {},
}

MODES = tuple(_TABLE)
"""The names of the modes."""


def verdict(mode: Mode, effect: Effect) -> Verdict:
    """Return what `mode` has done with a call of this effect; what it does not name is run."""
    return _TABLE[mode].get(effect, Verdict.RUN)
