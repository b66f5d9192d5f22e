"""Checksums of objects, to tell which changes of the store matter."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, cast
from zlib import crc32

import msgspec

from masthead.testing._explore.canonical_state import is_builtin

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["checksum_object", "checksum_parts"]

_DATA: Final = frozenset({"secrets", "configmaps"})
_MIN_LENGTH: Final = 8
"""The minimum length of a value that may be random."""
# A write that changes nothing else leaves the content as before.
_VOLATILE: Final = frozenset({"managedFields", "resourceVersion", "generation", "creationTimestamp"})
_TIME: Final = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")


def checksum_parts(resource: str, plain: Mapping[str, Any]) -> dict[str, int]:
    """Return checksums of the texts that an operator may have generated: of data, and of the status of custom kinds."""
    # Built-in controllers rewrite the statuses of built-in kinds all the time.
    name = "data" if resource in _DATA else "status" if "." in resource and not is_builtin(resource) else ""
    section: object = plain.get(name)
    if not isinstance(section, dict):
        return {}
    texts = cast("dict[str, object]", section)
    return {
        f"{name}.{key}": crc32(text.encode())
        for key, text in texts.items()
        # Numbers and times change rightly, and are no generated secrets.
        if isinstance(text, str) and len(text) >= _MIN_LENGTH and not text.isdigit() and not _TIME.search(text.encode())
    }


def checksum_object(plain: Mapping[str, Any]) -> int:
    """Return a checksum of all but times and versions."""
    metadata: Mapping[str, Any] = plain["metadata"]
    kept = {name: value for name, value in metadata.items() if name not in _VOLATILE}
    return _checksum({**plain, "metadata": kept})


def _checksum(content: Mapping[str, Any]) -> int:
    # Sorted, because clients send fields in any order.
    return crc32(_TIME.sub(b"", msgspec.json.encode(content, order="sorted")))
