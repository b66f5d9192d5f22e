"""Custom resources: what their schemas drop and add, and what of it changes with the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.cases.custom_validation import widget
from tests.conformance.definitions import (
    NUMBER,
    TEXT,
    definition,
    group_of,
    install,
    object_of,
    resource_of,
    update,
)

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Fields of custom resources")

ANYTHING: Plain = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
SMALL: Plain = object_of(a=TEXT, b=NUMBER)
ONE: Plain = NUMBER | {"default": 1}


def _fields(sentence: str, spec: Plain, *values: Any) -> None:
    """A case that creates objects, and shows what becomes of their fields."""

    @case(sentence)
    def _(api: Api) -> None:
        install(api, definition(api, object_of(spec=spec)))
        for value in values:
            api.create(resource_of(api), widget(api, value), dryRun="All", fieldValidation="Warn")


# Unknown fields

_fields("unknown fields are dropped", SMALL, {"a": "x", "c": 1, "d": {"e": 1}}, {"c": 1})
_fields(
    "unknown fields are dropped in lists",
    object_of(l={"type": "array", "items": SMALL}),
    {"l": [{"a": ""}, {"c": 1}]},
)
_fields(
    "unknown fields are dropped in maps",
    object_of(m={"type": "object", "additionalProperties": SMALL}),
    {"m": {"k": {"a": "", "c": 1}}},
)
_fields("unknown fields are kept where the schema says so", ANYTHING, {"a": {"b": [{"c": 1}]}, "d": None})
_fields(
    "known fields of what keeps unknown ones are pruned",
    ANYTHING | object_of(a=SMALL),
    {"a": {"a": "", "c": 1}, "d": {"e": 1}},
)
_fields(
    "a field of any type keeps everything",
    object_of(v={"x-kubernetes-preserve-unknown-fields": True}),
    {"v": [{"a": 1}], "w": 1},
)
_fields(
    "an embedded object keeps its metadata",
    object_of(o={"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": SMALL}}),
    {
        "o": {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "a"},
            "spec": {"a": "", "c": 1},
            "status": {},
        }
    },
    {
        "o": {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "a", "unknown": 1, "creationTimestamp": None},
        }
    },
)
_fields(
    "a map of anything drops the fields of its values",
    object_of(m={"type": "object", "additionalProperties": True}),
    {"m": {"k": 1}},
)


@case("unknown fields at the root are dropped, and unknown metadata")
def _(api: Api) -> None:
    install(api, definition(api, object_of(spec=SMALL)))
    body = widget(api, {"a": "x"}) | {"other": 1, "status": {}}
    body["metadata"]["unknown"] = 1
    api.create(resource_of(api), body, fieldValidation="Warn")
    api.get(resource_of(api), "a")


@case("unknown fields are an error if validation is strict")
def _(api: Api) -> None:
    install(api, definition(api, object_of(spec=SMALL)))
    api.create(resource_of(api), widget(api, {"c": 1}), fieldValidation="Strict")
    api.create(resource_of(api), widget(api, {"d": 1, "a": {"x": 1}, "c": {"e": 1}}), fieldValidation="Strict")
    api.create(resource_of(api), widget(api, {"c": 1}), fieldValidation="Ignore")
    api.patch(resource_of(api), "a", {"spec": {"c": 1}}, fieldValidation="Strict")


@case("without a choice, unknown fields are a warning")
def _(api: Api) -> None:
    install(api, definition(api, object_of(spec=SMALL)))
    api.create(resource_of(api), widget(api, {"c": 1}))
    api.update(resource_of(api), "a", widget(api, {"b": 1, "c": 1}))


# Null

_fields("null is dropped where it is not allowed", SMALL, {"a": None, "b": 1})
_fields("null is kept where it is allowed", object_of(a=TEXT | {"nullable": True}), {"a": None})
_fields("null is dropped in maps", {"type": "object", "additionalProperties": TEXT}, {"a": None, "b": "x"})
_fields("null is replaced by a default", object_of(a=ONE), {"a": None})
_fields("a null that is allowed is not replaced", object_of(a=ONE | {"nullable": True}), {"a": None}, {})
_fields("null in a list is replaced by a default", object_of(l={"type": "array", "items": ONE}), {"l": [None, 2]})

# Defaults

_fields("missing fields get defaults", object_of(a=ONE, b=TEXT | {"default": ""}), {}, {"a": 0}, {"b": "x"})
_fields("a default needs the object that it is in", object_of(o=object_of(a=ONE)), {}, {"o": {}})
_fields(
    "a default gets the defaults in it",
    object_of(o=object_of(a=ONE, b=TEXT) | {"default": {}}),
    {},
    {"o": {"b": "x"}},
)
_fields(
    "items of lists get defaults",
    object_of(l={"type": "array", "items": object_of(a=ONE)}),
    {"l": [{}, {"a": 2}]},
)
_fields(
    "values of maps get defaults",
    {"type": "object", "additionalProperties": object_of(a=ONE)},
    {"x": {}, "y": {"a": 2}},
)
_fields("lists may have defaults", object_of(l={"type": "array", "items": TEXT, "default": ["a"]}), {}, {"l": []})
_fields(
    "defaults are set before required fields are checked",
    SMALL | object_of(a=ONE, b=NUMBER) | {"required": ["a"]},
    {},
)
_fields(
    "a default with a fraction of zero is an integer",
    object_of(a={"type": "number", "default": 2.0}),
    {},
    {"a": 3.0},
)


@case("a default that a patch removes comes back")
def _(api: Api) -> None:
    install(api, definition(api, object_of(spec=object_of(a=ONE, b=TEXT))))
    api.create(resource_of(api), widget(api, {"a": 2}))
    api.patch(resource_of(api), "a", {"spec": {"a": None}})
    api.patch(resource_of(api), "a", [{"op": "remove", "path": "/spec/a"}], by="json")
    api.update(resource_of(api), "a", widget(api, {}))


# Schemas that change


def _change_schema(api: Api, spec: Plain) -> None:
    """Give the objects of a definition another schema, and wait until it is in effect: until a default is set."""
    spec = spec | {"properties": spec["properties"] | {"changed": {"type": "boolean", "default": True}}}

    def change(found: Plain) -> None:
        found["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = object_of(spec=spec)

    update(api, "widgets", change)
    path = f"/apis/{group_of(api)}/v1/namespaces/{api.namespace}/widgets/a"
    api.await_response(path, lambda _, found: "changed" in found.get("spec", {}))


def _install_loosely(api: Api, spec: Any) -> None:
    """Store an object whose fields have no schemas yet."""
    install(api, definition(api, object_of(spec=ANYTHING)))
    api.create(resource_of(api), widget(api, spec))


@case("stored fields that a schema no longer has are not returned")
def _(api: Api) -> None:
    _install_loosely(api, {"a": "x", "c": 1})
    _change_schema(api, SMALL)
    api.get(resource_of(api), "a")
    api.list(resource_of(api))
    _change_schema(api, SMALL | object_of(a=TEXT, c=NUMBER))
    api.get(resource_of(api), "a")


@case("stored objects get the defaults of a new schema")
def _(api: Api) -> None:
    _install_loosely(api, {"o": {}})
    _change_schema(api, object_of(a=ONE, o=object_of(a=ONE)))
    api.get(resource_of(api), "a")
    api.list(resource_of(api))


@case("what is invalid and does not change is accepted")
def _(api: Api) -> None:
    _install_loosely(api, {"a": 1, "b": "x"})
    _change_schema(api, SMALL)
    api.patch(resource_of(api), "a", {"metadata": {"labels": {"a": "b"}}})
    api.patch(resource_of(api), "a", {"spec": {"a": "now valid"}})
    api.patch(resource_of(api), "a", {"spec": {"b": "y"}})
    api.patch(resource_of(api), "a", {"spec": {"a": 2}})


@case("what is missing stays missing")
def _(api: Api) -> None:
    _install_loosely(api, {"o": {}})
    _change_schema(api, object_of(o=SMALL | {"required": ["a"]}, p=SMALL | {"required": ["a"]}))
    api.patch(resource_of(api), "a", {"metadata": {"labels": {"a": "b"}}})
    api.patch(resource_of(api), "a", {"spec": {"o": {"b": 1}}})
    api.patch(resource_of(api), "a", {"spec": {"p": {}}})


@case("a list that changes is validated as a whole")
def _(api: Api) -> None:
    _install_loosely(api, {"l": ["x", 1]})
    _change_schema(api, object_of(l={"type": "array", "items": TEXT}))
    api.patch(resource_of(api), "a", {"spec": {"l": ["x", 1, "y"]}})
    api.patch(resource_of(api), "a", {"spec": {"l": ["x", 1]}})


@case("an item with keys that does not change is accepted")
def _(api: Api) -> None:
    _install_loosely(api, {"l": [{"a": "x", "b": "bad"}, {"a": "y", "b": "bad"}]})
    items = {"type": "array", "items": SMALL | {"required": ["a"]}}
    _change_schema(api, object_of(l=items | {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]}))
    bad, good = {"a": "y", "b": "bad"}, {"a": "x", "b": 1}
    api.patch(resource_of(api), "a", {"spec": {"l": [bad, good]}})
    api.patch(resource_of(api), "a", {"spec": {"l": [bad | {"b": "worse"}, good]}})
    api.patch(resource_of(api), "a", {"spec": {"l": [good, {"a": "z", "b": "bad"}]}})


@case("duplicates that were there before are accepted")
def _(api: Api) -> None:
    _install_loosely(api, {"l": ["a", "a"]})
    _change_schema(api, object_of(l={"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}))
    api.patch(resource_of(api), "a", {"spec": {"l": ["a", "a", "b", "b"]}})
    api.patch(resource_of(api), "a", {"spec": {"l": ["a"]}})
    api.patch(resource_of(api), "a", {"spec": {"l": ["a", "a"]}})


@case("alternatives do not consider the object before")
def _(api: Api) -> None:
    _install_loosely(api, {"o": {"a": "x", "b": 7}})
    _change_schema(api, object_of(o=SMALL | {"anyOf": [{"properties": {"b": {"maximum": 5}}}]}))
    api.patch(resource_of(api), "a", {"metadata": {"labels": {"a": "b"}}})
    api.patch(resource_of(api), "a", {"spec": {"o": {"a": "y"}}})
