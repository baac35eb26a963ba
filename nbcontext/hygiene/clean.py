"""First step: no result holds a NUL, a lone surrogate (decision 5) or a provider's key (decision 28).

It comes before anything is cut, so that no half of a key is ever left standing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from nbcontext.outcome import Changes, Failure, FileRead, ImageRead, NotStored, Planned, Recalled, Text

if TYPE_CHECKING:
    from nbcontext.hygiene.draft import Draft, Surroundings
    from nbcontext.outcome import Outcome

_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_NAMED_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def sendable(text: str) -> str:
    """Return `text` with NUL as U+2400 and lone surrogates as U+FFFD: some servers refuse either for good."""
    if "\0" in text:
        text = text.replace("\0", "␀")
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def without_keys(text: str, secrets: Iterable[str], mark: str) -> str:
    """Return `text` with each of `secrets` replaced by `mark`, longer ones first."""
    for secret in sorted(secrets, key=len, reverse=True):
        if secret in text:
            text = text.replace(secret, mark)
    return text


def shown_path(path: str) -> str:
    r"""Return `path` fit for a bracket: control characters as escapes (`\n`, `\x1b`), lone surrogates as U+FFFD."""
    path = _CONTROL.sub(lambda m: _NAMED_ESCAPES.get(m[0], f"\\x{ord(m[0]):02x}"), path)
    return _SURROGATE.sub("\ufffd", path)


def clean(draft: Draft, around: Surroundings) -> Draft:
    """Return the draft with every text of its outcome fit to be sent."""
    secrets, mark = around.secrets, around.context.key

    def text(value: str) -> str:
        return without_keys(sendable(value), secrets, mark)

    return replace(draft, outcome=_cleaned(draft.outcome, text))


def _cleaned(outcome: Outcome, text: _Clean) -> Outcome:
    match outcome:
        case FileRead() | ImageRead():
            return replace(outcome, path=text(shown_path(outcome.path)), text=text(outcome.text))
        case Recalled():
            return replace(outcome, lines=(text(line) for line in outcome.lines))
        case NotStored():
            return replace(outcome, asked=text(shown_path(outcome.asked)))
        case Text() | Planned():
            return replace(outcome, text=text(outcome.text))
        case Failure():
            return replace(outcome, text=text(outcome.text), partial=text(outcome.partial))
        case Changes():
            return replace(
                outcome,
                note=text(outcome.note),
                files=tuple(
                    replace(
                        change,
                        path=text(shown_path(change.path)),
                        hunks=text(change.hunks),
                        moved_from=None if change.moved_from is None else text(shown_path(change.moved_from)),
                    )
                    for change in outcome.files
                ),
            )


if TYPE_CHECKING:
    from collections.abc import Callable

    _Clean = Callable[[str], str]
