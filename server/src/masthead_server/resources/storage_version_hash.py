"""The hash of a stored version."""

from __future__ import annotations

import base64
import hashlib

__all__ = ["storage_version_hash"]


def storage_version_hash(group: str, version: str, kind: str) -> str:
    """Return the hash by which discovery names the kind that objects are stored as."""
    digest = hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode("ascii")
