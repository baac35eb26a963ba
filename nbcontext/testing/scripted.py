"""What a scripted server answers: a reply with its faults, as OpenAI's chunks and as Anthropic's events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from nbcontext.call import Call


@dataclass(frozen=True, kw_only=True, slots=True)
class Scripted:
    """One answer of a scripted server, and what is wrong with it."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    reasoning: str = ""
    usage: Mapping[str, Any] | Literal["computed", "absent", "null"] = "computed"
    """A report to send as it is; or one computed from the prefix, none, or one whose counts are null."""
    finish_reason: str | None = "default"
    """None: none is sent; `default`: what fits the reply."""
    piece_chars: int = 8
    """Characters of a piece of text or arguments."""
    status: int = 200
    """Of the HTTP response; another than 200 answers with `error`."""
    headers: Mapping[str, str] = field(default_factory=dict)
    error: str = "scripted error"
    """Message of the error; `{key}` stands for the key the request came with."""
    delay_s: float = 0
    """Seconds before every chunk."""
    hang_after: int | None = None
    """Chunks after which the server falls silent, until it is closed or the client leaves; -1: before the headers."""
    cut_after: int | None = None
    """Chunks after which the connection breaks."""
    error_after: int | None = None
    """Chunks after which an error event ends the stream."""
    indexes: Literal["given", "none", "same"] = "given"
    """Indexes of the calls (OpenAI's form only, as all below)."""
    ids: Literal["given", "empty", "none", "same"] = "given"
    objects: bool = False
    """Whether arguments are sent as objects."""
    names_repeated: bool = False
    """Whether every fragment of a call has its whole name."""

    @property
    def reason(self) -> str | None:
        """The finish reason in OpenAI's words."""
        if self.finish_reason == "default":
            return "tool_calls" if self.calls else "stop"
        return self.finish_reason


def chunks(reply: Scripted, usage: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield `reply` in OpenAI's form; `usage` is the computed report."""
    yield _chunk({"role": "assistant", "content": ""})
    for piece in cut(reply.reasoning, reply.piece_chars):
        yield _chunk({"reasoning_content": piece})
    for piece in cut(reply.text, reply.piece_chars):
        yield _chunk({"content": piece})
    for number, call in enumerate(reply.calls):
        for fragment in _fragments(reply, number, call):
            yield _chunk({"tool_calls": [fragment]})
    if reply.reason is not None:
        yield _chunk({}, reply.reason)
    if reply.usage == "null":
        yield {**_chunk({}), "choices": [], "usage": dict.fromkeys(usage)}
    elif reply.usage != "absent":
        yield {**_chunk({}), "choices": [], "usage": dict(usage if reply.usage == "computed" else reply.usage)}


def events(reply: Scripted, usage: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield `reply` as the events of Anthropic's Messages API; `usage` is the computed report."""
    report = {} if isinstance(reply.usage, str) and reply.usage != "computed" else reply.usage
    report = dict(usage if report == "computed" else report)
    start = {key: value for key, value in report.items() if key != "output_tokens"}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": []}
    yield {"type": "message_start", "message": {**message, "usage": {**start, "output_tokens": 1}}}
    index = -1
    for index, (block, deltas) in enumerate(_blocks(reply)):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    if reply.reason is not None:
        words = {"tool_calls": "tool_use", "stop": "end_turn", "length": "max_tokens"}
        delta = {"stop_reason": words.get(reply.reason, reply.reason), "stop_sequence": None}
        output = {key: value for key, value in report.items() if key == "output_tokens"}
        yield {"type": "message_delta", "delta": delta, "usage": output}
        yield {"type": "message_stop"}


def cut(text: str, size: int) -> list[str]:
    """Return `text` in pieces of `size` characters."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def _fragments(reply: Scripted, number: int, call: Call) -> Iterator[dict[str, Any]]:
    place = {"given": {"index": number}, "none": {}, "same": {"index": 0}}[reply.indexes]
    name = {"given": {"id": call.id}, "empty": {"id": ""}, "none": {}, "same": {"id": reply.calls[0].id}}[reply.ids]
    first = {**place, **name, "type": "function"}
    if reply.objects:
        yield {**first, "function": {"name": call.name, "arguments": json.loads(call.arguments)}}
        return
    pieces = cut(call.arguments, reply.piece_chars) or [""]
    yield {**first, "function": {"name": call.name, "arguments": pieces[0]}}
    for piece in pieces[1:]:
        repeated = {"name": call.name} if reply.names_repeated else {}
        yield {**place, "function": {**repeated, "arguments": piece}}


def _blocks(reply: Scripted) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    if reply.reasoning:
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in cut(reply.reasoning, reply.piece_chars)]
        signature = {"type": "signature_delta", "signature": "c2lnbmVk"}
        yield {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signature]
    if reply.text:
        texts = [{"type": "text_delta", "text": piece} for piece in cut(reply.text, reply.piece_chars)]
        yield {"type": "text", "text": ""}, texts
    for call in reply.calls:
        parts = [
            {"type": "input_json_delta", "partial_json": piece} for piece in cut(call.arguments, reply.piece_chars)
        ]
        yield {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}, parts


def _chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "scripted",
        "choices": [choice],
    }
