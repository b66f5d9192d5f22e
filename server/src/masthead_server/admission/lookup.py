"""Lookups of the objects that plugins depend on, such as classes and service accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta.gvk import GroupVersionResource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.cluster import ClusterState
    from masthead_server.wire.plain import Plain

__all__ = ["find_object", "list_objects"]


def find_object(
    cluster: ClusterState, group: str, version: str, resource: str, name: str, namespace: str = ""
) -> Plain | None:
    """Return an object by its name; None if it does not exist.

    Args:
        cluster: The cluster state.
        group: The group of the resource.
        version: A version that is served.
        resource: The resource.
        name: The name.
        namespace: The namespace; empty for a cluster-scoped object.
    """
    served = cluster.catalog.require(GroupVersionResource(group, version, resource))
    record = cluster.storage.table(served.table).get(served.key(namespace, name))
    return None if record is None else served.load(record)


def list_objects(
    cluster: ClusterState, group: str, version: str, resource: str, *, namespace: str = "", containing: bytes = b""
) -> Iterator[Plain]:
    """Iterate over the objects of a resource.

    Args:
        cluster: The cluster state.
        group: The group of the resource.
        version: A version that is served.
        resource: The resource.
        namespace: The namespace; empty for all.
        containing: What the encoded object must contain; others are not decoded.
    """
    served = cluster.catalog.require(GroupVersionResource(group, version, resource))
    prefix = f"{namespace}/" if namespace else ""
    for record in list(cluster.storage.table(served.table).scan(prefix, cluster.storage.revision)):
        if containing in record.value:
            yield served.load(record)
