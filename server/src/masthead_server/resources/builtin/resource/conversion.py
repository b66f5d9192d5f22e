"""Devices in ``resource.k8s.io``: conversion between v1beta1 and v1, whose shape v1beta2 shares.

v1beta1 has the fields of a request in the request itself, v1 under ``exactly``; v1beta1 has the attributes of a device
under ``basic``, v1 in the device itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.wire.plain import Plain, items, part

if TYPE_CHECKING:
    from collections.abc import Callable

    _Change = Callable[[Plain], Plain]

_REQUESTED: Final = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
)
"""The fields of a request for one device."""
_ZERO: Final[dict[str, object]] = {"deviceClassName": "", "allocationMode": "", "count": 0}
"""Their values without a meaning."""


def claim_from_v1beta1(claim: Plain) -> Plain:
    """Write a ResourceClaim of v1beta1 as one of v1."""
    return _in_spec(claim, lambda spec: _in_requests(spec, _request_from_v1beta1))


def claim_to_v1beta1(claim: Plain) -> Plain:
    """Write a ResourceClaim of v1 as one of v1beta1."""
    return _in_spec(claim, lambda spec: _in_requests(spec, _request_to_v1beta1))


def template_from_v1beta1(template: Plain) -> Plain:
    """Write a ResourceClaimTemplate of v1beta1 as one of v1."""
    return _in_spec(template, claim_from_v1beta1)


def template_to_v1beta1(template: Plain) -> Plain:
    """Write a ResourceClaimTemplate of v1 as one of v1beta1."""
    return _in_spec(template, claim_to_v1beta1)


def slice_from_v1beta1(found: Plain) -> Plain:
    """Write a ResourceSlice of v1beta1 as one of v1."""
    return _in_spec(found, lambda spec: _in_list(_sparse(spec), "devices", _device_from_v1beta1))


def slice_to_v1beta1(found: Plain) -> Plain:
    """Write a ResourceSlice of v1 as one of v1beta1."""
    return _in_spec(found, lambda spec: _in_list(_sparse(spec), "devices", _device_to_v1beta1))


def _in_spec(found: Plain, change: _Change) -> Plain:
    spec = part(found, "spec")
    return {**found, "spec": change(spec)} if spec else found


def _in_requests(spec: Plain, change: _Change) -> Plain:
    devices = part(spec, "devices")
    return {**spec, "devices": _in_list(devices, "requests", change)} if devices else spec


def _in_list(owner: Plain, name: str, change: _Change) -> Plain:
    found = items(owner, name)
    return {**owner, name: [change(item) for item in found]} if found else owner


def _request_from_v1beta1(request: Plain) -> Plain:
    requested = {name: request[name] for name in _REQUESTED if not _says_nothing(name, request.get(name))}
    rest = {name: value for name, value in request.items() if name not in _REQUESTED}
    # A request without any of the fields may be one with alternatives, which v1 has no `exactly` for.
    return {**rest, "exactly": {"deviceClassName": "", **requested}} if requested else rest


def _says_nothing(name: str, value: object) -> bool:
    return value is None or value == _ZERO.get(name)


def _request_to_v1beta1(request: Plain) -> Plain:
    rest = {name: value for name, value in request.items() if name != "exactly"}
    # v1beta1 always writes the class, even empty: the field is no pointer.
    return {"deviceClassName": "", **rest, **part(request, "exactly")}


def _sparse(spec: Plain) -> Plain:
    """v1beta1 cannot tell a node without a name, or "not all nodes", from nothing at all."""
    return {name: value for name, value in spec.items() if value or name not in {"nodeName", "allNodes"}}


def _device_from_v1beta1(device: Plain) -> Plain:
    rest = {name: value for name, value in device.items() if name != "basic"}
    return {**rest, **part(device, "basic")}


def _device_to_v1beta1(device: Plain) -> Plain:
    known = {name: value for name, value in device.items() if name != "name"}
    return {"name": device.get("name", ""), "basic": known}
