"""The scheduler as users of a cluster see it: nodes, conditions and events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.quiet_cluster import QuietCluster

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
MERGE_PATCH = "application/merge-patch+json"


@pytest.fixture
def cluster() -> Iterator[QuietCluster]:
    """A cluster with a scheduler, and without nodes and kubelet."""
    options: dict[str, Any] = {"clock": VirtualClock, "token": None, "bootstrap": False}
    with masthead.server.run(**options, controllers=["scheduler", "pods"]) as running:
        made = QuietCluster(running)
        yield made
        made.caller.close()


def add_node(cluster: QuietCluster, name: str, *, labels: Any = None, **spec: Any) -> None:
    """Register a node that takes pods."""
    meta = {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}}
    cluster.call("POST", NODES, {"metadata": meta, "spec": spec})
    # Admission taints new nodes until they are ready.
    cluster.call("PATCH", f"{NODES}/{name}", {"spec": {"taints": spec.get("taints")}}, content_type=MERGE_PATCH)
    resize(cluster, name, cpu="4", memory="8Gi", pods="110")


def resize(cluster: QuietCluster, node: str, **allocatable: str) -> None:
    """Set what a node offers."""
    status = {"capacity": allocatable, "allocatable": allocatable}
    cluster.call("PATCH", f"{NODES}/{node}/status", {"status": status}, content_type=MERGE_PATCH)


def add_pod(cluster: QuietCluster, name: str, *, cpu: str = "", labels: Any = None, **spec: Any) -> None:
    """Create a pod with one container."""
    container: Any = {"name": "main", "image": "nginx"}
    if cpu:
        container["resources"] = {"requests": {"cpu": cpu}}
    meta = {"name": name, "labels": labels or {}}
    cluster.call("POST", PODS, {"metadata": meta, "spec": {"containers": [container], **spec}})


def node_of(cluster: QuietCluster, pod: str) -> str | None:
    """The node of a pod; None if it has none."""
    found: Any = cluster.call("GET", f"{PODS}/{pod}")
    node: str | None = found["spec"].get("nodeName")
    return node


def problem_of(cluster: QuietCluster, pod: str) -> str:
    """The message of the condition of a pod without a node."""
    found: Any = cluster.call("GET", f"{PODS}/{pod}")
    assert "nodeName" not in found["spec"]
    condition = next(item for item in found["status"]["conditions"] if item["type"] == "PodScheduled")
    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
    message: str = condition["message"]
    return message


def reports(cluster: QuietCluster, pod: str) -> list[tuple[str, str, str]]:
    """The events of a pod."""
    found: Any = cluster.call("GET", "/api/v1/namespaces/default/events")
    return [
        (event["type"], event["reason"], event["message"])
        for event in found["items"]
        if event["involvedObject"]["name"] == pod
    ]


def test_a_pod_gets_a_node_that_fits(cluster: QuietCluster) -> None:
    add_node(cluster, "small")
    resize(cluster, "small", cpu="1", memory="1Gi", pods="10")
    add_node(cluster, "large")

    add_pod(cluster, "web", cpu="2")

    assert node_of(cluster, "web") == "large"
    assert reports(cluster, "web") == [("Normal", "Scheduled", "Successfully assigned default/web to large")]
    found: Any = cluster.call("GET", f"{PODS}/web")
    assert [(item["type"], item["status"]) for item in found["status"]["conditions"]] == [("PodScheduled", "True")]


def test_without_nodes_a_pod_says_so(cluster: QuietCluster) -> None:
    add_pod(cluster, "web")

    assert problem_of(cluster, "web") == "no nodes available to schedule pods"
    assert reports(cluster, "web") == [("Warning", "FailedScheduling", "no nodes available to schedule pods")]


def test_a_pod_names_the_reasons_of_all_nodes_sorted_as_text(cluster: QuietCluster) -> None:
    add_node(cluster, "tainted", taints=[{"key": "gpu", "effect": "NoSchedule"}])
    add_node(cluster, "full-1")
    add_node(cluster, "full-2")
    add_node(cluster, "cordoned", unschedulable=True)

    add_pod(cluster, "web", cpu="5")

    assert problem_of(cluster, "web").startswith(
        "0/4 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 2 Insufficient cpu."
    )


def test_a_node_without_allocatable_takes_no_pods(cluster: QuietCluster) -> None:
    cluster.call("POST", NODES, {"metadata": {"name": "bare"}})
    cluster.call("PATCH", f"{NODES}/bare", {"spec": {"taints": None}}, content_type=MERGE_PATCH)

    add_pod(cluster, "web")

    assert problem_of(cluster, "web").startswith("0/1 nodes are available: 1 Too many pods.")


def test_a_new_node_gets_the_pods_that_waited_for_it(cluster: QuietCluster) -> None:
    add_pod(cluster, "web", nodeSelector={"disk": "ssd"})
    add_node(cluster, "plain")
    assert node_of(cluster, "web") is None

    add_node(cluster, "fast", labels={"disk": "ssd"})

    assert node_of(cluster, "web") == "fast"


def test_the_end_of_a_pod_makes_room_for_the_next(cluster: QuietCluster) -> None:
    add_node(cluster, "only")
    add_pod(cluster, "first", cpu="3")
    add_pod(cluster, "second", cpu="3")
    assert problem_of(cluster, "second").startswith("0/1 nodes are available: 1 Insufficient cpu.")

    cluster.call("DELETE", f"{PODS}/first?gracePeriodSeconds=0")

    assert node_of(cluster, "second") == "only"


def test_pods_of_other_schedulers_and_gated_pods_are_left_alone(cluster: QuietCluster) -> None:
    add_node(cluster, "only")
    add_pod(cluster, "foreign", schedulerName="mine")
    add_pod(cluster, "gated", schedulingGates=[{"name": "wait"}])
    assert (node_of(cluster, "foreign"), node_of(cluster, "gated")) == (None, None)

    cluster.call("PATCH", f"{PODS}/gated", {"spec": {"schedulingGates": None}}, content_type=MERGE_PATCH)

    assert node_of(cluster, "gated") == "only"


def test_of_equal_nodes_the_first_by_name_is_chosen(cluster: QuietCluster) -> None:
    for name in ("b", "a", "c"):
        add_node(cluster, name)

    for pod in ("one", "two", "three"):
        add_pod(cluster, pod, cpu="1")

    assert [node_of(cluster, pod) for pod in ("one", "two", "three")] == ["a", "b", "c"]
