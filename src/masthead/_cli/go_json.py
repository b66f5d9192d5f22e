"""JSON as Go writes it, for texts that have to be the same byte for byte: annotations, hashes, files in Secrets."""

from __future__ import annotations

import json
from typing import Final

__all__ = ["encode", "escape"]

_ESCAPES: Final = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def encode(value: object, *, sorts: bool = False) -> str:
    """Return data as JSON without blanks.

    Args:
        value: The data.
        sorts: Whether keys are sorted, as those of Go's maps are.
    """
    return escape(json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=sorts))


def escape(text: str) -> str:
    """Escape the characters of JSON text that Go escapes, so that it may stand in HTML and in JavaScript."""
    return text.translate(_ESCAPES)
