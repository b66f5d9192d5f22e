"""What was fetched for discovery, and kept so that it need not be sent again."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Final

from masthead._discovery.disk_cache import StoredDocument
from masthead._rest.call import JSON, Call, Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from masthead._discovery.disk_cache import DiskCache
    from masthead._rest.client import RestClient

__all__ = ["DiscoveryDocument", "DocumentCache"]

_NOT_MODIFIED: Final = 304


@dataclasses.dataclass(frozen=True, slots=True)
class DiscoveryDocument:
    """An answer that is kept.

    Attributes:
        body: The bytes.
        content_type: What they are.
        etag: The server's name for this state of the document; empty if it gave none.
        version: Our name for it, where its address has one; empty otherwise.
        asked_at: When the server was last asked for it, by our clock.
        is_from_disk: Whether it was read from a file, and the server was not asked.
    """

    body: bytes = dataclasses.field(repr=False)
    content_type: str = ""
    etag: str = ""
    version: str = ""
    asked_at: float = 0.0
    is_from_disk: bool = False


class DocumentCache:
    """Fetches documents, each only if it has changed.

    A document that is held is offered to the server by its ETag; one that comes with a version in its address never
    changes, and is not asked for again. Files are a shared memory of several processes: they are read when nothing is
    held yet, and whatever is wrong with them, the server is asked instead.
    """

    def __init__(
        self, rest: RestClient, *, expiry: float, cache: DiskCache | None, now: Callable[[], float]
    ) -> None:
        """Fetch with a client; believe files that are younger than `expiry` seconds."""
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
        """A document as it is now.

        Args:
            path: Where it is.
            query: What goes behind the question mark.
            accept: What it may be.
            version: What tells this state of it from others, if its address does.
            trust_disk: Take a file that is young enough without asking the server.

        Raises:
            MastheadError: as `RestClient.call` does.
        """
        key = f"{path} {accept}"
        held = self._held.get(key) or await self._restored(key)
        if held is not None:
            is_young = held.is_from_disk and self._now() - held.asked_at < self._expiry
            if (trust_disk and is_young) or (version and held.version == version):
                self._held[key] = held
                return held
        found = await self._ask(path, query, accept, held)
        found = dataclasses.replace(found, version=version, asked_at=self._now(), is_from_disk=False)
        self._held[key] = found
        await self._store(key, found)
        return found

    async def _ask(
        self, path: str, query: Sequence[tuple[str, str]], accept: str, held: DiscoveryDocument | None
    ) -> DiscoveryDocument:
        known = [("If-None-Match", held.etag)] if held is not None and held.etag else []
        call = Call("GET", path, Subject("get", path), query=query, accept=accept, headers=known)
        answer = await self._rest.call(call)
        if answer.status == _NOT_MODIFIED and held is not None:
            return held
        return DiscoveryDocument(answer.body, answer.content_type, answer.etag)

    async def _restored(self, key: str) -> DiscoveryDocument | None:
        if self._cache is None:
            return None
        found = await asyncio.to_thread(self._cache.read, key)
        if found is None:
            return None
        stored, age = found
        return DiscoveryDocument(
            stored.body,
            stored.content_type,
            stored.etag,
            stored.version,
            asked_at=self._now() - age,
            is_from_disk=True,
        )

    async def _store(self, key: str, found: DiscoveryDocument) -> None:
        if self._cache is None:
            return
        stored = StoredDocument(found.body, found.content_type, found.etag, found.version)
        await asyncio.to_thread(self._cache.write, key, stored)
