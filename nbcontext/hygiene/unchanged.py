"""§2: a read of lines that are already in front of the model, unchanged, is a stub."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nbcontext.outcome import FileRead

if TYPE_CHECKING:
    from nbcontext.hygiene.draft import Draft, Surroundings


def unchanged(draft: Draft, around: Surroundings) -> Draft:
    """Turn a read into a stub of the newest full read in the dedupe table that shows all its lines.

    An empty file is answered in full (decision 9: it has no span), and so is a read with a cut line.
    """
    span = draft.span
    if not isinstance(draft.outcome, FileRead) or span is None or span.cut:
        return draft
    assert draft.resolved is not None and draft.sha256 is not None  # noqa: S101, PT018 - a read has both
    earlier = around.table.read_covering(draft.resolved, draft.sha256, span)
    if earlier is None:
        return draft
    sentence = around.context.dedupe.unchanged.format(
        id=around.context.id(earlier.number), first=earlier.first, last=earlier.last
    )
    stub = replace(draft, kind="stub", body=sentence, inline=True, stored=draft.body, stands_for=earlier.number)
    kept = span.last - span.first + 1
    return stub.reported("unchanged", "", lines_elided=kept, chars_elided=len(draft.body))
