"""A session's stored results as its tools see them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nbcontext.hygiene.stand_ins import stand_in
from nbcontext.loop import Context
from nbcontext.result import Result
from nbcontext.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredResults:
    """The results of one session in the store (see `nbcontext.world.Shelf`)."""

    store: Store
    session: int
    context: Context

    def result(self, number: int) -> Result | None:
        """Return result `number`; None where the session never gave it."""
        return self.store.result(self.session, number)

    def text(self, result_id: str) -> str | None:
        """Return the stored text of the result with that id, `#` or not, in full; None where there is none."""
        number = self.context.number(result_id)
        found = None if number is None else self.result(number)
        return None if found is None else self.store.text(found.stored_sha256) or ""

    def not_stored(self, result_id: str) -> str:
        """Return what is said of an id that the session never gave (§4), the id normalised (decision 7a)."""
        number = self.context.number(result_id)
        return self.context.answers.not_stored.format(id=result_id if number is None else self.context.id(number))

    def total(self, number: int) -> int | None:
        """Return the lines of result `number`'s stored text; None where the session never gave that number."""
        found = self.result(number)
        return None if found is None else found.stored_lines

    def lines(self, number: int, offset: int) -> Iterator[str]:
        """Yield the lines of result `number`'s stored text from line `offset` (from 1) on."""
        found = self.result(number)
        return iter(()) if found is None else self.store.lines(found.stored_sha256, offset)

    def stand_in(self, line: str) -> int | None:
        """Return the result to recall where `line` is a stub's sentence or an elided line of this session."""
        found = stand_in(line, self.context)
        if found is None:
            return None
        if found.kind == "stub":
            return found.number if self.store.has_stub_of(self.session, found.number) else None
        named = self.result(found.number)
        return found.number if named is not None and line.strip() in named.sent.split("\n") else None
