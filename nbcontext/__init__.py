"""LLM sessions in a notebook whose tool results stay small and whose prompt cache stays warm.

`%load_ext nbcontext` registers the `%%llm` cell magic and the `%llm` line magic. In Python there are `current`,
`Session` and `tool`. Nothing heavy is imported before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbcontext.opened import current
    from nbcontext.session import Session
    from nbcontext.tools.own import tool

__version__ = "0.1.0"
__all__ = ["Session", "current", "load_ipython_extension", "tool", "unload_ipython_extension"]

_LATE = {"Session": "nbcontext.session", "current": "nbcontext.opened", "tool": "nbcontext.tools.own"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562)."""
    if name in _LATE:
        from importlib import import_module

        return getattr(import_module(_LATE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register the magics: what `%load_ext nbcontext` calls."""
    from nbcontext.notebook.magics import load

    load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Take the magics away again: what `%unload_ext nbcontext` calls."""
    from nbcontext.notebook.magics import unload

    unload(shell)
