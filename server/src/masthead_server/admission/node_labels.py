"""Labels of nodes that their kubelets may not set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["list_forbidden_labels"]

_KUBELET_LABELS: Final = frozenset(
    {
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
    }
)
_KUBELET_DOMAINS: Final = ("kubelet.kubernetes.io", "node.kubernetes.io")
_RESTRICTED_DOMAIN: Final = "node-restriction.kubernetes.io"


def list_forbidden_labels(new: Mapping[str, str], old: Mapping[str, str]) -> list[str]:
    """Return the changed labels that steer workloads, or belong to Kubernetes and are not for kubelets."""
    changed = (key for key in new.keys() | old.keys() if new.get(key) != old.get(key))
    return sorted(key for key in changed if _is_forbidden(key))


def _is_forbidden(key: str) -> bool:
    domain = key.partition("/")[0] if "/" in key else ""
    if _is_within(domain, _RESTRICTED_DOMAIN):
        return True
    is_kubernetes = _is_within(domain, "kubernetes.io") or _is_within(domain, "k8s.io")
    is_allowed = key in _KUBELET_LABELS or any(_is_within(domain, allowed) for allowed in _KUBELET_DOMAINS)
    return is_kubernetes and not is_allowed


def _is_within(domain: str, parent: str) -> bool:
    return domain == parent or domain.endswith(f".{parent}")
