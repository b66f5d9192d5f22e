"""Pod-level resources: defaults from the containers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quantity import Quantity
from masthead_server.wire.plain import items, part

if TYPE_CHECKING:
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


def needed(spec: Plain, side: str) -> dict[str, Quantity]:
    """Add up the containers' limits or requests.

    Containers run together. An init container runs alone, except for the restartable ones before it, so
    that the most that any moment needs counts.
    """
    total: dict[str, Quantity] = {}
    for container in items(spec, "containers"):
        _add(total, _amounts(container, side))
    beside: dict[str, Quantity] = {}
    most: dict[str, Quantity] = {}
    for container in items(spec, "initContainers"):
        moment = _amounts(container, side)
        if container.get("restartPolicy") == "Always":
            # A sidecar runs beside the containers as well as beside later init containers.
            _add(total, moment)
            _add(beside, moment)
            moment = beside
        else:
            _add(moment, beside)
        _raise(most, moment)
    _raise(total, most)
    return total


def _amounts(container: Plain, side: str) -> dict[str, Quantity]:
    return {name: Quantity(text) for name, text in part(part(container, "resources"), side).items()}


def _add(total: dict[str, Quantity], more: dict[str, Quantity]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _raise(total: dict[str, Quantity], least: dict[str, Quantity]) -> None:
    for name, amount in least.items():
        if name not in total or amount > total[name]:
            total[name] = amount
