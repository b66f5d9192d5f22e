"""Validation of PersistentVolumeClaims."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid
from masthead_server.resources import names
from masthead_server.resources.validation.checks import amount, immutable, same, unsupported
from masthead_server.resources.validation.internal_types import difference, inner
from masthead_server.resources.validation.volume_claims import claim_spec_errors
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain


def claim_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a PersistentVolumeClaim."""
    after, before = part(new, "spec"), part(old, "spec")
    errors = claim_spec_errors(after, "spec")
    bound = part(new, "status").get("phase") == "Bound"
    # Which volume is named is not a change while none was.
    then = before if before.get("volumeName") else {**before, "volumeName": after.get("volumeName")}
    now = _fixed_claim(after, before, bound=bound)
    if not same(now, then):
        why = (
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        )
        errors.append(forbidden("spec", f"{why}\n{difference(inner('ClaimSpec', then), inner('ClaimSpec', now))}"))
    sizes = [amount(part(part(each, "resources"), "requests").get("storage")) for each in (after, before)]
    held = amount(part(part(old, "status"), "capacity").get("storage"))
    if sizes[0] < sizes[1] and sizes[0] <= held:
        why = "field can not be less than status.capacity"
        errors.append(forbidden("spec.resources.requests.storage", why))
    return errors + immutable("volumeMode", after.get("volumeMode"), before.get("volumeMode"))


def _fixed_claim(after: Plain, before: Plain, *, bound: bool) -> Plain:
    """The new claim without what it may change: one that is bound may grow."""
    free: set[str] = set()
    # A claim without a class gets one later, once there is a default class.
    if before.get("storageClassName") is None and after.get("storageClassName"):
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
    for name, value in sorted(part(status, "capacity").items()):
        errors += _basic_errors(f"status.capacity[{name}]", value)
    path = "status.allocatedResourceStatuses"
    for name, resize in sorted(part(status, "allocatedResourceStatuses").items()):
        errors += _key_errors(path, name)
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
