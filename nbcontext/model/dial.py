"""What litellm's tables say about a model: who serves it, what that provider takes, what it costs, what fits it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from nbcontext.model.library import load, prepare
from nbcontext.usage import Usage

REPLAY: Final = "replay"
"""The provider that plays recorded sessions."""

_OWN_HOSTS: Final = ("openai.com", "openai.azure.com")


def provider_of(model: str, api_base: str | None = None) -> str:
    """Return litellm's name of the provider that serves `model`; empty where it knows none."""
    if model.startswith(f"{REPLAY}/"):
        return REPLAY
    litellm = load()
    try:
        prepare(model, api_base)
        return str(litellm.get_llm_provider(model=model, api_base=api_base)[1])
    except litellm.exceptions.BadRequestError:
        return ""


def takes_cache_key(model: str, provider: str, base: str | None) -> bool:
    """Return whether the provider takes `prompt_cache_key`: it says so, and it is no look-alike behind another base."""
    if provider in {"", REPLAY}:
        return False
    if base and provider in {"openai", "azure"} and not (urlsplit(base).hostname or "").endswith(_OWN_HOSTS):
        return False
    name = model.removeprefix(f"{provider}/")
    taken = load().get_supported_openai_params(model=name, custom_llm_provider=provider)
    return "prompt_cache_key" in (taken or ())


def window(model: str, api_base: str | None = None) -> int | None:
    """Return how many input tokens `model` takes; None: unknown (behind a base of one's own a name says nothing)."""
    info = _info(model) if api_base is None else None
    found = info.get("max_input_tokens") if info else None
    return found if isinstance(found, int) and found > 0 else None


def has_vision(model: str, api_base: str | None = None) -> bool:
    """Return whether `model` sees images, by litellm's map; False: it does not, or it is not known there.

    Behind a base of one's own a provider's own protocol tells what serves the model, an OpenAI-compatible one does not.
    """
    if api_base is not None and provider_of(model, api_base) == "openai":
        return False
    info = _info(model)
    return bool(info and info.get("supports_vision"))


def cost(model: str, usage: Usage) -> float | None:
    """Return what a request cost in US dollars by litellm's price list; None: a price or a count is not known.

    A count of cached tokens that was not reported costs as if there were none: the most it can have been.
    """
    info = _info(model)
    if info is None or usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    if not (info.get("input_cost_per_token") or info.get("output_cost_per_token")):
        return None
    litellm = load()
    counted = litellm.Usage(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        total_tokens=usage.prompt_tokens + usage.completion_tokens,
        prompt_tokens_details={
            "cached_tokens": usage.cached_tokens or 0,
            "cache_creation_tokens": usage.cache_write_tokens or 0,
        },
        cache_read_input_tokens=usage.cached_tokens or 0,
        cache_creation_input_tokens=usage.cache_write_tokens or 0,
    )
    prompt, completion = litellm.cost_per_token(model=model, usage_object=counted)
    return float(prompt) + float(completion)


def _info(model: str) -> Mapping[str, object] | None:
    """Return the model's entry in litellm's map; None where it has none."""
    if model.startswith(f"{REPLAY}/"):
        return None
    litellm = load()
    known = model in litellm.model_cost or model.split("/", 1)[-1] in litellm.model_cost
    if not known or not provider_of(model):
        return None
    info: Mapping[str, object] = litellm.get_model_info(model)
    return info
