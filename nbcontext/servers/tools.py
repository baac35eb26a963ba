"""The tools of MCP servers as tools of a session: `mcp__<server>__<tool>`, in the order of their names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict

from nbcontext.errors import ToolError
from nbcontext.outcome import Failure, Outcome
from nbcontext.servers.answer import outcome
from nbcontext.servers.connection import CallFailed, Connection
from nbcontext.tools.tool import Arguments, Effect, Requirement, Tool

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from nbcontext.call import Json
    from nbcontext.loop import Context
    from nbcontext.servers.listing import ListedTool
    from nbcontext.world import World

PREFIX = "mcp__"
_OTHER = re.compile(r"[^A-Za-z0-9_-]")
_HASH_DIGITS = 8
_COMPOSED = ("$ref", "patternProperties", "additionalProperties", "if", "dependentSchemas")
"""Keys of a schema that may allow arguments which `properties` does not name."""


class ServerArguments(Arguments):
    """Arguments of a server's tool: the server checks them."""

    model_config = ConfigDict(extra="allow", frozen=True)


def tools(connections: Iterable[Connection], context: Context) -> tuple[Tool, ...]:
    """Return the tools of all servers, by name; of one that is down, those that it last told."""
    listed = [(connection, tool) for connection in connections for tool in _listed(connection)]
    called = names([(connection.name, tool.name) for connection, tool in listed], context.mcp.name_chars)
    made = [_tool(connection, tool, name, context) for (connection, tool), name in zip(listed, called, strict=True)]
    return tuple(sorted(made, key=lambda tool: tool.name))


def names(of: list[tuple[str, str]], most: int) -> list[str]:
    """Return the name that each (server, tool) has as ours: at most `most` of the characters that providers take.

    Names that fall together, or are too long, get a hash of what they stand for: it depends on nothing else.
    """
    plain = [f"{PREFIX}{_OTHER.sub('_', server)}__{_OTHER.sub('_', tool)}" for server, tool in of]
    count = Counter(plain)
    return [
        name if len(name) <= most and count[name] == 1 else f"{name[: most - _HASH_DIGITS - 1]}_{_hash(*pair)}"
        for name, pair in zip(plain, of, strict=True)
    ]


def _listed(connection: Connection) -> tuple[ListedTool, ...]:
    return connection.listing.tools if connection.listing else ()


def _hash(server: str, tool: str) -> str:
    return sha256(f"{server}\0{tool}".encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]


def _tool(connection: Connection, listed: ListedTool, name: str, context: Context) -> Tool:
    return Tool(
        name=name,
        description=listed.description,
        arguments=ServerArguments,
        run=_run(connection, listed, name),
        effect=Effect.READ if listed.only_reads else Effect.COMMAND,
        requires=Requirement(is_met=lambda: connection.is_up, meet=_meet(connection, context)),
        unavailable=context.unavailable.server.format(server=connection.name),
        parameters=listed.schema,
    )


def _meet(connection: Connection, context: Context) -> Callable[[threading.Event], bool]:
    def meet(stop: threading.Event) -> bool:
        connection.connect(context.mcp.reconnect_s)
        return connection.wait(stop)

    return meet


def _run(connection: Connection, listed: ListedTool, name: str) -> Callable[[ServerArguments, World], Outcome]:
    def run(arguments: ServerArguments, world: World) -> Outcome:
        given = checked(arguments.model_extra or {}, listed.schema, name, world)
        answer = connection.call(listed.name, given, world.stop)
        return _failure(answer, connection, name, world) if isinstance(answer, CallFailed) else outcome(answer, world)

    return run


def checked(given: Mapping[str, Any], schema: Mapping[str, Json], name: str, world: World) -> dict[str, Any]:
    """Return the arguments to send: whole numbers and booleans sent as strings are taken (decision 2).

    Raises:
        ToolError: an argument is unknown, where the schema names them all.
    """
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    unknown = [key for key in given if key not in known]
    if unknown and (known or schema.get("additionalProperties") is False) and not _is_open(schema):
        problems = "; ".join(f"{key}: unknown argument" for key in unknown)
        said = world.context.errors.calls.wrong_arguments
        raise ToolError(said.format(tool=name, problems=problems, known=", ".join(known) or "none"))
    return {key: _taken(value, known.get(key)) for key, value in given.items()}


def _is_open(schema: Mapping[str, Json]) -> bool:
    return any(schema.get(key) not in (None, False) for key in _COMPOSED)


def _taken(value: Any, schema: Json) -> Any:
    kind = schema.get("type") if isinstance(schema, dict) else None
    if isinstance(value, str):
        if kind == "integer" and re.fullmatch(r"[+-]?\d{1,300}", value.strip(), re.ASCII):
            return int(value)
        if kind == "boolean" and value.strip().lower() in ("true", "false"):
            return value.strip().lower() == "true"
    return value


def _failure(failed: CallFailed, connection: Connection, name: str, world: World) -> Failure:
    errors, server = world.context.errors.servers, connection.name
    match failed.kind:
        case "down":
            return Failure(text=world.context.unavailable.server.format(server=server), kind="unavailable")
        case "ended":
            return Failure(text=errors.ended.format(server=server, tool=name, why=failed.why), kind="unavailable")
        case "no_answer":
            seconds = f"{world.context.mcp.call_s:g}"
            return Failure(text=errors.no_answer.format(server=server, tool=name, seconds=seconds))
        case "refused":
            return Failure(text=errors.refused.format(server=server, tool=name, why=failed.why))
        case "stopped":
            return Failure(text=world.context.errors.calls.interrupted, kind="interrupted")
