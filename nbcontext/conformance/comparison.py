"""What was sent and inserted, compared with what the exchanges of a case expect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbcontext import assets
from nbcontext.call import Json
from nbcontext.conformance.difference import Difference, first_difference
from nbcontext.conformance.exchange import AllOf, AssistantMessage, Exchange, Message, ToolMessage, UserMessage
from nbcontext.conformance.expression import Text
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
    _last: int = 0
    """Number of the last request that was no subagent's; 0: there was none."""

    def differ(self, expected: Any, got: Any, where: str) -> None:
        """Keep the first difference of two values, where there is one."""
        if found := first_difference(expected, got, where):
            self.differences.append(found)

    def compare(self, exchanges: tuple[Exchange, ...], where: str, *, results: tuple[Text, ...] = ()) -> None:
        """Compare all that came since the last comparison with `results` of no exchange, then with `exchanges`."""
        requests = self.stage.requests[self._requests :]
        came = [result.sent for result in self.stage.results[self._results :]]
        self._compare_results(results, came, where)
        for number, exchange in enumerate(exchanges, 1):
            place = f"{where}, exchange {number}"
            request = requests[number - 1] if number <= len(requests) else None
            got = [dict(message) for message in request.messages[1:]] if request else None
            wanted = self._messages(exchange.request, got or [])
            self._expected.append(wanted)
            self.differ(wanted, got, f"{place}, request")
            if request is not None:
                self._check_prefix(exchange, request, self._requests + number, place)
            self._compare_results(exchange.results, came, place)
        if came:
            self.differ(None, came[0], f"{where}, a result more than expected")
        if more := requests[len(exchanges) :]:
            self.differ(None, [dict(message) for message in more[0].messages[1:]], f"{where}, a request more")
        if self.stage.faults:
            self.differ("a request that servers take", self.stage.faults[0], f"{where}, request")
        self._requests, self._results = len(self.stage.requests), len(self.stage.results)

    def _compare_results(self, texts: tuple[Text, ...], came: list[str], where: str) -> None:
        """Compare results with the next that came, and take these away."""
        for index, text in enumerate(texts, 1):
            got = came.pop(0) if came else None
            self.differ(expanded(text, self.stage.workspace.root), got, f"{where}, result {index}")

    def _check_prefix(self, exchange: Exchange, request: Request, number: int, where: str) -> None:
        """Hold the system prompt and the tool list still (§10), and look at what the exchange says of them."""
        other = exchange.prefix_of or (0 if self.stage.may_change_prefix or exchange.apart else self._last)
        if not exchange.apart:
            self._last, self.stage.may_change_prefix = number, exchange.compacts
        if other >= number:
            self.differ("a request before this one", f"request {other}", f"{where}, prefix_of")
        elif other:
            before = self.stage.requests[other - 1]
            self.differ(before.messages[0], request.messages[0], f"{where}, system prompt")
            self.differ(before.tools, request.tools, f"{where}, tool list")
        root, system = self.stage.workspace.root, str(request.messages[0]["content"])
        if exchange.system is not None:
            for text in exchange.system.holds:
                self._stand(expanded(text, root), system, f"{where}, system prompt", wanted=True)
            for text in exchange.system.lacks:
                self._stand(expanded(text, root), system, f"{where}, system prompt", wanted=False)
        if exchange.tools is not None:
            offered = [_name(tool) for tool in request.tools]
            said = ("not offered", "offered")
            for wanted, names in enumerate((exchange.tools.lacks, exchange.tools.holds)):
                for name in names:
                    self.differ(said[wanted], said[name in offered], f"{where}, tool list, {name}")

    def _stand(self, text: str, within: str, where: str, *, wanted: bool) -> None:
        if (text in within) is not wanted:
            said = ("holds", "does not hold")
            self.differ(f"it {said[not wanted]} {text!r}", f"it {said[wanted]} it", where)

    def _messages(self, messages: tuple[Message, ...], got: list[dict[str, Json]]) -> list[Mapping[str, Json]]:
        found: list[Mapping[str, Json]] = []
        for message in messages:
            if isinstance(message, UserMessage) and message.holds:
                found.append(self._holding(message, got[len(found)] if len(found) < len(got) else {}))
            elif not isinstance(message, AllOf):
                found.append(self._message(message))
            elif message.all_of <= len(self._expected):
                found += self._expected[message.all_of - 1]
            else:
                found.append({"all_of": message.all_of})  # a request not sent yet: differs from whatever was sent
        return found

    def _holding(self, message: UserMessage, got: Mapping[str, Json]) -> dict[str, Json]:
        """Return a message of which only parts are expected: what came where it holds them, else the parts."""
        parts, content, at = (
            [expanded(text, self.stage.workspace.root) for text in message.holds],
            got.get("content"),
            0,
        )
        for part in parts:
            found = content.find(part, at) if isinstance(content, str) else -1
            if found < 0:
                return {"role": message.role, "content": f"… {part} …"}
            at = found + len(part)
        return {"role": message.role, "content": content}

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
                    **call.extras,
                }
                for call in message.tool_calls
            ]
        return made | message.extras if isinstance(message, AssistantMessage) else made

    def _result(self, shown: str) -> str | None:
        context = assets.loop().context
        return next((result.sent for result in self.stage.results if context.id(result.number) == shown), None)


def _name(tool: Mapping[str, Json]) -> str:
    function = tool["function"]
    return str(function["name"]) if isinstance(function, Mapping) else ""
