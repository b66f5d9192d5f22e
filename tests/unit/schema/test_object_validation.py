"""Whole objects, validated by the schema of their kind."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from masthead._schema.object_validation import validate_object
from masthead._schema.schema import Definitions, Schema

Plain = dict[str, Any]
TREE = Schema.from_plain(
    {
        "type": "object",
        "properties": {
            "metadata": {"$ref": "#/components/schemas/Meta"},
            "child": {"$ref": "#/components/schemas/Tree"},
            "children": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}},
            "by_name": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Tree"}},
            "raw": {"$ref": "#/components/schemas/Raw"},
            "size": {"type": "integer"},
        },
    }
)
META = Schema.from_plain({"type": "object", "properties": {"name": {"type": "string"}}})
DEFINITIONS = Definitions({"Tree": TREE, "Meta": META, "Raw": Schema(type="object")})
NAMED: Plain = {"metadata": {"name": "a"}}


def found(value: Plain, **options: Any) -> tuple[list[str], list[str]]:
    before = copy.deepcopy(value)
    findings = validate_object(value, TREE, DEFINITIONS, **options)
    assert value == before
    return findings.unknown, [str(error) for error in findings.errors]


def test_types_that_contain_themselves_are_validated_as_deep_as_the_value() -> None:
    value = {**NAMED, "child": {"children": [{}, {"by_name": {"x": {"size": "large", "other": 1}}}]}}

    unknown, errors = found(value)

    assert unknown == ["child.children[1].by_name.x.other"]
    path = "child.children[1].by_name.x.size"
    assert errors == [f'{path}: Invalid value: "string": {path} in body must be of type integer: "string"']


def test_an_object_without_fields_takes_any() -> None:
    assert found({**NAMED, "raw": {"a": {"b": 1}}}) == ([], [])


def test_unknown_fields_of_metadata_are_found() -> None:
    assert found({"metadata": {"name": "a", "nmae": "b"}}) == (["metadata.nmae"], [])


def test_an_object_needs_a_name() -> None:
    assert found({})[1] == ["metadata.name: Required value: name or generateName is required"]


def test_null_means_unset_for_kinds_of_kubernetes() -> None:
    assert found({**NAMED, "size": None, "child": None}, is_builtin=True) == ([], [])


def test_a_schema_that_is_missing_is_reported() -> None:
    with pytest.raises(KeyError):
        validate_object({**NAMED, "child": {}}, TREE, Definitions({"Meta": META}))
