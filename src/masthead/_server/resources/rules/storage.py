"""Claims of storage, volumes and classes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._server.resources import names
from masthead._server.resources.behavior import StrategyHooks
from masthead._server.resources.rules.statuses import claim_errors, stamp_phase
from masthead._server.resources.validation.checks import (
    IMMUTABLE,
    MOST,
    amount,
    between,
    follows,
    immutable,
    known_or_nothing,
    same,
    shown_map,
    unsupported,
    words,
)
from masthead._server.resources.validation.internal_types import difference, inner
from masthead._server.resources.validation.volume_claims import (
    POSITIVE,
    claim_spec_errors,
    class_name,
    mode_errors,
)
from masthead._server.resources.validation.volume_sources import SOURCES
from masthead._server.wire.failures import forbidden, invalid, required, too_long
from masthead._server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from masthead._server.resources.allocator import Allocator
    from masthead._server.resources.behavior import Errors
    from masthead._server.wire.plain import Plain

_DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def _protect(obj: Plain, finalizer: str) -> None:
    meta = metadata(obj)
    held = words(meta, "finalizers")
    if finalizer not in held:
        meta["finalizers"] = [*held, finalizer]


def _default_class(allocate: Allocator) -> str:
    """Name the class for claims that name none: the newest of those that are marked as the default."""
    marked = [
        metadata(each)
        for each in allocate.listed("storage.k8s.io", "storageclasses")
        if any(part(metadata(each), "annotations").get(key) == "true" for key in _DEFAULT_CLASS)
    ]
    ranked = sorted(marked, key=lambda meta: text(meta, "name"))
    ranked.sort(key=lambda meta: text(meta, "creationTimestamp"), reverse=True)
    return text(ranked[0], "name") if ranked else ""


_OLD_SOURCES: Final = frozenset(
    {("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")}
)


def _pair_sources(claim: Plain) -> None:
    """Write the source of a claim's data in both fields that can say it; the older field drops what it does not know."""
    spec = part(claim, "spec")
    source = part(spec, "dataSource")
    known = (text(source, "apiGroup"), text(source, "kind")) in _OLD_SOURCES
    if source and not known and spec.get("dataSourceRef") is None:
        del spec["dataSource"]
    one, other = spec.get("dataSource"), spec.get("dataSourceRef")
    if one is not None and other is None:
        spec["dataSourceRef"] = dict(one)
    elif other is not None and one is None and not other.get("namespace"):
        spec["dataSource"] = {key: value for key, value in other.items() if key != "namespace"}


def _prepare_claim(claim: Plain, allocate: Allocator) -> None:
    spec = claim["spec"]
    annotated = part(metadata(claim), "annotations").get("volume.beta.kubernetes.io/storage-class")
    if spec.get("storageClassName") is None and annotated is None:
        name = _default_class(allocate)
        if name:
            spec["storageClassName"] = name
    _protect(claim, "kubernetes.io/pvc-protection")
    _pair_sources(claim)
    claim["status"] = {"phase": "Pending"}


def _claim_changes(new: Plain, old: Plain) -> Errors:
    after, before = part(new, "spec"), part(old, "spec")
    errors = claim_spec_errors(after, "spec")
    bound = part(new, "status").get("phase") == "Bound"
    # Which volume is named is not a change while none was.
    then = before if before.get("volumeName") else {**before, "volumeName": after.get("volumeName")}
    now = _fixed_claim(after, before, bound=bound)
    if not same(now, then):
        why = (
            "spec is immutable after creation except resources.requests and volumeAttributesClassName"
            " for bound claims"
        )
        errors.append(
            forbidden("spec", f"{why}\n{difference(inner('ClaimSpec', then), inner('ClaimSpec', now))}")
        )
    sizes = [amount(part(part(each, "resources"), "requests").get("storage")) for each in (after, before)]
    held = amount(part(part(old, "status"), "capacity").get("storage"))
    if sizes[0] < sizes[1] and sizes[0] <= held:
        why = "field can not be less than status.capacity"
        errors.append(forbidden("spec.resources.requests.storage", why))
    return errors + immutable("volumeMode", after.get("volumeMode"), before.get("volumeMode"))


