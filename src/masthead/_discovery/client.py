"""What the server serves, asked for when that is worth it."""

from __future__ import annotations

import asyncio
import copy
import difflib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._discovery.document_cache import DocumentCache
from masthead._discovery.fetcher import DiscoveryFetcher
from masthead._discovery.model import ServerVersion
from masthead._discovery.openapi import OpenApi
from masthead._discovery.single_flight import SingleFlight
from masthead._meta import typeinfo
from masthead._meta.gvk import GroupVersion
from masthead._sansio.token_bucket import TokenBucket
from masthead.errors import DecodeError, UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead._discovery.disk_cache import DiskCache
    from masthead._discovery.model import ApiGroup, DiscoveryResult
    from masthead._meta.gvk import GroupVersionResource
    from masthead._meta.shape import JSON
    from masthead._rest.client import RestClient

__all__ = ["DiscoveryClient"]

_EXPIRY: Final = 600.0
_EXPIRY_OF_FAILURES: Final = 30.0
"""A server behind an aggregated API comes back within moments, and nobody should wait ten minutes to see it."""
_IDLE_LOOKS: Final = 5
_IDLE_RATE: Final = 1.0
"""So many looks that show nothing new may come at once, and after them so many a second. An unchanged answer costs the
server next to nothing, but whoever asks in a loop for what is not there should not keep it busy."""


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


@dataclass(frozen=True, slots=True)
class _CachedResult:
    found: DiscoveryResult
    until: float
    is_fresh: bool


