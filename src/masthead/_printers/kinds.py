"""The printer of each kind; the modules of a group are imported when it is first printed."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Final, cast

from masthead._printers.printer import AGE, NAME, Printer, age_of, name_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from masthead._meta.plain import Plain
    from masthead._printers.printer import Cell

__all__ = ["NAME_AND_AGE", "printer_for"]

_MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("core", "pods", "workloads", "services", "nodes", "storage", "events"),
    "admissionregistration.k8s.io": ("admission",),
    "apiextensions.k8s.io": ("apiserver",),
    "apiregistration.k8s.io": ("apiserver",),
    "apps": ("workloads",),
    "autoscaling": ("scaling",),
    "batch": ("batch",),
    "certificates.k8s.io": ("certificates",),
    "coordination.k8s.io": ("coordination",),
    "discovery.k8s.io": ("services",),
    "events.k8s.io": ("events",),
    "extensions": ("workloads", "networking"),
    "flowcontrol.apiserver.k8s.io": ("apiserver",),
    "internal.apiserver.k8s.io": ("apiserver",),
    "networking.k8s.io": ("networking",),
    "node.k8s.io": ("nodes",),
    "policy": ("scaling",),
    "rbac.authorization.k8s.io": ("rbac",),
    "resource.k8s.io": ("devices",),
    "scheduling.k8s.io": ("scheduling",),
    "storage.k8s.io": ("storage",),
    "storagemigration.k8s.io": ("apiserver",),
}
"""The modules with the printers of each group."""


def _name_and_age(obj: Plain, now: datetime) -> list[Cell]:
    return [name_of(obj), age_of(obj, now)]


NAME_AND_AGE: Final = Printer((NAME, AGE), _name_and_age)
"""The printer of kinds that are not built in."""


def printer_for(group: str, kind: str) -> Printer:
    """Return the printer of a kind in any version; the printer of other kinds has name and age."""
    if group not in _MODULES:
        return NAME_AND_AGE
    return _printers_of(group).get((group, kind), NAME_AND_AGE)


@functools.cache
def _printers_of(group: str) -> dict[tuple[str, str], Printer]:
    found: dict[tuple[str, str], Printer] = {}
    for name in _MODULES[group]:
        module = importlib.import_module(f"masthead._printers.{name}")
        found.update(cast("Mapping[tuple[str, str], Printer]", module.PRINTERS))
    return found
