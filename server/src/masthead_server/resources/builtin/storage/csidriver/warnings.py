"""Warnings about CSIDrivers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

_TOKENS_IN_SECRETS: Final = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible"
    " logging of tokens in volume attributes"
)


def driver_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a CSIDriver."""
    spec = part(obj, "spec")
    is_unsaid = spec.get("tokenRequests") and spec.get("serviceAccountTokenInSecrets") is None
    return [_TOKENS_IN_SECRETS] if is_unsaid else []


def driver_change_warnings(new: Plain, old: Plain) -> list[str]:
    """Return the warnings about a change of a CSIDriver."""
    is_same = part(new, "spec").get("tokenRequests") == part(old, "spec").get("tokenRequests")
    return [] if is_same else driver_warnings(new)