def _fixed_claim(after: Plain, before: Plain, *, bound: bool) -> Plain:
    """The new claim without what it may change: one that is bound may grow."""
    free: set[str] = set()
    if before.get("storageClassName") is None and after.get("storageClassName"):
        free.add("storageClassName")
    if bound:
        free |= {"volumeAttributesClassName"}
    fixed = {key: value for key, value in after.items() if key not in free}
    fixed |= {key: value for key, value in before.items() if key in free}
    if bound:
        requests = part(part(after, "resources"), "requests")
        asked = part(part(before, "resources"), "requests").get("storage")
        fixed["resources"] = {**part(after, "resources"), "requests": {**requests, "storage": asked}}
    return fixed


def _prepare_volume(volume: Plain, _allocate: Allocator) -> None:
    _protect(volume, "kubernetes.io/pv-protection")
    since = metadata(volume).get("creationTimestamp")
    volume["status"] = {"phase": "Pending"}
    if since:
        volume["status"]["lastPhaseTransitionTime"] = since


_RECLAIM: Final = ("Delete", "Recycle", "Retain")
_VOLUME_SOURCES: Final = (
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
)


def _volume_errors(volume: Plain) -> Errors:
    spec = part(volume, "spec")
    errors: Errors = [] if spec.get("accessModes") else [required("spec.accessModes")]
    errors += mode_errors("spec.accessModes", spec)
    errors += _capacity_errors(spec.get("capacity"))
    policy = spec.get("persistentVolumeReclaimPolicy")
    errors += known_or_nothing("spec.persistentVolumeReclaimPolicy", policy, _RECLAIM)
    stated = [each for each in _VOLUME_SOURCES if spec.get(each) is not None]
    errors += _held_errors(stated[0], spec) if stated else [required("spec", "must specify a volume type")]
    why = "may not specify more than 1 volume type"
    errors += [forbidden(f"spec.{each}", why) for each in stated[1:]]
    errors += follows("spec.storageClassName", spec.get("storageClassName"), class_name)
    return errors + known_or_nothing("spec.volumeMode", spec.get("volumeMode"), ("Block", "Filesystem"))


def _held_errors(kind: str, spec: Plain) -> Errors:
    source, path = part(spec, kind), f"spec.{kind}"
    if kind == "local":
        errors = [] if source.get("path") else [required(f"{path}.path")]
        if not part(spec, "nodeAffinity").get("required"):
            errors.append(required("spec.nodeAffinity", "Local volume requires node affinity"))
        return errors
    if kind == "csi":
        return [required(f"{path}.{each}") for each in ("driver", "volumeHandle") if not source.get(each)]
    return SOURCES[kind](path, source)


def _capacity_errors(capacity: Plain | None) -> Errors:
    path = "spec.capacity"
    errors: Errors = [] if capacity else [required(path)]
    if set(capacity or {}) != {"storage"}:
        errors.append(unsupported(path, shown_map(capacity), ("storage",)))
    for name, value in (capacity or {}).items():
        quantity = amount(value)
        if quantity.sign < 0:
            errors.append(invalid(f"{path}[{name}]", quantity.value(), "must be a valid resource quantity"))
        if quantity.sign <= 0:
            errors.append(invalid(f"{path}[{name}]", str(quantity), POSITIVE))
    return errors


def _volume_changes(new: Plain, old: Plain) -> Errors:
    after, before = part(new, "spec"), part(old, "spec")
    # The real server checks the volume twice, and says twice what is wrong with it.
    errors = _volume_errors(new) + _volume_errors(new)
    now, then = (
        {key: value for key, value in side.items() if key in _VOLUME_SOURCES} for side in (after, before)
    )
    if not same(now, then):
        changed = difference(inner("VolumeSource", then), inner("VolumeSource", now))
        why = f"spec.persistentvolumesource is immutable after creation\n{changed}"
        errors.append(forbidden("spec.persistentvolumesource", why))
    return errors + immutable("volumeMode", after.get("volumeMode"), before.get("volumeMode"))


def _driver_errors(field: str, found: Plain) -> Errors:
    driver = text(found, field)
    return follows(field, driver.lower(), names.qualified_name) if driver else [required(field)]


