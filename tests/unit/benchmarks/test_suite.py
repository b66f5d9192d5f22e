"""Results, charts and the page of benchmarks."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from benchmarks.harness.report import Column, Report, Row, Table, Target, as_json
from benchmarks.suite.catalog import CATALOG, MORE, STANDALONE, Benchmark, Figure, Picture
from benchmarks.suite.charts import Chart, Panel, to_svg
from benchmarks.suite.command import FULL, QUICK, BenchmarkError, Place, draw, figures_of, main
from benchmarks.suite.page import page
from benchmarks.suite.pictures import chart_of, drawings
from benchmarks.suite.results import Result, load, save
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).parents[3]
TABLE = Table(
    "sync",
    "From start to synced",
    (Column("cpu_us", "CPU µs"), Column("held", "held", 0)),
    (
        Row("ours", "masthead.aio, lazy", (19.44, 7_400), Target("cpu", 19.44, 20)),
        Row("ours_list", "  by list", (25.0, None)),
        Row("theirs", "kubernetes 37.0.2 & <more>", (1_030.0, 96_000)),
    ),
)
REPORT = Report("sync", {"pods": 20}, (TABLE,), ("A note.",))
PICTURE = Picture(
    "sync", "Informers", (Figure("sync", "cpu_us", "CPU µs per pod"), Figure("sy*", "held", "bytes", MORE))
)
BENCHMARK = Benchmark("sync", "An informer until it is synced.", (PICTURE,))


def result(**report: Any) -> Result:
    content = {**json.loads(json.dumps(as_json(REPORT))), **report}
    return Result("sync", "2026-01-31", {"masthead": "0.1.0", "kubernetes": "37.0.2"}, content)


@pytest.mark.parametrize("each", CATALOG, ids=lambda each: each.name)
def test_every_benchmark_of_the_catalog_is_a_program(each: Benchmark) -> None:
    option, module, *_ = each.arguments(quick=True)

    assert option == "-m"
    assert (ROOT / module.replace(".", "/") / "__main__.py").is_file()
    assert "--quick" in each.arguments(quick=True)
    assert "--quick" not in each.arguments(quick=False)


def test_every_program_is_in_the_catalog_or_run_by_itself() -> None:
    programs = {path.parent.name for path in (ROOT / "benchmarks").glob("*/__main__.py")}

    assert {*STANDALONE, *(each.module or each.name for each in CATALOG)} == programs


def test_names_of_benchmarks_and_pictures_are_unique() -> None:
    pictures = [picture.name for each in CATALOG for picture in each.pictures]

    assert len(set(pictures)) == len(pictures)
    assert len({each.name for each in CATALOG}) == len(CATALOG)
    assert all(each.pictures for each in CATALOG)


def test_a_result_is_read_as_it_was_saved(tmp_path: Path) -> None:
    path = save(result(), tmp_path / "results")

    assert load("sync", path.parent) == result()
    assert load("watch", path.parent) is None


def test_a_result_says_where_it_was_measured_and_what_it_missed() -> None:
    machine = {"cpus": 2, "processor": "A CPU", "memory_gb": 8, "system": "Linux", "python": "CPython 3.11"}
    targets = {"cpu": {"value": 30, "limit": 20, "ok": False}, "held": {"value": 1, "limit": 2, "ok": True}}

    found = result(machine=machine, targets=targets)

    assert found.place == "2 CPUs (A CPU), 8 GB, Linux, CPython 3.11"
    assert found.missed == ["cpu"]


def test_a_chart_has_a_panel_for_each_figure_and_marks_what_is_ours() -> None:
    chart = chart_of(PICTURE, result())

    assert chart is not None
    assert chart.labels == ("masthead.aio, lazy", "by list", "kubernetes 37.0.2 & <more>")
    assert chart.emphasized == {0, 1}
    assert [panel.values for panel in chart.panels] == [(19.44, 25.0, 1030.0), (7400, None, 96000)]
    assert [panel.hint for panel in chart.panels] == ["less is better", "more is better"]
    assert "2026-01-31" in chart.footer


def test_what_was_not_measured_is_not_drawn() -> None:
    other = Picture("other", "Other", (Figure("other", "cpu_us", "CPU µs"),))
    partly = Picture("partly", "Partly", (Figure("other", "cpu_us", ""), Figure("sync", "held", "bytes")))

    assert [drawing.file for drawing in drawings(Benchmark("sync", "", (other, partly)), result())] == ["partly.svg"]


def test_rows_are_chosen_by_a_pattern() -> None:
    chart = chart_of(Picture("lists", "", PICTURE.figures, rows=("*_list",)), result())

    assert chart is not None
    assert chart.labels == ("by list",)


def drawn(chart: Chart) -> ET.Element:
    return ET.fromstring(to_svg(chart))


def bars(root: ET.Element, kind: str) -> list[float]:
    return [float(each.attrib["width"]) for each in root.iter() if each.attrib.get("class") == kind]


def test_bars_are_as_long_as_their_values_and_say_them() -> None:
    panel = Panel("CPU", "less is better", (100.0, 50.0, None, -3.0), digits=1)
    root = drawn(Chart("Title", "how", ("a", "b", "c", "d"), frozenset({0}), (panel,), "where"))

    (ours,), (other,) = bars(root, "ours"), bars(root, "other")
    assert other == pytest.approx(ours / 2, abs=0.1)
    texts = [each.text for each in root.iter() if each.tag.endswith("text")]
    assert {"100.0", "50.0", "not measured", "-3.0", "Title", "how", "where"} <= set(texts)


labels = st.text(st.characters(exclude_categories=["C"]), max_size=80)
values = st.none() | st.floats(-1e3, 1e9, allow_nan=False)


@given(st.data(), st.integers(1, 8), st.integers(1, 7))
def test_a_chart_is_well_formed_small_and_the_same_each_time(data: st.DataObject, rows: int, count: int) -> None:
    panel = st.builds(Panel, labels, st.just("less"), st.tuples(*[values] * rows))
    panels = tuple(data.draw(panel) for _ in range(count))
    chart = Chart(data.draw(labels), "", tuple(data.draw(labels) for _ in range(rows)), frozenset({0}), panels, "f")

    svg = to_svg(chart)

    assert svg == to_svg(chart)
    assert len(svg) < 20_000
    for each in ET.fromstring(svg).iter():
        if "x" in each.attrib:
            assert 0 <= float(each.attrib["x"]) < 880


def test_a_panel_without_a_value_for_each_row_is_refused() -> None:
    with pytest.raises(ValueError, match="one value for each of 2 rows"):
        to_svg(Chart("t", "", ("a", "b"), frozenset(), (Panel("p", "", (1.0,)),), ""))


def test_the_page_shows_pictures_figures_commands_and_where_they_were_measured() -> None:
    text = page((BENCHMARK,), {"sync": result()}, "assets")

    assert "![Informers: From start to synced](assets/sync.svg)" in text
    assert "| masthead.aio, lazy | 19.4 | 7,400 |" in text
    assert "`make bench ONLY=sync`" in text
    assert "2026-01-31, " in text
    assert "masthead 0.1.0, kubernetes 37.0.2." in text


def test_a_page_without_results_has_no_pictures() -> None:
    assert "![" not in page(CATALOG, {}, "assets")


def test_only_what_was_measured_is_drawn(tmp_path: Path) -> None:
    place = Place(tmp_path / "results", tmp_path / "page.md", "pictures")
    save(result(), place.results)
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "of-long-ago.svg").touch()

    draw(place)

    assert [path.name for path in (tmp_path / "pictures").iterdir()] == ["sync.svg"]
    assert "pictures/sync.svg" in place.page.read_text("utf-8")


def test_the_page_and_its_pictures_are_those_of_the_results(tmp_path: Path) -> None:
    again = Place(FULL.results, tmp_path / "benchmarks.md", FULL.pictures)

    draw(again)

    hint = "run `python -m benchmarks --draw`"
    assert FULL.page.read_text("utf-8") == again.page.read_text("utf-8"), hint
    made = {path.name: path.read_bytes() for path in (tmp_path / FULL.pictures).glob("*.svg")}
    kept = {path.name: path.read_bytes() for path in (FULL.page.parent / FULL.pictures).glob("*.svg")}
    assert kept == made, hint


def test_the_page_names_commands_that_there_are() -> None:
    text = FULL.page.read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))

    assert set(re.findall(r"make ([a-z-]+)", text)) <= targets
    assert set(re.findall(r"ONLY=(\w+)", text)) <= {each.name for each in CATALOG}


def test_quick_runs_leave_the_results_and_the_page_alone() -> None:
    assert QUICK.results != FULL.results
    assert (ROOT / "docs") not in QUICK.page.parents
    assert "benchmarks/results/quick/" in (ROOT / ".gitignore").read_text("utf-8").splitlines()


def test_what_a_benchmark_prints_is_shown_but_for_its_figures() -> None:
    shown: list[str] = []
    program = "print('A table'); print('{\"benchmark\": \"sync\"}')"

    found = figures_of([sys.executable, "-c", program], dict(os.environ), shown.append)

    assert found == {"benchmark": "sync"}
    assert shown == ["A table\n"]


@pytest.mark.parametrize(
    ("program", "said"), [("raise SystemExit(3)", "exit status 3"), ("print('A table')", "is not JSON")]
)
def test_a_benchmark_that_does_not_run_to_its_end_is_an_error(program: str, said: str) -> None:
    with pytest.raises(BenchmarkError, match=said):
        figures_of([sys.executable, "-c", program], dict(os.environ), print)


def test_an_unknown_benchmark_is_refused_with_the_names_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--only", "sink"])

    assert "no benchmark is named sink; there are decode, startup" in capsys.readouterr().err
