"""The request that a history makes: the kept prefix, then the carried messages (§10, decision 20). Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from nbcontext import request
from nbcontext.errors import SessionError
from nbcontext.history import Message, assistant_message, user_message
from nbcontext.request import Request

if TYPE_CHECKING:
    from nbcontext.entry import PrefixMade
    from nbcontext.history import History
    from nbcontext.loop import Context


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """How a compaction's request differs from what the history alone makes."""

    question: str
    """The user message that asks for the summary."""
    separate: bool = False
    """Whether it carries no earlier message (decision 22: the question holds the transcript)."""
    without_turn: int | None = None
    """The last turn, where it is left out: its message waits until after the summary."""

    def dumps(self) -> str:
        """Return it as JSON."""
        return json.dumps(
            {"question": self.question, "separate": self.separate, "without_turn": self.without_turn},
            ensure_ascii=False,
        )

    @classmethod
    def loads(cls, text: str) -> Shape:
        """Return the shape that a request's row holds."""
        return cls(**json.loads(text))


@dataclass(frozen=True, kw_only=True, slots=True)
class Outgoing:
    """Makes the requests of one session."""

    context: Context
    provider: str
    """litellm's name of the model's provider: only it is sent back what its models wrote for themselves."""
    cache_key: str
    """The same for all requests of the session."""

    def request(self, history: History, shape: Shape | None = None) -> Request:
        """Return the request that the history makes.

        Raises:
            SessionError: the session has no system prompt yet.
        """
        prefix = history.prefix
        if prefix is None:
            raise SessionError("The session has no system prompt yet: make a new one.")
        carried = history.carried(self.context) if shape is None else self._asking(history, shape)
        images = request.takes_images(prefix.model, self.provider)
        pairs = ((message.with_images if images else message.body, message.origin) for message in carried)
        return Request(
            model=prefix.model,
            messages=(_system(prefix), *request.without_foreign(pairs, self.provider)),
            tools=_tools(prefix.tools),
            api_base=prefix.api_base,
            cache_key=self.cache_key,
        )

    def _asking(self, history: History, shape: Shape) -> Sequence[Message]:
        """Return the messages of a request for a summary: the next turn of the same conversation (§7)."""
        asked = user_message(shape.question)
        if shape.separate:
            return [asked]
        carried = carried_before(history, shape.without_turn, self.context)
        if carried and carried[-1].role != "assistant":
            carried.append(assistant_message(self.context.stopped))
        return [*carried, asked]


def carried_before(history: History, without_turn: int | None, context: Context) -> list[Message]:
    """Return what a request carries, less the last turn where that is named."""
    return before(history, without_turn).carried(context)


def before(history: History, without_turn: int | None) -> History:
    """Return the history less its last turn where that is named; nothing is taken back by it."""
    from dataclasses import replace

    if without_turn is None:
        return history
    return replace(history, turns=tuple(turn for turn in history.turns if turn.number != without_turn))


def _system(prefix: PrefixMade) -> dict[str, Any]:
    return {"role": "system", "content": prefix.system}


@lru_cache(maxsize=4)
def _tools(text: str) -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(text))
