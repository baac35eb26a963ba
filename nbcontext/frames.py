"""A session's results and requests as pandas data frames (interface: `s.results`, `s.requests`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from nbcontext.loop import Context

RESULT_COLUMNS = (
    *("id", "turn", "step", "request", "tool", "kind", "path", "lines", "sha", "chars", "sent_chars"),
    *("stands_for", "ms", "error"),
)
REQUEST_COLUMNS = (
    *("request", "turn", "step", "purpose", "model", "sent_at", "prompt_tokens", "cached_tokens"),
    *("cache_write_tokens", "completion_tokens", "reasoning_tokens", "expected_cached_tokens", "cost", "ttft_ms", "ms"),
    *("cause", "finish_reason"),
)
_WHOLE = (
    *("turn", "step", "request", "chars", "sent_chars", "prompt_tokens", "cached_tokens", "cache_write_tokens"),
    *("completion_tokens", "reasoning_tokens", "expected_cached_tokens"),
)
_FAILED = ("error", "refused", "unavailable", "interrupted")

Row = Mapping[str, Any]


def results(rows: Sequence[Row], requests: Sequence[Row], context: Context) -> pd.DataFrame:
    """Return the result table: one row a result, oldest first.

    Args:
        rows: the store's result rows (`Store.result_rows`).
        requests: the store's request rows, which tell the request that asked for a result.
        context: the form of ids and hashes.
    """
    asked_by = {(row["turn"], row["step"]): row["request"] for row in requests}
    made = [
        {
            "id": context.id(row["number"]),
            "turn": row["turn"],
            "step": row["step"],
            "request": asked_by.get((row["turn"], row["step"])),
            "tool": row["tool"],
            "kind": row["kind"],
            "path": row["path"],
            "lines": lines_shown(row),
            "sha": None if row["sha256"] is None else context.sha(row["sha256"]),
            "chars": row["stored_chars"],
            "sent_chars": len(row["sent"]),
            "stands_for": None if row["stands_for"] is None else context.id(row["stands_for"]),
            "ms": row["ms"],
            "error": _error(row),
        }
        for row in rows
    ]
    return _frame(made, RESULT_COLUMNS)


def requests(rows: Sequence[Row]) -> pd.DataFrame:
    """Return the request table: one row a request, oldest first; what is unknown is missing, never 0."""
    # What a provider would serve from its cache is predicted nowhere yet: the column stands, and is unknown.
    return _frame([{**row, "expected_cached_tokens": None} for row in rows], REQUEST_COLUMNS)


def lines_shown(row: Row) -> str:
    """Return the lines that a result shows, `1-200 of 340` for a read or a recall, else their count."""
    if row["first_line"] is None:
        return str(row["stored_lines"])
    return f"{row['first_line']}-{row['last_line']} of {row['total_lines']}"


def _error(row: Row) -> str | None:
    if row["kind"] not in _FAILED:
        return None
    said: str = row["sent"].partition("]")[2].strip()
    return said.split("\n", 1)[0]


def _frame(rows: Sequence[Row], columns: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame([[row[column] for column in columns] for row in rows], columns=list(columns))
    whole = {column: "Int64" for column in columns if column in _WHOLE}
    return frame.astype({**whole, **{c: "Float64" for c in columns if c in ("cost", "ttft_ms", "ms")}})
