"""The order of API versions, and the hash of a stored version."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Final

__all__ = ["precedence", "storage_version_hash"]

_VERSION: Final = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")
_STABILITY: Final = {"": 2, "beta": 1, "alpha": 0}


def precedence(version: str) -> tuple[int, int, int]:
    """Return the sort key of a version: stable ones are above beta and alpha, newer ones above older ones."""
    parsed = _VERSION.fullmatch(version)
    if parsed is None:
        return (-1, 0, 0)
    major, stability, minor = parsed.groups(default="")
    return (_STABILITY[stability], int(major), int(minor or 0))


def storage_version_hash(group: str, version: str, kind: str) -> str:
    """Return the hash by which discovery names the kind that objects are stored as."""
    digest = hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode("ascii")
