"""Text expressions: how a case writes a text, short where the text is long."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Form(BaseModel):
    """An object of the file: no other key is taken."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Repeat(Form):
    """A text some times over."""

    repeat: Text
    times: int = Field(ge=0)


class Lines(Form):
    """Numbered lines, the first and the last number given."""

    lines: tuple[int, int]
    form: str = Field(description="One line; {n} stands for its number.")
    between: str = Field(default="\n", description="What stands between two lines.")


class Join(Form):
    """Texts one after the other."""

    join: tuple[Text, ...]


class Codes(Form):
    """Characters by their code points: what a JSON text cannot hold safely."""

    codes: tuple[Annotated[int, Field(ge=0, le=0x10FFFF)], ...]


class Literally(Form):
    """A text in which {root} stands for nothing."""

    literal: str


Text = str | Repeat | Lines | Join | Codes | Literally
"""A text expression; in a plain string {root} is the workspace's absolute path."""


for _model in (Repeat, Join):
    _model.model_rebuild()
