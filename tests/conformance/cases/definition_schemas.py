"""CustomResourceDefinitions: which schemas are accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.definitions import DEFINITIONS, NUMBER, TEXT, definition, object_of

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Schemas of definitions")

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"
LIST_TYPE = "x-kubernetes-list-type"
KEYS = "x-kubernetes-list-map-keys"
MAP_TYPE = "x-kubernetes-map-type"


def _try(api: Api, schema: Plain, **spec: Any) -> None:
    api.create(DEFINITIONS, definition(api, schema, **spec), dryRun="All")


def _field(api: Api, *schemas: Plain) -> None:
    """Try each of these schemas for a field."""
    for schema in schemas:
        _try(api, object_of(a=schema))


@case("the root is an object")
def _(api: Api) -> None:
    _try(api, {})
    _try(api, {"type": "string"})
    _try(api, {"type": "array", "items": TEXT})
    _try(api, object_of() | {"nullable": True})


@case("every field has a type")
def _(api: Api) -> None:
    _field(api, {}, {"description": "x"}, {"type": ""}, {PRESERVE: True}, {INT_OR_STRING: True})
    _field(api, {"type": "array", "items": {}}, {"type": "object", "additionalProperties": {}})


@case("types are those of OpenAPI")
def _(api: Api) -> None:
    _field(api, {"type": "text"}, {"type": "null"}, {"type": "int"}, {"type": "Object"})
    _field(api, {"type": "object", "additionalProperties": {"type": "any"}})


@case("a list has items of one schema")
def _(api: Api) -> None:
    _field(api, {"type": "array"}, {"type": "array", "items": [TEXT]}, {"type": "array", "items": [TEXT, NUMBER]})


@case("fields of JSON Schema that are not supported")
def _(api: Api) -> None:
    _field(
        api,
        {"type": "string", "$ref": "#/definitions/a"},
        {"type": "string", "id": "a"},
        {"type": "array", "items": TEXT, "additionalItems": False},
        {"type": "object", "patternProperties": {"^a": TEXT}},
        {"type": "object", "definitions": {"a": TEXT}},
        {"type": "object", "dependencies": {"a": ["b"]}},
        {"type": "array", "items": TEXT, "uniqueItems": True},
        {"type": "string", "$schema": "http://json-schema.org/schema#"},
        {"type": "array", "items": TEXT, "uniqueItems": False},
    )


@case("properties and additionalProperties exclude each other")
def _(api: Api) -> None:
    _field(api, object_of(b=TEXT) | {"additionalProperties": TEXT})
    _field(api, object_of(b=TEXT) | {"additionalProperties": False})
    _field(api, object_of(b=TEXT) | {"additionalProperties": True})
    _try(api, {"type": "object", "additionalProperties": TEXT})


@case("a pattern is a regular expression of Go")
def _(api: Api) -> None:
    for pattern in ("[a", "(a", "a)", "a**", "(?=a)", "a{2,1}", r"\k", "^[a-z]+$", "a{1001}", r"\pX"):
        _field(api, {"type": "string", "pattern": pattern})


@case("metadata restricts names only")
def _(api: Api) -> None:
    _try(api, object_of(metadata={"type": "object"}))
    _try(api, object_of(metadata=object_of(name={"type": "string", "maxLength": 5})))
    _try(api, object_of(metadata=object_of(name=TEXT, generateName=TEXT)))
    _try(api, object_of(metadata=object_of(labels={"type": "object", "additionalProperties": TEXT})))
    _try(api, object_of(metadata={"type": "string"}))
    _try(api, object_of(metadata={"type": "object", "description": "x"}))
    _try(api, object_of(metadata={"type": "object", PRESERVE: True}))


@case("apiVersion and kind are strings")
def _(api: Api) -> None:
    _try(api, object_of(kind=NUMBER))
    _try(api, object_of(apiVersion={"type": "object"}))
    _try(api, object_of(apiVersion=TEXT, kind=TEXT))


@case("top-level metadata has no defaults")
def _(api: Api) -> None:
    _try(api, object_of(kind={"type": "string", "default": "X"}))
    _try(api, object_of(metadata=object_of(name={"type": "string", "default": "x"})))


@case("restrictions do not define types")
def _(api: Api) -> None:
    for junctor in ("allOf", "anyOf", "oneOf"):
        _field(api, {"type": "string", junctor: [{"type": "string"}]})
    _field(api, {"type": "string", "not": {"type": "integer"}})


@case("restrictions have no defaults, texts and extensions")
def _(api: Api) -> None:
    for misplaced in (
        {"default": "x"},
        {"title": "x"},
        {"description": "x"},
        {"nullable": True},
        {PRESERVE: True},
        {EMBEDDED: True},
        {INT_OR_STRING: True},
        {LIST_TYPE: "atomic"},
        {KEYS: ["a"]},
        {MAP_TYPE: "atomic"},
        {"x-kubernetes-validations": [{"rule": "true"}]},
        {"additionalProperties": TEXT},
        {"additionalProperties": True},
        {"additionalProperties": False},
    ):
        _field(api, {"type": "string", "anyOf": [misplaced]})


@case("restrictions restrict what is defined")
def _(api: Api) -> None:
    _try(api, object_of(a=TEXT) | {"anyOf": [{"properties": {"b": {"minLength": 1}}}]})
    _try(api, object_of(a=TEXT) | {"anyOf": [{"properties": {"a": {"minLength": 1}}}]})
    _try(api, object_of(a=TEXT) | {"not": {"items": {"minLength": 1}}})
    _try(api, object_of(a=TEXT) | {"allOf": [{"properties": {"a": {"properties": {"c": {}}}}}]})
    _field(api, object_of(b=TEXT) | {"anyOf": [{"properties": {"c": {"minLength": 1}}}]})


@case("metadata is not restricted in part")
def _(api: Api) -> None:
    _try(api, object_of(metadata=object_of()) | {"anyOf": [{"properties": {"metadata": {}}}]})


@case("an integer or string has both or neither type")
def _(api: Api) -> None:
    both = [{"type": "integer"}, {"type": "string"}]
    _field(
        api,
        {INT_OR_STRING: True},
        {INT_OR_STRING: True, "anyOf": both},
        {INT_OR_STRING: True, "allOf": [{"anyOf": both}, {"pattern": "^a"}]},
        {INT_OR_STRING: True, "allOf": [{"pattern": "^a"}, {"anyOf": both}]},
        {INT_OR_STRING: True, "anyOf": both[::-1]},
        {INT_OR_STRING: True, "anyOf": both[:1]},
        {INT_OR_STRING: True, "type": "string"},
        {"anyOf": both},
        {"type": "string", "anyOf": both},
    )


@case("an integer or string is nothing else")
def _(api: Api) -> None:
    _field(api, {INT_OR_STRING: True, PRESERVE: True}, {INT_OR_STRING: True, EMBEDDED: True})


@case("unknown fields are preserved or not mentioned")
def _(api: Api) -> None:
    _field(api, {"type": "object", PRESERVE: False}, {"type": "object", PRESERVE: True})
    _try(api, object_of() | {PRESERVE: False})


@case("an embedded resource is an object with fields")
def _(api: Api) -> None:
    _field(
        api,
        {EMBEDDED: True},
        {"type": "string", EMBEDDED: True},
        {"type": "object", EMBEDDED: True},
        {"type": "object", EMBEDDED: True, PRESERVE: True},
        object_of(spec=object_of()) | {EMBEDDED: True},
        {"type": "object", EMBEDDED: True, "additionalProperties": TEXT},
        object_of(kind=NUMBER, metadata=TEXT) | {EMBEDDED: True},
        object_of(metadata=object_of(labels={"type": "object", "additionalProperties": TEXT})) | {EMBEDDED: True},
    )
    _try(api, object_of(metadata=object_of(x={"type": "object", EMBEDDED: True, PRESERVE: True})))
    inner = {"type": "object", EMBEDDED: True, PRESERVE: True}
    _field(api, object_of(metadata=object_of(x=inner)) | {EMBEDDED: True})


@case("lists have a type that exists")
def _(api: Api) -> None:
    _field(
        api,
        {"type": "array", "items": TEXT, LIST_TYPE: "atomic"},
        {"type": "array", "items": TEXT, LIST_TYPE: "set"},
        {"type": "array", "items": TEXT, LIST_TYPE: "bag"},
        {"type": "array", "items": TEXT, LIST_TYPE: ""},
        {"type": "string", LIST_TYPE: "set"},
        {PRESERVE: True, LIST_TYPE: "set"},
    )


@case("items of a set are atomic")
def _(api: Api) -> None:
    _field(
        api,
        {"type": "array", "items": object_of(a=TEXT), LIST_TYPE: "set"},
        {"type": "array", "items": object_of(a=TEXT) | {MAP_TYPE: "granular"}, LIST_TYPE: "set"},
        {"type": "array", "items": object_of(a=TEXT) | {MAP_TYPE: "atomic"}, LIST_TYPE: "set"},
        {"type": "array", "items": {"type": "array", "items": TEXT}, LIST_TYPE: "set"},
        {"type": "array", "items": {"type": "array", "items": TEXT, LIST_TYPE: "set"}, LIST_TYPE: "set"},
        {"type": "array", "items": TEXT | {"nullable": True}, LIST_TYPE: "set"},
    )


def _map(items: Plain, *keys: str, **fields: Any) -> Plain:
    return {"type": "array", "items": items, LIST_TYPE: "map", KEYS: list(keys)} | fields


@case("a list of type map has keys")
def _(api: Api) -> None:
    name = object_of(name=TEXT) | {"required": ["name"]}
    _field(
        api,
        _map(name, "name"),
        _map(name),
        _map(name, "name", "name"),
        _map(name, "id"),
        _map(TEXT, "name"),
        {"type": "array", LIST_TYPE: "map", KEYS: ["name"]},
        {"type": "array", "items": name, KEYS: ["name"]},
        _map(name, "name") | {LIST_TYPE: "set"},
        _map(object_of(name=object_of()) | {"required": ["name"]}, "name"),
    )


@case("keys of a list are required or have a default, and are never null")
def _(api: Api) -> None:
    default = {"type": "string", "default": "x"}
    _field(
        api,
        _map(object_of(name=TEXT), "name"),
        _map(object_of(name=default), "name"),
        _map(object_of(name=default | {"nullable": True}), "name"),
        _map(object_of(name=TEXT) | {"required": ["name"], "nullable": True}, "name"),
    )


@case("maps are atomic or granular")
def _(api: Api) -> None:
    _field(
        api,
        object_of() | {MAP_TYPE: "atomic"},
        object_of() | {MAP_TYPE: "granular"},
        object_of() | {MAP_TYPE: "set"},
        {"type": "array", "items": TEXT, MAP_TYPE: "atomic"},
        {PRESERVE: True, MAP_TYPE: "atomic"},
    )


@case("formats that are unknown bring a warning")
def _(api: Api) -> None:
    _field(
        api,
        {"type": "string", "format": "colour"},
        {"type": "string", "format": "date-time"},
        {"type": "integer", "format": "int128"},
    )


@case("rules have an expression")
def _(api: Api) -> None:
    for rule in (
        {"rule": ""},
        {"rule": "  "},
        {"rule": "true", "message": " "},
        {"rule": "true", "message": "a\nb"},
        {"rule": "true\n|| true"},
        {"rule": "true\n|| true", "message": "no"},
        {"rule": "true", "messageExpression": " "},
        {"rule": "true", "reason": "Wrong"},
        {"rule": "true", "reason": "FieldValueForbidden"},
    ):
        _field(api, {"type": "string", "x-kubernetes-validations": [rule]})


@case("the field of a rule exists")
def _(api: Api) -> None:
    schema = object_of(
        b=TEXT, m={"type": "object", "additionalProperties": TEXT}, list={"type": "array", "items": TEXT}
    )
    for path in (".b", ".c", "b", ".m['x']", ".m.x", ".list[0]", " ", ".b\n", ".b.c", "['b']", ".m['x"):
        _field(api, schema | {"x-kubernetes-validations": [{"rule": "true", "fieldPath": path}]})


@case("a field that no schema has is unknown")
def _(api: Api) -> None:
    for validation in ("Strict", "Warn", "Ignore"):
        api.create(
            DEFINITIONS,
            definition(api, object_of(a={"type": "string", "colour": "red"}), colour="red"),
            dryRun="All",
            fieldValidation=validation,
        )


@case("values of the wrong type are not decoded")
def _(api: Api) -> None:
    for wrong in (
        {"type": 1},
        {"type": "object", "properties": []},
        {"type": "string", "maxLength": "5"},
        {"type": "string", "maxLength": 1.5},
        {"type": "object", "additionalProperties": "x"},
        {"type": "array", "items": "x"},
        {"type": "string", "nullable": "yes"},
    ):
        _field(api, wrong)
