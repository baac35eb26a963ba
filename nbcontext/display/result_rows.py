"""The result table's rows, their sums, and which of them a person asked to see, in which order. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from nbcontext.plain import visible

if TYPE_CHECKING:
    from nbcontext.history import History
    from nbcontext.loop import Context

Where = Literal["in context", "summarised", "not carried", "taken back"]
"""Whether the next request carries a result, and if not, why."""

COLUMNS = ("id", "turn", "tool", "kind", "path", "lines", "sha", "made", "sent", "saved", "stands_for", "where")
"""What a row shows, in this order."""

_NUMBERS = {"id": "number", "turn": "turn", "made": "made", "sent": "sent", "saved": "saved"}


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultRow:
    """One result of a session."""

    number: int
    id: str
    turn: int
    tool: str
    kind: str
    path: str
    """As the call gave it; empty: it names none."""
    lines: str
    """`1-200 of 340` of a read or a recall, else their count."""
    sha: str
    made: int
    """Characters of the stored text: what the tool made."""
    sent: int
    """Characters that the model was sent, bracket included."""
    elided: int
    """Lines that were cut out."""
    stands_for: str
    """Of a stub: the id it names."""
    stands_for_number: int | None
    where: Where
    resolved: str | None
    """The file's absolute path."""
    sha256: str | None
    """Of the file's bytes when it was seen."""

    @property
    def saved(self) -> int:
        """Characters made less characters sent; below 0 where the bracket was all that came to it."""
        return self.made - self.sent

    def shown(self) -> tuple[str | int, ...]:
        """Return the cells, in the order of `COLUMNS`."""
        return tuple(self.cell(column) for column in COLUMNS)

    def cell(self, column: str) -> str | int:
        """Return one cell; control characters in it are symbols."""
        value: str | int = getattr(self, column)
        return visible(value) if isinstance(value, str) else value


@dataclass(frozen=True, kw_only=True, slots=True)
class Sums:
    """What a set of rows comes to."""

    results: int = 0
    made: int = 0
    sent: int = 0
    elided: int = 0
    """Lines that were cut out."""
    capped: int = 0
    """Results that lines were cut out of."""
    stubs: int = 0

    @property
    def saved(self) -> int:
        """Characters made less characters sent."""
        return self.made - self.sent

    def plus(self, rows: Iterable[ResultRow]) -> Sums:
        """Return the sums with more rows."""
        found = list(rows)
        return Sums(
            results=self.results + len(found),
            made=self.made + sum(row.made for row in found),
            sent=self.sent + sum(row.sent for row in found),
            elided=self.elided + sum(row.elided for row in found),
            capped=self.capped + sum(row.elided > 0 for row in found),
            stubs=self.stubs + sum(row.kind == "stub" for row in found),
        )

    def line(self) -> str:
        """Return them as one line."""
        share = f" ({self.saved / self.made:.0%})" if self.made and self.saved > 0 else ""
        return (
            f"{self.results:,} results · {self.made:,} characters made · {self.sent:,} sent · "
            f"{self.saved:,} saved{share} · {self.elided:,} lines elided in {self.capped:,} · {self.stubs:,} stubs"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """What a person asked the table for."""

    sort: str = "id"
    descending: bool = False
    text: str = ""
    """In any cell, whatever its case."""
    tool: str = ""
    kind: str = ""
    path: str = ""

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> Query:
        """Return the query that a page asked; what it cannot mean is left out."""
        words = {name: str(asked.get(name) or "")[:200] for name in ("text", "tool", "kind", "path")}
        sort = str(asked.get("sort") or "id")
        return cls(sort=sort if sort in COLUMNS else "id", descending=bool(asked.get("descending")), **words)

    @property
    def is_plain(self) -> bool:
        """Whether it is every row, oldest first."""
        return self == Query()

    def takes(self, row: ResultRow) -> bool:
        """Return whether a row is asked for."""
        if (self.tool and row.tool != self.tool) or (self.kind and row.kind != self.kind):
            return False
        if self.path and self.path.casefold() not in row.cell("path").casefold():  # type: ignore[union-attr]
            return False
        wanted = self.text.casefold()
        return not wanted or any(wanted in str(cell).casefold() for cell in row.shown())

    def arranged(self, rows: Sequence[ResultRow]) -> list[ResultRow]:
        """Return the rows asked for, in the order asked for; equal ones stay oldest first."""
        found = list(rows) if self.is_plain else [row for row in rows if self.takes(row)]
        if self.sort in _NUMBERS:
            name = _NUMBERS[self.sort]
            return sorted(found, key=lambda row: getattr(row, name), reverse=self.descending)
        return sorted(found, key=lambda row: str(getattr(row, self.sort)).casefold(), reverse=self.descending)


def places(history: History) -> Mapping[int, Where]:
    """Return where each result of the live turns is; a result that is not among them was taken back."""
    found: dict[int, Where] = {}
    for turn in history.all_turns:
        found.update(dict.fromkeys((result.number for result in turn.results), "summarised"))
    for turn in history.turns:
        found.update(dict.fromkeys((result.number for result in turn.results), "not carried"))
    found.update(dict.fromkeys((result.number for result in history.carried_results()), "in context"))
    return found


def made_from(facts: Mapping[str, Any], where: Mapping[int, Where], context: Context) -> ResultRow:
    """Return the row of a result.

    Args:
        facts: its row in the store, with `sent_chars` (`Store.result_facts`).
        where: number to place (`places`).
        context: the form of ids and hashes.
    """
    first = facts["first_line"]
    reports = json.loads(facts["reports"] or "[]")
    return ResultRow(
        number=facts["number"],
        id=context.id(facts["number"]),
        turn=facts["turn"],
        tool=facts["tool"],
        kind=facts["kind"],
        path=facts["path"] or "",
        lines=str(facts["stored_lines"])
        if first is None
        else f"{first}-{facts['last_line']} of {facts['total_lines']}",
        sha=context.sha(facts["sha256"]) if facts["sha256"] else "",
        made=facts["stored_chars"],
        sent=facts["sent_chars"],
        elided=sum(report.get("lines_elided") or 0 for report in reports if report.get("step") == "cap"),
        stands_for=context.id(facts["stands_for"]) if facts["stands_for"] else "",
        stands_for_number=facts["stands_for"],
        where=where.get(facts["number"], "taken back"),
        resolved=facts["resolved"],
        sha256=facts["sha256"],
    )


def moved(rows: Iterable[ResultRow], where: Mapping[int, Where]) -> list[ResultRow]:
    """Return the rows with their places as they are now."""
    made = []
    for row in rows:
        now = where.get(row.number, "taken back")
        made.append(row if row.where == now else replace(row, where=now))
    return made
