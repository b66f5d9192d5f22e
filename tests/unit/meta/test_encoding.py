"""What is put into an object's lists and maps is written as it should be, or refused: however quickly that is seen."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.meta.data import data_for, json_values
from tests.unit.meta.test_round_trips import KINDS, touch_everything

from masthead._meta import shape
from masthead._meta.gvk import GroupVersionKind
from masthead._meta.model import Struct
from masthead._meta.object import Object
from masthead._meta.quantity import Quantity
from masthead.api.apiextensions.v1 import JSONSchemaProps
from masthead.api.apps.v1 import StatefulSet
from masthead.api.core.v1 import ConfigMap, Container, PersistentVolumeClaim, Pod, Secret
from masthead.errors import ArgumentError, DecodeError, MastheadError

THINGS = (
    st.sampled_from([5, 1.5, math.nan, math.inf, True, None, b"x", "\ud800", 2**70, ("a",), {"s"}])
    | st.sampled_from([datetime(2020, 1, 1, tzinfo=UTC), Container(name="c"), Pod(), Quantity("1")])
    | json_values
)
KEYS = st.sampled_from(["a", "name", "\ud800", 5, None, b"x"])


def containers(value: object) -> list[list[Any] | dict[Any, Any]]:
    """Every list and map in an object, those included that reading brings to life."""
    if isinstance(value, Struct):
        fields = shape.fields_of(type(value).api_type).values()
        return [container for field in fields for container in containers(getattr(value, field.attribute))]
    if isinstance(value, list):
        return [value, *(container for item in value for container in containers(item))]
    if isinstance(value, dict):
        return [value, *(container for item in value.values() for container in containers(item))]
    return []


@st.composite
def spoilt_objects(draw: st.DrawFn) -> Object:
    """An object made here, with anything put into one of its lists or maps."""
    kinds: list[type[Object]] = [*KINDS, StatefulSet]
    kind = draw(st.sampled_from(kinds))
    made = kind.from_dict(draw(data_for(kind, depth=2)))
    into, thing = draw(st.sampled_from(containers(made.metadata) + containers(made))), draw(THINGS)
    if isinstance(into, list):
        into.append(thing)
    else:
        into[draw(KEYS)] = thing
    return made


@pytest.mark.slow
@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(spoilt_objects())
def test_any_assigned_value_is_rejected_or_fully_readable(made: Object) -> None:
    try:
        text = made.to_json()
    except MastheadError:
        return

    read = type(made).from_json(text)
    touch_everything(read)
    assert not read.is_modified()


class Weights(Object):
    GVK = GroupVersionKind("example.com", "v1", "Weights")

    factors: list[float] = []


@pytest.mark.parametrize("factor", [math.inf, -math.inf, math.nan])
def test_a_number_that_json_does_not_allow_is_rejected_in_a_list(factor: float) -> None:
    weights = Weights(factors=[1.5])
    assert weights.to_dict()["factors"] == [1.5]

    weights.factors.append(factor)
    with pytest.raises(DecodeError, match=r"factors\[1\]: expected a number"):
        weights.to_json()


@pytest.mark.parametrize("key", [5, None, b"a", True])
def test_a_key_that_is_no_text_is_refused_or_written_as_text(key: object) -> None:
    cm = ConfigMap.new("x", data={"a": "b"})
    cast("dict[object, str]", cm.data)[key] = "c"

    try:
        assert all(isinstance(each, str) for each in cm.to_dict()["data"])
    except ArgumentError as refused:
        assert "cannot be encoded as JSON" in str(refused)  # noqa: PT017 - either will do


def test_values_of_equivalent_types_are_accepted() -> None:
    pod = Pod.new("x", spec={"containers": []})
    pod.spec.containers.append({"name": "c", "resources": {"limits": {"cpu": "1"}}})  # type: ignore[arg-type]
    pod.spec.containers.append(Container(name="d"))

    assert [container.name for container in pod.copy().spec.containers] == ["c", "d"]


def test_empty_implicit_values_are_not_encoded_at_any_depth() -> None:
    pod = Pod.new("x", spec={"containers": [Container(name="c")]})
    before = pod.to_json()
    touch_everything(pod)

    assert pod.to_json() == before
    pod.spec.containers[0].resources.limits["cpu"] = Quantity("1")
    assert pod.to_dict()["spec"] == {"containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}}]}


def test_an_object_inside_another_is_written_as_it_came() -> None:
    claim = PersistentVolumeClaim.from_wire(b'{"metadata":{"name":"d"},"spec":{ "volumeName" : "v" }}')
    assert claim.spec.volume_name == "v"
    made = StatefulSet.new("x", spec={"serviceName": "s", "volumeClaimTemplates": [claim]})

    assert b'[{"metadata":{"name":"d"},"spec":{ "volumeName" : "v" }}]' in made.to_json()


def test_recursive_types_are_encoded_and_cycles_are_rejected() -> None:
    class Schema(Object):
        GVK = GroupVersionKind("example.com", "v1", "Schema")

        props: JSONSchemaProps | None = None

    made = Schema(props=JSONSchemaProps(properties={"a": JSONSchemaProps(type="string")}))
    assert made.to_dict()["props"] == {"properties": {"a": {"type": "string"}}}

    assert made.props is not None
    made.props.properties["me"] = made.props
    with pytest.raises(ArgumentError, match="nested too deeply"):
        made.to_json()


def test_bytes_and_quantities_in_maps_are_written_as_text() -> None:
    secret = Secret.new("x", data={"a": b"\x00"})
    secret.data["b"] = b"\x01"

    assert secret.to_dict()["data"] == {"a": "AA==", "b": "AQ=="}
