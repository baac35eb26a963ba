"""Why a request was not served from the cache as far as it could have been (interface: `cause`). Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbcontext.guard import Break
    from nbcontext.usage import Usage

_IDLE_S = 300
"""Seconds without use after which the providers' usual cache entry is gone (Anthropic: 5 minutes by default)."""
_MINIMUM_TOKENS = 1024
"""Tokens below which most providers do not cache (OpenAI: Prompt caching)."""


def cause(usage: Usage, *, idle_s: float | None, broken: Break | None, compacted: bool = False) -> str:
    """Return the cause, empty where the cache served all it could.

    Args:
        usage: the request's usage as reported.
        idle_s: seconds between the starts of the request before and of this one; None: it is the session's first.
        broken: where it does not go on from the request before; None: it does.
        compacted: whether a compaction came between.
    """
    if idle_s is None:
        return "first request"
    if compacted:
        return "compaction"
    if broken is not None:
        return broken.cause
    if usage.cached_tokens is None or usage.prompt_tokens is None:
        return "not reported"
    if usage.cached_tokens > 0:
        return ""
    if usage.prompt_tokens < _MINIMUM_TOKENS:
        return "below minimum"
    return f"expired after {idle_s:.0f} s" if idle_s > _IDLE_S else "provider"
