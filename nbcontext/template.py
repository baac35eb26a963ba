"""What the records of `loop.json` are made of: groups of keys, and texts that are `str.format` templates."""

from __future__ import annotations

import string
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


def text(*placeholders: str) -> Any:
    """Declare a template whose placeholders are exactly `placeholders`."""
    return Field(json_schema_extra={"placeholders": list(placeholders)})


class Group(BaseModel):
    """A group of keys: no other key is taken, none may be missing, none can be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="after")
    def _check_placeholders(self) -> Self:
        for name, field in type(self).model_fields.items():
            extra = field.json_schema_extra
            if not isinstance(extra, dict):
                continue
            try:
                found = {part for _, part, _, _ in string.Formatter().parse(getattr(self, name)) if part is not None}
            except ValueError as error:
                raise ValueError(f"{name} is no template: {error}") from None
            wanted = set(map(str, extra["placeholders"]))  # type: ignore[arg-type]
            if found != wanted:
                raise ValueError(f"{name} must have the placeholders {sorted(wanted)}, it has {sorted(found)}")
        return self
