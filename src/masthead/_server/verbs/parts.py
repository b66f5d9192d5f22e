"""What a write to a part of an object may change: everything else stays as it is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._server.wire.plain import Plain, items, part

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["ONLY"]


def _finalizers(new: Plain, old: Plain) -> Plain:
    """``namespaces/finalize``: what holds a namespace back."""
    spec = {**part(old, "spec")}
    spec.pop("finalizers", None)
    if wanted := part(new, "spec").get("finalizers"):
        spec["finalizers"] = wanted
    return {**old, "metadata": new["metadata"], "spec": spec}


def _approval(new: Plain, old: Plain) -> Plain:
    """``certificatesigningrequests/approval``: the verdict."""
    status = {**part(old, "status")}
    status.pop("conditions", None)
    if conditions := part(new, "status").get("conditions"):
        status["conditions"] = conditions
    return {**old, "metadata": new["metadata"], "status": status}


def _ephemeral_containers(new: Plain, old: Plain) -> Plain:
    """``pods/ephemeralcontainers``: containers that help to look into a pod."""
    spec = {**part(old, "spec")}
    if containers := part(new, "spec").get("ephemeralContainers"):
        spec["ephemeralContainers"] = containers
    return {**old, "metadata": new["metadata"], "spec": spec}


def _resources(new: Plain, old: Plain) -> Plain:
    """``pods/resize``: what the containers may use."""
    spec = {**part(old, "spec")}
    for kind in ("containers", "initContainers"):
        wanted = {each.get("name"): each for each in items(part(new, "spec"), kind)}
        if kind in spec:
            spec[kind] = [_resized(each, wanted.get(each.get("name"), each)) for each in items(spec, kind)]
    return {**old, "metadata": new["metadata"], "spec": spec}


def _resized(container: Plain, wanted: Plain) -> Plain:
    changes: Plain = {name: wanted[name] for name in ("resources", "resizePolicy") if name in wanted}
    return {**container, **changes}


def _all(new: Plain, _: Plain) -> Plain:
    """``pods/binding``: what the server itself did."""
    return new


ONLY: Final[Mapping[str, Callable[[Plain, Plain], Plain]]] = {
    "finalize": _finalizers,
    "approval": _approval,
    "ephemeralcontainers": _ephemeral_containers,
    "resize": _resources,
    "binding": _all,
}
"""For each such part, what becomes of an object, given the one that is wanted and the one that is stored."""
