"""Texts of a session by windows: a stored result, a message of a request, or how such a message changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from nbcontext import lines
from nbcontext.display.recalled import Unsent, bracket, unsent
from nbcontext.errors import SessionError
from nbcontext.plain import visible

from .finding import Pattern, Search
from .model import Answer, Later, Look, whole

if TYPE_CHECKING:
    from nbcontext.request import Message as SentMessage
    from nbcontext.request import Request
    from nbcontext.result import Result

WINDOW_CHARS = 400_000
"""Characters that a window has at most; one with longer lines ends early."""
LINE_CHARS = 4_000
"""Characters of a line that a window shows; more come when they are asked for."""
_MORE_CHARS = 20_000
_TOOLS = -1
"""The place of the tool list among a request's messages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """One text."""

    head: str
    """What it is."""
    total: int
    """Its lines."""
    chars: int
    is_diff: bool = False
    gone: Unsent = Unsent()  # noqa: RUF009 - frozen
    result: Result | None = None
    sha256: str | None = None
    """Under which the store has it; None: it is in `text`."""
    text: str = ""


@dataclass(slots=True)
class Reader:
    """Gives a page the texts of one session."""

    look: Look
    _sources: dict[str, Source] = field(default_factory=dict)
    _requests: dict[int, Request] = field(default_factory=dict)

    def takes(self, asked: Mapping[str, Any]) -> bool:
        """Return whether a page asked for something that is here."""
        return asked.get("ask") in ("open", "window", "find", "line")

    def answer(self, asked: Mapping[str, Any]) -> Answer | Later:
        """Return what a page asked for: `open` a source, a `window`, to `find`, or more of a `line`.

        Raises:
            NbcontextError: there is no such thing.
        """
        source = self.source(asked.get("source"))
        if asked["ask"] == "find":
            return self._find(source, asked)
        if asked["ask"] == "line":
            line = next(self.lines(source, max(whole(asked, "line", 1), 1)), "")
            start = max(whole(asked, "start"), 0)
            piece = visible(line[start : start + _MORE_CHARS])
            return Answer(content={"text": piece, "left": max(len(line) - start - _MORE_CHARS, 0)})
        first = max(1, min(whole(asked, "first", 1), max(source.total, 1)))
        told = self._about(source, asked["source"]) if asked["ask"] == "open" else {}
        return self.window(source, first, asked.get("find"), told)

    def source(self, asked: object) -> Source:
        """Return a text: `{result}`, `{request, message}` or `{request, change}`.

        Raises:
            SessionError: there is none.
        """
        given = asked if isinstance(asked, Mapping) else {}
        key = json.dumps(given, sort_keys=True, default=str)
        if key not in self._sources:
            if len(self._sources) > 8:  # noqa: PLR2004 - some to go back and forth between
                self._sources.clear()
            made = self._result(whole(given, "result")) if "result" in given else self._sent(given)
            self._sources[key] = made
        return self._sources[key]

    def lines(self, source: Source, first: int) -> Iterator[str]:
        """Yield a text's lines from line `first` on."""
        if source.sha256 is None:
            return lines.iterate(source.text, first)
        return self.look.store.lines(source.sha256, first)

    def window(self, source: Source, first: int, find: object = None, told: Mapping[str, Any] | None = None) -> Answer:
        """Return the window that begins at line `first`: whole lines, long ones cut and counted."""
        most = self.look.context.window.max_lines
        raw: list[str] = []
        size = 0
        for line in islice(self.lines(source, first), most):
            size += min(len(line), LINE_CHARS)
            if raw and size > WINDOW_CHARS:
                break
            raw.append(line)
        cut = [[at, len(line) - LINE_CHARS] for at, line in enumerate(raw) if len(line) > LINE_CHARS]
        kept = [line[:LINE_CHARS] for line in raw]
        spans = _spans(kept, find)
        content = {**(told or {}), "first": first, "count": len(raw), "cut": cut, "spans": spans}
        return Answer(content=content, buffer="\n".join(map(visible, kept)).encode(errors="replace"))

    # -- sources

    def _result(self, number: int) -> Source:
        found = self.look.store.result(self.look.id, number)
        if found is None:
            raise SessionError(self.look.context.answers.not_stored.format(id=self.look.context.id(max(number, 0))))
        return Source(
            head=bracket(found),
            total=found.stored_lines,
            chars=found.stored_chars,
            is_diff=found.kind == "diff",
            gone=unsent(found, self.look.context),
            result=found,
            sha256=found.stored_sha256,
        )

    def _sent(self, asked: Mapping[str, Any]) -> Source:
        number = whole(asked, "request")
        if "change" in asked:
            from nbcontext.files.diff import hunks

            at = whole(asked, "change")
            text = hunks(self._message(number - 1, at), self._message(number, at))
            head = f"request {number}: how {_called(at)} changed since request {number - 1}"
        else:
            at = whole(asked, "message")
            text, head = self._message(number, at), f"request {number}: {_called(at)}"
        return Source(head=head, total=lines.count(text), chars=len(text), is_diff="change" in asked, text=text)

    def _message(self, number: int, at: int) -> str:
        sent = self.request(number)
        if at == _TOOLS:
            return json.dumps(list(sent.tools), ensure_ascii=False, indent=1)
        return message_text(sent.messages[at]) if 0 <= at < len(sent.messages) else ""

    def request(self, number: int) -> Request:
        """Return what request `number` sent; the last two are kept."""
        if number not in self._requests:
            while len(self._requests) > 1:
                self._requests.pop(next(iter(self._requests)))
            self._requests[number] = self.look.request(number)
        return self._requests[number]

    # -- what a page is told

    def _about(self, source: Source, asked: Mapping[str, Any]) -> dict[str, Any]:
        gone = source.gone
        told = {
            "source": dict(asked),
            "head": visible(source.head),
            "total": source.total,
            "chars": source.chars,
            "diff": source.is_diff,
            "gone": [gone.first, gone.last, gone.cut, visible(gone.instead)],
        }
        if source.result is None:
            return told
        number, last = source.result.number, self.look.history.last_number
        same = self.look.store.numbers_of(self.look.id, source.result.resolved) if source.result.resolved else []
        return {
            **told,
            "tool": source.result.tool,
            "kind": source.result.kind,
            "before": number - 1 or None,
            "after": number + 1 if number < last else None,
            "same": [[each, self.look.context.id(each)] for each in _near(same, number)],
            "stands_for": source.result.stands_for,
        }

    def _find(self, source: Source, asked: Mapping[str, Any]) -> Later:
        search = Search(_pattern(asked))

        def work() -> Answer:
            found = search.hits(self._parts(source))
            content = {"hits": len(found.lines), "all": found.is_all, "at": asked.get("at", 0)}
            return Answer(content=content, buffer=found.lines.tobytes())

        return Later(work=work, stop=search.stop)

    def _parts(self, source: Source) -> Iterable[str]:
        return [source.text] if source.sha256 is None else self.look.store.parts(source.sha256)


