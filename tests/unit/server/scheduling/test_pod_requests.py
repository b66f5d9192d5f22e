"""Requests of pods, against a model that plays the start of a pod container by container."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.server.scheduling.scheduling_objects import make_node, make_pod

from masthead_server.scheduling.node_checks import ResourceCheck

UNITS = {"cpu": "m", "memory": "", "ephemeral-storage": "", "example.com/gpu": ""}
AMOUNTS = st.dictionaries(st.sampled_from(sorted(UNITS)), st.integers(0, 9), max_size=3)
INIT_CONTAINERS = st.lists(st.tuples(AMOUNTS, st.booleans()), max_size=4)
Amounts = dict[str, int]


def write(amounts: Amounts) -> dict[str, str]:
    return {name: f"{amount}{UNITS[name]}" for name, amount in amounts.items()}


def build_spec(containers: list[Amounts], init: list[tuple[Amounts, bool]], whole: Amounts, extra: Amounts) -> Any:
    def build(name: str, amounts: Amounts) -> Any:
        return {"name": name, "resources": {"requests": write(amounts)}}

    return {
        "containers": [build(f"main-{number}", amounts) for number, amounts in enumerate(containers)],
        "initContainers": [
            {**build(f"init-{number}", amounts), **({"restartPolicy": "Always"} if is_sidecar else {})}
            for number, (amounts, is_sidecar) in enumerate(init)
        ],
        "resources": {"requests": write(whole)},
        "overhead": write(extra),
    }


def find_peak(containers: list[Amounts], init: list[tuple[Amounts, bool]]) -> Amounts:
    """The largest amounts in use at any time of the pod's start."""
    peak: Amounts = {}
    running: Counter[str] = Counter()

    def note(used: Amounts) -> None:
        for name, amount in used.items():
            peak[name] = max(peak.get(name, 0), amount)

    for amounts, is_sidecar in init:
        together = running + Counter(amounts)
        note(together)
        if is_sidecar:
            running = together
    for amounts in containers:
        running += Counter(amounts)
    note(running)
    return peak


@given(st.lists(AMOUNTS, min_size=1, max_size=3), INIT_CONTAINERS, AMOUNTS, AMOUNTS)
def test_a_pod_requests_its_largest_need_or_what_it_says_and_its_overhead(
    containers: list[Amounts], init: list[tuple[Amounts, bool]], whole: Amounts, extra: Amounts
) -> None:
    expected = {**find_peak(containers, init), **whole}
    for name, amount in extra.items():
        expected[name] = expected.get(name, 0) + amount
    found = make_pod("web", **build_spec(containers, init, whole, extra)).requests
    assert (found.cpu, found.memory, found.storage, found.others.get("example.com/gpu", 0)) == tuple(
        expected.get(name, 0) for name in ("cpu", "memory", "ephemeral-storage", "example.com/gpu")
    )


@given(st.lists(st.sampled_from(["1", "1500m", "0.0001", "1n", "2.5"]), min_size=1, max_size=3))
def test_each_quantity_is_rounded_up_to_thousandths(written: list[str]) -> None:
    thousandths = {"1": 1000, "1500m": 1500, "0.0001": 1, "1n": 1, "2.5": 2500}
    containers = [{"name": str(n), "resources": {"requests": {"cpu": cpu}}} for n, cpu in enumerate(written)]
    expected = sum(thousandths[cpu] for cpu in written)
    assert make_pod("web", containers=containers).requests.cpu == expected


def test_containers_without_requests_count_in_scores_only() -> None:
    requests = make_pod("web", containers=[{"name": "one"}, {"name": "two"}]).requests
    assert (requests.cpu, requests.memory) == (0, 0)
    assert (requests.scored_cpu, requests.scored_memory) == (200, 400 * 1024 * 1024)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4000)), max_size=20))
def test_a_node_counts_what_its_pods_use(steps: list[tuple[int, int]]) -> None:
    node = make_node("node")
    placed: dict[int, int] = {}
    pods: Any = {}
    for slot, cpu in steps:
        if slot in placed:
            node.remove(pods[slot])
            del placed[slot]
        else:
            port = {"containerPort": 80, "hostPort": 8000 + slot % 2}
            container = {
                "name": "main",
                "ports": [port],
                "resources": {"requests": {"cpu": f"{cpu}m", "example.com/gpu": "1"}},
            }
            pods[slot], placed[slot] = make_pod(f"pod-{slot}", containers=[container]), cpu
            node.add(pods[slot])
        used = sum(placed.values())
        assert node.cpu_used == used
        assert node.others_used["example.com/gpu"] == len(placed)
        assert {port.port for port in node.ports} == {8000 + taken % 2 for taken in placed}
        free = 8000 - used
        asking = make_pod(
            "asking", containers=[{"name": "main", "resources": {"requests": {"cpu": f"{max(1, free)}m"}}}]
        )
        more = make_pod(
            "more", containers=[{"name": "main", "resources": {"requests": {"cpu": f"{max(1, free + 1)}m"}}}]
        )
        assert (ResourceCheck(asking).check(node) is None) is (free >= 1)
        assert ResourceCheck(more).check(node) is not None


def test_a_node_names_each_resource_that_lacks() -> None:
    requests = {"cpu": "9", "memory": "17Gi", "example.com/gpu": "1"}
    pod = make_pod("web", containers=[{"name": "main", "resources": {"requests": requests}}])
    rejection = ResourceCheck(pod).check(make_node("node"))
    assert rejection is not None
    assert rejection.reasons == ("Insufficient cpu", "Insufficient memory", "Insufficient example.com/gpu")
    assert rejection.is_final
