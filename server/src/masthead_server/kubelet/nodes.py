"""The nodes of the kubelet: registration, networks and failures."""

from __future__ import annotations

from functools import cached_property
from itertools import chain, count
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead.errors import ConfigError
from masthead_server.controllers.objects import ObjectClient, ObjectRef, set_or_drop
from masthead_server.storage import JournalError
from masthead_server.wire.failures import StatusFailure, not_found
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.node_templates import NodeSettings, PlannedNode
    from masthead_server.resources.resource import ServedResource
    from masthead_server.storage import Record
    from masthead_server.wire.plain import Plain

__all__ = ["NodeNetwork", "NodeRegistry"]

_NODES: Final = "nodes"
_NOT_READY: Final = "node.kubernetes.io/not-ready"
_READY: Final = b'"type":"Ready"'


class NodeNetwork(NamedTuple):
    """The addresses of a node.

    Attributes:
        host_ip: The address of the node.
        pods: The first address and the size of the pod network.
    """

    host_ip: str
    pods: tuple[int, int]


class NodeRegistry:
    """Registers the nodes of the setting ``nodes``, and tracks failed nodes.

    Args:
        client: Writes as the kubelet.
        settings: The setting ``nodes``.
        on_registered: Called with each registered node.
    """

    def __init__(self, client: ObjectClient, settings: NodeSettings, on_registered: Callable[[Plain], object]) -> None:
        self._client = client
        self._controllers = ObjectClient(client.cluster)
        self._settings = settings
        self._on_registered = on_registered
        self._planned: list[PlannedNode] | None = None
        self._networks: dict[str, NodeNetwork] = {}
        self._postponed: dict[str, list[Callable[[], object]]] = {}
        """Postponed work by failed node."""
        self.on_change: Callable[[str], object] = lambda _: None
        """Called with the name of a node that has failed or recovered."""
        self.has_controller: bool = False
        """Whether the node lifecycle controller runs, which untaints ready nodes and records RegisteredNode."""
        client.cluster.observe(_NODES, self._observe)

    async def register_all(self) -> None:
        """Register the missing nodes, which are ready to run pods.

        Raises:
            ConfigError: If the server refuses a node.
            JournalError: One could not be stored.
        """
        for ordinal, node in enumerate(self._plan()):
            await self._register(ordinal, node)

    async def register_first(self) -> str:
        """Register the first node, unless it exists; return its name, or an empty name without nodes.

        Raises:
            ConfigError: If the server refuses the node.
            JournalError: It could not be stored.
        """
        for node in self._plan():
            await self._register(0, node)
            return node.name
        return ""

    async def adopt(self, name: str) -> None:
        """Post the status of a node that a client created without one.

        Raises:
            JournalError: It could not be stored.
        """
        ref = ObjectRef(_NODES, name)
        record = self._client.cluster.storage.table(ref.table).get(ref.key)
        if record is None or not self.is_without_status(record) or name in self._postponed:
            return
        from masthead_server.kubelet.node_objects import complete_status

        address, now = self._free_address(), self._client.cluster.now()
        await self._client.update(ref, lambda node: complete_status(node, address, now), subresource="status")
        await self._end_registration(ref)

    def is_without_status(self, record: Record) -> bool:
        """Tell whether a node has no status yet."""
        return _READY not in record.value

    def runs(self, name: str) -> bool:
        """Tell whether a node exists and has not failed."""
        table = self._client.cluster.storage.table(_NODES)
        return name not in self._postponed and table.get(name) is not None

    def has_failed(self, name: str) -> bool:
        """Tell whether a node has failed."""
        return name in self._postponed

    def postpone(self, name: str, work: Callable[[], object]) -> bool:
        """Postpone work until a node recovers; return False if the node has not failed."""
        waiting = self._postponed.get(name)
        if waiting is not None:
            waiting.append(work)
        return waiting is not None

    @property
    def failed(self) -> list[str]:
        """The names of the failed nodes."""
        return list(self._postponed)

    def fail(self, name: str) -> None:
        """Stop the kubelet of a node.

        Raises:
            StatusFailure: If there is no such node.
        """
        self._require(name)
        if name not in self._postponed:
            self._postponed[name] = []
            self.on_change(name)

    async def recover(self, name: str) -> None:
        """Restart the kubelet of a failed node, which reports that the node is ready.

        Raises:
            StatusFailure: If there is no such node.
            JournalError: The status could not be stored.
        """
        self._require(name)
        if name not in self._postponed:
            return
        from masthead_server.kubelet.node_objects import report_ready

        waiting, now = self._postponed.pop(name), self._client.cluster.now()
        ref = ObjectRef(_NODES, name)
        await self._client.update(ref, lambda node: report_ready(node, now), subresource="status")
        for work in waiting:
            work()
        self.on_change(name)

    def network_of(self, name: str) -> NodeNetwork:
        """Return the addresses of a node; those of the first node if it has none or does not exist."""
        known = self._networks.get(name)
        if known is None:
            node = self._client.load(ObjectRef(_NODES, name))
            known = _read_network(node or {})
            if node is not None:
                self._networks[name] = known
        return known

    def _require(self, name: str) -> None:
        if self._client.cluster.storage.table(_NODES).get(name) is None:
            raise not_found("", _NODES, name)

    def _plan(self) -> list[PlannedNode]:
        if self._planned is None:
            from masthead_server.node_templates import plan_nodes  # which servers without pods do not need

            self._planned = plan_nodes(self._settings)
        return self._planned

    async def _register(self, ordinal: int, planned: PlannedNode) -> None:
        cluster, ref = self._client.cluster, ObjectRef(_NODES, planned.name)
        if cluster.storage.table(ref.table).get(ref.key) is not None:
            return
        from masthead_server.kubelet.node_objects import node_object, node_status

        # Nodes of a dump may have the addresses already.
        ordinal = self._free_ordinal(ordinal)
        try:
            node = await self._client.create_or_raise(_NODES, "", node_object(ordinal, planned))
        except JournalError:
            raise
        except StatusFailure as failure:
            raise ConfigError(f"nodes: the node {planned.name} is refused: {failure.message}") from None
        status = node_status(ordinal, planned, cluster.now())
        await self._client.update(ref, lambda found: found.update(status=status), subresource="status")
        await self._end_registration(ref)
        self._on_registered(node)

    async def _end_registration(self, ref: ObjectRef) -> None:
        # Admission taints new nodes; the node lifecycle controller removes the taint once they are ready.
        if not self.has_controller:
            await self._controllers.update(ref, _remove_taint)

    @cached_property
    def _used_addresses(self) -> set[str]:
        """The addresses and pod networks of all nodes, read before the kubelet registers or adopts its first node."""
        nodes = [node for _, node in self._client.listed(_NODES)]
        addresses = {text(item, "address") for node in nodes for item in items(part(node, "status"), "addresses")}
        return addresses | {text(part(node, "spec"), "podCIDR") for node in nodes}

    def _free_address(self) -> str:
        from masthead_server.kubelet.node_addresses import host_ip

        return host_ip(self._free_ordinal(len(self._plan())))

    def _free_ordinal(self, first: int) -> int:
        """Return the first ordinal, or one after those of all planned nodes, whose addresses no node has; use it."""
        from masthead_server.kubelet.node_addresses import host_ip, pod_cidr

        ordinals = chain((first,), count(len(self._plan())))
        used = self._used_addresses
        ordinal = next(number for number in ordinals if used.isdisjoint((host_ip(number), pod_cidr(number))))
        used |= {host_ip(ordinal), pod_cidr(ordinal)}
        return ordinal

    def _observe(self, _served: ServedResource, record: Record) -> None:
        self._networks.pop(record.key, None)
        if record.is_deleted:
            self._postponed.pop(record.key, None)


def _read_network(node: Plain) -> NodeNetwork:
    from masthead_server.kubelet.node_addresses import host_ip, network_of

    addresses = items(part(node, "status"), "addresses")
    internal = [text(item, "address") for item in addresses if text(item, "type") == "InternalIP"]
    return NodeNetwork(internal[0] if internal else host_ip(0), network_of(text(part(node, "spec"), "podCIDR")))


def _remove_taint(node: Plain) -> None:
    spec = part(node, "spec")
    set_or_drop(spec, "taints", [taint for taint in items(spec, "taints") if text(taint, "key") != _NOT_READY])
