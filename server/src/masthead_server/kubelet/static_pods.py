"""Static pods: a node runs them from manifest files, and creates mirror pods for the API server."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from masthead_server.controllers.objects import ObjectClient, ObjectRef, uid_of
from masthead_server.kubelet.lifecycle import KUBELET
from masthead_server.wire.plain import Plain, metadata, part, text
from masthead_server.wire.user_info import AUTHENTICATED_GROUP, UserInfo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.cluster import ClusterState
    from masthead_server.controllers.base import ObservedWrite

__all__ = ["StaticPod", "StaticPodController"]

_PODS: Final = "pods"
_NODES: Final = "nodes"


class StaticPod(NamedTuple):
    """A pod of a node.

    Attributes:
        node: The name of the node.
        manifest: The pod in the file; the mirror pod's name has the node's name as a suffix.
    """

    node: str
    manifest: Plain

    @property
    def ref(self) -> ObjectRef:
        """The mirror pod."""
        meta = metadata(self.manifest)
        return ObjectRef(_PODS, f"{text(meta, 'namespace')}/{text(meta, 'name')}-{self.node}")


class StaticPodController:
    """Creates mirror pods of static pods, and recreates deleted ones.

    Args:
        cluster: The cluster state.
        pods: The static pods.
    """

    observes = frozenset({_PODS, _NODES})

    def __init__(self, cluster: ClusterState, pods: Iterable[StaticPod]) -> None:
        self._cluster = cluster
        self._pods = {pod.ref: pod for pod in pods}

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile a deleted mirror pod, and the missing mirror pods of a written node."""
        if write.ref.table == _PODS:
            return (write.ref,) if write.record.is_deleted and write.ref in self._pods else ()
        table = self._cluster.storage.table(_PODS)
        return [ref for ref, pod in self._pods.items() if pod.node == write.ref.name and table.get(ref.key) is None]

    async def reconcile(self, ref: ObjectRef) -> None:
        """Create a missing mirror pod, if its node exists.

        Raises:
            JournalError: It could not be stored.
        """
        pod = self._pods[ref]
        # As the user of the node, which NodeRestriction allows to create mirror pods of that node only.
        user = UserInfo(f"system:node:{pod.node}", groups=("system:nodes", AUTHENTICATED_GROUP))
        client = ObjectClient(self._cluster, KUBELET, user)
        node = client.load(ObjectRef(_NODES, pod.node))
        if node is not None and client.load(ref) is None:
            await client.create(_PODS, ref.namespace, _mirror(pod, node, self._cluster.now()))


def _mirror(pod: StaticPod, node: Plain, now: str) -> Plain:
    """Build the mirror pod, as a kubelet sends it."""
    digest = hashlib.sha256(pod.node.encode() + msgspec.json.encode(pod.manifest)).hexdigest()[:32]
    origin = {"config.hash": digest, "config.mirror": digest, "config.seen": now, "config.source": "file"}
    meta = metadata(pod.manifest)
    owner = {"apiVersion": "v1", "kind": "Node", "name": pod.node, "uid": uid_of(node), "controller": True}
    annotations = {
        **part(meta, "annotations"),
        **{f"kubernetes.io/{name}": value for name, value in origin.items()},
    }
    return {
        "metadata": {**meta, "name": pod.ref.name, "annotations": annotations, "ownerReferences": [owner]},
        "spec": {
            **part(pod.manifest, "spec"),
            "nodeName": pod.node,
            # Evicting a static pod is useless: it would start again on the same node.
            "tolerations": [{"operator": "Exists", "effect": "NoExecute"}],
        },
    }
