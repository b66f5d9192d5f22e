"""What the server fills in where the writer left something out."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from masthead._server.resources.defaulting.fill import Fill
    from masthead._server.wire.plain import Plain

__all__ = ["apply_defaults"]

_TABLES: Final = {
    "": ("core", "FILLS"),
    "apps": ("workloads", "APPS"),
    "batch": ("workloads", "BATCH"),
    "autoscaling": ("workloads", "AUTOSCALING"),
    "networking.k8s.io": ("policies", "NETWORKING"),
    "discovery.k8s.io": ("policies", "DISCOVERY"),
    "storage.k8s.io": ("policies", "STORAGE_CLASSES"),
    "admissionregistration.k8s.io": ("policies", "ADMISSION"),
    "rbac.authorization.k8s.io": ("policies", "RBAC"),
    "scheduling.k8s.io": ("policies", "SCHEDULING"),
    "flowcontrol.apiserver.k8s.io": ("policies", "FLOW"),
    "apiextensions.k8s.io": ("policies", "EXTENSIONS"),
    "apiregistration.k8s.io": ("policies", "AGGREGATION"),
    "resource.k8s.io": ("policies", "DEVICES"),
}
"""Where each group's defaults are: a module of this package, and the table in it."""


def apply_defaults(group: str, version: str, kind: str, obj: Plain) -> None:
    """Fill in, in place, what kube-apiserver fills in on every read and write of an object.

    Doing it twice changes nothing more. Structs that Go writes even when they are empty are not added.

    Args:
        group: The group, empty for the core kinds.
        version: The version in which the object is written.
        kind: Its kind.
        obj: The object, with fields of the right types.
    """
    fill = _fill_of(group, version, kind)
    if fill is not None:
        fill(obj)


@cache
def _fill_of(group: str, version: str, kind: str) -> Fill | None:
    place = _TABLES.get(group)
    if place is None:
        return None
    module, table = place
    fills = cast(
        "dict[str, Fill]", getattr(import_module(f"masthead._server.resources.defaults.{module}"), table)
    )
    return fills.get(f"{version}/{kind}", fills.get(kind))
