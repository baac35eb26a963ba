"""The files of a case's workspace, and what is done to them from outside."""

from __future__ import annotations

import base64
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from nbcontext.conformance.expression import Form, Text


def _inside(path: str) -> str:
    """Return a path that stays in the workspace: no case touches what lies beside it."""
    if any(part in ("", ".", "..") for part in path.split("/")):
        raise ValueError("a path is relative to the workspace, without empty parts, . and ..")
    return path


def _base64(text: str) -> str:
    base64.b64decode(text, validate=True)
    return text


_INSIDE = r"^(?!\.{0,2}(/|$))[^/]+(/(?!\.{0,2}(/|$))[^/]+)*$"
"""What `_inside` takes, for the schema."""

Path = Annotated[
    str,
    AfterValidator(_inside),
    Field(description="Relative to the workspace, parts parted by /.", json_schema_extra={"pattern": _INSIDE}),
]
Base64 = Annotated[str, AfterValidator(_base64), Field(json_schema_extra={"contentEncoding": "base64"})]


class TextFile(Form):
    """A file by its text."""

    text: Text
    encoding: Literal["utf-8", "utf-8-bom", "utf-16-le", "utf-16-be", "latin-1"] = "utf-8"
    mode: str | None = Field(default=None, pattern="^[0-7]{3,4}$", description="Permission bits in octal.")


class BytesFile(Form):
    """A file by its bytes."""

    base64: Base64
    mode: str | None = Field(default=None, pattern="^[0-7]{3,4}$")


class Link(Form):
    """A symbolic link."""

    link: Text


class Folder(Form):
    """A folder, empty where no other entry lies in it."""

    folder: Literal[True]


File = Text | TextFile | BytesFile | Link | Folder


class Write(Form):
    """An outside change: a file is written, whatever was there."""

    write: Path
    file: File
    keep_time: bool = Field(default=False, description="Whether the modification time stays what it was.")


class Delete(Form):
    """An outside change: a file, link or folder is removed."""

    delete: Path


class Rename(Form):
    """An outside change: an entry gets another path; what is there is replaced."""

    rename: Path
    to: Path


class Touch(Form):
    """An outside change: a file has another modification time and the same bytes."""

    touch: Path


Change = Write | Delete | Rename | Touch
