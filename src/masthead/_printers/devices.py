"""Devices: classes, claims, slices, taints and the state of pools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.plain import entries, has, integer, part, text
from masthead._printers.ages import age
from masthead._printers.core import name_and_age
from masthead._printers.printer import AGE, NAME, Column, Printer, age_of, name_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from masthead._meta.plain import Plain
    from masthead._printers.printer import Cell

__all__ = ["PRINTERS"]

_GROUP: Final = "resource.k8s.io"
_COUNTS: Final = ("totalDevices", "availableDevices", "allocatedDevices", "unavailableDevices")


def _claim(obj: Plain, now: datetime) -> list[Cell]:
    return [name_of(obj), ",".join(_claim_states(obj)), age_of(obj, now)]


def _claim_states(obj: Plain) -> list[str]:
    status = part(obj, "status")
    states = ["deleted"] if has(part(obj, "metadata"), "deletionTimestamp") else []
    if not has(status, "allocation"):
        return states or ["pending"]
    return [*states, "allocated", *(["reserved"] if entries(status, "reservedFor") else [])]


def _slice(obj: Plain, now: datetime) -> list[Cell]:
    spec = part(obj, "spec")
    return [
        name_of(obj),
        text(spec, "nodeName"),
        text(spec, "driver"),
        text(part(spec, "pool"), "name"),
        age_of(obj, now),
    ]


def _taint_rule(obj: Plain, now: datetime) -> list[Cell]:
    taint = part(obj, "spec", "taint")
    return [
        name_of(obj),
        text(taint, "key"),
        text(taint, "value"),
        text(taint, "effect"),
        age(taint.get("timeAdded"), now) if has(taint, "timeAdded") else "",
        age_of(obj, now),
    ]


def _pool_status(obj: Plain, now: datetime) -> list[Cell]:
    status = part(obj, "status")
    outcome = _outcome(status)
    word = text(outcome, "type") or "Pending"
    pools, count = entries(status, "pools"), integer(status, "poolCount")
    is_complete = word == "Complete"
    return [
        name_of(obj),
        text(part(obj, "spec"), "driver"),
        *_device_counts(pools, is_counted=has(obj, "status") and word != "Failed"),
        count,
        f"Complete ({len(pools)}/{count} pools)" if is_complete and count > len(pools) else word,
        age(outcome.get("lastTransitionTime"), now) if is_complete else "<none>",
    ]


def _outcome(status: Plain) -> Plain:
    """Return the first condition with the outcome of the request; empty until it ends."""
    for condition in entries(status, "conditions"):
        if condition.get("type") in {"Complete", "Failed"} and condition.get("status") == "True":
            return condition
    return {}


def _device_counts(pools: list[Plain], *, is_counted: bool) -> list[str]:
    if not is_counted:
        return ["-"] * (len(_COUNTS) + 1)
    sums = [sum(integer(pool, name) for pool in pools) for name in _COUNTS]
    return [str(number) for number in (*sums, sum(has(pool, "validationError") for pool in pools))]


_NAME_AND_AGE: Final = Printer((NAME, AGE), name_and_age)

PRINTERS: Final[Mapping[tuple[str, str], Printer]] = {
    (_GROUP, "DeviceClass"): _NAME_AND_AGE,
    (_GROUP, "ResourceClaimTemplate"): _NAME_AND_AGE,
    (_GROUP, "ResourceClaim"): Printer((NAME, Column("State"), AGE), _claim),
    (_GROUP, "ResourceSlice"): Printer((NAME, Column("Node"), Column("Driver"), Column("Pool"), AGE), _slice),
    (_GROUP, "DeviceTaintRule"): Printer(
        (NAME, Column("Key"), Column("Value"), Column("Effect"), Column("TimeAdded"), AGE), _taint_rule
    ),
    (_GROUP, "ResourcePoolStatusRequest"): Printer(
        (
            NAME,
            Column("Driver"),
            Column("Total"),
            Column("Available"),
            Column("Allocated"),
            Column("Unavailable"),
            Column("Errors"),
            Column("Pools", "integer"),
            Column("Status"),
            Column("Completed"),
        ),
        _pool_status,
    ),
}
"""The printers, by group and kind."""
