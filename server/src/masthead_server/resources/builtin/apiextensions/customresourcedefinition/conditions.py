"""The conditions of a CustomResourceDefinition: finding, setting and deciding them.

The functions that end in ``_status`` return what the status becomes, or None if it stays; the caller writes it to the
status subresource. None of them changes the definition that it is given.
"""

from __future__ import annotations

from typing import Final

from masthead_server.resources.builtin.apiextensions.customresourcedefinition.approval import approval_of
from masthead_server.resources.validation.ca_bundles import has_certificates
from masthead_server.wire.plain import Plain, items, part, text

__all__ = [
    "API_APPROVED",
    "CLEANUP_FINALIZER",
    "DELETION_COMPLETED",
    "DELETION_IN_PROGRESS",
    "DELETION_PENDING",
    "ESTABLISHED",
    "NAMES_ACCEPTED",
    "NEVER_ESTABLISHED",
    "TERMINATING",
    "approval_status",
    "condition_of",
    "established_status",
    "find_condition",
    "is_condition_true",
    "with_condition",
]

NAMES_ACCEPTED: Final = "NamesAccepted"
ESTABLISHED: Final = "Established"
TERMINATING: Final = "Terminating"
API_APPROVED: Final = "KubernetesAPIApprovalPolicyConformant"
CLEANUP_FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer that a DELETE adds; the controller removes it after the objects of the definition."""


def condition_of(kind: str, status: str, reason: str, message: str) -> Plain:
    """Return a condition without the time of its last transition, which `with_condition` sets."""
    return {"type": kind, "status": status, "lastTransitionTime": None, "reason": reason, "message": message}


DELETION_PENDING: Final = condition_of(
    TERMINATING,
    "True",
    "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
)
"""Set by the DELETE itself."""
DELETION_IN_PROGRESS: Final = condition_of(
    TERMINATING, "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"
)
"""Set before the objects are deleted."""
DELETION_COMPLETED: Final = condition_of(TERMINATING, "False", "InstanceDeletionCompleted", "removed all instances")
"""Set after the deletion of all objects, together with the removal of the finalizer."""
NEVER_ESTABLISHED: Final = condition_of(TERMINATING, "False", "NeverEstablished", "resource was never established")
"""Set instead of `DELETION_COMPLETED` if the definition was never established."""


def find_condition(definition: Plain, kind: str) -> Plain | None:
    """Return a condition by its type; None if it is not set."""
    found = items(part(definition, "status"), "conditions")
    return next((item for item in found if text(item, "type") == kind), None)


def is_condition_true(definition: Plain, kind: str) -> bool:
    """Tell whether there is such a condition and its status is True."""
    found = find_condition(definition, kind)
    return found is not None and found.get("status") == "True"


def with_condition(status: Plain, condition: Plain, now: str) -> Plain:
    """Return a status with a condition set.

    A condition of the same type is replaced in its position, and keeps the time of its last transition if its status
    does not change.

    Args:
        status: The status of a definition.
        condition: The condition.
        now: The time, as the API writes it.
    """
    before = items(status, "conditions")
    fresh = condition | {"lastTransitionTime": now}
    after = [_replace_condition(entry, fresh) if entry.get("type") == fresh["type"] else entry for entry in before]
    if not any(item.get("type") == fresh["type"] for item in before):
        after.append(fresh)
    return status | {"conditions": after}


def _replace_condition(old: Plain, new: Plain) -> Plain:
    is_same = old.get("status") == new["status"] and old.get("lastTransitionTime")
    since = old["lastTransitionTime"] if is_same else new["lastTransitionTime"]
    # Fields that the new condition lacks survive.
    return old | new | {"lastTransitionTime": since}


def established_status(definition: Plain, now: str) -> Plain | None:
    """Return the status of a definition whose names were accepted and whose objects are served from now on.

    It comes after the definition's resources are served, and after `names_status`, which has set ``Installing``.
    """
    if not is_condition_true(definition, NAMES_ACCEPTED) or is_condition_true(definition, ESTABLISHED):
        return None
    webhook = part(part(part(definition, "spec"), "conversion"), "webhook")
    bundle = text(part(webhook, "clientConfig"), "caBundle")
    # A broken bundle makes every conversion fail, so that the definition is not served as established.
    if bundle and not has_certificates(bundle):
        condition = condition_of(ESTABLISHED, "False", "InvalidCABundle", "The conversion webhook CABundle is invalid")
    else:
        condition = condition_of(ESTABLISHED, "True", "InitialNamesAccepted", "the initial names have been accepted")
    return _status_if_changed(definition, condition, now)


def approval_status(definition: Plain, now: str) -> Plain | None:
    """Return the status with the approval condition of a protected group; None for other groups."""
    approval = approval_of(definition)
    if approval is None:
        return None
    status = "True" if approval.is_approved else "False"
    condition = condition_of(API_APPROVED, status, approval.condition_reason, approval.message)
    return _status_if_changed(definition, condition, now)


def _status_if_changed(definition: Plain, condition: Plain, now: str) -> Plain | None:
    old = find_condition(definition, condition["type"])
    # Equal conditions cause no write, or the controller would trigger itself for ever.
    if old is not None and all(old.get(key) == condition[key] for key in ("status", "reason", "message")):
        return None
    return with_condition(part(definition, "status"), condition, now)
