"""The disruption controller: the status of budgets, and evictions that rely on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import MERGE_PATCH, PODS
from tests.server.custom_definitions import define, version_of, widget
from tests.server.quiet_cluster import QuietCluster, pod

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
EVENTS = "/api/v1/namespaces/default/events"
REPLICA_SETS = "/apis/apps/v1/namespaces/default/replicasets"
LABELS = {"app": "web"}
READY = {"type": "Ready", "status": "True"}


@pytest.fixture
def cluster() -> Iterator[QuietCluster]:
    with masthead.server.run(clock=VirtualClock, token=None, workloads=True) as running:
        made = QuietCluster(running)
        yield made
        made.caller.close()


def create_budget(cluster: QuietCluster, **spec: Any) -> None:
    cluster.call("POST", BUDGETS, {"metadata": {"name": "b"}, "spec": {"selector": {"matchLabels": LABELS}, **spec}})


def create_pods(cluster: QuietCluster, count: int, **meta: Any) -> None:
    for number in range(count):
        body = pod(f"p{number}")
        cluster.call("POST", PODS, {**body, "metadata": {**body["metadata"], "labels": LABELS, **meta}})
        make_ready(cluster, f"p{number}")


def make_ready(cluster: QuietCluster, name: str) -> None:
    change = {"status": {"phase": "Running", "conditions": [READY]}}
    cluster.call("PATCH", f"{PODS}/{name}/status", change, content_type=MERGE_PATCH)


def counts(cluster: QuietCluster) -> tuple[int, int, int, int]:
    """Allowed disruptions, healthy pods, those that should be healthy, and expected pods."""
    status = cluster.call("GET", f"{BUDGETS}/b")["status"]
    names = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    allowed, healthy, wanted, expected = (status[name] for name in names)
    return allowed, healthy, wanted, expected


def condition(cluster: QuietCluster) -> tuple[str, str, str]:
    (found,) = cluster.call("GET", f"{BUDGETS}/b")["status"]["conditions"]
    return found["status"], found["reason"], found["message"]


def events(cluster: QuietCluster) -> set[tuple[str, str]]:
    found = cluster.call("GET", EVENTS)["items"]
    return {(event["reason"], event["message"]) for event in found if event["involvedObject"]["kind"] != "ReplicaSet"}


def test_a_number_of_available_pods_counts_every_selected_pod(cluster: QuietCluster) -> None:
    create_budget(cluster, minAvailable=1)
    assert counts(cluster) == (0, 0, 1, 0)
    assert condition(cluster) == ("False", "InsufficientPods", "")
    assert events(cluster) == {("NoPods", "No matching pods found")}

    create_pods(cluster, 3)

    assert counts(cluster) == (2, 3, 1, 3)
    assert condition(cluster) == ("True", "SufficientPods", "")


def test_a_percentage_counts_what_the_controllers_call_for(cluster: QuietCluster) -> None:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 3, "selector": {"matchLabels": LABELS}, "template": template}
    cluster.call("POST", REPLICA_SETS, {"metadata": {"name": "r"}, "spec": spec})
    create_budget(cluster, maxUnavailable="50%")
    assert counts(cluster) == (0, 0, 1, 3)

    for found in cluster.call("GET", PODS)["items"]:
        make_ready(cluster, found["metadata"]["name"])

    assert counts(cluster) == (2, 3, 1, 3)


def test_pods_without_a_controller_are_reported(cluster: QuietCluster) -> None:
    create_pods(cluster, 1)
    create_budget(cluster, maxUnavailable=1)

    assert counts(cluster) == (0, 1, 0, 0)
    ((reason, message),) = events(cluster)
    assert reason == "UnmanagedPods"
    written = "&LabelSelector{MatchLabels:map[string]string{app: web,},MatchExpressions:[]LabelSelectorRequirement{},}"
    assert f"(selector: {written})" in message


@pytest.mark.parametrize(
    ("api_version", "kind", "problem"),
    [
        ("batch/v1", "Job", "jobs.batch does not implement the scale subresource"),
        ("apps/v1", "StatefulSet", 'found no controllers for pod "p0"'),
        ("example.com/v1", "Thing", 'no matches for kind "Thing" in version "example.com/v1"'),
    ],
)
def test_a_controller_without_a_scale_fails_the_budget(
    cluster: QuietCluster, api_version: str, kind: str, problem: str
) -> None:
    owner = {"apiVersion": api_version, "kind": kind, "name": "o", "uid": "1", "controller": True}
    create_pods(cluster, 1, ownerReferences=[owner])
    create_budget(cluster, minAvailable="50%")

    assert condition(cluster) == ("False", "SyncFailed", problem)
    message = f"Failed to calculate the number of expected pods: {problem}"
    assert ("CalculateExpectedPodCountFailed", message) in events(cluster)


def test_the_scale_of_a_custom_resource_counts(cluster: QuietCluster) -> None:
    replicas = {"type": "object", "properties": {"replicas": {"type": "integer"}}}
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    schema = {"type": "object", "properties": {"spec": replicas, "status": replicas}}
    define(cluster, version_of(schema=schema, subresources={"scale": scale, "status": {}}))
    path = "/apis/example.com/v1/namespaces/default/widgets"
    made = cluster.call("POST", path, widget("w", spec={"replicas": 4}))
    owner = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "controller": True}
    create_pods(cluster, 3, ownerReferences=[{**owner, "uid": made["metadata"]["uid"]}])
    create_budget(cluster, minAvailable="50%")

    assert counts(cluster) == (1, 3, 2, 4)


def test_evictions_spend_the_budget_until_pods_are_ready_again(cluster: QuietCluster) -> None:
    create_budget(cluster, minAvailable=2)
    create_pods(cluster, 3)

    cluster.call("POST", f"{PODS}/p0/eviction", {"metadata": {"name": "p0"}})
    assert counts(cluster)[:2] == (0, 2)
    refused = cluster.caller.call("POST", f"{PODS}/p1/eviction", {"metadata": {"name": "p1"}})

    assert refused.failure[:2] == (429, "TooManyRequests")


def test_an_eviction_without_a_deletion_is_forgotten(cluster: QuietCluster) -> None:
    create_budget(cluster, minAvailable=1)
    create_pods(cluster, 2)
    now = cluster.call("GET", f"{BUDGETS}/b")["metadata"]["creationTimestamp"]
    patch = {"status": {"disruptedPods": {"p0": now}}}
    cluster.call("PATCH", f"{BUDGETS}/b/status", patch, content_type=MERGE_PATCH)
    assert counts(cluster) == (0, 1, 1, 2)

    cluster.server.advance(120)
    cluster.server.block_until_idle()

    assert counts(cluster) == (1, 2, 1, 2)
    assert ("NotDeleted", "Pod was expected by PDB default/default to be deleted but it wasn't") in events(cluster)


def test_a_stale_disruption_target_is_reset(cluster: QuietCluster) -> None:
    create_pods(cluster, 1)
    now = cluster.call("GET", f"{PODS}/p0")["metadata"]["creationTimestamp"]
    target = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "lastTransitionTime": now,
    }
    change = {"status": {"conditions": [READY, target]}}
    cluster.call("PATCH", f"{PODS}/p0/status", change, content_type=MERGE_PATCH)

    cluster.server.advance(120)
    cluster.server.block_until_idle()

    found = cluster.call("GET", f"{PODS}/p0")["status"]["conditions"]
    assert {item["type"]: item["status"] for item in found} == {"Ready": "True", "DisruptionTarget": "False"}


def test_a_pod_of_several_budgets_is_reported(cluster: QuietCluster) -> None:
    create_budget(cluster, minAvailable=1)
    cluster.call("POST", BUDGETS, {"metadata": {"name": "a"}, "spec": {"minAvailable": 1, "selector": {}}})
    create_pods(cluster, 1)

    message = 'Pod "default"/"p0" matches multiple PodDisruptionBudgets.  Chose "a" arbitrarily.'
    assert ("MultiplePodDisruptionBudgets", message) in events(cluster)
