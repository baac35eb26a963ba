"""Text expressions of a case as the texts they stand for. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter

from nbcontext.conformance.expression import Codes, Join, Lines, Literally, Repeat, Text

ROOT: Final = "{root}"
"""What stands for the workspace's absolute path in a plain string."""

_KEYS: Final = ({"repeat", "times"}, {"lines", "form"}, {"lines", "form", "between"}, {"join"}, {"codes"}, {"literal"})
_ADAPTER: Final[TypeAdapter[Text]] = TypeAdapter(Text)


def expanded(text: Text, root: str) -> str:
    """Return the text that an expression stands for; `root` is the workspace's absolute path."""
    match text:
        case str():
            return text.replace(ROOT, root)
        case Repeat():
            return expanded(text.repeat, root) * text.times
        case Lines(lines=(first, last)):
            form = text.form.replace(ROOT, root)
            return text.between.join(form.replace("{n}", str(number)) for number in range(first, last + 1))
        case Join():
            return "".join(expanded(part, root) for part in text.join)
        case Codes():
            return "".join(map(chr, text.codes))
        case Literally():
            return text.literal


def argument_text(arguments: Text | Mapping[str, Any], root: str) -> str:
    """Return a call's argument text: an expression's; of an object its compact JSON, expressions in it expanded."""
    if not isinstance(arguments, Mapping):
        return expanded(arguments, root)
    return json.dumps(_value(arguments, root), ensure_ascii=False, separators=(",", ":"))


def _value(value: Any, root: str) -> Any:
    if isinstance(value, str):
        return expanded(value, root)
    if isinstance(value, list):
        return [_value(item, root) for item in value]
    if isinstance(value, Mapping):
        if set(value) in _KEYS:
            return expanded(_ADAPTER.validate_python(value), root)
        return {key: _value(item, root) for key, item in value.items()}
    return value
