"""Validation of resource names, amounts, limits and requests."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from masthead._meta.quantity import Quantity
from masthead._schema.errors import duplicate, forbidden, invalid, required
from masthead.errors import ArgumentError
from masthead_server.resources import names
from masthead_server.resources.validation.checks import (
    amount,
    each_of,
    follows,
    not_found,
    not_negative_amount,
)
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

    NameCheck: TypeAlias = Callable[[str, str], Errors]

_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_COUNTED: Final = (
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
)
_FOR_CONTAINERS: Final = frozenset(_COMPUTE)
FOR_QUOTAS: Final = frozenset(
    {*_COMPUTE, *_COUNTED, "requests.storage"}
    | {f"{side}.{name}" for side in ("requests", "limits") for name in _COMPUTE}
)
"""Resources that Kubernetes itself knows how to bound."""
_STANDARD: Final = FOR_QUOTAS | {"storage"}
_HUGE: Final = "hugepages-"


def is_huge(name: str) -> bool:
    """Tell whether a resource is memory in large pages."""
    return name.startswith(_HUGE)


def is_native(name: str) -> bool:
    """Tell whether Kubernetes itself knows a resource."""
    # As kube-apiserver tests it: anywhere in the name, not only in its prefix.
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Return whether a name is a valid extended resource."""
    # A quota prefixes extended resources with "requests."; the prefixed name has to be valid, too.
    return not is_native(name) and not name.startswith("requests.") and not names.qualified_name(f"requests.{name}")


def is_whole(name: str) -> bool:
    """Tell whether a resource comes in whole pieces only."""
    return name in _COUNTED or is_extended(name)


def may_overcommit(name: str) -> bool:
    """Tell whether the request of a resource may be below its limit."""
    return is_native(name) and not is_huge(name)


def name_errors(path: str, name: str) -> Errors:
    """Validate the name of any resource."""
    errors = follows(path, name, names.qualified_name)
    standard = name in _STANDARD or is_huge(name) or name.startswith(f"requests.{_HUGE}")
    if not errors and "/" not in name and not standard:
        errors.append(invalid(path, name, "must be a standard resource type or fully qualified"))
    return errors


