import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.harness import measure
from benchmarks.harness.contenders import Contender, installed, shares, there
from benchmarks.harness.measure import Figures
from benchmarks.harness.report import Table
from benchmarks.lookup import benchmark as lookup
from benchmarks.lookup.worker import BUCKETS, buckets_of, microseconds, number_of
from benchmarks.requests.clients import OFFICIAL
from benchmarks.scaling import benchmark as scaling
from benchmarks.sync import benchmark as sync
from benchmarks.sync import tables as sync_tables
from benchmarks.sync.clients import COMPACT, EAGER, LAZY
from benchmarks.sync.runs import Runs, left_out
from benchmarks.watch import benchmark as watch
from benchmarks.watch import clients as watch_clients
from benchmarks.watch.clients import LISTED

from masthead.api.core.v1 import Pod

MEGA = 1_000_000


def taken(cpu: float, held: float | None, pods: int = 20_000) -> Figures:
    return {"wall": cpu, "cpu": cpu, "held": held, "peak": held, "pods": pods}


def verdicts(table: Table) -> dict[str, bool]:
    return {row.name: row.target.ok for row in table.rows if row.target is not None}


# -- Contenders --------------------------------------------------------------------------------------------


def test_who_is_not_installed_is_left_out_and_said_to_be_and_titles_tell_versions() -> None:
    contenders = {
        "ours": Contender("ours"),
        "ours too": Contender("ours too", module="no_such_module"),
        "a": Contender("a informer", "a", "a.informer"),
        "b": Contender("b, list", "b", "b"),
    }

    assert {name: each.title for name, each in there(contenders, {"a": "1.2"}).items()} == {
        "ours": "ours",
        "a": "a 1.2 informer",
    }
    peers, client_go = left_out(contenders, {"a": "1.2"}, "")
    assert ": b (" in peers
    assert "client-go" in client_go
    assert not list(left_out(contenders, {"a": "1", "b": "2"}, "/a/program"))


def test_a_peer_is_installed_if_its_module_is_there_too() -> None:
    contenders = {
        "ours": Contender("ours"),
        "peer": Contender("peer", "pytest"),
        "with a module": Contender("with a module", "hypothesis", "hypothesis.strategies"),
        "without it": Contender("without it", "ruff", "ruff.informer"),
        "without its package": Contender("without its package", "mypy", "no_such_package.informer"),
        "not there": Contender("not there", "no-such-distribution"),
    }

    assert installed(contenders).keys() == {"pytest", "hypothesis"}


def test_those_who_are_named_are_measured_and_the_others_are_not() -> None:
    contenders = {"a": Contender("a"), "b": Contender("b", "b"), "c": Contender("c", "c")}

    with measure.lab() as lab:
        assert Runs(lab, sys.executable).chosen(contenders) == contenders
        assert Runs(lab, sys.executable, only=["c", "a"]).chosen(contenders).keys() == {"a", "c"}


def test_who_is_slow_does_less_than_the_others_and_never_more() -> None:
    slow = Contender("slow", most=1_000)

    assert (slow.share(20_000), slow.share(200)) == (1_000, 200)
    assert Contender("quick").share(20_000) == 20_000
    assert shares({"slow": slow, "none": Contender("none", most=0)}, 20_000) == [1, 1_000]


def test_a_server_that_has_no_shorter_list_is_not_asked_for_one() -> None:
    slow, quick = Contender("slow", most=1_000), Contender("quick")
    long, short = (sync.Place("here", Path("config"), pods, "some", has_fewer=False) for pods in (5_000, 500))

    assert (long.can_serve(slow), long.can_serve(quick)) == (False, True)
    assert (short.can_serve(slow), short.can_serve(quick)) == (True, True)


@pytest.mark.parametrize(("named", "found"), [("", "pods-60"), ("here", "here")])
def test_a_server_that_is_there_already_is_asked_where_it_has_its_pods(named: str, found: str) -> None:
    options = argparse.Namespace(server=Path("config"), real=False, namespace=named, one="pods-1")

    with measure.lab() as lab, sync.place_of(Runs(lab, sys.executable), options, 60) as place:
        assert (place.kubeconfig, place.pods, place.namespace) == (Path("config"), 60, found)
        assert (place.one, place.is_ours, place.has_fewer) == ("pods-1", False, False)


