"""The result table's model: all rows in Python, sorted and filtered here; only a window of them travels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nbcontext.display import result_table
from nbcontext.display.result_rows import COLUMNS, Query, ResultRow, Sums, made_from, moved, places

from .disk import Disk
from .model import Answer, Later, Look, Message, whole
from .reader import Reader

if TYPE_CHECKING:
    from nbcontext.display.twin import Twin

SAVED_ROWS = 40
"""Rows that stand in the state, and so in a saved notebook."""
_MOST = 200
"""Rows that travel at once."""


class ResultsModel:
    """What the result table shows."""

    kind = "results"
    name = "result table"

    def __init__(self, look: Look) -> None:
        self._look = look
        self._reader = Reader(look)
        self._disk = Disk()
        self._query = Query()
        self._window = (0, SAVED_ROWS)
        self._rows: list[ResultRow] = []
        self._sums = Sums()
        self._arranged: list[ResultRow] = []
        self._told = ""
        self._look_again()

    def state(self) -> Message:
        """Return all that is shown now."""
        first, count = self._window
        return {
            **self._head(),
            "query": self._asked(),
            "columns": COLUMNS,
            "tools": sorted({row.tool for row in self._rows}),
            "kinds": sorted({row.kind for row in self._rows}),
            "at": first,
            "rows": self._shown(first, min(count, SAVED_ROWS)),
        }

    def update(self) -> Message | None:
        """Look again; return the new rows, or the whole window where others moved too."""
        before, told, matching = len(self._rows), self._told, len(self._arranged)
        has_moved = self._look_again()
        new = len(self._rows) - before
        if not new and not has_moved and told == self._told:
            return None
        if has_moved or new > _MOST or not self._query.is_plain:
            first, count = self._window
            return {**self._head(), "reset": True, "at": first, "rows": self._shown(first, count)}
        return {**self._head(), "at": matching, "rows": self._shown(matching, new)}

    def twin(self) -> Twin:
        """Return the sums and the first rows."""
        return result_table.twin(self._rows, self._sums, title=self._title(), note=self._look.note)

    def answer(self, asked: Mapping[str, Any]) -> Answer | Later:
        """Return a window of rows (`rows`), or what the reader gives."""
        if self._reader.takes(asked):
            return self._reader.answer(asked)
        query = Query.of(asked.get("query") or {})
        if query != self._query:
            self._query = query
            self._arranged = query.arranged(self._rows)
        if (number := whole(asked, "number")) > 0:
            at = next((at for at, row in enumerate(self._arranged) if row.number == number), -1)
            return Answer(content={"found": at})
        self._window = (max(whole(asked, "first"), 0), min(max(whole(asked, "count"), 1), _MOST))
        rows = self._shown(*self._window)
        return Answer(content={**self._head(), "query": self._asked(), "at": self._window[0], "rows": rows})

    def _look_again(self) -> bool:
        """Read what is new; return whether rows that were there changed."""
        self._look.again()
        where = places(self._look.history)
        last = self._rows[-1].number if self._rows else 0
        facts = self._look.store.result_facts(self._look.id, after=last)
        new = [made_from(fact, where, self._look.context) for fact in facts]
        old = moved(self._rows, where)
        has_moved = any(now is not before for now, before in zip(old, self._rows, strict=True))
        if new or has_moved:
            self._rows = [*old, *new]
            self._sums = self._sums.plus(new)
            self._arranged = self._query.arranged(self._rows)
        self._told = f"{self._look.name}\n{self._look.note}"
        return has_moved

    def _head(self) -> Message:
        return {
            "title": self._title(),
            "note": self._look.note,
            "sums": self._sums.line(),
            "total": len(self._rows),
            "matching": len(self._arranged),
            "back": self._look.back("results"),
        }

    def _title(self) -> str:
        return f"Results of session {self._look.name}"

    def _asked(self) -> Message:
        query = self._query
        names = ("sort", "descending", "text", "tool", "kind", "path")
        return {name: getattr(query, name) for name in names}

    def _shown(self, first: int, count: int) -> list[list[Any]]:
        """Return rows as they travel: the cells, the state on disk, the number, the number it stands for."""
        return [
            [*row.shown(), self._disk.state(row.resolved, row.sha256), row.number, row.stands_for_number]
            for row in self._arranged[first : first + count]
        ]
