"""The plan of a session, and the permission mode that says whether it may be carried out. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

Mode = Literal["plan", "ask", "edit", "auto"]
"""The permission modes (interface: Modes)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanItem:
    """One item of the plan."""

    text: str
    status: Literal["pending", "in_progress", "done"] = "pending"


MARKS = {"pending": "[ ]", "in_progress": "[~]", "done": "[x]"}
"""How an item's status is shown, in a note, an answer and to the person."""


def shown(items: Sequence[PlanItem]) -> str:
    """Return the items, numbered from 1, one a line."""
    return "\n".join(f"{number}. {MARKS[item.status]} {item.text}" for number, item in enumerate(items, 1))


def parse(text: str) -> tuple[PlanItem, ...]:
    """Return the items that lines of text hold; marks and numbers in front are taken, empty lines are not items."""
    items = []
    for line in text.split("\n"):
        rest = line.strip().lstrip("-*").strip()
        number, dot, after = rest.partition(".")
        rest = after.strip() if dot and number.isdigit() else rest
        status = next((name for name, mark in MARKS.items() if rest.startswith(mark)), None)
        rest = rest[len(MARKS[status]) :].strip() if status else rest
        if rest:
            items.append(PlanItem(text=rest, status=status or "pending"))  # type: ignore[arg-type]
    return tuple(items)


def dumps(items: Sequence[PlanItem]) -> str:
    """Return the items as JSON, to be compared."""
    return json.dumps([[item.text, item.status] for item in items], ensure_ascii=False)
