"""Writes of the status of pods through the server's verbs, so that watches see them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from masthead_server.controllers.objects import ObjectRef
from masthead_server.kubelet.container_states import Transition
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.kubelet.container_states import ContainerHealth
    from masthead_server.kubelet.containers import ContainerRef
    from masthead_server.kubelet.nodes import NodeRegistry
    from masthead_server.kubelet.pod_addresses import PodAddresses
    from masthead_server.kubelet.runtime import PodRuntime
    from masthead_server.wire.plain import Plain

__all__ = ["PodWriter"]


class PodWriter:
    """Changes the status of pods.

    Args:
        runtime: The pods.
        client: Writes as the kubelet.
        nodes: The nodes that pods run on.
        first_health: Returns the health of a container that starts.
    """

    def __init__(
        self,
        runtime: PodRuntime,
        client: ObjectClient,
        nodes: NodeRegistry,
        first_health: Callable[[Plain, str], ContainerHealth],
    ) -> None:
        self._runtime = runtime
        self._client = client
        self._nodes = nodes
        self._first_health = first_health

    @cached_property
    def _addresses(self) -> PodAddresses:
        from masthead_server.kubelet.pod_addresses import PodAddresses  # which servers without pods do not need

        return PodAddresses(self._runtime.cluster, self._runtime.served)

    async def update(self, ref: ContainerRef, change: Callable[[Plain], object]) -> None:
        """Change the status of a pod; nothing if it does not exist any more.

        Raises:
            JournalError: The change could not be stored.
        """
        await self._client.update(self.object_ref(ref), change, subresource="status")

    def object_ref(self, ref: ContainerRef) -> ObjectRef:
        """Return where a pod is stored."""
        served = self._runtime.served
        return ObjectRef(served.table, served.key(ref.namespace, ref.pod))

    def first_transition(self, ref: ContainerRef) -> Transition:
        """Return the start of a pod, which gets an address of its node's network.

        Raises:
            StatusFailure: If it does not exist.
        """
        spec = part(self._runtime.find(ref.namespace, ref.pod), "spec")
        network = self._nodes.network_of(text(spec, "nodeName"))
        if spec.get("hostNetwork"):
            return self.transition(network.host_ip, network.host_ip)
        return self.transition(network.host_ip, self._addresses.take(self.object_ref(ref).key, network.pods))

    def transition(self, host_ip: str = "", pod_ip: str = "") -> Transition:
        """Return the context of a change of phase.

        Args:
            host_ip: The address of the node, for a starting pod.
            pod_ip: The address of the pod, likewise.
        """
        cluster = self._runtime.cluster
        return Transition(
            now=cluster.now(),
            host_ip=host_ip,
            pod_ip=pod_ip,
            new_id=lambda: f"containerd://{cluster.new_uid().replace('-', '')}{cluster.new_uid().replace('-', '')}",
            first_health=self._first_health,
        )
