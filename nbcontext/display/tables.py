"""Static tables: rows in, HTML or text out. No script, no style sheet, nothing fetched; escaped cell by cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from nbcontext.plain import clipped, visible

_CELL_CHARS = 80
_PADDING = "padding:2px 10px 2px 0;"

Cell = str | int | float | None


def html_table(heads: Sequence[str], rows: Iterable[Sequence[Cell]], *, caption: str = "") -> str:
    """Return an HTML table; numbers stand to the right, None is `?`."""
    head = "".join(f'<th scope="col" style="{_PADDING}text-align:left">{escape(name)}</th>' for name in heads)
    body = "".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in rows)
    title = f'<caption style="caption-side:top;text-align:left">{escape(visible(caption))}</caption>' if caption else ""
    return (
        f'<table style="border-collapse:collapse;font-variant-numeric:tabular-nums">{title}'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def text_table(heads: Sequence[str], rows: Iterable[Sequence[Cell]], *, caption: str = "") -> str:
    """Return a table as text, columns parted by two spaces."""
    cells = [list(heads), *([_shown(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join(filter(None, (visible(caption), *lines)))


def _html_cell(cell: Cell) -> str:
    side = "right" if isinstance(cell, int | float) else "left"
    return f'<td style="{_PADDING}text-align:{side}">{escape(_shown(cell))}</td>'


def _shown(cell: Cell) -> str:
    if cell is None:
        return "?"
    if isinstance(cell, float):
        return f"{cell:,.4g}"
    return f"{cell:,}" if isinstance(cell, int) else clipped(cell, _CELL_CHARS)


def html_lines(text: str, *, numbers_from: int | None = None) -> str:
    """Return text as preformatted HTML, its lines numbered where asked."""
    lines = visible(text).split("\n")
    if numbers_from is None:
        shown = "\n".join(lines)
    else:
        width = len(str(numbers_from + len(lines)))
        shown = "\n".join(f"{number:>{width}}  {line}" for number, line in enumerate(lines, numbers_from))
    return f'<pre style="white-space:pre;overflow-x:auto;max-height:40em">{escape(shown)}</pre>'
