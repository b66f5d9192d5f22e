"""Leases, and candidates for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.plain import part, text
from masthead._printers.printer import AGE, NAME, Column, Printer, age_of, name_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from masthead._meta.plain import Plain
    from masthead._printers.printer import Cell

__all__ = ["PRINTERS"]

_COORDINATION: Final = "coordination.k8s.io"


def _lease(obj: Plain, now: datetime) -> list[Cell]:
    return [name_of(obj), text(part(obj, "spec"), "holderIdentity"), age_of(obj, now)]


def _lease_candidate(obj: Plain, now: datetime) -> list[Cell]:
    spec = part(obj, "spec")
    versions = (text(spec, "binaryVersion"), text(spec, "emulationVersion"))
    return [name_of(obj), text(spec, "leaseName"), *versions, age_of(obj, now)]


PRINTERS: Final[Mapping[tuple[str, str], Printer]] = {
    (_COORDINATION, "Lease"): Printer((NAME, Column("Holder"), AGE), _lease),
    (_COORDINATION, "LeaseCandidate"): Printer(
        (NAME, Column("LeaseName"), Column("BinaryVersion"), Column("EmulationVersion"), AGE),
        _lease_candidate,
    ),
}
"""The printers, by group and kind."""
