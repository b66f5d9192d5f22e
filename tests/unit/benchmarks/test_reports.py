import json
import os
import sys
from typing import Any

import pytest
from benchmarks.harness import measure, report
from benchmarks.harness.report import Column, Report, Row, Table, Target
from benchmarks.startup import benchmark as startup

WITHIN = Target("within", 0.25, 0.25)
OVER = Target("over", 0.26, 0.25)
TABLE = Table(
    "list",
    "A list",
    (Column("us", "µs"), Column("ratio", "ratio", 2)),
    (
        Row("base", "the base", (1234.56, 1.0)),
        Row("good", "good", (308.0, 0.25), WITHIN),
        Row("bad", "bad", (None, 0.26), OVER),
    ),
)


def run(*arguments: str) -> dict[str, Any]:
    return measure.printed([sys.executable, "-m", *arguments], os.environ)


@pytest.mark.slow
def test_decode_ends_with_a_line_of_json() -> None:
    printed = run("benchmarks.decode", "--pods", "20", "--repeat", "1")

    assert printed["benchmark"] == "decode"
    assert printed["settings"] == {"pods": 20, "repeat": 1}
    assert {"json", "plain", "lazy", "nested", "full"} <= printed["tables"]["list"].keys()
    assert printed["targets"].keys() == {"lazy_time", "nested_time", "lazy_memory"}
    assert printed["targets"]["lazy_memory"]["limit"] == 0.5


@pytest.mark.slow
def test_startup_ends_with_a_line_of_json() -> None:
    printed = run("benchmarks.startup", "--repeat", "1")

    assert printed["benchmark"] == "startup"
    assert {"import_ms", "core_ms", "first_pod_ms", "unwanted_modules", "get_pods_ms"} <= printed["targets"].keys()
    assert {"get_pods", "complete_kind"} <= printed["tables"]["commands"].keys()
    assert printed["targets"]["core_ms"]["limit"] == 60


def test_a_table_has_aligned_columns_and_marks_what_is_over() -> None:
    lines = report.render(TABLE).splitlines()

    assert lines == [
        "A list",
        "",
        "                  µs   ratio    target",
        "  the base   1,234.6    1.00",
        "  good         308.0    0.25   <= 0.25     ok",
        "  bad              -    0.26   <= 0.25   OVER",
    ]


def test_the_last_line_has_figures_and_targets_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    report.show(Report("decode", {"pods": 3}, (TABLE,), ("A note.",)))

    *text, last = capsys.readouterr().out.splitlines()
    printed = json.loads(last)
    assert "Over target: over" in text
    assert "A note." in text
    assert printed["tables"]["list"]["bad"] == {"us": None, "ratio": 0.26}
    assert printed["targets"] == {
        "within": {"value": 0.25, "limit": 0.25, "ok": True},
        "over": {"value": 0.26, "limit": 0.25, "ok": False},
    }
    assert printed["machine"]["python"].endswith(".".join(map(str, sys.version_info[:3])))


def test_cases_run_in_turn_and_the_minimum_counts() -> None:
    order: list[str] = []
    figures = {"one": iter([3.0, 1.0, 2.0]), "two": iter([5.0, None, 4.0])}

    def case(name: str) -> measure.Figures:
        order.append(name)
        return {"ms": next(figures[name])}

    best = measure.best_of(3, {"one": lambda: case("one"), "two": lambda: case("two")})

    assert order == ["one", "two"] * 3
    assert best["one"] == {"ms": 1.0}


def test_modules_that_importing_the_package_should_not_load() -> None:
    loaded = ["httplib", "http.client", "masthead.api", "masthead.api.core.v1", "masthead.apis", "ssl"]

    assert startup.unwanted(loaded) == ["http.client", "masthead.api", "masthead.api.core.v1", "ssl"]
