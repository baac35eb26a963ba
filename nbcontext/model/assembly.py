"""A reply put together, chunk by chunk, from what the provider sent (chunks in OpenAI's form, as plain data).

How the pieces of thinking blocks and provider fields are joined is litellm's rule (streaming_chunk_builder_utils.py,
get_combined_thinking_content and the end of its delta builder), but for calls, which litellm glues or drops.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from nbcontext.call import Json
from nbcontext.model.fragments import Fragments
from nbcontext.model.reply import CallPiece, Completion, Piece, ReasoningPiece, TextPiece
from nbcontext.model.surrogates import Splice, joined

_REASONING_KEYS: Final = ("reasoning_content", "reasoning")
_LISTS: Final = ("reasoning_items", "annotations", "images")
_REPEATED: Final = frozenset({"thinking_blocks", "reasoning_content"})
"""What litellm sends a second time among the provider's fields."""
_GROWING_TEXTS: Final = frozenset({"text", "summary", "data", "signature"})


class Assembly:
    """One reply while it comes."""

    def __init__(self, taken: Collection[str] = frozenset()) -> None:
        """Begin a reply; `taken` are the ids of calls that the conversation has already."""
        self._taken = taken
        self._text: list[str] = []
        self._shown_text = Splice()
        self._reasoning: dict[str, list[str]] = {}
        self._shown_reasoning = Splice()
        self._fragments = Fragments()
        self._thinking: list[dict[str, Json]] = []
        self._thought: list[str] = []
        self._details: list[dict[str, Json]] = []
        self._fields: dict[str, Json] = {}
        self._lists: dict[str, list[Json]] = {}
        self._usage: dict[str, Json] | None = None
        self._finish_reason: str | None = None
        self._model: str | None = None

    def feed(self, chunk: Mapping[str, Json]) -> list[Piece]:
        """Take one chunk; return the pieces it brought."""
        model = chunk.get("model")
        if isinstance(model, str) and model:
            self._model = model
        self._take_usage(chunk)
        pieces: list[Piece] = []
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if not isinstance(choice, dict) or choice.get("index") not in (0, None):
                continue
            self._take_usage(choice)
            delta = choice.get("delta") or choice.get("message")
            if isinstance(delta, dict):
                pieces += self._take_delta(delta)
            reason = choice.get("finish_reason")
            if isinstance(reason, str) and reason:
                self._finish_reason = reason
                pieces += self._end()
        return pieces

    def reply(self) -> Completion:
        """Return the reply as far as it came."""
        found = self._fragments.calls(self._taken)
        return Completion(
            text=joined(self._text),
            calls=tuple(call for call, _ in found),
            extras=self._extras(),
            call_extras={call.id: extras for call, extras in found if extras},
            reasoning=self._reasoning_text(),
            finish_reason=self._finish_reason,
            usage=self._usage,
            model=self._model,
            complete=self._finish_reason is not None,
        )

    def _take_delta(self, delta: dict[str, Json]) -> Iterator[Piece]:
        yield from self._take_reasoning(delta)
        for text in _texts(delta.get("content")) + _texts(delta.get("refusal")):
            self._text.append(text)
            yield from _pieces(TextPiece, self._shown_text.feed(text))
        calls = delta.get("tool_calls")
        fragments: list[Mapping[str, Json]] = (
            [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
        )
        legacy = delta.get("function_call")
        if isinstance(legacy, dict):
            # OpenAI's form before tools: one call, no id.
            fragments.append({"index": -1, "function": legacy})
        for name in self._fragments.feed(fragments) if fragments else []:
            yield CallPiece(name)
        self._take_fields(delta)

    def _take_reasoning(self, delta: dict[str, Json]) -> Iterator[Piece]:
        shown = False
        for key in _REASONING_KEYS:
            for text in _texts(delta.get(key)):
                self._reasoning.setdefault(key, []).append(text)
                if not shown:
                    # Some servers send the same words under both keys.
                    yield from _pieces(ReasoningPiece, self._shown_reasoning.feed(text))
                shown = True
        for text in _thinking_parts(delta.get("content")):
            self._reasoning.setdefault("", []).append(text)
            yield from _pieces(ReasoningPiece, self._shown_reasoning.feed(text))

    def _take_fields(self, delta: dict[str, Json]) -> None:
        for block in _groups(delta.get("thinking_blocks")):
            self._take_thinking(block)
        for detail in _groups(delta.get("reasoning_details")):
            self._take_detail(detail)
        for key in _LISTS:
            items = delta.get(key)
            if isinstance(items, list) and items:
                self._lists.setdefault(key, []).extend(items)
        fields = delta.get("provider_specific_fields")
        for key, value in fields.items() if isinstance(fields, dict) else ():
            if key == "citation":
                self._lists.setdefault("citations", []).append(value)
            elif key not in _REPEATED and value is not None:
                self._fields[key] = value

    def _take_thinking(self, block: dict[str, Json]) -> None:
        """Join thinking up to its signature; without one no provider takes it back."""
        if block.get("type") == "redacted_thinking":
            self._thought.clear()
            if block.get("data"):
                self._thinking.append({"type": "redacted_thinking", "data": block["data"]})
            return
        thought = block.get("thinking")
        if isinstance(thought, str) and thought:
            self._thought.append(thought)
        if block.get("signature"):
            self._thinking.append(
                {"type": "thinking", "thinking": joined(self._thought), "signature": block["signature"]}
            )
            self._thought.clear()

    def _take_detail(self, detail: dict[str, Json]) -> None:
        """Join OpenRouter's `reasoning_details`: deltas of one block have its type and index."""
        last = self._details[-1] if self._details else {}
        if not last or any(last.get(key) != detail.get(key) for key in ("type", "index")):
            self._details.append(dict(detail))
            return
        for key, value in detail.items():
            before = last.get(key)
            if key in _GROWING_TEXTS and isinstance(before, str) and isinstance(value, str):
                last[key] = before + value
            elif value is not None:
                last[key] = value

    def _take_usage(self, holder: Mapping[str, Json]) -> None:
        """Take a report where it stands: in the chunk, in its choice (Moonshot), or under `x_groq` (Groq)."""
        groq = holder.get("x_groq")
        for usage in (holder.get("usage"), groq.get("usage") if isinstance(groq, dict) else None):
            if isinstance(usage, dict) and usage:
                self._usage = merged(self._usage or {}, usage)

    def _extras(self) -> dict[str, Json]:
        extras: dict[str, Json] = {key: joined(texts) for key, texts in self._reasoning.items() if key}
        if self._thinking:
            extras["thinking_blocks"] = list(self._thinking)
        if self._details:
            extras["reasoning_details"] = list(self._details)
        if self._lists.get("reasoning_items"):
            extras["reasoning_items"] = self._lists["reasoning_items"]
        rest = {key: value for key, value in self._lists.items() if key != "reasoning_items"}
        if self._fields or rest:
            extras["provider_specific_fields"] = {**rest, **self._fields}
        return extras

    def _reasoning_text(self) -> str:
        for key in (*_REASONING_KEYS, ""):
            if self._reasoning.get(key):
                return joined(self._reasoning[key])
        return ""

    def _end(self) -> Iterator[Piece]:
        yield from _pieces(ReasoningPiece, self._shown_reasoning.end())
        yield from _pieces(TextPiece, self._shown_text.end())
        for name in self._fragments.end():
            yield CallPiece(name)


def merged(before: Mapping[str, Json], after: Mapping[str, Json]) -> dict[str, Json]:
    """Return two reports of one request as one: counts are cumulative, so the larger holds; null takes nothing away."""
    result = dict(before)
    for key, value in after.items():
        known = result.get(key)
        if isinstance(known, dict) and isinstance(value, dict):
            result[key] = merged(known, value)
        elif type(known) is int and type(value) is int:
            result[key] = max(known, value)
        elif value is not None or key not in result:
            result[key] = value
    return result


def _texts(value: Json) -> list[str]:
    """Return the text of a delta's content: a text, or a list of parts (Mistral)."""
    if isinstance(value, str):
        return [value] if value else []
    found = []
    for part in value if isinstance(value, list) else []:
        text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
        if isinstance(text, str) and text:
            found.append(text)
    return found


def _thinking_parts(content: Json) -> list[str]:
    """Return the reasoning in a delta's list of parts: `{"type": "thinking", "thinking": [text parts]}` (Mistral)."""
    parts = content if isinstance(content, list) else []
    return [
        text
        for part in parts
        if isinstance(part, dict) and part.get("type") == "thinking"
        for text in _texts(part.get("thinking"))
    ]


def _groups(value: Json) -> list[dict[str, Json]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _pieces(kind: type[TextPiece | ReasoningPiece], text: str) -> list[Piece]:
    return [kind(text)] if text else []
