"""Roles, and who has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.plain import entries, part, text
from masthead._printers.printer import AGE, CREATED_AT, NAME, Column, Printer, age_of, name_of, wide

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from masthead._meta.plain import Plain
    from masthead._printers.printer import Cell

__all__ = ["PRINTERS"]


def _binding(obj: Plain, now: datetime) -> list[Cell]:
    role = part(obj, "roleRef")
    subjects = entries(obj, "subjects")
    accounts = [
        f"{text(subject, 'namespace')}/{text(subject, 'name')}"
        for subject in subjects
        if subject.get("kind") == "ServiceAccount"
    ]
    return [
        name_of(obj),
        f"{text(role, 'kind')}/{text(role, 'name')}",
        age_of(obj, now),
        ", ".join(text(subject, "name") for subject in subjects if subject.get("kind") == "User"),
        ", ".join(text(subject, "name") for subject in subjects if subject.get("kind") == "Group"),
        ", ".join(accounts),
    ]


_BINDING: Final = Printer((NAME, Column("Role"), AGE, wide("Users"), wide("Groups"), wide("ServiceAccounts")), _binding)

PRINTERS: Final[Mapping[tuple[str, str], Printer]] = {
    ("rbac.authorization.k8s.io", "Role"): CREATED_AT,
    ("rbac.authorization.k8s.io", "ClusterRole"): CREATED_AT,
    ("rbac.authorization.k8s.io", "RoleBinding"): _BINDING,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _BINDING,
}
"""The printers, by group and kind."""
