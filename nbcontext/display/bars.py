"""The cached-token chart's bars: one a request, or one for several; and the sums in its head. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbcontext.display.summary import money

if TYPE_CHECKING:
    Row = Mapping[str, Any]

MOST = 160
"""Bars that are shown at once: more requests share one."""
STATIC = 100
"""Bars of the static form."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """One request, or several in a row; None: unknown."""

    first: int
    """Number of the first request."""
    last: int
    read: int | None
    """Input tokens read from the cache."""
    written: int | None
    """Input tokens written to it; 0 where the provider does not say."""
    other: int | None
    """Other input tokens."""
    output: int | None
    unsplit: int | None
    """Input tokens of which the provider does not say how many it had cached; None: it said, or said nothing at all."""
    expected: int | None
    """Cached tokens that were to be expected."""
    cost: float | None
    ttft_ms: float | None
    marks: str
    """`t` a turn begins, `c` a compaction, `m` the model moved, `x` a measurement, `e` it failed."""
    turn: int
    """Of the first request."""
    cause: str
    """Why the cache did not serve all it could; of several, the first one's that has one."""

    def packed(self) -> list[float | str | None]:
        """Return what travels to a page, in the order `cache.js` reads; what is usual stands last and is left out."""
        cost = None if self.cost is None else round(self.cost, 6)
        ttft = None if self.ttft_ms is None else round(self.ttft_ms)
        last = None if self.last == self.first else self.last
        found: list[float | str | None] = [self.first, self.turn, self.read, self.written, self.other, self.output]
        found += [cost, ttft, self.marks, self.cause, last, self.unsplit, self.expected]
        while found[-1] in (None, ""):
            found.pop()
        return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """The sums over requests whose usage is known."""

    requests: int = 0
    prompt: int = 0
    """Input tokens of the requests whose cached tokens are known."""
    cached: int = 0
    sent: int = 0
    """Input tokens of all requests that report them."""
    new: int = 0
    """Of those, the ones that no request before had: what each grew by."""
    cost: float = 0.0
    unpriced: int = 0
    """Requests whose cost is unknown."""
    unknown: int = 0
    """Requests whose cached tokens are unknown."""
    simulated: int = 0

    def packed(self) -> list[float]:
        """Return what travels to a page, in the order that `cache.js` reads."""
        found = [self.requests, self.prompt, self.cached, self.sent, self.new, round(self.cost, 6)]
        return [*found, self.unpriced, self.unknown, self.simulated]

    def line(self) -> str:
        """Return them as one line."""
        parts = [f"{self.requests:,} requests", f"hit rate {self.rate}", f"amplification {self.amplification}"]
        cost = "?" if self.requests and self.unpriced == self.requests else money(self.cost)
        parts.append(f"cost {cost}" + (f" ({self.unpriced:,} unknown)" if 0 < self.unpriced < self.requests else ""))
        if self.unknown:
            parts.append(f"{self.unknown:,} without cached tokens reported")
        if self.simulated:
            parts.append("token counts simulated")
        return " · ".join(parts)

    @property
    def rate(self) -> str:
        """Cached tokens of all input tokens, where both are known."""
        return f"{self.cached / self.prompt:.1%}" if self.prompt else "?"

    @property
    def amplification(self) -> str:
        """Input tokens sent for each one that was new."""
        return f"{self.sent / self.new:.1f} times" if self.new else "?"


def head(rows: Sequence[Row]) -> Head:
    """Return the sums over request rows, oldest first."""
    prompt = cached = sent = new = unpriced = unknown = simulated = 0
    cost, before = 0.0, 0
    for row in rows:
        tokens, served = row["prompt_tokens"], row["cached_tokens"]
        if tokens is not None:
            sent += tokens
            new += max(tokens - before, 0)
            before = tokens
        if tokens is not None and served is not None:
            prompt, cached = prompt + tokens, cached + served
        unknown += tokens is None or served is None
        cost += row["cost"] or 0.0
        unpriced += row["cost"] is None
        simulated += '"simulated"' in (row["usage"] or "")
    return Head(
        requests=len(rows),
        prompt=prompt,
        cached=cached,
        sent=sent,
        new=new,
        cost=cost,
        unpriced=unpriced,
        unknown=unknown,
        simulated=simulated,
    )


def bar(row: Row, before: Row | None) -> Bar:
    """Return the bar of one request.

    Args:
        row: its row in the store.
        before: the row of the request before; None: there was none.
    """
    prompt, read, written = row["prompt_tokens"], row["cached_tokens"], row["cache_write_tokens"]
    known = prompt is not None and read is not None
    return Bar(
        first=row["request"],
        last=row["request"],
        read=read if known else None,
        written=(written or 0) if known else None,
        other=prompt - read - (written or 0) if known else None,
        output=row["completion_tokens"],
        unsplit=None if known else prompt,
        expected=row.get("expected_cached_tokens"),
        cost=row["cost"],
        ttft_ms=row["ttft_ms"],
        marks=_marks(row, before),
        turn=row["turn"],
        cause=row["cause"] or "",
    )


def _marks(row: Row, before: Row | None) -> str:
    found = {"turn": "t", "compaction": "c", "measure": "x"}.get(row["purpose"], "")
    if before is not None and before["model"] != row["model"]:
        found += "m"
    return found + ("e" if row["error"] else "")


def bars(rows: Sequence[Row], first: int = 0, last: int | None = None, *, width: int) -> list[Bar]:
    """Return the bars of `rows[first:last]`.

    Args:
        rows: request rows, oldest first.
        first: place of the first, from 0.
        last: place after the last; None: the end.
        width: requests that one bar is for.
    """
    last = len(rows) if last is None else min(last, len(rows))
    made = []
    for start in range(first, last, width):
        end = min(start + width, last)
        made.append(together([bar(rows[at], rows[at - 1] if at else None) for at in range(start, end)]))
    return made


def width_of(count: int, most: int = MOST) -> int:
    """Return how many requests one bar is for: a power of two, so that it seldom changes while requests come."""
    width = 1
    while count > most * width:
        width *= 2
    return width


def together(several: Sequence[Bar]) -> Bar:
    """Return one bar for several: their sums; of seconds to the first token the mean."""
    if len(several) == 1:
        return several[0]
    times = [each.ttft_ms for each in several if each.ttft_ms is not None]
    return Bar(
        first=several[0].first,
        last=several[-1].last,
        read=_sum(each.read for each in several),
        written=_sum(each.written for each in several),
        other=_sum(each.other for each in several),
        output=_sum(each.output for each in several),
        unsplit=_sum(each.unsplit for each in several),
        expected=_sum(each.expected for each in several),
        cost=_sum(each.cost for each in several),
        ttft_ms=sum(times) / len(times) if times else None,
        marks="".join(mark for mark in "tcmxe" if any(mark in each.marks for each in several)),
        turn=several[0].turn,
        cause=next((each.cause for each in several if each.cause), ""),
    )


def _sum(values: Iterable[Any]) -> Any:
    """Return the sum of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
