"""The REST mapper: from names, kinds and categories to resources."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, TypeVar

from masthead._discovery.index import Index
from masthead._meta.gvk import GroupVersion
from masthead._module import set_module
from masthead.errors import NotFoundError, UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._discovery.client import DiscoveryClient
    from masthead._discovery.model import DiscoveryResult, ServedResource
    from masthead._meta.gvk import GroupVersionKind, GroupVersionResource

__all__ = ["RestMapper"]

T = TypeVar("T")


@set_module("masthead.aio.discovery")
class RestMapper:
    """Maps names, kinds and categories to resources, like client-go's ``RESTMapper``.

    Guarantees: a resource that the server served at the time of the call is found, even if its definition was created a
    second ago: a cache miss triggers one `DiscoveryClient.refresh`. If the group-version of a missing resource could
    not be discovered, that error is raised instead of `UnknownKindError`.

    Threads: belongs to one event loop.
    """

    def __init__(self, discovery: DiscoveryClient) -> None:
        """Map by the results of a discovery client."""
        self._discovery = discovery
        self._index: Index | None = None

    async def find(self, what: str, *, api_version: str | None = None, group: str | None = None) -> ServedResource:
        """Find a resource by its plural, singular, kind or short name, ignoring case.

        ``deployments``, ``Deployment``, ``deploy``, ``deployments.apps`` and ``deployments.v1.apps`` are the same.
        If several match, the core group comes first, then the groups in the server's order, each with its preferred
        version first; names and kinds take precedence over short names.

        Args:
            what: The name.
            api_version: Only in this group and version.
            group: Only in this group; empty for the core group.

        Raises:
            ArgumentError: If `what` or `api_version` is invalid.
            UnknownKindError: If no resource matches, or `what` is ambiguous.
            MastheadError: As for `RestClient.call`; also if no resource matches and discovery of that version failed.
        """
        place = api_version or (None if group is None else group or "the core group")
        return await self._look_up(
            lambda index: index.find(what, api_version=api_version, group=group),
            lambda index: _missing(index, f'resource "{what}"', what, place),
            within=None if api_version is None else GroupVersion.parse(api_version),
        )

    async def kind(self, gvk: GroupVersionKind) -> ServedResource:
        """Find the resource whose objects are of a kind.

        Raises:
            UnknownKindError: If no resource matches, or the kind is ambiguous.
            MastheadError: As for `RestClient.call`; also if no resource matches and discovery of its version failed.
        """
        return await self._look_up(
            lambda index: index.kind(gvk),
            lambda index: _missing(index, f"kind {gvk.kind}", gvk.kind, gvk.api_version),
            within=gvk.group_version,
        )

    async def resource(self, gvr: GroupVersionResource) -> ServedResource:
        """Find a resource by group, version and plural.

        Raises:
            UnknownKindError: If it does not exist.
            MastheadError: As for `RestClient.call`; also if no resource matches and discovery of its version failed.
        """
        return await self._look_up(
            lambda index: index.resource(gvr),
            lambda index: _missing(index, f"resource {gvr.resource}", gvr.resource, str(gvr.group_version)),
            within=gvr.group_version,
        )

    async def category(self, name: str) -> tuple[ServedResource, ...]:
        """Return the resources of a category such as ``all``, each in its preferred version.

        Raises:
            UnknownKindError: If it does not exist.
            MastheadError: As for `RestClient.call`.
        """
        return await self._look_up(
            lambda index: index.category(name) or None,
            lambda index: (
                f'the server has no category "{name}"; it has {", ".join(index.categories()) or "none"}'
                f"{_failed_versions(index.found)}"
            ),
        )

    async def _look_up(
        self,
        look: Callable[[Index], T | None],
        missing: Callable[[Index], str],
        *,
        within: GroupVersion | None = None,
    ) -> T:
        index = self._build_index(await self._discovery.resources())
        found = look(index)
        if found is None:
            # A definition may have been installed since: a miss invalidates what discovery has cached.
            index = self._build_index(await self._discovery.refresh())
            found = look(index)
        if found is not None:
            return found
        failure = None if within is None else index.found.failures.get(within)
        # A 404 means that the group-version is not served; that is not a failure.
        if failure is None or isinstance(failure, NotFoundError):
            raise UnknownKindError(missing(index))
        # A copy: the cached error would collect the tracebacks of all callers.
        raise copy.copy(failure)

    def _build_index(self, found: DiscoveryResult) -> Index:
        # By identity: discovery returns the same result until it changes.
        if self._index is None or self._index.found is not found:
            self._index = Index(found)
        return self._index


def _missing(index: Index, subject: str, name: str, place: str | None) -> str:
    where = f" in {place}" if place else ""
    near = index.nearest(name)
    hint = f"; the nearest: {', '.join(near)}" if near else "; if it is custom, install its CRD"
    # The name is right, and only its version or group is wrong.
    if served := index.served_as(name):
        hint += f", served as {', '.join(served)}"
    return f"the server has no {subject}{where}{hint}{_failed_versions(index.found)}"


def _failed_versions(found: DiscoveryResult) -> str:
    if not found.failures:
        return ""
    names = ", ".join(sorted(str(failure) for failure in found.failures))
    return (
        f". It may be in a group-version that could not be discovered: {names} "
        "(see client.discovery.resources().failures)"
    )
