"""Which MCP servers a session has: what the person named with `--mcp`, and a project's `.mcp.json`."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nbcontext.errors import NbcontextError, UsageError
from nbcontext.plain import visible

_VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<otherwise>[^}]*))?\}")
_MOST_BYTES = 1_000_000
"""Bytes of a project's list: no list that a person wrote has more."""


class VariableMissing(NbcontextError):  # noqa: N818 - it is what keeps a server down, no fault of ours
    """A server's entry names an environment variable that is not set."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerConfig:
    """How one server is reached; `${VARIABLE}` and `${VARIABLE:-otherwise}` stand in its texts as they were written."""

    name: str
    root: str
    """Absolute path of the folder that a command runs in."""
    command: str = ""
    """The program of a stdio server; empty: it is reached by `url`."""
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    """Variables that the program gets beside the person's own, less providers' keys."""
    url: str = ""
    """The endpoint of a streamable HTTP server."""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def key(self) -> str:
        """What identifies the entry: hex SHA-256 of all of it."""
        return sha256(json.dumps(asdict(self), sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def shown(self) -> str:
        """The command or the endpoint as the person is shown it."""
        return shlex.join([self.command, *self.arguments]) if self.command else self.url


class _Stdio(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)
    type: Literal["stdio"] = "stdio"
    command: str = Field(min_length=1)
    args: list[str] = []
    env: dict[str, str] = {}


class _Http(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)
    type: Literal["http", "streamable-http", "streamableHttp"] = "http"
    url: str = Field(pattern=r"^(https?://|\$\{)")
    headers: dict[str, str] = {}


class _Other(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)
    type: Literal["sse", "ws", "sdk"]


_Entry = Annotated[_Stdio | _Http | _Other, Field(union_mode="left_to_right")]


class _File(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)
    mcpServers: dict[str, _Entry] = Field(alias="mcpServers")  # noqa: N815 - the file's own key


def named(given: Sequence[str], root: Path) -> tuple[ServerConfig, ...]:
    """Return the servers that a person named: `NAME=COMMAND`, the command as a shell parts it, or `NAME=URL`.

    Raises:
        UsageError: an entry is not of that form, or a name stands twice.
    """
    found: dict[str, ServerConfig] = {}
    for entry in given:
        name, sign, command = (part.strip() for part in entry.partition("="))
        if not (sign and name and command):
            raise UsageError(f"--mcp takes NAME=COMMAND or NAME=URL; {entry!r} is neither.")
        if name in found:
            raise UsageError(f"--mcp names {name!r} twice: give each server a name of its own.")
        if command.startswith(("http://", "https://")):
            found[name] = ServerConfig(name=name, root=str(root), url=command)
            continue
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"--mcp {name}: the command cannot be read ({error}): close the quote.") from None
        if not words:
            raise UsageError(f"--mcp takes NAME=COMMAND or NAME=URL; {entry!r} is neither.")
        found[name] = ServerConfig(name=name, root=str(root), command=words[0], arguments=tuple(words[1:]))
    return tuple(found.values())


def of_project(file: Path, root: Path) -> tuple[tuple[ServerConfig, ...], tuple[str, ...]]:
    """Return the servers of a project's list, by name, and what the person is to be told of the others.

    The form is the one of Claude Code: `{"mcpServers": {NAME: {"command", "args", "env"} | {"type": "http", "url",
    "headers"}}}`; what else an entry holds is left aside.

    Raises:
        UsageError: the file cannot be read or is not of that form; the place is named.
    """
    try:
        with file.open("rb") as opened:
            data = opened.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise UsageError(f"{file} has more than {_MOST_BYTES:,} bytes, so it is no list of servers: mend it.")
        listed = _File.model_validate(json.loads(data.decode("utf-8-sig")))
    except (FileNotFoundError, NotADirectoryError):
        return (), ()
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({error.strerror}): mend it, or move it away.") from None
    except (UnicodeDecodeError, RecursionError, json.JSONDecodeError) as error:
        raise UsageError(f"{file} is no JSON ({error}): mend it, or move it away.") from None
    except ValidationError as error:
        raise UsageError(f"{file} is no list of MCP servers ({_first(error)}): mend it, or move it away.") from None
    entries = sorted(listed.mcpServers.items())
    others = [(name, entry.type) for name, entry in entries if isinstance(entry, _Other)]
    told = (
        f"The MCP server {visible(name)} of {file} is left out: it is reached by {kind}, not by stdio or http."
        for name, kind in others
    )
    return tuple(_config(name, entry, root) for name, entry in entries if not isinstance(entry, _Other)), tuple(told)


def expanded(text: str, environment: Mapping[str, str]) -> str:
    """Return `text` with `${NAME}` and `${NAME:-otherwise}` replaced, once.

    Raises:
        VariableMissing: a variable is not set and there is nothing to take instead.
    """

    def value(found: re.Match[str]) -> str:
        otherwise = found["otherwise"]
        if found["name"] in environment:
            return environment[found["name"]]
        if otherwise is None:
            raise VariableMissing(f"it needs the environment variable {found['name']}, which is not set")
        return otherwise

    return _VARIABLE.sub(value, text)


def _config(name: str, entry: _Stdio | _Http, root: Path) -> ServerConfig:
    if isinstance(entry, _Http):
        return ServerConfig(name=name, root=str(root), url=entry.url, headers=tuple(sorted(entry.headers.items())))
    return ServerConfig(
        name=name,
        root=str(root),
        command=entry.command,
        arguments=tuple(entry.args),
        environment=tuple(sorted(entry.env.items())),
    )


def _first(error: ValidationError) -> str:
    """Return the first thing that is wrong, with its place."""
    found = error.errors()[0]
    return f"{'.'.join(map(str, found['loc'])) or 'the whole'}: {found['msg']}"
