"""What the model asked for: a call as it came, and its arguments parsed once (decision 2)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

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
        """The argument text that goes back to the model: as it came, or `{}` where that is no JSON object."""
        return self.arguments if self.arguments.strip() and self.parsed() is not None else "{}"


def same_key(name: str, arguments: Mapping[str, Json]) -> str:
    """Return what decides whether two calls are the same (§6): tool and arguments as JSON with sorted keys."""
    return f"{name} {json.dumps(arguments, sort_keys=True, ensure_ascii=True, separators=(',', ':'))}"


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")
