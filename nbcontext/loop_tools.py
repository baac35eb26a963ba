"""The groups of `loop.json` for what comes and goes: MCP servers, images, skills, subagents, what a person is shown."""

from __future__ import annotations

from pydantic import Field

from nbcontext.template import Group, text


class Images(Group):
    """An image that is read, or that a server's tool answers with."""

    max_bytes: int = Field(ge=1)
    """Bytes of an image that is sent; base64 makes 4 of 3."""
    max_side: int = Field(ge=1)
    """Pixels of its longer side."""
    most: int = Field(ge=1)
    """Images of one result that are sent."""
    shown: str = text("kind", "width", "height", "size")
    unsized: str = text("kind", "size")
    too_large: str = text("shown", "bytes", "side")


class Mcp(Group):
    """MCP servers: times in seconds, and the form of what their tools answer with beside text."""

    file: str = text()
    """Name of a project's own list of servers, in the root."""
    connect_s: float = Field(gt=0, strict=False)
    """Until a server must have told its tools when a session starts."""
    reconnect_s: float = Field(gt=0, strict=False)
    """The same, when a call finds its server gone."""
    call_s: float = Field(gt=0, strict=False)
    close_s: float = Field(gt=0, strict=False)
    """What a server is given to end; then it is killed."""
    text_chars: int = Field(ge=1)
    """Characters of a description, or of a server's instructions, that the model is told."""
    name_chars: int = Field(ge=24)
    """Characters of a tool's name."""
    none: str = text()
    blob: str = text("type", "size")
    link: str = text("name", "uri")
    resource: str = text("uri", "text")


class Skills(Group):
    """Skills: where they lie under the root, and how they are listed."""

    folders: tuple[str, ...] = Field(strict=False, min_length=1)
    """Looked through in this order; a new skill goes into the first that has any, else into the first."""
    file: str = text()
    line: str = text("name", "path", "description")
    none: str = text()
    undescribed: str = text()
    note: str = text("path")


class Tasks(Group):
    """Subagents."""

    name: str = text("session", "number")
    question: str = text("name", "question")
    """A question to the person that a subagent's call asks."""


class Displays(Group):
    """What a person is shown at once, and what the model is told of it."""

    rows: int = Field(ge=1)
    columns: int = Field(ge=1)
    lines: int = Field(ge=1)
    cell_chars: int = Field(ge=1)
    max_bytes: int = Field(ge=1)
    result: str = text("id")
    file: str = text("path", "what")
    image: str = text("kind")
    table: str = text("rows", "columns")
    text: str = text("lines")


class ServerErrors(Group):
    """A call that a server's tool did not answer."""

    no_answer: str = text("server", "tool", "seconds")
    ended: str = text("server", "tool", "why")
    refused: str = text("server", "tool", "why")


class SkillErrors(Group):
    """`skill_manage`."""

    no_name: str = text("action")
    no_content: str = text("name")
    bad_name: str = text("name")
    unknown: str = text("name", "folder", "names")


class TaskErrors(Group):
    """`task`."""

    empty: str = text()
    unknown_tool: str = text("tool", "tools")
    failed: str = text("name", "error")
    steps: str = text("name", "steps", "text")


class DisplayErrors(Group):
    """`display`."""

    one_of: str = text()
    too_large: str = text("path", "size", "most")


class Model(Group):
    """How requests are sent: tries after the first, seconds between them and of silence, characters of a message."""

    retries: int = Field(ge=0)
    backoff_s: float = Field(ge=0)
    backoff_max_s: float = Field(ge=0)
    timeout_s: float = Field(gt=0)
    connect_timeout_s: float = Field(gt=0)
    message_chars: int = Field(ge=1)
