"""Tool calls put together from the fragments a stream brings them in; nothing is glued and nothing is dropped.

Providers differ in what tells one call from the next: an index, an id, a name, or only that the call before is at its
end. Some send no index, or the same one for all; no id, an empty one, or the same one twice; the name in pieces, or
whole in every fragment; the arguments as an object instead of text.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from nbcontext.call import Call, Json
from nbcontext.model.surrogates import joined
from nbcontext.request import NEUTRAL_CALL_KEYS

Fragment = Mapping[str, Json]


@dataclass(slots=True)
class _Growing:
    """A call that is still coming."""

    id: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)
    """Pieces of the argument text."""
    whole: bool = False
    """Whether the arguments came as an object, so that they are at their end."""
    extras: dict[str, Json] = field(default_factory=dict)
    announced: bool = False

    def is_whole(self) -> bool:
        """Return whether the argument text is a whole JSON object, to which nothing can be added."""
        if self.whole:
            return True
        if not self.parts or not self.parts[-1].rstrip().endswith("}"):
            return False
        try:
            return isinstance(json.loads("".join(self.parts)), dict)
        except (ValueError, RecursionError):
            return False


class Fragments:
    """The calls of one reply while they come."""

    def __init__(self) -> None:
        self._calls: list[_Growing] = []
        self._by_index: dict[int, _Growing] = {}

    def feed(self, fragments: list[Fragment]) -> list[str]:
        """Take the fragments of one chunk; return the names of calls of which no more than arguments is to come."""
        touched: list[_Growing] = []
        for fragment in fragments:
            function = fragment.get("function", fragment.get("custom"))
            function = function if isinstance(function, Mapping) else {}
            call = self._place(fragment, function, touched)
            touched.append(call)
            _grow(call, fragment, function)
        return self._announce(ended=False)

    def end(self) -> list[str]:
        """Return the names of calls that were not named by `feed`."""
        return self._announce(ended=True)

    def calls(self, taken: Collection[str]) -> list[tuple[Call, dict[str, Json]]]:
        """Return each call with its provider's own keys; an id that is empty, in `taken` or repeated is made another.

        The same fragments and the same `taken` give the same ids.
        """
        used = set(taken)
        found = []
        for growing in self._calls:
            name = _unused(joined([growing.id]), used)
            used.add(name)
            call = Call(id=name, name=joined([growing.name]), arguments=joined(growing.parts))
            found.append((call, growing.extras))
        return found

    def _place(self, fragment: Fragment, function: Fragment, touched: list[_Growing]) -> _Growing:
        """Return the call that `fragment` belongs to, a new one where it begins one."""
        index, given = fragment.get("index"), _text(fragment.get("id"))
        index = index if type(index) is int else None
        if index is not None:
            call = self._by_index.get(index)
        else:
            same = [call for call in self._calls if given and call.id == given]
            call = same[-1] if same else (self._calls[-1] if self._calls else None)
        if call is None or _begins(call, given, function, again=any(call is other for other in touched)):
            call = _Growing(id=given)
            self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        return call

    def _announce(self, *, ended: bool) -> list[str]:
        names = []
        for call in self._calls:
            if call.announced or not call.name or not (ended or call.parts or call is not self._calls[-1]):
                continue
            call.announced = True
            names.append(joined([call.name]))
        return names


def _begins(call: _Growing, given: str, function: Fragment, *, again: bool) -> bool:
    """Return whether a fragment that could go on with `call` begins another one instead.

    Only a fragment with a name can. A new id beside the name is another call. Else the name is another call's where
    `call` had a fragment in this very chunk, where it has its arguments whole and there are more, or where it has a
    part of its arguments and another name (a name is never cut behind the arguments).
    """
    name = _text(function.get("name"))
    if not name or not call.name:
        return False
    if (given and call.id and given != call.id) or again:
        return True
    if call.is_whole():
        more = function.get("arguments")
        return name != call.name or bool(more.strip() if isinstance(more, str) else more)
    return bool(call.parts) and name != call.name


def _grow(call: _Growing, fragment: Fragment, function: Fragment) -> None:
    call.id = call.id or _text(fragment.get("id"))
    name = _text(function.get("name"))
    if name and name != call.name:
        call.name += name
    arguments = function.get("arguments", function.get("input"))
    if isinstance(arguments, str):
        if arguments:
            call.parts.append(arguments)
    elif arguments is not None:
        call.parts = [json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))]
        call.whole = True
    for key, value in fragment.items():
        if key not in NEUTRAL_CALL_KEYS and key not in {"index", "custom"} and value is not None:
            before = call.extras.get(key)
            both = isinstance(before, dict) and isinstance(value, dict)
            call.extras[key] = {**before, **value} if both else value  # type: ignore[dict-item]


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _unused(wanted: str, used: Collection[str]) -> str:
    if wanted and wanted not in used:
        return wanted
    stem = f"{wanted}_" if wanted else "call_"
    number = 2 if wanted else len(used) + 1
    while f"{stem}{number}" in used:
        number += 1
    return f"{stem}{number}"
