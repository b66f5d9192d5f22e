"""CustomResourceDefinitions: which defaults are accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.definitions import DEFINITIONS, TEXT, definition, object_of

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Defaults of definitions")

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"


def _field(api: Api, *schemas: Plain) -> None:
    """Try each of these schemas for a field."""
    for schema in schemas:
        api.create(DEFINITIONS, definition(api, object_of(a=schema)), dryRun="All")


@case("a default is of its type")
def _(api: Api) -> None:
    _field(
        api,
        {"type": "string", "default": 1},
        {"type": "integer", "default": "1"},
        {"type": "integer", "default": 1.5},
        {"type": "boolean", "default": "true"},
        {"type": "array", "items": TEXT, "default": ["a", 1]},
        {"type": "string", "default": None},
        {"type": "string", "nullable": True, "default": None},
        {INT_OR_STRING: True, "default": 1},
        {INT_OR_STRING: True, "default": True},
    )


@case("a default is valid")
def _(api: Api) -> None:
    _field(
        api,
        {"type": "string", "enum": ["a", "b"], "default": "c"},
        {"type": "string", "maxLength": 1, "default": "ab"},
        {"type": "string", "pattern": "^a$", "default": "b"},
        {"type": "integer", "maximum": 3, "default": 4},
        {"type": "array", "items": TEXT, "minItems": 1, "default": []},
        object_of(b=TEXT) | {"required": ["b"], "default": {}},
        {"type": "string", "format": "date-time", "default": "today"},
    )


@case("a default has no unknown fields")
def _(api: Api) -> None:
    _field(
        api,
        object_of(b=TEXT) | {"default": {"b": "x", "c": 1}},
        object_of(b=TEXT) | {"default": {"b": "x"}},
        object_of(b=object_of(c=TEXT)) | {"default": {"b": {"d": 1}}},
        {"type": "object", PRESERVE: True, "default": {"anything": 1}},
        {"type": "array", "items": object_of(b=TEXT), "default": [{"c": 1}]},
    )


@case("defaults stand within items, too")
def _(api: Api) -> None:
    _field(
        api,
        {"type": "array", "items": object_of(b={"type": "string", "default": 1})},
        {"type": "object", "additionalProperties": object_of(b={"type": "string", "default": "x"})},
    )


@case("defaults of embedded resources make valid metadata")
def _(api: Api) -> None:
    whole = {"type": "object", EMBEDDED: True, PRESERVE: True}
    _field(
        api,
        whole | {"default": {"apiVersion": "v1", "kind": "Pod"}},
        whole | {"default": {"kind": "Pod"}},
        whole | {"default": {"apiVersion": "a/b/c", "kind": "My Pod"}},
        whole | {"default": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a/b"}}},
        whole | {"default": {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b c"}}}},
        object_of(kind=TEXT | {"default": "My Pod"}) | {EMBEDDED: True},
        object_of(kind=TEXT | {"default": "Pod"}, apiVersion=TEXT | {"default": "v1"}) | {EMBEDDED: True},
        object_of(metadata=object_of(name=TEXT | {"default": "a/b"})) | {EMBEDDED: True},
        object_of(metadata=object_of(name=TEXT | {"default": "a", "maxLength": 0})) | {EMBEDDED: True},
    )


@case("a default may break the rules of its parts")
def _(api: Api) -> None:
    _field(
        api,
        object_of(b=TEXT | {"maxLength": 1}) | {"default": {"b": "xx"}},
        object_of(b=TEXT | {"maxLength": 1, "default": "x"}) | {"default": {}},
        {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set", "default": ["a", "a"]},
        {"type": "object", "additionalProperties": TEXT | {"default": 1}},
        TEXT | {"nullable": True, "default": "x"},
        object_of(b=TEXT) | {"default": {"b": None}},
        object_of(b=TEXT | {"nullable": True}) | {"default": {"b": None}},
        {"type": "number", "default": 1e100},
        {"type": "integer", "format": "int32", "default": 3000000000},
    )