class DiscoveryClient:
    """Tells what the server serves.

    ::

        for resource in await client.discovery.resources():
            print(resource.api_version, resource.name, resource.kind)

    Guarantees: what was found is remembered until it expires, and those who ask at the same time share one request.
    A group that could not be read hides no other: it is among `DiscoveryResult.failures`, and is tried again soon. What is
    missing from memory is looked for on the server before it is called missing. Looks that show nothing new are held
    back to one a second, after the first few; nobody is told what was true before they asked instead.

    Cancellation: whoever is cancelled takes nobody along.

    Threads: belongs to one event loop.
    """

    def __init__(
        self,
        rest: RestClient,
        *,
        expiry: float = _EXPIRY,
        cache: DiskCache | None = None,
        aggregated: bool = True,
        now: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Ask through a client.

        Args:
            rest: What speaks to the server.
            expiry: For how many seconds an answer is believed.
            cache: Files that remember answers for the next process; None for memory alone.
            aggregated: Whether to ask for everything in one document, as servers can since 1.26; others are asked
                for one list after the other anyway.
            now: A clock that never goes back, in seconds.
            pause: Waits so many seconds by that clock.
        """
        self._rest = rest
        self._expiry = expiry
        self._aggregated = aggregated
        self._now = now
        self._pause = pause
        self._documents = DocumentCache(rest, expiry=expiry, cache=cache, now=now)
        self._openapi = OpenApi(self._documents)
        self._flights = SingleFlight(self._look)
        self._held: _CachedResult | None = None
        self._era = 0
        self._trusts_disk = True
        self._idle_looks = TokenBucket(_IDLE_RATE, _IDLE_LOOKS)

    @property
    def is_fresh(self) -> bool:
        """Whether what is known came from the server itself, and has not expired."""
        held = self._held
        return held is not None and held.is_fresh and self._now() < held.until

    async def groups(self) -> tuple[ApiGroup, ...]:
        """The groups and their versions, the core group first.

        Raises:
            MastheadError: as `RestClient.call` does.
        """
        return (await self.resources()).groups

    async def resources(self, api_version: str | None = None) -> DiscoveryResult:
        """The resources.

        Args:
            api_version: Only those of this group and version, such as ``apps/v1``.

        Raises:
            InvalidValueError: if that is no API version.
            UnknownKindError: if it is not served.
            MastheadError: as `RestClient.call` does; also if nothing is known of that version because asking for it
                failed.
        """
        if api_version is None:
            return await self._known()
        wanted = GroupVersion.parse(api_version)
        found = await self._known()
        if not _serves(found, wanted):
            found = await self.refresh()
        if not _serves(found, wanted):
            raise UnknownKindError(f"the server has no {wanted}{_nearest(found, wanted)}")
        part = found.of(wanted)
        if part.failures and not part.resources:
            raise copy.copy(part.failures[wanted])
        return part

    async def preferred_resources(self) -> DiscoveryResult:
        """Each resource once: in its group's preferred version or, where it is missing there, in the next one.

        Raises:
            MastheadError: as `RestClient.call` does.
        """
        return (await self._known()).preferred()

    async def supports(self, gvr: GroupVersionResource) -> bool:
        """Whether the server has a resource.

        Raises:
            MastheadError: as `RestClient.call` does; also if the resource is not known, and asking for its group
                failed.
        """
        for look in (self._known, self.refresh):
            found = (await look()).of(gvr.group_version)
            if any(each.gvr == gvr for each in found):
                return True
        if found.failures:
            raise copy.copy(found.failures[gvr.group_version])
        return False

    async def server_version(self) -> ServerVersion:
        """Which Kubernetes the server is; asked for each time.

        Raises:
            DecodeError: if the answer is something else.
            MastheadError: as `RestClient.call` does.
        """
        answer = await self._rest.get("/version")
        try:
            found = typeinfo.decode_json(answer.body, _VersionInfo)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise DecodeError(str(error), kind="server version") from None
        return ServerVersion(**msgspec.structs.asdict(found))

    async def openapi_paths(self) -> dict[str, str]:
        """Where the OpenAPI v3 documents are, by what they are about: ``apis/apps/v1``.

        Raises:
            DecodeError: if the index is none.
            MastheadError: as `RestClient.call` does.
        """
        return await self._openapi.paths()

    async def openapi(self, api_version: str) -> dict[str, JSON]:
        """The OpenAPI v3 document of a group and version; fetched again only if it has changed.

        Raises:
            InvalidValueError: if that is no API version.
            UnknownKindError: if the server has none for it.
            DecodeError: if what comes is no document.
            MastheadError: as `RestClient.call` does.
        """
        return await self._openapi.document(api_version)

    async def refresh(self) -> DiscoveryResult:
        """Ask the server again; a moment later, if it was asked several times just now and nothing was new.

        Everything that the server had when this was called is in the answer.

        Raises:
            MastheadError: as `RestClient.call` does.
        """
        self._trusts_disk = False
        return await self._flights.run(after_now=True)

    def invalidate(self) -> None:
        """Forget what was found: the next to ask asks the server.

        DocumentCache stay, to be offered to the server by their ETags; so this costs little where nothing has changed.
        """
        self._era += 1
        self._held = None
        self._trusts_disk = False
        self._flights = SingleFlight(self._look)

    async def _known(self) -> DiscoveryResult:
        held = self._held
        if held is not None and self._now() < held.until:
            return held.found
        return await self._flights.run()

    async def _look(self) -> DiscoveryResult:
        place = self._idle_looks.reserve(self._now())
        is_idle = False
        try:
            if place.wait:
                await self._pause(place.wait)
            is_idle = True  # unless something comes of it
            before = self._held
            found = await self._survey()
            is_idle = before is not None and _are_alike(before.found, found)
        finally:
            if not is_idle:
                self._idle_looks.cancel(place)
        return found

    async def _survey(self) -> DiscoveryResult:
        era = self._era
        survey = DiscoveryFetcher(self._documents, aggregated=self._aggregated, trust_disk=self._trusts_disk)
        found = await survey.run()
        if era != self._era:  # invalidated meanwhile: good for those who asked before, and for nobody else
            return found
        if self._held is not None and self._held.found == found:
            found = self._held.found  # what was made of it stays good
        lifetime = min(self._expiry, _EXPIRY_OF_FAILURES) if found.failures else self._expiry
        self._held = _CachedResult(
            found,
            until=min(each.asked_at for each in survey.seen) + lifetime,
            is_fresh=not any(each.is_from_disk for each in survey.seen),
        )
        self._trusts_disk = False  # from now on, the documents in memory are better
        return found


def _are_alike(one: DiscoveryResult, other: DiscoveryResult) -> bool:
    """Whether the same is served; why something else could not be read does not matter."""
    return one.groups == other.groups and one.resources == other.resources


def _serves(found: DiscoveryResult, wanted: GroupVersion) -> bool:
    return any(group.name == wanted.group and wanted.version in group.versions for group in found.groups)


def _nearest(found: DiscoveryResult, wanted: GroupVersion) -> str:
    known = [str(GroupVersion(group.name, version)) for group in found.groups for version in group.versions]
    near = difflib.get_close_matches(str(wanted), known, n=3)
    return f"; the nearest: {', '.join(near)}" if near else "; see client.discovery.groups()"
