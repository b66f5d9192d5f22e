"""Several nodes: their registration, and the pods that run on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.quiet_cluster import QuietCluster, pod

import masthead.server
from masthead.errors import ArgumentError, ConfigError, NotFoundError
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator

NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def cluster() -> Iterator[QuietCluster]:
    with masthead.server.run(clock=VirtualClock, token=None, nodes=3) as running:
        made = QuietCluster(running)
        yield made
        made.caller.close()


def ready_of(node: Any) -> str:
    [found] = [condition["status"] for condition in node["status"]["conditions"] if condition["type"] == "Ready"]
    return str(found)


def test_all_nodes_are_ready_and_untainted(cluster: QuietCluster) -> None:
    nodes = cluster.call("GET", NODES)["items"]

    assert [node["metadata"]["name"] for node in nodes] == ["masthead-node", "masthead-node-2", "masthead-node-3"]
    assert [ready_of(node) for node in nodes] == ["True"] * 3
    assert not any("taints" in node["spec"] for node in nodes)
    assert len({node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes}) == 3
    assert [node["spec"]["podCIDR"] for node in nodes] == ["10.244.0.0/24", "10.244.1.0/24", "10.244.2.0/24"]


def test_nodes_of_templates_keep_their_taints() -> None:
    template = {"name": "db", "taints": ["dedicated=db:NoSchedule"]}
    with masthead.server.run(token=None, nodes=[template]) as running:
        cluster = QuietCluster(running)
        [node] = cluster.call("GET", NODES)["items"]
        cluster.caller.close()

    assert node["spec"]["taints"] == [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}]


def test_a_node_that_the_server_refuses_stops_the_start() -> None:
    with (
        pytest.raises(ConfigError, match=r"the node masthead-node is refused: .*metadata\.labels"),
        masthead.server.run(nodes=[{"labels": {"a b": "c"}}]),
    ):
        pass


def test_a_server_may_have_no_nodes() -> None:
    with masthead.server.run(token=None, nodes=0) as running:
        cluster = QuietCluster(running)
        assert cluster.call("GET", NODES)["items"] == []
        cluster.caller.close()


def test_a_pod_of_a_cluster_without_nodes_stays_pending() -> None:
    with masthead.server.run(token=None, nodes=0) as running:
        cluster = QuietCluster(running)
        cluster.call("POST", PODS, pod("web", nodeName=""))
        found = cluster.call("GET", f"{PODS}/web")
        cluster.caller.close()

    [condition] = found["status"]["conditions"]
    assert (condition["reason"], condition["message"]) == ("Unschedulable", "no nodes available to schedule pods")


def test_the_nodes_of_a_cluster_without_its_own_are_those_that_clients_create() -> None:
    with masthead.server.run(token=None, nodes=0) as running:
        cluster = QuietCluster(running)
        cluster.call("POST", PODS, pod("web", nodeName=""))
        cluster.call("POST", NODES, {"metadata": {"name": "mine"}, "status": {"capacity": {"memory": "1Gi"}}})
        [node] = cluster.call("GET", NODES)["items"]
        found = cluster.call("GET", f"{PODS}/web")
        cluster.caller.close()

    assert (node["metadata"]["name"], ready_of(node)) == ("mine", "True")
    assert (found["spec"]["nodeName"], found["status"]["phase"]) == ("mine", "Running")


def phase_of(cluster: QuietCluster, name: str) -> str:
    return str(cluster.call("GET", f"{PODS}/{name}")["status"]["phase"])


def test_pods_have_addresses_of_their_nodes(cluster: QuietCluster) -> None:
    for name, node in (("a", "masthead-node"), ("b", "masthead-node-3"), ("c", "masthead-node-3")):
        cluster.call("POST", PODS, pod(name, nodeName=node))
    cluster.call("POST", PODS, pod("host", nodeName="masthead-node-2", hostNetwork=True))

    found = {item["metadata"]["name"]: item["status"] for item in cluster.call("GET", PODS)["items"]}

    assert {name: (status["hostIP"], status["podIP"]) for name, status in found.items()} == {
        "a": ("10.0.0.1", "10.244.0.2"),
        "b": ("10.0.0.3", "10.244.2.2"),
        "c": ("10.0.0.3", "10.244.2.3"),
        "host": ("10.0.0.2", "10.0.0.2"),
    }


def test_a_pod_of_a_node_that_does_not_exist_runs_when_it_is_registered(cluster: QuietCluster) -> None:
    cluster.call("POST", PODS, pod("web", nodeName="later"))
    assert phase_of(cluster, "web") == "Pending"

    cluster.call("POST", NODES, {"metadata": {"name": "later"}, "status": {"capacity": {"cpu": "3"}}})

    node = cluster.call("GET", f"{NODES}/later")
    offers = {"cpu": "3", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    assert (ready_of(node), node["status"]["allocatable"]) == ("True", offers)
    assert node["status"]["addresses"][0]["address"] == "10.0.0.4"
    assert "taints" not in node["spec"]
    found = cluster.call("GET", f"{PODS}/web")["status"]
    assert (found["phase"], found["hostIP"], found["podIP"]) == ("Running", "10.0.0.4", "100.64.0.2")


def test_a_node_with_a_condition_of_its_own_keeps_it(cluster: QuietCluster) -> None:
    conditions = [{"type": "Ready", "status": "False", "reason": "Test"}]
    cluster.call("POST", NODES, {"metadata": {"name": "broken"}, "status": {"conditions": conditions}})

    assert ready_of(cluster.call("GET", f"{NODES}/broken")) == "False"


def test_nothing_changes_on_a_failed_node_until_it_recovers(cluster: QuietCluster) -> None:
    node = "masthead-node-2"
    cluster.call("POST", PODS, pod("old", nodeName=node))
    script = {"name": "c", "image": "i", "command": ["sh", "-c", "sleep 5"]}
    cluster.call("POST", PODS, pod("job", nodeName=node, restartPolicy="Never", containers=[script]))

    cluster.server.kubelet.nodes.fail(node)
    cluster.call("POST", PODS, pod("new", nodeName=node))
    cluster.call("DELETE", f"{PODS}/old?gracePeriodSeconds=1")
    cluster.server.advance(10)

    assert cluster.server.kubelet.nodes.failed == [node]
    assert cluster.is_there(f"{PODS}/old")
    assert (phase_of(cluster, "job"), phase_of(cluster, "new")) == ("Running", "Pending")

    cluster.server.kubelet.nodes.recover(node)
    cluster.server.block_until_idle()

    assert cluster.server.kubelet.nodes.failed == []
    assert not cluster.is_there(f"{PODS}/old")
    assert (phase_of(cluster, "job"), phase_of(cluster, "new")) == ("Succeeded", "Running")


def test_only_existing_nodes_fail(cluster: QuietCluster) -> None:
    with pytest.raises(NotFoundError, match='nodes "other" not found'):
        cluster.server.kubelet.nodes.fail("other")
    with pytest.raises(NotFoundError, match='nodes "other" not found'):
        cluster.server.kubelet.nodes.recover("other")
    with pytest.raises(ArgumentError, match="name a node"):
        cluster.server.kubelet.nodes.fail("")


def test_a_failed_node_that_is_deleted_is_forgotten(cluster: QuietCluster) -> None:
    cluster.server.kubelet.nodes.fail("masthead-node")
    cluster.call("DELETE", f"{NODES}/masthead-node")

    assert cluster.server.kubelet.nodes.failed == []


def test_addresses_are_unique_and_used_again_after_their_pod(cluster: QuietCluster) -> None:
    cluster.call("POST", NODES, {"metadata": {"name": "tiny"}, "spec": {"podCIDR": "10.9.0.0/30"}})

    def create(name: str) -> str:
        cluster.call("POST", PODS, pod(name, nodeName="tiny"))
        return str(cluster.call("GET", f"{PODS}/{name}")["status"]["podIP"])

    assert (create("a"), create("b")) == ("10.9.0.2", "100.64.0.2")
    cluster.call("DELETE", f"{PODS}/a?gracePeriodSeconds=0")
    assert create("c") == "10.9.0.2"
