"""The EndpointSlice controller: the addresses of a Service's pods, a hundred in a slice."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from masthead_server.controllers.events import WARNING, ServerEventRecorder, reference_to
from masthead_server.controllers.network.service_index import ServiceIndex
from masthead_server.controllers.network.service_pods import (
    address_of,
    copy_labels,
    is_candidate,
    is_headless,
    ports_of,
    target_reference,
)
from masthead_server.controllers.network.trigger_times import TriggerTimes
from masthead_server.controllers.objects import ObjectRef, uid_of
from masthead_server.controllers.workloads.dependents import DependentIndex
from masthead_server.controllers.workloads.node_eligibility import decode_node
from masthead_server.controllers.workloads.ownership import controller_reference
from masthead_server.wire.plain import Plain, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.controllers.pod_index import IndexedPod

__all__ = ["EndpointSliceController", "SlicePlan", "plan_slices"]

_TABLE: Final = "discovery.k8s.io/endpointslices"
_NODES: Final = "nodes"
_SERVICE: Final = ("v1", "Service")
_MANAGER: Final = "endpointslice-controller.k8s.io"
_MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
_SERVICE_NAME: Final = "kubernetes.io/service-name"
_TRIGGER: Final = "endpoints.kubernetes.io/last-change-trigger-time"
_ZONE: Final = "topology.kubernetes.io/zone"
_MAX_ENDPOINTS: Final = 100


@dataclass(slots=True)
class SlicePlan:
    """The next writes of slices with the same ports.

    Attributes:
        update: The endpoints of slices that change, by name.
        delete: The names of slices that are empty.
        create: The endpoints of each new slice.
    """

    update: dict[str, list[Plain]] = field(default_factory=dict[str, list[Plain]])
    delete: list[str] = field(default_factory=list[str])
    create: list[list[Plain]] = field(default_factory=list[list[Plain]])


def plan_slices(stored: Mapping[str, list[Plain]], wanted: Iterable[Plain]) -> SlicePlan:
    """Plan slices for endpoints: those in a slice stay there, new ones fill the fullest slices first.

    Args:
        stored: The endpoints of the present slices, by name.
        wanted: The endpoints that there should be.
    """
    plan, missing = SlicePlan(), {_identity(endpoint): endpoint for endpoint in wanted}
    kept: dict[str, list[Plain]] = {}
    for name, endpoints in stored.items():
        known = (_identity(endpoint) for endpoint in endpoints)
        kept[name] = [missing.pop(identity) for identity in known if identity in missing]
    new = list(missing.values())
    for name in sorted(kept, key=lambda name: -len(kept[name])):
        room = _MAX_ENDPOINTS - len(kept[name])
        kept[name] += new[:room]
        new = new[room:]
    for name, endpoints in kept.items():
        if not endpoints:
            plan.delete.append(name)
        elif endpoints != stored[name]:
            plan.update[name] = endpoints
    plan.create = [new[start : start + _MAX_ENDPOINTS] for start in range(0, len(new), _MAX_ENDPOINTS)]
    return plan


def _identity(endpoint: Plain) -> tuple[str, str]:
    return text(part(endpoint, "targetRef"), "uid"), endpoint["addresses"][0]


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
        """Services with pods of nodes that do not exist."""

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile the Services of a written Service, pod or slice; after a new node, those that wait for one."""
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
        """Write the slices of a Service; the garbage collector removes those of a deleted one.

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
        for family in part(service, "spec").get("ipFamilies") or ["IPv4"]:
            await self._write_family(ref, service, pods, family, trigger)

    async def _write_family(
        self, ref: ObjectRef, service: Plain, pods: Mapping[ObjectRef, IndexedPod], family: str, trigger: str
    ) -> None:
        stored = self._load_slices(service, ref.namespace, family)
        wanted: dict[bytes, tuple[list[Plain], list[Plain]]] = {}
        for pod_ref, pod in pods.items():
            endpoint = self._make_endpoint(ref, service, pod_ref, pod, family)
            if endpoint is not None:
                ports = ports_of(service, pod)
                wanted.setdefault(_hash(ports), (ports, []))[1].append(endpoint)
        # A Service without endpoints has one empty slice, by which clients know that it has been looked at.
        if not wanted:
            wanted[_hash([])] = ([], [])
        by_ports: dict[bytes, dict[str, list[Plain]]] = {key: {} for key in wanted}
        for name, content in stored.items():
            key = _hash(items(content, "ports"))
            if key in by_ports:
                by_ports[key][name] = items(content, "endpoints")
            else:
                await self._delete(ref.namespace, name, content)
        for key, (ports, endpoints) in wanted.items():
            plan = plan_slices(by_ports[key], endpoints)
            if not endpoints:
                plan = SlicePlan(delete=plan.delete[1:], create=[] if by_ports[key] else [[]])
            await self._perform(ref, service, stored, plan, ports, family, trigger)
        await self._update_labels(ref, service, family)

    def _make_endpoint(
        self, ref: ObjectRef, service: Plain, pod_ref: ObjectRef, pod: IndexedPod, family: str
    ) -> Plain | None:
        """Return the endpoint of a pod; None if it has none."""
        includes_unready = part(service, "spec").get("publishNotReadyAddresses") is True
        address = address_of(pod, family)
        if not address or not is_candidate(pod, allows_terminating=True):
            return None
        if not items(part(service, "spec"), "ports") and not is_headless(service):
            return None
        node = pod.spec.node_name
        if node not in self._zones and not includes_unready:
            self._report_missing_node(ref, service, pod_ref, node)
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

    def _report_missing_node(self, ref: ObjectRef, service: Plain, pod: ObjectRef, node: str) -> None:
        self._waiting.add(ref)
        problem = f"skipping Pod {pod.name} for Service {ref.key}: Node {node} Not Found"
        message = f"Error updating Endpoint Slices for Service {ref.key}: {problem}"
        self._events.record(
            reference_to(service, *_SERVICE), "FailedToUpdateEndpointSlices", message, event_type=WARNING
        )

    def _load_slices(self, service: Plain, namespace: str, family: str) -> dict[str, Plain]:
        found = (self._client.load(ref) for ref in self._slices.owned_by(uid_of(service)))
        ours = (
            content
            for content in found
            if content is not None
            and text(content, "addressType") == family
            and part(metadata(content), "labels").get(_MANAGED_BY) == _MANAGER
            and text(metadata(content), "namespace") == namespace
        )
        return {text(metadata(content), "name"): content for content in ours}

    async def _perform(
        self,
        ref: ObjectRef,
        service: Plain,
        stored: Mapping[str, Plain],
        plan: SlicePlan,
        ports: list[Plain],
        family: str,
        trigger: str,
    ) -> None:
        annotations = {_TRIGGER: trigger} if trigger else {}
        for endpoints in plan.create:
            meta: Plain = {
                "generateName": f"{ref.name}-",
                "labels": self._labels(service),
                "ownerReferences": [controller_reference(service, *_SERVICE)],
                **({"annotations": annotations} if annotations else {}),
            }
            content: Plain = {"metadata": meta, "addressType": family, "endpoints": endpoints, "ports": ports}
            await self._client.create(_TABLE, ref.namespace, content)
        for name, endpoints in plan.update.items():

            def change(found: Plain, endpoints: list[Plain] = endpoints) -> None:
                found["endpoints"] = endpoints
                metadata(found)["annotations"] = {**part(metadata(found), "annotations"), **annotations}

            await self._client.update(ObjectRef(_TABLE, f"{ref.namespace}/{name}"), change)
        for name in plan.delete:
            await self._delete(ref.namespace, name, stored[name])

    async def _update_labels(self, ref: ObjectRef, service: Plain, family: str) -> None:
        """Bring the labels of all slices in line with those of their Service."""
        labels = self._labels(service)
        for name, content in self._load_slices(service, ref.namespace, family).items():
            if part(metadata(content), "labels") != labels:
                slice_ref = ObjectRef(_TABLE, f"{ref.namespace}/{name}")
                await self._client.update(slice_ref, lambda found: metadata(found).update(labels=labels))

    def _labels(self, service: Plain) -> dict[str, str]:
        name = text(metadata(service), "name")
        return copy_labels(service, {_SERVICE_NAME: name, _MANAGED_BY: _MANAGER})

    async def _delete(self, namespace: str, name: str, content: Plain) -> None:
        await self._client.delete(ObjectRef(_TABLE, f"{namespace}/{name}"), uid_of(content))


def _hash(ports: list[Plain]) -> bytes:
    return msgspec.json.encode(ports, order="sorted")
