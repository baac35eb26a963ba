"""§6: the same search or listing with the same text as an earlier one in front of the model is a stub."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nbcontext import lines
from nbcontext.hygiene.hashes import text_sha256

if TYPE_CHECKING:
    from nbcontext.hygiene.draft import Draft, Surroundings


def same(draft: Draft, around: Surroundings) -> Draft:
    """Turn an answer into a stub of the newest one with the same arguments and the same full text (decision 11)."""
    if draft.same_key is None:
        return draft
    sha256 = text_sha256(draft.body)
    earlier = around.table.same_answer(draft.same_key, sha256)
    draft = replace(draft, stored_sha256=sha256)
    if earlier is None:
        return draft
    sentence = around.context.dedupe.same.format(id=around.context.id(earlier))
    stub = replace(draft, kind="stub", body=sentence, inline=True, stored=draft.body, stands_for=earlier)
    return stub.reported("same", "", lines_elided=lines.count(draft.body), chars_elided=lines.length(draft.body))
