"""What pods use of a quota."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.time import parse_time
from masthead_server.admission.attributes import Operation
from masthead_server.admission.quota.evaluators import ONE, Evaluator
from masthead_server.admission.quota.scopes import has_deadline, is_pod_in_scope
from masthead_server.clock import add_seconds
from masthead_server.resources.amounts import Amounts, add_amounts, raise_amounts, read_amounts
from masthead_server.resources.builtin.core.pod.pod_level_resources import needed, read_resources
from masthead_server.resources.validation.resource_requirements import is_extended, is_huge, is_native
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.admission.quota.scopes import Scope
    from masthead_server.wire.plain import Plain

__all__ = ["PodEvaluator", "expiry_of"]

_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_MEASURED: Final = frozenset(
    {"pods", *_COMPUTE, *(f"{side}.{name}" for side in ("requests", "limits") for name in _COMPUTE)}
)
_REQUIRED: Final = frozenset(
    {"cpu", "memory", *(f"{side}.{name}" for side in ("requests", "limits") for name in ("cpu", "memory"))}
)
"""Limits that every container has to specify its share of."""
_DEVICES: Final = "deviceclass.resource.kubernetes.io/"


class PodEvaluator(Evaluator):
    """Measures the resources of pods that have not ended; ``count/pods`` counts the others too."""

    counts_updates = True
    subresources = frozenset({"resize"})

    def concerns(self, attributes: AdmissionAttributes) -> bool:
        """Tell whether a pod is new or resized, or gets or loses its deadline, which changes its scopes."""
        if attributes.operation is Operation.CREATE or attributes.subresource:
            return True
        return has_deadline(attributes.object or {}) != has_deadline(attributes.old or {})

    def measures(self, name: str) -> bool:
        """Tell whether a limit is about pods."""
        if name in self.counted or name in _MEASURED:
            return True
        resource = name.removeprefix("requests.")
        is_extended_request = resource != name and (not is_native(name) or resource.startswith(_DEVICES))
        return is_huge(resource) or is_extended_request

    def is_in_scope(self, scope: Scope, found: Plain) -> bool:
        """Tell whether a pod is in a scope."""
        return is_pod_in_scope(scope, found)

    def find_missing(self, required: Iterable[str], found: Plain) -> str:
        """Return the cpu and memory that containers must specify."""
        wanted = sorted(_REQUIRED.intersection(required))
        spec = part(found, "spec")
        own = part(spec, "resources")
        # Resources of the pod itself take the place of those of its containers.
        if any(_is_pod_level(name) for side in ("requests", "limits") for name in part(own, side)):
            return ""
        containers = [*items(spec, "containers"), *items(spec, "initContainers")]
        specified = {text(container, "name"): _charge(container) for container in containers}
        lacking = {
            limit: sorted(name for name, amounts in specified.items() if limit not in amounts) for limit in wanted
        }
        missing = "; ".join(f"{limit} for: {','.join(names)}" for limit, names in lacking.items() if names)
        return f"must specify {missing}" if missing else ""

    def measure(self, found: Plain, now: datetime) -> Amounts:
        """Return what a pod uses."""
        usage = dict.fromkeys(self.counted, ONE)
        expiry = expiry_of(found)
        if text(part(found, "status"), "phase") in {"Failed", "Succeeded"} or (expiry is not None and now > expiry):
            return usage
        add_amounts(usage, _charge_amounts(_sum_requests(found), _sum_limits(found)))
        return usage


def expiry_of(pod: Plain) -> datetime | None:
    """Return when a pod in deletion stops to count: its node is lost if it is still there by then."""
    meta = part(pod, "metadata")
    moment, grace = text(meta, "deletionTimestamp"), meta.get("deletionGracePeriodSeconds")
    return add_seconds(parse_time(moment), grace) if moment and isinstance(grace, int) else None


def _charge(container: Plain) -> Amounts:
    return _charge_amounts(read_resources(container, "requests"), read_resources(container, "limits"))


def _charge_amounts(requests: Amounts, limits: Amounts) -> Amounts:
    """Name requests and limits as quotas name them."""
    usage: Amounts = {"pods": ONE}
    for name, quantity in requests.items():
        if name in _COMPUTE or is_huge(name):
            usage[name] = quantity
        if name in _COMPUTE or is_huge(name) or is_extended(name) or name.startswith(_DEVICES):
            usage[f"requests.{name}"] = quantity
    usage |= {f"limits.{name}": quantity for name, quantity in limits.items() if name in _COMPUTE}
    return usage


def _sum_requests(pod: Plain) -> Amounts:
    spec = part(pod, "spec")
    total = needed(spec, "requests", _StatusReader(pod).read)
    total |= {name: quantity for name, quantity in read_resources(spec, "requests").items() if _is_pod_level(name)}
    add_amounts(total, read_amounts(spec, "overhead"))
    return total


def _sum_limits(pod: Plain) -> Amounts:
    spec = part(pod, "spec")
    total = needed(spec, "limits", _StatusReader(pod).read)
    total |= {name: quantity for name, quantity in read_resources(spec, "limits").items() if _is_pod_level(name)}
    # Overhead raises a limit, but does not make one.
    add_amounts(total, {name: more for name, more in read_amounts(spec, "overhead").items() if total.get(name)})
    return total


def _is_pod_level(name: str) -> bool:
    return name in {"cpu", "memory"} or is_huge(name)


class _StatusReader:
    """Reads the resources of containers, of which a resize may not have taken effect yet."""

    def __init__(self, pod: Plain) -> None:
        status = part(pod, "status")
        found = (*items(status, "containerStatuses"), *items(status, "initContainerStatuses"))
        self._statuses = {text(container, "name"): container for container in found}
        pending = (item for item in items(status, "conditions") if item.get("type") == "PodResizePending")
        condition = next(pending, None)
        self._is_infeasible = condition is not None and condition.get("reason") == "Infeasible"
        self._inits = {text(item, "name") for item in items(part(pod, "spec"), "initContainers")}

    def read(self, container: Plain, side: str) -> Amounts:
        """Return the largest of the amounts that are specified, allocated and in effect."""
        wanted, name = read_resources(container, side), text(container, "name")
        status = self._statuses.get(name, {})
        is_sidecar = container.get("restartPolicy") == "Always"
        if status.get("resources") is None or (name in self._inits and not is_sidecar):
            return wanted
        amounts = {} if self._is_infeasible else wanted
        raise_amounts(amounts, read_resources(status, side))
        if side == "requests":
            raise_amounts(amounts, read_amounts(status, "allocatedResources"))
        return amounts
