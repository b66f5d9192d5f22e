"""Pod-level resources: defaults from the containers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.amounts import Amounts, add_amounts, raise_amounts, read_amounts
from masthead_server.wire.plain import items, part

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.wire.plain import Plain

_OVERCOMMITTED: Final = frozenset({"cpu", "memory"})
_HUGE: Final = "hugepages-"


def fill_pod_resources(spec: Plain) -> None:
    """Set the defaults of the resources of a pod that states some for itself."""
    resources = part(spec, "resources")
    limits, requests = part(resources, "limits"), part(resources, "requests")
    if not limits and not requests:
        return
    for name, amount in needed(spec, "limits").items():
        # Beside a request for huge pages, kube-apiserver sets no limit; the client has to.
        if name.startswith(_HUGE) and name not in requests:
            limits.setdefault(name, str(amount))
    if not limits:
        return
    resources["limits"] = limits
    for name, amount in needed(spec, "requests").items():
        if name in _OVERCOMMITTED:
            # The containers' requests take precedence over the pod's limit.
            requests.setdefault(name, str(amount))
    for name, text in limits.items():
        if name in _OVERCOMMITTED or name.startswith(_HUGE):
            requests.setdefault(name, text)
    if requests:
        resources["requests"] = requests


def read_resources(container: Plain, side: str) -> Amounts:
    """Read the limits or requests of a container."""
    return read_amounts(part(container, "resources"), side)


def needed(spec: Plain, side: str, read: Callable[[Plain, str], Amounts] = read_resources) -> Amounts:
    """Add up the containers' limits or requests.

    Containers run together. An init container runs alone, except for the restartable ones before it, so
    that the most that any moment needs counts.

    Args:
        spec: The spec of a pod.
        side: ``limits`` or ``requests``.
        read: Returns the amounts of a container.
    """
    total: Amounts = {}
    for container in items(spec, "containers"):
        add_amounts(total, read(container, side))
    beside: Amounts = {}
    most: Amounts = {}
    for container in items(spec, "initContainers"):
        moment = read(container, side)
        if container.get("restartPolicy") == "Always":
            # A sidecar runs beside the containers as well as beside later init containers.
            add_amounts(total, moment)
            add_amounts(beside, moment)
            moment = beside
        else:
            add_amounts(moment, beside)
        raise_amounts(most, moment)
    raise_amounts(total, most)
    return total