def message_text(message: SentMessage) -> str:
    """Return a message for a person's eyes: its role, its text, and the rest as JSON."""
    content = message.get("content")
    rest = {key: value for key, value in message.items() if key not in ("role", "content")}
    said = content if isinstance(content, str) else "" if content is None else _json(content)
    parts = (f"{message.get('role')}:", said, _json(rest) if rest else "")
    return "\n".join(part for part in parts if part)


def _called(at: int) -> str:
    return "the tool list" if at == _TOOLS else "the system prompt" if at == 0 else f"message {at}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


def _near(numbers: Sequence[int], here: int, most: int = 200) -> Sequence[int]:
    """Return at most `most` of the numbers, the ones around `here`."""
    at = sum(each < here for each in numbers)
    start = max(min(at - most // 2, len(numbers) - most), 0)
    return numbers[start : start + most]


def _pattern(asked: Mapping[str, Any]) -> Pattern:
    return Pattern(
        text=str(asked.get("pattern") or "")[:1000],
        is_regex=bool(asked.get("regex")),
        by_case=bool(asked.get("case")),
    )


def _spans(kept: Sequence[str], find: object) -> list[list[int]]:
    """Return the hits of a window as (line, first UTF-16 unit, unit after the last) of its text as it is shown."""
    if not isinstance(find, Mapping) or not find.get("pattern"):
        return []
    found = Search(_pattern(find)).spans(kept)
    return [[at, _units(kept[at][:start]), _units(kept[at][:end])] for at, start, end in found]


def _units(text: str) -> int:
    return len(visible(text).encode("utf-16-le", "surrogatepass")) // 2
