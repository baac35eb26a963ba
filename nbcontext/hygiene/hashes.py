"""The hash of a text: SHA-256 of its UTF-8 bytes, in hex."""

from __future__ import annotations

from hashlib import sha256


def text_sha256(text: str) -> str:
    """Return the full hex SHA-256 of `text` as UTF-8."""
    return sha256(text.encode()).hexdigest()
