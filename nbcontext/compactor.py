"""Asks for the summary of a session as the next turn of its conversation, and puts it in the history's place (§7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbcontext import compaction
from nbcontext.compaction import CompactionFailed
from nbcontext.entry import Compacted, TakenBack
from nbcontext.events import Notice
from nbcontext.model.failures import TooLong
from nbcontext.outgoing import Shape, before, carried_before

if TYPE_CHECKING:
    from nbcontext.entry import PrefixMade
    from nbcontext.history import History
    from nbcontext.log import Log
    from nbcontext.loop import Context
    from nbcontext.outgoing import Outgoing
    from nbcontext.pump import Worker
    from nbcontext.sender import Answer, Sender

_CHARS_A_TOKEN = 3
"""Characters that a token of the separate form is counted as: few, so that the request fits."""
_UNKNOWN_WINDOW = 16_000
"""Tokens of a window that nobody knows, for the separate form."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Compactor:
    """Compacts one session."""

    log: Log
    context: Context
    sender: Sender
    outgoing: Outgoing
    worker: Worker
    template: str
    """`prompts/tasks/compact.md`."""
    window: Callable[[], int | None]
    """Gives the tokens of the model's window; None: unknown."""
    prefix: Callable[[], PrefixMade]
    """Makes the prefix that the requests after the summary have."""

    def is_due(self, words: str) -> bool:
        """Return whether a summary is due before the next message (decision 22).

        It is measured from the last reported usage plus what was added since.
        """
        window, history = self.window(), self.log.history
        if window is None or not history.turns:
            return False
        sent, carried = self.sender.before, history.carried(self.context)
        tokens = None if sent is None or self.log.deliberate(sent.entry) else sent.prompt_tokens
        known = len(sent.request.messages) - 1 if sent is not None and tokens is not None else 0
        tokens = (tokens or 0) + compaction.estimated_tokens(carried[known:])
        return tokens + len(words) // 4 >= compaction.threshold(window, self.context)

    def compact(self, guidance: str = "", *, without_turn: int | None = None) -> None:
        """Ask for a summary and put it in the history's place; where that fails, nothing is changed.

        Args:
            guidance: what the person asked to mind.
            without_turn: the last turn, where its message is to come after the summary.

        Raises:
            CompactionFailed: there is nothing to summarise, or the reply is no summary.
            RequestFailed: the request failed.
        """
        history = before(self.log.history, without_turn)
        if not history.turns:
            raise CompactionFailed("There is nothing to summarise yet: the message alone is too long for the model.")
        question = compaction.question(self.template, self.context, guidance=guidance)
        try:
            text = self._summary(Shape(question=question, without_turn=without_turn)) if self._fits(history) else None
        except TooLong:
            text = None
        if text is None:
            self.worker.emit(
                Notice(text="The session no longer fits the model: the summary is made from a shortened transcript.")
            )
            text = self._summary(self._separate(guidance, without_turn))
        entry = Compacted(
            asked=self.context.compaction.asked,
            content=compaction.content(text, compaction.table(history, self.context)),
        )
        taken = (TakenBack(turns=(without_turn,)),) if without_turn is not None else ()
        self.log.write(*taken, entry, self.prefix())
        self.worker.emit(Notice(text="The session was summarised; earlier results stay within reach of recall."))

    def _fits(self, history: History) -> bool:
        """Return whether the request for a summary fits the model's window, as far as that is known (decision 22)."""
        window, sent = self.window(), self.sender.before
        if window is None:
            return True
        reported = sent.prompt_tokens if sent is not None and not self.log.deliberate(sent.entry) else None
        tokens = reported or compaction.estimated_tokens(history.carried(self.context))
        return tokens < window

    def _summary(self, shape: Shape) -> str:
        found: list[str] = []

        def keep(answer: Answer, _: str) -> None:
            found.append(compaction.summary(answer.reply, answer.before_calls))

        turn = self.log.history.turn
        made = self.outgoing.request(self.log.history, shape)
        self.sender.send(
            made,
            self.worker,
            purpose="compaction",
            turn=turn.number if turn else 0,
            step=0,
            shape=shape.dumps(),
            keep=keep,
        )
        return found[0]

    def _separate(self, guidance: str, without_turn: int | None) -> Shape:
        """Return the separate form: the transcript in the question, cut in its middle to fit (decision 22)."""
        room = (self.window() or _UNKNOWN_WINDOW) - self.context.compaction.room
        prefix = self.log.history.prefix
        fixed = len(self.template) + len(guidance) + (len(prefix.system) + len(prefix.tools) if prefix else 0)
        most = max(max(room, 2000) * _CHARS_A_TOKEN - fixed, 2000)
        messages = carried_before(self.log.history, without_turn, self.context)
        text = compaction.transcript(messages, most, self.context)
        transcript = self.context.compaction.transcript.format(text=text)
        question = compaction.question(self.template, self.context, guidance=guidance, transcript=transcript)
        return Shape(question=question, separate=True, without_turn=without_turn)
