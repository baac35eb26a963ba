"""§1: the id is the first thing in a result, in brackets; a read's and an edit's bracket say more."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nbcontext.outcome import Changes, FileRead, ImageRead, Recalled

if TYPE_CHECKING:
    from nbcontext.hygiene.draft import Draft, Surroundings
    from nbcontext.loop import Context


def bracket(draft: Draft, around: Surroundings) -> Draft:
    """Fill in the bracket that the draft's outcome has."""
    context = around.context
    own = context.id(draft.number)
    match draft.outcome:
        case FileRead():
            made = _read(draft, own, context)
        case ImageRead(path=path, sha256=sha256):
            made = context.brackets.changed.format(id=own, path=path, sha=context.sha(sha256))
        case Recalled(of=of) if draft.span is not None:
            span = draft.span
            made = context.brackets.recall.format(
                id=own, of=context.id(of), first=span.first, last=span.last, total=span.total
            )
        case Recalled(of=of):
            made = context.brackets.recall_empty.format(id=own, of=context.id(of))
        case Changes(files=(change,)) if change.sha256 is None:
            made = context.brackets.deleted.format(id=own, path=change.path)
        case Changes(files=(change,)):
            made = context.brackets.changed.format(id=own, path=change.path, sha=context.sha(change.sha256 or ""))
        case _:
            made = context.brackets.plain.format(id=own)
    return replace(draft, bracket=made)


def _read(draft: Draft, own: str, context: Context) -> str:
    sha = context.sha(draft.sha256 or "")
    if draft.span is None:
        return context.brackets.empty.format(id=own, path=draft.path, sha=sha)
    span = draft.span
    return context.brackets.read.format(
        id=own, path=draft.path, first=span.first, last=span.last, total=span.total, sha=sha
    )
