"""The one tree of errors that nbcontext raises. Each message says what, where, and what to do."""

from __future__ import annotations

from typing import Literal


class NbcontextError(Exception):
    """Root of the tree: catch it to catch everything nbcontext raises on purpose."""

    def _render_traceback_(self) -> list[str]:
        """Give IPython the one readable line that ends the cell (IPython's custom-exception protocol)."""
        from nbcontext.plain import visible  # a provider's words are in some: nothing in them is obeyed

        return [f"{type(self).__name__}: {visible(' '.join(str(self).split(chr(10))))}"]


class AssetError(NbcontextError):
    """`loop.json`, a prompt or a conformance file is missing or broken."""


class UsageError(NbcontextError):
    """A command, option or argument that a person gave is wrong."""


class SessionError(NbcontextError):
    """A session cannot do what was asked of it in the state it is in."""


class StoreError(NbcontextError):
    """The store is damaged, held by somebody else, or was written by a newer version."""


class ModelError(NbcontextError):
    """A request to a model failed; the message is safe to show (no key is ever in it)."""


class PrefixBroken(ModelError):  # noqa: N818 - the field's word for it
    """A request would not go on from the one before it, and the session is strict about that (§10.5)."""


class TurnInterrupted(NbcontextError):  # noqa: N818 - the field's word for it; it is no fault
    """The person stopped a turn; what had arrived is kept."""


class ToolError(NbcontextError):
    """A tool cannot do what the model asked. Caught where tools are run; the text becomes the call's result.

    `kind` is the result's kind: `error`, `refused` where nothing was tried because a rule forbids it, or `unavailable`
    where what the tool needs is not there now.
    """

    def __init__(self, text: str, *, kind: Literal["error", "refused", "unavailable"] = "error") -> None:
        super().__init__(text)
        self.text = text
        self.kind: Literal["error", "refused", "unavailable"] = kind
