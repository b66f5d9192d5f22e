"""The ResourceClaim controller: creates claims from the templates of pods, and releases unused claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.controllers.devices.claim_index import CLAIMS, TEMPLATES, ClaimIndex
from masthead_server.controllers.devices.pod_claims import (
    CLAIM_ANNOTATION,
    claim_base_name,
    claim_names,
    is_done,
    is_reserved_for,
    owning_pod,
    recorded_names,
)
from masthead_server.controllers.events import WARNING, ServerEventRecorder, reference_to
from masthead_server.controllers.objects import ObjectRef, uid_of
from masthead_server.controllers.workloads.dependents import DependentIndex
from masthead_server.controllers.workloads.refusals import CreationBackoff
from masthead_server.storage import JournalError
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.plain import Plain, is_being_deleted, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient

__all__ = ["ResourceClaimController"]

_PODS: Final = "pods"
_POD: Final = ("v1", "Pod")
_FINALIZER: Final = "resource.kubernetes.io/delete-protection"
_MAX_RESERVATIONS: Final = 256


class ResourceClaimController:
    """Creates claims from templates and records them in the pod; releases claims whose pods have ended."""

    observes = frozenset({_PODS, CLAIMS, TEMPLATES})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._events = ServerEventRecorder(client, "resource_claim")
        self._index = ClaimIndex()
        self._owned = DependentIndex()
        self._backoff = CreationBackoff()

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile written pods, the claims that they no longer need, and the pods of a written claim or template."""
        if write.ref.table == _PODS:
            claims = self._index.update(write)
            return (*claims, write.ref) if self._index.is_user(write.ref) else claims
        pods = self._index.pods_of(write.ref)
        if write.ref.table == TEMPLATES:
            return pods
        self._owned.update(write)
        # Pods first: a claim without their reservations would lose its devices.
        return pods if write.record.is_deleted else (*pods, write.ref)

    async def reconcile(self, ref: ObjectRef) -> float | None:
        """Create and reserve the claims of a pod, or release a claim.

        Returns:
            The seconds until the next attempt after a refused creation.

        Raises:
            JournalError: A change could not be stored.
        """
        found = self._client.load(ref)
        if ref.table == CLAIMS:
            if found is not None:
                await self._release(ref, found)
            return None
        if found is None or is_being_deleted(found):
            return self._backoff.next_delay(ref, is_refused=False)
        problem = await self._create_claims(ref, found)
        if problem:
            involved = reference_to(found, *_POD)
            self._events.record(involved, "FailedResourceClaimCreation", problem, event_type=WARNING)
            return self._backoff.next_delay(ref, is_refused=True)
        self._backoff.next_delay(ref, is_refused=False)
        await self._reserve(ref)
        return None

    async def _create_claims(self, ref: ObjectRef, pod: Plain) -> str:
        """Create the missing claims of a pod, and record their names; return why a claim could not be created."""
        recorded, created = recorded_names(pod), dict[str, str]()
        for entry in items(part(pod, "spec"), "resourceClaims"):
            name, template = text(entry, "name"), text(entry, "resourceClaimTemplateName")
            # An empty name records that no claim is needed.
            if not template or recorded.get(name) == "":
                continue
            # The claim of a finished pod is deleted, and must not be created again.
            if name in recorded and (is_done(pod) or self._is_claim_of(pod, ref.namespace, recorded[name])):
                continue
            claim = self._find_claim(pod, name) or await self._create_claim(pod, ref.namespace, name, template)
            if isinstance(claim, str):
                return f"PodResourceClaim {name}: {claim}"
            created[name] = text(metadata(claim), "name")
        if created:
            names = {**recorded, **created}
            statuses = [
                {"name": name, **({"resourceClaimName": claim} if claim else {})} for name, claim in names.items()
            ]
            await self._client.update(
                ref,
                lambda found: found.setdefault("status", {}).update(resourceClaimStatuses=statuses),
                subresource="status",
            )
        return ""

    def _is_claim_of(self, pod: Plain, namespace: str, name: str) -> bool:
        claim = self._client.load(ObjectRef(CLAIMS, f"{namespace}/{name}"))
        return claim is not None and owning_pod(claim)[1] == uid_of(pod)

    def _find_claim(self, pod: Plain, name: str) -> Plain | None:
        """Return a claim that was created for a pod but is not yet in its status."""
        owned = (self._client.load(ref) for ref in self._owned.owned_by(uid_of(pod)))
        return next(
            (
                claim
                for claim in owned
                if claim is not None and part(metadata(claim), "annotations").get(CLAIM_ANNOTATION) == name
            ),
            None,
        )

    async def _create_claim(self, pod: Plain, namespace: str, name: str, template_name: str) -> Plain | str:
        """Create a claim from a template; return it, or the reason of a failure."""
        template = self._client.load(ObjectRef(TEMPLATES, f"{namespace}/{template_name}"))
        if template is None:
            missing = f'resourceclaimtemplate.resource.k8s.io "{template_name}" not found'
            return f'resource claim template "{template_name}": {missing}'
        written = part(part(template, "spec"), "metadata")
        owner = {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": text(metadata(pod), "name"),
            "uid": uid_of(pod),
            "controller": True,
        }
        meta: Plain = {
            "generateName": claim_base_name(text(metadata(pod), "name"), name),
            "annotations": {**part(written, "annotations"), CLAIM_ANNOTATION: name},
            **({"labels": written["labels"]} if written.get("labels") else {}),
            "ownerReferences": [owner],
        }
        content: Plain = {"metadata": meta, "spec": part(part(template, "spec"), "spec")}
        try:
            return await self._client.create_or_raise(CLAIMS, namespace, content)
        except JournalError:
            raise
        except StatusFailure as refusal:
            return f"create ResourceClaim : {refusal.message}"

    async def _reserve(self, ref: ObjectRef) -> None:
        """Reserve allocated claims for a pod that was bound without the scheduler.

        A claim without reservations is reserved even for a pod that has ended: like kube-controller-manager, which so
        frees its devices.
        """
        pod = self._client.load(ref)
        if pod is None or not part(pod, "spec").get("nodeName"):
            return
        for name in sorted(claim_names(pod)):
            claim_ref = ObjectRef(CLAIMS, f"{ref.namespace}/{name}")
            claim = self._client.load(claim_ref)
            if claim is None or not part(claim, "status").get("allocation") or is_reserved_for(claim, pod):
                continue
            reserved = items(part(claim, "status"), "reservedFor")
            if len(reserved) >= _MAX_RESERVATIONS:
                continue
            # Where the devices would stay allocated, kube-controller-manager reserves and releases them forever.
            if is_done(pod) and (reserved or _FINALIZER not in (metadata(claim).get("finalizers") or ())):
                continue
            consumers = [*reserved, {"resource": _PODS, "name": ref.name, "uid": uid_of(pod)}]
            await self._write_reservations(claim_ref, consumers, frees=False)

    async def _release(self, ref: ObjectRef, claim: Plain) -> None:
        """Remove reservations of ended pods. After the last, deallocate the devices, and delete a templated claim."""
        status = part(claim, "status")
        reserved = items(status, "reservedFor")
        remaining = [consumer for consumer in reserved if self._is_needed(ref.namespace, consumer)]
        has_finalizer = _FINALIZER in (metadata(claim).get("finalizers") or ())
        if len(remaining) < len(reserved):
            frees = not remaining and has_finalizer
            await self._write_reservations(ref, remaining, frees=frees)
            if has_finalizer and (frees or not status.get("allocation")):
                await self._client.remove_finalizer(ref, _FINALIZER)
        elif has_finalizer and is_being_deleted(claim) and not remaining:
            if status.get("allocation"):
                await self._write_reservations(ref, remaining, frees=True)
            await self._client.remove_finalizer(ref, _FINALIZER)
        name, uid = owning_pod(claim)
        pod = self._client.load(ObjectRef(_PODS, f"{ref.namespace}/{name}")) if name and not remaining else None
        # If the pod is deleted, the garbage collector deletes the claim.
        if pod is not None and (uid_of(pod) != uid or is_done(pod)):
            await self._client.delete(ref, uid_of(claim))

    def _is_needed(self, namespace: str, consumer: Plain) -> bool:
        if consumer.get("apiGroup") or consumer.get("resource") != _PODS:
            return True  # the consumer's resource and existence are unknown
        pod = self._client.load(ObjectRef(_PODS, f"{namespace}/{text(consumer, 'name')}"))
        return pod is not None and uid_of(pod) == consumer.get("uid") and not is_done(pod)

    async def _write_reservations(self, ref: ObjectRef, remaining: list[Plain], *, frees: bool) -> None:
        def change(found: Plain) -> None:
            status = part(found, "status")
            status.pop("reservedFor", None)
            if remaining:
                status["reservedFor"] = remaining
            if frees:
                status.pop("allocation", None)

        await self._client.update(ref, change, subresource="status")
