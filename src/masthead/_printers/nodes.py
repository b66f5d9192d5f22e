"""Nodes, and how they run containers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.plain import entries, flag, labels, part, text
from masthead._printers.printer import AGE, NAME, Column, Printer, age_of, name_of, wide

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from masthead._meta.plain import Plain
    from masthead._printers.printer import Cell

__all__ = ["PRINTERS"]

_ROLE_PREFIX: Final = "node-role.kubernetes.io/"
_ROLE: Final = "kubernetes.io/role"


def _status(node: Plain) -> str:
    ready = "Unknown"
    # The last condition of a type counts.
    for condition in entries(part(node, "status"), "conditions"):
        if condition.get("type") == "Ready":
            ready = "Ready" if condition.get("status") == "True" else "NotReady"
    return f"{ready},SchedulingDisabled" if flag(part(node, "spec"), "unschedulable") else ready


def _roles(node: Plain) -> str:
    roles: set[str] = set()
    for key, value in labels(part(node, "metadata"), "labels").items():
        # One label has the role in its key, the other in its value.
        if key.startswith(_ROLE_PREFIX):
            roles.add(key.removeprefix(_ROLE_PREFIX))
        elif key == _ROLE:
            roles.add(value)
    return ",".join(sorted(roles - {""})) or "<none>"


def _address(node: Plain, kind: str) -> str:
    for address in entries(part(node, "status"), "addresses"):
        if address.get("type") == kind:
            return text(address, "address")
    return "<none>"


def _node(obj: Plain, now: datetime) -> list[Cell]:
    info = part(obj, "status", "nodeInfo")
    kernel = text(info, "kernelVersion") or "<unknown>"
    architecture = text(info, "architecture")
    return [
        name_of(obj),
        _status(obj),
        _roles(obj),
        age_of(obj, now),
        text(info, "kubeletVersion"),
        _address(obj, "InternalIP"),
        _address(obj, "ExternalIP"),
        text(info, "osImage") or "<unknown>",
        f"{kernel} ({architecture})" if architecture else kernel,
        text(info, "containerRuntimeVersion") or "<unknown>",
    ]


def _runtime_class(obj: Plain, now: datetime) -> list[Cell]:
    return [name_of(obj), text(obj, "handler"), age_of(obj, now)]


PRINTERS: Final[Mapping[tuple[str, str], Printer]] = {
    ("", "Node"): Printer(
        (
            NAME,
            Column("Status"),
            Column("Roles"),
            AGE,
            Column("Version"),
            wide("Internal-IP"),
            wide("External-IP"),
            wide("OS-Image"),
            wide("Kernel-Version"),
            wide("Container-Runtime"),
        ),
        _node,
    ),
    ("node.k8s.io", "RuntimeClass"): Printer((NAME, Column("Handler"), AGE), _runtime_class),
}
"""The printers, by group and kind."""
