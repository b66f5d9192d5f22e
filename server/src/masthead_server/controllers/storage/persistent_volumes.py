"""The persistent volume controller: binds claims, provisions missing volumes, and reclaims released ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead_server.controllers.events import NORMAL, WARNING, ServerEventRecorder, reference_to
from masthead_server.controllers.objects import ObjectRef, uid_of
from masthead_server.controllers.storage.claim_users import ClaimUsers
from masthead_server.controllers.storage.provisioner import (
    LOCAL_PATH,
    NO_PROVISIONER,
    PROVISIONED_BY,
    make_volume,
    reference_to_claim,
)
from masthead_server.controllers.storage.volume_matching import capacity_of, choose_volume, is_claimed_by, request_of
from masthead_server.controllers.storage.volume_topology import choose_topology, topology_keys_of
from masthead_server.controllers.workloads.node_eligibility import decode_node
from masthead_server.wire.plain import Plain, is_being_deleted, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.controllers.workloads.node_eligibility import NodeFacts

__all__ = ["PersistentVolumeController"]

_CLAIMS: Final = "persistentvolumeclaims"
_VOLUMES: Final = "persistentvolumes"
_PODS: Final = "pods"
_CLASSES: Final = "storage.k8s.io/storageclasses"
_CSI_NODES: Final = "storage.k8s.io/csinodes"
_CLAIM_KIND: Final = ("v1", "PersistentVolumeClaim")
_VOLUME_KIND: Final = ("v1", "PersistentVolume")
_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
_SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
_STORAGE_PROVISIONERS: Final[tuple[str, ...]] = (
    "volume.beta.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/storage-provisioner",
)


class PersistentVolumeController:
    """Binds each claim to a matching volume, or provisions one from its StorageClass. Volumes hold no data."""

    observes = frozenset({_CLAIMS, _VOLUMES, _PODS, _CLASSES})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._events = ServerEventRecorder(client, "persistentvolume-controller")
        self._users = ClaimUsers()
        self._unbound: set[ObjectRef] = set()
        """Unbound claims, retried after any write of a volume or class, and after a write of their pods."""

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile a written claim or volume, and the unbound claims that the write may bind."""
        ref = write.ref
        if ref.table == _PODS:
            return tuple(self._users.update(write) & self._unbound)
        if ref.table == _CLASSES:
            return tuple(self._unbound)
        if ref.table == _VOLUMES:
            return (ref, *self._claims_of(write), *self._unbound)
        # A deleted claim releases its volume.
        volume = text(part(write.served.load(write.record), "spec"), "volumeName")
        return (ref, ObjectRef(_VOLUMES, volume)) if volume else (ref,)

    def _claims_of(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        reference = part(part(write.served.load(write.record), "spec"), "claimRef")
        if reference:
            yield ObjectRef(_CLAIMS, f"{text(reference, 'namespace')}/{text(reference, 'name')}")

    async def reconcile(self, ref: ObjectRef) -> None:
        """Bind a claim, or release and reclaim a volume.

        Raises:
            JournalError: A change could not be stored.
        """
        found = self._client.load(ref)
        if found is None:
            self._unbound.discard(ref)
        elif ref.table == _VOLUMES:
            await self._reconcile_volume(ref, found)
        elif _COMPLETED in part(metadata(found), "annotations"):
            self._unbound.discard(ref)
            await self._reconcile_bound_claim(ref, found)
        else:
            self._unbound.add(ref)
            await self._reconcile_new_claim(ref, found)

    async def _reconcile_new_claim(self, ref: ObjectRef, claim: Plain) -> None:
        named = text(part(claim, "spec"), "volumeName")
        if named:
            volume = self._load_volume(named)
            if volume is not None and (is_claimed_by(volume, claim) or not part(part(volume, "spec"), "claimRef")):
                await self._bind(ref, claim, volume)
                return
            await self._set_claim_phase(ref, claim, "Pending")
            return
        storage_class = self._load_class(claim)
        node = self._selected_node(ref, claim)
        is_delayed = text(storage_class or {}, "volumeBindingMode") == "WaitForFirstConsumer" and not node
        volumes = [volume for _, volume in self._client.listed(_VOLUMES)]
        chosen = choose_volume(claim, volumes, self._load_node(node), is_delayed=is_delayed)
        if chosen is not None:
            await self._bind(ref, claim, chosen)
            return
        # Before the Event: its involvedObject carries the resourceVersion of this write.
        await self._set_claim_phase(ref, claim, "Pending")
        if is_delayed:
            self._report_waiting(ref, claim)
        elif text(part(claim, "spec"), "storageClassName"):
            await self._provision(ref, claim, storage_class, node)
        else:
            message = "no persistent volumes available for this claim and no storage class is set"
            self._report(claim, NORMAL, "FailedBinding", message)

    def _report_waiting(self, ref: ObjectRef, claim: Plain) -> None:
        pods = self._users.pods_of(ref)
        if pods:
            message = f"waiting for pod {min(pod.name for pod in pods)} to be scheduled"
            self._report(claim, NORMAL, "WaitForPodScheduled", message)
        else:
            message = "waiting for first consumer to be created before binding"
            self._report(claim, NORMAL, "WaitForFirstConsumer", message)

    async def _provision(self, ref: ObjectRef, claim: Plain, storage_class: Plain | None, node: str) -> None:
        name = text(part(claim, "spec"), "storageClassName")
        if storage_class is None:
            message = f"storageclass.storage.k8s.io {quoted(name)} not found"
            self._report(claim, WARNING, "ProvisioningFailed", message)
            return
        provisioner = text(storage_class, "provisioner")
        if provisioner == NO_PROVISIONER:
            message = f"no volume plugin matched name: {NO_PROVISIONER}"
            self._report(claim, WARNING, "ProvisioningFailed", message)
            return
        added: dict[str, str] = dict.fromkeys(_STORAGE_PROVISIONERS, provisioner)
        if node and text(storage_class, "volumeBindingMode") == "WaitForFirstConsumer":
            added[_SELECTED_NODE] = node
        await self._client.update(ref, lambda found: _annotate(found, added))
        message = (
            f"Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the "
            "system administrator. If volume creation is delayed, please verify that the provisioner is running and "
            "correctly registered."
        )
        self._report(claim, NORMAL, "ExternalProvisioning", message)
        topology = self._choose_topology(storage_class, node if _SELECTED_NODE in added else "")
        content = make_volume(claim, storage_class, topology)
        volume = await self._client.create(_VOLUMES, "", content)
        if volume is None:
            return
        volume_name = text(metadata(volume), "name")
        self._report(claim, NORMAL, "ProvisioningSucceeded", f"Successfully provisioned volume {volume_name}")

    def _choose_topology(self, storage_class: Plain, node: str) -> dict[str, str]:
        """Choose the labels of the nodes that reach a new volume.

        Args:
            storage_class: Its class.
            node: The node of the first pod; empty unless the class binds on first use.
        """
        provisioner = text(storage_class, "provisioner")
        if provisioner == LOCAL_PATH:
            return {"kubernetes.io/hostname": node} if node else {}
        found = self._client.load(ObjectRef("nodes", node)) if node else None
        labels = part(metadata(found), "labels") if found is not None else {}
        driver = self._client.load(ObjectRef(_CSI_NODES, node)) if labels else None
        return choose_topology(storage_class, labels, topology_keys_of(driver or {}, provisioner))

    def _selected_node(self, ref: ObjectRef, claim: Plain) -> str:
        """Return the node that the scheduler annotated, or else the node of a pod that uses the claim."""
        annotated = text(part(metadata(claim), "annotations"), _SELECTED_NODE)
        return annotated or min((node for node in self._users.nodes_of(ref) if node), default="")

    async def _bind(self, ref: ObjectRef, claim: Plain, volume: Plain) -> None:
        name = text(metadata(volume), "name")
        volume_ref = ObjectRef(_VOLUMES, name)
        reference = reference_to_claim(claim)

        def claim_volume(found: Plain) -> None:
            spec = part(found, "spec")
            if not part(spec, "claimRef"):
                _annotate(found, {_BY_CONTROLLER: "yes"})
            if text(part(spec, "claimRef"), "uid") != reference["uid"]:
                spec["claimRef"] = reference

        def complete(found: Plain) -> None:
            spec = part(found, "spec")
            if not text(spec, "volumeName"):
                spec["volumeName"] = name
                _annotate(found, {_BY_CONTROLLER: "yes"})
            _annotate(found, {_COMPLETED: "yes"})

        is_claimed = text(part(part(volume, "spec"), "claimRef"), "uid") == reference["uid"]
        if not is_claimed and not await self._client.update(volume_ref, claim_volume):
            return
        await self._set_volume_phase(volume_ref, "Bound")
        if await self._client.update(ref, complete):
            self._unbound.discard(ref)
            await self._write_bound_status(ref, volume)

    async def _write_bound_status(self, ref: ObjectRef, volume: Plain) -> None:
        spec = part(volume, "spec")

        def change(found: Plain) -> None:
            status = found.setdefault("status", {})
            status |= {"phase": "Bound", "accessModes": spec["accessModes"], "capacity": dict(part(spec, "capacity"))}
            if text(spec, "volumeAttributesClassName"):
                status["currentVolumeAttributesClassName"] = spec["volumeAttributesClassName"]

        await self._client.update(ref, change, subresource="status")

    async def _reconcile_bound_claim(self, ref: ObjectRef, claim: Plain) -> None:
        volume = self._load_volume(text(part(claim, "spec"), "volumeName"))
        phase = text(part(claim, "status"), "phase")
        if volume is None:
            message = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
            await self._lose(ref, claim, "ClaimLost", message)
        elif not part(part(volume, "spec"), "claimRef"):
            await self._bind(ref, claim, volume)
        elif not is_claimed_by(volume, claim):
            message = "Two claims are bound to the same volume, this one is bound incorrectly"
            await self._lose(ref, claim, "ClaimMisbound", message)
        elif phase != "Bound":
            await self._bind(ref, claim, volume)
        else:
            await self._change_bound(ref, claim, volume)

    async def _lose(self, ref: ObjectRef, claim: Plain, reason: str, message: str) -> None:
        if text(part(claim, "status"), "phase") == "Lost":
            return

        def change(found: Plain) -> None:
            # Drops capacity and accessModes, as kube-controller-manager does for a lost claim.
            found["status"] = {"phase": "Lost"}

        await self._client.update(ref, change, subresource="status")
        self._report(claim, WARNING, reason, message)

    async def _change_bound(self, ref: ObjectRef, claim: Plain, volume: Plain) -> None:
        """Expand the volume of a bound claim, or change its attributes class, as the spec requests."""
        wanted = text(part(claim, "spec"), "volumeAttributesClassName")
        is_larger = request_of(claim) > capacity_of(volume) and (self._load_class(claim) or {}).get(
            "allowVolumeExpansion"
        )
        has_new_class = wanted and wanted != text(part(volume, "spec"), "volumeAttributesClassName")
        if not is_larger and not has_new_class:
            return
        size = part(part(part(claim, "spec"), "resources"), "requests").get("storage")

        def change(found: Plain) -> None:
            if is_larger:
                found["spec"]["capacity"]["storage"] = size
            if has_new_class:
                found["spec"]["volumeAttributesClassName"] = wanted

        volume_ref = ObjectRef(_VOLUMES, text(metadata(volume), "name"))
        if await self._client.update(volume_ref, change) and (changed := self._client.load(volume_ref)) is not None:
            await self._write_bound_status(ref, changed)
            if is_larger:
                self._report(claim, NORMAL, "VolumeResizeSuccessful", "Resize volume succeeded")

    async def _reconcile_volume(self, ref: ObjectRef, volume: Plain) -> None:
        reference = part(part(volume, "spec"), "claimRef")
        phase = text(part(volume, "status"), "phase")
        if not text(reference, "uid"):
            # Unclaimed, or pre-bound by a user to a claim that does not exist yet.
            if phase in {"", "Pending", "Released"}:
                await self._set_volume_phase(ref, "Available")
            return
        claim = self._client.load(ObjectRef(_CLAIMS, f"{text(reference, 'namespace')}/{text(reference, 'name')}"))
        if claim is not None and uid_of(claim) == text(reference, "uid"):
            if text(part(claim, "spec"), "volumeName") == ref.name and phase != "Bound":
                await self._set_volume_phase(ref, "Bound")
            return
        if phase not in {"Released", "Failed"}:
            await self._set_volume_phase(ref, "Released")
        await self._reclaim(ref, volume)

    async def _reclaim(self, ref: ObjectRef, volume: Plain) -> None:
        spec = part(volume, "spec")
        match text(spec, "persistentVolumeReclaimPolicy"):
            case "Delete" if PROVISIONED_BY in part(metadata(volume), "annotations"):
                if not is_being_deleted(volume):
                    await self._client.delete(ref, uid_of(volume))
            case "Recycle":
                await self._client.update(ref, _unclaim)
                self._events.record(reference_to(volume, *_VOLUME_KIND), "VolumeRecycled", "Volume recycled")
            case _:
                pass  # Retain, or a volume of a provisioner outside this server

    async def _set_claim_phase(self, ref: ObjectRef, claim: Plain, phase: str) -> None:
        if text(part(claim, "status"), "phase") != phase:
            await self._client.update(ref, _set_phase(phase), subresource="status")

    async def _set_volume_phase(self, ref: ObjectRef, phase: str) -> None:
        volume = self._client.load(ref)
        if volume is not None and text(part(volume, "status"), "phase") != phase:
            now = self._client.cluster.now()

            def change(found: Plain) -> None:
                found.setdefault("status", {})["phase"] = phase
                found["status"]["lastPhaseTransitionTime"] = now

            await self._client.update(ref, change, subresource="status")

    def _report(self, claim: Plain, event_type: str, reason: str, message: str) -> None:
        self._events.record(reference_to(claim, *_CLAIM_KIND), reason, message, event_type=event_type)

    def _load_volume(self, name: str) -> Plain | None:
        return self._client.load(ObjectRef(_VOLUMES, name))

    def _load_class(self, claim: Plain) -> Plain | None:
        return self._client.load(ObjectRef(_CLASSES, text(part(claim, "spec"), "storageClassName")))

    def _load_node(self, name: str) -> NodeFacts | None:
        record = self._client.cluster.storage.table("nodes").get(name) if name else None
        return None if record is None else decode_node(b"{" + record.value)


def _annotate(found: Plain, added: dict[str, str]) -> None:
    meta = metadata(found)
    meta["annotations"] = {**part(meta, "annotations"), **added}


def _set_phase(phase: str) -> Callable[[Plain], None]:
    def change(found: Plain) -> None:
        found.setdefault("status", {})["phase"] = phase

    return change


def _unclaim(volume: Plain) -> None:
    part(volume, "spec").pop("claimRef", None)
    part(metadata(volume), "annotations").pop(_BY_CONTROLLER, None)
