"""The life of nodes: silent and unhealthy ones, their taints, evictions, and the pods that they leave behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import MERGE_PATCH
from tests.server.quiet_cluster import QuietCluster, pod

import masthead.server
from masthead.server import VirtualClock
from masthead_server.controllers.node_lifecycle.pod_collector import PodCollector

if TYPE_CHECKING:
    from collections.abc import Iterator

NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
NODE = "masthead-node-2"
GRACE = 50
UNREACHABLE = "node.kubernetes.io/unreachable"
NOT_READY = "node.kubernetes.io/not-ready"


@pytest.fixture
def cluster() -> Iterator[QuietCluster]:
    with masthead.server.run(clock=VirtualClock, token=None, nodes=3) as running:
        made = QuietCluster(running)
        yield made
        made.caller.close()


@pytest.fixture
def bare() -> Iterator[QuietCluster]:
    """A cluster whose kubelets are played by the test."""
    controllers = ["node-lifecycle", "taint-eviction"]
    with masthead.server.run(clock=VirtualClock, token=None, controllers=controllers) as running:
        made = QuietCluster(running)
        yield made
        made.caller.close()


def advance(cluster: QuietCluster, seconds: float) -> None:
    cluster.server.advance(seconds)
    cluster.server.block_until_idle()


def node(cluster: QuietCluster, name: str = NODE) -> Any:
    return cluster.call("GET", f"{NODES}/{name}")


def ready_of(found: Any) -> tuple[str, str, str]:
    [condition] = [item for item in found["status"]["conditions"] if item["type"] == "Ready"]
    return condition["status"], condition.get("reason", ""), condition.get("message", "")


def taints_of(found: Any) -> set[tuple[str, str]]:
    return {(taint["key"], taint["effect"]) for taint in found["spec"].get("taints", ())}


def events(cluster: QuietCluster, *reasons: str) -> list[tuple[str, str]]:
    found = cluster.call("GET", "/api/v1/events")["items"]
    return [(item["reason"], item["message"]) for item in found if item["reason"] in reasons]


def set_ready(cluster: QuietCluster, name: str, status: str, heartbeat: str) -> None:
    condition = {"type": "Ready", "status": status, "lastHeartbeatTime": heartbeat, "lastTransitionTime": heartbeat}
    path = f"{NODES}/{name}/status"
    cluster.call("PATCH", path, {"status": {"conditions": [condition]}}, content_type=MERGE_PATCH)


def test_nodes_are_registered_and_their_older_labels_completed(cluster: QuietCluster) -> None:
    labels = node(cluster)["metadata"]["labels"]

    assert (labels["beta.kubernetes.io/os"], labels["beta.kubernetes.io/arch"]) == ("linux", "amd64")
    message = f"Node {NODE} event: Registered Node {NODE} in Controller"
    assert ("RegisteredNode", message) in events(cluster, "RegisteredNode")
    assert len(events(cluster, "RegisteredNode")) == 3


def test_nodes_with_a_kubelet_stay_ready(cluster: QuietCluster) -> None:
    advance(cluster, 3600)

    assert ready_of(node(cluster))[0] == "True"


def test_a_failed_node_is_unreachable_after_the_grace_period(cluster: QuietCluster) -> None:
    cluster.call("POST", PODS, pod("web", nodeName=NODE))
    cluster.server.kubelet.nodes.fail(NODE)

    advance(cluster, GRACE - 1)
    assert ready_of(node(cluster))[0] == "True"
    advance(cluster, 2)

    found = node(cluster)
    assert ready_of(found) == ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
    assert {item["status"] for item in found["status"]["conditions"]} == {"Unknown"}
    assert taints_of(found) == {(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")}
    web = cluster.call("GET", f"{PODS}/web")["status"]
    assert web["phase"] == "Running"
    assert [item["status"] for item in web["conditions"] if item["type"] == "Ready"] == ["False"]
    assert set(events(cluster, "NodeNotReady")) == {
        ("NodeNotReady", f"Node {NODE} status is now: NodeNotReady"),
        ("NodeNotReady", "Node is not ready"),
    }


def test_a_node_that_recovers_has_no_taints_and_its_pods_are_ready(cluster: QuietCluster) -> None:
    cluster.call("POST", PODS, pod("web", nodeName=NODE))
    cluster.server.kubelet.nodes.fail(NODE)
    advance(cluster, GRACE + 1)

    cluster.server.kubelet.nodes.recover(NODE)
    advance(cluster, 1)

    assert ready_of(node(cluster))[:2] == ("True", "KubeletReady")
    assert taints_of(node(cluster)) == set()
    conditions = cluster.call("GET", f"{PODS}/web")["status"]["conditions"]
    assert [item["status"] for item in conditions if item["type"] == "Ready"] == ["True"]
    advance(cluster, 600)
    assert cluster.is_there(f"{PODS}/web")
    assert ("TaintManagerEviction", "Cancelling deletion of Pod default/web") in events(cluster, "TaintManagerEviction")


def test_pods_leave_an_unreachable_node_when_their_toleration_ends(cluster: QuietCluster) -> None:
    short = {"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 10}
    forever = {"operator": "Exists"}
    for name, tolerations in (("short", [short]), ("usual", []), ("forever", [forever])):
        cluster.call("POST", PODS, pod(name, nodeName=NODE, tolerations=tolerations))
    cluster.server.kubelet.nodes.fail(NODE)

    def leaving() -> set[str]:
        items = cluster.call("GET", PODS)["items"]
        return {item["metadata"]["name"] for item in items if "deletionTimestamp" in item["metadata"]}

    advance(cluster, GRACE + 5)
    assert leaving() == set()
    advance(cluster, 10)
    assert leaving() == {"short"}
    advance(cluster, 300)
    assert leaving() == {"short", "usual"}

    usual = cluster.call("GET", f"{PODS}/usual")
    [disruption] = [item for item in usual["status"]["conditions"] if item["type"] == "DisruptionTarget"]
    assert (disruption["reason"], disruption["message"]) == (
        "DeletionByTaintManager",
        "Taint manager: deleting due to NoExecute taint",
    )
    assert events(cluster, "TaintManagerEviction") == [
        ("TaintManagerEviction", "Marking for deletion Pod default/short"),
        ("TaintManagerEviction", "Marking for deletion Pod default/usual"),
    ]
    # Without a kubelet, nobody confirms that they have ended.
    cluster.server.kubelet.nodes.recover(NODE)
    advance(cluster, 31)
    assert [item["metadata"]["name"] for item in cluster.call("GET", PODS)["items"]] == ["forever"]


def test_a_no_execute_taint_evicts_what_does_not_tolerate_it(cluster: QuietCluster) -> None:
    tolerated = {"key": "maintenance", "operator": "Equal", "value": "yes", "effect": "NoExecute"}
    cluster.call("POST", PODS, pod("a", nodeName=NODE))
    cluster.call("POST", PODS, pod("b", nodeName=NODE, tolerations=[tolerated]))

    taint = {"key": "maintenance", "value": "yes", "effect": "NoExecute"}
    cluster.call("PATCH", f"{NODES}/{NODE}", {"spec": {"taints": [taint]}}, content_type=MERGE_PATCH)
    cluster.call("POST", PODS, pod("late", nodeName=NODE))
    advance(cluster, 31)

    assert [item["metadata"]["name"] for item in cluster.call("GET", PODS)["items"]] == ["b"]


def test_a_cordoned_node_is_tainted_until_it_is_uncordoned(cluster: QuietCluster) -> None:
    def set_unschedulable(value: bool | None) -> set[tuple[str, str]]:
        body = {"spec": {"unschedulable": value}}
        cluster.call("PATCH", f"{NODES}/{NODE}", body, content_type=MERGE_PATCH)
        return taints_of(node(cluster))

    assert set_unschedulable(True) == {("node.kubernetes.io/unschedulable", "NoSchedule")}
    assert set_unschedulable(None) == set()


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("MemoryPressure", "memory-pressure"),
        ("DiskPressure", "disk-pressure"),
        ("PIDPressure", "pid-pressure"),
        ("NetworkUnavailable", "network-unavailable"),
    ],
)
def test_a_condition_taints_the_node(bare: QuietCluster, kind: str, key: str) -> None:
    conditions = [{"type": "Ready", "status": "True"}, {"type": kind, "status": "True"}]
    bare.call("POST", NODES, {"metadata": {"name": "n"}, "status": {"conditions": conditions}})

    assert taints_of(node(bare, "n")) == {(f"node.kubernetes.io/{key}", "NoSchedule")}


def test_a_node_whose_kubelet_never_reports_is_unknown(bare: QuietCluster) -> None:
    bare.call("POST", NODES, {"metadata": {"name": "n"}})
    assert taints_of(node(bare, "n")) == set()

    advance(bare, 61)

    assert ready_of(node(bare, "n")) == ("Unknown", "NodeStatusNeverUpdated", "Kubelet never posted node status.")
    # The only node: whether it fails or the controller's network, nobody knows.
    assert taints_of(node(bare, "n")) == {(UNREACHABLE, "NoSchedule")}


def test_leases_and_conditions_keep_a_node_alive(bare: QuietCluster) -> None:
    bare.call("POST", NODES, {"metadata": {"name": "n"}})
    set_ready(bare, "n", "True", "2026-01-01T00:00:00Z")
    advance(bare, 40)
    lease = {"metadata": {"name": "n"}, "spec": {"renewTime": "2026-01-01T00:00:40.000000Z"}}
    bare.call("POST", LEASES, lease)
    advance(bare, 40)
    set_ready(bare, "n", "True", "2026-01-01T00:01:20Z")
    advance(bare, 49)
    assert ready_of(node(bare, "n"))[0] == "True"

    advance(bare, 2)
    assert ready_of(node(bare, "n"))[0] == "Unknown"


def test_unhealthy_nodes_of_a_zone_are_tainted_one_by_one(bare: QuietCluster) -> None:
    for number in range(6):
        bare.call("POST", NODES, {"metadata": {"name": f"n{number}"}})
        set_ready(bare, f"n{number}", "True", "2026-01-01T00:00:00Z")
    for name in ("n0", "n1", "n2"):
        set_ready(bare, name, "False", "2026-01-01T00:00:01Z")

    def tainted() -> list[str]:
        nodes = bare.call("GET", NODES)["items"]
        return [item["metadata"]["name"] for item in nodes if (NOT_READY, "NoExecute") in taints_of(item)]

    advance(bare, 1)
    assert tainted() == ["n0"]
    advance(bare, 10)
    assert tainted() == ["n0", "n1"]
    # The zone is partially disrupted now: in a small one, evictions stop.
    set_ready(bare, "n3", "False", "2026-01-01T00:00:02Z")
    advance(bare, 20)
    assert tainted() == ["n0", "n1"]
    set_ready(bare, "n3", "True", "2026-01-01T00:00:03Z")
    advance(bare, 1)
    assert tainted() == ["n0", "n1", "n2"]


def test_evictions_stop_when_no_node_is_ready(cluster: QuietCluster) -> None:
    for name in ("masthead-node", "masthead-node-2", "masthead-node-3"):
        cluster.server.kubelet.nodes.fail(name)
    advance(cluster, GRACE + 30)

    found = cluster.call("GET", NODES)["items"]
    assert [taints_of(item) for item in found] == [{(UNREACHABLE, "NoSchedule")}] * 3

    cluster.server.kubelet.nodes.recover("masthead-node")
    advance(cluster, 30)
    found = cluster.call("GET", NODES)["items"]
    assert [(UNREACHABLE, "NoExecute") in taints_of(item) for item in found] == [False, True, True]


def test_pods_of_a_removed_node_are_deleted(cluster: QuietCluster) -> None:
    cluster.call("POST", PODS, pod("web", nodeName=NODE))
    cluster.call("DELETE", f"{NODES}/{NODE}")

    assert events(cluster, "RemovingNode") == [
        ("RemovingNode", f"Node {NODE} event: Removing Node {NODE} from Controller")
    ]
    advance(cluster, 39)
    assert cluster.is_there(f"{PODS}/web")
    advance(cluster, 2)
    assert not cluster.is_there(f"{PODS}/web")


def test_pods_stay_if_their_node_comes_back(cluster: QuietCluster) -> None:
    cluster.call("POST", PODS, pod("web", nodeName="later"))
    advance(cluster, 30)
    cluster.call("POST", NODES, {"metadata": {"name": "later"}})
    advance(cluster, 60)

    assert cluster.is_there(f"{PODS}/web")


def test_pods_that_end_on_a_node_out_of_service_are_deleted(cluster: QuietCluster) -> None:
    cluster.call("POST", PODS, pod("web", nodeName=NODE))
    cluster.server.kubelet.nodes.fail(NODE)
    advance(cluster, GRACE + 1)
    cluster.call("DELETE", f"{PODS}/web")
    assert cluster.is_there(f"{PODS}/web")

    taints = [*node(cluster)["spec"]["taints"], {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]
    cluster.call("PATCH", f"{NODES}/{NODE}", {"spec": {"taints": taints}}, content_type=MERGE_PATCH)

    assert not cluster.is_there(f"{PODS}/web")


def test_the_oldest_finished_pods_are_deleted(cluster: QuietCluster) -> None:
    collector = cluster.server._controllers.controllers["pod-gc"]
    assert isinstance(collector, PodCollector)
    collector.max_finished = 2
    for number in range(4):
        cluster.call("POST", PODS, pod(f"job-{number}", nodeName=NODE, restartPolicy="Never"))
        cluster.server.kubelet.succeed(f"job-{number}")
        advance(cluster, 1)
    advance(cluster, 21)

    assert [item["metadata"]["name"] for item in cluster.call("GET", PODS)["items"]] == ["job-2", "job-3"]


@pytest.mark.slow
def test_a_workload_whose_pods_are_evicted_at_once_creates_them_slowly() -> None:
    with masthead.server.run(clock=VirtualClock, token=None, kubelet=True, workloads=True) as server:
        cluster = QuietCluster(server)
        node_path = f"{NODES}/masthead-node"
        taints = {"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}}
        cluster.call("PATCH", node_path, taints, content_type=MERGE_PATCH)
        labels = {"app": "a"}
        template = {
            "metadata": {"labels": labels},
            "spec": {"nodeName": "masthead-node", "containers": [{"name": "c", "image": "i"}]},
        }
        spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
        cluster.call("POST", "/apis/apps/v1/namespaces/default/replicasets", {"metadata": {"name": "a"}, "spec": spec})

        # It is idle after a thousand pods: the next ones wait for the clock.
        before = server.revision
        advance(cluster, 1)
        assert 20 <= server.revision - before <= 400
        cluster.call("PATCH", node_path, {"spec": {"taints": None}}, content_type=MERGE_PATCH)
        advance(cluster, 1)
        [found] = cluster.call("GET", PODS)["items"]
        assert found["status"]["phase"] == "Running"
        cluster.caller.close()
