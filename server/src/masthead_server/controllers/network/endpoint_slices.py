"""The EndpointSlice controller: lists the addresses of a Service's pods, at most a hundred in a slice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.controllers.events import WARNING, ServerEventRecorder, reference_to
from masthead_server.controllers.network.service_index import ServiceIndex
from masthead_server.controllers.network.service_pods import (
    address_of,
    copy_labels,
    is_candidate,
    ports_of,
    target_reference,
)
from masthead_server.controllers.network.slice_plan import (
    MANAGED_BY,
    SERVICE_NAME,
    PlannedSlice,
    PortGroup,
    plan_slices,
    port_key,
    slice_of,
)
from masthead_server.controllers.network.traffic_hints import add_hints, distribution_of, needs_hints
from masthead_server.controllers.network.trigger_times import TriggerTimes
from masthead_server.controllers.objects import ObjectRef, uid_of
from masthead_server.controllers.workloads.dependents import DependentIndex
from masthead_server.controllers.workloads.node_eligibility import decode_node
from masthead_server.controllers.workloads.ownership import controller_reference
from masthead_server.wire.plain import Plain, is_being_deleted, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.controllers.pod_index import IndexedPod

__all__ = ["EndpointSliceController"]

_TABLE: Final = "discovery.k8s.io/endpointslices"
_NODES: Final = "nodes"
_SERVICE: Final = ("v1", "Service")
_MANAGER: Final = "endpointslice-controller.k8s.io"
_TRIGGER: Final = "endpoints.kubernetes.io/last-change-trigger-time"
_ZONE: Final = "topology.kubernetes.io/zone"


class EndpointSliceController:
    """Keeps the EndpointSlices of every Service with a selector."""

    observes = frozenset({"services", "pods", _NODES, _TABLE})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._events = ServerEventRecorder(client, "endpoint-slice-controller")
        self._services = ServiceIndex(client)
        self._slices = DependentIndex()
        self._triggers = TriggerTimes()
        self._zones: dict[str, str] = {}
        self._waiting: set[ObjectRef] = set()
        """Services with pods on nodes that do not exist."""

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile the Services of a written Service, pod or slice; a new node retries Services that lacked a node."""
        if write.ref.table == _NODES:
            return self._observe_node(write)
        if write.ref.table == _TABLE:
            self._slices.update(write)
        return self._services.observe(write)

    def _observe_node(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        name = write.ref.name
        if write.record.is_deleted:
            self._zones.pop(name, None)
            return ()
        is_new = name not in self._zones
        self._zones[name] = decode_node(b"{" + write.record.value).metadata.labels.get(_ZONE, "")
        return tuple(self._waiting) if is_new else ()

    async def reconcile(self, ref: ObjectRef) -> None:
        """Write the slices of a Service; the garbage collector removes the slices of a deleted Service.

        Raises:
            JournalError: A change could not be stored.
        """
        service = self._client.load(ref)
        pods = self._services.pods_of(ref)
        self._waiting.discard(ref)
        if service is None or pods is None:
            self._triggers.forget(ref)
            return
        trigger = self._triggers.find(ref, service, pods)
        owned = (self._client.load(found) for found in self._slices.owned_by(uid_of(service)))
        slices = [content for content in owned if content is not None and _is_managed(content)]
        families = part(service, "spec").get("ipFamilies") or ["IPv4"]
        for family in families:
            present = [content for content in slices if text(content, "addressType") == family]
            await self._write_family(ref, service, pods, present, trigger, family)
        for content in slices:
            if text(content, "addressType") not in families:
                await self._delete(ref.namespace, content)
        self._report_missing_nodes(ref, service, pods)

    async def _write_family(
        self,
        ref: ObjectRef,
        service: Plain,
        pods: Mapping[ObjectRef, IndexedPod],
        present: list[Plain],
        trigger: str,
        family: str,
    ) -> None:
        labels = _labels(service)
        groups = self._group(ref, service, pods, family)
        plan = plan_slices(map(slice_of, present), groups, labels)
        distribution = distribution_of(service)
        for unchanged in plan.unchanged:
            if needs_hints(unchanged.endpoints, distribution):
                plan.write.append(PlannedSlice(unchanged.ports, unchanged.endpoints, unchanged.name))
        for planned in plan.write:
            planned.endpoints = add_hints(planned.endpoints, distribution)
        for planned in sorted(plan.write, key=lambda planned: bool(planned.name)):
            if planned.name:
                await self._update(ref.namespace, planned, labels, trigger)
            elif not is_being_deleted(service):
                await self._create(ref, service, planned, labels, trigger, family)
        stored = {text(metadata(content), "name"): content for content in present}
        for name in plan.delete:
            await self._delete(ref.namespace, stored[name])

    def _group(
        self, ref: ObjectRef, service: Plain, pods: Mapping[ObjectRef, IndexedPod], family: str
    ) -> list[PortGroup]:
        """Group the endpoints of pods by their ports; pods without an address still count for their ports."""
        groups: dict[bytes, PortGroup] = {}
        for pod_ref, pod in pods.items():
            if not is_candidate(pod, allows_terminating=True):
                continue
            ports = ports_of(service, pod)
            group = groups.setdefault(port_key(ports), PortGroup(ports))
            endpoint = self._make_endpoint(ref, service, pod_ref, pod, family)
            if endpoint is not None:
                group.endpoints.append(endpoint)
        return list(groups.values())

    def _make_endpoint(
        self, ref: ObjectRef, service: Plain, pod_ref: ObjectRef, pod: IndexedPod, family: str
    ) -> Plain | None:
        """Build the endpoint of a pod; None without an address or a node."""
        includes_unready = part(service, "spec").get("publishNotReadyAddresses") is True
        node = pod.spec.node_name
        if node not in self._zones and not includes_unready:
            return None
        address = address_of(pod, family)
        if not address:
            return None
        conditions = {
            "ready": includes_unready or (pod.is_ready and not pod.is_terminating),
            "serving": pod.is_ready,
            "terminating": pod.is_terminating,
        }
        endpoint: Plain = {
            "addresses": [address],
            "conditions": conditions,
            "targetRef": target_reference(pod_ref, pod),
        }
        if pod.spec.hostname and pod.spec.subdomain == ref.name:
            endpoint["hostname"] = pod.spec.hostname
        if node:
            endpoint["nodeName"] = node
        if self._zones.get(node):
            endpoint["zone"] = self._zones[node]
        return endpoint

    def _report_missing_nodes(self, ref: ObjectRef, service: Plain, pods: Mapping[ObjectRef, IndexedPod]) -> None:
        """Report all pods whose nodes do not exist, in one Event."""
        if part(service, "spec").get("publishNotReadyAddresses") is True:
            return
        problems = [
            f"skipping Pod {pod_ref.name} for Service {ref.key}: Node {pod.spec.node_name} Not Found"
            for pod_ref, pod in pods.items()
            if is_candidate(pod, allows_terminating=True) and pod.spec.node_name not in self._zones
        ]
        if not problems:
            return
        self._waiting.add(ref)
        cause = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        message = f"Error updating Endpoint Slices for Service {ref.key}: {cause}"
        self._events.record(
            reference_to(service, *_SERVICE), "FailedToUpdateEndpointSlices", message, event_type=WARNING
        )

    async def _create(
        self, ref: ObjectRef, service: Plain, planned: PlannedSlice, labels: dict[str, str], trigger: str, family: str
    ) -> None:
        meta: Plain = {
            "generateName": f"{ref.name}-",
            "labels": labels,
            "ownerReferences": [controller_reference(service, *_SERVICE)],
            **({"annotations": {_TRIGGER: trigger}} if trigger else {}),
        }
        content: Plain = {
            "metadata": meta,
            "addressType": family,
            "endpoints": planned.endpoints,
            "ports": planned.ports,
        }
        await self._client.create(_TABLE, ref.namespace, content)

    async def _update(self, namespace: str, planned: PlannedSlice, labels: dict[str, str], trigger: str) -> None:
        def change(found: Plain) -> None:
            meta = metadata(found)
            annotations = {} if planned.is_replaced else dict(part(meta, "annotations"))
            annotations.pop(_TRIGGER, None)
            if trigger:
                annotations[_TRIGGER] = trigger
            meta.pop("annotations", None)
            if annotations:
                meta["annotations"] = annotations
            meta["labels"] = labels
            found.update(endpoints=planned.endpoints, ports=planned.ports)

        await self._client.update(ObjectRef(_TABLE, f"{namespace}/{planned.name}"), change)

    async def _delete(self, namespace: str, content: Plain) -> None:
        name = text(metadata(content), "name")
        await self._client.delete(ObjectRef(_TABLE, f"{namespace}/{name}"), uid_of(content))


def _is_managed(content: Plain) -> bool:
    return part(metadata(content), "labels").get(MANAGED_BY) == _MANAGER


def _labels(service: Plain) -> dict[str, str]:
    return copy_labels(service, {SERVICE_NAME: text(metadata(service), "name"), MANAGED_BY: _MANAGER})
