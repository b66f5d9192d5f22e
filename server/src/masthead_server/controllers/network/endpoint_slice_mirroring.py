"""The EndpointSlice mirroring controller: copies a user's Endpoints of a Service without a selector into slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.controllers.events import WARNING, ServerEventRecorder, reference_to
from masthead_server.controllers.network.mirrored_slices import (
    MAX_MIRRORED,
    Mirrored,
    WantedSlice,
    are_equal,
    mirror,
    plan_mirrors,
)
from masthead_server.controllers.objects import ObjectRef, uid_of
from masthead_server.controllers.workloads.ownership import controller_reference
from masthead_server.wire.plain import Plain, is_being_deleted, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient

__all__ = ["EndpointSliceMirroringController"]

_ENDPOINTS: Final = "endpoints"
_SERVICES: Final = "services"
_SLICES: Final = "discovery.k8s.io/endpointslices"
_KIND: Final = ("v1", "Endpoints")
_MANAGER: Final = "endpointslicemirroring-controller.k8s.io"
_MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
_SERVICE_NAME: Final = "kubernetes.io/service-name"
_SKIP: Final = "endpointslice.kubernetes.io/skip-mirror"
_LEADER: Final = "control-plane.alpha.kubernetes.io/leader"
_NOT_COPIED: Final = frozenset(
    {"endpoints.kubernetes.io/last-change-trigger-time", "kubectl.kubernetes.io/last-applied-configuration"}
)


class EndpointSliceMirroringController:
    """Mirrors the Endpoints of each Service without a selector into EndpointSlices.

    It skips Endpoints with the label ``endpointslice.kubernetes.io/skip-mirror``, and those of a leader election.
    """

    observes = frozenset({_ENDPOINTS, _SERVICES, _SLICES})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._events = ServerEventRecorder(client, "endpoint-slice-mirroring-controller")
        self._services: set[str] = set()
        """Keys of the Services without a selector."""
        self._slices: dict[ObjectRef, ObjectRef] = {}
        """Endpoints by the slice that mirrors them."""
        self._mirrors: dict[ObjectRef, set[ObjectRef]] = {}
        self._reported: dict[ObjectRef, str] = {}
        """The resourceVersion at which skipped addresses of Endpoints were reported."""

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile the Endpoints of a written Service or slice, if they are or may be mirrored."""
        if write.ref.table == _SLICES:
            return self._observe_slice(write)
        ref = ObjectRef(_ENDPOINTS, write.ref.key)
        if write.ref.table == _ENDPOINTS:
            is_relevant = ref.key in self._services or ref in self._mirrors
            return (ref,) if is_relevant else ()
        was_known = ref.key in self._services
        self._services.discard(ref.key)
        if not write.record.is_deleted and not part(part(write.served.load(write.record), "spec"), "selector"):
            self._services.add(ref.key)
        # Only the presence of a selector counts, not ports or other fields.
        return (ref,) if was_known != (ref.key in self._services) else ()

    def _observe_slice(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        before = self._slices.pop(write.ref, None)
        if before is not None:
            self._mirrors[before].discard(write.ref)
            if not self._mirrors[before]:
                del self._mirrors[before]
        after = None if write.record.is_deleted else _mirrored_by(write)
        if after is not None:
            self._slices[write.ref] = after
            self._mirrors.setdefault(after, set()).add(write.ref)
        # Reconciling reverts changes and deletions by other clients.
        return {ref for ref in (before, after) if ref is not None}

    async def reconcile(self, ref: ObjectRef) -> None:
        """Write the slices that mirror Endpoints, or delete them if mirroring no longer applies.

        Raises:
            JournalError: A change could not be stored.
        """
        endpoints = self._client.load(ref)
        stored = {mirror_ref.name: self._client.load(mirror_ref) for mirror_ref in sorted(self._mirrors.get(ref, ()))}
        present = {name: found for name, found in stored.items() if found is not None}
        if endpoints is None or ref.key not in self._services or not _should_mirror(endpoints):
            self._reported.pop(ref, None)
            for name, found in present.items():
                await self._delete(ref.namespace, name, found)
            return
        mirrored = mirror(items(endpoints, "subsets"))
        self._report(endpoints, ref, mirrored)
        plan = plan_mirrors(present, mirrored.slices)
        if not is_being_deleted(endpoints):
            for wanted in plan.create:
                await self._client.create(_SLICES, ref.namespace, _build(endpoints, wanted))
        for name, wanted in plan.keep.items():
            await self._update(endpoints, ref.namespace, present[name], wanted)
        for name in plan.delete:
            await self._delete(ref.namespace, name, present[name])

    def _report(self, endpoints: Plain, ref: ObjectRef, mirrored: Mirrored) -> None:
        """Report the skipped addresses, once for each version of the Endpoints."""
        version = text(metadata(endpoints), "resourceVersion")
        if not mirrored.skipped:
            self._reported.pop(ref, None)
            return
        if self._reported.get(ref) == version:
            return
        self._reported[ref] = version
        involved = reference_to(endpoints, *_KIND)
        if mirrored.invalid:
            message = f"Skipped {mirrored.invalid} invalid IP addresses when mirroring to EndpointSlices"
            self._events.record(involved, "InvalidIPAddress", message, event_type=WARNING)
        if mirrored.skipped > mirrored.invalid:
            message = (
                f"A max of {MAX_MIRRORED} addresses can be mirrored to EndpointSlices per Endpoints subset. "
                f"{mirrored.skipped} addresses were skipped"
            )
            self._events.record(involved, "TooManyAddressesToMirror", message, event_type=WARNING)

    async def _update(self, endpoints: Plain, namespace: str, found: Plain, wanted: WantedSlice) -> None:
        meta = metadata(_build(endpoints, wanted))
        has_same_ports = items(found, "ports") == wanted.ports
        if has_same_ports:
            # kube-controller-manager writes the name only; a slice that gets other ports is written like a new one.
            del meta["generateName"]
        is_same = are_equal(items(found, "endpoints"), wanted.endpoints) and all(
            (metadata(found).get(name) or None) == (meta.get(name) or None) for name in _COPIED
        )
        if is_same and has_same_ports:
            return

        def change(stored: Plain) -> None:
            stored.update(endpoints=wanted.endpoints, ports=wanted.ports)
            kept = {name: value for name, value in metadata(stored).items() if name not in _WRITTEN}
            stored["metadata"] = kept | {name: meta[name] for name in _WRITTEN if meta.get(name)}

        await self._client.update(ObjectRef(_SLICES, f"{namespace}/{text(metadata(found), 'name')}"), change)

    async def _delete(self, namespace: str, name: str, found: Plain) -> None:
        await self._client.delete(ObjectRef(_SLICES, f"{namespace}/{name}"), uid_of(found))


_COPIED: Final = ("labels", "annotations", "ownerReferences")
_WRITTEN: Final = (*_COPIED, "generateName")


def _mirrored_by(write: ObservedWrite) -> ObjectRef | None:
    """Return the Endpoints that a slice mirrors; None if another controller manages it."""
    # Search the JSON text first: most slices belong to Services with a selector.
    if _MANAGER.encode() not in write.record.value:
        return None
    labels = part(part(write.served.load(write.record), "metadata"), "labels")
    name = text(labels, _SERVICE_NAME)
    if labels.get(_MANAGED_BY) != _MANAGER or not name:
        return None
    return ObjectRef(_ENDPOINTS, f"{write.ref.namespace}/{name}")


def _should_mirror(endpoints: Plain) -> bool:
    meta = metadata(endpoints)
    return part(meta, "labels").get(_SKIP) != "true" and _LEADER not in part(meta, "annotations")


def _build(endpoints: Plain, wanted: WantedSlice) -> Plain:
    meta = metadata(endpoints)
    name = text(meta, "name")
    annotations = part(meta, "annotations")
    return {
        "metadata": {
            "generateName": f"{name}-",
            "labels": {**part(meta, "labels"), _SERVICE_NAME: name, _MANAGED_BY: _MANAGER},
            "annotations": {key: value for key, value in annotations.items() if key not in _NOT_COPIED},
            "ownerReferences": [controller_reference(endpoints, *_KIND)],
        },
        "addressType": wanted.address_type,
        "endpoints": wanted.endpoints,
        "ports": wanted.ports,
    }
