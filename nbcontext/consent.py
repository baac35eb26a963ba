"""Asking the person before a change or a command: the question, and what their words mean. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from nbcontext.call import Json
from nbcontext.plain import visible

_SHOWN_CHARS = 4000
"""Characters of one argument that the question shows."""


def question(tool: str, arguments: Mapping[str, Json]) -> str:
    """Return the question that the person is asked."""
    shown = "\n".join(f"  {name}: {_shown(value)}" for name, value in arguments.items())
    return f"The model wants to use {tool}:\n{shown}\nRun it? [y]es, [n]o, or words to answer with: "


def meaning(words: str) -> str:
    """Return what a person's words mean: `yes`, `no`, or the words."""
    short = words.strip().lower()
    if short in ("y", "yes"):
        return "yes"
    return "no" if short in ("", "n", "no") else words.strip()


def _shown(value: Json) -> str:
    text = visible(value if isinstance(value, str) else str(value))
    rest = len(text) - _SHOWN_CHARS
    return text if rest <= 0 else f"{text[:_SHOWN_CHARS]}… ({rest:,} more characters)"
