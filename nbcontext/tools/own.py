"""A person's own tools: a notebook function, offered to the model by its signature and docstring."""

from __future__ import annotations

import inspect
import json
import re
import typing
from collections.abc import Callable
from typing import Any, overload

from pydantic import Field, create_model

from nbcontext.errors import UsageError
from nbcontext.outcome import Outcome, Text
from nbcontext.tools.tool import Arguments, Effect, Tool
from nbcontext.world import World

OWN: dict[str, Tool] = {}
"""The tools registered in this process, by name; a session has those that stood here when its prefix was made."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

Function = typing.TypeVar("Function", bound=Callable[..., Any])


@overload
def tool(function: Function, /) -> Function: ...
@overload
def tool(*, name: str | None = None, read_only: bool = False) -> Callable[[Function], Function]: ...
def tool(
    function: Callable[..., Any] | None = None, /, *, name: str | None = None, read_only: bool = False
) -> Callable[..., Any]:
    """Register a function as a tool of the sessions that start after it; use it plain or with arguments.

    The model is shown the docstring and the parameters with their annotations; it is answered what the function
    returns: text as it is, anything else as `_repr_llm_`, JSON where it is JSON, or `str`.

    Args:
        function: the function.
        name: the tool's name; None: the function's.
        read_only: whether it changes nothing, so that it needs no consent in any mode.

    Raises:
        UsageError: the name cannot be a tool's, the docstring is missing, or a parameter cannot be passed by name.
    """

    def register(wrapped: Callable[..., Any]) -> Callable[..., Any]:
        made = made_from(wrapped, name=name or wrapped.__name__, read_only=read_only)
        OWN[made.name] = made
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
