"""The graph of objects that lead to a node: what a kubelet may read, because a pod on its node refers to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from masthead_server.wire.plain import Plain, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource
    from masthead_server.storage import Record

__all__ = ["NodeGraph", "Vertex"]

_MIRROR_POD: Final = "kubernetes.io/config.mirror"
"""The annotation of a pod that a kubelet made itself; it must not give the kubelet access to anything."""
_VOLUME_SECRETS: Final = ("cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos")
"""The volume sources with a ``secretRef``."""
_OWN_NAMESPACE_ONLY: Final = frozenset({"cinder", "storageos"})
"""The sources of a PersistentVolume whose secret is in the namespace that it names, and never in the claim's."""
_CSI_SECRETS: Final = ("nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef")
"""The secrets of a CSI volume that a kubelet needs; the others are for controllers."""


class Vertex(NamedTuple):
    """An object of the graph: its resource, its namespace and its name."""

    resource: str
    namespace: str
    name: str


class NodeGraph:
    """The edges from objects to the pods and nodes that use them.

    Args:
        cluster: The cluster state.
    """

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self._targets: dict[Vertex, dict[Vertex, int]] = {}
        """The next vertices, with the number of stored objects that make the edge."""
        self._edges: dict[tuple[str, str], list[tuple[Vertex, Vertex]]] = {}
        """The edges that a stored object makes, by table and key."""
        # Read when a kubelet asks: most servers have no kubelet that does, and pods are written all the time.
        self._changed: dict[tuple[str, str], None] = {}
        for table in _EDGES:
            records = cluster.storage.table(table).scan("", cluster.storage.revision)
            self._changed.update(((table, record.key), None) for record in records)
            cluster.observe(table, self._observe)

    def leads_to(self, start: Vertex, node: str) -> bool:
        """Tell whether an object is in use on a node."""
        self._catch_up()
        end, seen, pending = Vertex("nodes", "", node), {start}, [start]
        while pending:
            for target in self._targets.get(pending.pop(), ()):
                if target == end:
                    return True
                if target not in seen:
                    seen.add(target)
                    pending.append(target)
        return False

    def _observe(self, served: ServedResource, record: Record) -> None:
        self._changed[served.table, record.key] = None

    def _catch_up(self) -> None:
        changed, self._changed = self._changed, {}
        for table, key in changed:
            for start, end in self._edges.pop((table, key), ()):
                self._remove(start, end)
            # The present state: an object that was written several times since is read once.
            served = self._cluster.catalog.stored_in(table)
            record = self._cluster.storage.table(table).get(key)
            if served is None or record is None:
                continue
            edges = self._edges[table, key] = list(dict.fromkeys(_EDGES[table](served.load(record))))
            for start, end in edges:
                counts = self._targets.setdefault(start, {})
                counts[end] = counts.get(end, 0) + 1

    def _remove(self, start: Vertex, end: Vertex) -> None:
        counts = self._targets[start]
        counts[end] -= 1
        if not counts[end]:
            del counts[end]
        if not counts:
            del self._targets[start]


def _pod_edges(pod: Plain) -> Iterator[tuple[Vertex, Vertex]]:
    spec, meta = part(pod, "spec"), metadata(pod)
    node, namespace = text(spec, "nodeName"), text(meta, "namespace")
    # A pod without a node gives access to nobody yet.
    if not node:
        return
    own = Vertex("pods", namespace, text(meta, "name"))
    yield own, Vertex("nodes", "", node)
    if _MIRROR_POD in part(meta, "annotations"):
        return
    if account := text(spec, "serviceAccountName"):
        yield Vertex("serviceaccounts", namespace, account), own
    for resource, names in (
        ("secrets", _secrets_of_pod(spec)),
        ("configmaps", _config_maps_of_pod(spec)),
        ("persistentvolumeclaims", _claims_of_pod(spec, own.name)),
        ("resourceclaims", _resource_claims_of_pod(spec, part(pod, "status"))),
    ):
        for name in names:
            if name:
                yield Vertex(resource, namespace, name), own


