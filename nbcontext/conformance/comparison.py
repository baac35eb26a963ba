"""What was sent and inserted, compared with what the exchanges of a case expect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbcontext import assets
from nbcontext.call import Json
from nbcontext.conformance.difference import Difference, first_difference
from nbcontext.conformance.form import AllOf, AssistantMessage, Exchange, Message, ToolMessage, UserMessage
from nbcontext.conformance.texts import expanded

if TYPE_CHECKING:
    from nbcontext.conformance.stage import Stage
    from nbcontext.request import Request


@dataclass(slots=True)
class Comparison:
    """The differences of one case, gathered step by step."""

    stage: Stage
    differences: list[Difference] = field(default_factory=list)
    _expected: list[list[Mapping[str, Json]]] = field(default_factory=list)
    """Of every request so far, the messages after the system prompt that the case expects."""
    _requests: int = 0
    """Requests compared so far."""
    _results: int = 0

    def differ(self, expected: Any, got: Any, where: str) -> None:
        """Keep the first difference of two values, where there is one."""
        if found := first_difference(expected, got, where):
            self.differences.append(found)

    def compare(self, exchanges: tuple[Exchange, ...], where: str) -> None:
        """Compare all that came since the last comparison with `exchanges`."""
        requests = self.stage.requests[self._requests :]
        results = [result.sent for result in self.stage.results[self._results :]]
        self._check_prefixes(requests, where)
        for number, exchange in enumerate(exchanges, 1):
            place = f"{where}, exchange {number}"
            wanted = self._messages(exchange.request)
            self._expected.append(wanted)
            got = [dict(message) for message in requests[number - 1].messages[1:]] if number <= len(requests) else None
            self.differ(wanted, got, f"{place}, request")
            texts = [expanded(text, self.stage.workspace.root) for text in exchange.results]
            for index, text in enumerate(texts, 1):
                self.differ(text, results.pop(0) if results else None, f"{place}, result {index}")
        if results:
            self.differ(None, results[0], f"{where}, a result more than expected")
        if more := requests[len(exchanges) :]:
            self.differ(None, [dict(message) for message in more[0].messages[1:]], f"{where}, a request more")
        self._requests, self._results = len(self.stage.requests), len(self.stage.results)

    def _check_prefixes(self, requests: list[Request], where: str) -> None:
        """Hold the system prompt and the tool list still (§10), and keep what a server would refuse."""
        before = self.stage.requests[self._requests - 1] if self._requests else None
        for request in requests:
            if before is not None and not self.stage.may_change_prefix:
                self.differ(before.messages[0], request.messages[0], f"{where}, system prompt")
                self.differ(before.tools, request.tools, f"{where}, tool list")
            before, self.stage.may_change_prefix = request, False
        if self.stage.faults:
            self.differ("a request that servers take", self.stage.faults[0], f"{where}, request")

    def _messages(self, messages: tuple[Message, ...]) -> list[Mapping[str, Json]]:
        found: list[Mapping[str, Json]] = []
        for message in messages:
            if not isinstance(message, AllOf):
                found.append(self._message(message))
            elif message.all_of <= len(self._expected):
                found += self._expected[message.all_of - 1]
            else:
                found.append({"all_of": message.all_of})  # a request not sent yet: differs from whatever was sent
        return found

    def _message(self, message: UserMessage | AssistantMessage | ToolMessage) -> dict[str, Json]:
        root = self.stage.workspace.root
        made: dict[str, Json] = {"role": message.role}
        if isinstance(message, ToolMessage):
            made["tool_call_id"] = message.tool_call_id
        if isinstance(message, ToolMessage) and message.result is not None:
            made["content"] = self._result(message.result)
        else:
            made["content"] = None if message.content is None else expanded(message.content, root)
        if isinstance(message, AssistantMessage) and message.tool_calls is not None:
            made["tool_calls"] = [
                {
                    "id": call.id,
                    "type": call.type,
                    "function": {
                        "name": call.function.name,
                        "arguments": expanded(call.function.arguments, root),
                    },
                }
                for call in message.tool_calls
            ]
        return made

    def _result(self, shown: str) -> str | None:
        context = assets.loop().context
        return next((result.sent for result in self.stage.results if context.id(result.number) == shown), None)