def container_name_errors(path: str, name: str) -> Errors:
    """Validate the name of a resource that a container may have."""
    errors = name_errors(path, name)
    if "/" not in name:
        if name not in _FOR_CONTAINERS and not is_huge(name):
            errors.append(invalid(path, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        errors.append(invalid(path, name, "doesn't follow extended resource name standard"))
    return errors


def quota_name_errors(path: str, name: str) -> Errors:
    """Validate the name of a resource that a quota may bound."""
    # Object counts, such as count/deployments.apps, name a resource of the API rather than of a node.
    errors = name_errors(path, name) if not name.startswith("count/") else []
    if "/" not in name and name not in FOR_QUOTAS and not is_huge(name.removeprefix("requests.")):
        errors.append(invalid(path, name, "must be a standard resource for quota"))
    return errors


def value_errors(path: str, name: str, value: object) -> Errors:
    """Validate an amount."""
    errors = not_negative_amount(path, value)
    quantity = amount(value)
    if is_whole(name) and quantity.nanos % 10**9:
        errors.append(invalid(path, str(quantity), "must be an integer"))
    return errors


def page_errors(path: str, name: str, value: object) -> Errors:
    """Validate that an amount of memory in large pages is a number of such pages."""
    if not is_huge(name):
        return []
    quantity, size = amount(value), _page_size(name)
    if size and not quantity.value() % size:
        return []
    return [invalid(path, str(quantity), f"{quantity} is not positive integer multiple of {name}")]


def _page_size(name: str) -> int:
    """Read the size of pages in the name of a resource; 0 if there is none."""
    try:
        size = Quantity(name.removeprefix(_HUGE))
    except ArgumentError:
        return 0
    return max(size.value(), 0) if size.nanos % 10**9 == 0 else 0


def requirement_errors(path: str, resources: Plain, claims: set[str], check_name: NameCheck | None = None) -> Errors:
    """Validate what a container or a pod asks for and may use.

    Args:
        path: The path of the resources.
        resources: The requests, limits and claims.
        claims: The names of the pod's resource claims.
        check_name: Validates the names of resources; None for those of a container.
    """
    if not resources:
        return []
    limits, requests = part(resources, "limits"), part(resources, "requests")
    errors: Errors = []
    for name, value in limits.items():
        errors += _amount_errors(path, "limits", name, value, check_name)
        errors += page_errors(f"{path}.limits[{name}]", name, value)
    for name, value in requests.items():
        errors += _amount_errors(path, "requests", name, value, check_name)
        errors += _balance(path, name, value, limits.get(name))
        errors += page_errors(f"{path}.requests[{name}]", name, value)
    stated = {**limits, **requests}
    # Large pages alone would make the pod BestEffort, which they must not be.
    if "cpu" not in stated and "memory" not in stated and any(map(is_huge, stated)):
        errors.append(forbidden(path, "HugePages require cpu or memory"))
    return errors + (_claim_errors(path, resources, claims) if "claims" in resources else [])


def _amount_errors(path: str, side: str, name: str, value: object, check_name: NameCheck | None) -> Errors:
    # Nearly all containers have cpu and memory; those need no path and no second look.
    if check_name is None and len(name) <= names.MAX_CACHED_LENGTH and _is_usual(name) and amount(value).sign >= 0:
        return []
    at = f"{path}.{side}[{name}]"
    return (check_name or container_name_errors)(at, name) + value_errors(at, name, value)


@lru_cache(maxsize=1024)
def _is_usual(name: str) -> bool:
    """Tell whether a container may have a resource, and any part of it."""
    return not container_name_errors("", name) and not is_whole(name)


def _balance(path: str, name: str, request: object, limit: object) -> Errors:
    free = may_overcommit(name)
    if free and (limit is None or amount(request) <= amount(limit)):
        return []
    # Resources that cannot be overcommitted, such as devices, need a limit, equal to the request.
    if limit is None:
        why = "Limit must be set for non overcommitable resources"
        return [required(f"{path}.limits", why)]
    requested, most = amount(request), amount(limit)
    if requested != most and not free:
        return [invalid(f"{path}.requests", str(requested), f"must be equal to {name} limit of {most}")]
    if requested > most:
        detail = f"must be less than or equal to {name} limit of {most}"
        return [invalid(f"{path}.requests", str(requested), detail)]
    return []


def _claim_errors(path: str, resources: Plain, known: set[str]) -> Errors:
    errors: Errors = []
    seen, requests = set[str](), dict[str, int]()
    for at, claim in each_of(resources, "claims", path):
        name = text(claim, "name")
        if not name:
            errors.append(required(at))
            continue
        errors += _request_errors(at, name, text(claim, "request"), seen, requests)
        if name not in known:
            why = "must be one of the names in pod.spec.resourceClaims"
            why += f": {', '.join(sorted(known))}" if known else " which is empty"
            errors.append(not_found(at, name, why))
    return errors


def _request_errors(path: str, name: str, request: str, seen: set[str], requests: dict[str, int]) -> Errors:
    """Validate that a container uses each request of a claim once; without a request, all of them.

    Args:
        path: The path of the reference.
        name: The name of the claim.
        request: The request; empty for all.
        seen: The references before it, which it is added to.
        requests: How many requests of each claim they name.
    """
    if name in seen:
        return [duplicate(path, name)]
    errors = follows(f"{path}.request", request, names.label) if request else []
    key = f"{name}/{request}" if request else name
    if key in seen:
        errors.append(duplicate(path, key))
    elif request:
        requests[name] = requests.get(name, 0) + 1
    else:
        errors += [duplicate(path, name) for _ in range(requests.get(name, 0))]
    seen.add(key)
    return errors


def claim_names(spec: Plain) -> set[str]:
    """Return the names under which a pod's containers may refer to its claims."""
    return {text(resource_claim, "name") for resource_claim in items(spec, "resourceClaims")} - {""}
