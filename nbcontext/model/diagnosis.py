"""Why a request failed, told from the error that litellm, a provider's SDK or the network raised."""

from __future__ import annotations

import email.utils
import os
import re
import time
from collections.abc import Iterator, Mapping
from typing import Final

from nbcontext.errors import ModelError
from nbcontext.loop import Loop
from nbcontext.model.failures import Busy, CutOff, Refused, RequestFailed, TooLong, Unreachable, scrubbed, secrets
from nbcontext.model.reply import Completion
from nbcontext.request import Request

_TOO_LONG: Final = re.compile(
    r"context.{0,20}(window|length|size)|maximum context|prompt is too long|too many (input )?tokens|exceed_context"
    r"|input is too long|tokens? (count )?exceeds|exceeds the (available|maximum)",
    re.IGNORECASE,
)
_NO_MONEY: Final = re.compile(r"insufficient_quota|exceeded your current quota|billing|credit balance", re.IGNORECASE)
_NO_KEY: Final = re.compile(
    r"missing credentials|api_key client option must be set|missing.{0,20}api key", re.IGNORECASE
)
_PREFIX: Final = re.compile(r"^\s*(?:[\w.]*(?:Error|Exception)|\w+Exception)\s*(?::|-)\s*")
_RETRYABLE: Final = frozenset({408, 409, 425, 429})
_KEY_STATUS: Final = frozenset({401, 403})
_NOT_FOUND: Final = 404
_TOO_LARGE: Final = 413
_BUSY: Final = 429
_SERVER_FAULT: Final = 500


def diagnosed(error: BaseException, request: Request, partial: Completion, loop: Loop) -> ModelError:
    """Return `error` as one of ours, safe to show.

    Args:
        error: what was raised.
        request: what was sent.
        partial: what had arrived by then.
        loop: its limits of a message and what stands in a key's place.
    """
    if isinstance(error, ModelError):
        return error
    said = _said(error, loop)
    where = f"{request.model} at {request.api_base}" if request.api_base else request.model
    where = scrubbed(where, secrets(os.environ), loop.context.key)
    status = _status(error)
    arrived = bool(partial.text or partial.calls or partial.reasoning)
    if any(isinstance(cause, UnicodeError) for cause in _chain(error)):
        text = f"The request to {where} holds a character that cannot be sent: {said} Take it out of the message."
        return Refused(text, partial=partial)
    if arrived:
        text = f"The answer of {where} broke off: {said} What arrived is kept; ask again to go on."
        return CutOff(text, retryable=_is_passing(status, said), partial=partial, status=status)
    if status is None or _is_network(error):
        return _unreachable(error, where, said, partial, loop)
    return _by_status(status, where, said, error, partial)


def ended_early(request: Request, partial: Completion, loop: Loop) -> CutOff:
    """Return the failure of a stream that ended without a finish reason."""
    where = scrubbed(request.model, secrets(os.environ), loop.context.key)
    text = f"The answer of {where} ended without a finish reason, so it may be cut. What arrived is kept; ask again."
    return CutOff(text, retryable=not (partial.text or partial.calls or partial.reasoning), partial=partial)


def _by_status(status: int, where: str, said: str, error: BaseException, partial: Completion) -> RequestFailed:
    if status == _TOO_LARGE or (status < _SERVER_FAULT and status != _BUSY and _TOO_LONG.search(said)):
        text = (
            f"The request is too long for {where} (HTTP {status}): {said} Compact the session, or use a larger model."
        )
        return TooLong(text, too_long=True, partial=partial, status=status)
    if status in _KEY_STATUS or _NO_KEY.search(said):
        text = f"{where} does not take the key (HTTP {status}): {said} Set the provider's key variable and try again."
        return Refused(text, partial=partial, status=status)
    if _NO_MONEY.search(said):
        text = f"{where} gives no more answers on this account (HTTP {status}): {said} See the provider's billing page."
        return Refused(text, partial=partial, status=status)
    if _is_passing(status, said):
        text = f"{where} cannot answer now (HTTP {status}): {said} Try again later."
        return Busy(text, retryable=True, partial=partial, status=status, retry_after_s=_retry_after(error))
    if status == _NOT_FOUND:
        text = f"{where} was not found (HTTP 404): {said} Check the model's name and the base URL."
        return Refused(text, partial=partial, status=status)
    text = f"{where} refused the request (HTTP {status}): {said} Check the model's name and the options."
    return Refused(text, partial=partial, status=status)


def _unreachable(error: BaseException, where: str, said: str, partial: Completion, loop: Loop) -> RequestFailed:
    import httpx

    silent = any(isinstance(cause, httpx.ReadTimeout) for cause in _chain(error))
    if silent:
        text = f"{where} was silent for {loop.model.timeout_s:g} s. Try again, or raise `model.timeout_s` of loop.json."
        return Unreachable(text, partial=partial)
    if _is_network(error):
        text = f"{where} cannot be reached: {said} Check that the server runs, the base URL and the network."
        return Unreachable(text, retryable=True, partial=partial)
    kind = type(error).__name__
    text = f"The answer of {where} cannot be read ({kind}): {said} Check the model's name and the base URL."
    return Refused(text, partial=partial)


def _is_network(error: BaseException) -> bool:
    """Return whether the network failed: litellm gives such an error a status of its own making."""
    import httpx

    return any(isinstance(cause, (httpx.TransportError, ConnectionError, TimeoutError)) for cause in _chain(error))


def _is_passing(status: int | None, said: str) -> bool:
    if status is None or _NO_MONEY.search(said):
        return False
    return status in _RETRYABLE or status >= _SERVER_FAULT


def _status(error: BaseException) -> int | None:
    status = getattr(error, "status_code", None)
    return status if type(status) is int else None


def _said(error: BaseException, loop: Loop) -> str:
    """Return the provider's message: without a key, without the names of exceptions before it, on one line, short."""
    text = str(getattr(error, "message", None) or error) or type(error).__name__
    text = scrubbed(text, secrets(os.environ), loop.context.key)
    while shorter := _PREFIX.match(text):
        text = text[shorter.end() :]
    text = " ".join(text.split())
    most = loop.model.message_chars
    text = text if len(text) <= most else text[: most - 1] + "…"
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def _retry_after(error: BaseException) -> float | None:
    """Return the seconds of a `Retry-After` header, which gives seconds or a date (RFC 9110, 10.2.3)."""
    for cause in _chain(error):
        headers = getattr(getattr(cause, "response", None), "headers", None) or getattr(cause, "headers", None)
        if not isinstance(headers, Mapping):
            continue
        value = str(headers.get("retry-after") or headers.get("Retry-After") or "").strip()
        if re.fullmatch(r"\d+(\.\d+)?", value):
            return float(value)
        if value:
            try:
                return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
            except ValueError:
                return None
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        yield found
        found = found.__cause__ or found.__context__
