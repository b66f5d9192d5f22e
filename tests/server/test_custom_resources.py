"""Custom resources: served with their definition, as every other resource is, and gone with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import MAPS, MERGE_PATCH, config_map
from tests.server.custom_definitions import (
    DEFINITIONS,
    GROUP,
    NAME,
    WIDGETS,
    define,
    definition,
    version_of,
    widget,
)
from tests.server.quiet_cluster import QuietCluster

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from pathlib import Path

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
SIZED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {"size": {"type": "integer", "default": 3}, "color": {"type": "string"}},
        }
    },
}


def conditions(found: Any) -> dict[str, str]:
    return {each["type"]: each["status"] for each in found["status"]["conditions"]}


def widgets_in(version: str) -> str:
    return WIDGETS.replace("/v1/", f"/{version}/")


def test_a_definition_is_established_before_the_server_is_quiet(cluster: QuietCluster) -> None:
    found = define(cluster)

    assert conditions(found) == {"NamesAccepted": "True", "Established": "True"}
    assert cluster.call("GET", WIDGETS)["kind"] == "WidgetList"


def test_definitions_are_established_without_any_controller() -> None:
    with masthead.server.run(token=None, clock=VirtualClock, controllers=False, bootstrap=False) as running:
        cluster = QuietCluster(running)

        define(cluster)

        assert cluster.call("POST", WIDGETS, widget())["metadata"]["generation"] == 1
        cluster.caller.close()


def test_a_client_that_sees_the_condition_finds_the_resource(cluster: QuietCluster) -> None:
    with cluster.caller.watching(f"{DEFINITIONS}?watch=1") as stream:
        assert cluster.caller.call("POST", DEFINITIONS, definition()).code == 201
        for line in stream:
            found = json.loads(line)["object"]
            if "Established" in str(found["status"]) and conditions(found)["Established"] == "True":
                break
        assert cluster.caller.call("GET", WIDGETS).code == 200


def test_discovery_and_its_etag_change_with_the_definition(cluster: QuietCluster) -> None:
    def groups() -> tuple[str, bool]:
        response = cluster.caller.call("GET", "/apis", headers={"Accept": AGGREGATED})
        names = [each["metadata"]["name"] for each in response.json["items"]]
        return response.headers["etag"], GROUP in names

    before = groups()
    define(cluster)
    during = groups()
    cluster.call("DELETE", f"{DEFINITIONS}/{NAME}")

    assert (before[1], during[1]) == (False, True)
    assert during[0] != before[0]
    assert groups() == before


def test_objects_go_with_their_definition(cluster: QuietCluster) -> None:
    define(cluster)
    cluster.call("POST", WIDGETS, widget())

    cluster.call("DELETE", f"{DEFINITIONS}/{NAME}")

    assert not cluster.is_there(f"{DEFINITIONS}/{NAME}")
    assert cluster.caller.call("GET", WIDGETS).code == 404
    define(cluster)
    assert cluster.call("GET", WIDGETS)["items"] == []


def test_many_objects_go_with_their_definition(cluster: QuietCluster) -> None:
    define(cluster)
    for number in range(450):
        cluster.caller.call("POST", WIDGETS, widget(f"a{number}"))

    cluster.call("DELETE", f"{DEFINITIONS}/{NAME}")

    assert not cluster.is_there(f"{DEFINITIONS}/{NAME}")


def test_an_object_with_a_finalizer_holds_its_definition(cluster: QuietCluster) -> None:
    define(cluster)
    cluster.call("POST", WIDGETS, widget(metadata={"finalizers": ["example.com/mine"]}))

    cluster.call("DELETE", f"{DEFINITIONS}/{NAME}")

    assert conditions(cluster.call("GET", f"{DEFINITIONS}/{NAME}"))["Terminating"] == "True"
    assert cluster.caller.call("POST", WIDGETS, widget("b")).failure == (
        403,
        "Forbidden",
        'widgets.example.com "b" is forbidden: create not allowed while custom resource definition is terminating',
    )
    cluster.free(f"{WIDGETS}/a")
    assert not cluster.is_there(f"{DEFINITIONS}/{NAME}")


def test_the_watches_of_objects_end_with_their_definition(cluster: QuietCluster) -> None:
    define(cluster)
    cluster.call("POST", WIDGETS, widget())
    with cluster.caller.watching(f"{WIDGETS}?watch=1") as stream:
        stream.readline()

        cluster.call("DELETE", f"{DEFINITIONS}/{NAME}")

        events = [json.loads(line)["type"] for line in stream.read().splitlines()]
    assert events == ["DELETED"]


def test_a_change_of_the_schema_leaves_watches_and_objects(cluster: QuietCluster) -> None:
    define(cluster, version_of(schema=SIZED))
    cluster.call("POST", WIDGETS, widget(spec={"color": "red"}))
    with cluster.caller.watching(f"{WIDGETS}?watch=1") as stream:
        stream.readline()
        wider = json.loads(json.dumps(SIZED))
        wider["properties"]["spec"]["properties"]["shade"] = {"type": "string", "default": "dark"}
        change = {"spec": {"versions": [version_of(schema=wider)]}}
        cluster.call("PATCH", f"{DEFINITIONS}/{NAME}", change, content_type=MERGE_PATCH)

        cluster.call("PATCH", f"{WIDGETS}/a", {"spec": {"size": 4}}, content_type=MERGE_PATCH)

        assert json.loads(stream.readline())["object"]["spec"] == {
            "color": "red",
            "size": 4,
            "shade": "dark",
        }


def test_an_object_is_collected_with_its_owner(cluster: QuietCluster) -> None:
    define(cluster)
    owner = cluster.call("POST", WIDGETS, widget())
    reference = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Widget",
        "name": "a",
        "uid": owner["metadata"]["uid"],
    }
    cluster.create("of-a", owners=[reference])
    owned = {"ownerReferences": [{**reference, "blockOwnerDeletion": True}]}
    cluster.call("POST", WIDGETS, widget("b", metadata=owned))

    cluster.call("DELETE", f"{WIDGETS}/a", {"propagationPolicy": "Foreground"})

    assert cluster.call("GET", WIDGETS)["items"] == []
    assert cluster.meta("of-a") is None


def test_a_custom_resource_may_be_owned_by_a_built_in_one(cluster: QuietCluster) -> None:
    define(cluster)
    made = cluster.call("POST", MAPS, config_map("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": made["metadata"]["uid"]}
    cluster.call("POST", WIDGETS, widget(metadata={"ownerReferences": [reference]}))

    cluster.delete("owner")

    assert not cluster.is_there(f"{WIDGETS}/a")


def test_objects_go_with_their_namespace(cluster: QuietCluster) -> None:
    define(cluster)
    cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})
    there = WIDGETS.replace("/default/", "/other/")
    cluster.call("POST", there, widget())

    cluster.call("DELETE", "/api/v1/namespaces/other")

    assert not cluster.is_there("/api/v1/namespaces/other")
    assert cluster.call("GET", f"/apis/{GROUP}/v1/widgets")["items"] == []


def test_definitions_and_objects_are_there_after_a_restart(tmp_path: Path) -> None:
    def running() -> Any:
        return masthead.server.run(token=None, clock=VirtualClock, data=tmp_path / "data", bootstrap=False)

    with running() as server:
        cluster = QuietCluster(server)
        define(cluster, version_of(schema=SIZED), version_of("v2", SIZED))
        cluster.call("POST", WIDGETS, widget(spec={"color": "red"}))
        cluster.caller.close()
    with running() as server:
        cluster = QuietCluster(server)
        assert cluster.call("GET", f"{WIDGETS}/a")["spec"] == {"color": "red", "size": 3}
        assert cluster.call("GET", f"{widgets_in('v2')}/a")["apiVersion"] == f"{GROUP}/v2"
        assert conditions(cluster.call("GET", f"{DEFINITIONS}/{NAME}"))["Established"] == "True"
        cluster.call("DELETE", f"{DEFINITIONS}/{NAME}")
        assert not cluster.is_there(f"{DEFINITIONS}/{NAME}")
        cluster.caller.close()


def test_a_deletion_that_was_interrupted_goes_on_after_a_restart(tmp_path: Path) -> None:
    def running() -> Any:
        return masthead.server.run(token=None, clock=VirtualClock, data=tmp_path / "data", bootstrap=False)

    with running() as server:
        cluster = QuietCluster(server)
        define(cluster)
        cluster.call("POST", WIDGETS, widget(metadata={"finalizers": ["example.com/mine"]}))
        cluster.call("DELETE", f"{DEFINITIONS}/{NAME}")
        cluster.caller.close()
    with running() as server:
        cluster = QuietCluster(server)
        cluster.free(f"{WIDGETS}/a")
        assert not cluster.is_there(f"{DEFINITIONS}/{NAME}")
        cluster.caller.close()


def test_a_name_that_is_released_goes_to_the_definition_that_waits_for_it(cluster: QuietCluster) -> None:
    define(cluster)
    late = define(cluster, plural="gadgets")
    assert conditions(late)["NamesAccepted"] == "False"

    cluster.call("DELETE", f"{DEFINITIONS}/{NAME}")

    found = cluster.call("GET", f"{DEFINITIONS}/gadgets.{GROUP}")
    assert conditions(found) == {"NamesAccepted": "True", "Established": "True"}
    assert cluster.call("GET", f"/apis/{GROUP}/v1/gadgets")["kind"] == "WidgetList"


def test_writes_through_two_versions_are_one_object(cluster: QuietCluster) -> None:
    second = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"color": {"type": "string"}}}},
    }
    define(cluster, version_of(schema=SIZED), version_of("v2", second))
    cluster.call("POST", WIDGETS, widget(spec={"color": "red", "size": 5}))

    path = f"{widgets_in('v2')}/a"
    changed = cluster.call("PATCH", path, {"spec": {"color": "blue"}}, content_type=MERGE_PATCH)

    assert changed["spec"] == {"color": "blue"}
    # What the second version does not have is gone for good: conversion changes nothing but the version.
    assert cluster.call("GET", f"{WIDGETS}/a")["spec"] == {"color": "blue", "size": 3}


@pytest.mark.parametrize("media_type", ["application/strategic-merge-patch+json", "application/json"])
def test_patches_of_other_types_are_refused(cluster: QuietCluster, media_type: str) -> None:
    define(cluster)
    cluster.call("POST", WIDGETS, widget())

    code, reason, message = cluster.caller.call("PATCH", f"{WIDGETS}/a", {}, content_type=media_type).failure

    assert (code, reason) == (415, "UnsupportedMediaType")
    assert "application/merge-patch+json" in message


def test_a_long_list_that_has_to_be_converted_is_complete(cluster: QuietCluster) -> None:
    define(cluster, version_of(schema=SIZED), version_of("v2", SIZED))
    for number in range(400):
        cluster.caller.call("POST", WIDGETS, widget(f"a{number:03d}"))

    found = cluster.call("GET", widgets_in("v2"))

    assert [each["metadata"]["name"] for each in found["items"]] == [f"a{number:03d}" for number in range(400)]
    assert {each["apiVersion"] for each in found["items"]} == {f"{GROUP}/v2"}


def test_rules_of_large_objects_do_not_hold_up_other_requests(cluster: QuietCluster) -> None:
    items = {"type": "array", "maxItems": 200, "items": {"type": "integer"}}
    rule = {"rule": "self.items.all(x, self.items.exists_one(y, x == y))", "message": "must be unique"}
    spec = {"type": "object", "properties": {"items": items}, "x-kubernetes-validations": [rule]}
    define(cluster, version_of(schema={"type": "object", "properties": {"spec": spec}}))

    made = cluster.call("POST", WIDGETS, widget(spec={"items": list(range(200))}))
    twice = widget("b", spec={"items": [*range(100), *range(100)]})
    code, _, message = cluster.caller.call("POST", WIDGETS, twice).failure

    assert made["metadata"]["generation"] == 1
    assert (code, "must be unique" in message) == (422, True)
    assert cluster.call("GET", WIDGETS)["items"] == [made]


def test_patterns_of_long_texts_are_matched_in_a_thread(cluster: QuietCluster) -> None:
    spec = {"type": "object", "properties": {"text": {"type": "string", "pattern": "^(a|aa)*b$"}}}
    define(cluster, version_of(schema={"type": "object", "properties": {"spec": spec}}))

    made = cluster.call("POST", WIDGETS, widget(spec={"text": "a" * 20_000 + "b"}))
    code, _, message = cluster.caller.call("PUT", f"{WIDGETS}/a", {**made, "spec": {"text": "a" * 20_000}}).failure

    assert (code, "should match '^(a|aa)*b$'" in message) == (422, True)
    assert cluster.call("GET", WIDGETS)["items"] == [made]


def test_defaults_that_multiply_are_refused(cluster: QuietCluster) -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(8):
        items = {"type": "array", "default": [{}] * 30, "items": schema}
        schema = {"type": "object", "properties": {"a": items}}
    define(cluster, version_of(schema={"type": "object", "properties": {"spec": schema}}))

    code, reason, message = cluster.caller.call("POST", WIDGETS, widget(spec={})).failure

    assert (code, reason) == (413, "RequestEntityTooLarge")
    assert message.endswith("of defaults")
    assert cluster.call("GET", WIDGETS)["items"] == []


def test_head_is_a_get_without_a_body(cluster: QuietCluster) -> None:
    define(cluster)
    cluster.call("POST", WIDGETS, widget())

    for path in (WIDGETS, f"{WIDGETS}/a"):
        response = cluster.caller.call("HEAD", path)
        assert (response.code, response.body) == (200, b"")
