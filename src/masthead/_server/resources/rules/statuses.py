"""What is wrong with a status: counters, conditions and addresses, as controllers and kubelets report them."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead._server.resources import names
from masthead._server.resources.rules.servicechecks import ip_errors
from masthead._server.resources.validation.checks import (
    amount,
    each_of,
    follows,
    not_negative,
    unsupported,
)
from masthead._server.wire.failures import duplicate, forbidden, invalid, required, too_long
from masthead._server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from masthead._server.resources.allocator import Allocator
    from masthead._server.resources.behavior import Errors
    from masthead._server.wire.plain import Plain

    _Check: TypeAlias = Callable[[Plain, Plain], Errors]

_COLLISIONS: Final = "collisionCount"
_REASON: Final = names.Format(
    "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?",
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric"
    " characters or '_,:', and must end with an alphanumeric character or '_'",
    ("my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"),
    limit=1024,
    unit="bytes",
)
_LONGEST_MESSAGE: Final = 32 * 1024


def counters(*counted: str, bounded: Iterable[str] = (), ready: str = "readyReplicas") -> _Check:
    """Make the check of a status that counts replicas.

    Args:
        *counted: What may not be negative, in the order in which it is looked at.
        bounded: What may not be more than all replicas.
        ready: What messages call the replicas that are ready, of which those that are available are some.
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
        if limits and available > (status.get("readyReplicas") or 0):
            why = f"cannot be greater than {ready}"
            errors.append(invalid("status.availableReplicas", available, why))
        return errors + (_collision_errors(status, part(old, "status")) if _COLLISIONS in counted else [])

    return check


def _collision_errors(after: Plain, before: Plain) -> Errors:
    now, then = after.get(_COLLISIONS), before.get(_COLLISIONS)
    if then is None or (now is not None and now >= then):
        return []
    return [invalid(f"status.{_COLLISIONS}", now or 0, "cannot be decremented")]


def namespace_errors(new: Plain, _old: Plain) -> Errors:
    """Check the phase of a namespace: it says whether it is being deleted, and nothing else."""
    phase, goes = text(part(new, "status"), "phase"), bool(metadata(new).get("deletionTimestamp"))
    wanted, empty = ("Terminating", "not empty") if goes else ("Active", "empty")
    if phase == wanted:
        return []
    return [invalid("status.Phase", phase, f"may only be '{wanted}' if `deletionTimestamp` is {empty}")]


def condition_errors(status: Plain) -> Errors:
    """Check conditions of the kind that all younger resources share."""
    errors: Errors = []
    seen: set[str] = set()
    for at, condition in each_of(status, "conditions", "status"):
        kind = text(condition, "type")
        if kind in seen:
            errors.append(duplicate(f"{at}.type", kind))
        seen.add(kind)
        errors += follows(f"{at}.type", kind, names.qualified_name)
        errors += _condition_errors(at, condition)
    return errors


def _condition_errors(path: str, condition: Plain) -> Errors:
    errors: Errors = []
    status, reason, generation = (condition.get(each) for each in ("status", "reason", "observedGeneration"))
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
    if len(text(condition, "message").encode()) > _LONGEST_MESSAGE:
        errors.append(too_long(f"{path}.message", _LONGEST_MESSAGE))
    return errors


def budget_errors(new: Plain, old: Plain) -> Errors:
    """Check what a disruption budget allows."""
    return condition_errors(part(new, "status")) + _BUDGET(new, old)


_BUDGET: Final = counters("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def balancer_errors(new: Plain, _old: Plain) -> Errors:
    """Check where a service of any type is reached from outside: only one with a load balancer is."""
    status = part(part(new, "status"), "loadBalancer")
    if status.get("ingress") and part(new, "spec").get("type") != "LoadBalancer":
        why = "may only be used when `spec.type` is 'LoadBalancer'"
        return [forbidden("status.loadBalancer.ingress", why)]
    errors: Errors = []
    for at, point in each_of(status, "ingress", "status.loadBalancer"):
        errors += _entry_address_errors(at, point) + _mode_errors(at, point) + _entry_name_errors(at, point)
    return errors


def ingress_errors(new: Plain, _old: Plain) -> Errors:
    """Check where an ingress is reached from outside."""
    errors: Errors = []
    status = part(part(new, "status"), "loadBalancer")
    for at, point in each_of(status, "ingress", "status.loadBalancer"):
        errors += _entry_address_errors(at, point) + _entry_name_errors(at, point)
    return errors


def _entry_address_errors(path: str, point: Plain) -> Errors:
    return ip_errors(f"{path}.ip", text(point, "ip")) if point.get("ip") else []


def _mode_errors(path: str, point: Plain) -> Errors:
    mode, at = point.get("ipMode"), f"{path}.ipMode"
    if mode is None:
        return [required(at, "must be specified when `ip` is set")] if point.get("ip") else []
    if not point.get("ip"):
        return [forbidden(at, "may not be specified when `ip` is not set")]
    return [] if mode in {"Proxy", "VIP"} else [unsupported(at, mode, ("Proxy", "VIP"))]


def _entry_name_errors(path: str, point: Plain) -> Errors:
    name, at = text(point, "hostname"), f"{path}.hostname"
    if not name:
        return []
    errors = follows(at, name, names.SUBDOMAIN)
    try:
        ip_address(name)
    except ValueError:
        return errors
    return [*errors, invalid(at, name, "must be a DNS name, not an IP address")]


def stamp_phase(new: Plain, old: Plain, allocate: Allocator) -> None:
    """Write down when the phase of a volume changed, if the writer does not."""
    after, before, field = new.setdefault("status", {}), part(old, "status"), "lastPhaseTransitionTime"
    if after.get("phase") != before.get("phase"):
        if after.get(field) in {None, before.get(field)}:
            after[field] = allocate.now()
    elif after.get(field) is None and before.get(field) is not None:
        after[field] = before[field]


_RESIZES: Final = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)


def claim_errors(new: Plain, _old: Plain) -> Errors:
    """Check what a claim has got."""
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
