"""Where what came differs from what a case expects, shown shortly at the first place. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

_BEFORE: Final = 30
"""Characters shown before the first different one."""
_AFTER: Final = 90


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """One difference."""

    where: str
    expected: str
    got: str

    @property
    def shown(self) -> str:
        """The difference in three lines."""
        return f"  {self.where}\n    expected {self.expected}\n    got      {self.got}"


def first_difference(expected: Any, got: Any, where: str) -> Difference | None:
    """Return the first place where two JSON values differ; None: nowhere."""
    if isinstance(expected, str) and isinstance(got, str):
        return _of_texts(expected, got, where)
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        return _of_objects(expected, got, where)
    if _is_list(expected) and _is_list(got):
        return _of_lists(expected, got, where)
    return None if expected == got else Difference(where=where, expected=_short(expected), got=_short(got))


def _of_objects(expected: Mapping[str, Any], got: Mapping[str, Any], where: str) -> Difference | None:
    for key in dict.fromkeys((*expected, *got)):
        if (key in expected) != (key in got):
            return Difference(where=f"{where}, {key}", expected=_named(expected, key), got=_named(got, key))
        if found := first_difference(expected[key], got[key], f"{where}, {key}"):
            return found
    return None


def _of_lists(expected: Sequence[Any], got: Sequence[Any], where: str) -> Difference | None:
    for number, (one, other) in enumerate(zip(expected, got, strict=False), 1):
        if found := first_difference(one, other, f"{where}, item {number}"):
            return found
    if len(expected) == len(got):
        return None
    at = min(len(expected), len(got))
    return Difference(where=f"{where}, item {at + 1}", expected=_item(expected, at), got=_item(got, at))


def _of_texts(expected: str, got: str, where: str) -> Difference | None:
    if expected == got:
        return None
    at = next((i for i, (a, b) in enumerate(zip(expected, got, strict=False)) if a != b), min(len(expected), len(got)))
    line = expected.count("\n", 0, at) + 1
    column = at - (expected.rfind("\n", 0, at) + 1) + 1
    return Difference(
        where=f"{where}, line {line}, character {column}", expected=_excerpt(expected, at), got=_excerpt(got, at)
    )


def _excerpt(text: str, at: int) -> str:
    start = max(at - _BEFORE, 0)
    before, after = "…" if start else "", "…" if at + _AFTER < len(text) else ""
    return before + json.dumps(text[start : at + _AFTER], ensure_ascii=True) + after


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= _BEFORE + _AFTER else text[: _BEFORE + _AFTER] + "…"


def _named(value: Mapping[str, Any], key: str) -> str:
    return _short(value[key]) if key in value else "no such key"


def _item(values: Sequence[Any], at: int) -> str:
    return _short(values[at]) if at < len(values) else "nothing more"


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
