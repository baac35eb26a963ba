"""One request: written before it is sent, sent, and what came of it written (§10.6, decision 25)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

from nbcontext import cause, guard, request
from nbcontext.entry import Compacted
from nbcontext.errors import PrefixBroken
from nbcontext.events import ReasoningArrived, RequestEnded, TextArrived
from nbcontext.hygiene.clean import sendable
from nbcontext.hygiene.hashes import text_sha256
from nbcontext.model.failures import RequestFailed
from nbcontext.model.reply import CallPiece, Completion, Finished, ReasoningPiece, TextPiece
from nbcontext.usage import Usage, normalise

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from nbcontext.guard import Break
    from nbcontext.log import Log
    from nbcontext.model.reply import Piece
    from nbcontext.pump import Worker
    from nbcontext.request import Request

Purpose = Literal["turn", "step", "compaction", "measure"]


class Model(Protocol):
    """What sending needs of a model."""

    def stream(self, request: Request, stop: threading.Event) -> Iterator[Piece]:
        """Send a request and yield what comes; the last piece is `Finished`.

        Raises:
            RequestFailed: it failed, or broke off; `Stopped`: the person stopped it.
        """

    def provider_of(self, model: str, api_base: str | None) -> str:
        """Return litellm's name of the provider."""

    def cost(self, model: str, usage: Usage) -> float | None:
        """Return what a request cost in US dollars; None where that is unknown."""

    def window(self, model: str, api_base: str | None) -> int | None:
        """Return the tokens of the model's window; None where that is unknown."""

    def has_vision(self, model: str, api_base: str | None) -> bool:
        """Return whether the model sees images; False where that is unknown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """A request that was sent."""

    request: Request
    at: datetime
    entry: int
    """The log's last entry when it was sent."""
    prompt_tokens: int | None = None
    """As reported; None: not reported, or not answered."""
    wire: Mapping[str, object] | None = None
    """The body that litellm sent; None: unknown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What a request was answered with."""

    reply: Completion
    before_calls: str
    """The reply's text up to its first call."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Going:
    """A request on its way."""

    request: Request
    purpose: Purpose
    provider: str
    at: datetime
    entry: int
    before: Sent | None
    """The request that it goes on from; None: there was none."""
    is_free: bool
    """Whether it may break with the one before: a deliberate break came between (§7, §10.1)."""


@dataclass(kw_only=True, slots=True)
class Sender:
    """Sends the requests of one session."""

    log: Log
    model: Model
    clock: Callable[[], datetime]
    earlier: Callable[[], Sent | None]
    """Gives the last request of a turn as it is stored, for the first one that is sent here."""
    is_strict: bool = False
    """Whether a request that breaks with the one before is an error, and not only a cause (§10.5)."""
    _before: Sent | None = field(default=None)

    @property
    def before(self) -> Sent | None:
        """The last request of a turn, which the next one goes on from; None: there was none."""
        if self._before is None:
            self._before = self.earlier()
        return self._before

    def send(
        self,
        made: Request,
        worker: Worker,
        *,
        purpose: Purpose,
        turn: int,
        step: int,
        shape: str | None = None,
        keep: Callable[[Answer, str], None],
    ) -> Answer:
        """Send a request and return its answer.

        Args:
            made: the request.
            worker: shows the pieces as they come, and stops.
            purpose: what it is for; a compaction's pieces are not shown.
            turn: number of the turn it belongs to; 0: none.
            step: its place in the turn, from 1.
            shape: how it differs from what the history alone makes, as JSON; None: it does not.
            keep: writes the answer, given with the provider's name, before the usage is written.

        Raises:
            RequestFailed: it failed or was stopped; usage and error are written.
            PrefixBroken: it breaks with the request before and the session is strict.
        """
        going = self._going(made, purpose)
        broken = _break(going, None)
        self._guard(going, broken)
        number = self._begin(going, turn, step, shape)
        values: dict[str, Any] = {}
        wire: Mapping[str, object] | None = None
        try:
            answer, finished = self._stream(made, worker, quiet=purpose == "compaction")
            wire = finished.wire
            broken = _break(going, wire)
            values = {"ttft_ms": finished.ttft_ms, "ms": finished.ms, **self._reported(answer.reply, going, broken)}
            keep(answer, going.provider)
            self._guard(going, broken)
        except RequestFailed as failure:
            partial = failure.partial or Completion()
            values = {**values, **self._reported(partial, going, broken), "error": sendable(str(failure))}
            raise
        finally:
            self.log.store.end_request(self.log.session, number, values)
            usage = Usage(**{name: values.get(name) for name in Usage.__slots__})
            if purpose in ("turn", "step"):
                self._before = Sent(
                    request=made, at=going.at, entry=going.entry, prompt_tokens=usage.prompt_tokens, wire=wire
                )
            worker.emit(RequestEnded(request=number, step=step, usage=usage))
        return answer

    def _going(self, made: Request, purpose: Purpose) -> _Going:
        before = self.before
        starts_turn = self.log.history.kind == "chat" and purpose != "step"  # a chat drops the results with the turn
        return _Going(
            request=made,
            purpose=purpose,
            provider=self.model.provider_of(made.model, made.api_base),
            at=self.clock(),
            entry=self.log.last,
            before=before,
            is_free=before is None or starts_turn or purpose == "compaction" or bool(self.log.deliberate(before.entry)),
        )

    def _begin(self, going: _Going, turn: int, step: int, shape: str | None) -> int:
        """Write the request before it is sent; return its number."""
        row = {
            "entry": going.entry,
            "turn": turn,
            "step": step,
            "purpose": going.purpose,
            "model": going.request.model,
            "provider": going.provider,
            "body_sha256": text_sha256(request.body(going.request)),
            "shape": shape,
            "sent_at": going.at.isoformat(timespec="milliseconds"),
            "cause": "",
        }
        return self.log.store.begin_request(self.log.session, row)

    def _guard(self, going: _Going, broken: Break | None) -> None:
        if broken is not None and self.is_strict and not going.is_free:
            raise PrefixBroken(
                f"The request does not go on from the one before: {broken.shown}. Nothing of this session was lost; "
                f"set NBContext.strict to False to send it all the same."
            )

    def _stream(self, made: Request, worker: Worker, *, quiet: bool) -> tuple[Answer, Finished]:
        before_calls: list[str] = []
        has_called = False
        for piece in self.model.stream(made, worker.stop):
            match piece:
                case TextPiece(text=text):
                    if not has_called:
                        before_calls.append(text)
                    if not quiet:
                        worker.emit(TextArrived(text=text))
                case ReasoningPiece(text=text):
                    if not quiet:
                        worker.emit(ReasoningArrived(text=text))
                case CallPiece():
                    has_called = True
                case Finished():
                    return Answer(reply=piece.reply.fit(), before_calls=sendable("".join(before_calls))), piece
        raise RequestFailed("The model's answer ended without its end. Ask again with `%llm retry`.")

    def _reported(self, reply: Completion, going: _Going, broken: Break | None) -> dict[str, Any]:
        """Return what is written of an answer: its usage, its cost, and why the cache did not serve more."""
        usage = normalise(reply.usage, going.provider)
        before = going.before
        compacted = before is not None and Compacted in self.log.deliberate(before.entry)
        idle_s = (going.at - before.at).total_seconds() if before else None
        return {
            "usage": None if reply.usage is None else json.dumps(reply.usage),
            **{name: getattr(usage, name) for name in Usage.__slots__},
            "cost": self.model.cost(going.request.model, usage),
            "finish_reason": reply.finish_reason,
            "cause": cause.cause(usage, idle_s=idle_s, broken=broken, compacted=compacted),
            "broken": broken.shown if broken is not None and not going.is_free else None,
        }


def _break(going: _Going, wire: Mapping[str, object] | None) -> Break | None:
    """Return where a request does not go on from the one before, in its own form or on the wire; None: it does."""
    before = going.before
    if before is None:
        return None
    broken = guard.first_break(guard.form(before.request), guard.form(going.request))
    if broken is not None or going.is_free or before.wire is None or wire is None:
        return broken
    return guard.first_break(before.wire, wire)