def test_client_go_is_asked_as_agreed_and_what_it_prints_is_taken_over(tmp_path: Path) -> None:
    program = tmp_path / "client-go"
    said = {"seconds": 2, "cpu_seconds": 3, "rss_bytes": 4, "peak_bytes": 5, "heap_bytes": 1, "objects": 7}
    asked = tmp_path / "asked"
    program.write_text(
        f"#!{sys.executable}\nimport json, pathlib, sys\n"
        f"pathlib.Path({str(asked)!r}).write_text(json.dumps(sys.argv[1:]))\nprint({json.dumps(said)!r})\n"
    )
    program.chmod(0o700)
    place = sync.Place("here", Path("config"), 7, "some")

    with measure.lab() as lab:
        figures = sync.measured_go(Runs(lab, sys.executable, str(program)), place, "--protobuf")

    assert figures == {"wall": 2, "cpu": 3, "held": 4, "peak": 5, "pods": 7}
    wanted = "sync --kubeconfig config --namespace some --resource pods --protobuf"
    assert json.loads(asked.read_text()) == wanted.split()


def test_a_store_that_lacks_objects_is_no_measurement(tmp_path: Path) -> None:
    program = tmp_path / "client-go"
    program.write_text(f"#!{sys.executable}\nprint('{{\"objects\": 6}}')\n")
    program.chmod(0o700)

    with measure.lab() as lab, pytest.raises(RuntimeError, match="should have 7 pods, and has 6"):
        sync.measured_go(Runs(lab, sys.executable, str(program)), sync.Place("here", Path("config"), 7, "some"))


# -- Tables ------------------------------------------------------------------------------------------------


def test_ours_is_judged_beside_the_official_informer_by_the_pod() -> None:
    measured = {
        LAZY: taken(1, 100),
        EAGER: taken(4, 500),
        COMPACT: taken(1, 26),
        OFFICIAL: taken(2, 100, pods=2_000),
    }

    table = sync_tables.compare_table(measured, real=False)

    assert verdicts(table) == {
        "cpu_of_official": True,
        "lazy_memory_of_official": True,
        "compact_memory_of_official": False,
    }
    assert table.rows[0].figures == pytest.approx((0.05, 0.2, 0.05))


def test_on_a_real_server_client_go_is_compared_with_too() -> None:
    measured = {LAZY: taken(1.6, 1), sync_tables.PROTOBUF: taken(2.0, 1)}

    table = sync_tables.compare_table(measured, real=True)

    assert verdicts(table) == {"real_cpu_us": False, "cpu_of_client_go": False}
    assert [row.figures[0] for row in table.rows] == pytest.approx([80, 0.8])
    assert not sync_tables.compare_table({LAZY: taken(1, 1)}, real=False).rows


def test_memory_that_the_system_does_not_tell_is_no_figure_and_judged_by_nothing() -> None:
    measured = {LAZY: taken(1, None), OFFICIAL: taken(30, None)}

    assert verdicts(sync_tables.compare_table(measured, real=False)) == {"cpu_of_official": True}
    titles = {name: name for name in measured}
    row = sync_tables.sync_table(titles, measured, where="here", rounds=1).rows[0]
    assert row.figures == pytest.approx((20_000, 1, 1, 50, None, None, None))


@pytest.mark.parametrize(("seconds", "grown", "ok"), [(1.9, 3 * MEGA, True), (2.1, 5 * MEGA, False)])
def test_a_watch_is_judged_by_its_rate_its_cpu_and_the_memory_it_takes_on(
    seconds: float, grown: float, ok: bool
) -> None:
    figures: Figures = {"wall": seconds, "cpu": seconds, "events": 50_000, "grown": grown}

    table = watch.judged_table({LAZY: figures})

    assert verdicts(table) == dict.fromkeys(("rate", "cpu_us", "grown_mb"), ok)


def test_a_handler_looks_at_the_memory_after_a_fifth_of_the_events_and_at_the_last_one() -> None:
    handler = watch_clients.Handler(10, 1)
    seen: list[tuple[bool, bool, bool]] = []

    for number in (1, 2, 3, 9, 10):  # some were told as one
        handler.observe(str(LISTED + number))
        seen.append((handler.early_bytes is not None, handler.ended is not None, handler.is_done))

    assert [is_done for _, _, is_done in seen] == [False] * 4 + [True]
    if measure.resident_bytes(os.getpid()) is not None:
        assert [early for early, _, _ in seen] == [False] + [True] * 4
        assert [late for _, late, _ in seen] == [False] * 4 + [True]


