"""Field managers: entries in and out, and what a write makes of them; the expectations are answers of kube-apiserver
1.36."""

from __future__ import annotations

from typing import Any, cast

import pytest
from tests.unit.server.builtin import CATALOG

from masthead._meta.gvk import GroupVersionResource
from masthead.errors import DecodeError
from masthead_server.field_managers.entries import is_reset, read_entries, read_stored, write_entries
from masthead_server.field_managers.field_manager import field_manager_of
from masthead_server.field_managers.scale import ScaleEntries
from masthead_server.wire.options import manager_of_user_agent

Plain = dict[str, Any]
NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z"
MAPS = CATALOG.require(GroupVersionResource("", "v1", "configmaps"))
DEPLOYMENTS = CATALOG.require(GroupVersionResource("apps", "v1", "deployments"))
SCALERS = CATALOG.require(GroupVersionResource("autoscaling", "v1", "horizontalpodautoscalers"))


def entry(manager: str, fields: Plain, **more: Any) -> Plain:
    made = {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": NOW,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **more,
    }
    return {name: value for name, value in made.items() if value is not None}


def owned(*keys: str, whole: bool = False) -> Plain:
    return {"f:data": {**({".": {}} if whole else {}), **{f"f:{key}": {} for key in keys}}}


def config_map(entries: list[Plain] | None = None, /, **data: str) -> Plain:
    meta: Plain = {"name": "a", "namespace": "default", "uid": "u"}
    return {"metadata": meta if entries is None else {**meta, "managedFields": entries}, "data": data}


def updated(live: Plain | None, new: Plain, manager: str = "me", now: str = LATER) -> list[Plain]:
    field_manager_of(MAPS, "").update(live, new, manager, now)
    return list(new["metadata"].get("managedFields", []))


def test_who_creates_an_object_manages_its_fields_but_not_its_name() -> None:
    assert updated(None, config_map(a="1"), now=NOW) == [entry("me", owned("a", whole=True))]


def test_an_object_without_fields_has_no_managers() -> None:
    assert updated(None, {"metadata": {"name": "a"}}) == []


def test_a_manager_without_a_name_is_unknown() -> None:
    assert updated(None, config_map(a="1"), manager="")[0]["manager"] == "unknown"


def test_a_changed_field_belongs_to_the_manager_that_changed_it() -> None:
    live = config_map([entry("one", owned("a", "b", whole=True))], a="1", b="1")

    found = updated(live, config_map(a="2", b="1"))

    assert found == [entry("one", owned("b", whole=True)), entry("me", owned("a"), time=LATER)]


def test_a_removed_field_has_no_manager_and_an_empty_entry_is_dropped() -> None:
    entries = [entry("one", owned("a", whole=True)), entry("two", owned("b"))]

    assert updated(config_map(entries, a="1", b="1"), config_map(a="1")) == [entries[0]]


def test_a_write_that_changes_nothing_keeps_entries_and_times() -> None:
    entries = [entry("one", owned("a", whole=True))]

    assert updated(config_map(entries, a="1"), config_map(a="1")) == entries


def test_an_object_without_managers_stays_so() -> None:
    assert updated(config_map(a="1"), config_map(a="2")) == []


@pytest.mark.parametrize("sent", [[], [{}]], ids=["an empty list", "an empty entry"])
def test_a_client_can_drop_all_managers(sent: list[Plain]) -> None:
    live = config_map([entry("one", owned("a", whole=True))], a="1")

    assert is_reset(sent)
    assert updated(live, config_map(sent, a="2")) == []


def test_a_create_with_dropped_managers_is_tracked() -> None:
    assert updated(None, config_map([{}], a="1"), now=NOW) == [entry("me", owned("a", whole=True))]


def test_a_client_can_write_the_entries() -> None:
    live = config_map([entry("one", owned("a", whole=True))], a="1")
    sent = [entry("two", {"f:data": {"f:a": {}, ".": {}}})]

    assert updated(live, config_map(sent, a="1")) == [entry("two", owned("a", whole=True))]


@pytest.mark.parametrize(
    "flaw",
    [
        {"operation": "Replace"},
        {"operation": None},
        {"apiVersion": None},
        {"fieldsType": "FieldsV2"},
        {"fieldsType": None},
        {"fieldsV1": [1]},
        {"fieldsV1": {"f:data": 3}},
        {"fieldsV1": {"f:data": {"k:{": {}}}},
    ],
    ids=str,
)
def test_entries_that_cannot_be_read_leave_the_stored_ones(flaw: Plain) -> None:
    stored = [entry("one", owned("a", whole=True))]
    sent = [entry("two", owned("a"), **flaw)]

    with pytest.raises(DecodeError):
        read_entries(sent)
    assert updated(config_map(stored, a="1"), config_map(sent, a="1")) == stored


def test_entries_of_a_version_that_does_not_exist_are_dropped() -> None:
    live = config_map([entry("one", owned("a", whole=True))], a="1")

    assert updated(live, config_map([entry("two", owned("a"), apiVersion="v9")], a="1")) == []


def test_entries_of_what_is_no_version_take_all_others_with_them() -> None:
    live = config_map([entry("one", owned("a", whole=True))], a="1")
    sent = [entry("one", owned("a")), entry("two", owned("a"), apiVersion="a/b/c")]

    assert updated(live, config_map(sent, a="2")) == []


