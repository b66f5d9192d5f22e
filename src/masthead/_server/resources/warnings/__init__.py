"""What the server tells a client besides the answer: the texts of its ``Warning`` headers.

A warning is only text here. `fit` makes of all the warnings of a request those that are sent.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from masthead._server.resources.table import BUILT_IN
from masthead._server.resources.behavior import ADMISSION, NO_WARNINGS, WarningHooks
from masthead._server.resources.warnings.headers import fit
from masthead._server.resources.warnings.owner_references import dedup_owner_references
from masthead._server.resources.warnings.versions import deprecation

if TYPE_CHECKING:
    from masthead._server.wire.plain import Plain

__all__ = ["dedup_owner_references", "deprecation", "fit", "on_create", "on_delete", "on_update"]

_MODULES: Final[dict[str, dict[str, str]]] = {
    "": {
        "pods": "workloads",
        "pods/status": "network",
        "podtemplates": "workloads",
        "replicationcontrollers": "workloads",
        "services": "network",
        "services/status": "network",
        "endpoints": "network",
        "nodes": "cluster",
        "resourcequotas": "cluster",
        "secrets": "secrets",
        "serviceaccounts": "cluster",
        "persistentvolumeclaims": "storage",
        "persistentvolumes": "storage",
    },
    "apps": dict.fromkeys(("daemonsets", "deployments", "replicasets", "statefulsets"), "workloads"),
    "batch": dict.fromkeys(("cronjobs", "jobs"), "workloads"),
    "networking.k8s.io": dict.fromkeys(("ingresses", "ingresses/status", "networkpolicies"), "network"),
    "discovery.k8s.io": {"endpointslices": "network"},
    "storage.k8s.io": dict.fromkeys(("csidrivers", "csistoragecapacities", "storageclasses"), "storage"),
    "node.k8s.io": {"runtimeclasses": "cluster"},
    "resource.k8s.io": {"resourceslices": "cluster"},
    "admissionregistration.k8s.io": dict.fromkeys(ADMISSION, "cluster"),
    "apiextensions.k8s.io": {"customresourcedefinitions": "custom"},
}
"""The module of this package that has the warnings of a kind, by group and resource; see its ``WARNINGS``."""
_PODS_STAY: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them"
    " or set propagationPolicy=Orphan to suppress this warning"
)


def on_create(group: str, resource: str, obj: Plain) -> list[str]:
    """Say what is questionable about a new object, in the real server's order.

    Args:
        group: The resource's group; empty for the core group.
        resource: Its plural name.
        obj: The object in its stored shape, complete, with its name, and found to be valid.
    """
    return _warnings_of(group, resource).on_create(obj)


def on_update(group: str, resource: str, new: Plain, old: Plain) -> list[str]:
    """Say what is questionable about an object's next state, in the real server's order.

    A write to the scale is an update of the object itself.

    Args:
        group: The resource's group; empty for the core group.
        resource: Its plural name; with ``/status`` behind it for a write to the status.
        new: The object as it is to be stored, with its next generation.
        old: The object as it is stored.
    """
    return _warnings_of(group, resource).on_update(new, old)


def on_delete(group: str, resource: str, *, policy: str | None, orphans: bool | None) -> list[str]:
    """Say what a deletion may leave behind unexpectedly; it is said whether or not there is such an object.

    Args:
        group: The resource's group; empty for the core group.
        resource: Its plural name.
        policy: The options' ``propagationPolicy``.
        orphans: The options' ``orphanDependents``.
    """
    is_unsaid = policy is None and orphans is None
    return [_PODS_STAY] if is_unsaid and (group, resource) == ("batch", "jobs") else []


@cache
def _warnings_of(group: str, resource: str) -> WarningHooks:
    module = _MODULES.get(group, {}).get(resource)
    if module is None:
        if "/" in resource or (group, resource) in BUILT_IN:
            return NO_WARNINGS
        from masthead._server.resources.warnings.custom import OBJECTS

        return OBJECTS
    found = import_module(f"masthead._server.resources.warnings.{module}").WARNINGS
    return cast("dict[str, WarningHooks]", found)[resource]
