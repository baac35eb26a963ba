"""One request: written before it is sent, sent, and what came of it written (§10.6, decision 25)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

from nbcontext import cause, request
from nbcontext.errors import ModelError
from nbcontext.events import ReasoningArrived, RequestEnded, TextArrived
from nbcontext.hygiene.hashes import text_sha256
from nbcontext.model.failures import RequestFailed
from nbcontext.model.reply import CallPiece, Completion, Finished, ReasoningPiece, TextPiece
from nbcontext.usage import Usage, normalise

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """A request that was sent."""

    request: Request
    at: datetime
    purpose: Purpose
    prompt_tokens: int | None = None
    """As reported; None: not reported, or not answered yet."""
    completion_tokens: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What a request was answered with."""

    reply: Completion
    before_calls: str
    """The reply's text up to its first call."""


@dataclass(kw_only=True, slots=True)
class Sender:
    """Sends the requests of one session."""

    log: Log
    model: Model
    clock: Callable[[], datetime]
    earlier: Callable[[], Sent | None]
    """Gives the last request of the session as it is stored, for the first one that is sent here."""
    _last: Sent | None = field(default=None)

    @property
    def last(self) -> Sent | None:
        """The session's last request; None: there was none."""
        if self._last is None:
            self._last = self.earlier()
        return self._last

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
        """
        provider = self.model.provider_of(made.model, made.api_base)
        now, before = self.clock(), self.last
        number = self.log.store.begin_request(
            self.log.session,
            {
                "entry": self.log.last,
                "turn": turn,
                "step": step,
                "purpose": purpose,
                "model": made.model,
                "provider": provider,
                "body_sha256": text_sha256(request.body(made)),
                "shape": shape,
                "sent_at": now.isoformat(timespec="milliseconds"),
                "cause": "",
            },
        )
        self._last = Sent(request=made, at=now, purpose=purpose)
        values: dict[str, Any] = {}
        try:
            answer, finished = self._stream(made, worker, quiet=purpose == "compaction")
            values = {"ttft_ms": finished.ttft_ms, "ms": finished.ms}
            values |= self._reported(finished.reply, made, provider, before, now)
            keep(answer, provider)
        except RequestFailed as failure:
            partial = failure.partial or Completion()
            values = {**values, **self._reported(partial, made, provider, before, now), "error": str(failure)}
            raise
        finally:
            self.log.store.end_request(self.log.session, number, values)
            usage = Usage(**{name: values.get(name) for name in Usage.__slots__})
            self._last = Sent(
                request=made,
                at=now,
                purpose=purpose,
                prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens,
            )
            worker.emit(RequestEnded(request=number, step=step, usage=usage))
        return answer

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
                    return Answer(reply=piece.reply, before_calls="".join(before_calls)), piece
        raise ModelError("The model's answer ended without its end. Ask again with `%llm retry`.")

    def _reported(
        self, reply: Completion, made: Request, provider: str, before: Sent | None, now: datetime
    ) -> dict[str, Any]:
        usage = normalise(reply.usage, provider)
        return {
            "usage": None if reply.usage is None else json.dumps(reply.usage, ensure_ascii=False),
            **{name: getattr(usage, name) for name in Usage.__slots__},
            "cost": self.model.cost(made.model, usage),
            "finish_reason": reply.finish_reason,
            "cause": cause.cause(
                before.request if before else None,
                made,
                usage,
                idle_s=(now - before.at).total_seconds() if before else 0.0,
                compacted=before is not None and before.purpose == "compaction",
            ),
        }
