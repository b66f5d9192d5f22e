"""Validation of the status of Pods."""

from __future__ import annotations

from collections import deque
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import FieldError, duplicate, forbidden, invalid
from masthead_server.resources import names
from masthead_server.resources.validation.addresses import ip_errors
from masthead_server.resources.validation.checks import IMMUTABLE, each_of, follows
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_SYSTEM_CONDITIONS: Final = frozenset({"PodScheduled", "Ready", "Initialized"})
_GENERATION: Final = "observedGeneration"
_WHOLE: Final = "must be a non-negative integer"
_ENDED: Final = "may not be transitioned to non-terminated state"
_FAMILIES: Final = "may specify no more than one IP for each IP family"
_RESTART_ALL: Final = "RestartAllContainers"


def carry_status(new: Plain, old: Plain, _allocate: Allocator) -> None:
    """Keep what a kubelet that does not know it leaves out: the class, and which generation was seen."""
    after, before = new.setdefault("status", {}), part(old, "status")
    for field in ("qosClass", _GENERATION):
        if not after.get(field) and before.get(field):
            after[field] = before[field]
    # A type may occur several times, so conditions of one type are paired in their order.
    seen: dict[str, deque[object]] = {}
    for condition in items(before, "conditions"):
        seen.setdefault(text(condition, "type"), deque()).append(condition.get(_GENERATION))
    for condition in items(after, "conditions"):
        generations = seen.get(text(condition, "type"))
        known = generations.popleft() if generations else None
        if known and not condition.get(_GENERATION):
            condition[_GENERATION] = known


def status_errors(new: Plain, old: Plain) -> Errors:
    """Validate a pod's status."""
    after, before, spec = part(new, "status"), part(old, "status"), part(old, "spec")
    errors = _condition_errors(after)
    errors += _nomination_errors(after, before, spec)
    if (after.get(_GENERATION) or 0) < 0:
        errors.append(invalid(f"status.{_GENERATION}", after[_GENERATION], _WHOLE))
    if after.get("qosClass") != before.get("qosClass"):
        errors.append(invalid("status.qosClass", after.get("qosClass"), IMMUTABLE))
    # A rule may restart every container of the pod, so that no state is final.
    if not _may_all_restart(spec):
        for field, holders in _STATUSES.items():
            errors += _transition_errors(field, after, before, spec, items(spec, holders))
    errors += _claim_errors(after, spec)
    errors += _address_errors("podIPs", after)
    if items(after, "hostIPs") and items(after, "hostIPs")[0].get("ip") != text(after, "hostIP"):
        first = items(after, "hostIPs")[0].get("ip")
        errors.append(invalid("status.hostIPs[0].ip", first, "must be equal to `hostIP`"))
    return errors + _address_errors("hostIPs", after)


_STATUSES: Final = {"containerStatuses": "containers", "initContainerStatuses": "initContainers"}


def _condition_errors(status: Plain) -> Errors:
    errors: Errors = []
    for at, condition in each_of(status, "conditions", "status"):
        if (condition.get(_GENERATION) or 0) < 0:
            errors.append(invalid(f"{at}.{_GENERATION}", condition[_GENERATION], _WHOLE))
        # The kubelet's own types have no prefix, and are exempt; the path is capitalized as in kube-apiserver.
        if condition.get("type") not in _SYSTEM_CONDITIONS:
            errors += follows(f"{at}.Type", text(condition, "type"), names.qualified_name)
    return errors


def _nomination_errors(after: Plain, before: Plain, spec: Plain) -> Errors:
    path, name = "status.nominatedNodeName", text(after, "nominatedNodeName")
    # Only a change is checked: the pod may be bound since its nomination.
    if not name or name == text(before, "nominatedNodeName"):
        return []
    errors = follows(path, name, names.SUBDOMAIN)
    if spec.get("nodeName"):
        errors.append(forbidden(path, "may not be set on pods that are already bound to a node"))
    return errors


def _may_all_restart(spec: Plain) -> bool:
    return any(
        rule.get("action") == _RESTART_ALL
        for container in (*items(spec, "initContainers"), *items(spec, "containers"))
        for rule in items(container, "restartPolicyRules")
    )


def _transition_errors(field: str, after: Plain, before: Plain, spec: Plain, containers: list[Plain]) -> Errors:
    """Validate that a container that has ended for good is not said to run again."""
    errors: Errors = []
    # Reversed, so that of equal names the first counts.
    now = {text(item, "name"): item for item in reversed(items(after, field))}
    by_name = {known_container.get("name"): known_container for known_container in reversed(containers)}
    for at, then in each_of(before, field, "status"):
        # A container that the kubelet has stopped to report is no transition.
        ended, name = part(then, "state").get("terminated"), text(then, "name")
        if ended is None or name not in now or part(now[name], "state").get("terminated") is not None:
            continue
        container = by_name.get(name)
        if container is None or not _restarts(container, spec, ended.get("exitCode") or 0):
            errors.append(forbidden(f"{at}.state", _ENDED))
    return errors


def _restarts(container: Plain, spec: Plain, code: int) -> bool:
    # Rules apply only to a container with a restart policy.
    if container.get("restartPolicy") and any(
        rule.get("action") == "Restart" and _fits(part(rule, "exitCodes"), code)
        for rule in items(container, "restartPolicyRules")
    ):
        return True
    # The policy of the container overrides that of the pod.
    policy = container.get("restartPolicy") or spec.get("restartPolicy")
    return policy != "Never" and (policy != "OnFailure" or code != 0)


def _fits(codes: Plain, code: int) -> bool:
    # Every operator but In is NotIn; validation has refused others.
    return (code in (codes.get("values") or ())) == (codes.get("operator") == "In")


def _claim_errors(status: Plain, spec: Plain) -> Errors:
    errors: Errors = []
    known, seen = {resource_claim.get("name") for resource_claim in items(spec, "resourceClaims")}, set[str]()
    for at, claim in each_of(status, "resourceClaimStatuses", "status"):
        name = text(claim, "name")
        if name not in known:
            why = "must match the name of an entry in `spec.resourceClaims`"
            errors.append(invalid(f"{at}.name", name, why))
        if name in seen:
            errors.append(duplicate(f"{at}.name", name))
        seen.add(name)
    return errors


def _address_errors(field: str, status: Plain) -> Errors:
    path, addresses = f"status.{field}", [text(item, "ip") for item in items(status, field)]
    errors = [
        error for index, text_address in enumerate(addresses) for error in ip_errors(f"{path}[{index}]", text_address)
    ]
    if len(addresses) < 2:
        return errors
    # The check of both families fails as a whole at the first address that cannot be parsed, with Go's own error.
    for index, invalid_address in enumerate(addresses):
        if ip_errors(path, invalid_address):
            why = f"failed to check for dual stack with error:invalid IP[{index}]: {invalid_address}"
            errors.append(FieldError("InternalError", path, detail=why))
            break
    # Families of invalid addresses are unknown, which kube-apiserver reports as a duplicate family.
    families = set[int]() if errors else {ip_address(address).version for address in addresses}
    if len(families) != len(addresses):
        errors.append(invalid(path, [{"IP": address} for address in addresses], _FAMILIES))
    return errors
