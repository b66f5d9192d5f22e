"""PersistentVolumes: defaults, validation and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid, required
from masthead_server.resources.behavior import Behavior, StrategyHooks, always
from masthead_server.resources.builtin.core.persistentvolumeclaim import (
    CLASS_ANNOTATION,
    CLASS_FIELD_WARNING,
    annotation_warnings,
)
from masthead_server.resources.defaulting.fill import round_up, shape
from masthead_server.resources.defaulting.pod_template import STORAGE
from masthead_server.resources.validation.checks import (
    IMMUTABLE,
    amount,
    follows,
    given,
    immutable,
    known_or_nothing,
    same,
    same_structs,
    shown_map,
    unsupported,
)
from masthead_server.resources.validation.internal_types import difference, inner
from masthead_server.resources.validation.persistent_sources import PERSISTENT_SOURCES, persistent_source_errors
from masthead_server.resources.validation.pod_affinity import node_selector_errors
from masthead_server.resources.validation.volume_claims import POSITIVE, class_name, mode_errors
from masthead_server.resources.warnings.node_labels import expression_warnings
from masthead_server.resources.warnings.volumes import REMOVED
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain

DEFAULTS: Final[Fill] = shape(
    always={
        "spec": shape(
            blank={"persistentVolumeReclaimPolicy": "Retain"},
            unset={"volumeMode": "Filesystem"},
            inside={"capacity": round_up, **STORAGE},
        ),
        "status": shape(blank={"phase": "Pending"}),
    }
)

_RECLAIM: Final = ("Delete", "Recycle", "Retain")


def volume_errors(volume: Plain) -> Errors:
    """Return the errors of a PersistentVolume."""
    spec = part(volume, "spec")
    errors: Errors = [] if spec.get("accessModes") else [required("spec.accessModes")]
    errors += mode_errors("spec.accessModes", spec)
    errors += _capacity_errors(spec.get("capacity"))
    policy = spec.get("persistentVolumeReclaimPolicy")
    errors += known_or_nothing("spec.persistentVolumeReclaimPolicy", policy, _RECLAIM)
    errors += _affinity_errors(spec)
    errors += persistent_source_errors(spec, text(part(volume, "metadata"), "name"))
    errors += follows("spec.storageClassName", spec.get("storageClassName"), class_name)
    errors += known_or_nothing("spec.volumeMode", spec.get("volumeMode"), ("Block", "Filesystem"))
    return errors + _attribute_errors(spec)


def _attribute_errors(spec: Plain) -> Errors:
    name, path = spec.get(_ATTRIBUTES_CLASS), f"spec.{_ATTRIBUTES_CLASS}"
    if name is None:
        return []
    errors = given(path, name, class_name) if name else [required(path, "an empty string is disallowed")]
    # Only a CSI driver can change the attributes of a volume.
    if spec.get("csi") is None:
        errors.append(required("spec.csi", f"has to be specified when using {_ATTRIBUTES_CLASS}"))
    return errors


def _affinity_errors(spec: Plain) -> Errors:
    if spec.get("nodeAffinity") is None:
        return []
    selector = part(spec, "nodeAffinity").get("required")
    if selector is None:
        return [required("spec.nodeAffinity.required", "must specify required node constraints")]
    return node_selector_errors("spec.nodeAffinity.required", selector)


def _capacity_errors(capacity: Plain | None) -> Errors:
    path = "spec.capacity"
    errors: Errors = [] if capacity else [required(path)]
    # The message repeats the error of a missing capacity, as in kube-apiserver.
    if set(capacity or {}) != {"storage"}:
        errors.append(unsupported(path, shown_map(capacity), ("storage",)))
    # Every quantity is checked, also of resources that are unsupported.
    for name, value in (capacity or {}).items():
        quantity = amount(value)
        # A negative quantity gets both errors.
        if quantity.sign < 0:
            errors.append(invalid(f"{path}[{name}]", quantity.value(), "must be a valid resource quantity"))
        if quantity.sign <= 0:
            errors.append(invalid(f"{path}[{name}]", str(quantity), POSITIVE))
    return errors


def volume_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a PersistentVolume."""
    after, before = part(new, "spec"), part(old, "spec")
    # kube-apiserver validates the volume twice, and reports errors twice.
    errors = volume_errors(new) + volume_errors(new)
    now, then = ({key: value for key, value in side.items() if key in PERSISTENT_SOURCES} for side in (after, before))
    # Only the source is immutable: claim, capacity and policies change during the life of a volume.
    if not same_structs(now, then):
        changed = difference(inner("VolumeSource", then), inner("VolumeSource", now))
        why = f"spec.persistentvolumesource is immutable after creation\n{changed}"
        errors.append(forbidden("spec.persistentvolumesource", why))
    # The paths lack their prefix in kube-apiserver, too.
    errors += immutable("volumeMode", after.get("volumeMode"), before.get("volumeMode"))
    errors += _affinity_changes(after.get("nodeAffinity"), before.get("nodeAffinity"))
    if before.get(_ATTRIBUTES_CLASS) is not None and after.get(_ATTRIBUTES_CLASS) is None:
        errors.append(forbidden(f"spec.{_ATTRIBUTES_CLASS}", "update from non-nil value to nil is forbidden"))
    return errors


