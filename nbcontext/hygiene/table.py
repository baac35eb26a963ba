"""The dedupe table: which results a stub may name, and which file states the model has in front of it.

It is a function of the results that the request being built carries (§2, decision 10): `DedupeTable.of(results)`. As
results are only ever added at the end, a table grows by `add`, which leaves the older table as it was; the maps are
persistent (rpds), so a table of 10,000 results costs no more to grow than one of ten.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rpds import HashTrieMap

from nbcontext.result import Result, Span


@dataclass(frozen=True, slots=True)
class ReadEntry:
    """A full read that a stub may name."""

    number: int
    first: int
    last: int

    def covers(self, first: int, last: int) -> bool:
        """Return whether the lines lie wholly inside this read's.

        An older read inside a newer one's lines can never be the newest that qualifies: the table drops it.
        """
        return self.first <= first and last <= self.last


@dataclass(frozen=True, slots=True)
class DedupeTable:
    """What the request being built carries, by what is asked of it."""

    _reads: HashTrieMap[tuple[str, str], tuple[ReadEntry, ...]] = field(default_factory=HashTrieMap)
    """(resolved path, full hash) to full reads, newest first."""
    _answers: HashTrieMap[tuple[str, str], int] = field(default_factory=HashTrieMap)
    """(tool and arguments, hash of the full text) to the newest result with both."""
    _seen: HashTrieMap[str, str | None] = field(default_factory=HashTrieMap)
    """Resolved path to the full hash of the bytes last seen; None: seen to be gone."""

    @classmethod
    def of(cls, results: Iterable[Result]) -> DedupeTable:
        """Return the table of the results that a request carries, oldest first."""
        return EMPTY.extended(results)

    def add(self, result: Result) -> DedupeTable:
        """Return the table with one more result, the newest."""
        return self.extended((result,))

    def extended(self, results: Iterable[Result]) -> DedupeTable:
        """Return the table with more results, oldest first."""
        reads: dict[tuple[str, str], tuple[ReadEntry, ...]] = {}
        answers: dict[tuple[str, str], int] = {}
        seen: dict[str, str | None] = {}
        for result in results:
            if result.is_full_read:
                assert result.resolved and result.sha256 and result.span  # noqa: S101, PT018 - a full read has all
                entry = ReadEntry(result.number, result.span.first, result.span.last)
                key = (result.resolved, result.sha256)
                older = reads.get(key) or self._reads.get(key, ())
                reads[key] = (entry, *(read for read in older if not entry.covers(read.first, read.last)))
            if result.same_key is not None and result.kind in ("full", "capped"):
                answers[result.same_key, result.stored_sha256] = result.number
            for state in result.seen:
                seen[state.resolved] = state.sha256
        return DedupeTable(self._reads.update(reads), self._answers.update(answers), self._seen.update(seen))

    def read_covering(self, resolved: str, sha256: str, span: Span) -> ReadEntry | None:
        """Return the newest full read of this file and content that shows all lines of `span` (§2)."""
        entries = self._reads.get((resolved, sha256), ())
        return next((entry for entry in entries if entry.covers(span.first, span.last)), None)

    def same_answer(self, same_key: str, sha256: str) -> int | None:
        """Return the newest result of this call with this full text (§6)."""
        return self._answers.get((same_key, sha256))

    def was_seen(self, resolved: str) -> bool:
        """Return whether the file was read, written or edited in front of the model (decision 12)."""
        return self._seen.get(resolved) is not None

    def seen_sha256(self, resolved: str) -> str | None:
        """Return the full hash of the file's bytes as last seen; None where it was not seen, or seen to be gone."""
        return self._seen.get(resolved)


EMPTY = DedupeTable()
"""The table of a request that carries no results."""
