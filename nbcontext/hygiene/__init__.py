"""The hygiene pipeline: from what a tool gave to what the model is sent. Pure, one step a file, in this order.

`insert` is all the rest of the program calls. A step takes a draft and what it is inserted into, and gives a draft;
what it did, it reports.
"""

from __future__ import annotations

from collections.abc import Callable

from nbcontext import lines
from nbcontext.hygiene.answer import answer
from nbcontext.hygiene.bracket import bracket
from nbcontext.hygiene.cap import cap
from nbcontext.hygiene.clean import clean, sendable, shown_path
from nbcontext.hygiene.draft import Draft, Surroundings
from nbcontext.hygiene.hashes import text_sha256
from nbcontext.hygiene.same import same
from nbcontext.hygiene.table import DedupeTable
from nbcontext.hygiene.unchanged import unchanged
from nbcontext.hygiene.window import window
from nbcontext.outcome import Outcome
from nbcontext.result import Insertion, Result

Step = Callable[[Draft, Surroundings], Draft]

STEPS: tuple[Step, ...] = (clean, window, answer, unchanged, same, cap, bracket)
"""The pipeline. An offset past the end becomes a failure in `window`, so `answer` comes after it."""


def insert(
    outcome: Outcome, around: Surroundings, *, number: int, call_id: str, tool: str, same_key: str | None = None
) -> Insertion:
    """Return the result that `outcome` becomes as the session's `number`-th, and the text to store with it (§§1-6)."""
    draft = Draft(number=number, call_id=call_id, tool=tool, outcome=outcome, same_key=same_key)
    for step in STEPS:
        draft = step(draft, around)
    stored = draft.body if draft.stored is None else draft.stored
    result = Result(
        number=number,
        call_id=call_id,
        tool=tool,
        kind=draft.kind,
        sent=draft.sent,
        stored_sha256=draft.stored_sha256 or text_sha256(stored),
        stored_lines=lines.count(stored),
        stored_chars=len(stored),
        path=draft.path,
        resolved=draft.resolved,
        span=draft.span,
        sha256=draft.sha256,
        stands_for=draft.stands_for,
        same_key=draft.same_key if draft.kind in ("full", "capped") else None,
        seen=draft.seen,
        images=draft.images,
    )
    return Insertion(result=result, stored=stored, reports=draft.reports)


__all__ = ["STEPS", "DedupeTable", "Draft", "Step", "Surroundings", "insert", "sendable", "shown_path"]
