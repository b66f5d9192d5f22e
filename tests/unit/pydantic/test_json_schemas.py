"""The JSON schemas of API types."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel, TypeAdapter
from tests.unit.pydantic.resources import Plan, Tree

from masthead import Object, ObjectList, Quantity, Unstructured
from masthead.api.apiextensions.v1 import CustomResourceDefinition
from masthead.api.apps.v1 import Deployment  # noqa: TC001 - pydantic reads it in a model
from masthead.api.core.v1 import Event, Pod, Secret, Service, ServicePort
from masthead.api.events.v1 import Event as NewerEvent
from masthead.meta import MicroTime
from masthead.meta.registry import registry

if TYPE_CHECKING:
    from collections.abc import Iterator

KEYWORDS = {
    "$defs", "$ref", "additionalProperties", "anyOf", "const", "contentEncoding", "default", "description", "enum",
    "exclusiveMaximum", "format", "items", "minimum", "pattern", "properties", "required", "title", "type",
}  # fmt: skip
"""The keywords that these schemas have; all are of JSON Schema 2020-12, which OpenAPI 3.1 uses."""


def schema_of(kind: Any) -> dict[str, Any]:
    return TypeAdapter(kind).json_schema()


def subschemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A schema and all schemas inside of it."""
    yield schema
    values = schema.get("additionalProperties")
    inner = [
        *schema.get("$defs", {}).values(),
        *schema.get("properties", {}).values(),
        *schema.get("anyOf", []),
        *([schema["items"]] if "items" in schema else []),
        *([values] if isinstance(values, dict) else []),
    ]
    for nested in inner:
        yield from subschemas(nested)


def check(schema: dict[str, Any]) -> None:
    """Every reference leads somewhere, and every keyword exists."""
    for nested in subschemas(schema):
        assert nested.keys() <= KEYWORDS, nested.keys() - KEYWORDS
        assert set(nested.get("required", ())) <= nested.get("properties", {}).keys()
        if reference := nested.get("$ref"):
            assert reference.removeprefix("#/$defs/") in schema["$defs"]


def test_a_schema_has_properties_descriptions_and_references() -> None:
    schema = schema_of(Pod)
    container = schema["$defs"]["Container"]

    check(schema)
    assert schema["properties"]["spec"]["$ref"] == "#/$defs/PodSpec"
    assert schema["properties"]["kind"]["const"] == "Pod"
    assert schema["description"].startswith("One or more containers")
    assert container["required"] == ["name"]
    assert container["properties"]["ports"]["items"] == {"$ref": "#/$defs/ContainerPort"}
    assert "`envFrom`" in container["properties"]["env"]["description"]
    assert schema["$defs"]["ObjectMeta"]["properties"]["creationTimestamp"]["format"] == "date-time"
    assert "Never" in container["properties"]["imagePullPolicy"]["enum"]


def test_fields_have_the_types_of_the_api() -> None:
    port = schema_of(ServicePort)["properties"]
    secret = schema_of(Secret)["properties"]
    limits = schema_of(Pod)["$defs"]["ResourceRequirements"]["properties"]["limits"]

    assert port["targetPort"]["anyOf"] == [{"type": "integer"}, {"type": "string"}]
    assert (port["port"]["type"], port["port"]["format"], port["protocol"]["default"]) == ("integer", "int32", "TCP")
    assert secret["data"]["additionalProperties"] == {"type": "string", "contentEncoding": "base64"}
    assert limits["additionalProperties"] == schema_of(Quantity) == {"anyOf": [{"type": "string"}, {"type": "number"}]}
    assert schema_of(MicroTime) == {"type": "string", "format": "date-time"}


def test_a_type_that_contains_itself_refers_to_itself() -> None:
    tree = schema_of(Tree)
    definition = schema_of(CustomResourceDefinition)

    check(tree)
    check(definition)
    assert tree["$defs"]["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
    labels = tree["$defs"]["Tree"]["properties"]["labels"]
    assert labels["additionalProperties"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert definition["$defs"]["JSONSchemaProps"]["properties"]["not"]["$ref"] == "#/$defs/JSONSchemaProps"


def test_a_custom_resource_has_its_constraints_defaults_and_documentation() -> None:
    schema = schema_of(Plan)
    spec, step = schema["$defs"]["PlanSpec"], schema["$defs"]["Step"]

    check(schema)
    assert schema["required"] == ["spec"]
    assert spec["required"] == ["size"]
    assert spec["properties"]["size"] == {"type": "integer", "minimum": 1, "exclusiveMaximum": 10}
    assert spec["properties"]["retries"]["default"] == 3
    assert spec["properties"]["retries"]["description"] == "Attempts after the first one, see `maxDelay`."
    assert spec["properties"]["maxDelay"] == {"type": "string", "pattern": "^[0-9]+s$"}
    assert step["properties"]["mode"] == {"type": "string", "enum": ["Fast", "Safe"], "default": "Safe"}
    assert step["properties"]["name"] == {"type": "string", "description": "Its name."}


def test_models_share_the_definitions_of_types() -> None:
    class Both(BaseModel):
        pod: Pod
        pods: ObjectList[Pod]
        deployment: Deployment

    schema = Both.model_json_schema()

    check(schema)
    assert schema["properties"]["pod"] == {"$ref": "#/$defs/Pod"}
    assert schema["$defs"]["ObjectList_Pod_"]["properties"]["items"]["items"] == {"$ref": "#/$defs/Pod"}
    assert "Pod" not in schema["$defs"]["Pod"].get("$defs", {})
    # About 140 kB: each type is there once.
    assert len(json.dumps(schema)) < 250_000


def test_types_of_the_same_name_keep_apart() -> None:
    schema = TypeAdapter(tuple[Event, NewerEvent]).json_schema()

    assert {name for name in schema["$defs"] if name.endswith("__Event")} == {
        "masthead__api__core__v1__Event",
        "masthead__api__events__v1__Event",
    }


@pytest.mark.parametrize("kind", [Object, Unstructured, ObjectList])
def test_objects_of_any_kind_have_open_schemas(kind: type) -> None:
    schema = schema_of(kind)

    check(schema)
    assert "metadata" in schema["properties"]
    assert "additionalProperties" not in schema


def test_input_and_output_have_the_same_schema() -> None:
    keys = [("pod", mode, TypeAdapter(list[Service])) for mode in ("validation", "serialization")]
    found, definitions = TypeAdapter.json_schemas(keys)  # type: ignore[arg-type]

    assert found["pod", "validation"] == found["pod", "serialization"]
    assert not [name for name in definitions["$defs"] if name.endswith(("Input", "Output"))]


@pytest.mark.slow
def test_every_kind_has_a_schema() -> None:
    builtin = [registry.class_of(kind) for kind in registry.kinds()]
    # Other tests of the same process register kinds of their own.
    adapters = [TypeAdapter(cls) for cls in builtin if cls.__module__.startswith("masthead.api.")]
    _, schema = TypeAdapter.json_schemas([(number, "validation", each) for number, each in enumerate(adapters)])

    check(schema)
    assert len(schema["$defs"]) > 600
