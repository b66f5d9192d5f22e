"""Small kinds of the core group: namespaces, secrets, config maps, quotas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.plain import entries, part, text
from masthead._printers.formats import quantity
from masthead._printers.printer import AGE, CREATED_AT, NAME, Column, Printer, age_of, name_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from masthead._meta.plain import Plain
    from masthead._printers.printer import Cell

__all__ = ["PRINTERS", "name_and_age"]


def name_and_age(obj: Plain, now: datetime) -> list[Cell]:
    """Return the cells of a kind that has nothing else to show."""
    return [name_of(obj), age_of(obj, now)]


def _namespace(obj: Plain, now: datetime) -> list[Cell]:
    return [name_of(obj), text(part(obj, "status"), "phase"), age_of(obj, now)]


def _secret(obj: Plain, now: datetime) -> list[Cell]:
    return [name_of(obj), text(obj, "type"), len(part(obj, "data")), age_of(obj, now)]


def _config_map(obj: Plain, now: datetime) -> list[Cell]:
    return [name_of(obj), len(part(obj, "data")) + len(part(obj, "binaryData")), age_of(obj, now)]


def _resource_quota(obj: Plain, now: datetime) -> list[Cell]:
    used, hard = part(obj, "status", "used"), part(obj, "status", "hard")
    requests: list[str] = []
    limits: list[str] = []
    for resource in sorted(map(str, hard)):
        column = limits if resource.startswith("limits.") else requests
        column.append(f"{resource}: {quantity(used.get(resource))}/{quantity(hard.get(resource))}")
    return [name_of(obj), ", ".join(requests), ", ".join(limits), age_of(obj, now)]


def _component_status(obj: Plain, _: datetime) -> list[Cell]:
    for condition in entries(obj, "conditions"):
        if condition.get("type") == "Healthy":
            status = "Healthy" if condition.get("status") == "True" else "Unhealthy"
            return [name_of(obj), status, text(condition, "message"), text(condition, "error")]
    return [name_of(obj), "Unknown", "", ""]


PRINTERS: Final[Mapping[tuple[str, str], Printer]] = {
    ("", "Namespace"): Printer((NAME, Column("Status"), AGE), _namespace),
    ("", "Secret"): Printer((NAME, Column("Type"), Column("Data"), AGE), _secret),
    ("", "ConfigMap"): Printer((NAME, Column("Data"), AGE), _config_map),
    ("", "ServiceAccount"): Printer((NAME, AGE), name_and_age),
    ("", "ResourceQuota"): Printer((NAME, Column("Request"), Column("Limit"), AGE), _resource_quota),
    ("", "LimitRange"): CREATED_AT,
    ("", "ComponentStatus"): Printer((NAME, Column("Status"), Column("Message"), Column("Error")), _component_status),
}
"""The printers, by group and kind."""
