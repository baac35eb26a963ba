"""What a tool is: a name, the arguments it takes, what it does to the world, and a callable that gives an outcome."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from nbcontext.call import Json
from nbcontext.outcome import Outcome
from nbcontext.world import World

Kind = Literal["agent", "chat"]
"""The kinds of session (decision 17)."""


class Effect(StrEnum):
    """What a call does to the world; the permission mode decides by it (interface: Modes)."""

    READ = "read"
    """Nothing is changed; such calls of one reply may run side by side."""
    CHANGE = "change"
    """Files inside the root are changed."""
    COMMAND = "command"
    """Anything may happen: a command, code, another server's tool."""
    PLAN = "plan"
    """Only the session's own plan is changed."""
    TASK = "task"
    """A subagent is driven, each of whose calls is permitted by itself."""


class Arguments(BaseModel):
    """Base of every tool's arguments: an unknown one is an error, numbers and booleans may come as strings."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Named = Literal["plan", "display", "page", "forge"]
"""Conditions of ours that come and go: the permission mode plan, a front end that shows things, an open page, a forge
that the project is connected to."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Requirement:
    """A condition that comes and goes, and that can be brought about."""

    is_met: Callable[[], bool]
    """Looks, quickly; changes nothing."""
    meet: Callable[[threading.Event], bool]
    """Tries, when a call needs it, to bring it about; tells whether it is met then. Ends when the event is set."""


Condition = Named | Callable[[], bool] | Requirement


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """A tool of a session."""

    name: str
    description: str
    """What the model is told it does; of our own tools, the text of `prompts/tools/NAME.md`."""
    arguments: type[Arguments]
    """Parses the arguments, and makes the schema the model is shown."""
    run: Callable[[Any, World], Outcome]
    """(parsed arguments, world) to outcome; raises `ToolError` where it cannot do what was asked."""
    effect: Effect
    on_main: bool = False
    """Whether it must run on the main thread (it touches the notebook's namespace or asks the person)."""
    requires: Condition | None = None
    """A condition that comes and goes (§10.4): one of ours by name, a callable that tells whether it is met, or one
    that can be brought about; None: the tool can always be used."""
    unavailable: str = ""
    """What a call is answered while the condition is not met; empty: the text of `loop.json`."""
    only_reads: Callable[[Any], bool] | None = None
    """Tells from the parsed arguments whether a call only reads; None: every call has the tool's effect."""
    sessions: tuple[Kind, ...] = ("agent", "chat")
    """The kinds of session that have it: fixed, so it may leave the tool out (§10.4)."""
    vision: bool = False
    """Whether only a model that sees images has it: fixed likewise."""
    parameters: Mapping[str, Json] | None = None
    """The JSON Schema that the model is shown, where another program gave it; None: the one that `arguments` makes."""

    def effect_of(self, arguments: Arguments) -> Effect:
        """Return what a call with these arguments does."""
        return Effect.READ if self.only_reads is not None and self.only_reads(arguments) else self.effect

    def schema(self) -> dict[str, Json]:
        """Return the JSON Schema of the arguments as the model is shown it: no titles, no defaults, no nulls."""
        if self.parameters is not None:
            return dict(self.parameters)
        made = _plain(self.arguments.model_json_schema())
        assert isinstance(made, dict)  # noqa: S101 - a model's schema is an object
        return made


def _plain(schema: Json, definitions: dict[str, Json] | None = None) -> Json:
    """Return a schema with its references put in place and what only pydantic needs left out."""
    if isinstance(schema, list):
        return [_plain(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = schema.get("$defs", definitions)
    definitions = found if isinstance(found, dict) else {}
    if isinstance(reference := schema.get("$ref"), str):
        return _plain(definitions[reference.rsplit("/", 1)[-1]], definitions)
    options = schema.get("anyOf")
    if isinstance(options, list) and {"type": "null"} in options:
        rest = [option for option in options if option != {"type": "null"}]
        only: dict[str, Json] = {key: value for key, value in schema.items() if key != "anyOf"}
        if len(rest) == 1 and isinstance(rest[0], dict):
            return _plain({**rest[0], **only}, definitions)
    made: dict[str, Json] = {}
    for key, value in schema.items():
        if key in ("$defs", "title", "default"):
            continue
        if key == "properties" and isinstance(value, dict):
            made[key] = {name: _plain(part, definitions) for name, part in value.items()}
        else:
            made[key] = _plain(value, definitions)
    return made
