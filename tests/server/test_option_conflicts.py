"""Options of a server that contradict each other, and those that win."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import PODS, Caller

import masthead.server
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from masthead.server import Server

NODES = "/api/v1/nodes"
NODE = "{apiVersion: v1, kind: Node, metadata: {name: n1, uid: u}, spec: {podCIDR: 10.244.0.0/24}}"
ALONE = r"controllers=False \(--no-controllers\) is kube-apiserver alone: leave it out, or "


def names(server: Server, path: str = NODES) -> list[str]:
    caller = Caller(server.url, server.token)
    found = [item["metadata"]["name"] for item in caller.call("GET", path).json["items"]]
    caller.close()
    return found


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    file = tmp_path / "nodes.yaml"
    file.write_text(NODE)
    return file


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kubelet": False, "nodes": 3}, r"nodes need the kubelet: leave out kubelet=False \(--no-kubelet\), or nodes"),
        ({"kubelet": False, "nodes": 1}, "nodes need the kubelet"),
        ({"kubelet": False, "nodes": 0}, "nodes need the kubelet"),
        ({"kubelet": False, "nodes": [{"name": "a"}]}, "nodes need the kubelet"),
        ({"controllers": False, "nodes": 2}, ALONE + "nodes"),
        ({"controllers": False, "workloads": True}, ALONE + "workloads=True"),
        ({"controllers": False, "kubelet": True}, ALONE + r"kubelet=True.* controllers=\['scheduler'\]"),
        ({"kubelet": 1}, "kubelet must be a bool, or None, not 1"),
        ({"workloads": "yes"}, "workloads must be a bool, or None, not 'yes'"),
        ({"nodes": True}, "nodes must be a number, or a list of templates, not True"),
    ],
)
def test_an_option_that_switches_off_what_another_asks_for_is_refused(options: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message), masthead.server.run(**options):
        pass


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, []),
        ({"kubelet": False}, []),
        ({"controllers": False, "kubelet": False, "workloads": False}, []),
        ({"kubelet": True}, ["masthead-node"]),
        ({"nodes": 1}, ["masthead-node"]),
        ({"nodes": 2}, ["masthead-node", "masthead-node-2"]),
        ({"nodes": 0}, []),
        ({"controllers": [], "kubelet": True}, ["masthead-node"]),
    ],
)
def test_a_kubelet_has_nodes_and_nodes_have_a_kubelet(options: Any, expected: list[str]) -> None:
    with masthead.server.run(bootstrap=False, **options) as server:
        assert names(server) == expected


def test_a_list_of_controllers_is_extended_by_those_of_workloads_and_not_by_the_scheduler() -> None:
    pod = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "a"}]}}
    with masthead.server.run(
        bootstrap=False, token=None, controllers=["garbage"], workloads=True, kubelet=True
    ) as server:
        server.delay_controller("deployments", 0)
        caller = Caller(server.url)
        caller.call("POST", PODS, pod)
        server.block_until_idle()
        assert "nodeName" not in caller.call("GET", f"{PODS}/web").json["spec"]
        caller.close()
        with pytest.raises(ConfigError, match="no controller 'scheduler' runs"):
            server.delay_controller("scheduler", 1)


@pytest.mark.parametrize("options", [{}, {"kubelet": True}])
def test_the_nodes_of_a_dump_are_the_nodes(dump: Path, options: Any) -> None:
    with masthead.server.run(load=dump, bootstrap=False, **options) as server:
        assert names(server) == ["n1"]


@pytest.mark.parametrize("options", [{"nodes": 1}, {"nodes": 3}, {"nodes": 2, "like": "kind"}])
def test_other_nodes_than_those_of_a_dump_are_refused(dump: Path, options: Any) -> None:
    message = "a dump with nodes cannot be loaded with nodes"
    with pytest.raises(ConfigError, match=message), masthead.server.run(load=dump, **options):
        pass


def test_a_cluster_like_another_has_its_node_besides_those_of_a_dump(dump: Path) -> None:
    with (
        masthead.server.run(load=dump, like="kind") as server,
        masthead.Client(kubeconfig=server.kubeconfig()) as client,
    ):
        found = {node.metadata.name: node for node in client.core_v1.nodes.list()}
        assert found.keys() == {"n1", "kind-control-plane"}
        # The dump has the first network.
        assert found["kind-control-plane"].spec.pod_cidr == "10.244.1.0/24"
        assert client.core_v1.pods("kube-system").get("etcd-kind-control-plane").status.phase == "Running"


def test_the_node_authorizer_alone_is_possible() -> None:
    with masthead.server.run(authorization="node") as server:
        assert names(server) == []
