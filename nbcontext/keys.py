"""Which environment variables hold a provider's key, which must reach no result, command or error (decision 28)."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAMES = re.compile(
    r"""(?x)
    .*API_KEYS?$ | .*APIKEY$ | .*_API_TOKEN$ | .*_API_SECRET$ | .*_AUTH_TOKEN$ | .*_AI_TOKEN$
    | FRIENDLI_TOKEN | GIGACHAT_CREDENTIALS | GIGACHAT_ACCESS_TOKEN | SCW_SECRET_KEY | DATABRICKS_CLIENT_SECRET
    | AWS_SECRET_ACCESS_KEY | AWS_SESSION_TOKEN | AWS_BEARER_TOKEN_BEDROCK | AZURE_AD_TOKEN | AZURE_CLIENT_SECRET
    | DATABRICKS_TOKEN | HF_TOKEN | HUGGING_FACE_HUB_TOKEN | WATSONX_TOKEN | WATSONX_ZENAPIKEY | SNOWFLAKE_JWT
    """
)
"""The variables that litellm reads a provider's key from (docs.litellm.ai, Providers), by the form of their names."""

_SHORTEST = 7
"""A value with fewer characters is a placeholder, as local servers take (`EMPTY`): masking it would eat words."""


def is_key(name: str) -> bool:
    """Return whether the environment variable `name` holds a provider's key."""
    return _NAMES.fullmatch(name.upper()) is not None


def secrets(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values that no result may hold, longest first."""
    found = {value.strip() for name, value in environment.items() if is_key(name)}
    return tuple(sorted((value for value in found if len(value) >= _SHORTEST), key=len, reverse=True))


def without_keys(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment less every provider's key (decision 27)."""
    return {name: value for name, value in environment.items() if not is_key(name)}
