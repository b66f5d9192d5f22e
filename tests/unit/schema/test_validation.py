"""Validation: the errors of kube-apiserver, in its order."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.real.random_schemas import Generator

from masthead._schema.errors import MAX_FINDINGS
from masthead._schema.list_types import list_errors
from masthead._schema.schema import Schema
from masthead._schema.validation import compile_validator

STRING: dict[str, Any] = {"type": "string"}
INTEGER: dict[str, Any] = {"type": "integer"}


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def errors(schema: dict[str, Any], value: Any, **options: Any) -> list[str]:
    return [str(error) for error in compile_validator(Schema.from_plain(of(a=schema))).errors({"a": value}, **options)]


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (STRING, "x", []),
        (STRING, 1, ['a: Invalid value: "integer": a in body must be of type string: "integer"']),
        (INTEGER, 1.0, []),
        (
            INTEGER,
            1.5,
            [
                'a: Invalid value: "number": a in body must be of type integer: "number"',
                '<nil>: Invalid value: "": Checked value must be of type integer (default format) in a',
            ],
        ),
        (STRING, None, ['a: Invalid value: "null": a in body must be of type string: "null"']),
        ({**STRING, "nullable": True}, None, []),
        ({"x-kubernetes-int-or-string": True}, 1, []),
        (
            {"x-kubernetes-int-or-string": True},
            True,
            ['a: Invalid value: "boolean": a in body must be of type integer,string: "boolean"'],
        ),
        ({**STRING, "maxLength": 2}, "abc", ["a: Too long: may not be more than 2 bytes"]),
        ({**STRING, "maxLength": -1}, "", ["a: Too long: value is too long"]),
        (
            {"type": "array", "items": STRING, "maxItems": -1},
            [""],
            ["a: Too many: 1: has too many items"],
        ),
        (
            {**STRING, "minLength": 2},
            "ä",
            ['a: Invalid value: "ä": a in body should be at least 2 chars long'],
        ),
        ({**STRING, "pattern": "^b"}, "a", ["a: Invalid value: \"a\": a in body should match '^b'"]),
        (
            {**STRING, "pattern": "("},
            "a",
            [
                (
                    'a: Invalid value: "a": a in body should match \'(, but pattern is invalid:'
                    " error parsing regexp: missing closing ): `(`'"
                )
            ],
        ),
        ({**STRING, "format": "date"}, "x", ['a: Invalid value: "x": a in body must be of type date: "x"']),
        ({**STRING, "enum": ["b", "c"]}, "a", ['a: Unsupported value: "a": supported values: "b", "c"']),
        (
            {**INTEGER, "minimum": 2},
            1,
            ["a: Invalid value: 1: a in body should be greater than or equal to 2"],
        ),
        (
            {**INTEGER, "maximum": 2, "exclusiveMaximum": True},
            2,
            ["a: Invalid value: 2: a in body should be less than 2"],
        ),
        ({**INTEGER, "multipleOf": 2}, 3, ["a: Invalid value: 3: a in body should be a multiple of 2"]),
        (
            {**INTEGER, "format": "int32"},
            2**31,
            ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in a'],
        ),
        (
            {"type": "array", "items": STRING, "minItems": 2},
            [1],
            [
                'a[0]: Invalid value: "integer": a[0] in body must be of type string: "integer"',
                "a: Invalid value: 1: a in body should have at least 2 items",
            ],
        ),
        (
            {"type": "array", "items": STRING, "maxItems": 1},
            ["", ""],
            ["a: Too many: 2: must have at most 1 item"],
        ),
        (
            {"type": "array", "items": INTEGER, "uniqueItems": True},
            [1, 2, 1],
            ['a: Invalid value: "": a in body shouldn\'t contain duplicates'],
        ),
        ({"type": "array", "uniqueItems": True}, [1, 1.0, True, "1"], []),
        ({**of(b=STRING), "required": ["b", "c"]}, {}, ["a.b: Required value", "a.c: Required value"]),
        (
            {**of(), "minProperties": 1},
            {},
            ["a: Invalid value: 0: a in body should have at least 1 properties"],
        ),
        ({**of(), "maxProperties": 0}, {"x": 1}, ["a: Too many: 1: must have at most 0 items"]),
        (
            {"type": "object", "additionalProperties": STRING},
            {"x.y": 1},
            ['a.x.y: Invalid value: "integer": a.x.y in body must be of type string: "integer"'],
        ),
        (
            {"type": "object", "additionalProperties": False},
            {"x": 1},
            ['a: Invalid value: "x": a.x in body is a forbidden property'],
        ),
        (
            {**INTEGER, "anyOf": [{"minimum": 5}, {"maximum": 1}]},
            3,
            [
                '<nil>: Invalid value: "": "a" must validate at least one schema (anyOf)',
                "a: Invalid value: 3: a in body should be greater than or equal to 5",
            ],
        ),
        (
            {**INTEGER, "oneOf": [{"minimum": 1}, {"maximum": 5}]},
            3,
            ['<nil>: Invalid value: "": "a" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
        ),
        (
            {**INTEGER, "allOf": [{"minimum": 5}]},
            3,
            [
                "a: Invalid value: 3: a in body should be greater than or equal to 5",
                '<nil>: Invalid value: "": "a" must validate all the schemas (allOf). None validated',
            ],
        ),
        (
            {**INTEGER, "not": {"minimum": 1}},
            3,
            ['<nil>: Invalid value: "": "a" must not validate the schema (not)'],
        ),
    ],
)
def test_a_value_has_the_errors_of_the_server(schema: dict[str, Any], value: Any, expected: list[str]) -> None:
    assert errors(schema, value) == expected


def test_the_path_of_the_value_is_part_of_the_fields() -> None:
    validator = compile_validator(Schema.from_plain({**of(a=STRING), "required": ["b"], "not": {"required": ["a"]}}))
    assert [error.field for error in validator.errors({"a": 1}, path="status")] == [
        "status",
        "status.a",
        "status.b",
    ]


def test_a_bad_value_is_written_with_sorted_keys() -> None:
    found = errors({**of(), "enum": [{"z": 1}]}, {"y": 1.5, "b": {"d": 1, "c": 2}})
    assert found == ['a: Unsupported value: {"b":{"c":2,"d":1},"y":1.5}: supported values: "{\\"z\\":1}"']


def test_only_so_many_errors_are_reported() -> None:
    found = errors({"type": "array", "items": STRING}, list(range(MAX_FINDINGS * 20)))
    assert len(found) == MAX_FINDINGS + 1


def test_a_pattern_that_takes_too_long_is_an_error() -> None:
    text = "".join(Random(1).choices("ab", k=20_000))
    found = errors({**STRING, "pattern": "[ab]*a[ab]{900}c"}, text)
    assert len(found) == 1
    assert found[0].endswith("should match '[ab]*a[ab]{900}c, but matching takes too long: `[ab]*a[ab]{900}c`'")


# Updates


@pytest.mark.parametrize(
    ("schema", "old", "new", "fields"),
    [
        (STRING, 1, 1, []),
        (STRING, 1, 2, ["a"]),
        (of(b=STRING, c=STRING), {"b": 1, "c": 1}, {"b": 1, "c": 2}, ["a.c"]),
        ({**of(b=STRING), "required": ["c"]}, {"b": ""}, {"b": ""}, []),
        ({**of(b=STRING), "required": ["c"]}, {"b": ""}, {"b": "x"}, ["a.c"]),
        ({"type": "array", "items": STRING}, [1], [1, "x"], ["a[0]"]),
        ({"type": "object", "additionalProperties": STRING}, {"x": 1}, {"x": 1, "y": 1}, ["a.y"]),
        # What is equal to Python may differ.
        (STRING, 1, True, ["a"]),
        (STRING, 1, 1.0, ["a"]),
        # Alternatives do not know old values, nor do fields without a schema.
        (
            {**of(b=INTEGER), "allOf": [{"properties": {"b": {"minimum": 5}}}]},
            {"b": 1, "c": 1},
            {"b": 1, "c": 1},
            ["a.b", "<nil>"],
        ),
    ],
)
def test_errors_of_what_did_not_change_do_not_count(
    schema: dict[str, Any], old: Any, new: Any, fields: list[str]
) -> None:
    validator = compile_validator(Schema.from_plain(of(a=schema)))
    assert [error.field for error in validator.errors({"a": new}, {"a": old})] == fields


KEYED: dict[str, Any] = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k", "l"],
    "items": of(k=STRING, l=INTEGER, v=STRING),
}


def test_items_with_keys_are_compared_with_their_old_ones() -> None:
    validator = compile_validator(Schema.from_plain(of(a=KEYED)))
    old = [{"k": "x", "l": 1, "v": 1}, {"k": "y", "l": 2, "v": 1}]
    new = [{"k": "y", "l": 2, "v": 1}, {"k": "x", "l": 1, "v": 2}, {"k": "z", "l": 1, "v": 1}]
    assert [error.field for error in validator.errors({"a": new}, {"a": old})] == ["a[1].v", "a[2].v"]
    assert validator.errors({"a": old[::-1]}, {"a": old}) == []


def test_the_type_of_an_object_is_always_validated() -> None:
    validator = compile_validator(
        Schema.from_plain(of(kind={**STRING, "maxLength": 1}, spec={**STRING, "maxLength": 1}))
    )
    value = {"kind": "Widget", "spec": "long"}
    assert [error.field for error in validator.errors({**value, "x": 1}, value)] == ["kind"]


# Lists


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (
            {"type": "array", "x-kubernetes-list-type": "set"},
            ["a", "b", "a", "a"],
            ['a[2]: Duplicate value: "a"'],
        ),
        ({"type": "array", "x-kubernetes-list-type": "set"}, [1, 1.0, True, "1", None], []),
        (
            {"type": "array", "x-kubernetes-list-type": "set"},
            [{"b": 1, "a": 2}, {"a": 2, "b": 1}],
            ['a[1]: Duplicate value: {"a":2,"b":1}'],
        ),
        ({"type": "array"}, ["a", "a"], []),
        (KEYED, [{"k": "x", "l": 1}, {"k": "x", "l": 1, "v": 2}], ['a[1]: Duplicate value: {"k":"x","l":1}']),
        (KEYED, [{}, None, {"v": 1}], ["a[1]: Duplicate value: {}"]),
        (KEYED, [{}, 1], ["a[1]: Invalid value: 1: must be an object for an array of list-type map"]),
        (
            {"type": "object", "additionalProperties": {"type": "array", "x-kubernetes-list-type": "set"}},
            {"k": ["a", "a"]},
            ['a[k][1]: Duplicate value: "a"'],
        ),
        (
            {"type": "array", "items": {"type": "array", "x-kubernetes-list-type": "set"}},
            [[], ["a", "a"]],
            ['a[1][1]: Duplicate value: "a"'],
        ),
    ],
)
def test_duplicates_in_lists_are_reported(schema: dict[str, Any], value: Any, expected: list[str]) -> None:
    assert [str(error) for error in list_errors({"a": value}, Schema.from_plain(of(a=schema)))] == expected


# Both ways


@given(st.integers(0, 2**32))
def test_a_value_is_valid_if_it_has_no_errors(seed: int) -> None:
    generator = Generator(Random(seed))
    plain = generator.schema()
    validator = compile_validator(Schema.from_plain(of(a=plain)))
    for broken in (0.0, 0.1, 0.5):
        value = {"a": generator.sent_value(plain, broken)}
        assert validator.is_valid(value) is not bool(validator.errors(value))
        assert validator.errors(value, {"a": generator.value(plain)}) == [] or not validator.is_valid(value)
