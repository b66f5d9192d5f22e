"""Defaults of device requests in ResourceClaims and their templates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.defaulting.fill import for_each, shape

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill
    from masthead_server.wire.plain import Plain

_TOLERATIONS: Final = {"tolerations": for_each(shape(blank={"operator": "Equal"}))}


def _fill_count(request: Plain) -> None:
    if not request.get("allocationMode"):
        request["allocationMode"] = "ExactCount"
    if request["allocationMode"] == "ExactCount" and not request.get("count"):
        request["count"] = 1


def _fill_old_request(request: Plain) -> None:
    # A request without a class is a list of alternatives.
    if request.get("deviceClassName"):
        _fill_count(request)


_REQUEST: Final = shape(inside=_TOLERATIONS, then=_fill_count)
DEVICE_REQUEST: Final = shape(inside={"exactly": _REQUEST, "firstAvailable": for_each(_REQUEST)})
OLD_REQUEST: Final = shape(inside={**_TOLERATIONS, "firstAvailable": for_each(_REQUEST)}, then=_fill_old_request)


def _claim_spec(request: Fill) -> Fill:
    return shape(inside={"devices": shape(inside={"requests": for_each(request)})})


def claim_defaults(request: Fill) -> Fill:
    """Return the defaults of a ResourceClaim, for one shape of device requests."""
    results = shape(inside={"devices": shape(inside={"results": for_each(shape(inside=_TOLERATIONS))})})
    return shape(inside={"spec": _claim_spec(request), "status": shape(inside={"allocation": results})})


def claim_template_defaults(request: Fill) -> Fill:
    """Return the defaults of a ResourceClaimTemplate, for one shape of device requests."""
    return shape(inside={"spec": shape(inside={"spec": _claim_spec(request)})})
