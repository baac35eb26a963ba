"""Makes every hash and id in the store again from what it is of, and says what does not agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbcontext import assets, lines
from nbcontext.errors import NbcontextError, StoreError
from nbcontext.hygiene.hashes import text_sha256
from nbcontext.store import damage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from nbcontext.entry import Entry
    from nbcontext.store import SessionRow, Store


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What was found."""

    sessions: int
    results: int
    faults: tuple[str, ...]
    """One line each."""

    @property
    def summary(self) -> str:
        """What is told the person."""
        head = f"{self.sessions} sessions, {self.results} results, {len(self.faults)} faults"
        return "\n".join((head, *self.faults))


def verify(store: Store) -> Verdict:
    """Check all sessions of `store`."""
    faults: list[str] = []
    results = 0
    rows: Sequence[SessionRow] = ()
    try:
        rows = store.sessions()
        for row in rows:
            results += len(store.result_rows(row.id))
            faults += (f"{row.name}: {fault}" for fault in _faults(store, row))
    except StoreError as error:
        faults.append(str(error))
    return Verdict(sessions=len(rows), results=results, faults=tuple(faults))


def verify_files(home: Path) -> Verdict:
    """Check every file of the store in a folder, and the sessions of each that is not damaged; nothing is made."""
    found = []
    for place in damage.files(home):
        said = damage.fault(place, thorough=True)
        if said is not None:
            found.append(Verdict(sessions=0, results=0, faults=(damage.line(place, said),)))
            continue
        from nbcontext.store import Store

        store = Store(home, place)
        found.append(verify(store))
        store.close()
    return Verdict(
        sessions=sum(verdict.sessions for verdict in found),
        results=sum(verdict.results for verdict in found),
        faults=tuple(fault for verdict in found for fault in verdict.faults),
    )


def _faults(store: Store, row: SessionRow) -> Iterator[str]:
    yield from _result_faults(store, row)
    try:
        entries = list(store.log(row.id))
    except StoreError as error:
        yield str(error)
        return
    for position, logged in enumerate(entries, 1):
        if logged.number != position:
            yield f"entry {position} is missing"
            return
    if len(entries) != row.last_entry:
        yield f"the log has {len(entries)} entries where {row.last_entry} were written"
    try:
        yield from _request_faults(store, row, [logged.entry for logged in entries])
    except (NbcontextError, LookupError, TypeError, ValueError) as error:
        yield f"the log does not hold together: {error}"


def _result_faults(store: Store, row: SessionRow) -> Iterator[str]:
    context = assets.loop().context
    for position, result in enumerate(store.result_rows(row.id), 1):
        number = result["number"]
        own = context.id(number)
        if number != position:
            yield f"{own} is the {position}. result: an id is missing or was given twice"
        if not result["sent"].startswith(f"[{own}"):
            yield f"{own} does not begin with its id"
        text = store.text(result["stored_sha256"])
        if text is None:
            yield f"{own} has no stored text"
        elif text_sha256(text) != result["stored_sha256"]:
            yield f"{own} has a stored text with another hash"
        elif lines.count(text) != result["stored_lines"] or len(text) != result["stored_chars"]:
            yield f"{own} has a stored text of another length"


def _request_faults(store: Store, row: SessionRow, entries: list[Entry]) -> Iterator[str]:
    """Make every request again from the log, and compare its hash with the one kept when it was sent."""
    from nbcontext.history import History
    from nbcontext.log import folded
    from nbcontext.outgoing import Outgoing, Shape
    from nbcontext.request import body

    start = History(kind="chat" if row.kind == "chat" else "agent", mode="ask")
    context = assets.loop().context
    history, done = start, 0
    for sent in store.requests(row.id):
        history = folded(history, entries[done : sent["entry"]])
        done = sent["entry"]
        shape = Shape.loads(sent["shape"]) if sent["shape"] else None
        made = Outgoing(context=context, provider=sent["provider"], cache_key="").request(history, shape)
        if text_sha256(body(made)) != sent["body_sha256"]:
            yield f"request {sent['request']} cannot be made again as it was sent"
