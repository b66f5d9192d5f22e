"""Warnings about EndpointSlices."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain


def endpoint_slice_warnings(obj: Plain) -> list[str]:
    """Return the warnings about an EndpointSlice."""
    # An EndpointSlice has no such path; it is kube-apiserver's.
    is_named = obj.get("addressType") == "FQDN"
    return ["spec.addressType: FQDN endpoints are deprecated"] if is_named else []
