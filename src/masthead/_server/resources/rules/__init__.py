"""What is special about a kind when it is written: what the server decides itself, and what it refuses."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Final, cast

from masthead._server.resources.allocator import Allocator
from masthead._server.resources.behavior import NO_HOOKS, StrategyHooks

__all__ = ["Allocator", "StrategyHooks", "rules_of"]

_MODULES: Final[dict[str, dict[str, str]]] = {
    "": {
        "pods": "pods",
        "services": "services",
        "namespaces": "core",
        "secrets": "core",
        "configmaps": "core",
        "resourcequotas": "core",
        "limitranges": "core",
        "nodes": "core",
        "events": "events",
        "endpoints": "network",
        "persistentvolumes": "storage",
        "persistentvolumeclaims": "storage",
        "replicationcontrollers": "workloads",
        "podtemplates": "workloads",
    },
    "apps": dict.fromkeys(
        ("deployments", "replicasets", "daemonsets", "statefulsets", "controllerrevisions"), "workloads"
    ),
    "batch": dict.fromkeys(("jobs", "cronjobs"), "jobs"),
    "autoscaling": {"horizontalpodautoscalers": "scaling"},
    "policy": {"poddisruptionbudgets": "scaling"},
    "events.k8s.io": {"events": "events"},
    "coordination.k8s.io": {"leases": "core"},
    "scheduling.k8s.io": {"priorityclasses": "core"},
    "networking.k8s.io": dict.fromkeys(("ingresses", "ingressclasses", "networkpolicies"), "network"),
    "discovery.k8s.io": {"endpointslices": "network"},
    "storage.k8s.io": {
        "storageclasses": "storage",
        "volumeattachments": "storage",
        "volumeattributesclasses": "storage",
        "csidrivers": "core",
    },
    "node.k8s.io": {"runtimeclasses": "runtimes"},
    "resource.k8s.io": dict.fromkeys(("devicetaintrules", "resourceslices"), "devices"),
    "rbac.authorization.k8s.io": dict.fromkeys(
        ("roles", "clusterroles", "rolebindings", "clusterrolebindings"), "access"
    ),
    "certificates.k8s.io": dict.fromkeys(
        ("certificatesigningrequests", "certificatesigningrequests/approval"), "certificates"
    ),
}
"""The module of this package that has the rules of a kind, by group and resource; see its ``RULES``."""


@cache
def rules_of(group: str, resource: str) -> StrategyHooks:
    """Find the rules of a kind; a kind without any has rules that do nothing.

    Args:
        group: Its group.
        resource: Its plural name. With a subresource behind it, rules for writing that: only `StrategyHooks.prepare_status`
            and `StrategyHooks.validate_status` count then. Those for the status itself are the kind's own.
    """
    resource = resource.removesuffix("/status")
    module = _MODULES.get(group, {}).get(resource)
    if module is None:
        return NO_HOOKS
    found = import_module(f"masthead._server.resources.rules.{module}").RULES
    table = cast("dict[str, StrategyHooks]", found)
    return table.get(f"{group}/{resource}") or table[resource]
