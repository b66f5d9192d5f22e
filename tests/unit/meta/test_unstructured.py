"""Objects without a type."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import msgspec
import pytest

from masthead._meta.gvk import GroupVersionKind
from masthead._meta.object import WireBacking
from masthead._meta.unstructured import Unstructured, UnstructuredList
from masthead.errors import ArgumentError, DecodeError

WIDGET = (
    b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"shop","labels":{"a":"b"}},'
    b'"spec":{"size":3,"parts":[{"name":"x"}]},"status":{ "ready" : true }}'
)


def test_metadata_is_typed_and_the_rest_plain_data() -> None:
    widget = Unstructured.from_json(WIDGET)

    assert (widget.api_version, widget.kind, widget.key) == ("example.com/v1", "Widget", "shop/w")
    assert widget.gvk == GroupVersionKind("example.com", "v1", "Widget")
    assert widget.metadata.labels == {"a": "b"}
    assert widget["spec"]["size"] == 3
    assert list(widget) == ["spec", "status"]
    assert "spec" in widget
    assert "nothing" not in widget


def test_sections_are_decoded_when_they_are_read() -> None:
    widget = Unstructured.from_json(WIDGET)
    held = WireBacking.__dict__["_sections"].__get__(widget)

    assert type(held["spec"]) is msgspec.Raw
    assert widget["spec"] is widget["spec"]
    assert type(held["status"]) is msgspec.Raw


def test_unmodified_sections_are_encoded_as_they_came() -> None:
    widget = Unstructured.from_json(WIDGET)
    assert widget["status"]["ready"]
    assert widget.metadata.annotations == {}
    assert (widget.to_json(), widget.is_modified()) == (WIDGET, False)

    widget["spec"]["size"] = 4
    assert widget.is_modified()
    assert b'"size":4' in widget.to_json()
    assert b'"status":{ "ready" : true }' in widget.to_json()


def test_sections_can_be_set_and_removed() -> None:
    widget = Unstructured.new("w", api_version="example.com/v1", kind="Widget", namespace="shop", labels={"a": "b"})
    widget["spec"] = {"size": 1}
    widget["data"] = [1]
    del widget["data"]

    assert widget.to_dict() == {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": "shop", "labels": {"a": "b"}},
        "spec": {"size": 1},
    }


def test_a_path_is_followed_as_far_as_it_goes() -> None:
    widget = Unstructured.from_json(WIDGET)

    assert widget.get("spec", "parts", 0, "name") == "x"
    assert widget.get("spec", "parts", 1, "name", default="none") == "none"
    assert widget.get("spec", "size", "deeper", default=0) == 0
    assert widget.get("nothing") is None


def test_typed_parts_are_not_reached_with_brackets() -> None:
    widget = Unstructured.from_json(WIDGET)

    with pytest.raises(KeyError, match=r"use the attribute \.metadata"):
        _ = widget["metadata"]
    with pytest.raises(KeyError, match=r"use the attribute \.api_version"):
        widget["apiVersion"] = "v2"
    with pytest.raises(KeyError, match="nothing"):
        _ = widget["nothing"]


def test_copies_compare_equal_and_are_independent() -> None:
    widget = Unstructured.from_json(WIDGET)

    for copied in (
        widget.copy(),
        copy.copy(widget),
        copy.deepcopy(widget),
        pickle.loads(pickle.dumps(widget)),
    ):
        assert copied == widget
        copied["spec"]["size"] = 9
        assert copied != widget
    assert widget == Unstructured.from_dict(widget.to_dict()) == Unstructured.from_yaml(widget.to_yaml())
    assert widget != Unstructured.from_json(WIDGET.replace(b"Widget", b"Gadget"))
    assert widget != 1


def test_repr_names_the_kind_and_the_object() -> None:
    assert repr(Unstructured.from_json(WIDGET)) == "Unstructured('example.com/v1 Widget', 'shop/w')"
    assert repr(Unstructured()) == "Unstructured()"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"[]", "expected an object, got a list"),
        (b"{", "the text ends too early"),
        (b'{"metadata":{"labels":{"a":1}}}', 'metadata.labels["a"]: expected a string'),
        (b'{"metadata":3}', "metadata: expected an object"),
        (b'{"kind":3}', "kind: expected a string"),
        (b'{"a":{"b":1,"b":2}}', 'a.b: the key "b" appears twice'),
    ],
)
def test_bad_text_gives_a_clear_error_of_ours(data: bytes, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        Unstructured.from_json(data)

    assert message in str(caught.value)


def test_an_object_without_type_meta_has_no_kind() -> None:
    with pytest.raises(ArgumentError):
        _ = Unstructured.from_dict({"metadata": {"name": "x"}}).gvk


def test_lists_hold_objects_of_any_kind() -> None:
    widgets = UnstructuredList.from_json(
        b'{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"5"},"items":['
        + WIDGET
        + b"]}"
    )

    assert (widgets.kind, widgets.metadata.resource_version) == ("WidgetList", "5")
    assert widgets[0]["spec"]["size"] == 3
    assert UnstructuredList.from_json(widgets.to_json()) == widgets
    assert WIDGET in widgets.to_json()


def test_a_copy_of_an_item_knows_what_it_is_as_the_item_does() -> None:
    widget = Unstructured.from_wire(b'{"metadata":{"name":"a"},"spec":{"size":1}}')
    widget.api_version, widget.kind = "example.com/v1", "Widget"

    assert (widget.copy().api_version, widget.copy().kind) == ("example.com/v1", "Widget")
    assert widget.copy() == widget


def test_a_glance_at_an_object_leaves_its_bytes_as_they_were() -> None:
    widget = Unstructured.from_wire(WIDGET)

    assert widget.glance(lambda seen: seen["spec"]["size"]) == 3
    assert widget.glance(lambda seen: seen["spec"]) is not widget["spec"]
    assert widget.glance(lambda seen: seen["spec"]) is widget["spec"]  # what was read before stays
    assert widget.to_json() == WIDGET


@pytest.mark.parametrize("name", ["spec", "data"])
def test_a_section_as_an_attribute_is_refused_with_its_brackets(name: str) -> None:
    widget: Any = Unstructured.from_dict({"kind": "Widget", "spec": {"size": 1}})

    with pytest.raises(
        AttributeError, match=rf'no field "{name}"; .*: obj\["{name}"\], or obj.get\("{name}", \.\.\.\)'
    ):
        print(getattr(widget, name))
    with pytest.raises(AttributeError, match=rf'obj\["{name}"\]'):
        setattr(widget, name, {})
    with pytest.raises(AttributeError, match='did you mean "api_version"'):
        print(widget.apiVersion)
