"""The target of an autoscaler: any object with a scale subresource."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from masthead._meta.gvk import GroupVersion, GroupVersionKind
from masthead._meta.quoting import quoted
from masthead.errors import ArgumentError
from masthead_server.resources.scale import ReplicaScale
from masthead_server.storage import JournalError
from masthead_server.verbs.write_context import WriteContext
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.options import WriteOptions
from masthead_server.wire.plain import Plain, part, text

if TYPE_CHECKING:
    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.resources.resource import ServedResource

__all__ = ["ScaleTarget", "TargetError", "TargetScale", "find_target"]


class TargetError(Exception):
    """The scale of a target cannot be read or written."""


class TargetScale(NamedTuple):
    """The scale of a target: desired and actual replicas, and the pod selector."""

    replicas: int
    present: int
    selector: str


class ScaleTarget:
    """The target of an autoscaler.

    Args:
        client: Reads and writes it.
        served: Its resource.
        namespace: Its namespace.
        name: Its name.
    """

    def __init__(self, client: ObjectClient, served: ServedResource, namespace: str, name: str) -> None:
        self._client = client
        self._served = served
        self._namespace = namespace
        self._name = name

    def read(self) -> TargetScale:
        """Return the scale.

        Raises:
            TargetError: If the target has no scale.
        """
        served = self._served
        if all(subresource.name != "scale" for subresource in served.resource.subresources):
            raise TargetError("the server could not find the requested resource")
        try:
            record = self._client.cluster.find(served, self._namespace, self._name)
            scale = (served.behavior.scale or ReplicaScale()).read(served.load(record))
        except StatusFailure as failure:
            raise TargetError(failure.message) from failure
        status = part(scale, "status")
        return TargetScale(part(scale, "spec").get("replicas", 0), status.get("replicas", 0), text(status, "selector"))

    async def write(self, replicas: int) -> None:
        """Set the replicas.

        Raises:
            TargetError: If the write is refused.
            JournalError: It could not be stored.
        """
        # Imported on use: most servers scale nothing.
        from masthead_server.verbs.subresources import set_replicas

        context = WriteContext(
            self._client.cluster,
            self._served,
            self._namespace,
            self._name,
            WriteOptions(),
            user=self._client.user,
            subresource="scale",
            manager=self._client.manager,
        )
        try:
            await set_replicas(context, replicas)
        except JournalError:
            raise
        except StatusFailure as failure:
            raise TargetError(failure.message) from failure


def find_target(client: ObjectClient, reference: Plain, namespace: str) -> ScaleTarget:
    """Find the target of an autoscaler by its ``scaleTargetRef``, whatever version of the group that names.

    Raises:
        TargetError: If there is no such kind.
    """
    kind = text(reference, "kind")
    try:
        group = GroupVersion.parse(text(reference, "apiVersion")).group
    except ArgumentError as error:
        raise TargetError(str(error)) from error
    catalog = client.cluster.catalog
    for version in catalog.versions(group):
        served = catalog.by_kind(GroupVersionKind(group, version, kind))
        if served is not None:
            return ScaleTarget(client, served, namespace, text(reference, "name"))
    raise TargetError(f"no matches for kind {quoted(kind)} in group {quoted(group)}")
