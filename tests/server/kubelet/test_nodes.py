"""Several nodes: their registration, and the pods that run on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.quiet_cluster import QuietCluster, pod

import masthead.server
from masthead.errors import ConfigError
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
