"""Defaults of Nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.defaulting.fill import round_up, shape

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill
    from masthead_server.wire.plain import Plain


def _fill_allocatable(status: Plain) -> None:
    if status.get("allocatable") is None and status.get("capacity") is not None:
        status["allocatable"] = dict(status["capacity"])


def _fill_pod_cidrs(spec: Plain) -> None:
    one, many = spec.get("podCIDR"), spec.get("podCIDRs")
    if one and (not many or many[0] != one):
        spec["podCIDRs"] = [one]
    elif many:
        spec["podCIDR"] = many[0]


DEFAULTS: Final[Fill] = shape(
    inside={
        "spec": _fill_pod_cidrs,
        "status": shape(inside={"capacity": round_up, "allocatable": round_up}, then=_fill_allocatable),
    }
)
