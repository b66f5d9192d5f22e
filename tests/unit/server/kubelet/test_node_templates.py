"""The nodes that a setting describes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from masthead.errors import ConfigError
from masthead.server import NodeTemplate
from masthead_server.kubelet.node_addresses import host_ip, network_of, pod_cidr
from masthead_server.kubelet.node_objects import node_object, node_status
from masthead_server.node_templates import MAX_NODES, plan_nodes, read_templates, spread_templates

if TYPE_CHECKING:
    from pathlib import Path

NOW = "2026-01-01T00:00:00Z"


def test_a_single_node_has_the_plain_name_and_no_zone() -> None:
    [node] = plan_nodes(1)

    assert (node.name, node.zone) == ("masthead-node", "")


def test_several_nodes_are_numbered_and_spread_over_zones() -> None:
    planned = plan_nodes(7)

    assert [node.name for node in planned][:3] == ["masthead-node", "masthead-node-2", "masthead-node-3"]
    assert sorted(Counter(node.zone for node in planned).values()) == [2, 2, 3]


def test_names_of_templates_without_one_continue() -> None:
    planned = plan_nodes([{"count": 2}, {"capacity": {"cpu": "2"}}, {"name": "db"}])

    assert [node.name for node in planned] == ["masthead-node", "masthead-node-2", "masthead-node-3", "db"]


def test_a_template_decides_labels_taints_capacity_and_info() -> None:
    template = NodeTemplate(
        name="gpu",
        labels={"pool": "gpu", "kubernetes.io/hostname": "rack-7"},
        taints=["nvidia.com/gpu=present:NoSchedule", {"key": "slow", "effect": "PreferNoSchedule"}],
        capacity={"cpu": 64, "nvidia.com/gpu": "4"},
        allocatable={"cpu": "63500m"},
        zones=("a", "b"),
        region="r",
        architecture="arm64",
        unschedulable=True,
        provider_id="test://gpu",
        info={"kubeletVersion": "v1.30.0"},
        count=2,
    )

    [_, planned] = plan_nodes([template])
    node, status = node_object(1, planned), node_status(1, planned, NOW)

    assert node["metadata"]["labels"] == {
        "kubernetes.io/hostname": "rack-7",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "arm64",
        "topology.kubernetes.io/region": "r",
        "topology.kubernetes.io/zone": "b",
        "pool": "gpu",
    }
    assert node["spec"] == {
        "podCIDR": "10.244.1.0/24",
        "podCIDRs": ["10.244.1.0/24"],
        "taints": [
            {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
            {"key": "slow", "effect": "PreferNoSchedule"},
        ],
        "unschedulable": True,
        "providerID": "test://gpu-2",
    }
    assert (status["capacity"]["cpu"], status["capacity"]["memory"]) == ("64", "32Gi")
    assert (status["allocatable"]["cpu"], status["allocatable"]["nvidia.com/gpu"]) == ("63500m", "4")
    assert status["addresses"][0] == {"type": "InternalIP", "address": "10.0.0.2"}
    assert (status["nodeInfo"]["kubeletVersion"], status["nodeInfo"]["architecture"]) == ("v1.30.0", "arm64")


def test_a_manifest_of_a_node_is_a_template() -> None:
    manifest: dict[str, Any] = {
        "kind": "Node",
        "metadata": {"name": "kind-worker", "labels": {"kubernetes.io/hostname": "kind-worker", "tier": "web"}},
        "spec": {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]},
        "status": {"capacity": {"cpu": "2"}, "nodeInfo": {"kubeletVersion": "v1.36.4", "architecture": "arm64"}},
    }

    [planned] = plan_nodes([manifest])
    template = planned.template

    assert (planned.name, template.architecture, template.taints) == ("kind-worker", "arm64", [])
    assert node_object(0, planned)["metadata"]["labels"]["tier"] == "web"
    assert template.capacity == {"cpu": "2"}


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        (-1, "nodes must be a number from 0 to 10,000, or a list of templates, not -1"),
        (MAX_NODES + 1, "nodes must be a number from 0 to 10,000"),
        (True, "nodes must be a number, or a list of templates, not True"),
        ("3", "nodes must be a number, or a list of templates, not '3'"),
        ([3], "a template is a NodeTemplate or a mapping, not 3"),
        ([{"size": 1}], "a template has no field 'size'; there are allocatable, annotations"),
        ([{"name": "A_b"}], "name of a template is no name of a node"),
        ([{"count": -1}], "count of a template must be a whole number up to 10,000, not -1"),
        ([{"count": MAX_NODES}, {}], "a server has at most 10,000 nodes"),
        ([{"capacity": {"cpu": "many"}}], "capacity of cpu of a template must be a quantity"),
        ([{"labels": ["a"]}], "labels of a template must be a mapping"),
        ([{"zones": "a"}], "zones of a template must be a list, not 'a'"),
        ([{"taints": ["dedicated"]}], "taints of a template must be like key=value:NoSchedule, not 'dedicated'"),
        ([{"taints": [{"key": "a", "effect": "Never"}]}], "taints of a template must be like"),
        ([{"name": "a", "count": 2}, {"name": "a-2"}], "two nodes have the name a-2"),
    ],
)
def test_invalid_settings_are_refused(nodes: Any, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        plan_nodes(nodes)

    assert problem in str(caught.value)


def test_no_two_nodes_share_an_address() -> None:
    ordinals = range(MAX_NODES)

    assert len({host_ip(ordinal) for ordinal in ordinals}) == MAX_NODES
    assert len({pod_cidr(ordinal) for ordinal in ordinals}) == MAX_NODES
    assert pod_cidr(255) == "10.244.255.0/24"
    assert pod_cidr(256) == "10.160.0.0/24"


def test_a_network_is_read_from_its_text() -> None:
    assert network_of("10.244.1.0/24") == (0x0AF40100, 256)
    assert network_of("fd00::/64") == network_of("")


def test_templates_of_a_file_are_spread_over_a_number_of_nodes(tmp_path: Path) -> None:
    file = tmp_path / "nodes.yaml"
    file.write_text("- name: a\n- name: b\n---\nkind: List\nitems:\n- metadata: {name: c}\n")

    templates = spread_templates(read_templates(file), 8)

    assert [(template.name, template.count) for template in templates] == [("a", 3), ("b", 3), ("c", 2)]


@pytest.mark.parametrize(("content", "problem"), [("", "there are none"), ("a: [", "cannot read the node templates")])
def test_a_broken_file_of_templates_is_refused(tmp_path: Path, content: str, problem: str) -> None:
    file = tmp_path / "nodes.yaml"
    file.write_text(content)

    with pytest.raises(ConfigError, match=problem):
        read_templates(file)


def test_a_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nodes\.yaml: No such file"):
        read_templates(tmp_path / "nodes.yaml")


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"kind": "Pod", "apiVersion": "v1", "metadata": {}}, "has the kind v1 Node, not v1 Pod"),
        ({"kind": "Node", "apiVersion": "longhorn.io/v1", "metadata": {}}, "not longhorn.io/v1 Node"),
        ({"metadata": 1}, "metadata of a template must be a mapping, not 1"),
        ({"metadata": {"labels": ["a"]}}, "labels of a template must be a mapping"),
        ({"metadata": {}, "status": {"capacity": [1]}}, "capacity of a template must be a mapping"),
        ({"metadata": {}, "spec": {"taints": "a"}}, "taints of a template must be a list"),
        ({"labels": {"a": 1}}, "labels a of a template must be text, such as 'true' or '1' in quotes, not 1"),
        ({"annotations": {"a": True}}, "annotations a of a template must be text"),
        ({"zones": [1]}, "zones of a template must be a list of texts"),
        ({"unschedulable": "no"}, "unschedulable of a template must be a bool"),
        ({"capacity": {"cpu": True}}, "capacity of cpu of a template must be a quantity"),
        ({"taints": [{"key": "a", "value": 1, "effect": "NoSchedule"}]}, "taints of a template must be like"),
    ],
)
def test_a_template_of_something_else_is_refused(document: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as error:
        plan_nodes([document])

    assert problem in str(error.value)


def test_a_file_with_something_else_than_nodes_is_named(tmp_path: Path) -> None:
    file = tmp_path / "pods.yaml"
    file.write_text("apiVersion: v1\nkind: PodList\nitems: [{metadata: {name: a}}]\n")

    with pytest.raises(ConfigError) as error:
        read_templates(file)

    assert str(error.value) == (
        f"cannot read the node templates of {file}: nodes: a list of nodes has the kind v1 List or v1 NodeList, "
        "not v1 PodList"
    )
