"""New volumes are reached from a part of the cluster, as with the provisioners of CSI drivers."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from masthead_server.controllers.storage.volume_topology import choose_topology, topology_keys_of

ZONE, REGION, HOST = "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "kubernetes.io/hostname"
NODE = {ZONE: "a", REGION: "eu", HOST: "node-1"}


def make_class(*topologies: dict[str, list[str]]) -> dict[str, Any]:
    return {
        "allowedTopologies": [
            {"matchLabelExpressions": [{"key": key, "values": values} for key, values in topology.items()]}
            for topology in topologies
        ]
    }


def test_without_topologies_all_nodes_reach_a_volume() -> None:
    assert choose_topology({}, NODE, ()) == {}


def test_a_volume_is_where_the_node_of_its_first_pod_is() -> None:
    storage_class = make_class({ZONE: ["b"]}, {ZONE: ["c", "a"], REGION: ["eu"]})
    assert choose_topology(storage_class, NODE, ()) == {ZONE: "a", REGION: "eu"}


def test_the_topology_of_a_driver_counts_rather_than_the_allowed_keys() -> None:
    assert choose_topology({}, NODE, (HOST, "a.test/rack")) == {HOST: "node-1"}
    assert choose_topology(make_class({ZONE: ["a"]}), NODE, (HOST,)) == {HOST: "node-1"}


def test_a_volume_without_a_node_is_in_the_first_allowed_topology() -> None:
    assert choose_topology(make_class({ZONE: ["b", "a"]}, {ZONE: ["c"]}), {}, ()) == {ZONE: "b"}


def test_the_keys_of_a_driver_are_read_from_its_node() -> None:
    node = {"spec": {"drivers": [{"name": "x"}, {"name": "ebs.csi.aws.com", "topologyKeys": [ZONE]}]}}
    assert topology_keys_of(node, "ebs.csi.aws.com") == [ZONE]
    assert topology_keys_of(node, "x") == topology_keys_of({}, "x") == []


values = st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True)
topologies = st.lists(st.dictionaries(st.sampled_from([ZONE, REGION]), values, min_size=1), max_size=3)
nodes = st.fixed_dictionaries({ZONE: st.sampled_from("abc"), REGION: st.sampled_from("abc")})


@given(topologies, st.one_of(nodes, st.just({})))
def test_a_chosen_topology_is_allowed_and_includes_the_node_if_that_is(
    allowed: list[dict[str, list[str]]], labels: dict[str, str]
) -> None:
    chosen = choose_topology(make_class(*allowed), labels, ())

    def permits(topology: dict[str, list[str]], found: dict[str, str]) -> bool:
        return all(found.get(key) in topology[key] for key in topology)

    assert not allowed or any(permits(topology, chosen) for topology in allowed)
    if labels and any(permits(topology, labels) for topology in allowed):
        assert chosen.items() <= labels.items()
