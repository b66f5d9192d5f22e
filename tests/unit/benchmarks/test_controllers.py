"""The benchmark of controllers: what it counts is right, and its parts work together."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from benchmarks.controllers import benchmark, tables, widgets
from benchmarks.controllers.observation import Observation
from benchmarks.controllers.operators import COMPACT, KOPF, NOOP, _last_serials
from benchmarks.harness import measure
from benchmarks.harness.wire import Address

if TYPE_CHECKING:
    from benchmarks.harness.measure import Figures
    from benchmarks.harness.report import Table


def verdicts(table: Table) -> dict[str, bool]:
    return {row.name: row.target.ok for row in table.rows if row.target is not None}


def figures(cpu: float, grown: float, p99: float = 1.0) -> Figures:
    return {"cpu": cpu, "wall": 1.0, "grown": grown, "resident": 2e8, "writes": 0.0, "p50": 1.0, "p99": p99}


def test_ours_is_judged_by_what_kopf_takes_and_by_how_soon_it_notices_changes() -> None:
    kopf = figures(cpu=30.0, grown=100e6)

    good = tables.judged_table({NOOP: figures(1.4, 40e6), COMPACT: figures(2.0, 19e6), KOPF: kopf})
    assert verdicts(good) == {"p99": True, "cpu": True, "memory": True}
    bad = tables.judged_table({NOOP: figures(1.6, 40e6, 21.0), COMPACT: figures(2.0, 21e6), KOPF: kopf})
    assert verdicts(bad) == {"p99": False, "cpu": False, "memory": False}
    alone = tables.judged_table({NOOP: figures(1.4, 40e6), COMPACT: figures(2.0, 19e6)})
    assert verdicts(alone) == {"p99": True}


def test_a_change_says_which_it_is_and_when_it_was_made() -> None:
    request = widgets.change(Address("http://here"), 7, 12)
    spec = json.loads(request.partition(b"\r\n\r\n")[2])["spec"]

    assert request.startswith(b"PATCH /apis/bench.example.com/v1/namespaces/default/widgets/widget-00007 ")
    assert (spec["serial"], type(spec["changed"])) == (12, float)


def test_only_the_first_sight_of_a_change_counts() -> None:
    observation = Observation()
    for name, serial in [("a", None), ("a", 1), ("a", 1), ("b", 2), ("a", 3)]:
        observation.saw(name, serial, None if serial is None else 0.0)

    seen = observation._seen()
    assert (seen["calls"], seen["changes"], seen["last_serials"]) == (5, 3, 5)


def test_the_last_changes_of_all_objects_are_expected_to_be_seen() -> None:
    assert _last_serials(7, 3) == [5, 6, 7]
    assert _last_serials(2, 3) == [1, 2]


@pytest.mark.slow
def test_a_quick_run_measures_queues_and_steady_changes() -> None:
    with measure.lab() as lab:
        report = benchmark.run(lab, benchmark.Size.quick(), only=["queue", "steady"])

    assert [table.name for table in report.tables] == ["queue", "steady"]
    assert all(row.figures[0] is not None for table in report.tables for row in table.rows)
