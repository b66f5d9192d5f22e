"""API types as fields of pydantic models: what they accept, and how they are written."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, datetime
from typing import Annotated, Any, Generic, TypeVar

import pytest
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from tests.unit.pydantic.resources import Plan, Tree

from masthead import Object, ObjectList, Quantity, Unstructured
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import ConfigMap, Pod, PodList, PodSpec, Secret, Service
from masthead.meta import IntOrString, MicroTime, Table, Time

T = TypeVar("T")
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "creationTimestamp": "2026-01-02T03:04:05Z"},
    "spec": {"containers": [{"name": "app", "resources": {"limits": {"cpu": "500m"}}}], "fromTheFuture": {"a": 1}},
}
POD_TEXT = json.dumps(POD)


class Report(BaseModel):
    pod: Pod
    spec: PodSpec | None = None
    others: list[Pod] = []
    by_name: dict[str, Service] = {}
    note: Any = None


class Page(BaseModel, Generic[T]):
    items: list[T]


def error_of(kind: Any, value: object) -> dict[str, Any]:
    """The one error of a value that is invalid for a type."""
    with pytest.raises(ValidationError) as raised:
        TypeAdapter(kind).validate_python(value)
    (error,) = raised.value.errors(include_url=False)
    return dict(error)


def test_an_instance_is_kept_as_it_is() -> None:
    pod = Pod.from_json(POD_TEXT)

    assert Report(pod=pod).pod is pod
    assert TypeAdapter(list[Pod]).validate_python([pod])[0] is pod


@pytest.mark.parametrize("kind", [Pod, Object, Unstructured])
def test_plain_data_and_json_become_objects_that_keep_unknown_fields(kind: type[Object]) -> None:
    adapter = TypeAdapter(kind)
    for found in (adapter.validate_python(POD), adapter.validate_json(POD_TEXT)):
        assert isinstance(found, kind)
        assert found.metadata.name == "web"
        assert found.to_dict() == POD


def test_dumps_have_the_form_of_the_api_in_both_modes() -> None:
    report = Report.model_validate(
        {"pod": POD, "spec": POD["spec"], "others": [POD], "note": [Pod.from_dict(POD), Quantity("1")]}
    )
    expected = {"pod": POD, "spec": POD["spec"], "others": [POD], "by_name": {}, "note": [POD, "1"]}

    assert report.model_dump() == report.model_dump(mode="json") == expected
    assert json.loads(report.model_dump_json()) == expected
    assert Report.model_validate_json(report.model_dump_json()).pod == report.pod


def test_what_is_unset_is_not_written_though_it_was_read() -> None:
    pod = Pod.new("web")
    assert pod.spec.containers == []

    assert TypeAdapter(Pod).dump_python(pod) == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}


@pytest.mark.parametrize(
    ("kind", "value", "place", "problem", "shown"),
    [
        (Pod, {"spec": {"containers": [{"ports": [{"containerPort": "http"}]}]}},
         ("spec", "containers", 0, "ports", 0, "containerPort"), "expected an integer, got a string ('http')", "http"),
        (Pod, {"metadata": {"labels": {"example.com/a": 1}}},
         ("metadata", "labels", "example.com/a"), "expected a string, got an integer (1)", 1),
        (Pod, {"kind": "Service"}, ("kind",), 'expected "Pod", got "Service"', "Service"),
        (Pod, {"spec": {"containers": {}}}, ("spec", "containers"), "expected a list, got an object", "an object"),
        (Pod, 5, (), "expected an object, got an integer (5)", 5),
        (PodSpec, [], (), "expected an object (PodSpec), got a list", "a list"),
        (PodList, {"items": [{"spec": 1}]},
         ("items", 0, "spec"), "expected an object (PodSpec), got an integer (1)", 1),
        (ObjectList[Pod], {"items": 1}, ("items",), "expected a list, got an integer (1)", 1),
        (Object, {"apiVersion": "a/b/c", "kind": "Pod"}, (), None, "an object"),
        (Object, {"apiVersion": "v1", "kind": "Pod", "spec": 1}, ("spec",), None, 1),
        (Unstructured, {"metadata": 1}, ("metadata",), None, 1),
        (Plan, {"spec": {"size": "big"}}, ("spec", "size"), "expected an integer, got a string ('big')", "big"),
        (Quantity, "12 Gigs", (), None, "12 Gigs"),
        (Quantity, [], (), None, []),
        (MicroTime, "yesterday", (), None, "yesterday"),
        (MicroTime, 5, (), "expected an RFC 3339 time, got an integer (5)", 5),
        (MicroTime, datetime(2026, 1, 2), (), None, datetime(2026, 1, 2)),  # noqa: DTZ001 - it lacks a zone
    ],
)  # fmt: skip
def test_an_error_is_at_the_invalid_field(
    kind: Any, value: object, place: tuple[object, ...], problem: str | None, shown: object
) -> None:
    error = error_of(kind, value)

    assert (error["loc"], error["input"]) == (place, shown)
    assert problem in {None, error["msg"]}


def test_an_error_in_a_model_begins_with_the_field_of_the_model() -> None:
    with pytest.raises(ValidationError) as raised:
        Report.model_validate({"pod": {}, "others": [{}, {"spec": {"nodeName": 1}}]})

    assert [error["loc"] for error in raised.value.errors()] == [("others", 1, "spec", "nodeName")]


def test_data_that_is_nested_too_deeply_is_an_error() -> None:
    deep: dict[str, object] = {}
    for _ in range(5_000):
        deep = {"children": [deep]}

    assert error_of(Tree, deep)["msg"] == "nested too deeply"


def test_errors_do_not_repeat_secrets() -> None:
    error = error_of(Secret, {"data": {"password": "not base64!"}})

    assert error["loc"] == ("data", "password")
    assert error["input"] == "<hidden>"
    assert "base64!" not in str(error)


def test_a_response_has_the_values_of_a_secret_and_the_repr_of_a_model_has_not() -> None:
    class Vault(BaseModel):
        secret: Secret

    vault = Vault(secret=Secret.new("s", data={"password": b"hunter2"}))

    assert "hunter2" not in repr(vault)
    assert vault.model_dump()["secret"]["data"] == {"password": "aHVudGVyMg=="}


@pytest.mark.parametrize("annotation", [PodList, ObjectList[Pod], ObjectList[Object]])
def test_lists_are_what_list_returns_or_plain_data(annotation: Any) -> None:
    adapter = TypeAdapter(annotation)
    listed = PodList.from_dict({"items": [POD]})

    assert adapter.validate_python(listed) is listed
    found = adapter.validate_python({"apiVersion": "v1", "kind": "PodList", "items": [POD]})
    assert found[0].metadata.name == "web"
    assert adapter.dump_python(found) == found.to_dict()


def test_a_list_of_another_kind_is_refused() -> None:
    assert "expected an object" in error_of(ObjectList[Service], PodList())["msg"]


def test_a_list_of_a_kind_without_a_list_class_is_refused() -> None:
    class Lonely(Object):
        GVK = Pod.GVK.group_version.kind("Lonely")

    assert "Lonely" in error_of(ObjectList[Lonely], {"items": []})["msg"]
    assert error_of(ObjectList[Lonely], {"items": []})["type"] == "decode_error"


def test_an_object_of_an_unknown_kind_is_unstructured() -> None:
    found = TypeAdapter(Object).validate_python({"apiVersion": "example.com/v9", "kind": "Strange", "size": 1})

    assert isinstance(found, Unstructured)
    assert found["size"] == 1


def test_custom_resources_and_tables_are_types_like_others() -> None:
    plan = {"apiVersion": "example.com/v1", "kind": "Plan", "spec": {"size": 2}}
    table = {"columnDefinitions": [{"name": "Name"}], "rows": [{"cells": ["a"]}]}

    assert TypeAdapter(Plan).validate_python(plan).spec.size == 2
    assert TypeAdapter(Table).dump_python(TypeAdapter(Table).validate_python(table)) == table


def test_quantities_and_times_are_written_as_in_the_api() -> None:
    class Values(BaseModel):
        memory: Quantity
        renewed: MicroTime
        started: Time
        port: IntOrString

    given = {"memory": "1024Mi", "renewed": "2026-01-02T03:04:05Z", "started": "2026-01-02T03:04:05Z", "port": "http"}
    values = Values.model_validate(given)

    assert values.memory == Quantity("1Gi")
    assert values.renewed == values.started == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert Values(memory=Quantity(2), renewed=values.renewed, started=values.started, port=80).memory == 2
    assert json.loads(values.model_dump_json()) == {
        "memory": "1Gi",
        "renewed": "2026-01-02T03:04:05.000000Z",
        "started": "2026-01-02T03:04:05Z",
        "port": "http",
    }


def test_include_and_exclude_name_fields_of_the_json() -> None:
    adapter = TypeAdapter(Pod)
    pod = adapter.validate_python(POD)

    assert adapter.dump_python(pod, include={"metadata": {"name"}}) == {"metadata": {"name": "web"}}
    assert json.loads(
        adapter.dump_json(pod, exclude={"metadata": True, "spec": {"containers": {"__all__": {"resources"}}}})
    ) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {"containers": [{"name": "app"}], "fromTheFuture": {"a": 1}},
    }
    assert Report(pod=pod).model_dump(include={"pod": {"kind"}}) == {"pod": {"kind": "Pod"}}


def test_a_value_that_was_put_in_place_unchecked_is_warned_about() -> None:
    report = Report.model_construct(pod={"metadata": {}}, others=[])

    with pytest.warns(UserWarning, match="expected Pod, got dict"):
        assert report.model_dump(include={"pod"}) == {"pod": {"metadata": {}}}


def test_models_with_objects_are_copied_pickled_and_compared() -> None:
    report = Report.model_validate({"pod": POD})
    deep = report.model_copy(deep=True)

    assert deep == report == pickle.loads(pickle.dumps(report))
    deep.pod.spec.node_name = "node-1"
    assert report.pod.to_dict() == POD


def test_generic_models_take_api_types() -> None:
    page = Page[Pod].model_validate({"items": [POD]})

    assert page.model_dump() == {"items": [POD]}
    assert Page[ConfigMap].model_json_schema()["properties"]["items"]["items"] == {"$ref": "#/$defs/ConfigMap"}


def test_a_union_is_told_apart_by_kind() -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[Pod | Service | Deployment, Field(discriminator="kind")])

    assert type(adapter.validate_python({"kind": "Service"})) is Service
    assert type(adapter.validate_python(Deployment.new("web"))) is Deployment
    assert adapter.dump_python(Deployment.new("web"))["kind"] == "Deployment"
    with pytest.raises(ValidationError, match="kind"):
        adapter.validate_python({"metadata": {}})


def test_a_union_without_a_discriminator_names_its_members_in_errors() -> None:
    with pytest.raises(ValidationError) as raised:
        TypeAdapter(Pod | Service).validate_python({"kind": "Node"})

    assert [error["loc"] for error in raised.value.errors()] == [
        ("function-wrap[Pod()]", "kind"),
        ("function-wrap[Service()]", "kind"),
    ]


def test_a_section_that_was_not_read_is_written_as_it_came() -> None:
    pod = Pod.from_wire(b'{"metadata":{"name":"web"},"spec":{"containers":[{"name":1}]}}')

    assert TypeAdapter(Pod).dump_python(pod)["spec"] == {"containers": [{"name": 1}]}
