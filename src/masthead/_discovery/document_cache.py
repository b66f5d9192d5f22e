"""A cache of discovery documents that revalidates them by ETag. `DiscoveryClient.invalidate` discards its results."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Final

from masthead._discovery.disk_cache import StoredDocument, document_key
from masthead._rest.call import JSON, Call, Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from masthead._discovery.disk_cache import DiskCache
    from masthead._rest.client import RestClient

__all__ = ["DiscoveryDocument", "DocumentCache"]

_NOT_MODIFIED: Final = 304


@dataclasses.dataclass(frozen=True, slots=True)
class DiscoveryDocument:
    """A cached response.

    Attributes:
        body: The response body.
        content_type: Its content type.
        etag: Its ETag; empty if the server sent none.
        version: The version from its URL; empty if the URL has none.
        validated_at: When it was last validated by the server, by the client's clock.
        is_from_disk: Whether it was read from disk without asking the server.
    """

    body: bytes = dataclasses.field(repr=False)
    content_type: str = ""
    etag: str = ""
    version: str = ""
    validated_at: float = 0.0
    is_from_disk: bool = False


class DocumentCache:
    """Fetches documents, each only if it has changed.

    A cached document is revalidated by its ETag. A document whose URL contains a version never changes, and is not
    requested again. The disk is read only if a document is not yet in memory; if a file is invalid, the server is
    asked.
    """

    def __init__(self, rest: RestClient, *, expiry: float, cache: DiskCache | None, now: Callable[[], float]) -> None:
        """Create a cache; files on disk are trusted for `expiry` seconds."""
        self._rest = rest
        self._expiry = expiry
        self._cache = cache
        self._now = now
        self._held: dict[str, DiscoveryDocument] = {}

    async def get(
        self,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        accept: str = JSON,
        version: str = "",
        trust_disk: bool = False,
    ) -> DiscoveryDocument:
        """Return the current document.

        Args:
            path: Its path.
            query: The query parameters.
            accept: The ``Accept`` header.
            version: The version that the URL contains; empty for none.
            trust_disk: Whether a recent file on disk is returned without asking the server.

        Raises:
            MastheadError: As for `RestClient.call`.
        """
        key = document_key(path, accept)
        held = self._held.get(key) or await self._restore(key)
        if held is not None:
            is_young = held.is_from_disk and self._now() - held.validated_at < self._expiry
            # The document at a URL with a version never changes.
            if (trust_disk and is_young) or (version and held.version == version):
                self._held[key] = held
                return held
        found = await self._fetch(path, query, accept, held)
        # Also after a 304: the validation is new though the document is not.
        found = dataclasses.replace(found, version=version, validated_at=self._now(), is_from_disk=False)
        self._held[key] = found
        await self._store(key, found)
        return found

    async def _fetch(
        self, path: str, query: Sequence[tuple[str, str]], accept: str, held: DiscoveryDocument | None
    ) -> DiscoveryDocument:
        # A 304 saves the transfer of a large document.
        known = [("If-None-Match", held.etag)] if held is not None and held.etag else []
        call = Call("GET", path, Subject("get", path), query=query, accept=accept, headers=known)
        response = await self._rest.call(call)
        if response.status == _NOT_MODIFIED and held is not None:
            return held
        return DiscoveryDocument(response.body, response.content_type, response.etag)

    async def _restore(self, key: str) -> DiscoveryDocument | None:
        if self._cache is None:
            return None
        # In a thread, because reading a file would block the event loop.
        found = await asyncio.to_thread(self._cache.read, key)
        if found is None:
            return None
        stored, age = found
        return DiscoveryDocument(
            stored.body,
            stored.content_type,
            stored.etag,
            stored.version,
            validated_at=self._now() - age,
            is_from_disk=True,
        )

    async def _store(self, key: str, found: DiscoveryDocument) -> None:
        if self._cache is None:
            return
        stored = StoredDocument(found.body, found.content_type, found.etag, found.version)
        await asyncio.to_thread(self._cache.write, key, stored)
