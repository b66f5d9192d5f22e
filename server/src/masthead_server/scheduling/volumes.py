"""The claims of a pod: nodes that reach their volumes, and claims that wait for a node."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from masthead._meta.quoting import quoted
from masthead_server.controllers.storage.provisioner import NO_PROVISIONER
from masthead_server.controllers.storage.volume_matching import choose_volume, request_of
from masthead_server.controllers.workloads.node_eligibility import make_node, matches_terms
from masthead_server.scheduling.rejections import Cure, Rejection
from masthead_server.wire.plain import Plain, is_being_deleted, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from masthead_server.scheduling.nodes import SchedulingNode
    from masthead_server.scheduling.pods import PodClaim, SchedulingPod

__all__ = ["SELECTED_NODE", "ClaimReader", "PodClaims", "VolumeCheck", "VolumeZoneCheck", "read_claims"]

SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
"""The annotation with the node that the volume is provisioned for."""
_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
_CURES: Final = Cure.NODE | Cure.VOLUME
_UNREACHABLE: Final = "node(s) didn't match PersistentVolume's node affinity"
_UNBOUND: Final = "node(s) didn't find available persistent volumes to bind"
_NO_VOLUME: Final = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
_OTHER_ZONE: Final = Rejection(("node(s) had no available volume zone",), _CURES, is_final=True)
_STABLE_KEYS: Final[Mapping[str, str]] = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
_ZONE_KEYS: Final = (*_STABLE_KEYS, *_STABLE_KEYS.values())


class ClaimReader(Protocol):
    """Reads claims, volumes and storage classes."""

    def claim(self, namespace: str, name: str) -> Plain | None:
        """Return a claim; None if it does not exist."""
        ...

    def volume(self, name: str) -> Plain | None:
        """Return a volume; None if it does not exist."""
        ...

    def storage_class(self, name: str) -> Plain | None:
        """Return a storage class; None if it does not exist."""
        ...

    def volumes(self) -> Iterable[Plain]:
        """Iterate over all volumes."""
        ...

    def has_storage(self) -> bool:
        """Tell whether there is any volume or storage class."""
        ...


@dataclass(slots=True)
class PodClaims:
    """The claims of a pod.

    Attributes:
        bound: The volumes of its bound claims; None for a volume that does not exist.
        delayed: Claims that are bound for the node of their first pod.
        problem: What rejects the pod whatever the node; empty for nothing.
    """

    bound: list[Plain | None] = field(default_factory=list["Plain | None"])
    delayed: list[Plain] = field(default_factory=list["Plain"])
    problem: str = ""


def read_claims(pod: SchedulingPod, reader: ClaimReader) -> PodClaims:
    """Read the claims of a pod."""
    found = PodClaims()
    has_immediate = False
    for wanted in pod.claims:
        claim = reader.claim(pod.namespace, wanted.name)
        found.problem = _find_problem(pod, wanted, claim)
        if claim is None or found.problem:
            return found
        spec = part(claim, "spec")
        volume = text(spec, "volumeName")
        if volume and _COMPLETED in part(metadata(claim), "annotations"):
            found.bound.append(reader.volume(volume))
        elif not volume and _is_delayed(claim, reader):
            found.delayed.append(claim)
        else:
            has_immediate = True
    # Without volumes and classes, nothing binds a claim: ignore it, so that pods run in tests without storage.
    if has_immediate and reader.has_storage():
        found.problem = "pod has unbound immediate PersistentVolumeClaims"
    return found


def _find_problem(pod: SchedulingPod, wanted: PodClaim, claim: Plain | None) -> str:
    name = quoted(wanted.name)
    if claim is None:
        if wanted.is_ephemeral:
            return f"waiting for ephemeral volume controller to create the persistentvolumeclaim {name}"
        return f"persistentvolumeclaim {name} not found"
    if text(part(claim, "status"), "phase") == "Lost":
        volume = quoted(text(part(claim, "spec"), "volumeName"))
        return f"persistentvolumeclaim {name} bound to non-existent persistentvolume {volume}"
    if is_being_deleted(claim):
        return f"persistentvolumeclaim {name} is being deleted"
    if wanted.is_ephemeral and not any(
        owner.get("controller") and text(owner, "uid") == pod.uid for owner in items(metadata(claim), "ownerReferences")
    ):
        place = f"{pod.namespace}/{pod.name}"
        return f"PVC {pod.namespace}/{wanted.name} was not created for pod {place} (pod is not owner)"
    return ""


def _is_delayed(claim: Plain, reader: ClaimReader) -> bool:
    storage_class = reader.storage_class(text(part(claim, "spec"), "storageClassName"))
    return storage_class is not None and text(storage_class, "volumeBindingMode") == "WaitForFirstConsumer"


class VolumeCheck:
    """Rejects nodes that cannot reach the volumes of a pod, or for which no volume can be provisioned.

    Args:
        claims: The claims of the pod.
        reader: Reads volumes and classes.
    """

    def __init__(self, claims: PodClaims, reader: ClaimReader) -> None:
        self._bound = claims.bound
        # The smallest claim first, so that it does not take a large volume from a larger claim.
        self._delayed = sorted(claims.delayed, key=request_of)
        self._reader = reader
        self._volumes = list(reader.volumes()) if claims.delayed else []

    def check(self, node: SchedulingNode) -> Rejection | None:
        """Return why a node does not fit; None if it does."""
        reasons: list[str] = []
        if any(volume is not None and not _reaches(node, volume) for volume in self._bound):
            reasons.append(_UNREACHABLE)
        if not self._can_bind(node):
            reasons.append(_UNBOUND)
        if not reasons and any(volume is None for volume in self._bound):
            reasons.append(_NO_VOLUME)
        return Rejection(tuple(reasons), _CURES, is_final=True) if reasons else None

    def _can_bind(self, node: SchedulingNode) -> bool:
        chosen: list[Plain] = []
        for claim in self._delayed:
            selected = text(part(metadata(claim), "annotations"), SELECTED_NODE)
            # The volume is being provisioned for another node.
            if selected and selected != node.name:
                return False
            free = [volume for volume in self._volumes if volume not in chosen]
            volume = (
                None if selected else choose_volume(claim, free, make_node(node.name, node.labels), is_delayed=False)
            )
            if volume is not None:
                chosen.append(volume)
            elif not self._can_provision(claim, node):
                return False
        return True

    def _can_provision(self, claim: Plain, node: SchedulingNode) -> bool:
        storage_class = self._reader.storage_class(text(part(claim, "spec"), "storageClassName"))
        if storage_class is None or text(storage_class, "provisioner") in {"", NO_PROVISIONER}:
            return False
        topologies = items(storage_class, "allowedTopologies")
        return not topologies or any(_matches_topology(node, topology) for topology in topologies)


def _matches_topology(node: SchedulingNode, topology: Plain) -> bool:
    return all(
        node.labels.get(text(expression, "key")) in (expression.get("values") or ())
        for expression in items(topology, "matchLabelExpressions")
    )


def _reaches(node: SchedulingNode, volume: Plain) -> bool:
    required = part(part(part(volume, "spec"), "nodeAffinity"), "required")
    return not required or matches_terms(make_node(node.name, node.labels), items(required, "nodeSelectorTerms"))


class VolumeZoneCheck:
    """Rejects nodes outside of the zones and regions in the labels of a pod's volumes."""

    def __init__(self, volumes: Sequence[Plain | None]) -> None:
        self._places: list[tuple[str, frozenset[str]]] = []
        for volume in volumes:
            labels = part(metadata(volume), "labels") if volume is not None else {}
            self._places.extend((key, frozenset(labels[key].split("__"))) for key in _ZONE_KEYS if key in labels)

    @property
    def is_needed(self) -> bool:
        """Whether it may reject a node."""
        return bool(self._places)

    def check(self, node: SchedulingNode) -> Rejection | None:
        """Return why a node does not fit; None if it does."""
        labels = node.labels
        if not any(key in labels for key in _ZONE_KEYS):
            return None
        for key, values in self._places:
            value = labels.get(key, labels.get(_STABLE_KEYS.get(key, key)))
            if value not in values:
                return _OTHER_ZONE
        return None
