"""From what people and objects call things to where the server keeps them."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, TypeVar

from masthead._discovery.index import Index
from masthead._meta.gvk import GroupVersion
from masthead.errors import NotFoundError, UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._discovery.client import DiscoveryClient
    from masthead._discovery.model import ApiResource, DiscoveryResult
    from masthead._meta.gvk import GroupVersionKind, GroupVersionResource

__all__ = ["RestMapper"]

T = TypeVar("T")


class RestMapper:
    """Finds the resource that a name, a kind or a category stands for.

    Guarantees: what the server had when it was asked for is found, also if its definition was created a second ago:
    what is missing from memory is looked for on the server once (`DiscoveryClient.refresh`) before it is called
    missing. What is asked for in a group and version that could not be read is not called missing: why that could not
    be read is raised instead.

    Threads: belongs to one event loop.
    """

    def __init__(self, discovery: DiscoveryClient) -> None:
        """Look in what `discovery` finds."""
        self._discovery = discovery
        self._index: Index | None = None

    async def find(
        self, what: str, *, api_version: str | None = None, group: str | None = None
    ) -> ApiResource:
        """Find a resource by its plural, singular, kind or short name, whatever the case.

        ``deployments``, ``Deployment``, ``deploy``, ``deployments.apps`` and ``deployments.v1.apps`` are the same.
        Where several fit, the core group comes first, then the groups in the server's order, each with its preferred
        version first; names and kinds count before short names.

        Args:
            what: The name.
            api_version: Only in this group and version.
            group: Only in this group; empty for the core group.

        Raises:
            InvalidValueError: if that is no name, or no API version.
            UnknownKindError: if nothing fits, or several do and nothing speaks for one of them.
            MastheadError: as `RestClient.call` does; also if nothing fits, and asking for that version failed.
        """
        place = api_version or (None if group is None else group or "the core group")
        return await self._look_up(
            lambda index: index.find(what, api_version=api_version, group=group),
            lambda index: _missing(index, f'resource "{what}"', what, place),
            within=None if api_version is None else GroupVersion.parse(api_version),
        )

    async def kind(self, gvk: GroupVersionKind) -> ApiResource:
        """Find the resource whose objects are of a kind.

        Raises:
            UnknownKindError: if there is none, or several and nothing speaks for one of them.
            MastheadError: as `RestClient.call` does; also if nothing fits, and asking for its version failed.
        """
        return await self._look_up(
            lambda index: index.kind(gvk),
            lambda index: _missing(index, f"kind {gvk.kind}", gvk.kind, gvk.api_version),
            within=gvk.group_version,
        )

    async def resource(self, gvr: GroupVersionResource) -> ApiResource:
        """Find a resource by its full name.

        Raises:
            UnknownKindError: if there is none.
            MastheadError: as `RestClient.call` does; also if nothing fits, and asking for its version failed.
        """
        return await self._look_up(
            lambda index: index.resource(gvr),
            lambda index: _missing(index, f"resource {gvr.resource}", gvr.resource, str(gvr.group_version)),
            within=gvr.group_version,
        )

    async def category(self, name: str) -> tuple[ApiResource, ...]:
        """The resources of a category such as ``all``, each in its preferred version.

        Raises:
            UnknownKindError: if there is none.
            MastheadError: as `RestClient.call` does.
        """
        return await self._look_up(
            lambda index: index.category(name) or None,
            lambda index: (
                f'the server has no category "{name}"; it has {", ".join(index.categories()) or "none"}'
                f"{_unread(index.found)}"
            ),
        )

    async def _look_up(
        self,
        look: Callable[[Index], T | None],
        missing: Callable[[Index], str],
        *,
        within: GroupVersion | None = None,
    ) -> T:
        index = self._indexed(await self._discovery.resources())
        found = look(index)
        if found is None:
            index = self._indexed(await self._discovery.refresh())
            found = look(index)
        if found is not None:
            return found
        failure = None if within is None else index.found.failures.get(within)
        # That there is no such group and version is an answer, and no failure.
        if failure is None or isinstance(failure, NotFoundError):
            raise UnknownKindError(missing(index))
        raise copy.copy(failure)

    def _indexed(self, found: DiscoveryResult) -> Index:
        if self._index is None or self._index.found is not found:
            self._index = Index(found)
        return self._index


def _missing(index: Index, subject: str, name: str, place: str | None) -> str:
    where = f" in {place}" if place else ""
    near = index.nearest(name)
    hint = f"; the nearest: {', '.join(near)}" if near else "; if it is custom, install its definition"
    return f"the server has no {subject}{where}{hint}{_unread(index.found)}"


def _unread(found: DiscoveryResult) -> str:
    if not found.failures:
        return ""
    names = ", ".join(sorted(str(each) for each in found.failures))
    return f". It may be in what could not be read: {names} (see client.discovery.resources().failures)"
