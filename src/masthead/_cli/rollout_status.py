"""The progress of rollouts, in the lines of ``kubectl rollout status``. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._cli.failures import CommandError
from masthead._client.rollouts import exceeds_progress_deadline
from masthead._meta.plain import has, integer, labels, part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._meta.object import Object
    from masthead._meta.plain import Plain

__all__ = ["REVISION", "RolloutProgress", "arguments_for", "rollout_progress"]

REVISION: Final = "deployment.kubernetes.io/revision"
"""The annotation of a Deployment, and of its ReplicaSets, with their revision."""


@dataclass(frozen=True, slots=True)
class RolloutProgress:
    """How far a rollout is.

    Attributes:
        line: The line about it.
        is_done: Whether it is complete.
    """

    line: str
    is_done: bool = False


def arguments_for(obj: Object) -> str:
    """The arguments that name an object in hints: ``deployment/web -n shop``."""
    return f"{obj.kind.lower()}/{obj.metadata.name} -n {obj.metadata.namespace}"


def rollout_progress(obj: Object, revision: int = 0) -> RolloutProgress:
    """Return how far the rollout of a Deployment, DaemonSet or StatefulSet is.

    Args:
        obj: The object.
        revision: The revision that a Deployment must be at; 0 for any.

    Raises:
        CommandError: If the rollout has failed, is one of another revision, or its strategy has no progress.
    """
    return _PROGRESS[obj.kind](obj, revision)


def _deployment_progress(obj: Object, revision: int) -> RolloutProgress:
    plain = obj.to_dict()
    _check_revision(plain, revision)
    name, spec, status = obj.metadata.name, part(plain, "spec"), part(plain, "status")
    # Until the controller has observed this generation, the counts are those of an earlier one.
    if integer(status, "observedGeneration") < obj.metadata.generation:
        return RolloutProgress("Waiting for deployment spec update to be observed...")
    if exceeds_progress_deadline(obj):
        raise CommandError(
            f'deployment "{name}" exceeded its progress deadline',
            hint=f"masthead describe {arguments_for(obj)} shows why",
        )
    # Without a number, the API server sets 1; plain data of another origin is complete with any.
    wanted, replicas = integer(spec, "replicas"), integer(status, "replicas")
    updated, available = integer(status, "updatedReplicas"), integer(status, "availableReplicas")
    waiting = f'Waiting for deployment "{name}" rollout to finish:'
    if updated < wanted:
        return RolloutProgress(f"{waiting} {updated} out of {wanted} new replicas have been updated...")
    if replicas > updated:
        return RolloutProgress(f"{waiting} {replicas - updated} old replicas are pending termination...")
    if available < updated:
        return RolloutProgress(f"{waiting} {available} of {updated} updated replicas are available...")
    return RolloutProgress(f'deployment "{name}" successfully rolled out', is_done=True)


def _check_revision(deployment: Plain, revision: int) -> None:
    running = labels(part(deployment, "metadata"), "annotations").get(REVISION, "0")
    if revision and running != str(revision):
        raise CommandError(f"desired revision ({revision}) is different from the running revision ({running})")


def _daemon_set_progress(obj: Object, _: int) -> RolloutProgress:
    plain = obj.to_dict()
    _check_strategy(plain)
    name, status = obj.metadata.name, part(plain, "status")
    if integer(status, "observedGeneration") < obj.metadata.generation:
        return RolloutProgress("Waiting for daemon set spec update to be observed...")
    wanted = integer(status, "desiredNumberScheduled")
    updated, available = integer(status, "updatedNumberScheduled"), integer(status, "numberAvailable")
    waiting = f'Waiting for daemon set "{name}" rollout to finish:'
    if updated < wanted:
        return RolloutProgress(f"{waiting} {updated} out of {wanted} new pods have been updated...")
    if available < wanted:
        return RolloutProgress(f"{waiting} {available} of {wanted} updated pods are available...")
    return RolloutProgress(f'daemon set "{name}" successfully rolled out', is_done=True)


def _stateful_set_progress(obj: Object, _: int) -> RolloutProgress:
    plain = obj.to_dict()
    _check_strategy(plain)
    spec, status = part(plain, "spec"), part(plain, "status")
    observed = integer(status, "observedGeneration")
    if not observed or observed < obj.metadata.generation:
        return RolloutProgress("Waiting for statefulset spec update to be observed...")
    wanted, ready = integer(spec, "replicas"), integer(status, "readyReplicas")
    if ready < wanted:
        return RolloutProgress(f"Waiting for {wanted - ready} pods to be ready...")
    # The API server sets a partition of 0 by default, so that this is the common case.
    if has(part(spec, "updateStrategy"), "rollingUpdate"):
        return _partition_progress(spec, status)
    updated, newest = integer(status, "updatedReplicas"), text(status, "updateRevision")
    if newest != text(status, "currentRevision"):
        return RolloutProgress(
            f"waiting for statefulset rolling update to complete {updated} pods at revision {newest}..."
        )
    current = integer(status, "currentReplicas")
    return RolloutProgress(f"statefulset rolling update complete {current} pods at revision {newest}...", is_done=True)


def _partition_progress(spec: Plain, status: Plain) -> RolloutProgress:
    updated = integer(status, "updatedReplicas")
    # Pods below the partition keep their revision.
    wanted = integer(spec, "replicas") - integer(part(spec, "updateStrategy", "rollingUpdate"), "partition")
    if updated < wanted:
        return RolloutProgress(
            f"Waiting for partitioned roll out to finish: {updated} out of {wanted} new pods have been updated..."
        )
    return RolloutProgress(f"partitioned roll out complete: {updated} new pods have been updated...", is_done=True)


def _check_strategy(obj: Plain) -> None:
    # OnDelete replaces a pod only after its deletion, which may never come.
    if text(part(obj, "spec", "updateStrategy"), "type") != "RollingUpdate":
        raise CommandError("rollout status is only available for RollingUpdate strategy type")


_PROGRESS: Final[Mapping[str, Callable[[Object, int], RolloutProgress]]] = {
    "Deployment": _deployment_progress,
    "DaemonSet": _daemon_set_progress,
    "StatefulSet": _stateful_set_progress,
}