def test_a_write_of_a_subresource_ignores_the_entries_that_are_sent() -> None:
    stored = [entry("one", {"f:spec": {"f:replicas": {}}}, apiVersion="apps/v1")]
    live: Plain = {
        "metadata": {"name": "a", "uid": "u", "managedFields": stored},
        "spec": {"replicas": 1},
        "status": {},
    }
    new: Plain = {
        "metadata": {"name": "a", "uid": "u", "managedFields": [{}]},
        "spec": {"replicas": 1},
        "status": {"replicas": 1},
    }

    field_manager_of(DEPLOYMENTS, "status").update(live, new, "me", LATER)

    own = entry("me", {"f:status": {"f:replicas": {}}}, apiVersion="apps/v1", time=LATER, subresource="status")
    assert new["metadata"]["managedFields"] == [*stored, own]


def test_fields_have_other_names_in_other_versions() -> None:
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}
    fields: Plain = {"f:spec": {"f:maxReplicas": {}, "f:metrics": {}}}
    live: Plain = {
        "metadata": {
            "name": "a",
            "uid": "u",
            "managedFields": [entry("one", fields, apiVersion="autoscaling/v2")],
        },
        "spec": {"maxReplicas": 3, "metrics": [metric]},
        "status": {},
    }
    new: Plain = {**live, "spec": {"maxReplicas": 3, "metrics": [_with_utilization(metric, 60)]}}
    new["metadata"] = {"name": "a", "uid": "u"}

    field_manager_of(SCALERS, "").update(live, new, "me", LATER)

    kept, own = cast("list[Plain]", new["metadata"]["managedFields"])
    assert (kept["manager"], kept["fieldsV1"]) == ("one", {"f:spec": {"f:maxReplicas": {}}})
    assert (own["apiVersion"], own["fieldsV1"]) == (
        "autoscaling/v1",
        {"f:spec": {"f:targetCPUUtilizationPercentage": {}}},
    )


def _with_utilization(metric: Plain, percent: int) -> Plain:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {**metric, "resource": {**metric["resource"], "target": target}}


def test_the_oldest_updates_are_merged_when_there_are_more_than_ten() -> None:
    keys = [f"k{number}" for number in range(10)]
    entries = [entry(f"m{number}", owned(key)) for number, key in enumerate(keys)]
    data = dict.fromkeys(keys, "1")

    found = updated(config_map(entries, **data), config_map(**data, last="1"))

    assert [each["manager"] for each in found] == [
        "ancient-changes",
        *(f"m{each}" for each in range(2, 10)),
        "me",
    ]
    assert found[0]["fieldsV1"] == owned("k0", "k1")


def test_entries_are_in_the_order_of_operation_time_manager_version_and_subresource() -> None:
    entries = [
        entry("b", owned("a"), operation="Apply", time=LATER),
        entry("c", owned("a"), time=None),
        entry("a", owned("a")),
        entry("a", owned("a"), apiVersion="v2"),
        entry("a", owned("a"), apiVersion="v2", subresource="status"),
        entry("b", owned("a")),
        entry("a", owned("b"), time=LATER, apiVersion="v3"),
    ]

    assert write_entries(read_stored(entries[::-1])) == entries


def test_of_two_entries_of_one_manager_the_last_counts() -> None:
    assert write_entries(read_entries([entry("a", owned("a")), entry("a", owned("b"))])) == [entry("a", owned("b"))]


REPLICAS: Plain = {"f:spec": {"f:replicas": {}}}
IN_SCALE = {"apiVersion": "autoscaling/v1", "subresource": "scale"}


def test_the_managers_of_a_scale_are_those_of_the_replicas() -> None:
    entries = [
        entry("one", {"f:spec": {"f:paused": {}, "f:replicas": {}}}, apiVersion="apps/v1"),
        entry("two", {"f:spec": {"f:paused": {}}}, apiVersion="apps/v1"),
    ]

    assert ScaleEntries(DEPLOYMENTS, entries).of_scale() == [entry("one", REPLICAS, apiVersion="autoscaling/v1")]


def test_who_scales_an_object_takes_its_replicas_over_without_a_time() -> None:
    entries = [entry("one", {"f:spec": {"f:paused": {}, "f:replicas": {}}}, apiVersion="apps/v1")]

    found = ScaleEntries(DEPLOYMENTS, entries).of_parent([entry("me", REPLICAS, time=LATER, **IN_SCALE)])

    assert found == [
        entry("me", REPLICAS, apiVersion="apps/v1", time=None, subresource="scale"),
        entry("one", {"f:spec": {"f:paused": {}}}, apiVersion="apps/v1"),
    ]


def test_who_has_applied_the_replicas_keeps_them_when_another_scales_to_the_same() -> None:
    entries = [entry("one", REPLICAS, apiVersion="apps/v1", operation="Apply")]
    scale = ScaleEntries(DEPLOYMENTS, entries)

    assert scale.of_parent(scale.of_scale()) == entries


@pytest.mark.parametrize(
    ("agent", "manager"),
    [
        ("kubectl/v1.36.4 (linux/amd64)", "kubectl"),
        ("two words/1", "two words"),
        ("", ""),
        ("/x", ""),
        ("tab\there", "tabhere"),
        ("x" * 200, "x" * 128),
        ("é" * 100, "é" * 64),
    ],
)
def test_a_user_agent_names_its_manager(agent: str, manager: str) -> None:
    assert manager_of_user_agent(agent) == manager
