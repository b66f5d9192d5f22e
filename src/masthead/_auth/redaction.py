"""Secrets on their way in, and what others said on its way into an error message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._errors.base import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["redact", "secret_dec_hook"]

_TELLING: Final = 6
"""Shorter values, such as "true" or "1", hide nothing, and would tear holes into every sentence."""


def redact(text: str, secrets: Iterable[str], *, limit: int) -> str:
    """The end of a text on one line, without colours, control characters and the given secrets.

    Args:
        text: What was said.
        secrets: What must not be in it; the empty and the very short are left alone.
        limit: How many characters to keep.
    """
    # The longest first: one may begin with another.
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _TELLING:
            text = text.replace(secret, "***")
    shown = " | ".join(line.strip() for line in printable(text).split("\n") if line.strip())
    return shown if len(shown) <= limit else f"…{shown[-limit:]}"


def secret_dec_hook(kind: type, value: object) -> object:
    """Make a Secret of a text as msgspec decodes it, so that no repr of what was decoded shows it.

    Raises:
        TypeError: If it is no text.
    """
    if not isinstance(value, str):
        raise TypeError("text was expected")
    return kind(value)
