"""The Deployment controller: a ReplicaSet for each revision of the template, and rollouts between revisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from masthead_server.controllers.events import ServerEventRecorder, reference_to
from masthead_server.controllers.objects import ObjectRef, uid_of
from masthead_server.controllers.workloads import rollout as decisions
from masthead_server.controllers.workloads.dependents import DependentIndex
from masthead_server.controllers.workloads.deployment_status import (
    begin_progress,
    is_complete,
    seconds_to_deadline,
    status_of,
)
from masthead_server.controllers.workloads.ownership import adopt, controller_reference, release, selector_of
from masthead_server.controllers.workloads.revisions import safe_hash
from masthead_server.controllers.workloads.rollout import DESIRED, MAX, REVISION, ReplicaSetView, Rollout
from masthead_server.wire.plain import Plain, is_being_deleted, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient

__all__ = ["DeploymentController"]

_DEPLOYMENTS: Final = "apps/deployments"
_REPLICA_SETS: Final = "apps/replicasets"
_KIND: Final = ("apps/v1", "Deployment")
_HASH: Final = "pod-template-hash"
_HISTORY: Final = "deployment.kubernetes.io/revision-history"
_NOT_COPIED: Final = frozenset({"kubectl.kubernetes.io/last-applied-configuration", REVISION, _HISTORY, DESIRED, MAX})
"""Annotations of a Deployment that its ReplicaSets do not get."""


class DeploymentController:
    """Creates, scales and cleans up the ReplicaSets of Deployments, and writes their status."""

    observes = frozenset({_DEPLOYMENTS, _REPLICA_SETS})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._events = ServerEventRecorder(client, "deployment-controller")
        self._replica_sets = DependentIndex()
        self._by_uid: dict[str, ObjectRef] = {}

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile a written Deployment, or the Deployment of a written ReplicaSet."""
        if write.ref.table == _DEPLOYMENTS:
            return (write.ref,)
        before, after = self._replica_sets.update(write)
        owners = {dependent.owner for dependent in (before, after) if dependent is not None}
        found = {self._by_uid[owner] for owner in owners if owner in self._by_uid}
        if after is not None and not after.owner:
            found.update(ref for ref in self._by_uid.values() if ref.namespace == write.ref.namespace)
        return found

    async def reconcile(self, ref: ObjectRef) -> float | None:
        """Take the next step of a rollout; return the seconds until its progress deadline.

        Raises:
            JournalError: A change could not be stored.
        """
        deployment = self._client.load(ref)
        if deployment is None:
            self._by_uid = {uid: each for uid, each in self._by_uid.items() if each != ref}
            return None
        self._by_uid[uid_of(deployment)] = ref
        if not is_being_deleted(deployment):
            await self._claim(deployment, ref.namespace)
            await self._roll_out(deployment, ref)
        return await self._write_status(ref)

    async def _claim(self, deployment: Plain, namespace: str) -> None:
        """Adopt matching ReplicaSets without a controller; release ReplicaSets that no longer match."""
        matches = selector_of(deployment)
        for ref, found in self._replica_sets.orphans_in(namespace):
            if not found.is_terminating and matches(found.metadata.labels):
                await adopt(self._client, ref, controller_reference(deployment, *_KIND))
        for ref, found in self._replica_sets.owned_by(uid_of(deployment)).items():
            if not found.is_terminating and not matches(found.metadata.labels):
                await release(self._client, ref, uid_of(deployment))

    async def _roll_out(self, deployment: Plain, ref: ObjectRef) -> None:
        rollout = Rollout.of(deployment)
        new, old = self._views(deployment)
        is_paused = part(deployment, "spec").get("paused") is True
        if is_paused or _was_scaled(rollout, new, old):
            # No rollout begins, but the new ReplicaSet still gets revision, annotations and settings of the Deployment.
            new = await self._update_new(deployment, new, old, ref) if new else None
            present = part(deployment, "status").get("replicas", 0)
            sizes = decisions.scaled_sizes(rollout, new, old, before=present)
            await self._resize(deployment, [*old, new] if new else old, sizes, ref.namespace)
            if is_paused:
                await self._clean_up(deployment, old, ref.namespace)
            return
        if not rollout.is_rolling and await self._await_old_pods(deployment, old, ref.namespace):
            return
        new = await self._update_new(deployment, new, old, ref) if new else await self._create_new(deployment, old, ref)
        if new is None:
            return
        wanted = decisions.next_new_size(rollout, new, old)
        if wanted != new.replicas:
            await self._resize(deployment, [new], {new.name: wanted}, ref.namespace)
            return
        await self._resize(deployment, old, decisions.next_old_sizes(rollout, new, old), ref.namespace)

    def _views(self, deployment: Plain) -> tuple[ReplicaSetView | None, list[ReplicaSetView]]:
        """Return the ReplicaSet of the current template, and the others, oldest first."""
        loaded = (self._client.load(ref) for ref in self._replica_sets.owned_by(uid_of(deployment)))
        found = sorted((ReplicaSetView(content) for content in loaded if content), key=lambda each: each.age)
        template = part(part(deployment, "spec"), "template")
        # Of several, as after a hash collision, the oldest counts.
        new = next((replica_set for replica_set in found if _template(replica_set.content) == template), None)
        return new, [replica_set for replica_set in found if replica_set is not new]

    async def _await_old_pods(self, deployment: Plain, old: Sequence[ReplicaSetView], namespace: str) -> bool:
        """Scale the old ReplicaSets down; return whether they still have pods."""
        await self._resize(deployment, old, {replica_set.name: 0 for replica_set in old}, namespace)
        return any(
            replica_set.replicas or replica_set.count("replicas") or replica_set.count("terminatingReplicas")
            for replica_set in old
        )

    async def _create_new(
        self, deployment: Plain, old: Sequence[ReplicaSetView], ref: ObjectRef
    ) -> ReplicaSetView | None:
        """Create the ReplicaSet of the template; None if its name is taken: the next reconcile tries another."""
        rollout = Rollout.of(deployment)
        content = _replica_set(deployment, rollout, decisions.next_new_size(rollout, None, old), _revision(old) + 1)
        name = text(metadata(content), "name")
        created = await self._client.create(_REPLICA_SETS, ref.namespace, content)
        if created is not None:
            self._record_scaling(deployment, name, 0, ReplicaSetView(created).replicas)
        stored = created or self._client.load(ObjectRef(_REPLICA_SETS, f"{ref.namespace}/{name}"))
        if stored is None:
            return None
        if _template(stored) != part(part(deployment, "spec"), "template"):
            count = part(deployment, "status").get("collisionCount", 0) + 1
            await self._client.update(
                ref, lambda found: part(found, "status").update(collisionCount=count), subresource="status"
            )
            return None
        await self._begin(deployment, ref, ReplicaSetView(stored), is_new=True)
        return ReplicaSetView(stored)

    async def _update_new(
        self, deployment: Plain, new: ReplicaSetView, old: Sequence[ReplicaSetView], ref: ObjectRef
    ) -> ReplicaSetView:
        """Give the new ReplicaSet the newest revision, and the Deployment's annotations and readiness settings."""
        annotations = dict(part(metadata(new.content), "annotations"))
        wanted = {**annotations, **_copied_annotations(deployment)}
        present, revision = new.annotated(REVISION), _revision(old) + 1
        if present < revision:
            wanted[REVISION] = str(revision)
            if present:
                wanted[_HISTORY] = ",".join(filter(None, (annotations.get(_HISTORY, ""), str(present))))
        ready = part(deployment, "spec").get("minReadySeconds")

        def change(found: Plain) -> None:
            metadata(found)["annotations"] = wanted
            part(found, "spec").pop("minReadySeconds", None)
            if ready:
                part(found, "spec")["minReadySeconds"] = ready

        if wanted != annotations or ready != part(new.content, "spec").get("minReadySeconds"):
            await self._client.update(ObjectRef(_REPLICA_SETS, f"{ref.namespace}/{new.name}"), change)
            stored = self._client.load(ObjectRef(_REPLICA_SETS, f"{ref.namespace}/{new.name}"))
            new = ReplicaSetView(stored) if stored else new
        await self._begin(deployment, ref, new, is_new=False)
        return new

    async def _begin(self, deployment: Plain, ref: ObjectRef, new: ReplicaSetView, *, is_new: bool) -> None:
        """Write the revision of a Deployment, and the condition with which its rollout begins."""
        revision = str(new.annotated(REVISION))
        if text(part(metadata(deployment), "annotations"), REVISION) != revision:
            # Through the status, as kube-controller-manager does: a write of the object would raise the generation.
            await self._client.update(
                ref,
                lambda found: metadata(found).setdefault("annotations", {}).update({REVISION: revision}),
                subresource="status",
            )
        has_condition = b'"Progressing"' in msgspec.json.encode(part(deployment, "status"))
        if part(deployment, "spec").get("progressDeadlineSeconds") and (is_new or not has_condition):
            now = self._client.cluster.now()
            conditions = begin_progress(deployment, new.name, now, is_new=is_new)
            await self._client.update(
                ref,
                lambda found: found.setdefault("status", {}).update(conditions=conditions),
                subresource="status",
            )

    async def _resize(
        self,
        deployment: Plain,
        found: Iterable[ReplicaSetView],
        sizes: Mapping[str, int],
        namespace: str,
    ) -> None:
        rollout = Rollout.of(deployment)
        limits = {DESIRED: str(rollout.replicas), MAX: str(rollout.most)}
        for replica_set in found:
            size = sizes.get(replica_set.name, replica_set.replicas)
            annotations = part(metadata(replica_set.content), "annotations")
            is_noted = all(annotations.get(key) == value for key, value in limits.items())
            # Leave ReplicaSets without pods alone.
            if size == replica_set.replicas and (is_noted or not replica_set.replicas):
                continue

            def change(stored: Plain, size: int = size) -> None:
                part(stored, "spec")["replicas"] = size
                metadata(stored).setdefault("annotations", {}).update(limits)

            if await self._client.update(ObjectRef(_REPLICA_SETS, f"{namespace}/{replica_set.name}"), change):
                self._record_scaling(deployment, replica_set.name, replica_set.replicas, size)

    def _record_scaling(self, deployment: Plain, name: str, before: int, after: int) -> None:
        if before != after:
            direction = "up" if before < after else "down"
            message = f"Scaled {direction} replica set {name} from {before} to {after}"
            self._events.record(reference_to(deployment, *_KIND), "ScalingReplicaSet", message)

    async def _write_status(self, ref: ObjectRef) -> float | None:
        deployment = self._client.load(ref)
        if deployment is None:
            return None
        cluster = self._client.cluster
        rollout = Rollout.of(deployment)
        new, old = self._views(deployment)
        status = status_of(deployment, rollout, new, old, cluster.now())
        if status != part(deployment, "status"):
            await self._client.update(ref, lambda found: found.update(status=status), subresource="status")
        if is_complete(deployment, status, rollout.replicas):
            await self._clean_up(deployment, old, ref.namespace)
        return seconds_to_deadline(deployment, status, cluster.clock.now())

    async def _clean_up(self, deployment: Plain, old: Sequence[ReplicaSetView], namespace: str) -> None:
        """Delete the oldest revisions above the limit of the history."""
        limit = part(deployment, "spec").get("revisionHistoryLimit", 10)
        surplus = len(old) - limit
        for replica_set in sorted(old, key=lambda each: each.annotated(REVISION))[: max(0, surplus)]:
            if not replica_set.replicas and not replica_set.count("replicas"):
                await self._client.delete(
                    ObjectRef(_REPLICA_SETS, f"{namespace}/{replica_set.name}"), uid_of(replica_set.content)
                )


