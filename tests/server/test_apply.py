"""Server-side apply over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import APPLY_PATCH, MAPS, MERGE_PATCH
from tests.server.custom_definitions import DEFINITIONS, NAME, WIDGETS, define, version_of, widget

if TYPE_CHECKING:
    from tests.server.calls import Caller, CallResponse
    from tests.server.quiet_cluster import QuietCluster

Plain = dict[str, Any]
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
MANY = 3_000
"""Entries of an object that is merged in a thread."""


def apply(
    caller: Caller, path: str, body: object, manager: str = "one", *, force: bool = False, query: str = ""
) -> CallResponse:
    options = f"fieldManager={manager}{'&force=true' if force else ''}{query}"
    return caller.call("PATCH", f"{path}?{options}", body, content_type=APPLY_PATCH)


def config_map(**data: str) -> Plain:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


def deployment(**spec: Any) -> Plain:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def whole_deployment(**spec: Any) -> Plain:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "main", "image": "i"}]}}
    return deployment(selector={"matchLabels": {"a": "b"}}, template=template, **spec)


def managers(response: CallResponse) -> dict[str, Plain]:
    entries = response.json["metadata"].get("managedFields", [])
    return {entry["manager"]: entry["fieldsV1"] for entry in entries}


def test_the_first_apply_creates_the_object_and_the_next_one_changes_nothing(caller: Caller) -> None:
    made = apply(caller, f"{MAPS}/a", config_map(one="1"))
    again = apply(caller, f"{MAPS}/a", config_map(one="1"))

    assert (made.code, again.code) == (201, 200)
    assert again.body == made.body
    assert managers(made) == {"one": {"f:data": {"f:one": {}}}}


def test_managers_share_what_they_both_apply(caller: Caller) -> None:
    apply(caller, f"{MAPS}/a", config_map(one="1", two="2"))
    apply(caller, f"{MAPS}/a", config_map(two="2"), "two")

    without_both = apply(caller, f"{MAPS}/a", config_map())

    assert without_both.json["data"] == {"two": "2"}


def test_a_conflict_names_managers_and_fields_and_writes_nothing(caller: Caller) -> None:
    made = apply(caller, f"{MAPS}/a", config_map(one="1", two="2"))
    caller.call("PATCH", f"{MAPS}/a?fieldManager=editor", {"data": {"three": "3"}}, content_type=MERGE_PATCH)
    before = caller.call("GET", f"{MAPS}/a")

    refused = apply(caller, f"{MAPS}/a", config_map(one="9", two="9", three="9"), "two")

    assert made.code == 201
    assert refused.failure == (
        409,
        "Conflict",
        'Apply failed with 3 conflicts: conflicts with "editor" using v1:\n- .data.three\n'
        + 'conflicts with "one":\n- .data.one\n- .data.two',
    )
    assert refused.json["details"]["causes"][0] == {
        "reason": "FieldManagerConflict",
        "message": 'conflict with "editor" using v1',
        "field": ".data.three",
    }
    assert caller.call("GET", f"{MAPS}/a").body == before.body


def test_force_takes_fields_from_other_managers(caller: Caller) -> None:
    apply(caller, f"{MAPS}/a", config_map(one="1"))

    taken = apply(caller, f"{MAPS}/a", config_map(one="2"), "two", force=True)

    assert taken.json["data"] == {"one": "2"}
    assert managers(taken) == {"two": {"f:data": {"f:one": {}}}}


def test_what_is_merged_is_defaulted_and_validated(caller: Caller) -> None:
    made = apply(caller, f"{DEPLOYMENTS}/web", whole_deployment())
    refused = apply(caller, f"{DEPLOYMENTS}/web", deployment(replicas=-1), "two")

    assert made.json["spec"]["replicas"] == 1
    assert refused.failure[0] == 422
    assert "spec.replicas: Invalid value: -1" in refused.failure[2]
    assert list(managers(caller.call("GET", f"{DEPLOYMENTS}/web"))) == ["one"]


def test_the_status_belongs_to_its_subresource(caller: Caller) -> None:
    status = {**deployment(), "status": {"replicas": 3}}
    apply(caller, f"{DEPLOYMENTS}/web", {**whole_deployment(), "status": {"replicas": 1}})

    applied = apply(caller, f"{DEPLOYMENTS}/web/status", status, "two")

    assert applied.json["status"] == {"replicas": 3}
    assert managers(applied)["two"] == {"f:status": {"f:replicas": {}}}
    assert "f:status" not in managers(applied)["one"]


def test_a_scale_conflicts_with_the_owner_of_the_replicas(caller: Caller) -> None:
    apply(caller, f"{DEPLOYMENTS}/web", whole_deployment(replicas=1))
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "web"},
        "spec": {"replicas": 3},
    }

    refused = apply(caller, f"{DEPLOYMENTS}/web/scale", scale, "two")
    taken = apply(caller, f"{DEPLOYMENTS}/web/scale", scale, "two", force=True)

    assert refused.failure[2] == 'Apply failed with 1 conflict: conflict with "one": .spec.replicas'
    assert taken.json["spec"] == {"replicas": 3}
    assert managers(caller.call("GET", f"{DEPLOYMENTS}/web"))["two"] == {"f:spec": {"f:replicas": {}}}


def test_a_dry_run_stores_nothing(caller: Caller) -> None:
    shown = apply(caller, f"{MAPS}/a", config_map(one="1"), query="&dryRun=All")

    assert (shown.code, shown.json["data"]) == (201, {"one": "1"})
    assert caller.call("GET", f"{MAPS}/a").code == 404


def test_a_configuration_may_be_yaml(caller: Caller) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  one: '1'\n  one: '2'\n"

    warned = apply(caller, f"{MAPS}/a", body)
    refused = apply(caller, f"{MAPS}/a", body, query="&fieldValidation=Strict")

    assert warned.json["data"] == {"one": "2"}
    assert warned.headers["warning"] == '299 - "line 7: key \\"one\\" already set in map"'
    assert refused.failure[0] == 400
    assert 'line 7: key "one" already set in map' in refused.failure[2]


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (
            {"unknown": 1},
            500,
            "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .unknown: field not declared in schema",
        ),
        ({"kind": "Secret"}, 400, "invalid object type: /v1, Kind=Secret"),
        (
            {"metadata": {"name": "b"}},
            400,
            "the name of the object (b) does not match the name on the URL (a)",
        ),
        (
            {"metadata": {"generateName": "a-"}},
            400,
            "the name of the object (a based on URL) was undeterminable: name must be provided",
        ),
        ({"metadata": {"name": "a", "managedFields": []}}, 400, "metadata.managedFields must be nil"),
        (
            {"metadata": {"name": "a", "uid": "x"}},
            409,
            'Operation cannot be fulfilled on configmaps "a": uid mismatch: '
            + "the provided object specified uid x, and no existing object was found",
        ),
    ],
)
def test_what_cannot_be_applied_is_refused_and_not_stored(
    caller: Caller, change: Plain, code: int, message: str
) -> None:
    refused = apply(caller, f"{MAPS}/a", {**config_map(), **change})

    assert (refused.code, refused.json["message"]) == (code, message)
    assert caller.call("GET", f"{MAPS}/a").code == 404


def test_apply_needs_a_manager(caller: Caller) -> None:
    refused = caller.call("PATCH", f"{MAPS}/a", config_map(), content_type=APPLY_PATCH)

    assert refused.failure == (
        422,
        "Invalid",
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    )


def test_cbor_is_not_served(caller: Caller) -> None:
    refused = caller.call("PATCH", f"{MAPS}/a?fieldManager=one", b"\xa0", content_type="application/apply-patch+cbor")

    assert refused.failure == (415, "UnsupportedMediaType", "415: Unsupported Media Type")


def test_a_version_in_the_configuration_is_a_condition(caller: Caller) -> None:
    version = apply(caller, f"{MAPS}/a", config_map(one="1")).json["metadata"]["resourceVersion"]
    config = config_map(one="2")
    config["metadata"]["resourceVersion"] = version

    applied = apply(caller, f"{MAPS}/a", config)
    refused = apply(caller, f"{MAPS}/a", {**config, "data": {"one": "3"}})

    assert (applied.code, refused.code) == (200, 409)
    assert "the object has been modified" in refused.failure[2]


def test_large_objects_are_merged_and_tracked(caller: Caller) -> None:
    data = {f"key-{number}": "x" for number in range(MANY)}
    made = apply(caller, f"{MAPS}/a", config_map(**data))
    refused = apply(caller, f"{MAPS}/a", config_map(**dict.fromkeys(data, "y")), "two")
    edited = caller.call("PATCH", f"{MAPS}/a?fieldManager=editor", {"data": {"more": "1"}}, content_type=MERGE_PATCH)
    removed = apply(caller, f"{MAPS}/a", config_map())

    assert (made.code, len(made.json["data"])) == (201, MANY)
    assert refused.failure[2].startswith(f"Apply failed with {MANY} conflicts: ")
    assert managers(edited)["editor"] == {"f:data": {"f:more": {}}}
    assert removed.json["data"] == {"more": "1"}


def test_large_yaml_is_merged(caller: Caller) -> None:
    lines = "".join(f"  key-{number}: x\n" for number in range(MANY))
    body = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n{lines}"

    made = apply(caller, f"{MAPS}/a", body.encode())

    assert (made.code, len(made.json["data"])) == (201, MANY)


def test_a_custom_resource_is_merged_by_the_types_of_its_schema(cluster: QuietCluster) -> None:
    item = {"type": "object", "properties": {"name": {"type": "string"}, "value": {"type": "string"}}}
    listed = {
        "type": "array",
        "items": {**item, "required": ["name"]},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    spec = {"type": "object", "properties": {"listed": listed}}
    define(cluster, version_of(schema={"type": "object", "properties": {"spec": spec}}))
    caller = cluster.caller

    apply(caller, f"{WIDGETS}/a", widget(spec={"listed": [{"name": "a", "value": "1"}]}))
    merged = apply(caller, f"{WIDGETS}/a", widget(spec={"listed": [{"name": "b"}]}), "two")
    refused = apply(caller, f"{WIDGETS}/a", widget(spec={"listed": [{"name": "a", "value": "2"}]}), "two")

    assert merged.json["spec"]["listed"] == [{"name": "a", "value": "1"}, {"name": "b"}]
    assert refused.failure[2].endswith('conflict with "one": .spec.listed[name="a"].value')


def test_what_becomes_atomic_belongs_to_all_who_owned_a_part(cluster: QuietCluster) -> None:
    labels: Plain = {"type": "object", "additionalProperties": {"type": "string"}}
    schema = {"type": "object", "properties": {"labels": labels}}
    define(cluster, version_of(schema=schema))
    caller = cluster.caller
    apply(caller, f"{WIDGETS}/a", widget(labels={"a": "1"}))
    apply(caller, f"{WIDGETS}/a", widget(labels={"b": "1"}), "two")

    labels["x-kubernetes-map-type"] = "atomic"
    path = "/spec/versions/0/schema/openAPIV3Schema"
    changes = [{"op": "replace", "path": path, "value": schema}]
    cluster.call("PATCH", f"{DEFINITIONS}/{NAME}", changes, content_type="application/json-patch+json")
    refused = apply(caller, f"{WIDGETS}/a", widget(labels={"b": "1"}), "two")

    assert refused.failure[2] == 'Apply failed with 1 conflict: conflict with "one": .labels'
