"""The node lifecycle controller: detects nodes without heartbeats, and taints unhealthy nodes."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from masthead_server.controllers.events import WARNING, ServerEventRecorder, reference_to
from masthead_server.controllers.node_lifecycle.assignments import assigned_node, pods_on
from masthead_server.controllers.node_lifecycle.node_health import (
    NodeHealth,
    condition_status,
    grace_period,
    mark_unknown,
)
from masthead_server.controllers.node_lifecycle.node_taints import (
    NOT_READY,
    UNREACHABLE,
    complete_labels,
    has_no_execute,
    lacks_labels,
    missing_taints,
    no_execute_for,
    remove_no_execute,
    set_no_execute,
    set_no_schedule,
)
from masthead_server.controllers.node_lifecycle.zones import Zone, ZoneState, eviction_rate, is_excluded, zone_of
from masthead_server.controllers.objects import ObjectRef, uid_of
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.wire.plain import Plain

__all__ = ["NodeLifecycleController"]

_NODES: Final = "nodes"
_LEASES: Final = "coordination.k8s.io/leases"
_LEASE_NAMESPACE: Final = "kube-node-lease"


class NodeLifecycleController:
    """Sets the conditions of nodes without heartbeats to Unknown, and derives taints from conditions.

    A heartbeat is a new time in the condition Ready or in the Lease of a node. A running simulated kubelet needs no
    heartbeats.
    """

    observes = frozenset({_NODES, "pods", _LEASES})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._clock = client.cluster.clock
        self.has_kubelet: Callable[[str], bool] = lambda _: False
        """Tells whether the simulated kubelet of a node runs."""
        # An earlier run of the server has reported the stored nodes.
        self._uids: dict[str, str] = {ref.name: uid_of(node) for ref, node in client.listed(_NODES)}
        self._zone_names: dict[str, str] = {}
        self._zones: dict[str, Zone] = {}
        self._health: dict[str, NodeHealth] = {}
        self._unready: set[str] = set()
        self._is_disrupted = False
        """Whether no node of the cluster is ready, which stops evictions."""

    @cached_property
    def _recorder(self) -> ServerEventRecorder:
        return ServerEventRecorder(self._client, "node-controller")

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile nodes, and pods that are bound to nodes that are not ready."""
        ref = write.ref
        if ref.table == _NODES:
            return (ref,)
        if ref.table == _LEASES:
            return self._observe_lease(ref)
        if not self._unready or write.record.is_deleted:
            return ()
        node = assigned_node(write.record)
        return (ref,) if node in self._unready and node != assigned_node(write.record.before) else ()

    def _observe_lease(self, ref: ObjectRef) -> Iterable[ObjectRef]:
        if ref.namespace != _LEASE_NAMESPACE or ref.name not in self._uids or self.has_kubelet(ref.name):
            return ()
        # Record the time only: reconciling a healthy node after each renewal would be expensive.
        self._record_heartbeat(ref.name)
        return (ObjectRef(_NODES, ref.name),) if ref.name in self._unready else ()

    async def reconcile(self, ref: ObjectRef) -> float | None:
        """Update the conditions and taints of a node; or mark a pod of an unhealthy node as not ready.

        Raises:
            JournalError: A change could not be stored.
        """
        if ref.table == "pods":
            await self._mark_pod(ref)
            return None
        node = self._client.load(ref)
        if node is None:
            self._forget(ref.name)
            return await self._taint_queued()
        self._register(ref.name, node)
        silence = await self._check_heartbeat(ref, node)
        node = self._client.load(ref)
        if node is None:
            return None
        if missing_taints(node) or lacks_labels(node):
            await self._client.update(ref, partial(_refresh, now=self._client.cluster.now()))
        await self._queue(ref, node)
        await self._judge_zones(ref.name, node)
        waiting = await self._taint_queued()
        return min((delay for delay in (silence, waiting) if delay is not None), default=None)

    def _register(self, name: str, node: Plain) -> None:
        uid = uid_of(node)
        if self._uids.get(name) != uid:
            if name in self._uids:
                self._forget(name)
            self._uids[name] = uid
            self._report(name, "RegisteredNode", f"Node {name} event: Registered Node {name} in Controller")
        zone = zone_of(node)
        if self._zone_names.get(name) != zone:
            self._leave_zone(name)
            self._zone_names[name] = zone
            self._zones.setdefault(zone, Zone())

    def _forget(self, name: str) -> None:
        if name in self._uids:
            self._report(name, "RemovingNode", f"Node {name} event: Removing Node {name} from Controller")
            del self._uids[name]
        self._leave_zone(name)
        self._health.pop(name, None)
        self._unready.discard(name)

    def _leave_zone(self, name: str) -> None:
        zone_name = self._zone_names.pop(name, None)
        if zone_name is None:
            return
        zone = self._zones[zone_name]
        zone.ready.pop(name, None)
        zone.queue.pop(name, None)
        if zone_name not in self._zone_names.values():
            del self._zones[zone_name]

    def _report(self, name: str, reason: str, message: str) -> None:
        involved: Plain = {"kind": "Node", "name": name, "uid": self._uids[name], "apiVersion": "v1"}
        self._recorder.record(involved, reason, message)

    def _record_heartbeat(self, name: str, node: Plain | None = None) -> NodeHealth | None:
        node = node or self._client.load(ObjectRef(_NODES, name))
        if node is None:
            return None
        now = self._clock.now()
        health = self._health.get(name)
        if health is None:
            health = self._health[name] = NodeHealth.first(node, now)
        health.record(node, self._client.load(ObjectRef(_LEASES, f"{_LEASE_NAMESPACE}/{name}")), now)
        return health

    async def _check_heartbeat(self, ref: ObjectRef, node: Plain) -> float | None:
        """Set the conditions of a silent node to Unknown; return the seconds left of its grace period."""
        if self.has_kubelet(ref.name):
            self._health.pop(ref.name, None)
            return None
        health = self._record_heartbeat(ref.name, node)
        before = condition_status(node)
        if health is None or before == "Unknown":
            return None
        now = self._clock.now()
        remaining = grace_period(node) - (now - health.probed).total_seconds()
        if remaining > 0:
            return remaining
        change = partial(mark_unknown, now=self._client.cluster.now())
        if await self._client.update(ref, change, subresource="status") and before == "True":
            self._report(ref.name, "NodeNotReady", f"Node {ref.name} status is now: NodeNotReady")
            for pod_ref, _ in list(pods_on(self._client, ref.name)):
                await self._mark_pod(pod_ref)
        return None

    async def _mark_pod(self, ref: ObjectRef) -> None:
        """Set the condition Ready of a pod to False, because its node is not ready."""
        pod = self._client.load(ref)
        if pod is None or condition_status(pod) != "True":
            return
        now = self._client.cluster.now()

        def mark(found: Plain) -> None:
            for condition in items(part(found, "status"), "conditions"):
                if text(condition, "type") == "Ready":
                    condition |= {"status": "False", "lastTransitionTime": now}

        if await self._client.update(ref, mark, subresource="status"):
            self._recorder.record(
                reference_to(pod, "v1", "Pod"), "NodeNotReady", "Node is not ready", event_type=WARNING
            )

    async def _queue(self, ref: ObjectRef, node: Plain) -> None:
        """Queue an unhealthy node for its NoExecute taint; remove the taint of a ready node immediately."""
        ready, zone = condition_status(node), self._zones[self._zone_names[ref.name]]
        key = no_execute_for(ready)
        if not key:
            self._unready.discard(ref.name)
            zone.queue.pop(ref.name, None)
            if ready == "True" and has_no_execute(node, NOT_READY, UNREACHABLE):
                await self._client.update(ref, remove_no_execute)
            return
        self._unready.add(ref.name)
        if has_no_execute(node, UNREACHABLE if key == NOT_READY else NOT_READY):
            # Exchanging the taints bypasses the rate limit: it evicts no further pods.
            await self._client.update(ref, partial(set_no_execute, key=key, now=self._client.cluster.now()))
        elif not has_no_execute(node, key):
            zone.add(ref.name, self._clock.now())

    async def _judge_zones(self, name: str, node: Plain) -> None:
        zone = self._zones[self._zone_names[name]]
        if is_excluded(node):
            zone.ready.pop(name, None)
        else:
            zone.ready[name] = condition_status(node) == "True"
        judged = [zone for zone in self._zones.values() if zone.ready]
        is_disrupted = bool(judged) and all(zone.state is ZoneState.FULL for zone in judged)
        if is_disrupted and not self._is_disrupted:
            # If no node is ready, the controller's own network is the likely cause.
            await self._untaint_all()
        elif self._is_disrupted and not is_disrupted:
            self._restart_grace()
        self._is_disrupted = is_disrupted
        for zone in judged:
            zone.swap_rate(0.0 if is_disrupted else eviction_rate(zone.state, len(zone.ready)))

    async def _untaint_all(self) -> None:
        for zone in self._zones.values():
            zone.queue.clear()
        for ref, node in list(self._client.listed(_NODES, containing=[b'"NoExecute"'])):
            if has_no_execute(node, NOT_READY, UNREACHABLE):
                await self._client.update(ref, remove_no_execute)

    def _restart_grace(self) -> None:
        now = self._clock.now()
        for health in self._health.values():
            health.probed = now
        # `_untaint_all` has emptied the queues.
        for name in self._unready:
            self._zones[self._zone_names[name]].add(name, now)

    async def _taint_queued(self) -> float | None:
        """Taint the queued nodes that the rate allows; return the seconds until the next."""
        now = self._clock.now()
        for zone in self._zones.values():
            while name := zone.take(now):
                await self._taint(ObjectRef(_NODES, name))
        delays = (zone.delay(now) for zone in self._zones.values())
        return min((delay for delay in delays if delay is not None), default=None)

    async def _taint(self, ref: ObjectRef) -> None:
        node = self._client.load(ref)
        key = "" if node is None else no_execute_for(condition_status(node))
        if key:
            await self._client.update(ref, partial(set_no_execute, key=key, now=self._client.cluster.now()))


def _refresh(node: Plain, now: str) -> None:
    metadata(node)
    set_no_schedule(node, now)
    complete_labels(node)