def _was_scaled(rollout: Rollout, new: ReplicaSetView | None, old: Sequence[ReplicaSetView]) -> bool:
    """Whether the Deployment's replicas have changed since its ReplicaSets were last resized."""
    active = [replica_set for replica_set in ([*old, new] if new else old) if replica_set.replicas]
    return any(
        replica_set.annotated(DESIRED) != rollout.replicas for replica_set in active if replica_set.annotated(MAX)
    )


def _revision(found: Iterable[ReplicaSetView]) -> int:
    return max((replica_set.annotated(REVISION) for replica_set in found), default=0)


def _template(replica_set: Plain) -> Plain:
    """Return the template of a ReplicaSet without the hash, for the comparison with its Deployment's."""
    template = dict(part(part(replica_set, "spec"), "template"))
    meta = dict(part(template, "metadata"))
    labels = {key: value for key, value in part(meta, "labels").items() if key != _HASH}
    meta.pop("labels", None)
    if labels:
        meta["labels"] = labels
    template["metadata"] = meta
    return template


def _copied_annotations(deployment: Plain) -> dict[str, str]:
    annotations = part(metadata(deployment), "annotations")
    return {key: value for key, value in annotations.items() if key not in _NOT_COPIED}


def _replica_set(deployment: Plain, rollout: Rollout, replicas: int, revision: int) -> Plain:
    spec = part(deployment, "spec")
    template = part(spec, "template")
    hashed = safe_hash([template, part(deployment, "status").get("collisionCount", 0)])
    labels = {**part(part(template, "metadata"), "labels"), _HASH: hashed}
    selector = part(spec, "selector")
    content: Plain = {
        "replicas": replicas,
        "selector": {**selector, "matchLabels": {**part(selector, "matchLabels"), _HASH: hashed}},
        "template": {**template, "metadata": {**part(template, "metadata"), "labels": labels}},
    }
    if spec.get("minReadySeconds"):
        content["minReadySeconds"] = spec["minReadySeconds"]
    limits = {DESIRED: str(rollout.replicas), MAX: str(rollout.most), REVISION: str(revision)}
    meta: Plain = {
        "name": f"{text(metadata(deployment), 'name')}-{hashed}",
        "labels": labels,
        "annotations": {**_copied_annotations(deployment), **limits},
        "ownerReferences": [controller_reference(deployment, *_KIND)],
    }
    return {"metadata": meta, "spec": content}
