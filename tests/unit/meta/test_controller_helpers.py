"""Conditions, owners and finalizers: what every controller writes."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from masthead._meta.conditions import (
    check_condition,
    find_condition,
    has_condition_status,
    is_condition_false,
    is_condition_true,
    remove_condition,
    set_condition,
)
from masthead._meta.finalizers import add_finalizer, has_finalizer, is_deleting, remove_finalizer
from masthead._meta.owners import (
    controller_of,
    is_controlled_by,
    owner_reference,
    remove_owner,
    set_controller,
    set_owner,
)
from masthead._meta.v1 import Condition
from masthead.api.apps.v1 import ReplicaSet
from masthead.api.core.v1 import Namespace, Pod, PodCondition
from masthead.errors import AlreadyControlledError, ArgumentError, NameFormatError

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)


def made(cls: type[ReplicaSet | Namespace], name: str, *, uid: str = "u-1", namespace: str = "") -> ReplicaSet:
    return cls.from_dict({"metadata": {"name": name, "uid": uid, "namespace": namespace}})  # type: ignore[return-value]


# -- Conditions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        (("Ready", "yes", "Up"), "the status of the condition 'Ready' is 'yes'; it must be True, False"),
        (("Ready", None, "Up"), "the status of the condition 'Ready' is None"),
        (("Ready", "True", "not ok"), "the reason of the condition 'Ready' is 'not ok'; it must be one CamelCase"),
        (("Ready", "True", ""), "the reason of the condition 'Ready' is ''"),
        (("Ready", "True", "Up\n"), "the reason of the condition"),
        (("Ready", "True", "U" * 1_025), "the reason of the condition"),
        (("", "True", "Up"), "the type of a condition is ''"),
        (("is ready", "True", "Up"), "the type of a condition is 'is ready'"),
        (("R" * 317, "True", "Up"), "the type of a condition is"),
    ],
)
def test_invalid_conditions_are_refused(condition: tuple[object, object, object], problem: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(problem)):
        check_condition(*condition)


@pytest.mark.parametrize("type_", ["Ready", "example.com/Ready", "Pod_Ready.v1-a"])
@pytest.mark.parametrize("reason", ["Up", "a", "Failed:Twice,Then_ok", "B1"])
@pytest.mark.parametrize("status", ["True", "False", "Unknown"])
def test_valid_conditions_are_accepted(type_: str, status: str, reason: str) -> None:
    check_condition(type_, status, reason)


def test_conditions_of_any_kind_are_found_and_judged() -> None:
    conditions = [PodCondition(type="Ready", status="True"), PodCondition(type="Initialized", status="False")]

    assert find_condition(conditions, "Ready") is conditions[0]
    assert find_condition(conditions, "Absent") is None
    assert is_condition_true(conditions, "Ready")
    assert is_condition_false(conditions, "Initialized")
    assert not is_condition_true(conditions, "Absent")
    assert not is_condition_false(conditions, "Absent")
    assert has_condition_status(conditions, "Initialized", "False")


def test_a_new_condition_is_stamped_with_now() -> None:
    conditions: list[Condition] = []

    assert set_condition(conditions, Condition(type="Ready", status="True", reason="Up"), now=NOON)
    assert conditions == [Condition(type="Ready", status="True", reason="Up", last_transition_time=NOON)]


def test_without_now_the_present_is_noted_in_utc_to_the_second() -> None:
    conditions: list[Condition] = []
    before = datetime.now(UTC).replace(microsecond=0)
    set_condition(conditions, Condition(type="Ready", status="True"))
    after = datetime.now(UTC)

    noted = conditions[0].last_transition_time
    assert noted is not None
    assert before <= noted <= after
    assert (noted.tzinfo, noted.microsecond) == (UTC, 0)


def test_the_transition_time_moves_with_the_status_only() -> None:
    conditions = [Condition(type="Ready", status="True", reason="Up", last_transition_time=NOON)]

    assert set_condition(conditions, Condition(type="Ready", status="True", reason="Fine"), now=LATER)
    assert (conditions[0].reason, conditions[0].last_transition_time) == ("Fine", NOON)
    assert set_condition(conditions, Condition(type="Ready", status="False", reason="Down"), now=LATER)
    assert conditions[0].last_transition_time == LATER


def test_setting_the_same_condition_again_changes_nothing() -> None:
    conditions = [Condition(type="Ready", status="True", reason="Up", last_transition_time=NOON)]

    assert not set_condition(conditions, Condition(type="Ready", status="True", reason="Up"), now=LATER)


def test_the_caller_keeps_the_condition_it_gave() -> None:
    wanted, conditions = Condition(type="Ready", status="True"), list[Condition]()
    set_condition(conditions, wanted, now=NOON)

    assert wanted.last_transition_time is None


def test_a_condition_is_written_in_full_because_custom_resources_require_it() -> None:
    conditions: list[Condition] = []
    set_condition(conditions, Condition(type="Ready", status="True", reason="Up"), now=NOON.replace(microsecond=7))

    assert conditions[0].to_dict() == {
        "type": "Ready",
        "status": "True",
        "reason": "Up",
        "message": "",
        "lastTransitionTime": "2026-01-01T12:00:00Z",
    }


def test_conditions_of_a_kinds_own_type_can_be_set() -> None:
    conditions: list[PodCondition] = []

    assert set_condition(conditions, PodCondition(type="Ready", status="True"), now=NOON)
    assert conditions[0].to_dict() == {
        "type": "Ready",
        "status": "True",
        "lastTransitionTime": "2026-01-01T12:00:00Z",
    }


def test_a_condition_can_be_removed() -> None:
    conditions = [Condition(type="A"), Condition(type="B")]

    assert remove_condition(conditions, "A")
    assert not remove_condition(conditions, "A")
    assert [condition.type for condition in conditions] == ["B"]


# -- Owners ----------------------------------------------------------------------------------------------------


def test_an_owner_is_named_by_kind_name_and_uid() -> None:
    reference = owner_reference(made(ReplicaSet, "web"), controller=True, block_deletion=True)

    assert reference.to_dict() == {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "web",
        "uid": "u-1",
        "controller": True,
        "blockOwnerDeletion": True,
    }


def test_an_owner_without_a_uid_is_rejected() -> None:
    with pytest.raises(ArgumentError, match="has no uid yet; create it first"):
        owner_reference(ReplicaSet.new("web"))


def test_the_controller_is_set_once_and_found_again() -> None:
    pod, owner = Pod.new("web-1", namespace="shop"), made(ReplicaSet, "web", namespace="shop")

    assert set_controller(pod, owner)
    assert not set_controller(pod, owner)
    assert controller_of(pod) == owner_reference(owner, controller=True, block_deletion=True)
    assert is_controlled_by(pod, owner)
    assert not is_controlled_by(pod, made(ReplicaSet, "web", uid="u-2", namespace="shop"))
    assert not is_controlled_by(Pod.new("x"), ReplicaSet.new("y"))


def test_a_second_controller_is_refused() -> None:
    pod = Pod.new("web-1", namespace="shop")
    set_controller(pod, made(ReplicaSet, "web", namespace="shop"))

    with pytest.raises(AlreadyControlledError, match="already controlled by ReplicaSet web"):
        set_controller(pod, made(ReplicaSet, "other", uid="u-2", namespace="shop"))


def test_a_controller_that_was_created_anew_takes_over() -> None:
    pod = Pod.new("web-1", namespace="shop")
    set_controller(pod, made(ReplicaSet, "web", namespace="shop"))

    assert set_controller(pod, made(ReplicaSet, "web", uid="u-2", namespace="shop"))
    assert [each.uid for each in pod.metadata.owner_references] == ["u-2"]


def test_an_owner_in_another_namespace_is_refused_and_a_cluster_scoped_one_is_not() -> None:
    pod = Pod.new("web-1", namespace="shop")

    with pytest.raises(ArgumentError, match="in the same namespace"):
        set_owner(pod, made(ReplicaSet, "web", namespace="elsewhere"))
    assert set_owner(pod, made(Namespace, "shop"))


def test_an_owner_created_anew_replaces_its_old_reference() -> None:
    pod = Pod.new("web-1", namespace="shop")
    set_owner(pod, made(ReplicaSet, "web", namespace="shop"))
    set_owner(pod, made(ReplicaSet, "web", uid="u-2", namespace="shop"))

    assert [each.uid for each in pod.metadata.owner_references] == ["u-2"]


def test_an_owner_can_be_removed() -> None:
    pod, owner = Pod.new("web-1", namespace="shop"), made(ReplicaSet, "web", namespace="shop")
    set_owner(pod, owner)

    assert remove_owner(pod, owner)
    assert not remove_owner(pod, owner)
    assert pod.metadata.owner_references == []


# -- Finalizers ------------------------------------------------------------------------------------------------


def test_finalizers_are_added_once_and_removed() -> None:
    pod = Pod.new("web")

    assert add_finalizer(pod, "example.com/cleanup")
    assert not add_finalizer(pod, "example.com/cleanup")
    assert has_finalizer(pod, "example.com/cleanup")
    assert remove_finalizer(pod, "example.com/cleanup")
    assert not remove_finalizer(pod, "example.com/cleanup")


def test_a_finalizer_must_be_a_name() -> None:
    with pytest.raises(NameFormatError):
        add_finalizer(Pod.new("web"), "no spaces")


def test_an_object_with_a_deletion_timestamp_is_deleting() -> None:
    pod = Pod.new("web")
    assert not is_deleting(pod)

    pod.metadata.deletion_timestamp = NOON
    assert is_deleting(pod)
