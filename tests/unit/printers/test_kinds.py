"""Printers of all kinds, on objects of any shape."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._printers import kinds
from masthead._printers.kinds import NAME_AND_AGE, printer_for
from masthead._printers.printer import NAME
from masthead_server import scheme

if TYPE_CHECKING:
    from masthead._printers.printer import Printer

NOW = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)


def _all_printers() -> dict[tuple[str, str], Printer]:
    return dict(itertools.chain.from_iterable(kinds._printers_of(group).items() for group in kinds._MODULES))


PRINTERS = _all_printers()
IDS = [f"{kind}.{group}" for group, kind in PRINTERS]

# Names of fields that printers look at, so that random objects have them.
FIELDS = sorted(
    {
        *("metadata", "spec", "status", "name", "namespace", "labels", "annotations", "creationTimestamp"),
        *("deletionTimestamp", "conditions", "type", "reason", "containers", "initContainers", "state"),
        *("containerStatuses", "initContainerStatuses", "terminated", "waiting", "running", "restartCount"),
        *("lastState", "finishedAt", "ready", "started", "exitCode", "signal", "podIPs", "podIP", "ip"),
        *("template", "selector", "matchLabels", "matchExpressions", "key", "operator", "values", "ports"),
        *(
            "subsets",
            "addresses",
            "endpoints",
            "rules",
            "host",
            "tls",
            "parameters",
            "loadBalancer",
            "ingress",
        ),
        *("metrics", "currentMetrics", "resource", "target", "current", "averageUtilization", "averageValue"),
        *("capacity", "storage", "accessModes", "claimRef", "used", "hard", "roleRef", "subjects", "series"),
        *("involvedObject", "webhooks", "paramRef", "paramKind", "limited", "limitResponse", "queuing"),
        *("pools", "poolCount", "allocation", "reservedFor", "taint", "timeAdded", "expirationSeconds"),
        *(
            "replicas",
            "completions",
            "startTime",
            "completionTime",
            "active",
            "lastScheduleTime",
            "readinessGates",
        ),
    }
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["2026-01-02T03:04:05Z", "True", "Ready", "Always", "1Gi", "In", "Resource", "External"])
)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=4), inner, max_size=6)
    ),
    max_leaves=40,
)


def test_every_kind_that_is_served_has_a_printer_of_its_own() -> None:
    without = {
        (group, kind)
        for group, versions in scheme.VERSIONS.items()
        for version in versions
        for kind, resource in scheme.kinds_in(group, version).items()
        if resource and not kind.endswith("List") and (group, kind) not in PRINTERS
    }
    # What is only answered, or sent to another object, is in no table.
    assert {kind for _, kind in without} == {
        "Binding",
        "LocalSubjectAccessReview",
        "SelfSubjectAccessReview",
        "SelfSubjectReview",
        "SelfSubjectRulesReview",
        "SubjectAccessReview",
        "TokenReview",
    }


def test_other_kinds_have_a_name_and_an_age() -> None:
    printer = printer_for("example.com", "Widget")
    assert printer is NAME_AND_AGE
    made = {"metadata": {"name": "a", "creationTimestamp": "2026-05-04T03:00:01Z"}}
    assert printer.cells(made, NOW) == ["a", "2m"]


@pytest.mark.parametrize("printer", PRINTERS.values(), ids=IDS)
def test_an_empty_object_has_a_cell_in_every_column(printer: Printer) -> None:
    cells = printer.cells({}, NOW)
    assert len(cells) >= len(printer.columns)
    assert all(isinstance(cell, str | int | float | bool | None) for cell in cells)


@pytest.mark.slow
@given(obj=st.dictionaries(st.sampled_from(FIELDS), ANYTHING, max_size=6))
def test_no_object_makes_a_printer_fail(obj: dict[str, Any]) -> None:
    size = len(msgspec.json.encode(obj))
    for printer in PRINTERS.values():
        cells = printer.cells(obj, NOW)
        assert len(cells) >= len(printer.columns)
        if printer.conditions:
            printer.conditions(obj)
        # What is printed is in proportion to the object.
        assert sum(len(str(cell)) for cell in cells) <= 20 * size + 2_000


@pytest.mark.parametrize("printer", PRINTERS.values(), ids=IDS)
def test_numbers_that_are_too_long_do_not_make_a_printer_fail(printer: Printer) -> None:
    long = 10**5_000
    status = dict.fromkeys(FIELDS, long)
    obj = {**status, "metadata": {}, "spec": status, "status": status}
    assert all(len(str(cell)) < 1_000 for cell in printer.cells(obj, NOW))


def test_columns_have_names_of_their_own() -> None:
    for printer in PRINTERS.values():
        names = [column.name for column in printer.columns]
        assert len(set(names)) == len(names)
        assert sum(column == NAME for column in printer.columns) <= 1
