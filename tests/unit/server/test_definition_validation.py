"""Validation of CustomResourceDefinitions: what an update may keep, and what bounds the work."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead_server.resources.builtin.apiextensions.customresourcedefinition.schema_reports import (
    MAX_SCHEMA_DEPTH,
    report_on,
)
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.validation import (
    definition_changes,
    definition_errors,
)
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.version_schemas import (
    reports_on,
)

TEXT: dict[str, Any] = {"type": "string"}
ESTABLISHED = {"type": "Established", "status": "True"}


def object_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def definition(schema: dict[str, Any] | None, **spec: Any) -> dict[str, Any]:
    version: dict[str, Any] = {"name": "v1", "served": True, "storage": True}
    if schema is not None:
        version["schema"] = {"openAPIV3Schema": schema}
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [version],
            "conversion": {"strategy": "None"},
        }
        | spec,
        "status": {"storedVersions": ["v1"], "conditions": [ESTABLISHED]},
    }


def changes(new: dict[str, Any], old: dict[str, Any]) -> list[str]:
    return [str(definition_change) for definition_change in definition_changes(new, old)]


MAP = {
    "type": "array",
    "items": object_of(name=TEXT),
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
}


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "text"},
        {"type": "array", "items": object_of(a=TEXT), "x-kubernetes-list-type": "set"},
        MAP,
        object_of(b=TEXT) | {"default": {"unknown": 1}},
    ],
    ids=["an unknown type", "a set of objects", "an optional key", "an unknown field in a default"],
)
def test_what_was_accepted_once_may_stay_and_spread(wrong: dict[str, Any]) -> None:
    stored, new = definition(object_of(a=wrong)), definition(object_of(a=wrong, b=wrong))
    assert definition_errors(new)
    assert changes(new, stored) == []
    assert changes(new, definition(object_of(a=TEXT)))


def test_a_version_without_a_schema_may_stay_if_its_objects_are_not_pruned() -> None:
    stored = definition(None, preserveUnknownFields=True)
    assert changes(copy.deepcopy(stored), stored) == []
    assert changes(definition(None), stored) == [
        "spec.versions[0].schema.openAPIV3Schema: Required value: because otherwise all fields are pruned"
    ]


def test_a_schema_that_is_not_structural_may_stay_if_unknown_fields_do() -> None:
    stored = definition(object_of(a={}), preserveUnknownFields=True)
    assert changes(copy.deepcopy(stored), stored) == []
    assert changes(definition(object_of(a={})), stored)


def test_a_webhook_that_takes_no_known_review_may_stay() -> None:
    webhook = {"clientConfig": {"url": "https://example.com"}, "conversionReviewVersions": ["v7"]}
    stored = definition(object_of(), conversion={"strategy": "Webhook", "webhook": webhook})
    assert changes(copy.deepcopy(stored), stored) == []
    assert len(changes(stored, definition(object_of()))) == 1


def test_more_selectable_fields_than_the_limit_may_stay_as_they_are() -> None:
    names = [f"f{index}" for index in range(9)]
    schema = object_of(**dict.fromkeys(names, TEXT))
    stored = definition(schema)
    stored["spec"]["versions"][0]["selectableFields"] = [{"jsonPath": f".{name}"} for name in names]
    assert changes(copy.deepcopy(stored), stored) == []
    assert changes(stored, definition(schema)) == ["spec.selectableFields: Too many: 9: must have at most 8 items"]


def test_a_rule_that_costs_too_much_may_stay_in_a_schema_that_does_not_change() -> None:
    rule = {"rule": "self.all(a, self.all(b, a == b))"}
    costly = {"type": "array", "items": TEXT, "maxItems": 2000, "x-kubernetes-validations": [rule]}
    stored, other = definition(object_of(a=costly)), definition(object_of(a=costly, b=TEXT))
    assert any("estimated rule cost exceeds" in change for change in changes(other, stored))
    assert not any("estimated rule cost exceeds" in change for change in changes(copy.deepcopy(stored), stored))


def test_a_schema_is_reported_on_once() -> None:
    schema = object_of(a=TEXT, b={})
    assert report_on(schema, "s") is report_on(copy.deepcopy(schema), "s")
    assert report_on(schema, "s") is not report_on(schema, "t")


def test_a_schema_that_nests_too_deeply_is_refused() -> None:
    schema = TEXT
    for _ in range(MAX_SCHEMA_DEPTH + 1):
        schema = {"type": "array", "items": schema}
    found = [str(definition_error) for definition_error in definition_errors(definition(object_of(a=schema)))]
    assert found == [
        f'spec.validation.openAPIV3Schema: Invalid value: "": must not be nested more than {MAX_SCHEMA_DEPTH} levels deep'  # noqa: E501
    ]


_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(
            st.sampled_from(["spec", "versions", "schema", "openAPIV3Schema", "properties", "items", "type", "anyOf"]),
            below,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.just("spec"), _JSON, max_size=1))
def test_a_review_of_anything_ends(sent: dict[str, Any]) -> None:
    # Whatever was sent is decoded, and refused, afterwards.
    with suppress(AttributeError, KeyError, TypeError, ValueError):
        reports_on(sent)
