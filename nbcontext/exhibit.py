"""What a person is shown at a model's wish (`display`), before a front end gives it a form. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownImage:
    """An image."""

    type: str
    """MIME type: PNG, JPEG, GIF or WebP."""
    data: bytes
    name: str
    """Its kind and size, for a front end that shows text alone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownTable:
    """The first rows and columns of a table."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more_rows: int = 0
    """Rows that are left out."""
    more_columns: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownText:
    """The first lines of a text."""

    text: str
    more_lines: int = 0
    """Lines that are left out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Exhibit:
    """Something to show, under its title."""

    title: str
    """The path or the result's id."""
    shown: ShownImage | ShownTable | ShownText
