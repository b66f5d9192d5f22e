"""Scheduling: priorities, and groups of pods that are placed together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.plain import entries, flag, has, integer, part, text
from masthead._printers.core import name_and_age
from masthead._printers.printer import AGE, NAME, Column, Printer, age_of, name_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from masthead._meta.plain import Plain
    from masthead._printers.printer import Cell

__all__ = ["PRINTERS"]

_SCHEDULING: Final = "scheduling.k8s.io"


def _priority_class(obj: Plain, now: datetime) -> list[Cell]:
    return [
        name_of(obj),
        integer(obj, "value"),
        flag(obj, "globalDefault"),
        age_of(obj, now),
        text(obj, "preemptionPolicy"),
    ]


def _pod_group(obj: Plain, now: datetime) -> list[Cell]:
    spec = part(obj, "spec")
    reference = part(spec, "podGroupTemplateRef")
    return [
        name_of(obj),
        "Gang" if has(part(spec, "schedulingPolicy"), "gang") else "Basic",
        text(part(reference, "workload"), "workloadName") if has(spec, "podGroupTemplateRef") else "<none>",
        _pod_group_status(obj),
        age_of(obj, now),
    ]


def _pod_group_status(obj: Plain) -> str:
    conditions = {text(entry, "type"): entry for entry in entries(part(obj, "status"), "conditions")}
    if disruption := conditions.get("DisruptionTarget"):
        return text(disruption, "reason")
    scheduled = conditions.get("PodGroupScheduled")
    if scheduled is None:
        return "Pending"
    return "Scheduled" if scheduled.get("status") == "True" else "Unschedulable"


PRINTERS: Final[Mapping[tuple[str, str], Printer]] = {
    (_SCHEDULING, "PriorityClass"): Printer(
        (
            NAME,
            Column("Value", "integer"),
            Column("Global-Default", "boolean"),
            AGE,
            Column("PreemptionPolicy"),
        ),
        _priority_class,
    ),
    (_SCHEDULING, "Workload"): Printer((NAME, AGE), name_and_age),
    (_SCHEDULING, "PodGroup"): Printer((NAME, Column("Policy"), Column("Workload"), Column("Status"), AGE), _pod_group),
}
"""The printers, by group and kind."""
