"""The Endpoints controller: lists the addresses of a Service's pods in one object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.controllers.network.service_index import ServiceIndex
from masthead_server.controllers.network.service_pods import (
    address_of,
    copy_labels,
    is_candidate,
    is_headless,
    ports_of,
    target_reference,
)
from masthead_server.controllers.network.subsets import repack_subsets
from masthead_server.controllers.network.trigger_times import TriggerTimes
from masthead_server.controllers.objects import ObjectRef, set_or_drop, uid_of
from masthead_server.wire.plain import Plain, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.controllers.pod_index import IndexedPod

__all__ = ["EndpointsController", "pack_subsets"]

_TABLE: Final = "endpoints"
_MANAGED_BY: Final = {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}
_TRIGGER: Final = "endpoints.kubernetes.io/last-change-trigger-time"
_OVER_CAPACITY: Final = "endpoints.kubernetes.io/over-capacity"
_CAPACITY: Final = 1000
"""The maximum number of addresses in an object."""


class EndpointsController:
    """Keeps the Endpoints of every Service with a selector."""

    observes = frozenset({"services", "pods", _TABLE})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._services = ServiceIndex(client)
        self._triggers = TriggerTimes()

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile the Services of a written Service, pod or Endpoints."""
        return self._services.observe(write)

    async def reconcile(self, ref: ObjectRef) -> None:
        """Write the Endpoints of a Service.

        Raises:
            JournalError: A change could not be stored.
        """
        service = self._client.load(ref)
        target = ObjectRef(_TABLE, ref.key)
        stored = self._client.load(target)
        if service is None:
            self._triggers.forget(ref)
            if stored is not None:
                await self._client.delete(target, uid_of(stored))
            return
        pods = self._services.pods_of(ref)
        if pods is None:
            return
        trigger = self._triggers.find(ref, service, pods)
        subsets, is_truncated = _limit(pack_subsets(service, pods))
        labels = copy_labels(service, _MANAGED_BY)
        if stored is None:
            content: Plain = {"metadata": {"name": ref.name, "labels": labels}, "subsets": subsets}
            _annotate(metadata(content), trigger, is_truncated=is_truncated)
            await self._client.create(_TABLE, ref.namespace, content)
            return
        was_truncated = part(metadata(stored), "annotations").get(_OVER_CAPACITY) == "truncated"
        is_same = items(stored, "subsets") == subsets and part(metadata(stored), "labels") == labels
        if not is_same or was_truncated != is_truncated:

            def change(found: Plain) -> None:
                set_or_drop(found, "subsets", subsets)
                metadata(found)["labels"] = labels
                _annotate(metadata(found), trigger, is_truncated=is_truncated)

            await self._client.update(target, change)


def pack_subsets(service: Plain, pods: Mapping[ObjectRef, IndexedPod]) -> list[Plain]:
    """Group the ready and not-ready addresses of pods by port."""
    spec = part(service, "spec")
    includes_unready = spec.get("publishNotReadyAddresses") is True
    family = next(iter(spec.get("ipFamilies") or ()), "IPv4")
    has_ports = bool(items(spec, "ports"))
    found: list[Plain] = []
    for ref, pod in pods.items():
        address = address_of(pod, family)
        if not address or not is_candidate(pod, allows_terminating=includes_unready):
            continue
        ports = ports_of(service, pod)
        if (has_ports and not ports) or (not has_ports and not is_headless(service)):
            continue
        kind = "addresses" if includes_unready or pod.is_ready else "notReadyAddresses"
        without_empty = [{name: value for name, value in port.items() if value != ""} for port in ports]
        found.append({kind: [_make_address(service, ref, pod, address)], "ports": without_empty})
    return repack_subsets(found)


def _make_address(service: Plain, ref: ObjectRef, pod: IndexedPod, address: str) -> Plain:
    entry: Plain = {"ip": address}
    if pod.spec.hostname and pod.spec.subdomain == text(metadata(service), "name"):
        entry["hostname"] = pod.spec.hostname
    if pod.spec.node_name:
        entry["nodeName"] = pod.spec.node_name
    return {**entry, "targetRef": target_reference(ref, pod)}


def _limit(subsets: list[Plain]) -> tuple[list[Plain], bool]:
    """Drop addresses above the capacity, not-ready addresses first."""
    total = sum(len(items(subset, kind)) for subset in subsets for kind in ("addresses", "notReadyAddresses"))
    surplus = total - _CAPACITY
    for kind in ("notReadyAddresses", "addresses"):
        for subset in reversed(subsets):
            dropped = min(max(surplus, 0), len(items(subset, kind)))
            if dropped:
                subset[kind] = subset[kind][:-dropped]
                surplus -= dropped
                if not subset[kind]:
                    del subset[kind]
    return subsets, total > _CAPACITY


def _annotate(meta: Plain, trigger: str, *, is_truncated: bool) -> None:
    annotations = {
        key: value for key, value in part(meta, "annotations").items() if key not in {_TRIGGER, _OVER_CAPACITY}
    }
    if trigger:
        annotations[_TRIGGER] = trigger
    if is_truncated:
        annotations[_OVER_CAPACITY] = "truncated"
    meta.pop("annotations", None)
    if annotations:
        meta["annotations"] = annotations
