"""The lines that stand for a text: a stub's sentence and an elided line. No file may be given one (decision 29)."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from nbcontext.loop import Context


class StandIn(NamedTuple):
    """A line that stands for a result's text."""

    kind: Literal["elided", "stub"]
    number: int
    """The result that the line names."""


def stand_in(line: str, context: Context) -> StandIn | None:
    """Return what `line` has the form of, with or without a bracket before it; None: of no stand-in."""
    for kind, pattern in _patterns(context.cap.elided, context.dedupe.unchanged, context.dedupe.same):
        if found := pattern.fullmatch(line.strip()):
            return StandIn(kind, int(found["id"].removeprefix("#"), 16))
    return None


@cache
def _patterns(elided: str, unchanged: str, same: str) -> tuple[tuple[Literal["elided", "stub"], re.Pattern[str]], ...]:
    return (("elided", _pattern(elided)), ("stub", _pattern(unchanged)), ("stub", _pattern(same)))


def _pattern(template: str) -> re.Pattern[str]:
    escaped = re.escape(template)
    for name in ("lines", "first", "last"):
        escaped = escaped.replace(rf"\{{{name}\}}", r"\d+")
    return re.compile(r"(?:\[#[0-9a-f]+.*\] )?" + escaped.replace(r"\{id\}", r"(?P<id>#[0-9a-f]+)"))
