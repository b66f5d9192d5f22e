"""Limit ranges: the defaults that they set, and the bounds that pods and claims must keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._meta.quantity import Quantity
from masthead_server.resources.amounts import Amounts, read_amounts
from masthead_server.resources.builtin.core.pod.pod_level_resources import needed, read_resources
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.wire.plain import Plain

__all__ = ["Limit", "LimitRange"]

_ANNOTATION: Final = "kubernetes.io/limit-ranger"
_MAX_MILLI: Final = (2**63 - 1) // 1000
"""The largest value that is compared in thousandths; Go's integers would overflow beyond."""
_POD_LEVEL: Final = frozenset({"cpu", "memory"})
_ZERO: Final = Quantity(0)


@dataclass(frozen=True, slots=True)
class Limit:
    """The bounds of one type of object: container, pod or claim.

    Attributes:
        type: What they bound.
        minimum: The least request and limit.
        maximum: The greatest request and limit.
        ratio: The greatest ratio of limit to request.
        default: The limits of a container that has none.
        default_request: The requests of a container that has none.
    """

    type: str
    minimum: Amounts
    maximum: Amounts
    ratio: Amounts
    default: Amounts
    default_request: Amounts

    @classmethod
    def read(cls, limit: Plain) -> Limit:
        """Read the bounds of one type."""
        sides = ("min", "max", "maxLimitRequestRatio", "default", "defaultRequest")
        return cls(text(limit, "type"), *(read_amounts(limit, side) for side in sides))

    def check(self, requests: Amounts, limits: Amounts) -> Iterator[str]:
        """Check requests and limits; yields the problems, in the order of the resources' names."""
        for name, bound in sorted(self.minimum.items()):
            yield from _check_minimum(f"minimum {name} usage per {self.type} is {bound}", name, bound, requests, limits)
        for name, bound in sorted(self.maximum.items()):
            yield from _check_maximum(f"maximum {name} usage per {self.type} is {bound}", name, bound, requests, limits)
        for name, bound in sorted(self.ratio.items()):
            start = f"{name} max limit to request ratio per {self.type} is {bound}"
            yield from _check_ratio(start, name, bound, requests, limits)

    def check_requests(self, requests: Amounts) -> Iterator[str]:
        """Check the requests of a claim, which has no limits."""
        for name, bound in sorted(self.minimum.items()):
            yield from _check_minimum(f"minimum {name} usage per {self.type} is {bound}", name, bound, requests, {})
        for name, bound in sorted(self.maximum.items()):
            start = f"maximum {name} usage per {self.type} is {bound}"
            request = requests.get(name)
            if request is None:
                yield f"{start}.  No request is specified"
            elif _exceeds(request, bound, _ZERO):
                yield f"{start}, but request is {request}"


@dataclass(frozen=True, slots=True)
class LimitRange:
    """A limit range.

    Attributes:
        limits: The bounds, one for each type.
    """

    limits: tuple[Limit, ...]

    @classmethod
    def read(cls, found: Plain) -> LimitRange:
        """Read a stored limit range."""
        return cls(tuple(Limit.read(limit) for limit in items(part(found, "spec"), "limits")))

    def set_defaults(self, pod: Plain) -> None:
        """Set the resources that the containers of a pod leave out, and list them in an annotation."""
        limits: Amounts = {}
        requests: Amounts = {}
        for limit in self.limits:
            if limit.type == "Container":
                limits.update(limit.default)
                requests.update(limit.default_request)
        spec, notes = part(pod, "spec"), list[str]()
        for field, label in (("containers", "container"), ("initContainers", "init container")):
            for container in items(spec, field):
                for side, word, defaults in (("requests", "request", requests), ("limits", "limit", limits)):
                    if added := _fill(container, side, defaults):
                        notes.append(f"{', '.join(added)} {word} for {label} {text(container, 'name')}")
        if notes:
            annotations = {**part(metadata(pod), "annotations")}
            annotations[_ANNOTATION] = f"LimitRanger plugin set: {'; '.join(notes)}"
            metadata(pod)["annotations"] = annotations

    def check_pod(self, pod: Plain) -> list[str]:
        """Return the problems of a pod and its containers."""
        spec = part(pod, "spec")
        problems: list[str] = []
        for limit in self.limits:
            if limit.type == "Container":
                for container in (*items(spec, "containers"), *items(spec, "initContainers")):
                    requests, limits = (read_resources(container, side) for side in ("requests", "limits"))
                    problems += limit.check(requests, limits)
            elif limit.type == "Pod":
                problems += limit.check(_count_pod(spec, "requests"), _count_pod(spec, "limits"))
        return problems

    def check_claim(self, claim: Plain) -> list[str]:
        """Return the problems of a claim."""
        requests = read_resources(part(claim, "spec"), "requests")
        return [
            problem
            for limit in self.limits
            if limit.type == "PersistentVolumeClaim"
            for problem in limit.check_requests(requests)
        ]


def _fill(container: Plain, side: str, defaults: Amounts) -> list[str]:
    """Set the default requests or limits of a container; returns the names of those it did not have."""
    resources = part(container, "resources")
    present = part(resources, side)
    added = sorted(name for name in defaults if name not in present)
    if added:
        container["resources"] = {**resources, side: {**present, **{name: str(defaults[name]) for name in added}}}
    return added


def _count_pod(spec: Plain, side: str) -> Amounts:
    """Add up the requests or limits of a pod; its own take precedence over those of its containers."""
    own = read_resources(spec, side)
    return needed(spec, side) | {name: quantity for name, quantity in own.items() if name in _POD_LEVEL}


def _exceeds(left: Quantity, right: Quantity, third: Quantity) -> bool:
    """Compare two amounts as kube-apiserver does: in thousandths, unless one of the three is too large for that."""
    if any(quantity.value() > _MAX_MILLI for quantity in (left, right, third)):
        return left.value() > right.value()
    return left.milli_value() > right.milli_value()


def _check_minimum(start: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> Iterator[str]:
    request, limit = requests.get(name), limits.get(name)
    if request is None:
        yield f"{start}.  No request is specified"
    elif _exceeds(bound, request, limit or _ZERO):
        yield f"{start}, but request is {request}"
    elif limit is not None and _exceeds(bound, limit, request):
        yield f"{start}, but limit is {limit}"


def _check_maximum(start: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> Iterator[str]:
    request, limit = requests.get(name), limits.get(name)
    if limit is None:
        yield f"{start}.  No limit is specified"
    elif _exceeds(limit, bound, request or _ZERO):
        yield f"{start}, but limit is {limit}"
    elif request is not None and _exceeds(request, bound, limit):
        yield f"{start}, but request is {request}"


def _check_ratio(start: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> Iterator[str]:
    request, limit = requests.get(name), limits.get(name)
    if not request:
        yield f"{start}, but no request is specified or request is 0"
        return
    if not limit:
        yield f"{start}, but no limit is specified or limit is 0"
        return
    ratio = limit.nanos / request.nanos
    if ratio * 1000 > bound.milli_value():
        yield f"{start}, but provided ratio is {ratio:f}"
