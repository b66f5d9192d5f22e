"""The engine of server-side apply, on a small kind that has every type of list and map."""

from __future__ import annotations

import pytest

from masthead._schema.field_sets import FieldSet
from masthead._schema.schema import Definitions, Json, Schema
from masthead._schema.structured_merge.comparison import compare, equal
from masthead._schema.structured_merge.extraction import extract_items
from masthead._schema.structured_merge.items import UnidentifiedItemError
from masthead._schema.structured_merge.managers import (
    ApplyConflicts,
    ManagedSet,
    ManagerKey,
    Managers,
    Updater,
)
from masthead._schema.structured_merge.merging import merge
from masthead._schema.structured_merge.ownership import field_set_of
from masthead._schema.structured_merge.reconciliation import reconcile
from masthead._schema.structured_merge.removal import remove_items
from masthead._schema.structured_merge.type_checking import errors_text, type_errors
from masthead._schema.structured_merge.types import DEDUCED, MergeType, merge_type_of

STRING = {"type": "string"}
PORT = {
    "type": "object",
    "properties": {
        "port": {"type": "integer"},
        "protocol": {"type": "string", "default": "TCP"},
        "name": STRING,
    },
}
KIND = {
    "type": "object",
    "properties": {
        "apiVersion": STRING,
        "kind": STRING,
        "metadata": {
            "type": "object",
            "properties": {
                "name": STRING,
                "uid": STRING,
                "finalizers": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
            },
        },
        "replicas": {"type": "integer"},
        "labels": {"type": "object", "additionalProperties": STRING},
        "selector": {"type": "object", "additionalProperties": STRING, "x-kubernetes-map-type": "atomic"},
        "ports": {
            "type": "array",
            "items": PORT,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
        },
        "finalizers": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
        "args": {"type": "array", "items": STRING},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "any": {},
    },
}
TYPE: MergeType = merge_type_of(Schema.from_plain(KIND), Definitions())
HEAD = {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a"}}


class OneVersion:
    """A kind with one version."""

    def __init__(self, of: MergeType = TYPE) -> None:
        self._type = of

    def convert(self, value: object, to: str) -> object | None:
        return value if to == "v1" else None

    def type_of(self, api_version: str) -> MergeType:
        assert api_version == "v1"
        return self._type


UPDATER = Updater("v1", OneVersion(), {})


def applier(name: str) -> ManagerKey:
    return ManagerKey(name, "Apply", "", "")


def apply_all(live: Json, managers: Managers, *writes: tuple[str, Json], force: bool = False) -> tuple[Json, Managers]:
    for name, config in writes:
        found, managers = UPDATER.apply(live, {**HEAD, **config}, managers, applier(name), force=force)
        live = live if found is None else found
    return live, managers


def without_head(value: Json) -> Json:
    return {name: each for name, each in value.items() if name not in HEAD and each is not None}


def test_scalars_items_entries_and_what_is_atomic_are_owned() -> None:
    value = {
        "replicas": 1,
        "labels": {"a": "b"},
        "selector": {"a": "b"},
        "ports": [{"port": 80, "name": "web"}],
        "finalizers": ["x"],
        "args": ["y"],
        "free": {"deep": {"list": [1]}},
    }
    assert field_set_of(value, TYPE).to_fields_v1() == {
        "f:args": {},
        "f:finalizers": {'v:"x"': {}},
        "f:free": {"f:deep": {".": {}, "f:list": {}}},
        "f:labels": {"f:a": {}},
        "f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:name": {}, "f:port": {}}},
        "f:replicas": {},
        "f:selector": {},
    }


def test_empty_maps_and_nulls_are_owned_but_empty_lists_are_not() -> None:
    value: Json = {"labels": {}, "finalizers": [], "replicas": None, "args": []}
    assert field_set_of(value, TYPE).to_fields_v1() == {"f:args": {}, "f:labels": {}, "f:replicas": {}}


