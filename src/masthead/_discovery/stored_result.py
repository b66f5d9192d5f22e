"""The result of an earlier discovery, read from disk without a client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._discovery.aggregated import ACCEPT, is_aggregated, read_aggregated
from masthead._discovery.disk_cache import document_key
from masthead._discovery.model import DiscoveryResult
from masthead.errors import DecodeError

if TYPE_CHECKING:
    from masthead._discovery.disk_cache import DiskCache

__all__ = ["read_stored_result"]

_ROOTS: Final = ("/api", "/apis")


def read_stored_result(cache: DiskCache, expiry: float) -> DiscoveryResult | None:
    """Return the stored result of other processes; None if it is missing, old, or not in the aggregated format.

    Args:
        cache: The documents of the server.
        expiry: The maximum age in seconds.
    """
    found = DiscoveryResult()
    for root in _ROOTS:
        stored = cache.read(document_key(root, ACCEPT))
        if stored is None:
            return None
        document, age = stored
        if age >= expiry or not is_aggregated(document.content_type):
            return None
        try:
            found += read_aggregated(document.body)
        except DecodeError:
            return None
    return found
