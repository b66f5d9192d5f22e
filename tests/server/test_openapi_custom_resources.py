"""OpenAPI documents of custom resources come, change and go with their definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.server.calls import Caller

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAME = "apis/example.com/v1"
DOCUMENT = f"/openapi/v3/{NAME}"


def definition(kind: str, *, version: str = "v1", **version_facts: Any) -> dict[str, Any]:
    plural = f"{kind.lower()}s"
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
    }
    facts = {"schema": {"openAPIV3Schema": schema}, **version_facts}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, "listKind": f"{kind}Collection"},
            "versions": [{"name": version, "served": True, "storage": True, **facts}],
        },
    }


def create(caller: Caller, body: dict[str, Any]) -> None:
    response = caller.call("POST", DEFINITIONS, body)
    assert response.code == 201, response.body


def index(caller: Caller) -> dict[str, str]:
    found = caller.call("GET", "/openapi/v3").json["paths"]
    return {name: entry["serverRelativeURL"] for name, entry in found.items()}


def test_a_document_comes_and_goes_with_its_definition(caller: Caller) -> None:
    assert NAME not in index(caller)
    create(caller, definition("Widget"))

    assert index(caller).keys() >= {NAME}
    assert "apis/example.com" not in index(caller)
    document = caller.call("GET", index(caller)[NAME]).json
    assert document["info"] == {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
    assert document["components"].keys() == {"schemas"}
    assert document["components"]["schemas"]["com.example.v1.Widget"]["properties"].keys() == {
        "apiVersion",
        "kind",
        "metadata",
        "spec",
    }

    assert caller.call("DELETE", f"{DEFINITIONS}/widgets.example.com").code == 200
    assert NAME not in index(caller)
    assert caller.call("GET", DOCUMENT).code == 404


def test_definitions_of_one_group_version_share_a_document(caller: Caller) -> None:
    create(caller, definition("Widget"))
    before = index(caller)[NAME]
    create(caller, definition("Gadget"))

    assert index(caller)[NAME] != before
    document = caller.call("GET", DOCUMENT).json
    assert "/apis/example.com/v1/widgets" in document["paths"]
    assert "/apis/example.com/v1/gadgets" in document["paths"]
    assert {"com.example.v1.Widget", "com.example.v1.Gadget"} <= document["components"]["schemas"].keys()


def test_lists_have_the_kind_that_the_definition_names(caller: Caller) -> None:
    create(caller, definition("Widget"))

    listed = caller.call("GET", DOCUMENT).json["components"]["schemas"]["com.example.v1.WidgetCollection"]

    assert listed["x-kubernetes-group-version-kind"][0]["kind"] == "WidgetCollection"


def test_a_changed_schema_changes_its_document_alone(caller: Caller) -> None:
    create(caller, definition("Widget"))
    before = index(caller)
    patch = [
        {
            "op": "add",
            "path": "/spec/versions/0/schema/openAPIV3Schema/properties/more",
            "value": {"type": "string"},
        }
    ]
    changed = caller.call(
        "PATCH", f"{DEFINITIONS}/widgets.example.com", patch, content_type="application/json-patch+json"
    )
    assert changed.code == 200

    after = index(caller)
    assert [name for name in after if after[name] != before[name]] == [NAME]
    schemas = caller.call("GET", DOCUMENT).json["components"]["schemas"]
    assert "more" in schemas["com.example.v1.Widget"]["properties"]


def test_subresources_have_paths(caller: Caller) -> None:
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    create(caller, definition("Widget", subresources={"status": {}, "scale": scale}))

    paths = caller.call("GET", DOCUMENT).json["paths"]

    root = "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"
    assert {f"{root}/status", f"{root}/scale"} <= paths.keys()
    patch_types = paths[root]["patch"]["requestBody"]["content"].keys()
    assert "application/strategic-merge-patch+json" not in patch_types
    assert not [path for path in paths if "/watch/" in path]


def test_selectable_fields_are_stated(caller: Caller) -> None:
    create(caller, definition("Widget", selectableFields=[{"jsonPath": ".spec.size"}]))

    schemas = caller.call("GET", DOCUMENT).json["components"]["schemas"]

    wanted = [{"fieldPath": "spec.size"}]
    assert schemas["com.example.v1.Widget"]["x-kubernetes-selectable-fields"] == wanted
    assert schemas["com.example.v1.WidgetCollection"]["x-kubernetes-selectable-fields"] == wanted


def test_version_2_has_custom_resources_too(caller: Caller) -> None:
    before = caller.call("GET", "/openapi/v2").headers["etag"]
    create(caller, definition("Widget"))

    after = caller.call("GET", "/openapi/v2")

    assert after.headers["etag"] != before
    assert after.json["definitions"]["com.example.v1.Widget"]["properties"]["spec"]["type"] == "object"
    assert "/apis/example.com/v1/namespaces/{namespace}/widgets" in after.json["paths"]


@pytest.mark.slow
def test_more_group_versions_than_are_kept_are_all_described(caller: Caller) -> None:
    from masthead_server.openapi import service

    count = service._MAX_CACHED + 3
    for number in range(count):
        create(caller, definition("Widget", version=f"v{number}") if not number else group(number))

    found = index(caller)
    custom = [name for name in found if "example.com" in name]
    assert len(custom) == count
    for name in (custom[0], custom[-1]):
        assert caller.call("GET", found[name]).code == 200


def group(number: int) -> dict[str, Any]:
    body = definition("Widget")
    body["metadata"]["name"] = f"widgets.g{number}.example.com"
    body["spec"]["group"] = f"g{number}.example.com"
    return body
