"""The cached-token chart's model: all requests in Python; bars of a range of them travel, and what a chosen one was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nbcontext.display import chart
from nbcontext.display.bars import STATIC, Head, bars, head, width_of
from nbcontext.display.summary import money, number

from .model import Answer, Later, Look, Message, whole
from .reader import Reader

if TYPE_CHECKING:
    from nbcontext.display.twin import Twin
    from nbcontext.request import Request

_REPLACED = 3
"""Newest rows that are read again: the last one may have been under way."""


class CacheModel:
    """What the chart shows."""

    kind = "cache"
    name = "cached-token chart"

    def __init__(self, look: Look) -> None:
        self._look = look
        self._reader = Reader(look)
        self._rows: list[dict[str, Any]] = []
        self._first, self._last = 0, 0
        self._follows = True
        self._head = Head()
        self._told = ""
        self._look_again()
        self._told = self._about()

    def state(self) -> Message:
        """Return all that is shown now."""
        return {**self._range(), "head": self._head.packed(), "about": self._about_parts()}

    def update(self) -> Message | list[Any] | None:
        """Look again; return the bars that are new or changed; of one more request its bar alone."""
        width, before = self._width(), list(self._rows)
        changed = self._look_again()
        told, self._told = self._told, self._about()
        if changed is None and told == self._told:
            return None
        about = {} if told == self._told else {"about": self._about_parts()}
        if changed is None or changed >= self._last:
            return {"head": self._head.packed(), **about}
        if self._width() != width or changed < self._first or not before:
            return {**self._range(), "head": self._head.packed(), **about}
        if width == 1 and changed == len(before) == len(self._rows) - 1 and not about:
            return bars(self._rows, changed, width=1)[0].packed()
        at = (changed - self._first) // width
        some = bars(self._rows, self._first + at * width, self._last, width=width)
        return {"at": at, "bars": [b.packed() for b in some],
                "head": self._head.packed(), **about}  # fmt: skip

    def twin(self) -> Twin:
        """Return all requests as an image."""
        return chart.twin(
            bars(self._rows, width=width_of(len(self._rows), STATIC)),
            self._head,
            title=self._title(),
            note=self._note(),
        )

    def answer(self, asked: Mapping[str, Any]) -> Answer | Later:
        """Return a `range` of bars, the `detail` of a request, or what the reader gives."""
        if self._reader.takes(asked):
            return self._reader.answer(asked)
        if asked.get("ask") == "detail":
            return Answer(content=self._detail(whole(asked, "request")))
        total = len(self._rows)
        first = max(min(whole(asked, "first"), total - 1), 0)
        last = min(max(whole(asked, "last", total), first + 1), total)
        self._first, self._last, self._follows = first, last, last == total
        return Answer(content=self._range())

    def _look_again(self) -> int | None:
        """Read what is new; return the place of the first row that changed, None where none did."""
        self._look.again()
        kept = max(len(self._rows) - _REPLACED, 0)
        after = self._rows[kept - 1]["request"] if kept else 0
        fresh = self._look.store.requests(self._look.id, after=after)
        old = self._rows[kept:]
        same = next((at for at, row in enumerate(fresh) if at >= len(old) or old[at] != row), None)
        if same is None:
            return None
        self._rows[kept:] = fresh
        self._head = head(self._rows)
        if self._follows:
            self._last = len(self._rows)
        return kept + same

    def _width(self) -> int:
        return width_of(self._last - self._first)

    def _range(self) -> Message:
        made = [each.packed() for each in bars(self._rows, self._first, self._last, width=self._width())]
        return {"total": len(self._rows), "first": self._first, "last": self._last, "width": self._width(),
                "bars": made, "at": 0, "reset": True}  # fmt: skip

    def _title(self) -> str:
        return f"Cached tokens of session {self._look.name}"

    def _note(self) -> str:
        live = {turn.number for turn in self._look.history.all_turns}
        back = sorted({row["turn"] for row in self._rows if row["turn"] and row["turn"] not in live})
        turns = ", ".join(map(str, back[:10])) + (" …" if len(back) > 10 else "")  # noqa: PLR2004
        told = f"Taken back: turn {turns}. What was sent for it stays here." if back else ""
        return " ".join(filter(None, (self._look.note, told)))

    def _about_parts(self) -> Message:
        return {"title": self._title(), "note": self._note(), "back": self._look.back("cache")}

    def _about(self) -> str:
        return str(self._about_parts())

    def _detail(self, request: int) -> Message:
        row = next((row for row in self._rows if row["request"] == request), None)
        if row is None:
            return {"request": request, "facts": [], "broke": None}
        seconds = {name: None if row[name] is None else f"{row[name] / 1000:.2f} s" for name in ("ttft_ms", "ms")}
        facts = [
            ("turn and step", f"{row['turn']}.{row['step']} ({row['purpose']})"),
            ("model", row["model"]),
            ("sent at", row["sent_at"]),
            ("cause", row["cause"] or "none: the cache served all it could"),
            ("input", ", ".join((f"{number(row['prompt_tokens'])} tokens", f"{number(row['cached_tokens'])} from cache",
                                 f"{number(row['cache_write_tokens'])} written"))),
            ("output", f"{number(row['completion_tokens'])} tokens, {number(row['reasoning_tokens'])} reasoning"),
            ("cost", money(row["cost"])),
            ("first token", seconds["ttft_ms"] or "?"),
            ("whole", seconds["ms"] or "?"),
            ("ended", row["error"] or row["finish_reason"] or "?"),
        ]  # fmt: skip
        sent = self._reader.request(request)
        before = self._reader.request(request - 1) if request > 1 else None
        at, has_broken = _goes_on(before, sent)
        facts.append(("it sent", f"{len(sent.messages)} messages, {len(sent.tools)} tools"))
        return {
            "request": request,
            "facts": facts,
            "at": at,
            "broke": has_broken,
            "messages": len(sent.messages),
        }


def _goes_on(before: Request | None, sent: Request) -> tuple[int, bool]:
    """Return where a request goes on from the one before, and whether it changed what that had.

    The place is that of the first message that the request before had not, or had otherwise; -1: the tool list.
    """
    if before is None:
        return 0, False
    if before.messages[:1] == sent.messages[:1] and before.tools != sent.tools:
        return -1, True
    for at, (old, new) in enumerate(zip(before.messages, sent.messages, strict=False)):
        if old != new:
            return at, True
    if len(sent.messages) < len(before.messages):
        return len(sent.messages), True
    return min(len(before.messages), len(sent.messages) - 1), False
