"""The StatefulSet controller: runs pods with stable names and claims, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.controllers.events import WARNING, ServerEventRecorder, reference_to
from masthead_server.controllers.objects import ObjectRef, uid_of
from masthead_server.controllers.workloads.claim_retention import claim_refs, has_stale_claim, set_owners
from masthead_server.controllers.workloads.dependents import DependentIndex
from masthead_server.controllers.workloads.ownership import adopt, controller_reference, release, selector_of
from masthead_server.controllers.workloads.refusals import CreationBackoff, create_pod
from masthead_server.controllers.workloads.revisions import REVISIONS, Revision, RevisionHistory
from masthead_server.controllers.workloads.stateful_plan import (
    POD_NAME,
    REVISION,
    StatefulSettings,
    count_replicas,
    plan_pods,
)
from masthead_server.storage import JournalError
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.plain import Plain, is_being_deleted, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.controllers.workloads.dependents import Dependent

__all__ = ["StatefulSetController"]

_TABLE: Final = "apps/statefulsets"
_PODS: Final = "pods"
_CLAIMS: Final = "persistentvolumeclaims"
_KIND: Final = ("apps/v1", "StatefulSet")
_POD_INDEX: Final = "apps.kubernetes.io/pod-index"


class StatefulSetController:
    """Creates, replaces and deletes the pods of StatefulSets in the order of their ordinals, and writes the status.

    It creates their claims, whose owners follow the ``persistentVolumeClaimRetentionPolicy``.
    """

    observes = frozenset({_TABLE, _PODS, REVISIONS})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._events = ServerEventRecorder(client, "statefulset-controller")
        self._pods = DependentIndex()
        self._revisions = DependentIndex()
        self._by_uid: dict[str, ObjectRef] = {}
        self._backoff = CreationBackoff()

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile a written StatefulSet, or that of a written pod; after an orphan, all of its namespace."""
        if write.ref.table == _TABLE:
            return (write.ref,)
        if write.ref.table == REVISIONS:
            self._revisions.update(write)
            return ()
        before, after = self._pods.update(write)
        owners = {dependent.owner for dependent in (before, after) if dependent is not None}
        found = {self._by_uid[owner] for owner in owners if owner in self._by_uid}
        if after is not None and not after.owner and not after.is_terminating:
            found.update(ref for ref in self._by_uid.values() if ref.namespace == write.ref.namespace)
        return found

    async def reconcile(self, ref: ObjectRef) -> float | None:
        """Create, replace and delete pods, and write the status.

        Returns:
            The seconds until a ready pod becomes available, or until the next attempt to create a refused pod.

        Raises:
            JournalError: A change could not be stored.
        """
        workload = self._client.load(ref)
        if workload is None:
            self._by_uid = {uid: known for uid, known in self._by_uid.items() if known != ref}
            return self._backoff.next_delay(ref, is_refused=False)
        self._by_uid[uid_of(workload)] = ref
        history = RevisionHistory(self._client, self._revisions, workload, _KIND, ref.namespace)
        update = await history.update()
        if update is None:
            return None
        current = _current(workload, history.stored()) or update
        if is_being_deleted(workload):
            await self._write_status(workload, ref, current, update)
            return None
        await self._claim_pods(workload, ref.namespace)
        await self._own_claims(workload, ref.namespace)
        is_refused = await self._step(workload, ref.namespace, current, update)
        await self._write_status(workload, ref, current, update)
        live = {current.name, update.name, *(_revision_of(pod) for pod in self._own(workload).values())}
        await history.clean_up(part(workload, "spec").get("revisionHistoryLimit", 10), live)
        delays = (self._next_availability(workload), self._backoff.next_delay(ref, is_refused=is_refused))
        return min((delay for delay in delays if delay is not None), default=None)

    def _next_availability(self, workload: Plain) -> float | None:
        """Return the seconds until the next ready pod becomes available."""
        now, delay = self._client.cluster.clock.now(), StatefulSettings.of(part(workload, "spec")).min_ready
        ready = (pod.ready_since for pod in self._own(workload).values())
        remaining = ((delay - (now - since)).total_seconds() for since in ready if since is not None)
        return min((seconds for seconds in remaining if seconds > 0), default=None)

    async def _own_claims(self, workload: Plain, namespace: str) -> None:
        """Set the owners of claims, before a pod is deleted that may own one."""
        spec = part(workload, "spec")
        if not items(spec, "volumeClaimTemplates"):
            return
        policy, wanted = part(spec, "persistentVolumeClaimRetentionPolicy"), StatefulSettings.of(spec).ordinals
        owner = controller_reference(workload, *_KIND)
        for ordinal, pod in self._own(workload).items():
            stored = self._client.load(ObjectRef(_PODS, f"{namespace}/{pod.metadata.name}"))
            if stored is None:
                continue
            pod_owner = controller_reference(stored, "v1", "Pod")
            for ref in claim_refs(workload, pod.metadata.name, namespace):
                is_condemned = ordinal not in wanted
                await set_owners(self._client, ref, owner, pod_owner, policy, is_condemned=is_condemned)

    async def _claim_pods(self, workload: Plain, namespace: str) -> None:
        """Adopt orphans that match the selector and have the name of a replica; release pods that no longer match.

        Unlike other workloads, a StatefulSet adopts pods that have ended, to replace them.
        """
        matches = selector_of(workload)
        prefix = f"{text(metadata(workload), 'name')}-"
        for ref, pod in self._pods.orphans_in(namespace):
            name, ordinal = pod.metadata.name, pod.metadata.name.removeprefix(prefix)
            if (
                name != ordinal
                and ordinal.isdigit()
                and ordinal.isascii()
                and not pod.is_terminating
                and matches(pod.metadata.labels)
            ):
                await adopt(self._client, ref, controller_reference(workload, *_KIND))
        for ref, pod in self._pods.owned_by(uid_of(workload)).items():
            if not matches(pod.metadata.labels):
                await release(self._client, ref, uid_of(workload))

    async def _step(self, workload: Plain, namespace: str, current: Revision, update: Revision) -> bool:
        """Create and delete pods; return whether a pod was refused or has to wait for a claim."""
        settings, name = StatefulSettings.of(part(workload, "spec")), text(metadata(workload), "name")
        plan = plan_pods(
            settings,
            self._own(workload),
            update.name,
            self._client.cluster.clock.now(),
            lambda ordinal: has_stale_claim(self._client, workload, f"{name}-{ordinal}", namespace),
        )
        for ordinal in plan.pending:
            if await self._create_claims(workload, f"{name}-{ordinal}", namespace):
                return True
        for ordinal in plan.create:
            revision = current if settings.is_old(ordinal) else update
            if not await self._create(workload, namespace, ordinal, revision):
                return True
        for ordinal in plan.relabel:
            await self._relabel(workload, namespace, ordinal)
        for ordinal in plan.delete:
            await self._delete(workload, namespace, f"{name}-{ordinal}")
        return plan.is_stale

    def _own(self, workload: Plain) -> dict[int, Dependent]:
        """Return the pods by ordinal."""
        prefix = f"{text(metadata(workload), 'name')}-"
        found = self._pods.owned_by(uid_of(workload)).values()
        return {
            int(ordinal): pod
            for pod in found
            if (ordinal := pod.metadata.name.removeprefix(prefix)).isdigit() and ordinal.isascii()
        }

    async def _create(self, workload: Plain, namespace: str, ordinal: int, revision: Revision) -> bool:
        """Create a pod and its claims; return False if the pod was refused."""
        name = f"{text(metadata(workload), 'name')}-{ordinal}"
        problem = await self._create_claims(workload, name, namespace)
        created = (
            None if problem else await create_pod(self._client, namespace, _build_pod(workload, ordinal, revision))
        )
        if isinstance(created, StatusFailure):
            problem = created.message
        if problem:
            message = f"create Pod {name} in StatefulSet {text(metadata(workload), 'name')} failed error: {problem}"
            self._events.record(reference_to(workload, *_KIND), "FailedCreate", message, event_type=WARNING)
            return False
        if created is not None:
            self._record(workload, "Create", f"Pod {name}", "successful")
        return True

    async def _create_claims(self, workload: Plain, pod: str, namespace: str) -> str:
        """Create the missing claims of a pod; return the problems that keep the pod from its claims."""
        claims = items(part(workload, "spec"), "volumeClaimTemplates")
        problems: list[str] = []
        for claim, ref in zip(claims, claim_refs(workload, pod, namespace), strict=True):
            stored = self._client.load(ref)
            if stored is not None:
                if is_being_deleted(stored):
                    problems.append(f"pvc {ref.name} is being deleted")
                continue
            refusal = await self._create_claim(workload, claim, pod, namespace)
            if refusal is not None:
                problems.append(f"failed to create PVC {ref.name}: {refusal.message}")
        return f"[{', '.join(problems)}]" if len(problems) > 1 else "".join(problems)

    async def _create_claim(self, workload: Plain, claim: Plain, pod: str, namespace: str) -> StatusFailure | None:
        """Create a claim of a pod; return the refusal, if it is refused."""
        meta = dict(metadata(claim))
        meta["name"] = f"{meta['name']}-{pod}"
        selector = part(part(workload, "spec"), "selector")
        meta["labels"] = {**part(meta, "labels"), **part(selector, "matchLabels")}
        content: Plain = {"metadata": meta, "spec": dict(part(claim, "spec"))}
        try:
            await self._client.create_or_raise(_CLAIMS, namespace, content)
        except JournalError:
            raise
        except StatusFailure as refusal:
            name = text(metadata(workload), "name")
            message = f"Create Claim {meta['name']} for Pod {pod} in StatefulSet {name} failed error: {refusal.message}"
            self._events.record(reference_to(workload, *_KIND), "FailedCreate", message, event_type=WARNING)
            return refusal
        self._record(workload, "Create", f"Claim {meta['name']} Pod {pod}", "success")
        return None

    async def _delete(self, workload: Plain, namespace: str, name: str) -> None:
        ref = ObjectRef(_PODS, f"{namespace}/{name}")
        pod = self._client.load(ref)
        if pod is not None and await self._client.delete(ref, uid_of(pod)):
            self._record(workload, "Delete", f"Pod {name}", "successful")

    async def _relabel(self, workload: Plain, namespace: str, ordinal: int) -> None:
        """Set the labels by which a pod is found by its name."""
        name = f"{text(metadata(workload), 'name')}-{ordinal}"
        labels = {POD_NAME: name, _POD_INDEX: str(ordinal)}
        await self._client.update(
            ObjectRef(_PODS, f"{namespace}/{name}"),
            lambda found: metadata(found).update(labels={**part(metadata(found), "labels"), **labels}),
        )
        self._record(workload, "Update", f"Pod {name}", "successful")

    def _record(self, workload: Plain, verb: str, subject: str, outcome: str) -> None:
        message = f"{verb} {subject} in StatefulSet {text(metadata(workload), 'name')} {outcome}"
        self._events.record(reference_to(workload, *_KIND), f"Successful{verb}", message)

    async def _write_status(self, workload: Plain, ref: ObjectRef, current: Revision, update: Revision) -> None:
        settings, now = StatefulSettings.of(part(workload, "spec")), self._client.cluster.clock.now()
        status: Plain = {
            "observedGeneration": metadata(workload).get("generation", 0),
            **count_replicas(settings, self._own(workload), current.name, update.name, now),
            "collisionCount": part(workload, "status").get("collisionCount", 0),
        }
        if status != part(workload, "status"):
            await self._client.update(ref, lambda found: found.update(status=status), subresource="status")


