"""A custom resource works as a generated class does."""

from __future__ import annotations

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import pytest
from tests.unit.customresource.making import make_kind, make_struct

import masthead
from masthead import CustomResource, GroupVersionKind, GroupVersionResource
from masthead._meta.registry import registry
from masthead.api.core.v1 import PodTemplateSpec
from masthead.crd import Field
from masthead.errors import ArgumentError, DecodeError
from masthead.meta import Struct, unknown_fields


class BoatSpec(Struct):
    name: str
    masts: Annotated[int, Field(minimum=1, maximum=9)] = 2
    crew: list[str] = []
    template: PodTemplateSpec = PodTemplateSpec()


class BoatStatus(Struct):
    afloat: bool = False


class Boat(CustomResource, group="sea.example.com", version="v1"):
    """A boat."""

    spec: BoatSpec
    status: BoatStatus


WIRE = (
    b'{"apiVersion":"sea.example.com/v1","kind":"Boat","metadata":{"name":"ida","namespace":"bay"},'
    b'"spec":{"name":"Ida", "masts" : 3}}'
)


def test_it_has_a_kind_a_resource_and_a_list() -> None:
    assert GroupVersionKind("sea.example.com", "v1", "Boat") == Boat.GVK
    assert Boat.RESOURCE is not None
    assert (Boat.RESOURCE.name, Boat.RESOURCE.namespaced) == ("boats", True)
    assert Boat.LIST.ITEM is Boat
    assert Boat.LIST.__name__ == "BoatList"


def test_it_is_registered() -> None:
    assert registry.class_of(Boat.GVK) is Boat
    assert registry.list_class(Boat.GVK) is Boat.LIST
    assert registry.kind_of(GroupVersionResource("sea.example.com", "v1", "boats")) == Boat.GVK


def test_new_objects_have_checked_sections() -> None:
    boat = Boat.new("ida", namespace="bay", labels={"a": "b"}, spec=BoatSpec(name="Ida", masts=3))

    assert boat.spec.masts == 3
    assert boat.key == "bay/ida"
    assert Boat.new("ida", spec={"name": "Ida", "masts": 3}).spec == boat.spec
    with pytest.raises(DecodeError, match='Boat has no field "sepc"; did you mean "spec"'):
        Boat.new("ida", sepc={})  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    with pytest.raises(DecodeError, match=r"spec\.masts: expected an integer"):
        Boat.new("ida", spec={"masts": "three"})


def test_sections_are_decoded_lazily_and_written_as_they_came() -> None:
    boat = Boat.from_wire(WIRE)

    assert "spec" not in repr(boat)
    assert boat.to_json() == WIRE.replace(b"\n", b"")
    assert boat.spec.masts == 3
    assert not boat.is_modified()
    assert b'"masts" : 3' in boat.to_json()
    boat.spec.masts = 4
    assert boat.is_modified()
    assert b'"masts":4' in boat.to_json()


def test_what_it_does_not_know_is_kept() -> None:
    boat = Boat.from_json('{"metadata":{"name":"ida"},"spec":{"name":"Ida","color":"red"},"extra":1}')

    assert unknown_fields(boat.spec) == {"color": "red"}
    assert boat.to_dict()["extra"] == 1
    with pytest.raises(DecodeError, match='BoatSpec has no field "color"'):
        Boat.from_dict({"spec": {"name": "Ida", "color": "red"}}, strict=True)


def test_another_kind_is_refused() -> None:
    with pytest.raises(DecodeError, match="kind"):
        Boat.from_wire(WIRE.replace(b'"Boat"', b'"Ship"'))


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda boat: pickle.loads(pickle.dumps(boat))])
def test_copies_are_equal_and_independent(duplicate: Any) -> None:
    boat = Boat.from_wire(WIRE)
    other = duplicate(boat)

    assert type(other) is Boat
    assert other == boat
    other.spec.crew.append("Jo")
    assert other != boat
    assert boat.spec.crew == []


def test_lists_are_decoded_and_pickled() -> None:
    data = b'{"kind":"BoatList","apiVersion":"sea.example.com/v1","metadata":{"resourceVersion":"5"},"items":[' + WIRE
    found = Boat.LIST.from_wire(data + b"]}")

    assert [each.spec.name for each in found] == ["Ida"]
    assert pickle.loads(pickle.dumps(found))[0] == found[0]
    assert repr(found) == "BoatList(1 item, version='5')"


def test_an_object_is_validated_by_its_class() -> None:
    def causes(value: Any, **options: Any) -> list[str | None]:
        return [each.field for each in masthead.crd.validate(value, **options)]

    assert causes(Boat.new("ida", spec=BoatSpec(name="Ida"))) == []
    assert causes(Boat.new("ida", spec=BoatSpec(name="Ida", masts=10))) == ["spec.masts"]
    assert causes(Boat.new("ida", spec={})) == ["spec.name"]
    assert causes({"apiVersion": "sea.example.com/v1", "kind": "Boat", "metadata": {"name": "x"}}) == ["spec"]
    assert causes(Boat.from_json('{"metadata":{"name":"ida"},"spec":{"name":"a","color":"b"}}')) == ["spec.color"]


def test_an_object_of_another_kind_needs_its_definition() -> None:
    with pytest.raises(ArgumentError, match="kind Pod has no CustomResource class; give the definition"):
        masthead.crd.validate({"apiVersion": "v1", "kind": "Pod"})


def test_dir_shows_sections() -> None:
    assert {"spec", "status", "to_crd"} <= {*dir(Boat.from_wire(WIRE))}
    assert "LIST" not in dir(Boat.from_wire(WIRE))


def test_a_class_that_is_defined_again_replaces_the_one_before() -> None:
    first = make_kind({"size": int}, name="Twice")
    second = make_kind({"size": int}, name="Twice")

    listed: object = second.LIST
    assert registry.list_class(first.GVK) is listed
    assert registry.class_of(first.GVK) is second


def test_threads_may_define_and_use_classes_at_once() -> None:
    count, ready = 8, threading.Barrier(8)

    def define(number: int) -> tuple[str, int]:
        ready.wait()
        part = make_struct({"count": int, "names": list[str]}, name=f"Part{number}", count=number, names=["a"])
        spec = make_struct({"part": part, "template": PodTemplateSpec}, part=part(count=number))
        kind = make_kind({"spec": spec}, name=f"Threaded{number}", rules=["self.metadata.name != 'x'"])
        found = kind.from_wire(b'{"metadata":{"name":"x"},"spec":{"part":{"names":["b"]}}}')
        return kind.to_crd().metadata.name, found.spec.part.count

    with ThreadPoolExecutor(count) as pool:
        made = list(pool.map(define, range(count)))

    assert made == [(f"threaded{number}s.example.com", number) for number in range(count)]


def test_many_threads_may_use_a_class_first() -> None:
    kind = make_kind({"spec": make_struct({"sizes": list[int]}, sizes=[1, 2])}, name="First")
    count, ready = 8, threading.Barrier(8)

    def use(_: int) -> tuple[Any, ...]:
        ready.wait()
        found = kind.from_wire(b'{"metadata":{"name":"x"},"spec":{}}')
        return found.spec.sizes, masthead.crd.validate(found), kind.to_crd().to_json()

    with ThreadPoolExecutor(count) as pool:
        found = list(pool.map(use, range(count)))

    assert all(each == found[0] for each in found)
