"""The discovery client and its cache."""

from __future__ import annotations

import asyncio
import copy
import time
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._discovery.disk_cache import EXPIRY
from masthead._discovery.document_cache import DocumentCache
from masthead._discovery.fetcher import DiscoveryFetcher
from masthead._discovery.model import ServerVersion
from masthead._discovery.openapi import OpenApi
from masthead._discovery.single_flight import SingleFlight
from masthead._meta import typeinfo
from masthead._meta.gvk import GroupVersion
from masthead._module import set_module
from masthead._sansio.token_bucket import TokenBucket
from masthead._value import Value
from masthead.errors import DecodeError, UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead._discovery.disk_cache import DiskCache
    from masthead._discovery.model import DiscoveryResult, ServedGroup
    from masthead._meta.gvk import GroupVersionResource
    from masthead._meta.shape import JSON
    from masthead._rest.client import RestClient
    from masthead._schema.documents import DocumentDefinitions

__all__ = ["DiscoveryClient"]

_EXPIRY_OF_FAILURES: Final = 30.0
"""Shorter, because the backend of an aggregated API usually recovers within seconds."""
_IDLE_LOOKS: Final = 5
_IDLE_RATE: Final = 1.0
"""Burst and rate of refreshes without a change. An unchanged response is cheap for the server, but a loop that looks
for a missing resource must not keep it busy."""


class _VersionInfo(msgspec.Struct, rename="camel"):
    major: str = ""
    minor: str = ""
    git_version: str = ""
    git_commit: str = ""
    git_tree_state: str = ""
    build_date: str = ""
    go_version: str = ""
    compiler: str = ""
    platform: str = ""


class _CachedResult(Value):
    found: DiscoveryResult
    until: float
    is_fresh: bool