def lookups(**found: float) -> Figures:
    return {"get": 0.5, "again": 1, "lister": 1, "select": 1, "all": 1, **found}


def test_an_index_lookup_is_judged_by_what_each_object_of_its_result_costs() -> None:
    best = {
        LAZY: lookups(index_10=1, index_100=4, index_1000=130, table=60),
        lookup.SMALLER: lookups(index_10=1, index_100=3, index_1000=100, table=60),
    }

    table = lookup.judged_table(best)

    assert verdicts(table) == {"get_us": True, "index_growth": False, "index_size": True}
    assert [row.figures[0] for row in table.rows] == pytest.approx([0.5, 1.3, 4 / 3])
    assert lookup.lookup_table(best, lookup.Size()).rows[0].figures == (0.5, 0.5, None)


def test_pods_are_put_into_buckets_by_the_number_in_their_names() -> None:
    pod = Pod.new("svc-7-00000000ff-00255")

    assert number_of(pod) == 255
    assert [buckets_of(size)(pod) for size in BUCKETS] == [["25"], ["2"], ["0"]]


def test_a_read_is_made_once_for_each_that_is_wanted_in_every_slice() -> None:
    read: list[str] = []

    assert microseconds(read.append, ["a", "b"]) > 0
    assert read == ["a", "b"] * 5


def test_growth_is_linear_if_an_object_costs_no_more_among_many_than_otherwise() -> None:
    counts = (1_000, 20_000, 200_000)
    straight = [taken(0.0001 * count, 7_000 * count, count) for count in counts]
    steep = [taken(1e-9 * count**2, 10 * MEGA + 500 * count, count) for count in counts]

    assert verdicts(scaling.linear_table({LAZY: straight, COMPACT: steep})) == {
        "lazy_cpu": True,
        "lazy_held": True,
        "compact_cpu": False,
        "compact_held": True,
    }


def test_a_plot_shows_each_series_and_where_a_straight_line_would_be() -> None:
    drawn = scaling.plot({"lazy": [(50, 5), (100, 10)], "compact": [(50, 10), (100, 10)]}, unit="CPU s")

    legend, *lines = drawn.splitlines()
    assert legend == "CPU s: l = lazy, c = compact, . = a straight line"
    top, middle, bottom = lines[0], lines[8], lines[16]
    assert top.startswith("10.0 |")
    assert top[6:] == " " * 32 + "c" + " " * 29 + "..*"
    assert middle[6:] == " " * 30 + "..l.."
    assert bottom == "   0 |..."
    assert lines[-1].endswith("100 pods")


# -- Everything --------------------------------------------------------------------------------------------


def quick(name: str, *options: str) -> dict[str, Any]:
    return measure.printed([sys.executable, "-m", f"benchmarks.{name}", "--quick", *options], os.environ)


ALONE = ("--only", LAZY, "--client-go", "")
"""Without those who do the same in other ways, which have their own tests, whatever the environment says."""


@pytest.mark.slow
def test_a_quick_sync_ends_with_a_line_of_json_and_judges_nothing() -> None:
    printed = quick("sync", *ALONE)

    assert printed["benchmark"] == "sync"
    assert printed["tables"]["sync"].keys() == {LAZY}
    assert printed["tables"]["sync"][LAZY]["pods"] == 50
    assert not printed["targets"]


@pytest.mark.slow
def test_a_quick_watch_ends_with_a_line_of_json_and_judges_nothing() -> None:
    printed = quick("watch", *ALONE)

    assert printed["tables"]["watch"].keys() == {LAZY}
    assert printed["tables"]["watch"][LAZY]["events"] == 100
    assert not printed["targets"]


@pytest.mark.slow
def test_a_quick_lookup_ends_with_a_line_of_json_and_judges_nothing() -> None:
    printed = quick("lookup")

    assert printed["tables"]["lookup"]["get"].keys() == {LAZY, lookup.SMALLER, COMPACT}
    assert printed["tables"]["lookup"]["index_1000"][LAZY] > 0
    assert not printed["targets"]


@pytest.mark.slow
def test_a_quick_scaling_ends_with_a_line_of_json_and_judges_nothing() -> None:
    printed = quick("scaling")

    assert printed["tables"].keys() == {LAZY, COMPACT, "linear"}
    assert printed["tables"][LAZY].keys() == {"20", "50"}
    assert not printed["targets"]