_COPIED: Final = ("annotations", "finalizers")


def _current(workload: Plain, history: list[Revision]) -> Revision | None:
    name = text(part(workload, "status"), "currentRevision")
    return next((revision for revision in history if revision.name == name), None)


def _revision_of(pod: Dependent) -> str:
    return pod.metadata.labels.get(REVISION, "")


def _build_pod(workload: Plain, ordinal: int, revision: Revision) -> Plain:
    spec, template, set_name = part(workload, "spec"), revision.template, text(metadata(workload), "name")
    name = f"{set_name}-{ordinal}"
    pod_spec = dict(part(template, "spec"))
    claimed = [_volume(claim, name) for claim in items(spec, "volumeClaimTemplates")]
    if claimed:
        # The volume of a claim replaces a volume of the template with the same name.
        names = {volume["name"] for volume in claimed}
        others = (volume for volume in items(pod_spec, "volumes") if volume["name"] not in names)
        pod_spec["volumes"] = [*others, *claimed]
    pod_spec["hostname"] = name
    if spec.get("serviceName"):
        pod_spec["subdomain"] = spec["serviceName"]
    origin = part(template, "metadata")
    labels = {**part(origin, "labels"), REVISION: revision.name, POD_NAME: name, _POD_INDEX: str(ordinal)}
    meta: Plain = {
        **{key: origin[key] for key in _COPIED if key in origin},
        "name": name,
        "generateName": f"{set_name}-",
        "labels": labels,
        "ownerReferences": [controller_reference(workload, *_KIND)],
    }
    return {"metadata": meta, "spec": pod_spec}


def _volume(claim: Plain, pod: str) -> Plain:
    name = text(metadata(claim), "name")
    return {"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{pod}"}}
