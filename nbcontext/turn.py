"""One turn: the person's words, then request, reply and results until the model asks for nothing more.

Runs in the worker's thread (see `nbcontext.pump`), so nothing here is interrupted between two writes: an interrupt is
`stop`, looked at where a request streams and where a tool runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from nbcontext import hygiene, notes
from nbcontext.entry import Inserted, ModeSet, PlanSet, Replied, TurnBegan
from nbcontext.errors import ModelError
from nbcontext.events import CallStarted, Notice, ResultInserted, TurnStarted
from nbcontext.history import assistant_message, dump
from nbcontext.model.failures import RequestFailed, Stopped, TooLong
from nbcontext.outcome import Failure, Planned
from nbcontext.runner import Answered

if TYPE_CHECKING:
    from nbcontext.call import Call
    from nbcontext.compactor import Compactor
    from nbcontext.entry import Entry
    from nbcontext.history import History, Turn
    from nbcontext.log import Log
    from nbcontext.loop import Context
    from nbcontext.model.reply import Completion
    from nbcontext.notes import Standing
    from nbcontext.outgoing import Outgoing
    from nbcontext.pump import Worker
    from nbcontext.runner import Runner
    from nbcontext.sender import Answer, Sender
    from nbcontext.world import World

Ending = Literal["answered", "max_steps", "interrupted"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnDriver:
    """What driving a turn takes."""

    log: Log
    context: Context
    sender: Sender
    outgoing: Outgoing
    compactor: Compactor
    runner: Runner
    worker: Worker
    world: Callable[[], World]
    """Makes the world that the next call is run in."""
    secrets: tuple[str, ...]
    standing: Callable[[], Standing]
    """Tells how things stand, for the notes of a message."""

    # -- beginning

    def begin(self, words: str) -> None:
        """Write the person's message, with the notes that are due; before it a summary, where one is due (§7).

        Raises:
            Stopped: the person stopped the summary; nothing is sent.
        """
        self.close_last()
        if self.compactor.is_due(words):
            self._compact_or_say()
        self._write_message(words)

    def close_last(self) -> None:
        """Make the last turn end with an assistant message, so that roles alternate (decision 24).

        A chat carries a turn that only ran out of steps as a reply without text (decision 17): that one needs none.
        """
        self.answer_open_calls()
        turn = self.log.history.turn
        ran_out = self.log.history.kind == "chat" and turn is not None and turn.has_run_out and not self._has_failed()
        if turn is not None and not turn.is_answered and not ran_out:
            body = assistant_message(self.context.stopped).kept
            self.log.write(Replied(turn=turn.number, step=turn.step + 1, body=body, origin="", stopped=True))

    def _has_failed(self) -> bool:
        """Return whether the last turn's last request was not answered."""
        turn = _last(self.log.history).number
        number = self.log.store.last_request(self.log.session, purposes=("turn", "step"), turn=turn)
        row = self.log.store.request(self.log.session, number)
        return row is None or row["error"] is not None or row["ms"] is None

    def answer_open_calls(self) -> None:
        """Give every call that has no result one that says so (decision 24)."""
        turn = self.log.history.turn
        for call in turn.open_calls if turn else ():
            said = Failure(text=self.context.errors.calls.interrupted, kind="interrupted")
            self._insert(call, Answered(outcome=said, same_key=None, ms=None))

    def _write_message(self, words: str) -> None:
        from nbcontext.files.diff import hunks

        history, standing = self.log.history, self.standing()
        due = notes.pending(history, self.context, standing, hunks)
        entry = TurnBegan(
            turn=history.last_turn + 1,
            words=words,
            notes=due,
            content=notes.content(words, due, self.context),
            at=self.sender.clock().isoformat(timespec="seconds"),
        )
        self.log.write(entry)
        self.worker.emit(TurnStarted(turn=entry.turn, notes=due))

    def _compact_or_say(self) -> None:
        """Ask for a summary; where that fails, say so and go on with the history as it is."""
        try:
            self.compactor.compact()
        except Stopped:
            raise
        except ModelError as error:
            self.worker.emit(Notice(text=f"No summary was made: {error}"))

    # -- driving

    def drive(self, max_steps: int) -> Ending:
        """Send requests and run calls until the model asks for nothing more.

        Args:
            max_steps: requests at most, from now.

        Raises:
            ModelError: a request failed; what had arrived is kept.
        """
        made_room, steps = False, 0
        while steps < max_steps:
            if self.worker.stop.is_set():
                return "interrupted"
            try:
                reply = self._send()
            except Stopped:
                return "interrupted"
            except TooLong:
                if made_room:
                    raise
                self._make_room()
                made_room = True
                continue
            steps += 1
            if not reply.calls:
                return "answered"
            self._run_calls(reply.calls)
        if self.worker.stop.is_set():
            return "interrupted"
        self.worker.emit(Notice(text=f"Stopped after {max_steps} steps; `%llm continue` goes on."))
        return "max_steps"

    def _make_room(self) -> None:
        """Summarise what the provider found too long, and go on after it.

        The person's message comes after the summary word for word where nothing had come of it yet, else the request
        to go on.

        Raises:
            ModelError: there is nothing to summarise, or no summary was made.
        """
        turn = _last(self.log.history)
        if turn.step == 0:
            self.compactor.compact(without_turn=turn.number)
            self._write_message(turn.words)
        else:
            self.compactor.compact()
            self._write_message(self.context.go_on)

    def _send(self) -> Completion:
        """Send the next request, and write what came of it."""
        turn = _last(self.log.history)
        step = turn.step + 1

        def keep(answer: Answer, provider: str) -> None:
            self._keep(turn, answer.reply, provider)

        made = self.outgoing.request(self.log.history)
        purpose: Literal["turn", "step"] = "turn" if turn.step == 0 else "step"
        try:
            answer = self.sender.send(made, self.worker, purpose=purpose, turn=turn.number, step=step, keep=keep)
        except RequestFailed as failure:
            self._keep_partial(turn, failure.partial, made.model)
            raise
        return answer.reply

    def _keep(self, turn: Turn, reply: Completion, provider: str) -> None:
        if not reply.text.strip() and not reply.calls:
            why = f" (it ended with {reply.finish_reason})" if reply.finish_reason else ""
            raise RequestFailed(
                f"The model answered with nothing{why}. `%llm continue` asks again; nothing was lost.", partial=reply
            )
        body = dump(dict(reply.message()))
        self.log.write(Replied(turn=turn.number, step=turn.step + 1, body=body, origin=provider))
        if reply.finish_reason == "length" and not reply.calls:
            self.worker.emit(Notice(text="The answer was cut off at the model's limit."))

    def _keep_partial(self, turn: Turn, partial: Completion | None, model: str) -> None:
        """Keep the text of a reply that broke off; its calls were not whole and are not run (decision 24)."""
        if partial is not None and partial.text.strip():
            message = assistant_message(hygiene.sendable(f"{partial.text}\n\n{self.context.stopped}"))
            entry = Replied(turn=turn.number, step=turn.step + 1, body=message.kept, origin=model, stopped=True)
            self.log.write(entry)

    # -- calls

    def _run_calls(self, calls: tuple[Call, ...]) -> None:
        """Run a reply's calls and insert their results in call order; those that only read run side by side."""
        waiting = list(calls)
        while waiting:
            batch = waiting[: self.runner.side_by_side(waiting)]
            del waiting[: len(batch)]
            step = _last(self.log.history).step
            for call in batch:
                self.worker.emit(CallStarted(step=step, call=call))
            answers = self.runner.run_all(batch, self.log.history.mode, self.world())
            for call, answered in zip(batch, answers, strict=True):
                self._insert(call, answered)

    def _insert(self, call: Call, answered: Answered) -> None:
        history = self.log.history
        turn = _last(history)
        insertion = hygiene.insert(
            answered.outcome,
            hygiene.Surroundings(context=self.context, table=history.table, secrets=self.secrets),
            number=history.last_number + 1,
            call_id=call.id,
            tool=call.name,
            same_key=answered.same_key,
        )
        entry = Inserted(turn=turn.number, step=turn.step, result=insertion.result, ms=answered.ms)
        self.log.write(entry, *_changes(answered, turn.number), insertion=insertion)
        self.worker.emit(ResultInserted(step=turn.step, result=insertion.result))


def _changes(answered: Answered, turn: int) -> list[Entry]:
    """Return what a call changed of the session itself, to be written with its result."""
    outcome = answered.outcome
    changes: list[Entry] = []
    if isinstance(outcome, Planned):
        if outcome.plan is not None:
            changes.append(PlanSet(items=outcome.plan, turn=turn))
        if outcome.mode is not None:
            changes.append(ModeSet(mode=outcome.mode))
    return changes


def _last(history: History) -> Turn:
    return history.turns[-1]