def _affinity_changes(now: Plain | None, then: Plain | None) -> Errors:
    """Return the error of a change of the node affinity; deprecated labels may be replaced by their successors."""
    if then is None or (now is not None and _is_same_affinity(now, then)):
        return []
    selector = None if now is None else now.get("required")
    shown = None if now is None else {"Required": None if selector is None else inner("NodeSelector", selector)}
    return [invalid("nodeAffinity", shown, f"{IMMUTABLE}, except for updating from beta label to GA")]


def _is_same_affinity(now: Plain, then: Plain) -> bool:
    after, before = _requirements(now), _requirements(then)
    return len(after) == len(before) and all(map(_is_same_requirement, after, before))


def _requirements(affinity: Plain) -> list[Plain]:
    """Return the requirements of an affinity, with marks between its terms and their parts."""
    return [
        requirement
        for term in items(part(affinity, "required"), "nodeSelectorTerms")
        for field in ("matchExpressions", "matchFields")
        for requirement in [{"field": field}, *items(term, field)]
    ]


def _is_same_requirement(new: Plain, old: Plain) -> bool:
    # A label without a successor may become none, as in kube-apiserver.
    if _GA_LABELS.get(text(old, "key"), "") == text(new, "key"):
        old = {**old, "key": new.get("key")}
    return same(new, old)


_ATTRIBUTES_CLASS: Final = "volumeAttributesClassName"
_GA_LABELS: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}
_VOLUME_ANNOTATIONS: Final = {
    CLASS_ANNOTATION: CLASS_FIELD_WARNING,
    "volume.beta.kubernetes.io/mount-options": 'deprecated since v1.31; use "mountOptions" attribute instead',
}
_DEPRECATED_SOURCES: Final = ("cephfs", "photonPersistentDisk", "scaleIO", "storageos", "glusterfs", "rbd")
"""The sources that a volume is warned of: not all that a pod is warned of."""
_RECYCLED: Final = (
    "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning."
)


def volume_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a PersistentVolume."""
    spec = part(obj, "spec")
    found = annotation_warnings(obj, _VOLUME_ANNOTATIONS)
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        found.append(f"spec.persistentVolumeReclaimPolicy: {_RECYCLED}")
    required = part(part(spec, "nodeAffinity"), "required")
    for index, term in enumerate(items(required, "nodeSelectorTerms")):
        found += expression_warnings(f"spec.nodeAffinity.required.nodeSelectorTerms[{index}]", term)
    return found + [f"spec.{REMOVED[name]}" for name in _DEPRECATED_SOURCES if name in spec]


def _prepare_volume(volume: Plain, _allocate: Allocator) -> None:
    # The phase of a new volume begins with the volume.
    since = metadata(volume).get("creationTimestamp")
    volume["status"] = {"phase": "Pending"}
    if since:
        volume["status"]["lastPhaseTransitionTime"] = since


def stamp_phase(new: Plain, old: Plain, allocate: Allocator) -> None:
    """Write down when the phase of a volume changed, if the writer does not."""
    after, before, field = new.setdefault("status", {}), part(old, "status"), "lastPhaseTransitionTime"
    if after.get("phase") != before.get("phase"):
        # A writer that sends another time knows better.
        if after.get(field) in {None, before.get(field)}:
            after[field] = allocate.now()
    # A writer that does not know the field must not erase the time.
    elif after.get(field) is None and before.get(field) is not None:
        after[field] = before[field]


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        prepare_create=_prepare_volume,
        validate_create=volume_errors,
        validate_update=volume_changes,
        prepare_status=stamp_phase,
    ),
    warnings=always(volume_warnings),
)
