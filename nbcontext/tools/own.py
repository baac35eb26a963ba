"""A person's own tools: a notebook function, offered to the model by its signature and docstring."""

from __future__ import annotations

import inspect
import json
import re
import typing
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, get_args, overload

from pydantic import Field, create_model

from nbcontext.errors import UsageError
from nbcontext.outcome import Outcome, Text
from nbcontext.tools.tool import Arguments, Condition, Effect, Kind, Named, Tool
from nbcontext.world import World

OWN: dict[str, Tool] = {}
"""The tools registered in this process, by name; a session has those that stood here when its prefix was made."""

KINDS: tuple[Kind, ...] = get_args(Kind)
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

Function = typing.TypeVar("Function", bound=Callable[..., Any])


@overload
def tool(function: Function, /) -> Function: ...
@overload
def tool(
    *,
    name: str | None = None,
    read_only: bool = False,
    requires: Named | Callable[[], bool] | None = None,
    unavailable: str = "",
    sessions: Iterable[Kind] = KINDS,
    vision: bool = False,
) -> Callable[[Function], Function]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    read_only: bool = False,
    requires: Named | Callable[[], bool] | None = None,
    unavailable: str = "",
    sessions: Iterable[Kind] = KINDS,
    vision: bool = False,
) -> Callable[..., Any]:
    """Register a function as a tool of the sessions that start after it; use it plain or with arguments.

    The model is shown the docstring and the parameters with their annotations; it is answered what the function
    returns: text as it is, anything else as `_repr_llm_`, JSON where it is JSON, or `str`. A session that is open keeps
    the tools it has until its next summary or model.

    Args:
        function: the function.
        name: the tool's name; None: the function's.
        read_only: whether it changes nothing, so that it needs no consent in any mode.
        requires: a condition that comes and goes (§10.4): `display`, `page`, `forge`, `plan`, or a function that tells
            whether it is met. The tool is offered all the same, and a call is told so while it is not.
        unavailable: what a call is told then; empty: a text of ours.
        sessions: the kinds of session that have it.
        vision: whether only a model that sees images has it.

    Raises:
        UsageError: the name cannot be a tool's, the docstring is missing, a parameter cannot be passed by name, or the
            condition or kind of session is none that there is.
    """

    def register(wrapped: Callable[..., Any]) -> Callable[..., Any]:
        made = made_from(wrapped, name=name or wrapped.__name__, read_only=read_only)
        OWN[made.name] = replace(
            made,
            requires=_condition(made.name, requires),
            unavailable=unavailable,
            sessions=_kinds(made.name, sessions),
            vision=vision,
        )
        return wrapped

    return register if function is None else register(function)


def made_from(function: Callable[..., Any], *, name: str, read_only: bool) -> Tool:
    """Return the tool that a function makes.

    Raises:
        UsageError: see `tool`.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be a tool's name: it takes letters, digits, `_` and `-`, at most 64.")
    description = inspect.getdoc(function)
    if not description:
        raise UsageError(f"The tool {name} has no docstring: write one, it is what the model is told.")
    hints = typing.get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise UsageError(f"The tool {name} has the parameter {parameter}, which cannot be passed by name.")
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (hints.get(parameter.name, str), Field(default))
    arguments = create_model(f"{name}_arguments", __base__=Arguments, **fields)

    def run(parsed: Arguments, _: World) -> Outcome:
        given = {key: getattr(parsed, key) for key in type(parsed).model_fields}
        return Text(text=shown(function(**given)))

    return Tool(
        name=name,
        description=description,
        arguments=arguments,
        run=run,
        effect=Effect.READ if read_only else Effect.COMMAND,
        on_main=True,
    )


def _condition(name: str, requires: Named | Callable[[], bool] | None) -> Condition | None:
    if requires is None or callable(requires) or requires in get_args(Named):
        return requires
    raise UsageError(
        f"The tool {name} requires {requires!r}, which is no condition; there are {', '.join(get_args(Named))}, "
        f"or a function that tells whether it is met."
    )


def _kinds(name: str, sessions: Iterable[Kind]) -> tuple[Kind, ...]:
    kinds = tuple(sessions)
    if not kinds or set(kinds) - set(KINDS):
        raise UsageError(f"The tool {name} is for sessions of the kinds {kinds!r}; there are {', '.join(KINDS)}.")
    return kinds


def shown(value: object) -> str:
    """Return a value as the model is shown it."""
    if isinstance(value, str):
        return value
    own = getattr(value, "_repr_llm_", None)
    if callable(own):
        return str(own())
    if isinstance(value, dict | list | tuple | int | float | bool) or value is None:
        try:
            return json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError):
            return str(value)
    return str(value)
