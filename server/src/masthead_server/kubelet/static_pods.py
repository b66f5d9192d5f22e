"""Static pods: a node runs them from files of its own, and shows them to the API server as mirror pods."""

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
        manifest: The pod in the file; its name gets that of the node appended.
    """

    node: str
    manifest: Plain

    @property
    def ref(self) -> ObjectRef:
        """The mirror pod."""
        meta = metadata(self.manifest)
        return ObjectRef(_PODS, f"{text(meta, 'namespace')}/{text(meta, 'name')}-{self.node}")


class StaticPodController:
    """Creates mirror pods of static pods, and creates deleted ones again.

    Args:
        cluster: The cluster state.
        pods: The static pods.
    """

    observes = frozenset({_PODS, _NODES})

    def __init__(self, cluster: ClusterState, pods: Iterable[StaticPod]) -> None:
        self._cluster = cluster
        self._pods = {pod.ref: pod for pod in pods}

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile a deleted mirror pod, and the missing ones of a node that is written."""
        if write.ref.table == _PODS:
            return (write.ref,) if write.record.is_deleted and write.ref in self._pods else ()
        table = self._cluster.storage.table(_PODS)
        return [ref for ref, pod in self._pods.items() if pod.node == write.ref.name and table.get(ref.key) is None]

    async def reconcile(self, ref: ObjectRef) -> None:
        """Create a mirror pod if there is none and its node exists.

        Raises:
            JournalError: It could not be stored.
        """
        pod = self._pods[ref]
        # With the permissions of the node, whom NodeRestriction allows pods of its own alone.
        user = UserInfo(f"system:node:{pod.node}", groups=("system:nodes", AUTHENTICATED_GROUP))
        client = ObjectClient(self._cluster, KUBELET, user)
        node = client.load(ObjectRef(_NODES, pod.node))
        if node is not None and client.load(ref) is None:
            await client.create(_PODS, ref.namespace, _mirror(pod, node, self._cluster.now()))


def _mirror(pod: StaticPod, node: Plain, now: str) -> Plain:
    """Return the mirror pod, as a kubelet sends it."""
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
            # Problems of the node are no reason to evict what would only start there again.
            "tolerations": [{"operator": "Exists", "effect": "NoExecute"}],
        },
    }
