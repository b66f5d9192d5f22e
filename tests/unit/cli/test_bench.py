"""``masthead bench``."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._cli.bench import BenchPlan, Meter, measure
from masthead._cli.bench_report import BenchReport, Latency, Synced, as_data, percentile, render
from masthead._cli.main import main
from masthead._cli.references import parse_references, resolve
from masthead._cli.shared_options import State
from masthead.api.core.v1 import ConfigMap

if TYPE_CHECKING:
    from pathlib import Path

    import masthead
    import masthead.server

REPORT = BenchReport(
    "https://cluster, v1.36.4",
    "pods",
    (Latency("GET /version", (0.001, 0.002, 0.0105)), Latency("list pods, 1 object", (0.25,))),
    Synced("lazy", 2_000, 0.5, 0.25, 14_800_000),
)


def test_a_report_is_a_table_of_latencies_and_what_the_informer_took() -> None:
    assert render(REPORT).splitlines() == [
        "https://cluster, v1.36.4: pods",
        "",
        "milliseconds              least    median       p90      most",
        "GET /version                1.0       2.0      10.5      10.5",
        "list pods, 1 object       250.0     250.0     250.0     250.0",
        "",
        "An informer, lazy: 2,000 objects",
        "  from start to synced   0.50 s, 4,000 objects a second",
        "  CPU                    0.25 s, 125 µs an object",
        "  memory grown           14.8 MB, 7,400 bytes an object",
    ]


def test_without_objects_and_memory_nothing_is_divided() -> None:
    empty = BenchReport("s", "pods", REPORT.latencies, Synced("lazy", 0, 0.0, 0.0, None))

    assert render(empty).splitlines()[-3:] == [
        "  from start to synced   0.00 s",
        "  CPU                    0.00 s",
        "  memory grown           not known on this platform",
    ]


def test_a_report_is_plain_data() -> None:
    found = json.loads(json.dumps(as_data(REPORT)))

    assert found["milliseconds"]["GET /version"] == {"least": 1, "median": 2, "p90": 10.5, "most": 10.5}
    assert found["informer"] == {
        "hold": "lazy",
        "objects": 2000,
        "wallSeconds": 0.5,
        "cpuSeconds": 0.25,
        "grownBytes": 14_800_000,
    }


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 1))
def test_a_percentile_is_the_least_value_that_such_a_share_does_not_exceed(values: list[float], share: float) -> None:
    found = percentile(values, share)

    assert found in values
    assert sum(value <= found for value in values) >= share * len(values)
    assert percentile(values, 0) == min(values)
    assert percentile(values, 1) == max(values)


@pytest.mark.slow
def test_a_cluster_is_measured_with_the_meter_that_is_given(kube_client: masthead.Client) -> None:
    for name in ("one", "two"):
        kube_client.core_v1.config_maps("default").create(ConfigMap.new(name))
    (selected,) = resolve(kube_client, State(all_namespaces=True), parse_references(["cm"]))
    wall, memory = itertools.count(step=0.5), itertools.count(1000, 1000)
    meter = Meter(lambda: next(wall), lambda: 2.0, lambda: next(memory))
    steps: list[str] = []

    report = measure(kube_client, selected, BenchPlan(samples=2, writes=True), meter, steps.append)

    assert [latency.title for latency in report.latencies] == [
        "GET /version",
        "list configmaps, 1 object",
        "list configmaps, up to 500",
        "patch, until an informer has it",
    ]
    assert {latency.seconds for latency in report.latencies} == {(0.5, 0.5)}
    assert steps == ["GET /version", "list configmaps", "changes", "an informer of configmaps"]
    present = len(kube_client.core_v1.config_maps().list())
    assert report.synced == Synced("lazy", present, 0.5, 0.0, 1000)


@pytest.mark.slow
def test_nothing_is_left_in_the_cluster(kube_client: masthead.Client) -> None:
    (selected,) = resolve(kube_client, State(), parse_references(["cm"]))
    before = {each.key for each in kube_client.core_v1.config_maps().list()}

    measure(kube_client, selected, BenchPlan(samples=1, writes=True), Meter(), lambda _: None)

    assert {each.key for each in kube_client.core_v1.config_maps().list()} == before


def run(server: masthead.server.Server, folder: Path, *arguments: str) -> int:
    server.write_kubeconfig(folder / "config")
    return main(["--kubeconfig", str(folder / "config"), "bench", *arguments])


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.slow
def test_the_command_prints_the_report_and_changes_nothing(
    kube_server: masthead.server.Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(kube_server, tmp_path, "namespaces", "--samples", "1", "-o", "json") == 0

    found = json.loads(capsys.readouterr().out)
    assert found["informer"]["objects"] >= 1
    assert found["resource"] == "namespaces"
    methods = {request.method for request in kube_server.requests}
    assert methods == {"GET"}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["podz"], 4, 'no resource "podz"'),
        (["pods/web"], 2, "name one kind"),
        (["all"], 2, "name one kind"),
        (["pods", "-n", "nowhere"], 4, 'namespace "nowhere" does not exist'),
        (["pods", "--samples", "0"], 2, "--samples"),
        (["pods", "--timeout", "0"], 2, "--timeout must be more than 0"),
        (["pods", "--timeout", "soon"], 2, "is not a duration"),
    ],
)
def test_bad_arguments_are_answered_in_one_line(
    kube_server: masthead.server.Server,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    said: str,
) -> None:
    assert run(kube_server, tmp_path, *arguments) == code

    first, *rest = capsys.readouterr().err.splitlines()
    assert first.startswith("masthead bench: ")
    assert said in first
    assert all(each.startswith("hint: ") for each in rest)


def test_a_server_that_is_not_there_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--server", "http://127.0.0.1:1", "bench"]) == 3

    assert "127.0.0.1:1" in capsys.readouterr().err
