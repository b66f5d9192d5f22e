import asyncio
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.harness import measure
from benchmarks.harness.contenders import there
from benchmarks.harness.measure import Figures
from benchmarks.requests import clients as requests_clients
from benchmarks.requests import server as requests_server
from benchmarks.requests import tables as requests_tables
from benchmarks.requests import worker as requests_work
from benchmarks.requests.clients import CLIENTS, LIGHTKUBE, OFFICIAL, OURS, OURS_BLOCKING

from masthead_server.storage import Storage


def taken(wall: float, cpu: float) -> Figures:
    return {
        requests_work.figure(kind, width, what): value
        for kind in ("get", "create")
        for width in requests_work.WIDTHS
        for what, value in (("wall", wall), ("cpu", cpu))
    }


BEST: dict[str, Figures] = {
    OURS: taken(1, 2),
    OURS_BLOCKING: taken(2, 2),
    OFFICIAL: taken(4, 4),
    LIGHTKUBE: taken(3, 8),
}


def listed(cpu: float, held: float | None) -> Figures:
    return {
        f"{key}_{name}": value
        for key in ("list", "touch")
        for name, value in (("wall", cpu), ("cpu", cpu), ("held", held), ("peak", held))
    }


def clients(*names: str) -> dict[str, requests_clients.Client]:
    return {name: CLIENTS[name] for name in names}


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[str]:
    path = tmp_path / "kubeconfig"
    command = [sys.executable, "-m", "benchmarks.requests.server", str(path), "--pods", "3", "1"]
    with subprocess.Popen(command, cwd=measure.ROOT, stdout=subprocess.PIPE, encoding="utf-8") as server:
        assert server.stdout is not None
        assert server.stdout.readline().startswith("http://127.0.0.1:")
        yield str(path)
        server.terminate()
    assert server.returncode == 0


def test_the_server_begins_with_the_small_object_and_so_many_pods_in_a_namespace_of_their_own(
    kubeconfig: str,
) -> None:
    [url] = [line.split()[1] for line in Path(kubeconfig).read_text().splitlines() if "server:" in line]

    def ask(path: str) -> Any:
        with urllib.request.urlopen(f"{url}/api/v1/namespaces/{path}") as response:
            return json.load(response)

    pods = ask("pods-3/pods")["items"]
    assert len(pods) == 3
    assert {pod["status"]["phase"] for pod in pods} == {"Running"}
    assert {pod["metadata"]["namespace"] for pod in pods} == {"pods-3"}
    assert ask("default/configmaps/small")["data"] == requests_clients.DATA


def test_what_the_server_begins_with_has_no_history() -> None:
    storage = Storage(requests_server.Kept([2]))

    assert storage.compacted == storage.revision
    assert not storage.table("pods").log
    assert len(list(storage.table("pods").scan("", storage.revision))) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bare", OURS_BLOCKING])
def test_a_blocking_client_does_what_all_do(name: str, kubeconfig: str) -> None:
    opener = CLIENTS[name].open
    assert opener is not None
    names = map("made-{}".format, range(100_000))

    with opener(kubeconfig) as calls:
        figures = requests_work.small_blocking(calls, lambda: next(names), 0.001)

    assert figures.keys() == taken(1, 1).keys()
    assert next(names) != "made-0"


@pytest.mark.slow
async def test_an_async_client_does_what_all_do(kubeconfig: str) -> None:
    opener = CLIENTS[OURS].open_async
    assert opener is not None
    names = map("made-{}".format, range(100_000))

    async with opener(kubeconfig) as calls:
        figures = await requests_work.small_async(calls, lambda: next(names), 0.001)
        lists = await requests_work.list_async(calls, "pods-1", "pods-3", 3)

    assert figures.keys() == taken(1, 1).keys()
    assert lists.keys() == listed(1, 1).keys()


@pytest.mark.slow
async def test_a_list_of_another_length_is_no_measurement(kubeconfig: str) -> None:
    opener = CLIENTS[OURS].open_async
    assert opener is not None
    async with opener(kubeconfig) as calls:
        with pytest.raises(RuntimeError, match="should have 4 running pods, and has 3 of 3"):
            await requests_work.list_async(calls, "pods-1", "pods-3", 4)


