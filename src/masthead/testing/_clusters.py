"""The clusters of test environments: an embedded server, or an existing one."""

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
    """The queries of an environment to its cluster."""

    async def versions(self, where: InformerKey, replica: str) -> Mapping[str, str]:
        """Return the expected contents of a replica's cache: versions by key."""
        ...

    def pending_work(self) -> list[str]:
        """Describe the remaining work of the server, as far as it is known."""
        ...


class EmbeddedCluster:
    """An embedded server, queried without requests, which faults would affect and its log would list."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._checked: dict[InformerKey, tuple[int, Mapping[str, str]]] = {}

    async def versions(self, where: InformerKey, replica: str) -> Mapping[str, str]:
        """Return the expected contents of a replica's cache: versions by key."""
        revision = self._server.revision
        # While a fault holds events back, each replica has its own view, which changes without a write.
        is_shared = not self._server.faults.holding
        # `wait_for_idle` asks after every step, and most steps write nothing.
        known = self._checked.get(where) if is_shared else None
        if known is not None and known[0] == revision:
            return known[1]
        versions: dict[str, str] = {}
        for namespace in where.namespaces or ("",):
            with contextlib.suppress(UnknownKindError):  # a definition that is not installed yet, or deleted
                versions |= self._server.versions(
                    where.resource, namespace=namespace, client=replica, **_selectors(where)
                )
        if is_shared:
            self._checked[where] = revision, versions
        return versions

    def pending_work(self) -> list[str]:
        """Describe the remaining work of the server."""
        return [f"the server: {work}" for work in self._server.pending_work()]


class RemoteCluster:
    """An existing server, queried by lists of metadata."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def versions(self, where: InformerKey, replica: str) -> Mapping[str, str]:
        """Return the expected contents of a replica's cache: versions by key."""
        del replica  # all replicas see the same
        versions: dict[str, str] = {}
        for namespace in where.namespaces or (None,):
            selectors = _selectors(where)
            listed = await self._client.metadata(where.resource, namespace=namespace).list(
                label_selector=selectors.get("label_selector"),
                field_selector=selectors.get("field_selector"),
                shard_selector=selectors.get("shard_selector"),
            )
            versions |= {item.key: item.metadata.resource_version for item in listed.items}
        return versions

    def pending_work(self) -> list[str]:
        """Return nothing: the server does not report its work."""
        return []


def difference(informer: SharedInformer[Any], versions: Mapping[str, str]) -> str:
    """Describe the first difference between a cache and its expected contents; empty if they are equal."""
    if not informer.has_synced:
        return f"it has not synced ({informer.health.last_error or 'no state has come yet'})"
    indexer = informer.indexer
    unusable = informer.health.broken  # rejected by a transform, say: a failure, which no waiting resolves
    # Deletions first: they have no version that could be compared.
    for key in indexer.list_keys():
        if key not in versions:
            return f"{key} is deleted"
    for key, version in versions.items():
        if key in unusable:
            continue
        obj = indexer.get_by_key(key)
        if obj is None or obj.metadata.resource_version != version:
            return f"{key} is at version {version}"
    return ""


def _selectors(where: InformerKey) -> dict[str, str]:
    return {_ARGUMENTS[option]: value for option, value in where.selectors}
