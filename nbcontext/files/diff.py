r"""The difference of two texts in git's unified form, hunks only (decision 15). Pure.

The work is xdiff's, git's own, through pygit2. Lines are compared as a read shows them, so a `\r\n` counts as a `\n`: a
line of which only the terminator changed is no changed line. A missing final line feed is one, as in git.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygit2 import Patch

_HEADER = re.compile(rb"^(@@ -[0-9,]+ \+[0-9,]+ @@)[^\n]*", re.MULTILINE)


def hunks(old: str, new: str, context_lines: int = 3) -> str:
    """Return the hunks that turn `old` into `new`, without a final line feed; empty where no line differs.

    What git writes after the second `@@` of a header (a function's name) is left out.
    """
    before, after = _lines(old), _lines(new)
    # Both buffers must outlive the patch, which keeps raw pointers to them; and `.text` would break what is no UTF-8.
    patch = _patch(before, after, context_lines)
    data = patch.data
    start = data.find(b"\n@@ ") + 1
    if not start:
        return ""
    shown = _HEADER.sub(rb"\1", data[start:])
    return shown.removesuffix(b"\n").decode("utf-8", "surrogatepass")


def kept(old: str, new: str) -> list[tuple[int, int, int]]:
    """Return the runs of lines that `new` keeps of `old`: (first line in old, first in new, lines), from 0."""
    before, after = _lines(old), _lines(new)
    patch = _patch(before, after, 0)
    runs, at_old, at_new = [], 0, 0
    for hunk in patch.hunks:
        # A side without lines names the line before it, so its next line is one further.
        start = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
        if start > at_old:
            runs.append((at_old, at_new, start - at_old))
        at_new += start - at_old + hunk.new_lines
        at_old = start + hunk.old_lines
    total = before.count(b"\n") + (0 if before.endswith(b"\n") or not before else 1)
    if total > at_old:
        runs.append((at_old, at_new, total - at_old))
    return runs


def _lines(text: str) -> bytes:
    return text.replace("\r\n", "\n").encode("utf-8", "surrogatepass")


def _patch(before: bytes, after: bytes, context_lines: int) -> Patch:
    from pygit2 import Patch
    from pygit2.enums import DiffOption

    flag = DiffOption.FORCE_TEXT | DiffOption.INDENT_HEURISTIC
    return Patch.create_from(before, after, context_lines=context_lines, flag=flag)
