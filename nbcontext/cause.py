"""Why a request was not served from the cache as far as it could have been (interface: `cause`). Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbcontext.request import Request
    from nbcontext.usage import Usage

_IDLE_S = 300
"""Seconds without use after which the providers' usual cache entry is gone (Anthropic: 5 minutes by default)."""
_MINIMUM_TOKENS = 1024
"""Tokens below which most providers do not cache (OpenAI: Prompt caching)."""


def broken_at(previous: Request, request: Request) -> str:
    """Return where `request` does not go on from `previous`; empty where it extends it."""
    if request.model != previous.model:
        return "model changed"
    if request.messages[0] != previous.messages[0]:
        return "system changed"
    if request.tools != previous.tools:
        return "tools changed"
    for number, (before, now) in enumerate(zip(previous.messages, request.messages, strict=False)):
        if before != now:
            return f"history changed at message {number}"
    if len(request.messages) < len(previous.messages):
        return f"history changed at message {len(request.messages)}"
    return ""


def cause(previous: Request | None, request: Request, usage: Usage, *, idle_s: float, compacted: bool = False) -> str:
    """Return the cause, empty where the cache served all it could.

    Args:
        previous: the session's request before; None: this is its first.
        request: the request.
        usage: its usage as reported.
        idle_s: seconds between the starts of the two.
        compacted: whether a compaction came between.
    """
    if previous is None:
        return "first request"
    if compacted:
        return "compaction"
    if broken := broken_at(previous, request):
        return broken
    if usage.cached_tokens is None or usage.prompt_tokens is None:
        return "not reported"
    if usage.cached_tokens > 0:
        return ""
    if usage.prompt_tokens < _MINIMUM_TOKENS:
        return "below minimum"
    return f"expired after {idle_s:.0f} s" if idle_s > _IDLE_S else "provider"
