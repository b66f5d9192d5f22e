"""The resources that policies decide about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from masthead_server.resources.resource import ServedResource

__all__ = ["decides_about"]

_REVIEWS: Final = frozenset({"authentication.k8s.io", "authorization.k8s.io"})
_POLICIES: Final = frozenset(
    {
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
    }
)


def decides_about(served: ServedResource) -> bool:
    """Tell whether policies decide about a resource.

    They never decide about policies, so that a wrong one can be removed, nor about reviews of access, which the
    cluster depends on. Webhook configurations are nothing special to them.
    """
    if served.group == "admissionregistration.k8s.io":
        return served.name not in _POLICIES
    return served.group not in _REVIEWS
