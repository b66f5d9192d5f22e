"""The schema of each annotation."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Annotated, Any, Literal, Optional, cast

import msgspec
import pytest
from tests.unit.customresource import making

from masthead import Quantity
from masthead.api.batch.v1 import Job
from masthead.api.core.v1 import Container, LocalObjectReference, PodTemplateSpec
from masthead.crd import Field, Rule
from masthead.errors import CustomResourceError
from masthead.meta import JSON, Condition, IntOrString, LabelSelector, MicroTime, Struct, Time, Unstructured

Plain = dict[str, Any]


class Color(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 9


class Mixed(enum.Enum):
    ONE = 1
    TWO = "two"


class Part(Struct):
    name: str
    size: int = 0


QUANTITY = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",  # noqa: E501
    "x-kubernetes-int-or-string": True,
}
INTEGER = {"type": "integer", "format": "int64"}
TIME = {"type": "string", "format": "date-time"}
PART = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "size": {**INTEGER, "default": 0}},
    "required": ["name"],
}
LIST_OF_TEXT = {"type": "array", "items": {"type": "string"}}


def schema_of(annotation: object) -> Plain:
    """The schema of a field with this annotation."""
    return cast("Plain", making.schema_of(making.make_kind({"it": annotation}))["properties"]["it"])


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (str, {"type": "string"}),
        (int, INTEGER),
        (float, {"type": "number", "format": "double"}),
        (bool, {"type": "boolean"}),
        (bytes, {"type": "string", "format": "byte"}),
        (datetime, TIME),
        (Time, TIME),
        (MicroTime, TIME),
        (Quantity, QUANTITY),
        (
            IntOrString,
            {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
        ),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[1, 2], {"type": "integer", "enum": [1, 2]}),
        (Color, {"type": "string", "enum": ["red", "blue"]}),
        (Level, {"type": "integer", "enum": [1, 9]}),
        (JSON, {"x-kubernetes-preserve-unknown-fields": True}),
        (Any, {"x-kubernetes-preserve-unknown-fields": True}),
        (dict[str, JSON], {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        (list[str], LIST_OF_TEXT),
        (list[str | None], {"type": "array", "items": {"type": "string", "nullable": True}}),
        (dict[str, int], {"type": "object", "additionalProperties": INTEGER}),
        (dict[str, list[str]], {"type": "object", "additionalProperties": LIST_OF_TEXT}),
        (list[list[str]], {"type": "array", "items": LIST_OF_TEXT}),
        (Part, PART),
        (list[Part], {"type": "array", "items": PART}),
        (dict[str, Part], {"type": "object", "additionalProperties": PART}),
        (str | None, {"type": "string", "nullable": True}),
        (LocalObjectReference, {
            "type": "object",
            "properties": {"name": {"type": "string", "default": ""}},
            "x-kubernetes-map-type": "atomic",
        }),
        (
            Unstructured,
            {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
            },
        ),
    ],
    ids=str,
)  # fmt: skip
def test_the_schema_of_a_type(annotation: object, expected: Plain) -> None:
    assert schema_of(annotation) == expected


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (Annotated[int, Field(minimum=0, maximum=9)], {**INTEGER, "minimum": 0, "maximum": 9}),
        (
            Annotated[float, Field(exclusive_minimum=0.5, exclusive_maximum=2)],
            {
                "type": "number",
                "format": "double",
                "minimum": 0.5,
                "exclusiveMinimum": True,
                "maximum": 2,
                "exclusiveMaximum": True,
            },
        ),
        (
            Annotated[int, Field(multiple_of=3, format="int32")],
            {**INTEGER, "format": "int32", "multipleOf": 3},
        ),
        (
            Annotated[str, Field(pattern="^a", min_length=1, max_length=5, format="hostname", title="T")],
            {
                "type": "string",
                "pattern": "^a",
                "minLength": 1,
                "maxLength": 5,
                "format": "hostname",
                "title": "T",
            },
        ),
        (
            Annotated[list[str], Field(list_type="set", min_items=1, max_items=3)],
            {**LIST_OF_TEXT, "x-kubernetes-list-type": "set", "minItems": 1, "maxItems": 3},
        ),
        (
            Annotated[list[Part], Field(list_type="map", list_map_keys=["name"])],
            {
                "type": "array",
                "items": PART,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            },
        ),
        (
            Annotated[dict[str, str], Field(max_properties=4, min_properties=1, map_type="atomic")],
            {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "maxProperties": 4,
                "minProperties": 1,
                "x-kubernetes-map-type": "atomic",
            },
        ),
        (
            Annotated[Part, Field(preserve_unknown=True)],
            {**PART, "x-kubernetes-preserve-unknown-fields": True},
        ),
        (Annotated[str, Field(nullable=True)], {"type": "string", "nullable": True}),
        (
            list[Annotated[str, Field(min_length=2)]],
            {"type": "array", "items": {"type": "string", "minLength": 2}},
        ),
        (
            dict[str, Annotated[int, Field(minimum=1)]],
            {"type": "object", "additionalProperties": {**INTEGER, "minimum": 1}},
        ),
        (
            Annotated[Annotated[int, Field(minimum=1, maximum=5)], Field(maximum=3)],
            {**INTEGER, "minimum": 1, "maximum": 3},
        ),
        (
            Optional[Annotated[int, Field(minimum=1)]],  # noqa: UP045 - pyright knows no other spelling here
            {**INTEGER, "minimum": 1, "nullable": True},
        ),
        (
            Annotated[int, Field(rules=["self > 0", Rule("self < 9", message="too many")])],
            {
                **INTEGER,
                "x-kubernetes-validations": [
                    {"rule": "self > 0"},
                    {"rule": "self < 9", "message": "too many"},
                ],
            },
        ),
        (
            Annotated[
                str,
                Field(
                    max_length=10,
                    rules=[
                        Rule(
                            "!oldSelf.hasValue() || self == oldSelf.value()",
                            message_expression="'must stay ' + self",
                            reason="FieldValueForbidden",
                            optional_old_self=True,
                        )
                    ],
                ),
            ],
            {
                "type": "string",
                "maxLength": 10,
                "x-kubernetes-validations": [
                    {
                        "rule": "!oldSelf.hasValue() || self == oldSelf.value()",
                        "messageExpression": "'must stay ' + self",
                        "reason": "FieldValueForbidden",
                        "optionalOldSelf": True,
                    }
                ],
            },
        ),
        (
            Annotated[int, msgspec.Meta(ge=1, lt=5, description="Some.")],
            {**INTEGER, "minimum": 1, "maximum": 5, "exclusiveMaximum": True, "description": "Some."},
        ),
        (
            Annotated[list[str], msgspec.Meta(min_length=1, max_length=2)],
            {**LIST_OF_TEXT, "minItems": 1, "maxItems": 2},
        ),
    ],
    ids=str,
)
def test_the_schema_of_a_type_with_constraints(annotation: object, expected: Plain) -> None:
    assert schema_of(annotation) == expected


def test_conditions_merge_by_their_type() -> None:
    found = schema_of(list[Condition])

    assert found["x-kubernetes-list-type"] == "map"
    assert found["x-kubernetes-list-map-keys"] == ["type"]
    assert found["items"]["required"] == ["type", "status", "lastTransitionTime", "reason", "message"]
    assert found["items"]["properties"] == {
        "lastTransitionTime": {"type": "string", "format": "date-time"},
        "message": {"type": "string", "default": "", "maxLength": 32_768},
        "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
        "reason": {
            "type": "string",
            "minLength": 1,
            "maxLength": 1_024,
            "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
        },
        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
        "type": {
            "type": "string",
            "maxLength": 316,
            "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
            "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
        },
    }


def test_a_list_of_conditions_may_merge_otherwise() -> None:
    found = schema_of(Annotated[list[Condition], Field(list_type="atomic", list_map_keys=[])])

    assert found["x-kubernetes-list-type"] == "atomic"
    assert "x-kubernetes-list-map-keys" not in found


def test_types_of_kubernetes_are_inlined() -> None:
    container = schema_of(Container)

    assert container["required"] == ["name"]
    assert container["properties"]["ports"]["items"]["properties"]["protocol"] == {
        "type": "string",
        "default": "TCP",
    }
    assert container["properties"]["ports"]["x-kubernetes-list-map-keys"] == ["containerPort", "protocol"]
    assert container["properties"]["resources"]["properties"]["limits"]["additionalProperties"] == QUANTITY
    assert schema_of(LabelSelector)["x-kubernetes-map-type"] == "atomic"


def test_the_labels_of_a_template_are_kept() -> None:
    metadata = schema_of(PodTemplateSpec)["properties"]["metadata"]

    assert metadata["properties"].keys() >= {"annotations", "labels", "name"}


def test_a_whole_object_of_kubernetes_is_an_embedded_resource() -> None:
    job = schema_of(Job)

    assert job["x-kubernetes-embedded-resource"] is True
    assert job["properties"]["metadata"] == {"type": "object"}
    assert job["properties"]["spec"]["properties"]["backoffLimit"] == {"type": "integer", "format": "int32"}


class Node(Struct):
    children: list[Node] = []


class Outer(Struct):
    by_name: dict[str, Node] = {}


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (set[str], r"Thing.it: set\[str\] is not a type of a field: .*list_type=\"set\""),
        (tuple[int, int], r"Thing.it: tuple\[int, int\] is not a type of a field"),
        (complex, r"Thing.it: complex is not a type of a field"),
        (int | float, r"Thing.it: int \| float is not a type of a field"),
        (list[complex], r"Thing.it\[\]: complex is not a type"),
        (dict[str, complex], r"Thing.it\[\*\]: complex is not a type"),
        (dict[int, str], r"Thing.it: the keys of a map are strings"),
        (Mixed, "Thing.it: the choices 1, 'two' must all be strings, or all be integers"),
        (Literal["a", 1], "Thing.it: the choices 'a', 1 must all be"),
        (Literal[True], "Thing.it: the choices True must all be"),
        (Node, r"Thing.it.children\[\]: Node contains itself"),
        (Outer, r"Thing.it.by_name\[\*\].children\[\]: Node contains itself"),
        (Annotated[str, Field(minimum=0)], "Thing.it: minimum is for values of type integer or number, not string"),
        (Annotated[int, Field(pattern="a")], "Thing.it: pattern is for values of type string, not integer"),
        (Annotated[str, Field(list_type="set")], "Thing.it: list_type is for values of type array"),
        (Annotated[JSON, Field(max_length=3)], "Thing.it: max_length is for values of type string, not any type"),
        (Annotated[str, Field], r"Thing.it: write Field\(...\) instead of Field"),
        (Annotated[str, Field(pattern="(")], r"Thing.it.pattern: .*missing closing \)"),
        (Annotated[str, Field(pattern="(?=x)")], r"Thing.it.pattern: "),
        (Annotated[list[Part], Field(list_type="set")], "Thing.it: .*items of a set must be scalars"),
        (Annotated[list[Part], Field(list_type="map")], "Thing.it: .*needs list_map_keys"),
        (Annotated[list[Part], Field(list_map_keys=["name"])], 'Thing.it: .*needs list_type="map"'),
        (
            Annotated[list[Part], Field(list_type="map", list_map_keys=["nmae"])],
            "Thing.it: .*the items have no field 'nmae'",
        ),
        (Annotated[int, Field(rules=["self >"])], r"Thing.it: rule \[0\].rule: .*compilation failed: ERROR"),
        (Annotated[int, Field(rules=["self.x > 1"])], r"Thing.it: rule \[0\].rule: .*compilation failed"),
        (Annotated[int, Field(rules=["self + 1"])], "Thing.it: rule .*must evaluate to a bool"),
        (Annotated[int, Field(rules=[""])], "Thing.it: rule .*rule is not specified"),
        (Annotated[int, Field(rules=[Rule("self > 1", reason="No")])], "Thing.it: rule .*reason: Unsupported"),
        (
            Annotated[list[str], Field(rules=["self.all(x, self.all(y, x != y + 'a'))"])],
            "Thing.it: rule .*cost exceeds budget by factor of .*max_items",
        ),
        (list[Annotated[str, Field(immutable=True)]], "oldSelf cannot be used on the uncorrelatable portion"),
    ],
    ids=str,
)  # fmt: skip
def test_what_no_server_would_accept_is_refused_when_the_class_is_created(annotation: object, message: str) -> None:
    with pytest.raises(CustomResourceError, match=message):
        making.make_kind({"it": annotation})


def test_contradictory_bounds_are_refused_at_once() -> None:
    with pytest.raises(TypeError, match="minimum or exclusive_minimum"):
        Field(minimum=1, exclusive_minimum=2)


def test_a_class_that_was_refused_is_not_registered() -> None:
    from masthead._meta.registry import registry

    with pytest.raises(CustomResourceError):
        making.make_kind({"it": complex}, kind="NeverMade")

    assert not [kind for kind in registry.kinds() if kind.kind == "NeverMade"]


def test_repr_shows_what_is_set() -> None:
    assert repr(Field(minimum=1, rules=["self > 0"])) == "Field(minimum=1, rules=['self > 0'])"
