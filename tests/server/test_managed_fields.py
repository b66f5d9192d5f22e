"""The managers of fields, over HTTP: who writes, what is not tracked, and what controllers leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import MAPS, MERGE_PATCH, PODS, Caller, config_map
from tests.server.custom_definitions import DEFINITIONS, NAME, WIDGETS, define, version_of, widget
from tests.server.quiet_cluster import QuietCluster, pod

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.server.calls import CallResponse

    from masthead.server import Server

Plain = dict[str, Any]
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
ANYTHING: Plain = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def entries(found: CallResponse | Plain) -> list[Plain]:
    plain = found if isinstance(found, dict) else found.json
    return list(plain["metadata"].get("managedFields", []))


def managers(found: CallResponse | Plain) -> list[tuple[str, str, str]]:
    return [(entry["manager"], entry["operation"], entry.get("subresource", "")) for entry in entries(found)]


def agent(name: str) -> dict[str, str]:
    return {"User-Agent": f"{name}/1.0"}


def test_the_manager_is_the_user_agent_unless_the_query_names_one(caller: Caller) -> None:
    caller.call("POST", MAPS, config_map("a", data={"one": "1", "two": "1"}), headers=agent("first"))

    changed = caller.call(
        "PATCH",
        f"{MAPS}/a?fieldManager=second",
        {"data": {"one": "2"}},
        content_type=MERGE_PATCH,
        headers=agent("first"),
    )

    assert managers(changed) == [("first", "Update", ""), ("second", "Update", "")]


def test_a_write_that_changes_nothing_keeps_version_and_times(server: Server, caller: Caller) -> None:
    made = caller.call("POST", MAPS, config_map("a", data={"one": "1"}))
    server.advance(60)

    again = caller.call("PUT", f"{MAPS}/a", config_map("a", data={"one": "1"}), headers=agent("other"))

    assert again.body == made.body


def test_an_object_that_is_too_large_with_its_managers_is_stored_without_them(caller: Caller) -> None:
    data = {f"{'k' * 200}{number}": "v" for number in range(4_000)}

    made = caller.call("POST", MAPS, config_map("a", data=data))

    assert made.code == 201
    assert len(made.json["data"]) == len(data)
    assert managers(made) == []


def test_a_binding_is_not_tracked(caller: Caller) -> None:
    made = caller.call("POST", PODS, pod("a"), headers=agent("me"))
    target = {"apiVersion": "v1", "kind": "Node", "name": "n"}

    caller.call("POST", f"{PODS}/a/binding", {"metadata": {"name": "a"}, "target": target}, headers=agent("scheduler"))

    bound = caller.call("GET", f"{PODS}/a")
    assert bound.json["spec"]["nodeName"] == "n"
    assert entries(bound) == entries(made)


def test_a_manager_of_the_scale_is_one_of_the_object(caller: Caller) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    caller.call("POST", DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": spec}, headers=agent("me"))

    caller.call(
        "PATCH",
        f"{DEPLOYMENTS}/web/scale",
        {"spec": {"replicas": 3}},
        content_type=MERGE_PATCH,
        headers=agent("scaler"),
    )

    found = caller.call("GET", f"{DEPLOYMENTS}/web")
    assert managers(found) == [("scaler", "Update", "scale"), ("me", "Update", "")]
    scaled, rest = entries(found)
    assert (scaled["apiVersion"], scaled["fieldsV1"]) == ("apps/v1", {"f:spec": {"f:replicas": {}}})
    assert "f:replicas" not in rest["fieldsV1"]["f:spec"]


def test_the_status_of_a_definition_is_the_servers(cluster: QuietCluster) -> None:
    define(cluster, version_of(schema=ANYTHING))

    found = cluster.call("GET", f"{DEFINITIONS}/{NAME}")

    assert ("kube-apiserver", "Update", "status") in managers(found)


def test_managers_of_an_object_that_no_longer_fits_its_schema_are_dropped(cluster: QuietCluster) -> None:
    define(cluster, version_of(schema=ANYTHING))
    cluster.call("POST", WIDGETS, widget(spec={"size": 1}))
    sized = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "string"}}}},
    }
    found = cluster.call("GET", f"{DEFINITIONS}/{NAME}")
    found["spec"]["versions"] = [version_of(schema=sized)]
    cluster.call("PUT", f"{DEFINITIONS}/{NAME}", found)

    labels = {"metadata": {"labels": {"a": "b"}}}
    changed = cluster.caller.call("PATCH", f"{WIDGETS}/a", labels, content_type=MERGE_PATCH)

    assert changed.code == 200
    assert managers(changed) == []


@pytest.fixture
def workloads() -> Iterator[QuietCluster]:
    with masthead.server.run(clock=VirtualClock, token=None, controllers=["deployments", "replicasets"]) as running:
        cluster = QuietCluster(running)
        yield cluster
        cluster.caller.close()


def test_controllers_write_as_kube_controller_manager(workloads: QuietCluster) -> None:
    caller = workloads.caller
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    caller.call("POST", DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": spec}, headers=agent("me"))
    workloads.server.block_until_idle()

    sets = caller.call("GET", DEPLOYMENTS.replace("deployments", "replicasets")).json["items"]
    pods = caller.call("GET", PODS).json["items"]

    controller = "kube-controller-manager"
    found = caller.call("GET", f"{DEPLOYMENTS}/web")
    assert managers(found) == [(controller, "Update", "status"), ("me", "Update", "")]
    assert found.json["metadata"]["generation"] == 1
    assert managers(sets[0]) == [(controller, "Update", ""), (controller, "Update", "status")]
    assert managers(pods[0]) == [(controller, "Update", "")]
