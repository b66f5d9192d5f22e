"""The nodes of the kubelet, registered at the start of the server; a single one at the latest with its first pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead.errors import ConfigError
from masthead_server.controllers.objects import ObjectClient, ObjectRef, set_or_drop
from masthead_server.storage import JournalError
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.node_templates import NodeSettings, PlannedNode
    from masthead_server.wire.plain import Plain

__all__ = ["NodeRegistry"]

_NOT_READY: Final = "node.kubernetes.io/not-ready"


class NodeRegistry:
    """Registers the nodes that a setting describes.

    Args:
        client: Writes as the kubelet.
        settings: The setting ``nodes``.
        on_registered: Called with each node that was registered.
    """

    def __init__(self, client: ObjectClient, settings: NodeSettings, on_registered: Callable[[Plain], object]) -> None:
        self._client = client
        self._controllers = ObjectClient(client.cluster)
        self._settings = settings
        self._on_registered = on_registered
        self._planned: list[PlannedNode] | None = None

    async def register_all(self) -> None:
        """Register the nodes that do not exist; they are ready, and take pods.

        Raises:
            ConfigError: If the server refuses one.
            JournalError: One could not be stored.
        """
        for ordinal, node in enumerate(self._plan()):
            await self._register(ordinal, node)

    async def register_first(self) -> str:
        """Register the first node, unless it exists; returns its name, or nothing if there is none.

        Raises:
            ConfigError: If the server refuses it.
            JournalError: It could not be stored.
        """
        for node in self._plan():
            await self._register(0, node)
            return node.name
        return ""

    def _plan(self) -> list[PlannedNode]:
        if self._planned is None:
            from masthead_server.node_templates import plan_nodes  # which servers without pods do not need

            self._planned = plan_nodes(self._settings)
        return self._planned

    async def _register(self, ordinal: int, planned: PlannedNode) -> None:
        cluster, ref = self._client.cluster, ObjectRef("nodes", planned.name)
        if cluster.storage.table(ref.table).get(ref.key) is not None:
            return
        from masthead_server.kubelet.node_objects import node_object, node_status

        try:
            node = await self._client.create_or_raise("nodes", "", node_object(ordinal, planned))
        except JournalError:
            raise
        except StatusFailure as failure:
            raise ConfigError(f"nodes: the node {planned.name} is refused: {failure.message}") from None
        status = node_status(ordinal, planned, cluster.now())
        await self._client.update(ref, lambda found: found.update(status=status), subresource="status")
        # Admission taints new nodes; when they are ready, the node lifecycle controller removes that.
        await self._controllers.update(ref, _remove_taint)
        self._on_registered(node)


def _remove_taint(node: Plain) -> None:
    spec = part(node, "spec")
    set_or_drop(spec, "taints", [taint for taint in items(spec, "taints") if text(taint, "key") != _NOT_READY])
