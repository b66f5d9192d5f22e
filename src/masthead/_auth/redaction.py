"""Secrets in decoded JSON, and their removal from error messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._errors.base import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["redact", "secret_dec_hook"]

_TELLING: Final = 6
"""Shorter values, such as "true" or "1", are not redacted: they are no secrets, and occur in any text."""


def redact(text: str, secrets: Iterable[str], *, limit: int) -> str:
    """Return the end of a text on one line, without escapes, control characters and the given secrets.

    Args:
        text: The text.
        secrets: The values to remove; empty and very short ones stay.
        limit: The maximum number of characters.
    """
    # The longest first: one secret may be a prefix of another.
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _TELLING:
            text = text.replace(secret, "***")
    shown = " | ".join(line.strip() for line in printable(text).split("\n") if line.strip())
    return shown if len(shown) <= limit else f"…{shown[-limit:]}"


def secret_dec_hook(kind: type, value: object) -> object:
    """Convert a string to a Secret while msgspec decodes it.

    Raises:
        TypeError: If the value is not a string.
    """
    if not isinstance(value, str):
        raise TypeError("text was expected")
    return kind(value)
