"""The scale of a pod's controller, for disruption budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.gvk import GroupVersion
from masthead.errors import ArgumentError
from masthead_server.controllers.objects import ObjectRef, uid_of
from masthead_server.resources.scale import ReplicaScale
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.plain import Plain, items, metadata, part, text

if TYPE_CHECKING:
    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.controllers.pod_index import IndexedPod

__all__ = ["ScaleFinder", "UnknownScaleError"]

_TABLES: Final = {
    ("", "ReplicationController"): "replicationcontrollers",
    ("apps", "ReplicaSet"): "apps/replicasets",
    ("apps", "StatefulSet"): "apps/statefulsets",
    ("apps", "Deployment"): "apps/deployments",
}


class UnknownScaleError(Exception):
    """The controller of a pod has no scale."""


class ScaleFinder:
    """Finds the scale of a pod's controller, a Deployment or another resource with a scale subresource.

    Args:
        client: Reads objects.
    """

    def __init__(self, client: ObjectClient) -> None:
        self._client = client

    def find(self, pod: IndexedPod) -> tuple[str, int]:
        """Return the uid of the scaled controller of a pod, and its number of replicas.

        Raises:
            UnknownScaleError: If the pod has no controller, or its controller does not exist or has no scale.
        """
        owner = pod.controller
        if owner is None:
            raise UnknownScaleError(f'found no controllers for pod "{pod.metadata.name}"')
        namespace = pod.metadata.namespace
        try:
            version = GroupVersion.parse(owner.api_version)
        except ArgumentError as error:
            raise UnknownScaleError(str(error)) from None
        table = _TABLES.get((version.group, owner.kind))
        found = self._load(table, namespace, owner.name, owner.uid) if table else None
        if found is not None:
            return _scale_of(self._deployment_of(found, namespace) or found)
        served = self._client.cluster.catalog.by_kind(version.kind(owner.kind))
        if served is None:
            raise UnknownScaleError(f'no matches for kind "{owner.kind}" in version "{owner.api_version}"')
        if all(subresource.name != "scale" for subresource in served.resource.subresources):
            name = f"{served.name}.{served.group}" if served.group else served.name
            raise UnknownScaleError(f"{name} does not implement the scale subresource")
        found = self._load(served.table, namespace, owner.name, owner.uid)
        if found is None:
            raise UnknownScaleError(f'found no controllers for pod "{pod.metadata.name}"')
        try:
            scale = (served.behavior.scale or ReplicaScale()).read(served.from_storage(found))
        except StatusFailure as failure:
            raise UnknownScaleError(failure.message) from failure
        return uid_of(found), part(scale, "spec").get("replicas", 0)

    def _deployment_of(self, found: Plain, namespace: str) -> Plain | None:
        """Return the Deployment of a ReplicaSet; None for another kind, or without a Deployment."""
        for reference in items(metadata(found), "ownerReferences"):
            if reference.get("controller") and reference.get("kind") == "Deployment":
                name, uid = text(reference, "name"), text(reference, "uid")
                return self._load("apps/deployments", namespace, name, uid)
        return None

    def _load(self, table: str, namespace: str, name: str, uid: str) -> Plain | None:
        found = self._client.load(ObjectRef(table, f"{namespace}/{name}"))
        return found if found is not None and uid_of(found) == uid else None


def _scale_of(found: Plain) -> tuple[str, int]:
    return uid_of(found), part(found, "spec").get("replicas", 1)