def _secrets_of_pod(spec: Plain) -> Iterator[str]:
    for reference in items(spec, "imagePullSecrets"):
        yield text(reference, "name")
    yield from _names_in_environment(spec, "secretRef", "secretKeyRef")
    for volume in items(spec, "volumes"):
        yield text(part(volume, "secret"), "secretName")
        yield text(part(volume, "azureFile"), "secretName")
        yield text(part(part(volume, "csi"), "nodePublishSecretRef"), "name")
        for source in _VOLUME_SECRETS:
            yield text(part(part(volume, source), "secretRef"), "name")
        for projection in items(part(volume, "projected"), "sources"):
            yield text(part(projection, "secret"), "name")


def _config_maps_of_pod(spec: Plain) -> Iterator[str]:
    yield from _names_in_environment(spec, "configMapRef", "configMapKeyRef")
    for volume in items(spec, "volumes"):
        yield text(part(volume, "configMap"), "name")
        for projection in items(part(volume, "projected"), "sources"):
            yield text(part(projection, "configMap"), "name")


def _names_in_environment(spec: Plain, whole: str, key: str) -> Iterator[str]:
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for container in items(spec, kind):
            for source in items(container, "envFrom"):
                yield text(part(source, whole), "name")
            for variable in items(container, "env"):
                yield text(part(part(variable, "valueFrom"), key), "name")


def _claims_of_pod(spec: Plain, pod: str) -> Iterator[str]:
    for volume in items(spec, "volumes"):
        if volume.get("persistentVolumeClaim") is not None:
            yield text(part(volume, "persistentVolumeClaim"), "claimName")
        elif volume.get("ephemeral") is not None:
            yield f"{pod}-{text(volume, 'name')}"


def _resource_claims_of_pod(spec: Plain, status: Plain) -> Iterator[str]:
    made = {text(entry, "name"): text(entry, "resourceClaimName") for entry in items(status, "resourceClaimStatuses")}
    for claim in items(spec, "resourceClaims"):
        # A claim from a template has its name in the status, as soon as it exists.
        yield text(claim, "resourceClaimName") or made.get(text(claim, "name"), "")
    yield text(part(status, "extendedResourceClaimStatus"), "resourceClaimName")


def _volume_edges(volume: Plain) -> Iterator[tuple[Vertex, Vertex]]:
    spec = part(volume, "spec")
    # Only through its claim does a volume belong to a pod.
    if spec.get("claimRef") is None:
        return
    claim = part(spec, "claimRef")
    home = text(claim, "namespace")
    own = Vertex("persistentvolumes", "", text(metadata(volume), "name"))
    yield own, Vertex("persistentvolumeclaims", home, text(claim, "name"))
    for namespace, name in _secrets_of_volume(spec, home):
        if name:
            yield Vertex("secrets", namespace, name), own


def _secrets_of_volume(spec: Plain, home: str) -> Iterator[tuple[str, str]]:
    azure, csi = part(spec, "azureFile"), part(spec, "csi")
    yield text(azure, "secretNamespace") or home, text(azure, "secretName")
    for source in _VOLUME_SECRETS:
        reference = part(part(spec, source), "secretRef")
        fallback = "" if source in _OWN_NAMESPACE_ONLY else home
        yield text(reference, "namespace") or fallback, text(reference, "name")
    for kind in _CSI_SECRETS:
        yield text(part(csi, kind), "namespace"), text(part(csi, kind), "name")


def _edge_to_node(resource: str) -> Callable[[Plain], Iterator[tuple[Vertex, Vertex]]]:
    """Return the edges of a kind whose spec names its node."""

    def edges(found: Plain) -> Iterator[tuple[Vertex, Vertex]]:
        meta = metadata(found)
        if node := text(part(found, "spec"), "nodeName"):
            yield Vertex(resource, text(meta, "namespace"), text(meta, "name")), Vertex("nodes", "", node)

    return edges


_EDGES: Final[dict[str, Callable[[Plain], Iterator[tuple[Vertex, Vertex]]]]] = {
    "pods": _pod_edges,
    "persistentvolumes": _volume_edges,
    "storage.k8s.io/volumeattachments": _edge_to_node("volumeattachments"),
    "resource.k8s.io/resourceslices": _edge_to_node("resourceslices"),
}
"""The edges of each kind, by the table of its objects."""