def test_what_is_new_as_a_whole_is_added_with_all_that_is_in_it() -> None:
    found = compare({}, {"labels": {"a": "b"}, "ports": [{"port": 80}]}, TYPE)
    assert found.added.to_fields_v1() == {
        "f:labels": {".": {}, "f:a": {}},
        "f:ports": {".": {}, 'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}},
    }
    assert not found.modified
    assert not found.removed


def test_a_change_inside_is_no_change_of_what_it_is_in() -> None:
    found = compare(
        {"labels": {"a": "b", "c": "d"}, "selector": {"a": "b"}, "replicas": 1},
        {"labels": {"a": "x", "e": "f"}, "selector": {"a": "c"}, "replicas": 1},
        TYPE,
    )
    assert found.added.to_fields_v1() == {"f:labels": {"f:e": {}}}
    assert found.modified.to_fields_v1() == {"f:labels": {"f:a": {}}, "f:selector": {}}
    assert found.removed.to_fields_v1() == {"f:labels": {"f:c": {}}}


def test_null_and_empty_differ() -> None:
    assert compare({"labels": None}, {"labels": {}}, TYPE).modified.to_fields_v1() == {"f:labels": {}}
    assert compare({"finalizers": None}, {"finalizers": ["a"]}, TYPE).added.to_fields_v1() == {
        "f:finalizers": {'v:"a"': {}}
    }


def test_a_value_of_another_form_is_modified_and_its_parts_are_added_or_removed() -> None:
    to_map = compare({"free": {"x": 1}}, {"free": {"x": {"y": 1}}}, TYPE)
    assert to_map.modified.to_fields_v1() == {"f:free": {"f:x": {}}}
    assert to_map.added.to_fields_v1() == {"f:free": {"f:x": {"f:y": {}}}}
    to_scalar = compare({"free": {"x": {"y": 1}}}, {"free": {"x": 1}}, TYPE)
    assert to_scalar.modified.to_fields_v1() == {"f:free": {"f:x": {}}}
    assert to_scalar.removed.to_fields_v1() == {"f:free": {"f:x": {"f:y": {}}}}


def test_duplicate_items_are_compared_as_one() -> None:
    twice = {"finalizers": ["a", "a", "b"]}
    assert compare(twice, {"finalizers": ["a", "b"]}, TYPE) == (
        FieldSet.of(("f:finalizers", 'v:"a"')),
        FieldSet(),
        FieldSet.of(("f:finalizers", 'v:"a"')),
    )
    changed = compare({"ports": [{"port": 1}, {"port": 1}]}, {"ports": [{"port": 1}, {"port": 1, "name": "x"}]}, TYPE)
    assert changed.modified.to_fields_v1() == {"f:ports": {'k:{"port":1,"protocol":"TCP"}': {}}}


def test_a_boolean_never_equals_a_number() -> None:
    assert equal({"a": [1]}, {"a": [1.0]})
    assert not equal({"a": [1]}, {"a": [True]})
    assert not equal(0, False)
    assert equal({"a": 1, "b": 2}, {"b": 2, "a": 1})


def test_merging_keeps_what_the_configuration_does_not_say() -> None:
    live = {
        "replicas": 1,
        "labels": {"a": "b"},
        "selector": {"a": "b"},
        "ports": [{"port": 80, "name": "web"}],
    }
    config = {"labels": {"c": "d"}, "selector": {"c": "d"}, "ports": [{"port": 80, "protocol": "TCP"}]}
    assert merge(live, config, TYPE) == {
        "replicas": 1,
        "labels": {"a": "b", "c": "d"},
        "selector": {"c": "d"},
        "ports": [{"port": 80, "name": "web", "protocol": "TCP"}],
    }


@pytest.mark.parametrize(
    ("live", "config", "merged"),
    [
        ("abc", "", "abc"),
        ("", "abc", "abc"),
        ("abc", "cba", "cba"),
        ("abc", "xb", "axbc"),
        ("axbyc", "ba", "xbyca"),
        ("abc", "dce", "abdce"),
    ],
)
def test_items_come_in_the_order_of_the_configuration(live: str, config: str, merged: str) -> None:
    found = merge({"finalizers": list(live)}, {"finalizers": list(config)}, TYPE)
    assert "".join(found["finalizers"]) == merged


def test_null_removes_only_what_is_owned_as_a_whole() -> None:
    live = {"labels": {"a": "b"}, "selector": {"a": "b"}, "args": ["a"], "finalizers": ["a"]}
    nulls = {"labels": None, "selector": None, "args": None, "finalizers": None}
    assert merge(live, nulls, TYPE) == {**nulls, "labels": {"a": "b"}, "finalizers": ["a"]}


def test_removing_takes_members_with_all_that_is_in_them() -> None:
    value = {
        "replicas": 1,
        "labels": {"a": "b", "c": "d"},
        "ports": [{"port": 80, "name": "x"}, {"port": 81}],
    }
    fields = FieldSet.of(
        ("f:labels", "f:a"),
        ("f:ports", 'k:{"port":81,"protocol":"TCP"}'),
        ("f:ports", 'k:{"port":80,"protocol":"TCP"}', "f:name"),
    )
    assert remove_items(value, fields, TYPE) == {"replicas": 1, "labels": {"c": "d"}, "ports": [{"port": 80}]}


def test_extracting_keeps_keys_and_empty_values() -> None:
    value = {
        "replicas": 1,
        "labels": {"a": "b"},
        "ports": [{"port": 80, "protocol": "TCP", "name": "x"}, {"port": 81, "protocol": "TCP"}],
        "args": ["a"],
    }
    fields = FieldSet.from_fields_v1(
        {"f:labels": {}, "f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:name": {}}}, "f:args": {}}
    )
    assert extract_items(value, fields, TYPE) == {
        "labels": {},
        "ports": [{"port": 80, "name": "x"}],
        "args": ["a"],
    }


