"""PersistentVolumeClaims: defaults, validation and warnings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks, always
from masthead_server.resources.defaulting.fill import round_up, shape
from masthead_server.resources.defaulting.pod_template import CLAIM_SPEC
from masthead_server.resources.validation.checks import amount, immutable, same_structs, unsupported
from masthead_server.resources.validation.internal_types import difference, inner
from masthead_server.resources.validation.volume_claims import claim_spec_errors
from masthead_server.resources.warnings.quantities import claim_warnings
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

CLAIM: Final = shape(
    always={"spec": CLAIM_SPEC, "status": shape(blank={"phase": "Pending"})},
    inside={"status": shape(inside={"capacity": round_up, "allocatedResources": round_up})},
)
"""A claim of storage, which templates of claims are too."""


def claim_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a PersistentVolumeClaim."""
    after, before = part(new, "spec"), part(old, "spec")
    errors = claim_spec_errors(after, "spec")
    # The phase decides, not volumeName: only a claim that the controller has bound may grow.
    bound = part(new, "status").get("phase") == "Bound"
    # Which volume is named is not a change while none was.
    then = before if before.get("volumeName") else {**before, "volumeName": after.get("volumeName")}
    now = _fixed_claim(after, before, bound=bound)
    if not same_structs(now, then):
        why = (
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        )
        errors.append(forbidden("spec", f"{why}\n{difference(inner('ClaimSpec', then), inner('ClaimSpec', now))}"))
    sizes = [amount(part(part(state, "resources"), "requests").get("storage")) for state in (after, before)]
    held = amount(part(part(old, "status"), "capacity").get("storage"))
    # A failed expansion may be reduced again, but volumes never shrink.
    # Equal to the capacity is refused, too: kube-apiserver compares with "less than or equal".
    if sizes[0] < sizes[1] and sizes[0] <= held:
        why = "field can not be less than status.capacity"
        errors.append(forbidden("spec.resources.requests.storage", why))
    # The path lacks its prefix in kube-apiserver, too.
    return errors + immutable("volumeMode", after.get("volumeMode"), before.get("volumeMode"))


def _fixed_claim(after: Plain, before: Plain, *, bound: bool) -> Plain:
    """Return the new claim without mutable fields: a bound claim may grow."""
    free: set[str] = set()
    # A claim without a class gets one later, once there is a default class.
    if before.get("storageClassName") is None and after.get("storageClassName") is not None:
        free.add("storageClassName")
    if bound:
        free |= {"volumeAttributesClassName"}
    fixed = {key: value for key, value in after.items() if key not in free}
    fixed |= {key: value for key, value in before.items() if key in free}
    if bound:
        requests = part(part(after, "resources"), "requests")
        requested = part(part(before, "resources"), "requests").get("storage")
        fixed["resources"] = {**part(after, "resources"), "requests": {**requests, "storage": requested}}
    return fixed


_RESIZES: Final = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)


def claim_status_errors(new: Plain, _old: Plain) -> Errors:
    """Validate what a claim has got."""
    status = part(new, "status")
    errors: Errors = []
    # Sorted, because Go's order of maps is random.
    for name, value in sorted(part(status, "capacity").items()):
        errors += _basic_errors(f"status.capacity[{name}]", value)
    path = "status.allocatedResourceStatuses"
    for name, resize in sorted(part(status, "allocatedResourceStatuses").items()):
        errors += _key_errors(path, name)
        # The message shows the resource instead of the unknown state, as in kube-apiserver.
        errors += [] if resize in _RESIZES else [unsupported(path, name, _RESIZES)]
    path = "status.allocatedResources"
    for name, value in sorted(part(status, "allocatedResources").items()):
        errors += _key_errors(path, name) or _basic_errors(f"{path}[{name}]", value)
    return errors


def _key_errors(path: str, name: str) -> Errors:
    known = name == "storage" or (re.search("/", name) and not names.qualified_name(name))
    return [] if known else [unsupported(path, name, ("storage",))]


def _basic_errors(path: str, value: object) -> Errors:
    quantity = amount(value)
    if quantity.sign >= 0:
        return []
    return [invalid(path, quantity.value(), "must be a valid resource quantity")]


CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
CLASS_FIELD_WARNING: Final = 'deprecated since v1.8; use "storageClassName" attribute instead'


def annotation_warnings(obj: Plain, known: dict[str, str]) -> list[str]:
    """Return the warnings about deprecated annotations."""
    given = part(part(obj, "metadata"), "annotations")
    return [f"metadata.annotations[{key}]: {message}" for key, message in known.items() if key in given]


def persistent_volume_claim_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a PersistentVolumeClaim."""
    return annotation_warnings(obj, {CLASS_ANNOTATION: CLASS_FIELD_WARNING}) + claim_warnings("spec", part(obj, "spec"))


_OLD_SOURCES: Final = frozenset({("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")})


def _pair_sources(claim: Plain) -> None:
    """Copy the data source of a claim between ``dataSource`` and ``dataSourceRef``, unless the older field lacks it."""
    spec = part(claim, "spec")
    source = part(spec, "dataSource")
    known = (text(source, "apiGroup"), text(source, "kind")) in _OLD_SOURCES
    # dataSource silently drops kinds that it has never supported.
    if source and not known and spec.get("dataSourceRef") is None:
        del spec["dataSource"]
    one, other = spec.get("dataSource"), spec.get("dataSourceRef")
    if one is not None and other is None:
        spec["dataSourceRef"] = dict(one)
    elif other is not None and one is None and not other.get("namespace"):
        # Only dataSourceRef can name an object of another namespace.
        spec["dataSource"] = {key: value for key, value in other.items() if key != "namespace"}


def _drop_foreign_source(claim: Plain, old: Plain) -> None:
    """Drop a data source in another namespace, whose feature gate is off, unless the stored claim has a source."""
    spec = part(claim, "spec")
    if part(spec, "dataSourceRef").get("namespace") and part(old, "spec").get("dataSourceRef") is None:
        del spec["dataSourceRef"]


def _carry_claim(new: Plain, old: Plain) -> None:
    _drop_foreign_source(new, old)
    # A claim of an older server may have one of the two fields only.
    _pair_sources(new)


def _prepare_claim(claim: Plain, _allocate: Allocator) -> None:
    _drop_foreign_source(claim, {})
    _pair_sources(claim)
    claim["status"] = {"phase": "Pending"}


BEHAVIOR: Final = Behavior(
    defaults=CLAIM,
    hooks=StrategyHooks(
        prepare_create=_prepare_claim,
        prepare_update=_carry_claim,
        validate_create=lambda obj: claim_spec_errors(part(obj, "spec"), "spec"),
        validate_update=claim_changes,
        validate_status=claim_status_errors,
    ),
    warnings=always(persistent_volume_claim_warnings),
)
