"""One full discovery of a server, in either format."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeVar

from masthead._discovery.aggregated import ACCEPT, is_aggregated, read_aggregated
from masthead._discovery.legacy import read_core, read_groups, read_resources
from masthead._discovery.model import DiscoveryResult
from masthead._meta.gvk import GroupVersion
from masthead._rest.call import JSON
from masthead.errors import DecodeError, MastheadError, NotFoundError, StatusError, TransportError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from masthead._discovery.document_cache import DiscoveryDocument, DocumentCache
    from masthead._discovery.model import ServedGroup, ServedResource

__all__ = ["DiscoveryFetcher"]

T = TypeVar("T")

_AT_ONCE: Final = 8
"""The number of concurrent requests for resource lists; a cluster with many operators has hundreds of them."""
_ROOTS: Final[Mapping[str, Callable[[bytes], tuple[ServedGroup, ...]]]] = {
    "/api": read_core,
    "/apis": read_groups,
}
_PASSED_OVER: Final = (StatusError, TransportError, DecodeError)
"""Errors that concern one group-version only; others end the discovery."""


class DiscoveryFetcher:
    """Performs one full discovery.

    Each of the two roots may be in either format: aggregated, or a list of groups whose resource lists are then fetched
    concurrently.

    Attributes:
        seen: The documents that were read.
    """

    def __init__(self, documents: DocumentCache, *, aggregated: bool, trust_disk: bool) -> None:
        """Fetch through a cache of documents.

        Args:
            documents: The cache.
            aggregated: Whether to request aggregated discovery.
            trust_disk: Whether recent files on disk are used without asking the server.
        """
        self.seen: list[DiscoveryDocument] = []
        self._documents = documents
        self._accept = ACCEPT if aggregated else JSON
        self._trust_disk = trust_disk
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def run(self) -> DiscoveryResult:
        """Discover.

        Raises:
            NotFoundError: If neither root exists.
            DecodeError: If a root is invalid.
            MastheadError: As for `RestClient.call`.
        """
        responses = await _gather([self._fetch(path, self._accept) for path in _ROOTS])
        failures = [response for response in responses if isinstance(response, MastheadError)]
        # Some servers have only one of the roots.
        for failure in failures:
            if not isinstance(failure, NotFoundError) or len(failures) == len(_ROOTS):
                raise failure
        found = DiscoveryResult()
        for response, read in zip(responses, _ROOTS.values(), strict=True):
            if isinstance(response, MastheadError):
                continue
            # By the response, and not by the server version: a proxy may strip the Accept header.
            if is_aggregated(response.content_type):
                found += read_aggregated(response.body)
            else:
                found += await self._resources_of(read(response.body))
        return found

    async def _resources_of(self, groups: tuple[ServedGroup, ...]) -> DiscoveryResult:
        served = [GroupVersion(group.name, version) for group in groups for version in group.versions]
        lists = await _gather([self._list(group_version) for group_version in served])
        resources: list[ServedResource] = []
        failures: dict[GroupVersion, MastheadError] = {}
        for group_version, outcome in zip(served, lists, strict=True):
            if not isinstance(outcome, MastheadError):
                resources += outcome
            # One broken aggregated API must not hide all others.
            elif isinstance(outcome, _PASSED_OVER):
                failures[group_version] = outcome
            else:
                raise outcome
        return DiscoveryResult(groups, tuple(resources), failures)

    async def _list(self, served: GroupVersion) -> tuple[ServedResource, ...]:
        return read_resources(served, (await self._fetch(served.path, JSON)).body)

    async def _fetch(self, path: str, accept: str) -> DiscoveryDocument:
        # Old servers need a request per group-version, of which there may be a hundred.
        async with self._turns:
            found = await self._documents.get(path, accept=accept, trust_disk=self._trust_disk)
        self.seen.append(found)
        return found


async def _gather(work: list[Awaitable[T]]) -> list[T | MastheadError]:
    """Await all concurrently; return the error of each that failed."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_outcome(awaitable)) for awaitable in work]
    return [task.result() for task in tasks]


async def _outcome(work: Awaitable[T]) -> T | MastheadError:
    try:
        return await work
    except MastheadError as error:
        return error
