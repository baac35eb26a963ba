"""`%%llm` cells and `%llm` lines taken before IPython's own clean-up, so that the body stays as it was written.

IPython strips `>>> ` and `In [1]: ` from a body, dedents it, never hands an empty one to the magic, and takes
`%llm note what now?` for a help look-up. The transformer here comes first and turns both into plain calls.
"""

from __future__ import annotations

import io
import re
import tokenize

_CELL = re.compile(r"%%llm(?!\S)[ \t]*(?P<line>[^\n]*)\n?")
_LINE = re.compile(r"(?P<indent>[ \t]*)%llm(?!\S)[ \t]*(?P<line>[^\n]*)")


def take_llm(lines: list[str]) -> list[str]:
    """Return a cell's lines with `%%llm` and `%llm` made calls (an IPython input transformer)."""
    cell = "".join(lines)
    start = _first_code(cell)
    if found := _CELL.match(cell, start):
        body = cell[found.end() :] or "\n"
        return [f"get_ipython().run_cell_magic('llm', {found['line'].rstrip()!r}, {body!r})\n"]
    if "%llm" not in cell or cell.startswith("%%", start):
        return lines
    return _line_magics(cell).splitlines(keepends=True)


# A terminal asks its transformers whether a cell is complete, but not those with side effects: so it still waits for
# the blank line that ends a cell.
take_llm.has_side_effects = True  # type: ignore[attr-defined]


def _first_code(cell: str) -> int:
    """Return where the first line begins that is neither blank nor a comment."""
    start = 0
    while start < len(cell):
        end = cell.find("\n", start)
        end = len(cell) if end < 0 else end + 1
        line = cell[start:end].strip()
        if line and not line.startswith("#"):
            return start
        start = end
    return start


def _line_magics(cell: str) -> str:
    made: list[str] = []
    for line in re.split(r"(?<=\n)", cell):
        found = _LINE.match(line)
        if found is None or _is_inside(made):
            made.append(line)
            continue
        call = f"{found['indent']}get_ipython().run_line_magic('llm', {found['line'].strip()!r})"
        made.append(call + line[found.end() :])
    return "".join(made)


def _is_inside(lines: list[str]) -> bool:
    """Return whether what follows `lines` stands inside a string or brackets."""
    text = "".join(lines)
    if text.rstrip(" \t\n").endswith("\\"):
        return True
    if not ({'"""', "'''"} & {text[i : i + 3] for i in range(len(text))}) and not set("([{") & set(text):
        return False
    try:
        for _ in tokenize.generate_tokens(io.StringIO(text).readline):
            pass
    except tokenize.TokenError:
        return True
    except (SyntaxError, IndentationError):
        return False
    return False
