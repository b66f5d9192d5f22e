"""Properties that hold for any object: lazy is eager, and nothing is lost."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.meta.data import data_for, json_values, texts

from masthead._meta import shape
from masthead._meta.model import Struct
from masthead._meta.unstructured import Unstructured
from masthead.api.apiextensions.v1 import CustomResourceDefinition
from masthead.api.apps.v1 import Deployment
from masthead.api.coordination.v1 import Lease
from masthead.api.core.v1 import ConfigMap, Event, Pod, PodList, Secret
from masthead.errors import DecodeError

if TYPE_CHECKING:
    from masthead._meta.object import Object

KINDS: list[type[Object]] = [Pod, Deployment, ConfigMap, Secret, Event, Lease, CustomResourceDefinition]
# Drawing a random pod takes longer than testing it.
relaxed = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@st.composite
def kinds_and_data(draw: st.DrawFn) -> tuple[type[Object], dict[str, Any]]:
    kind = draw(st.sampled_from(KINDS))
    return kind, draw(data_for(kind))


def touch_everything(value: object) -> None:
    """Read every field of an object, down to the last."""
    if isinstance(value, Struct):
        for field in shape.fields_of(type(value).api_type).values():
            touch_everything(getattr(value, field.attribute))
    elif isinstance(value, list):
        for item in value:
            touch_everything(item)
    elif isinstance(value, dict):
        for item in value.values():
            touch_everything(item)


def typed(kind: type[Object], data: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": kind.GVK.api_version, "kind": kind.GVK.kind, **data}


def encoded(data: object) -> bytes:
    return msgspec.json.encode(data)


@pytest.mark.slow
@relaxed
@given(kinds_and_data())
def test_nothing_is_lost_between_reading_and_writing(case: tuple[type[Object], dict[str, Any]]) -> None:
    kind, data = case

    assert json.loads(kind.from_json(encoded(data)).to_json()) == typed(kind, data)


@relaxed
@given(kinds_and_data())
def test_an_object_whose_every_field_was_read_is_the_same_object(
    case: tuple[type[Object], dict[str, Any]],
) -> None:
    kind, data = case
    lazy, read = kind.from_json(encoded(data)), kind.from_json(encoded(data))
    touch_everything(read)

    assert read == lazy
    assert lazy == read
    assert repr(read) == repr(kind.from_json(encoded(data)))
    assert read.to_json() == lazy.to_json()
    assert not read.is_modified()


@pytest.mark.slow
@relaxed
@given(kinds_and_data())
def test_reading_lazily_equals_building_eagerly(case: tuple[type[Object], dict[str, Any]]) -> None:
    kind, data = case
    lazy, eager = kind.from_json(encoded(data)), kind.from_dict(data)

    assert lazy == eager
    assert eager == lazy
    assert without_nulls(eager.to_dict()) == without_nulls(lazy.to_dict())


@relaxed
@given(kinds_and_data())
def test_an_object_that_was_changed_loses_nothing_else(case: tuple[type[Object], dict[str, Any]]) -> None:
    kind, data = case
    changed = kind.from_json(encoded(data))
    changed.metadata.labels = {"changed": "yes"}
    expected = typed(kind, data)
    expected["metadata"] = {**(data.get("metadata") or {}), "labels": {"changed": "yes"}}

    assert without_nulls(changed.to_dict()) == without_nulls(expected)


@relaxed
@given(kinds_and_data())
def test_copies_and_pickles_are_equal(case: tuple[type[Object], dict[str, Any]]) -> None:
    kind, data = case
    original = kind.from_dict(data)

    assert original.copy() == original
    assert pickle.loads(pickle.dumps(original)) == original
    assert kind.from_json(original.to_json()) == original


@pytest.mark.slow
@relaxed
@given(kinds_and_data())
def test_yaml_says_the_same_as_json(case: tuple[type[Object], dict[str, Any]]) -> None:
    kind, data = case
    original = kind.from_json(encoded(data))

    assert kind.from_yaml(original.to_yaml()).to_dict() == kind.from_dict(original.to_dict()).to_dict()


@pytest.mark.slow
@relaxed
@given(data_for(Pod, depth=2), st.dictionaries(texts, json_values, max_size=3))
def test_an_untyped_object_loses_nothing_either(data: dict[str, Any], more: dict[str, Any]) -> None:
    whole = {"apiVersion": "example.com/v1", "kind": "Widget", **more, **data}
    widget = Unstructured.from_json(encoded(whole))
    assert json.loads(widget.to_json()) == {"metadata": {}, **whole}
    for section in widget:
        _ = widget[section]

    assert not widget.is_modified()
    assert json.loads(widget.to_json()) == {"metadata": {}, **whole}
    assert widget == Unstructured.from_dict(whole) == widget.copy()


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode(errors="surrogatepass")))
def test_random_bytes_never_raise_anything_but_our_error(data: bytes) -> None:
    _try_to_read(data)


@pytest.mark.slow
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data_for(Pod, depth=3), st.integers(0, 10_000), st.binary(max_size=3))
def test_damaged_objects_never_raise_anything_but_our_error(data: dict[str, Any], at: int, put: bytes) -> None:
    text = encoded(data)
    at %= len(text)
    _try_to_read(text[:at] + put + text[at + 1 :])
    _try_to_read(text[:at])


def _try_to_read(data: bytes) -> None:
    for read in (Pod.from_json, Pod.from_wire, PodList.from_wire, Unstructured.from_wire):
        try:
            touch_everything(read(data))
        except DecodeError as error:
            assert "msgspec" not in str(error)  # noqa: PT017


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_encodes_its_api_version_and_kind(kind: type[Object]) -> None:
    empty = kind()

    assert (empty.api_version, empty.kind) == (kind.GVK.api_version, kind.GVK.kind)
    assert empty.to_dict() == {"apiVersion": kind.GVK.api_version, "kind": kind.GVK.kind}


PLAIN = {"name", "namespace", "uid", "resourceVersion", "generateName", "selfLink", "generation"}


def without_nulls(value: object, *, metadata: bool = False) -> object:
    """Data without what means the same as leaving it out: null, and empty names in metadata."""
    if isinstance(value, dict):
        return {
            key: without_nulls(item, metadata=key == "metadata")
            for key, item in value.items()
            if item is not None and not (metadata and key in PLAIN and not item)
        }
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
