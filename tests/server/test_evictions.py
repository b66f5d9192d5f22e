"""Evictions where more than the API server is at work, or more is written than a recording should hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.server.calls import MERGE_PATCH, PODS
from tests.server.quiet_cluster import pod

if TYPE_CHECKING:
    from tests.server.quiet_cluster import QuietCluster

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
EVICTION = {"metadata": {"name": "a"}}


def run_pod(cluster: QuietCluster) -> None:
    cluster.call("POST", PODS, pod("a"))
    cluster.call("PATCH", f"{PODS}/a/status", {"status": {"phase": "Running"}}, content_type=MERGE_PATCH)


def allow(cluster: QuietCluster, **status: Any) -> None:
    """Write the status of a budget for every pod."""
    counts = {"observedGeneration": 1, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}
    cluster.call("PATCH", f"{BUDGETS}/b/status", {"status": {**counts, **status}}, content_type=MERGE_PATCH)


def test_an_evicted_pod_ends_after_its_grace_period(cluster: QuietCluster) -> None:
    run_pod(cluster)

    cluster.call("POST", f"{PODS}/a/eviction", {**EVICTION, "deleteOptions": {"gracePeriodSeconds": 60}})

    assert cluster.is_there(f"{PODS}/a")
    cluster.server.advance(59)
    assert cluster.is_there(f"{PODS}/a")
    cluster.server.advance(1)
    cluster.server.block_until_idle()
    assert not cluster.is_there(f"{PODS}/a")


def test_a_budget_with_too_many_unobserved_evictions_allows_no_other(cluster: QuietCluster) -> None:
    run_pod(cluster)
    cluster.call("POST", BUDGETS, {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {}}})
    disrupted = {f"p{number}": "2001-02-03T04:05:06Z" for number in range(2001)}
    allow(cluster, disruptionsAllowed=1, disruptedPods=disrupted)

    refused = cluster.caller.call("POST", f"{PODS}/a/eviction", EVICTION)

    problem = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
    message = f'poddisruptionbudget.policy "b" is forbidden: {problem}'
    assert refused.failure == (403, "Forbidden", message)
    assert refused.json["details"] == {"name": "b", "group": "policy", "kind": "poddisruptionbudget"}
    allow(cluster, disruptedPods={"p0": None})
    cluster.call("POST", f"{PODS}/a/eviction", EVICTION)


def test_a_budget_without_a_status_allows_evictions(cluster: QuietCluster) -> None:
    run_pod(cluster)
    cluster.call("POST", BUDGETS, {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {}}})

    cluster.call("POST", f"{PODS}/a/eviction", {**EVICTION, "deleteOptions": {"gracePeriodSeconds": 0}})

    assert not cluster.is_there(f"{PODS}/a")


def test_a_budget_with_a_status_is_obeyed(cluster: QuietCluster) -> None:
    run_pod(cluster)
    cluster.call("POST", BUDGETS, {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {}}})
    allow(cluster, disruptionsAllowed=0)

    refused = cluster.caller.call("POST", f"{PODS}/a/eviction", EVICTION)

    assert refused.failure[:2] == (429, "TooManyRequests")
