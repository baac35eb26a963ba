"""What the model asked for: a call as it came, and its arguments parsed once (decision 2)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

_UNFIT = re.compile("[\0\ud800-\udfff]")

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One tool call of a reply."""

    id: str
    """Never empty and unique in its reply: made so where the provider's was not."""
    name: str
    arguments: str
    """The argument text exactly as it came."""

    def parsed(self) -> dict[str, Json] | None:
        """Return the arguments; None where the text is no JSON object. No text at all is an empty object."""
        if not self.arguments.strip():
            return {}
        try:
            value = json.loads(self.arguments, parse_constant=_refuse)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    @property
    def sent_arguments(self) -> str:
        """The argument text that goes back to the model: as it came, or `{}` where that is no JSON object.

        Escapes of what no message may carry (decision 5) are replaced in it.
        """
        value = self.parsed() if self.arguments.strip() else None
        if value is None:
            return "{}"
        fit = _fit(value) if "\\u" in self.arguments else value
        return self.arguments if fit == value else json.dumps(fit, ensure_ascii=False)


def same_key(name: str, arguments: Mapping[str, Json]) -> str:
    """Return what decides whether two calls are the same (§6): tool and arguments as JSON with sorted keys."""
    return f"{name} {json.dumps(arguments, sort_keys=True, ensure_ascii=True, separators=(',', ':'))}"


def _fit(value: Json) -> Json:
    """Return the value with NUL as U+2400 and lone surrogates as U+FFFD in all its texts."""
    if isinstance(value, str):
        return _UNFIT.sub(lambda found: "␀" if found[0] == "\0" else "\ufffd", value)
    if isinstance(value, dict):
        return {str(_fit(key)): _fit(inner) for key, inner in value.items()}
    return [_fit(inner) for inner in value] if isinstance(value, list) else value


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")
