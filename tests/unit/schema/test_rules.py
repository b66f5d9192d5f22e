"""Rules of schemas, evaluated for objects."""

from __future__ import annotations

from typing import Any

import pytest

from masthead._schema.rules import RuleSet, compile_rules
from masthead._schema.schema import Schema


def rules_of(spec: dict[str, Any], *rules: dict[str, Any]) -> RuleSet:
    schema = {"type": "object", "properties": {"spec": {**spec, "x-kubernetes-validations": list(rules)}}}
    return compile_rules(Schema.from_plain(schema))


REPLICAS = {"type": "object", "properties": {"replicas": {"type": "integer"}, "max": {"type": "integer"}}}


def messages(rules: RuleSet, spec: object, old: object = None) -> list[str]:
    before = None if old is None else {"spec": old}
    return [str(error) for error in rules.errors({"spec": spec}, before)]


def test_a_rule_that_holds_gives_no_error() -> None:
    rules = rules_of(REPLICAS, {"rule": "self.replicas <= self.max"})
    assert messages(rules, {"replicas": 1, "max": 2}) == []


def test_a_rule_that_fails_names_its_expression() -> None:
    rules = rules_of(REPLICAS, {"rule": "self.replicas <= self.max"})
    assert messages(rules, {"replicas": 3, "max": 2}) == ["spec: Invalid value: failed rule: self.replicas <= self.max"]


def test_a_message_replaces_the_expression() -> None:
    rules = rules_of(REPLICAS, {"rule": "self.replicas <= self.max", "message": " too many "})
    assert messages(rules, {"replicas": 3, "max": 2}) == ["spec: Invalid value: too many"]


def test_a_message_expression_makes_the_message() -> None:
    rule = {"rule": "self.replicas <= self.max", "messageExpression": "'at most ' + string(self.max)"}
    assert messages(rules_of(REPLICAS, rule), {"replicas": 3, "max": 2}) == ["spec: Invalid value: at most 2"]


@pytest.mark.parametrize("expression", ["''", "'a\\nb'", "string(1 / (self.max - 2))"])
def test_a_message_expression_without_a_usable_message_falls_back(expression: str) -> None:
    rule = {"rule": "self.replicas <= self.max", "message": "fallback", "messageExpression": expression}
    assert messages(rules_of(REPLICAS, rule), {"replicas": 3, "max": 2}) == ["spec: Invalid value: fallback"]


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("FieldValueForbidden", "spec.replicas: Forbidden: no"),
        ("FieldValueRequired", "spec.replicas: Required value: no"),
        ("FieldValueInvalid", "spec.replicas: Invalid value: no"),
    ],
)
def test_reason_and_field_path_shape_the_error(reason: str, expected: str) -> None:
    rule = {"rule": "self.replicas == 1", "message": "no", "reason": reason, "fieldPath": ".replicas"}
    assert messages(rules_of(REPLICAS, rule), {"replicas": 2}) == [expected]


def test_a_missing_field_is_an_error() -> None:
    rules = rules_of(REPLICAS, {"rule": "self.replicas <= self.max"})
    assert messages(rules, {"replicas": 3}) == [
        'spec: Invalid value: "object": no such key: max evaluating rule: self.replicas <= self.max'
    ]


def test_transition_rules_hold_only_for_updates() -> None:
    rules = rules_of(REPLICAS, {"rule": "self.replicas >= oldSelf.replicas", "message": "grows"})
    assert messages(rules, {"replicas": 1}) == []
    assert messages(rules, {"replicas": 1}, {"replicas": 2}) == ["spec: Invalid value: grows"]


def test_an_optional_old_self_is_there_on_creation_too() -> None:
    rule = {
        "rule": "oldSelf.hasValue() || self.replicas == 1",
        "optionalOldSelf": True,
        "message": "one first",
    }
    rules = rules_of(REPLICAS, rule)
    assert messages(rules, {"replicas": 2}) == ["spec: Invalid value: one first"]
    assert messages(rules, {"replicas": 2}, {"replicas": 1}) == []


def test_rules_of_unchanged_values_do_not_count() -> None:
    rules = rules_of(REPLICAS, {"rule": "self.replicas < 2", "message": "too many"})
    warnings: list[str] = []
    value = {"metadata": {"name": "new"}, "spec": {"replicas": 2}}
    assert rules.errors(value, {"spec": {"replicas": 2}}, warnings=warnings) == []
    assert warnings == ["spec: Invalid value: too many"]


def test_items_of_lists_with_keys_have_their_old_values() -> None:
    spec = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
            "x-kubernetes-validations": [{"rule": "self.size >= oldSelf.size", "message": "grows"}],
        },
    }
    old = [{"name": "a", "size": 5}, {"name": "b", "size": 5}]
    new = [{"name": "b", "size": 4}, {"name": "c", "size": 1}, {"name": "a", "size": 6}]
    assert messages(rules_of(spec), new, old) == ["spec[0]: Invalid value: grows"]


def test_the_budget_ends_the_validation() -> None:
    rules = rules_of(REPLICAS, {"rule": "self.replicas > 0"}, {"rule": "self.replicas > 1"})
    errors = rules.errors({"spec": {"replicas": 5}}, budget=4)
    assert [error.detail for error in errors] == [
        "validation failed due to running out of cost budget, no further validation rules will be run"
    ]


def test_keywords_and_special_characters_are_escaped() -> None:
    names = {"namespace": 1, "x-y": 2, "a.b": 3, "c/d": 4, "e__f": 5}
    spec = {"type": "object", "properties": {name: {"type": "integer"} for name in names}}
    rule = (
        "self.__namespace__ == 1 && self.namespace == 1 && self.x__dash__y == 2 && self.a__dot__b == 3 "
        "&& self.c__slash__d == 4 && self.e__underscores__f == 5"
    )
    assert messages(rules_of(spec, {"rule": rule}), names) == []


def test_rules_that_cost_more_than_they_may_are_not_decided() -> None:
    numbers = {"type": "array", "maxItems": 50, "items": {"type": "integer"}}
    rules = rules_of(numbers, {"rule": "self.all(a, self.all(b, a + b > 0))", "message": "positive"})
    value = {"spec": list(range(1, 50))}
    assert rules.errors_within(value, cost=1_000) is None
    assert rules.errors_within(value, cost=100_000) == []
    assert rules.errors(value) == []
    refused = rules.errors_within({"spec": [-1]}, cost=1_000)
    assert [str(each) for each in refused or []] == ["spec: Invalid value: positive"]


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "integer"}, "5", "invalid data, expected int, got string"),
        ({"type": "integer"}, 1.0, "invalid data, expected int, got float64"),
        ({"type": "string"}, 5, "invalid data, expected string, got int64"),
        ({"type": "boolean"}, [], "invalid data, expected bool, got []interface {}"),
        ({"type": "number"}, True, "invalid data, expected float, got bool"),
        ({"type": "string", "format": "duration"}, 5, "invalid data, expected string, got int64"),
    ],
)
def test_a_value_that_its_schema_does_not_allow_is_an_error(schema: Any, value: Any, expected: str) -> None:
    field = rules_of({"type": "object", "properties": {"a": schema}}, {"rule": "self.a == self.a"})
    assert messages(field, {"a": value}) == [
        f'spec: Invalid value: "object": {expected} evaluating rule: self.a == self.a'
    ]
    alone = rules_of(schema, {"rule": "self == self"})
    assert messages(alone, value) == [
        f'spec: Invalid value: "{schema["type"]}": {expected} evaluating rule: self == self'
    ]
