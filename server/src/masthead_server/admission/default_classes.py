"""The default class of a kind, such as StorageClass or IngressClass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.admission.lookup import list_objects
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from collections.abc import Collection

    from masthead_server.cluster import ClusterState

__all__ = ["find_default_class"]


def find_default_class(
    cluster: ClusterState, group: str, version: str, resource: str, annotations: Collection[str]
) -> str:
    """Return the name of the newest class that an annotation marks as the default; empty without such a class.

    Args:
        cluster: The cluster state.
        group: The group of the classes.
        version: A version that is served.
        resource: Their resource.
        annotations: The annotations, one of which has to be ``true``.
    """
    classes = list_objects(cluster, group, version, resource, containing=b"is-default-class")
    found = (part(item, "metadata") for item in classes)
    marked = [meta for meta in found if any(part(meta, "annotations").get(key) == "true" for key in annotations)]
    # Sorts are stable: the newest class comes first, and of equally old ones the first by name.
    marked.sort(key=lambda meta: text(meta, "name"))
    marked.sort(key=lambda meta: text(meta, "creationTimestamp"), reverse=True)
    return text(marked[0], "name") if marked else ""
