"""The model of a case: it plays the replies of the case's exchanges, whatever it is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nbcontext.call import Call
from nbcontext.conformance.texts import argument_text, expanded
from nbcontext.conformance.tools import Crashed
from nbcontext.model.failures import RequestFailed, Stopped, TooLong
from nbcontext.model.reply import Completion, Finished, TextPiece
from nbcontext.testing import ScriptedModel

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from nbcontext.conformance.exchange import Exchange, Reply
    from nbcontext.conformance.workspace import Workspace
    from nbcontext.model.reply import Piece
    from nbcontext.request import Request


class Player(ScriptedModel):
    """Plays one exchange after the other."""

    def __init__(self, workspace: Workspace, *, vision: bool) -> None:
        super().__init__([self._answer], vision=vision)
        self.waiting: list[Exchange] = []
        """The exchanges whose replies are still to be played."""
        self._workspace = workspace
        self._playing: Reply | None = None
        self._calls = 0

    def stream(self, request: Request, stop: threading.Event) -> Iterator[Piece]:
        """Yield the next reply's pieces; see `ScriptedModel.stream`."""
        try:
            for piece in super().stream(request, stop):
                if isinstance(piece, Finished) and (after := self._after()):
                    yield TextPiece(after)
                    yield replace(piece, reply=replace(piece.reply, text=piece.reply.text + after))
                else:
                    yield piece
        except Stopped:
            stop.set()
            raise

    def _after(self) -> str:
        return expanded(self._playing.after, self._workspace.root) if self._playing else ""

    def _answer(self, _: Request) -> Completion | Exception:
        """Make the next reply; called where the turn runs, while the request waits for its answer."""
        if not self.waiting:
            return RequestFailed("The case has no reply to this request.")
        exchange, root = self.waiting.pop(0), self._workspace.root
        for change in exchange.meanwhile:
            self._workspace.change(change)
        reply = self._playing = exchange.reply
        text = expanded(reply.text, root)
        partial = Completion(text=text) if text else None
        if reply.stops == "crash":
            raise Crashed
        if reply.stops == "interrupt":
            return Stopped("The answer was stopped.", partial=partial)
        if reply.fails is not None:
            return (TooLong if reply.too_long else RequestFailed)(reply.fails, partial=partial)
        return self._completion(reply, text)

    def _completion(self, reply: Reply, text: str) -> Completion:
        calls, extras = [], {}
        for call in reply.calls:
            self._calls += 1
            name = call.id or f"c{self._calls}"
            arguments = argument_text(call.arguments, self._workspace.root)
            calls.append(Call(id=name, name=call.tool, arguments=arguments))
            extras[name] = call.extras
        return Completion(
            text=text,
            calls=tuple(calls),
            extras=reply.extras,
            call_extras=extras,
            reasoning=expanded(reply.reasoning, self._workspace.root),
            finish_reason=reply.finish or ("tool_calls" if calls else "stop"),
            usage=reply.usage,
            complete=True,
        )