def test_the_owner_of_a_part_of_what_becomes_atomic_owns_the_whole() -> None:
    before = FieldSet.of(("f:labels", "f:a"), ("f:selector", "f:a"), ("f:args", "v:1"), ("f:free", "f:x", "f:y"))
    assert reconcile(before, TYPE) == FieldSet.of(
        ("f:labels", "f:a"), ("f:selector",), ("f:args",), ("f:free", "f:x", "f:y")
    )
    unchanged = FieldSet.of(("f:labels",), ("f:selector",))
    assert reconcile(unchanged, TYPE) is unchanged


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({"replica": 1}, ".replica: field not declared in schema"),
        ({"replicas": "1"}, ".replicas: expected numeric (int or float), got string"),
        (
            {"metadata": {"name": [None, {"a": 1}]}},
            ".metadata.name: expected string, got &value.valueUnstructured{Value:"
            + '[]interface {}{interface {}(nil), map[string]interface {}{"a":1}}}',
        ),
        (
            {"ports": [{"port": [1, "a"], "protocol": "x"}]},
            '.ports[port=[1,"a"],protocol="x"].port: expected numeric (int or float), got []interface {}',
        ),
        ({"finalizers": ["a", "a"]}, '.finalizers: duplicate entries for key [="a"]'),
        (
            {"ports": [{"name": "x"}, {"protocol": "TCP"}]},
            '.ports: duplicate entries for key [protocol="TCP"]',
        ),
        ({"ports": [None]}, ".ports: element 0: associative list with keys may not have a null element"),
        (
            {"finalizers": [None]},
            ".finalizers: element 0: associative list without keys has an element that's an explicit null",
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_named(value: object, error: str) -> None:
    assert errors_text(type_errors(value, TYPE)) == error


def test_several_errors_are_listed() -> None:
    errors = type_errors({"replicas": "1", "args": [1]}, TYPE)
    assert errors_text(errors).splitlines()[0] == "errors:"
    assert len(errors) == 2


def test_values_without_a_schema_are_merged_by_their_maps() -> None:
    assert not type_errors({"a": {"b": [1, {"c": None}]}}, DEDUCED)
    assert merge({"a": {"b": [1]}}, {"a": {"b": [2], "c": 1}}, DEDUCED) == {"a": {"b": [2], "c": 1}}


def test_applying_again_changes_nothing() -> None:
    config = {"replicas": 1, "labels": {"a": "b"}, "ports": [{"port": 80}]}
    live, managers = apply_all(HEAD, {}, ("one", config))
    again, same = UPDATER.apply(live, {**HEAD, **config}, managers, applier("one"), force=False)
    assert again is None
    assert same == managers


def test_what_is_no_longer_applied_is_removed() -> None:
    live, _ = apply_all(
        HEAD,
        {},
        ("two", {"labels": {"kept": "x"}}),
        ("one", {"replicas": 1, "labels": {"a": "b"}, "ports": [{"port": 80}, {"port": 81}]}),
        ("one", {"ports": [{"port": 81}]}),
    )
    assert without_head(live) == {"labels": {"kept": "x"}, "ports": [{"port": 81}]}


def test_metadata_stays_when_its_last_owned_field_is_removed() -> None:
    first, managers = apply_all(HEAD, {}, ("one", {"metadata": {"name": "a", "finalizers": ["x"]}}))
    stored = {**first, "metadata": {**first["metadata"], "uid": "1"}}
    live, _ = apply_all(stored, managers, ("one", {}))
    assert live["metadata"] == {"name": "a", "uid": "1"}


def test_what_another_manager_owns_stays() -> None:
    live, managers = apply_all(
        HEAD,
        {},
        ("one", {"replicas": 1, "labels": {"a": "b"}}),
        ("two", {"replicas": 1, "labels": {"c": "d"}}),
        ("one", {}),
    )
    assert without_head(live) == {"replicas": 1, "labels": {"c": "d"}}
    assert ("f:replicas",) in managers[applier("two")].fields


def test_an_item_stays_with_the_fields_that_others_own() -> None:
    live, _ = apply_all(
        HEAD,
        {},
        ("one", {"ports": [{"port": 80, "name": "web"}]}),
        ("two", {"ports": [{"port": 80}]}),
        ("one", {}),
    )
    assert without_head(live) == {"ports": [{"port": 80}]}


def test_other_values_for_fields_of_others_are_conflicts() -> None:
    live, managers = apply_all(HEAD, {}, ("one", {"replicas": 1, "labels": {"a": "b"}}))
    with pytest.raises(ApplyConflicts) as raised:
        apply_all(live, managers, ("two", {"replicas": 2, "labels": {"a": "c"}}))
    assert [(conflict.key.manager, conflict.path) for conflict in raised.value.conflicts] == [
        ("one", ("f:replicas",)),
        ("one", ("f:labels", "f:a")),
    ]


def test_force_takes_fields_over() -> None:
    live, managers = apply_all(HEAD, {}, ("one", {"replicas": 1, "labels": {"a": "b"}}))
    live, managers = apply_all(live, managers, ("two", {"replicas": 2}), force=True)
    assert live["replicas"] == 2
    assert ("f:replicas",) not in managers[applier("one")].fields
    assert ("f:replicas",) in managers[applier("two")].fields


def test_an_update_owns_what_it_changes_and_takes_it_from_others() -> None:
    live, managers = apply_all(HEAD, {}, ("one", {"replicas": 1, "labels": {"a": "b", "c": "d"}}))
    key = ManagerKey("editor", "Update", "v1", "")
    new = {**live, "replicas": 3, "labels": {"a": "b"}}
    found = UPDATER.update(live, new, managers, key)
    assert found[key].fields == FieldSet.of(("f:replicas",))
    fields = found[applier("one")].fields
    assert ("f:labels", "f:a") in fields
    assert ("f:labels", "f:c") not in fields
    assert ("f:replicas",) not in fields


def test_entries_of_versions_that_are_gone_are_dropped() -> None:
    key = ManagerKey("old", "Update", "v0", "")
    managers = {key: ManagedSet(FieldSet.of(("f:replicas",)), "v0")}
    assert key not in UPDATER.update(HEAD, HEAD, managers, applier("x"))


def test_what_a_write_resets_is_never_owned() -> None:
    def keep(fields: FieldSet) -> FieldSet:
        return fields.without_trees(FieldSet.of(("f:labels",)))

    new = {**HEAD, "replicas": 1, "labels": {"a": "b"}}
    key = ManagerKey("x", "Update", "v1", "")
    found = Updater("v1", OneVersion(), {"v1": keep}).update(HEAD, new, {}, key)
    assert found[key].fields == FieldSet.of(("f:replicas",))


def test_an_item_that_cannot_be_identified_is_an_error() -> None:
    with pytest.raises(UnidentifiedItemError, match="element 1"):
        compare({}, {"finalizers": ["a", {}]}, TYPE)
