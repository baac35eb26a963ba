"""The result table's static form: its sums and its first rows. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from nbcontext.display.tables import text_table
from nbcontext.display.twin import Twin
from nbcontext.plain import clipped, visible

if TYPE_CHECKING:
    from nbcontext.display.result_rows import ResultRow, Sums

ROWS = 100
"""Rows that the static form shows; the rest are counted."""
BYTES = 20_000
"""Bytes of those rows, at most: with a view's saved state they are to stay below 60 kB."""
_SHORT_ROWS = 20
"""More rows are not in the text beside the HTML."""

HEADS = ("id", "turn", "tool", "kind", "path", "lines", "sha", "made", "sent", "saved", "stands for", "where")

COLOURS = {
    "capped": "#b35c00",
    "stub": "#0072b2",
    "recall": "#0072b2",
    "diff": "#008060",
    "created": "#008060",
    "moved": "#008060",
    "deleted": "#008060",
    "unchanged": "#008060",
    "error": "#c23a1b",
    "refused": "#c23a1b",
    "unavailable": "#c23a1b",
    "interrupted": "#c23a1b",
}
"""Of a kind's mark, at least 3:1 on white and on black (Okabe and Ito's, darkened); `full` has none."""

_PATH_CHARS = 60
_RIGHT = {7, 8, 9}


def twin(rows: Sequence[ResultRow], sums: Sums, *, title: str, note: str = "") -> Twin:
    """Return the static form.

    Args:
        rows: all rows, in the order to show.
        sums: of all rows.
        title: whose results they are.
        note: what is to be known about them; empty: nothing.
    """
    shown, html = _fitting([row.shown() for row in rows[:ROWS]])
    more = len(rows) - len(shown)
    left = f"{more:,} more rows are not shown here." if more else ""
    summary, note = visible(f"{title} · {sums.line()}"), visible(note)
    below = "".join(f"<div>{escape(line)}</div>" for line in (note, left) if line)
    text = "\n".join(filter(None, (summary, note, text_table(HEADS, shown) if shown else "", left)))
    short = summary if len(shown) > _SHORT_ROWS else ""
    return Twin(summary=summary, html=_table(html) + below if shown else below, text=text, short=short)


def _fitting(rows: Sequence[Sequence[str | int]]) -> tuple[Sequence[Sequence[str | int]], str]:
    """Return the first rows that fit `BYTES`, and their HTML."""
    made, used = [], 0
    for row in rows:
        html = f"<tr>{''.join(_cell(at, cell) for at, cell in enumerate(row))}"
        used += len(html.encode(errors="replace"))
        if used > BYTES:
            break
        made.append(html)
    return rows[: len(made)], "".join(made)


def _table(body: str) -> str:
    # Closing tags that HTML lets be left out are: a hundred rows are saved with every table.
    heads = "".join(f"<th{_side(at)}>{escape(name)}" for at, name in enumerate(HEADS))
    return (
        '<div style="overflow-x:auto"><table style="border-collapse:collapse;font-variant-numeric:tabular-nums">'
        f"<thead><tr>{heads}<tbody>{body}</table></div>"
    )


def _cell(at: int, cell: str | int) -> str:
    if isinstance(cell, int):
        return f"<td{_side(at)}>{cell:,}"
    colour = COLOURS.get(cell) if HEADS[at] == "kind" else None
    mark = f" style=border-left-color:{colour};border-left-style:solid" if colour else ""
    return f"<td{mark}>{escape(clipped(cell, _PATH_CHARS))}"


def _side(at: int) -> str:
    return " align=right" if at in _RIGHT else ""
