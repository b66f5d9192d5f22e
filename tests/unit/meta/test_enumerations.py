"""Enumerated fields have values for type checkers, and keep those that a newer server sends."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest

from masthead._meta.annotations import wire_type
from masthead.api.autoscaling.v2 import HorizontalPodAutoscaler
from masthead.api.core.v1 import Node, PersistentVolumeClaim, Pod, PodCondition, Taint
from masthead.api.storage.v1 import CSIDriver, StorageClass
from masthead.errors import DecodeError
from masthead.meta import EMPTY, GroupVersionKind, Object, Struct, field


def pod(**status: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "status": status}


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (Pod, {"status": {"phase": "Hibernating", "conditions": [{"type": "Ready", "status": "Perhaps"}]}}),
        (Pod, {"status": {"phase": "Hibernating", "newField": 1, "conditions": [{"status": "Perhaps", "new": 1}]}}),
        (PersistentVolumeClaim, {"spec": {"accessModes": ["ReadWriteOnce", "ReadWriteNobody"]}}),
        (PersistentVolumeClaim, {"status": {"allocatedResourceStatuses": {"storage": "SomethingNew"}}}),
        (StorageClass, {"reclaimPolicy": "Recycle2", "provisioner": "x"}),
        (StorageClass, {"reclaimPolicy": "Recycle2", "provisioner": "x", "newField": {"a": 1}}),
        (CSIDriver, {"spec": {"volumeLifecycleModes": ["Eternal"], "fsGroupPolicy": "Some"}}),
        (Node, {"spec": {"taints": [{"key": "a", "effect": "NoBreathing"}]}}),
        (HorizontalPodAutoscaler, {"spec": {"metrics": [{"type": "Weather"}]}}),
    ],
)
def test_unknown_values_survive_a_round_trip(kind: type[Object], content: dict[str, Any]) -> None:
    wire = {"apiVersion": kind.GVK.api_version, "kind": kind.GVK.kind, "metadata": {"name": "a"}, **content}

    for _ in range(2):  # the second time with a type that knows the new fields
        assert kind.from_dict(wire).to_dict() == wire
        assert kind.from_json(kind.from_dict(wire).to_json()) == kind.from_dict(wire)
        assert kind.from_dict(wire).copy().to_dict() == wire


def test_unknown_values_can_be_read_and_set() -> None:
    decoded = Pod.from_dict(pod(phase="Hibernating"))

    assert str(decoded.status.phase) == "Hibernating"
    decoded.status.phase = "Waking"  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
    assert decoded.to_dict()["status"] == {"phase": "Waking"}


def test_values_must_be_strings() -> None:
    with pytest.raises(DecodeError, match=r"status.phase: expected a string, got an integer \(5\)"):
        _ = Pod.from_dict(pod(phase=5)).status.phase
    with pytest.raises(DecodeError, match="effect: expected a string"):
        Taint(effect=5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_an_unset_required_value_is_empty_and_not_encoded() -> None:
    condition = PodCondition(type="Ready")

    assert len(condition.status) == 0
    assert condition.to_dict() == {"type": "Ready"}
    assert len(EMPTY) == 0


class Ship(Struct):
    size: Literal["small", "large"] = "small"
    decks: Literal[1, 2] = 1
    sails: list[Literal["jib", "main"]] = []
    flags: dict[str, Literal["up", "down"]] = {}
    harbour: Annotated[Literal["Kiel", "Oslo"] | None, "where it lies"] = None


class Voyage(Object):
    GVK = GroupVersionKind("sea.example.org", "v1", "Voyage")

    course: Literal["north", "south"] = "north"
    ship: Ship = field(default_factory=Ship)


def test_a_literal_of_an_own_class_keeps_unknown_values() -> None:
    wire = {
        "apiVersion": "sea.example.org/v1",
        "kind": "Voyage",
        "metadata": {"name": "a"},
        "course": "west",
        "ship": {"size": "huge", "decks": 9, "sails": ["spinnaker"], "flags": {"a": "half"}, "harbour": "Bergen"},
    }

    assert Voyage.from_dict(wire).to_dict() == wire
    assert Voyage.from_json(Voyage.from_dict(wire).to_json()).ship.to_dict() == wire["ship"]
    assert Voyage().course == "north"


def test_the_kind_of_a_class_is_exact() -> None:
    with pytest.raises(DecodeError, match="Voyage"):
        Voyage.from_dict({"apiVersion": "sea.example.org/v2", "kind": "Voyage"})


@pytest.mark.parametrize(
    ("annotation", "decoded"),
    [
        (Literal["a", "b"], str),
        (Literal[1, 2], int),
        (Literal["a"] | None, str | None),
        (list[Literal["a"]], list[str]),
        (dict[str, Literal["a"]], dict[str, str]),
        (Annotated[Literal["a"], "x"], Annotated[str, "x"]),
        (Literal["a", 1], Literal["a", 1]),
        (list[int], list[int]),
    ],
)
def test_literals_decode_as_the_type_of_their_values(annotation: object, decoded: object) -> None:
    assert wire_type(annotation) == decoded
