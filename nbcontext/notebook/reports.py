"""What the looking commands show: a session's tables and texts, as static HTML and as text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from itertools import islice
from typing import TYPE_CHECKING

from nbcontext.notebook.desk import Shown
from nbcontext.plan import MARKS
from nbcontext.plan import shown as shown_plan
from nbcontext.display.plain import visible
from nbcontext.display.summary import money, number
from nbcontext.display.tables import Cell, html_lines, html_table, text_table

if TYPE_CHECKING:
    import pandas as pd

    from nbcontext.entry import PlanItem
    from nbcontext.session import Session
    from nbcontext.store import SessionRow

ROWS = 100
"""Rows that a static table shows; the rest are counted."""


def text(value: str) -> Shown:
    """Return preformatted text."""
    return Shown(html=f"<pre>{escape(visible(value))}</pre>", text=visible(value))


def table(heads: Sequence[str], rows: Sequence[Sequence[Cell]], caption: str = "") -> Shown:
    """Return a table of at most `ROWS` rows, the last ones, with the rest counted."""
    if len(rows) > ROWS:
        caption = f"{caption} ({len(rows) - ROWS:,} earlier rows not shown)"
        rows = rows[-ROWS:]
    return Shown(html=html_table(heads, rows, caption=caption), text=text_table(heads, rows, caption=caption))


def status(session: Session) -> Shown:
    """Return where things stand (interface: `%llm`)."""
    sent = session.requests
    prompt, cached = _total(sent, "prompt_tokens"), _total(sent, "cached_tokens")
    rate = f"{cached / prompt:.0%}" if prompt and cached is not None else "?"
    rows = [
        ("session", f"{session.name} ({session.kind}{', read-only' if session.is_read_only else ''})"),
        ("model", session.model),
        ("root", str(session.root)),
        ("mode", session.mode),
        ("turns", str(len(session.history.all_turns))),
        ("results", number(session.history.last_number)),
        ("requests", number(len(sent))),
        ("input tokens", number(prompt)),
        ("cached tokens", f"{number(cached)} (hit rate {rate})"),
        ("output tokens", number(_total(sent, "completion_tokens"))),
        ("cost", money(_total(sent, "cost"))),
    ]
    breaks = session.breaks
    if breaks:
        rows.append(("prefix broken", "; ".join(f"request {number}: {where}" for number, where in breaks[-3:])))
    return table(("", ""), rows)


def plan(items: Sequence[PlanItem]) -> Shown:
    """Return the plan as a list."""
    if not items:
        return Shown.line("There is no plan.")
    rows = "".join(f"<li>{escape(MARKS[item.status])} {escape(visible(item.text))}</li>" for item in items)
    return Shown(html=f"<ol>{rows}</ol>", text=visible(shown_plan(items)))


def sessions(rows: Sequence[SessionRow]) -> Shown:
    """Return all sessions."""
    heads = ("name", "kind", "root", "last used", "started")
    return table(heads, [(r.name, r.kind, r.root, r.used_at[:16], r.made_at[:16]) for r in rows], "Sessions")


def results(session: Session) -> Shown:
    """Return the result table."""
    frame = session.results
    sent, made = _total(frame, "sent_chars") or 0, _total(frame, "chars") or 0
    heads = ("id", "turn", "tool", "kind", "path", "lines", "sha", "chars", "sent", "stands for")
    names = ("id", "turn", "tool", "kind", "path", "lines", "sha", "chars", "sent_chars", "stands_for")
    rows = [[_blank(frame[name].iloc[at]) for name in names] for at in range(len(frame))]
    return table(heads, rows, f"{len(frame):,} results: {made:,} characters made, {sent:,} sent")


def recall(session: Session, result_id: str, offset: int, limit: int | None) -> Shown:
    """Return a window of a stored result, with what of it the model was sent."""
    stored = session.recall(result_id)
    from nbcontext import lines

    most = 2000 if limit is None else min(limit, 2000)
    window = list(islice(lines.iterate(stored, offset), most))
    total = lines.count(stored)
    head = (
        f"{result_id}: lines {offset}-{offset + len(window) - 1} of {total}"
        if window
        else f"{result_id}: {total} lines"
    )
    body = "\n".join(window)
    return Shown(
        html=f"<div>{escape(head)}</div>{html_lines(body, numbers_from=offset)}", text=f"{head}\n{visible(body)}"
    )


def requests(session: Session) -> Shown:
    """Return the request table."""
    frame = session.requests
    names = (
        *("request", "turn", "step", "purpose", "model", "prompt_tokens", "cached_tokens", "cache_write_tokens"),
        *("completion_tokens", "cost", "ttft_ms", "ms", "cause"),
    )
    rows = [[_known(frame[name].iloc[at]) for name in names] for at in range(len(frame))]
    return table([name.replace("_", " ") for name in names], rows, f"{len(frame):,} requests")


def cache(session: Session) -> Shown:
    """Return the cached tokens of each request, with a bar that shows their share."""
    frame = session.requests
    rows = []
    for at in range(len(frame)):
        row = frame.iloc[at]
        prompt, cached = _known(row["prompt_tokens"]), _known(row["cached_tokens"])
        share = cached / prompt if isinstance(prompt, int) and isinstance(cached, int) and prompt else None
        bar = "?" if share is None else "█" * round(share * 20) + "░" * (20 - round(share * 20))
        rows.append(
            (int(row["request"]), int(row["turn"]), row["purpose"], prompt, cached,
             None if share is None else f"{share:.0%}", bar, row["cause"])
        )  # fmt: skip
    heads = ("request", "turn", "purpose", "input tokens", "cached", "share", "", "cause")
    return table(heads, rows, "Cached tokens")


def request(session: Session, wanted: int) -> Shown:
    """Return exactly what a request sent, message by message."""
    sent = session.request(wanted)
    shown = {"model": sent.model, "messages": list(sent.messages), "tools": list(sent.tools)}
    made = json.dumps(shown, ensure_ascii=False, indent=1)
    return Shown(html=html_lines(made), text=visible(made))


def tools(session: Session) -> Shown:
    """Return the session's tools, and which can be used now."""
    rows = [
        (tool.name, tool.effect.value, session.unavailable(tool) or "yes", visible(tool.description.split("\n", 1)[0]))
        for tool in session.tools
    ]
    return table(("tool", "effect", "now", "what it does"), rows)


def _total(frame: pd.DataFrame, column: str) -> int | float | None:
    """Return a column's sum; None where there is nothing, or a value is unknown."""
    values = frame[column]
    if not len(values) or values.isna().any():
        return None
    found = values.sum()
    return float(found) if column == "cost" else int(found)


def _known(value: object) -> Cell:
    """Return a frame's value as a table's; None where it is missing."""
    import pandas as pd

    if value is None or value is pd.NA or value != value:  # noqa: PLR0124 - NaN
        return None
    item = getattr(value, "item", None)
    found = item() if callable(item) else value
    return found if isinstance(found, str | int | float) else str(found)


def _blank(value: object) -> Cell:
    """Return a frame's value as a table's; empty where it is missing because it does not apply."""
    found = _known(value)
    return "" if found is None else found
