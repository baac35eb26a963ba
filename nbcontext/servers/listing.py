"""What a server offers: its tools and instructions as last listed, kept so that one that is down has its place."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbcontext.call import Json
from nbcontext.hygiene.clean import sendable

_NOT_AT_TOP = ("$schema", "$id", "oneOf", "anyOf", "allOf")
"""Keys that some provider refuses at the top of a tool's schema; the server checks its arguments itself."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedTool:
    """One tool of a server."""

    name: str
    """As the server names it."""
    description: str
    schema: Mapping[str, Json]
    """JSON Schema of its arguments, in a form that does not depend on the order in which the server told it."""
    only_reads: bool
    """Whether the server marks it read-only."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Listing:
    """What a server offers."""

    tools: tuple[ListedTool, ...] = ()
    """Sorted by name."""
    instructions: str = ""


def canonical(schema: Mapping[str, Any]) -> dict[str, Json]:
    """Return a tool's schema in one form, fit to be sent: keys sorted, an object with properties."""
    kept = {key: value for key, value in schema.items() if key not in _NOT_AT_TOP}
    made = _sorted(kept)
    assert isinstance(made, dict)  # noqa: S101 - a mapping gives one
    properties = made.get("properties")
    return made | {"type": "object", "properties": properties if isinstance(properties, dict) else {}}


def clipped(text: str, most: int, mark: str) -> str:
    """Return a server's text as the model is told it: at most `most` characters, fit to be sent."""
    text = sendable(text)
    return text if len(text) <= most else text[:most] + mark


def load(file: Path) -> Listing | None:
    """Return the listing that was kept; None where there is none, or it is damaged."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        tools = tuple(ListedTool(**tool) for tool in found["tools"])
        if not all(isinstance(tool.name, str) and isinstance(tool.schema, dict) for tool in tools):
            return None
        return Listing(tools=tools, instructions=str(found["instructions"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def keep(file: Path, listing: Listing) -> None:
    """Keep a listing; where that cannot be, a server that is down has no place, and nothing else is lost."""
    beside = file.with_name(f".{file.name}.{os.getpid()}.part")
    tools = [
        {"name": tool.name, "description": tool.description, "schema": tool.schema, "only_reads": tool.only_reads}
        for tool in listing.tools
    ]
    with suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside.write_text(json.dumps({"tools": tools, "instructions": listing.instructions}), encoding="utf-8")
        beside.replace(file)


def _sorted(value: Any) -> Json:
    if isinstance(value, Mapping):
        made = {sendable(str(key)): _sorted(value[key]) for key in sorted(value, key=str)}
        required = made.get("required")
        if isinstance(required, list):
            made["required"] = sorted(required, key=str)
        return made
    if isinstance(value, list | tuple):
        return [_sorted(item) for item in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):  # noqa: PLR0124 - NaN
        return None
    return sendable(value) if isinstance(value, str) else value
