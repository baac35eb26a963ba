"""A read and a recall show whole lines, as many as their window takes (§3, §4, decision 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from nbcontext import lines
from nbcontext.hygiene.clean import shown_path
from nbcontext.outcome import Failure, FileRead, Recalled, Seen
from nbcontext.result import Span

if TYPE_CHECKING:
    from nbcontext.hygiene.draft import Draft, Surroundings
    from nbcontext.loop import Context


def window(draft: Draft, around: Surroundings) -> Draft:
    """Fill in the body, lines and file of a read or a recall; leave any other draft as it is."""
    match draft.outcome:
        case FileRead():
            return _read(draft, draft.outcome, around.context)
        case Recalled():
            return _recall(draft, draft.outcome, around.context)
        case _:
            return draft


def _read(draft: Draft, read: FileRead, context: Context) -> Draft:
    total = lines.count(read.text)
    if total and read.offset > total:
        path = shown_path(read.resolved)
        said = context.errors.window.offset_past_end.format(path=path, total=total, offset=read.offset)
        return replace(draft, outcome=Failure(text=said))
    shown, whole = _take(
        lines.iterate(read.text, read.offset),
        read.limit,
        context,
        lambda index, line: context.read.line.format(number=read.offset + index, text=line),
    )
    return replace(
        draft,
        body="\n".join(shown),
        stored=whole,
        path=read.path,
        resolved=read.resolved,
        sha256=read.sha256,
        span=_span(read.offset, shown, total, cut=whole is not None) if total else None,
        seen=(Seen(resolved=read.resolved, sha256=read.sha256),),
    ).reported("window", "\n".join(shown), lines_elided=total - len(shown))


def _recall(draft: Draft, recall: Recalled, context: Context) -> Draft:
    if not recall.total:
        return replace(draft, kind="recall")
    of = context.id(recall.of)
    if recall.offset > recall.total:
        said = context.errors.window.recall_offset_past_end.format(id=of, total=recall.total, offset=recall.offset)
        return replace(draft, outcome=Failure(text=said))
    source = iter(recall.lines)
    first = next(source, "")
    if recall.column > max(len(first), 1):
        said = context.errors.window.column_past_end.format(
            id=of, line=recall.offset, total=len(first), column=recall.column
        )
        return replace(draft, outcome=Failure(text=said))
    shown, whole = _take(_chain(first[recall.column - 1 :], source), recall.limit, context, lambda _, line: line)
    return replace(
        draft,
        kind="recall",
        body="\n".join(shown),
        stored=whole,
        span=_span(recall.offset, shown, recall.total, cut=whole is not None),
    ).reported("window", "\n".join(shown), lines_elided=recall.total - len(shown))


def _span(first: int, shown: list[str], total: int, *, cut: bool) -> Span:
    return Span(first=first, last=first + len(shown) - 1, total=total, cut=cut)


def _chain(first: str, rest: Iterable[str]) -> Iterable[str]:
    yield first
    yield from rest


def _take(
    source: Iterable[str], limit: int | None, context: Context, show: Callable[[int, str], str]
) -> tuple[list[str], str | None]:
    """Return the lines that fit the window, as shown, and where the only one was cut, the whole of it; else None.

    What counts is the text as inserted: line numbers and one terminator between two lines (decision 5). A cut line is
    stored whole, so that `recall` with `column` can go on in it (decisions 7 and 7a).
    """
    most, room = context.window.max_lines, context.window.max_chars
    most = most if limit is None else min(limit, most)
    shown: list[str] = []
    for index, line in enumerate(source):
        if index == most:
            break
        text = show(index, line)
        room -= len(text) + (1 if shown else 0)
        if room < 0:
            if shown:
                break
            return [text[: context.window.max_chars] + context.cut], text
        shown.append(text)
    return shown, None
