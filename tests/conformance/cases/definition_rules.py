"""CustomResourceDefinitions: which validation rules are accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.definitions import (
    DEFINITIONS,
    NUMBER,
    TEXT,
    definition,
    group_of,
    install,
    object_of,
    update,
)

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Rules of definitions")

RULES = "x-kubernetes-validations"
SHORT: Plain = {"type": "string", "maxLength": 5}


def _field(api: Api, *schemas: Plain) -> None:
    """Try each of these schemas for a field."""
    for schema in schemas:
        api.create(DEFINITIONS, definition(api, object_of(a=schema)), dryRun="All")


def _rule(schema: Plain, *rules: str, **fields: Any) -> Plain:
    return schema | {RULES: [{"rule": rule} | fields for rule in rules]}


@case("rules compile")
def _(api: Api) -> None:
    for rule in ("self ==", "self.size() > 'a'", "other == 1", "1", "self == oldSelf", "self.x == 1"):
        _field(api, _rule(SHORT, rule))


@case("several errors of rules are reported together")
def _(api: Api) -> None:
    _field(api, _rule(SHORT, "self == 1", "self == 'a'", "self.y"))


@case("a message is made by an expression")
def _(api: Api) -> None:
    for expression in ("'is ' + self", "1", "self +", "oldSelf"):
        _field(api, _rule(SHORT, "self == ''", messageExpression=expression))


@case("rules have a cost")
def _(api: Api) -> None:
    items = {"type": "array", "items": TEXT}
    _field(api, _rule(items, "self.all(a, self.all(b, a == b))"))
    bounded = {"type": "array", "maxItems": 5, "items": SHORT}
    _field(api, _rule(bounded, "self.all(a, self.all(b, a == b))"))


@case("the cost of a rule grows with the lists around it")
def _(api: Api) -> None:
    inner = _rule(SHORT, "self.matches('^a+$')")
    for limit in (None, 1000, 100_000_000):
        items: Plain = {"type": "array", "items": {"type": "array", "items": inner, "maxItems": 1000}}
        _field(api, items if limit is None else items | {"maxItems": limit})


@case("the cost of all rules together is limited")
def _(api: Api) -> None:
    texts = {"type": "array", "maxItems": 100, "items": {"type": "string", "maxLength": 60}}
    rule = "self.all(a, self.all(b, a.startsWith(b)))"
    _field(api, object_of(**{f"f{number}": _rule(texts, *[rule] * 8) for number in range(1)}))


@case("an old value is known where items can be told apart")
def _(api: Api) -> None:
    old = _rule(SHORT, "self == oldSelf")
    name = object_of(name=TEXT, b=old) | {"required": ["name"]}
    _field(
        api,
        object_of(b=old),
        {"type": "array", "items": old, "maxItems": 5},
        {"type": "array", "items": old, "maxItems": 5, "x-kubernetes-list-type": "set"},
        {
            "type": "array",
            "items": name,
            "maxItems": 5,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        {"type": "object", "additionalProperties": old, "maxProperties": 5},
        object_of(b=old) | {"x-kubernetes-map-type": "atomic"},
    )


@case("an optional old value belongs to a rule that uses it")
def _(api: Api) -> None:
    _field(api, _rule(SHORT, "self == 'a'", optionalOldSelf=True))
    _field(api, _rule(SHORT, "self == 'a'", optionalOldSelf=False))
    _field(api, _rule(SHORT, "!oldSelf.hasValue() || oldSelf.value() == self", optionalOldSelf=True))
    _field(api, _rule(SHORT, "oldSelf == self", optionalOldSelf=True))


@case("rules of a schema that is not structural are not compiled")
def _(api: Api) -> None:
    _field(api, object_of(b={}) | {RULES: [{"rule": "self =="}]})
    _field(api, object_of(b={"type": "text"}) | {RULES: [{"rule": "self =="}]})
    _field(api, object_of(b=_rule(SHORT, "self =="), c=_rule(SHORT, "")))


@case("rules see the fields that are declared")
def _(api: Api) -> None:
    schema = object_of(
        name=SHORT,
        size=NUMBER,
        int_or={"x-kubernetes-int-or-string": True},
        any={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        odd=object_of(**{"a-b": SHORT, "if": SHORT}),
    )
    for rule in (
        "self.name == 'a'",
        "self.missing == 'a'",
        "self.size + 1.0 > 2.0",
        "self.size == '1'",
        "has(self.any.x)",
        "self.any.x == 1",
        "type(self.int_or) == int",
        "self.odd.a__dash__b == 'x'",
        "self.odd.__if__ == 'x'",
        "self.metadata.name == 'x'",
    ):
        _field(api, _rule(schema, rule))


@case("rules at the root see names in metadata")
def _(api: Api) -> None:
    for rule in (
        "self.metadata.name == 'x'",
        "self.metadata.labels.x == 'x'",
        "self.kind == 'x'",
        "self.apiVersion",
    ):
        schema = object_of(a=SHORT) | {RULES: [{"rule": rule}]}
        api.create(DEFINITIONS, definition(api, schema), dryRun="All")


@case("a default follows the rules")
def _(api: Api) -> None:
    _field(
        api,
        _rule(SHORT | {"default": "b"}, "self == 'a'"),
        _rule(SHORT | {"default": "a"}, "self == 'a'"),
        _rule(SHORT | {"default": "a"}, "self == 'b'", message="must be b"),
        _rule(SHORT | {"default": "a"}, "self =="),
        _rule(SHORT | {"default": "a"}, "self == oldSelf"),
        _rule(SHORT | {"default": "a"}, "oldSelf.hasValue()", optionalOldSelf=True),
        object_of(b=_rule(SHORT, "self == 'a'")) | {"default": {"b": "c"}},
        _rule(SHORT | {"default": "b"}, "self == 'a'", reason="FieldValueForbidden"),
    )


@case("a rule that costs too much stays if its schema does")
def _(api: Api) -> None:
    install(api, definition(api, object_of(a=_rule(SHORT, "self != ''"))))
    update(api, "widgets", lambda found: found["spec"].update(scope="Namespaced"))

    def change(found: Plain) -> None:
        schema = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        schema["properties"]["a"][RULES][0]["rule"] = "self.nope"

    update(api, "widgets", change)
    api.get(DEFINITIONS, f"widgets.{group_of(api)}")
