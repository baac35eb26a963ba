"""What the looking commands show: a session's tables and texts, as static HTML and as text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING

from nbcontext.display.summary import money, number
from nbcontext.display.tables import Cell, html_lines, html_table, text_table
from nbcontext.errors import SessionError
from nbcontext.notebook.desk import Shown
from nbcontext.plain import visible
from nbcontext.plan import MARKS
from nbcontext.plan import shown as shown_plan

if TYPE_CHECKING:
    import pandas as pd

    from nbcontext.plan import PlanItem
    from nbcontext.session import Session
    from nbcontext.store import SessionRow
    from nbcontext.widgets.model import Look

ROWS = 100
"""Rows that a static table shows; the rest are counted."""

ROWS_OF_A_WINDOW = 2000


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
    asked = session.requests
    sent = asked[asked["ms"].notna()]  # those that were answered: a failed one has no counts
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
    shown = [(r.name, r.kind, r.root, _local(r.used_at), _local(r.made_at)) for r in rows]
    return table(heads, shown, "Sessions")


def results(session: Session) -> Shown:
    """Return the result table."""
    from nbcontext.widgets.results import ResultsModel

    return Shown.view(ResultsModel(_look(session)))


def recall(session: Session, result_id: str, offset: int, limit: int | None) -> Shown:
    """Return a window of a stored result, with what of it the model was sent.

    Raises:
        SessionError: the session never gave that id.
    """
    from nbcontext.widgets.recall import RecallModel

    try:
        wanted = int(result_id.strip().removeprefix("#"), 16)
    except ValueError:
        raise SessionError(f"No stored result {result_id} in this session; `%llm results` lists them.") from None
    return Shown.view(RecallModel(_look(session), wanted, offset, limit or ROWS_OF_A_WINDOW))


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
    """Return the cached-token chart."""
    from nbcontext.widgets.cache import CacheModel

    return Shown.view(CacheModel(_look(session)))


def _look(session: Session) -> Look:
    from nbcontext.opened import current
    from nbcontext.widgets.model import Look

    return Look(session, current)


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


def _local(time: str) -> str:
    """Return a stored time as the person's clock shows it, to the minute."""
    return datetime.fromisoformat(time).astimezone().isoformat(" ", "minutes")[:16]


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
