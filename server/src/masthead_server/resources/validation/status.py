"""Validation of counters and conditions in a status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import duplicate, invalid, required, too_long
from masthead_server.resources import names
from masthead_server.resources.validation.checks import each_of, follows, not_negative, unsupported
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_COLLISIONS: Final = "collisionCount"
_REASON: Final = names.Format(
    "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?",
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric"
    " characters or '_,:', and must end with an alphanumeric character or '_'",
    ("my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"),
    limit=1024,
    unit="bytes",
)
_MAX_MESSAGE_LENGTH: Final = 32 * 1024


def counters(
    *counted: str, bounded: Iterable[str] = (), ready: str = "readyReplicas"
) -> Callable[[Plain, Plain], Errors]:
    """Make the check of a status that counts replicas.

    Args:
        *counted: What may not be negative, in the order in which it is looked at.
        bounded: What may not be more than all replicas.
        ready: The name of ready replicas in messages; available replicas are a subset of them.
    """
    limits = tuple(bounded)

    def check(new: Plain, old: Plain) -> Errors:
        status = part(new, "status")
        errors = [error for field in counted for error in not_negative(f"status.{field}", status.get(field))]
        replicas = status.get("replicas") or 0
        for field in limits:
            if (status.get(field) or 0) > replicas:
                why = "cannot be greater than status.replicas"
                errors.append(invalid(f"status.{field}", status.get(field) or 0, why))
        available = status.get("availableReplicas") or 0
        # Kinds without bounded counters do not relate them either.
        if limits and available > (status.get("readyReplicas") or 0):
            why = f"cannot be greater than {ready}"
            errors.append(invalid("status.availableReplicas", available, why))
        return errors + (_collision_errors(status, part(old, "status")) if _COLLISIONS in counted else [])

    return check


def _collision_errors(after: Plain, before: Plain) -> Errors:
    now, then = after.get(_COLLISIONS), before.get(_COLLISIONS)
    # The counter makes hashes of revisions unique; a lower one could repeat a name.
    if then is None or (now is not None and now >= then):
        return []
    return [invalid(f"status.{_COLLISIONS}", now or 0, "cannot be decremented")]


_LABELED: Final = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
replica_status_errors: Final = counters(
    "replicas", *_LABELED, "observedGeneration", "terminatingReplicas", bounded=_LABELED
)
"""Validates the status of a ReplicaSet or a ReplicationController."""


def condition_errors(status: Plain, path: str = "status") -> Errors:
    """Validate conditions of the kind that all younger resources share."""
    errors: Errors = []
    seen: set[str] = set()
    for at, condition in each_of(status, "conditions", path):
        kind = text(condition, "type")
        if kind in seen:
            errors.append(duplicate(f"{at}.type", kind))
        seen.add(kind)
        errors += follows(f"{at}.type", kind, names.qualified_name)
        errors += _condition_errors(at, condition)
    return errors


def _condition_errors(path: str, condition: Plain) -> Errors:
    errors: Errors = []
    status, reason, generation = (condition.get(name) for name in ("status", "reason", "observedGeneration"))
    if status not in {"True", "False", "Unknown"}:
        errors.append(unsupported(f"{path}.status", status or "", ("False", "True", "Unknown")))
    if (generation or 0) < 0:
        why = "must be greater than or equal to zero"
        errors.append(invalid(f"{path}.observedGeneration", generation, why))
    if not condition.get("lastTransitionTime"):
        errors.append(required(f"{path}.lastTransitionTime"))
    if not reason:
        errors.append(required(f"{path}.reason"))
    else:
        errors += [] if _REASON.matches(reason) else [invalid(f"{path}.reason", reason, _REASON.mismatch)]
        errors += [too_long(f"{path}.reason", _REASON.limit)] if _REASON.too_long(reason) else []
    if len(text(condition, "message").encode()) > _MAX_MESSAGE_LENGTH:
        errors.append(too_long(f"{path}.message", _MAX_MESSAGE_LENGTH))
    return errors
