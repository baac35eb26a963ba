"""The one sigil of a cell's body: ``$`expression` `` is replaced, once, by the expression's value (interface)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from nbcontext.errors import TurnInterrupted, UsageError

if TYPE_CHECKING:
    import pandas as pd

ROWS = 60
COLUMNS = 20

_SIGIL = re.compile(r"(\$\$?)`([^`\n]+)`")
_FENCE = re.compile(r"(?:[ \t>]|[-*+] |\d{1,9}[.)] )*(`{3,}(?=[^`]*$)|~{3,})")
"""A fence's line, in a quote or a list item too."""


def expanded(body: str, evaluate: Callable[[str], object]) -> str:
    """Return a cell's body with its expressions replaced, outside fenced blocks; ``$$`x` `` becomes ``$`x` ``.

    Args:
        body: the cell's body.
        evaluate: gives an expression's value.

    Raises:
        UsageError: an expression fails; it is named, and nothing is to be sent.
    """

    def replacement(found: re.Match[str]) -> str:
        sigil, expression = found.groups()
        if sigil == "$$":
            return f"$`{expression}`"
        try:
            return shown(evaluate(expression))
        except KeyboardInterrupt:
            raise TurnInterrupted(f"Stopped in $`{expression}`. Nothing was sent.") from None
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the person's own code: what it raises is theirs to read
            raise UsageError(
                f"$`{expression}` failed with {type(error).__name__}: {error}. Nothing was sent; mend it and run again."
            ) from None

    parts = []
    fence = ""
    for line in re.split(r"(?<=\n)", body):
        mark = _FENCE.match(line)
        if fence:
            closes = mark is not None and mark[1][0] == fence[0] and len(mark[1]) >= len(fence)
            fence = "" if closes and mark is not None and not line[mark.end() :].strip() else fence
            parts.append(line)
        elif mark is not None:
            fence = mark[1]
            parts.append(line)
        else:
            parts.append(_SIGIL.sub(replacement, line))
    return "".join(parts)


def shown(value: object) -> str:
    """Return a value as the model is shown it: a data frame as a Markdown table, else its own text, else `str`."""
    if _is_frame(value):
        return frame_table(value)  # type: ignore[arg-type]
    for name in ("_repr_llm_", "_repr_markdown_"):
        own = getattr(value, name, None)
        if callable(own) and not isinstance(value, type):
            made = own()
            if isinstance(made, str):
                return made
    return str(value)


def frame_table(frame: pd.DataFrame) -> str:
    """Return a data frame as a Markdown table of at most `ROWS` rows and `COLUMNS` columns, the rest counted."""
    rows, columns = frame.shape
    part = frame.iloc[:ROWS, :COLUMNS]
    heads = ["", *map(str, part.columns)]
    lines = [_row(heads), _row(["---"] * len(heads))]
    for index, values in zip(part.index, part.itertuples(index=False, name=None), strict=True):
        lines.append(_row([str(index), *map(str, values)]))
    left_out = []
    if rows > ROWS:
        left_out.append(f"{rows - ROWS} more rows")
    if columns > COLUMNS:
        left_out.append(f"{columns - COLUMNS} more columns")
    if left_out:
        lines += ["", f"({', '.join(left_out)})"]
    return "\n".join(lines)


def _row(cells: list[str]) -> str:
    clean = (cell.replace("\\", "\\\\").replace("|", r"\|").replace("\r", " ").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(clean)} |"


def _is_frame(value: object) -> bool:
    kind = type(value)
    return kind.__name__ == "DataFrame" and kind.__module__.split(".", 1)[0] == "pandas"