async def test_calls_are_counted_however_many_are_made_at_once() -> None:
    answered: list[int] = []

    async def call() -> None:
        await asyncio.sleep(0)
        answered.append(1)

    one = await requests_work.call_async(call, 1, 0.001)
    many = await requests_work.call_async(call, 16, 0.001)

    assert one.calls >= 1
    assert many.calls >= 16
    assert one.calls + many.calls == len(answered)


def test_calls_of_threads_are_counted() -> None:
    answered: list[int] = []

    meter = requests_work.call_blocking(lambda: answered.append(1), 16, 0.001)

    assert meter.calls == len(answered) >= 16


def test_of_several_peers_the_best_is_compared_with() -> None:
    wall, cpu = (requests_work.figure("get", 1, what) for what in ("wall", "cpu"))

    assert requests_tables.times(BEST, OURS, [OFFICIAL], wall) == 4
    assert requests_tables.times(BEST, OURS, [OFFICIAL, LIGHTKUBE], wall) == 3
    assert requests_tables.times(BEST, OURS, [OFFICIAL, LIGHTKUBE], cpu) == 2


def test_ours_is_judged_beside_the_official_client_the_best_peer_and_lightkube() -> None:
    lists = {
        OURS: listed(1, 10),
        OURS_BLOCKING: listed(2, 10),
        OFFICIAL: listed(20, 60),
        LIGHTKUBE: listed(2, 60),
    }

    table = requests_tables.compare_table(clients(*lists), BEST, lists, 20_000)

    verdicts = {row.name: row.target.ok for row in table.rows if row.target is not None}
    assert len(verdicts) == len(table.rows) == 19
    assert verdicts["get_1_wall_official"]
    assert not verdicts["get_1_cpu_official"]
    assert verdicts["create_16_wall_peers"]
    assert verdicts["list_cpu_of_kubernetes"]
    assert verdicts["list_held_of_kubernetes"]
    assert not verdicts["list_cpu_of_lightkube"]


def test_a_peer_that_reads_a_shorter_list_is_compared_by_the_pod() -> None:
    slow = {**clients(OURS, OURS_BLOCKING), OFFICIAL: CLIENTS["kr8s"]}
    lists = {OURS: listed(1, 1), OURS_BLOCKING: listed(1, 1), OFFICIAL: listed(1, 1)}

    [cpu, memory] = [row for row in requests_tables.compare_table(slow, BEST, lists, 20_000).rows if "list" in row.name]

    assert [*cpu.figures, *memory.figures] == pytest.approx([1 / 20] * 4)


def test_without_peers_there_is_nothing_to_compare_with() -> None:
    ours = clients(OURS, OURS_BLOCKING)
    lists = {name: listed(1, None) for name in ours}

    assert not requests_tables.compare_table(ours, BEST, lists, 100).rows
    assert requests_tables.list_table(ours, lists, 100).rows[0].figures[4] is None


def test_clients_that_are_not_installed_are_left_out_and_titles_tell_versions() -> None:
    found = there(CLIENTS, {"lightkube": "1.2.3"})

    assert found["lightkube"].title == "lightkube 1.2.3, 16 threads"
    assert found["lightkube_async"].title == "lightkube 1.2.3, async"
    assert not found.keys() & {"kubernetes", "kubernetes_asyncio", "kr8s"}
    assert {OURS, OURS_BLOCKING} <= found.keys()


@pytest.mark.slow
def test_a_quick_run_ends_with_a_line_of_json_and_judges_nothing() -> None:
    command = [
        sys.executable,
        "-m",
        "benchmarks.requests",
        "--quick",
        "--peers-python",
        sys.executable,
    ]

    printed = measure.printed(command, os.environ)

    assert printed["benchmark"] == "requests"
    assert printed["tables"].keys() == {"small", "list", "facade"}
    assert printed["tables"]["small"][OURS]["gets_1"] > 0
    assert printed["tables"]["list"][f"{OURS}_touch"]["pods"] == 200
    assert "own" in printed["tables"]["facade"]
    assert not printed["targets"]
