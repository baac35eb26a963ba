"""How a request fails: one readable sentence with what to do, never a key in it, and what had arrived by then."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from nbcontext.errors import ModelError
from nbcontext.model.reply import Completion

_KEY_NAME: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_KEY_MIN_CHARS: Final = 6
_KEY_SHAPE: Final = re.compile(
    r"\b(?:sk|gsk|xai|hf)[-_][\w*.\-]{6,}|\bAIza[\w\-]{10,}|(?<=Bearer )[^\s\"']+|\b(?:AKIA|ASIA)[A-Z0-9]{12,}"
)


class RequestFailed(ModelError):  # noqa: N818 - the field's word for it
    """A request failed for good: no try is left, or another one would not help."""

    def __init__(
        self,
        text: str,
        *,
        retryable: bool = False,
        too_long: bool = False,
        partial: Completion | None = None,
        status: int | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        """Make the error.

        Args:
            text: what happened and what to do, safe to show.
            retryable: whether the same request may succeed later.
            too_long: whether the request does not fit the model's window, so that compaction helps.
            partial: what had arrived; None: nothing.
            status: of the HTTP response; None: there was none.
            retry_after_s: how long the provider asks to wait.
        """
        super().__init__(text)
        self.retryable = retryable
        self.too_long = too_long
        self.partial = partial
        self.status = status
        self.retry_after_s = retry_after_s


class Refused(RequestFailed):
    """The provider does not take the request (a key, a model's name, a parameter)."""


class TooLong(RequestFailed):
    """The request does not fit the model's window."""


class Busy(RequestFailed):
    """The provider has no room now, or failed on its side."""


class Unreachable(RequestFailed):
    """No answer came: no connection, or silence for too long."""


class CutOff(RequestFailed):
    """The answer broke off; `partial` holds what had arrived."""


class Stopped(RequestFailed):
    """The person stopped it; `partial` holds what had arrived."""


def secrets(environment: Mapping[str, str]) -> list[str]:
    """Return the values of the environment's key variables, the longest first."""
    values = {v for k, v in environment.items() if _KEY_NAME.search(k) and len(v) >= _KEY_MIN_CHARS}
    return sorted(values, key=len, reverse=True)


def scrubbed(text: str, values: Iterable[str], stand_in: str) -> str:
    """Return `text` with `stand_in` for every value of `values` and for whatever has the shape of a key."""
    for value in values:
        text = text.replace(value, stand_in)
    return _KEY_SHAPE.sub(stand_in, text)
