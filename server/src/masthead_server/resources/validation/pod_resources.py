"""Validation of the resources that a pod states for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._schema.errors import forbidden, invalid, not_supported
from masthead_server.resources.amounts import read_amounts
from masthead_server.resources.builtin.core.pod.pod_level_resources import needed, read_resources
from masthead_server.resources.validation.resource_requirements import is_huge, name_errors, requirement_errors
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain


def pod_resource_errors(spec: Plain, path: str, claims: set[str]) -> Errors:
    """Validate the resources of a pod, which those of its containers must fit into.

    Args:
        spec: The spec of the pod.
        path: The path of the resources.
        claims: The names of the pod's resource claims.
    """
    if text(part(spec, "os"), "name") == "windows":
        return [forbidden(path, "may not be set for a windows pod")]
    own = part(spec, "resources")
    errors: Errors = []
    if own.get("claims") is not None:
        errors.append(forbidden(f"{path}.claims", "claims may not be set for Resources at pod-level"))
    errors += requirement_errors(path, own, claims, _check_name)
    for side, sums in (("requests", needed(spec, "requests")), ("limits", needed(spec, "limits"))):
        stated = read_amounts(own, side)
        for name, total in sorted(sums.items()):
            # Limits of other resources may be overcommitted.
            if name in stated and total > stated[name] and (side == "requests" or is_huge(name)):
                why = f"must be greater than or equal to aggregate container {side} of {total}"
                errors.append(invalid(f"{path}.{side}[{name}]", str(stated[name]), why))
    return errors + _limit_errors(spec, path)


def _check_name(path: str, name: str) -> Errors:
    if errors := name_errors(path, name):
        return errors
    is_supported = name in {"cpu", "memory"} or is_huge(name)
    return [] if is_supported else [not_supported(path, name, ["cpu", "hugepages-", "memory"])]


def _limit_errors(spec: Plain, path: str) -> Errors:
    """Refuse containers with a higher limit than their pod."""
    most = read_resources(spec, "limits")
    return [
        invalid(
            f"{path}.containers[{index}][{name}].limits",
            str(limit),
            f"must be less than or equal to pod limits of {most[name]}",
        )
        for index, container in enumerate(items(spec, "containers"))
        for name, limit in sorted(read_resources(container, "limits").items())
        if name in most and limit > most[name]
    ]
