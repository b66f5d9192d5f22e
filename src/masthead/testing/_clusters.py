"""The clusters of test environments: an embedded server, or a server that is there."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final, Protocol

from masthead.errors import UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._cache.factory.selection import InformerKey
    from masthead._cache.informer.informer import SharedInformer
    from masthead._client.client import Client
    from masthead_server.server import Server

__all__ = ["ClusterView", "EmbeddedCluster", "RemoteCluster", "difference"]

_ARGUMENTS: Final = {
    "labelSelector": "label_selector",
    "fieldSelector": "field_selector",
    "shardSelector": "shard_selector",
}


class ClusterView(Protocol):
    """What an environment asks of a cluster."""

    async def versions(self, where: InformerKey) -> Mapping[str, str]:
        """The versions of the objects that a cache is to hold, by key."""
        ...

    def pending_work(self) -> list[str]:
        """What the server still does, as far as that is known."""
        ...


class EmbeddedCluster:
    """An embedded server, which is asked without requests, so that no fault hits and nothing is recorded."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._checked: dict[InformerKey, tuple[int, Mapping[str, str]]] = {}

    async def versions(self, where: InformerKey) -> Mapping[str, str]:
        """The versions of the objects that a cache is to hold, by key."""
        revision = self._server.revision
        known = self._checked.get(where)
        if known is not None and known[0] == revision:
            return known[1]
        found: dict[str, str] = {}
        for namespace in where.namespaces or ("",):
            with contextlib.suppress(UnknownKindError):  # a definition that is not there yet, or any more
                found |= self._server.versions(where.resource, namespace=namespace, **_selectors(where))
        self._checked[where] = revision, found
        return found

    def pending_work(self) -> list[str]:
        """What the server still does."""
        return [f"the server: {each}" for each in self._server.pending_work()]


class RemoteCluster:
    """A server that is there; it is asked by lists of metadata."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def versions(self, where: InformerKey) -> Mapping[str, str]:
        """The versions of the objects that a cache is to hold, by key."""
        found: dict[str, str] = {}
        for namespace in where.namespaces or (None,):
            selectors = _selectors(where)
            listed = await self._client.metadata(where.resource, namespace=namespace).list(
                label_selector=selectors.get("label_selector"),
                field_selector=selectors.get("field_selector"),
                shard_selector=selectors.get("shard_selector"),
            )
            found |= {item.key: item.metadata.resource_version for item in listed.items}
        return found

    def pending_work(self) -> list[str]:
        """Nothing is known."""
        return []


def difference(informer: SharedInformer[Any], versions: Mapping[str, str]) -> str:
    """How a cache differs from what it is to hold, in a few words; empty if it does not."""
    if not informer.has_synced:
        return f"it has not synced ({informer.health.last_error or 'no state has come yet'})"
    indexer = informer.indexer
    unusable = informer.health.broken  # by a transform, for example: that is a failure, and not a delay
    for key in indexer.list_keys():
        if key not in versions:
            return f"{key} is deleted"
    for key, version in versions.items():
        obj = indexer.get_by_key(key)
        if key in unusable:
            continue
        if obj is None or obj.metadata.resource_version != version:
            return f"{key} is at version {version}"
    return ""


def _selectors(where: InformerKey) -> dict[str, str]:
    return {_ARGUMENTS[option]: value for option, value in where.selectors}
