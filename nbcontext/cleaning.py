"""`nbcontext clean FILE`: takes dead widget outputs and their saved state out of a notebook file.

A live view is of no use once its kernel is gone: JupyterLab shows "model not found" for it, nbconvert an empty box, and
a repository's preview may refuse the whole file. What else an output shows stays, and so does all else in the file.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbcontext.display.twin import MARK, NOTE
from nbcontext.errors import UsageError

VIEW = "application/vnd.jupyter.widget-view+json"
"""The MIME type of a widget."""
_NOTE = re.compile(rf"{re.escape(NOTE)}[^<]*</div>")
_FORM = 4
"""The notebook format's major version."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cleaned:
    """What was taken out."""

    outputs: int = 0
    """Outputs that showed nothing but a widget."""
    fallbacks: int = 0
    """Outputs that keep what they show beside the widget."""
    opened: int = 0
    """Static forms that stood folded above a live view and are unfolded now."""
    states: int = 0
    """Widget models in the notebook's metadata."""

    @property
    def summary(self) -> str:
        """One line that says it."""
        if self == Cleaned():
            return "Nothing to clean."
        return (
            f"{self.outputs} widget outputs taken out, {self.fallbacks} keep what else they show, "
            f"{self.opened} static forms unfolded, {self.states} saved widget models taken out."
        )


def clean(file: Path) -> Cleaned:
    """Clean a notebook file in place; one with nothing to clean is not touched.

    Raises:
        UsageError: it cannot be read or written, or is no notebook of format 4.
    """
    try:
        source = file.read_text(encoding="utf-8")
        notebook = json.loads(source)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read ({error}): name a notebook file.") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} is no notebook: it is no JSON ({error}).") from None
    if (
        not isinstance(notebook, dict)
        or not isinstance(notebook.get("cells"), list)
        or notebook.get("nbformat") != _FORM
    ):
        raise UsageError(f"{file} is no notebook of format {_FORM}: open it in JupyterLab and save it again.")
    made, cleaned = cleaned_notebook(notebook)
    if cleaned != Cleaned():
        # The form in which Jupyter itself writes notebooks, so that a comparison shows only what was taken out.
        text = json.dumps(made, ensure_ascii=False, indent=1, sort_keys=_is_sorted(notebook)) + "\n"
        _replace(file, text if source.endswith("\n") else text[:-1])
    return cleaned


def cleaned_notebook(notebook: dict[str, Any]) -> tuple[dict[str, Any], Cleaned]:
    """Return a notebook without widget outputs and their state, and what was taken out. Pure."""
    counts = {"outputs": 0, "fallbacks": 0, "opened": 0}
    cells = []
    for cell in notebook["cells"]:
        outputs = cell.get("outputs") if isinstance(cell, dict) else None
        cells.append({**cell, "outputs": list(_kept(outputs, counts))} if isinstance(outputs, list) else cell)
    metadata = dict(notebook.get("metadata") or {})
    saved = metadata.pop("widgets", None)
    states = sum(len(part.get("state") or ()) for part in saved.values()) if isinstance(saved, dict) else 0
    cleaned = Cleaned(**counts, states=states or (0 if saved is None else 1))
    return {**notebook, "cells": cells, "metadata": metadata}, cleaned


def _kept(outputs: list[Any], counts: dict[str, int]) -> Iterator[Any]:
    for output in outputs:
        data = output.get("data") if isinstance(output, dict) else None
        if not isinstance(data, dict):
            yield output
            continue
        rest = {kind: value for kind, value in data.items() if kind != VIEW}
        if len(rest) < len(data) and not rest.keys() - {"text/plain"}:
            counts["outputs"] += 1
            continue
        counts["fallbacks"] += len(rest) < len(data)
        html = rest.get("text/html")
        whole = "".join(html) if isinstance(html, list) else html
        if isinstance(whole, str) and whole.startswith(MARK) and not whole.startswith(f"{MARK} open"):
            counts["opened"] += 1
            rest["text/html"] = f"{MARK} open{_NOTE.sub('', whole.removeprefix(MARK), count=1)}"
        yield {**output, "data": rest}


def _is_sorted(value: dict[str, Any]) -> bool:
    """Return whether the file has its keys sorted, as Jupyter writes them."""
    return list(value) == sorted(value)


def _replace(file: Path, text: str) -> None:
    """Write beside the file and rename, so that it is whole at every moment; a link stays a link."""
    target = file.resolve()
    try:
        handle, beside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as out:
                out.write(text)
            Path(beside).chmod(target.stat().st_mode & 0o7777)
            Path(beside).replace(target)
        except BaseException:
            Path(beside).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(f"{file} cannot be written ({error.strerror}); it is as it was.") from None
