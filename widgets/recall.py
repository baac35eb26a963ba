"""The recall browser's model: one stored result at a time, by windows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nbcontext.display import recalled
from nbcontext.display.result_rows import places

from .model import Answer, Later, Look, Message, whole
from .reader import Reader

if TYPE_CHECKING:
    from nbcontext.display.twin import Twin
    from nbcontext.result import Result


class RecallModel:
    """What the recall browser shows; the lines themselves are in no state."""

    kind = "recall"
    name = "recall browser"

    def __init__(self, look: Look, number: int, offset: int = 1, limit: int = 2000) -> None:
        """Open a result.

        Args:
            look: the session.
            number: the result's number.
            offset: first line, from 1.
            limit: lines that the static form shows at most.

        Raises:
            SessionError: the session never gave it.
        """
        self._look = look
        self._reader = Reader(look)
        self._number, self._offset, self._limit = number, offset, limit
        self._result()
        self._told = self._head()

    def state(self) -> Message:
        """Return all that is shown now, but for the lines."""
        return {**self._head(), "source": {"result": self._number}, "first": self._offset}

    def update(self) -> Message | None:
        """Look again: the session may be another, or the result no longer in the context."""
        self._look.again()
        told, self._told = self._told, self._head()
        return None if told == self._told else self._told

    def twin(self) -> Twin:
        """Return the window as it stands."""
        result = self._result()
        return recalled.twin(
            result,
            self._look.store.lines(result.stored_sha256, self._offset),
            first=self._offset,
            limit=self._limit,
            context=self._look.context,
            title=f"Session {self._look.name}",
            note=self._look.note,
        )

    def answer(self, asked: Mapping[str, Any]) -> Answer | Later:
        """Return what the reader gives; what was opened last is what the static form shows."""
        made = self._reader.answer(asked)
        source = asked.get("source")
        if asked.get("ask") in ("open", "window") and isinstance(made, Answer) and isinstance(source, Mapping):
            self._number = whole(source, "result", self._number)
            self._offset, self._limit = made.content["first"], self._look.context.window.max_lines
            self._told = self._head()
            made.content.update(self._told)
        return made

    def _result(self) -> Result:
        result = self._reader.source({"result": self._number}).result
        assert result is not None  # noqa: S101 - a source of a result has it
        return result

    def _head(self) -> Message:
        where = places(self._look.history).get(self._number, "taken back")
        return {
            "title": f"Session {self._look.name}",
            "where": where,
            "note": self._look.note,
            "back": self._look.back(f"recall {self._look.context.id(self._number)}"),
        }
