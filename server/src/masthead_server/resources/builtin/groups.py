"""The modules that describe the built-in resources, by group."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.resources.description import ResourceDescription

__all__ = ["description_of"]

_MODULES: Final[Mapping[str, str]] = {
    "": "core.group",
    "apiregistration.k8s.io": "apiregistration.group",
    "apps": "apps.group",
    "events.k8s.io": "events.group",
    "authentication.k8s.io": "authentication",
    "authorization.k8s.io": "authorization",
    "autoscaling": "autoscaling.group",
    "batch": "batch.group",
    "certificates.k8s.io": "certificates.group",
    "networking.k8s.io": "networking.group",
    "policy": "policy.group",
    "rbac.authorization.k8s.io": "rbac.group",
    "storage.k8s.io": "storage.group",
    "admissionregistration.k8s.io": "admissionregistration.group",
    "apiextensions.k8s.io": "apiextensions.group",
    "scheduling.k8s.io": "scheduling.group",
    "coordination.k8s.io": "coordination.group",
    "node.k8s.io": "node.group",
    "discovery.k8s.io": "discovery.group",
    "resource.k8s.io": "resource.group",
    "flowcontrol.apiserver.k8s.io": "flowcontrol.group",
    "internal.apiserver.k8s.io": "apiserverinternal",
    "storagemigration.k8s.io": "storagemigration",
}
"""Modules of this package; each has a table ``RESOURCES``."""


def description_of(group: str, resource: str) -> ResourceDescription:
    """Return the description of a built-in resource; its group's module is imported on demand.

    Raises:
        KeyError: If there is no such resource.
    """
    module = importlib.import_module(f"masthead_server.resources.builtin.{_MODULES[group]}")
    return cast("Mapping[str, ResourceDescription]", module.RESOURCES)[resource]
