"""The static form of a view: what stands beside it while it lives, and in its place when it is closed. Pure.

It needs no script, no style sheet and nothing from outside, so it reads right in a saved notebook, trusted or not, in
nbconvert's HTML and in a repository's preview.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from nbcontext.plain import visible

MARK = '<details data-nbcontext="twin"'
"""How the HTML of every twin begins; a folded one has `>` right after it, an open one ` open>`."""


NOTE = '<div data-nbcontext="note"'
"""How the line begins that says where the live view stands."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Twin:
    """A view's static form."""

    summary: str
    """One line with the sums: all that is seen while it is folded."""
    html: str
    """What is below it."""
    text: str
    """The whole for a terminal."""
    short: str = ""
    """The text beside the HTML in a saved notebook; empty: `text`."""

    def folded(self, name: str) -> dict[str, str]:
        """Return the outputs' data while the view called `name` lives below."""
        note = (
            f"The live {name} stands below this as long as its kernel runs. Opened again later it may read "
            "“model not found”: this is its static form, and `%llm freeze` leaves this alone."
        )
        return self._data("", f'{NOTE} style="opacity:0.75">{escape(note)}</div>')

    def opened(self) -> dict[str, str]:
        """Return the output's data where it stands alone."""
        return self._data(" open", "")

    def _data(self, state: str, note: str) -> dict[str, str]:
        style = "margin:0.3em 0;font-size:var(--jp-ui-font-size1,13px)"
        html = (
            f'{MARK}{state} style="{style}"><summary style="cursor:pointer">{escape(visible(self.summary))}</summary>'
            f"{note}{self.html}</details>"
        )
        return {"text/html": html, "text/plain": self.short or self.text}