def _class_errors(found: Plain) -> Errors:
    errors = _driver_errors("provisioner", found)
    # Deleting or keeping is what a provisioner can do; recycling is not.
    errors += known_or_nothing("reclaimPolicy", found.get("reclaimPolicy") or None, ("Delete", "Retain"))
    modes = ("Immediate", "WaitForFirstConsumer")
    return errors + known_or_nothing("volumeBindingMode", found.get("volumeBindingMode"), modes)


def _class_changes(new: Plain, old: Plain) -> Errors:
    errors = _class_errors(new) + immutable("parameters", new.get("parameters"), old.get("parameters"))
    errors += immutable("provisioner", text(new, "provisioner"), text(old, "provisioner"))
    for field in ("reclaimPolicy", "volumeBindingMode"):
        errors += immutable(field, new.get(field), old.get(field))
    return errors


def _attributes_errors(found: Plain) -> Errors:
    errors, parameters = _driver_errors("driverName", found), part(found, "parameters")
    if "" in parameters:
        errors.append(invalid("parameters", "", "field can not be empty."))
    if not parameters:
        errors.append(required("parameters", "must contain at least one key/value pair"))
    return errors


def _attributes_changes(new: Plain, old: Plain) -> Errors:
    changed = [each for each in ("driverName", "parameters") if not same(new.get(each), old.get(each))]
    errors = [forbidden(each, f"updates to {each} are forbidden.") for each in changed]
    return errors + _attributes_errors(new)


_ONE_SOURCE: Final = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def _attachment_errors(attachment: Plain) -> Errors:
    spec, path = part(attachment, "spec"), "spec.source"
    driver, volume = text(spec, "attacher"), part(spec, "source").get("persistentVolumeName")
    errors = [] if driver else [required("spec.attacher")]
    if len(driver) > 63:
        errors.append(too_long("spec.attacher", 63))
    if driver:
        errors += [invalid("spec.attacher", driver, each) for each in names.SUBDOMAIN(driver.lower())]
    has_inline = part(spec, "source").get("inlineVolumeSpec") is not None
    if volume is None and not has_inline:
        errors.append(required(path, _ONE_SOURCE))
    elif volume is not None and has_inline:
        errors.append(forbidden(path, _ONE_SOURCE))
    elif volume == "":
        errors.append(required(f"{path}.persistentVolumeName", "must specify non empty persistentVolumeName"))
    errors += follows("spec.nodeName", text(spec, "nodeName"), names.SUBDOMAIN)
    for field in ("attachError", "detachError"):
        code = part(part(attachment, "status"), field).get("errorCode")
        errors += between(f"status.{field}.errorCode", code, 0, MOST)
    return errors + (
        [] if volume is None else follows(f"{path}.persistentVolumeName", volume, names.SUBDOMAIN)
    )


def _attachment_changes(new: Plain, old: Plain) -> Errors:
    errors, spec = _attachment_errors(new), part(new, "spec")
    if same(spec, old.get("spec")):
        return errors
    source = part(spec, "source")
    shown = {
        "Attacher": text(spec, "attacher"),
        "Source": {
            "PersistentVolumeName": source.get("persistentVolumeName"),
            "InlineVolumeSpec": source.get("inlineVolumeSpec"),
        },
        "NodeName": text(spec, "nodeName"),
    }
    return [*errors, invalid("spec", shown, IMMUTABLE)]


RULES: Final = {
    "persistentvolumeclaims": StrategyHooks(
        prepare_create=_prepare_claim,
        prepare_update=lambda new, _old: _pair_sources(new),
        validate_create=lambda obj: claim_spec_errors(part(obj, "spec"), "spec"),
        validate_update=_claim_changes,
        validate_status=claim_errors,
    ),
    "persistentvolumes": StrategyHooks(
        prepare_create=_prepare_volume,
        validate_create=_volume_errors,
        validate_update=_volume_changes,
        prepare_status=stamp_phase,
    ),
    "storageclasses": StrategyHooks(validate_create=_class_errors, validate_update=_class_changes),
    "volumeattributesclasses": StrategyHooks(
        prepare_create=lambda obj, _allocate: _protect(obj, "kubernetes.io/vac-protection"),
        validate_create=_attributes_errors,
        validate_update=_attributes_changes,
    ),
    "volumeattachments": StrategyHooks(
        validate_create=_attachment_errors,
        validate_update=_attachment_changes,
        validate_status=lambda new, _old: _attachment_errors(new),
    ),
}