@set_module("masthead.aio.discovery")
class DiscoveryClient:
    """Discovers the groups, versions and resources that the server serves.

    ::

        for resource in await client.discovery.resources():
            print(resource.api_version, resource.name, resource.kind)

    Guarantees: results are cached until they expire, and concurrent callers share one request. A group that fails does
    not hide the others: it is reported in `DiscoveryResult.failures` and retried soon. A resource that is missing from
    the cache is looked up on the server before it is reported missing. Refreshes that change nothing are rate limited
    to one per second after a short burst; the caller waits, and never receives an older state.

    Cancellation: cancelling one caller does not affect the others.

    Threads: belongs to one event loop.
    """

    def __init__(
        self,
        rest: RestClient,
        *,
        expiry: float = EXPIRY,
        cache: DiskCache | None = None,
        aggregated: bool = True,
        now: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Create a discovery client.

        Args:
            rest: The REST client for the requests.
            expiry: For how many seconds results are cached.
            cache: A cache on disk that other processes share; None for memory only.
            aggregated: Whether to request aggregated discovery, which servers support since 1.26. Servers without it
                are always asked for one list after the other.
            now: A monotonic clock, in seconds.
            pause: Sleeps for a number of seconds of that clock.
        """
        self._rest = rest
        self._expiry = expiry
        self._aggregated = aggregated
        self._now = now
        self._pause = pause
        self._documents = DocumentCache(rest, expiry=expiry, cache=cache, now=now)
        self._openapi = OpenApi(self._documents)
        self._single_flight = SingleFlight(self._refresh_or_wait)
        self._held: _CachedResult | None = None
        self._era = 0
        self._trusts_disk = True
        self._idle_looks = TokenBucket(_IDLE_RATE, _IDLE_LOOKS)

    @property
    def is_fresh(self) -> bool:
        """Whether the cached result came from the server (not from disk) and has not expired."""
        held = self._held
        return held is not None and held.is_fresh and self._now() < held.until

    async def groups(self) -> tuple[ServedGroup, ...]:
        """Return the groups and their versions, the core group first.

        Raises:
            MastheadError: As for `RestClient.call`.
        """
        return (await self.resources()).groups

    async def resources(self, api_version: str | None = None) -> DiscoveryResult:
        """Return the resources.

        Args:
            api_version: Only those of this group and version, such as ``apps/v1``.

        Raises:
            ArgumentError: If `api_version` is invalid.
            UnknownKindError: If it is not served.
            MastheadError: As for `RestClient.call`; also if discovery of that group-version failed.
        """
        if api_version is None:
            return await self._current()
        wanted = GroupVersion.parse(api_version)
        found = await self._current()
        if not _serves(found, wanted):
            # It may be new, such as that of a CustomResourceDefinition, so the server is asked once more.
            found = await self.refresh()
        if not _serves(found, wanted):
            raise UnknownKindError(f"the server has no {wanted}{_nearest(found, wanted)}")
        part = found.of(wanted)
        if part.failures and not part.resources:
            # A copy, because raising adds a traceback, and the result is shared.
            raise copy.copy(part.failures[wanted])
        return part

    async def preferred_resources(self) -> DiscoveryResult:
        """Return each resource once: in its group's preferred version or, if it is missing there, in the next one.

        Raises:
            MastheadError: As for `RestClient.call`.
        """
        return (await self._current()).preferred()

    async def supports(self, gvr: GroupVersionResource) -> bool:
        """Whether the server has a resource.

        Raises:
            MastheadError: As for `RestClient.call`; also if the resource is missing and discovery of its group-version
                failed.
        """
        # The server is asked again before the answer is no, because a resource may be new.
        for look in (self._current, self.refresh):
            found = (await look()).of(gvr.group_version)
            if any(resource.gvr == gvr for resource in found):
                return True
        if found.failures:
            raise copy.copy(found.failures[gvr.group_version])
        return False

    async def server_version(self) -> ServerVersion:
        """Request the version of the server; not cached.

        Raises:
            DecodeError: If the response is not a version.
            MastheadError: As for `RestClient.call`.
        """
        response = await self._rest.get("/version")
        try:
            found = typeinfo.decode_json(response.body, _VersionInfo)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise DecodeError(str(error), kind="server version") from None
        return ServerVersion(**msgspec.structs.asdict(found))

    async def openapi_paths(self) -> dict[str, str]:
        """Return the paths of the OpenAPI v3 documents by group-version, such as ``apis/apps/v1``.

        Raises:
            DecodeError: If the index is invalid.
            MastheadError: As for `RestClient.call`.
        """
        return await self._openapi.paths()

    async def openapi(self, api_version: str) -> dict[str, JSON]:
        """Return the OpenAPI v3 document of a group-version; fetched again only if it has changed.

        Raises:
            ArgumentError: If `api_version` is invalid.
            UnknownKindError: If the server has no document for it.
            DecodeError: If the response is not an OpenAPI document.
            MastheadError: As for `RestClient.call`.
        """
        return await self._openapi.document(api_version)

    async def _schemas(self, api_version: str) -> DocumentDefinitions:
        """The schemas of a group-version, decoded, for the client's own use; see `OpenApi.definitions`."""
        return await self._openapi.definitions(api_version)

    async def refresh(self) -> DiscoveryResult:
        """Discover again; rate limited if the last refreshes changed nothing.

        The result contains everything that the server served when this was called.

        Raises:
            MastheadError: As for `RestClient.call`.
        """
        self._trusts_disk = False
        return await self._single_flight.run(after_now=True)

    def invalidate(self) -> None:
        """Drop the cached result: the next call asks the server.

        Documents stay cached and are revalidated by their ETags, so this is cheap if nothing has changed.
        """
        self._era += 1
        self._held = None
        self._trusts_disk = False
        self._single_flight = SingleFlight(self._refresh_or_wait)

    async def _current(self) -> DiscoveryResult:
        held = self._held
        if held is not None and self._now() < held.until:
            return held.found
        return await self._single_flight.run()

    async def _refresh_or_wait(self) -> DiscoveryResult:
        place = self._idle_looks.reserve(self._now())
        is_idle = False
        try:
            if place.wait:
                await self._pause(place.wait)
            is_idle = True  # until a request returns something new
            before = self._held
            found = await self._fetch()
            is_idle = before is not None and _are_alike(before.found, found)
        finally:
            if not is_idle:
                self._idle_looks.cancel(place)
        return found

    async def _fetch(self) -> DiscoveryResult:
        era = self._era
        fetcher = DiscoveryFetcher(self._documents, aggregated=self._aggregated, trust_disk=self._trusts_disk)
        found = await fetcher.run()
        if era != self._era:  # invalidated during the fetch: valid for the waiting callers, but not to be cached
            return found
        if self._held is not None and self._held.found == found:
            found = self._held.found  # with everything derived from it, such as an index
        lifetime = min(self._expiry, _EXPIRY_OF_FAILURES) if found.failures else self._expiry
        self._held = _CachedResult(
            found,
            until=min(document.validated_at for document in fetcher.seen) + lifetime,
            is_fresh=not any(document.is_from_disk for document in fetcher.seen),
        )
        self._trusts_disk = False  # from now on, the documents in memory are newer
        return found


def _are_alike(one: DiscoveryResult, other: DiscoveryResult) -> bool:
    """Whether two results are equal apart from the errors of failed group-versions."""
    return one.groups == other.groups and one.resources == other.resources


def _serves(found: DiscoveryResult, wanted: GroupVersion) -> bool:
    return any(group.name == wanted.group and wanted.version in group.versions for group in found.groups)


def _nearest(found: DiscoveryResult, wanted: GroupVersion) -> str:
    import difflib  # for an error only, because programs must start quickly

    known = [str(GroupVersion(group.name, version)) for group in found.groups for version in group.versions]
    near = difflib.get_close_matches(str(wanted), known, n=3)
    return f"; the nearest: {', '.join(near)}" if near else "; see client.discovery.groups()"
