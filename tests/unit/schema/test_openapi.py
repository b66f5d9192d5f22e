"""Schemas of custom resources in documents, and what version 2 expresses of a schema."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._meta.gvk import GroupVersionKind
from masthead._schema.openapi import (
    custom_list,
    custom_name,
    custom_object,
    custom_object_in_version_2,
    to_version_2,
)
from masthead._schema.schema import REF_PREFIX, Schema

GVK = GroupVersionKind("example.com", "v1", "Widget")
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
KINDS = [{"group": "example.com", "version": "v1", "kind": "Widget"}]
STRING = {"type": "string"}


def plain(schema: Schema) -> Any:
    return msgspec.json.decode(msgspec.json.encode(schema))


def documented(properties: dict[str, Any], *, version: int = 3) -> Any:
    """The properties of a custom resource, without those that every object has."""
    schema = Schema.from_plain({"type": "object", "properties": properties})
    made = custom_object(schema, GVK) if version == 3 else custom_object_in_version_2(schema, GVK)
    found = plain(made)["properties"]
    assert found.pop("apiVersion") == found.pop("kind") == STRING
    del found["metadata"]
    return found


def test_the_name_of_a_schema_begins_with_the_reversed_group() -> None:
    assert custom_name(GVK) == "com.example.v1.Widget"


def test_a_custom_resource_has_the_fields_of_every_object() -> None:
    made = plain(custom_object(Schema.from_plain({"type": "object", "required": ["spec"]}), GVK))

    assert made == {
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": STRING,
            "kind": STRING,
            "metadata": {"allOf": [{"$ref": f"{REF_PREFIX}{META}ObjectMeta"}]},
        },
        "x-kubernetes-group-version-kind": KINDS,
    }


def test_without_a_schema_it_is_an_object_of_its_kind() -> None:
    wanted = {"type": "object", "x-kubernetes-group-version-kind": KINDS}

    assert plain(custom_object(None, GVK)) == wanted
    assert plain(custom_object_in_version_2(None, GVK)) == wanted


def test_a_list_refers_to_its_items() -> None:
    made = plain(custom_list(GVK, "WidgetList"))

    assert made["required"] == ["items"]
    assert made["properties"]["items"]["items"] == {"$ref": f"{REF_PREFIX}com.example.v1.Widget"}
    assert made["x-kubernetes-group-version-kind"][0]["kind"] == "WidgetList"


def test_an_int_or_string_says_both_types() -> None:
    both = [{"type": "integer"}, {"type": "string"}]
    short = {"x-kubernetes-int-or-string": True}

    found = documented(
        {
            "short": short,
            "stated": {**short, "anyOf": both},
            "nested": {**short, "allOf": [{"anyOf": both}, {"pattern": "^a"}]},
            "other": {**short, "anyOf": [{"pattern": "^b"}]},
        }
    )

    assert found == {
        "short": {**short, "anyOf": both},
        "stated": {**short, "anyOf": both},
        "nested": {**short, "allOf": [{"anyOf": both}, {"pattern": "^a"}]},
        "other": {**short, "allOf": [{"anyOf": both}], "anyOf": [{"pattern": "^b"}]},
    }


def test_an_embedded_object_has_the_fields_of_every_object_too() -> None:
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "required": ["kind"]}

    found = documented({"template": embedded, "items": {"type": "array", "items": embedded}})

    assert found["template"]["required"] == ["kind", "apiVersion"]
    assert found["template"]["properties"].keys() == {"apiVersion", "kind", "metadata"}
    assert found["items"]["items"] == found["template"]


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        ({"type": "string", "default": "a", "pattern": "^a"}, {"type": "string", "pattern": "^a"}),
        ({"type": "string", "nullable": True}, {}),
        ({"type": "array", "nullable": True, "items": STRING}, {}),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": STRING}}, None),
        ({"type": "object", "oneOf": [{"required": ["a"]}], "not": {"required": ["b"]}}, {"type": "object"}),
        ({"type": "array", "items": {"type": "string", "default": ""}}, {"type": "array", "items": STRING}),
        (
            {"type": "object", "required": ["a", "b"], "properties": {"a": {"nullable": True}, "b": STRING}},
            {"type": "object", "required": ["b"], "properties": {"a": {}, "b": STRING}},
        ),
    ],
)
def test_version_2_has_no_defaults_no_null_and_no_alternatives(schema: dict[str, Any], wanted: Any) -> None:
    if wanted is None:
        wanted = {"x-kubernetes-preserve-unknown-fields": True}

    assert documented({"field": schema}, version=2) == {"field": wanted}


def test_version_2_refers_to_definitions_beside_what_is_said_of_the_field() -> None:
    reference = Schema(
        all_of=(Schema(ref=f"{REF_PREFIX}a.B"),), default={}, patch_strategy="retainKeys", description="it"
    )

    assert plain(to_version_2(reference)) == {
        "$ref": "#/definitions/a.B",
        "description": "it",
        "x-kubernetes-patch-strategy": "retainKeys",
    }


def test_version_2_says_nothing_of_objects_with_unknown_fields() -> None:
    open_schema = Schema.from_plain({"type": "object", "x-kubernetes-preserve-unknown-fields": True})

    assert plain(custom_object_in_version_2(open_schema, GVK)) == plain(custom_object(None, GVK))
    embedded = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    assert documented({"field": embedded}, version=2)["field"].keys() == {
        "x-kubernetes-embedded-resource",
        "x-kubernetes-preserve-unknown-fields",
    }


leaves = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "integer", "boolean"])},
    optional={"nullable": st.booleans(), "default": st.none(), "enum": st.just(["a"])},
)
schemas = st.recursive(
    leaves,
    lambda inner: (
        st.fixed_dictionaries(
            {"type": st.just("object")},
            optional={
                "nullable": st.booleans(),
                "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
                "additionalProperties": inner,
                "x-kubernetes-preserve-unknown-fields": st.just(True),
                "oneOf": st.just([{"required": ["a"]}]),
            },
        )
        | st.fixed_dictionaries({"type": st.just("array"), "items": inner})
    ),
    max_leaves=6,
)


@given(schemas)
def test_version_2_of_version_2_is_itself(schema: dict[str, Any]) -> None:
    made = to_version_2(Schema.from_plain(schema))

    assert to_version_2(made) == made
    assert b'"default"' not in msgspec.json.encode(made)
