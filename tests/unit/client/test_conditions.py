"""Conditions: what the ready-made ones decide, and the laws of combining them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._client import conditions
from masthead._client.conditions import (
    ObjectWaitCondition,
    WaitCondition,
    condition_is,
    deleted,
    exists,
    field_is,
    matches,
)
from masthead._meta.object import Object
from masthead._meta.unstructured import Unstructured
from masthead._schema.field_paths import parse_path, value_at
from masthead.api.apiextensions.v1 import CustomResourceDefinition
from masthead.api.apps.v1 import DaemonSet, Deployment, StatefulSet
from masthead.api.batch.v1 import Job
from masthead.api.core.v1 import ConfigMap, Namespace, Pod
from masthead.errors import ArgumentError

K = TypeVar("K", bound=Object)


def both(cls: type[K], status: dict[str, object], *, generation: int = 1, **sections: object) -> list[K | Unstructured]:
    """An object with a type, and the same without."""
    data = {
        "apiVersion": cls.GVK.api_version,
        "kind": cls.GVK.kind,
        "metadata": {"name": "web", "generation": generation, "uid": "u1"},
        "status": status,
        **sections,
    }
    return [cls.from_dict(data), Unstructured.from_dict(data)]


def with_condition(type_: str, status: str, **more: object) -> dict[str, object]:
    return {"conditions": [{"type": "Other", "status": "True"}, {"type": type_, "status": status, **more}]}


Case = tuple[Callable[[], WaitCondition[Any]], type[Object], dict[str, object], dict[str, object], bool]

ROLLED_OUT: dict[str, object] = {
    "observedGeneration": 2,
    "replicas": 3,
    "updatedReplicas": 3,
    "availableReplicas": 3,
    "readyReplicas": 3,
    "currentRevision": "web-1",
    "updateRevision": "web-1",
}
EVERYWHERE: dict[str, object] = {
    "observedGeneration": 2,
    "currentNumberScheduled": 2,
    "desiredNumberScheduled": 2,
    "numberMisscheduled": 0,
    "numberReady": 2,
    "updatedNumberScheduled": 2,
    "numberAvailable": 2,
}
THREE: dict[str, object] = {"spec": {"replicas": 3}}
PARTITIONED: dict[str, object] = {
    "spec": {"replicas": 3, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}}
}


@pytest.mark.parametrize(
    ("make", "cls", "status", "sections", "expected"),
    [
        (conditions.pod_running, Pod, {"phase": "Running"}, {}, True),
        (conditions.pod_running, Pod, {"phase": "Pending"}, {}, False),
        (conditions.pod_running, Pod, {}, {}, False),
        (conditions.pod_ready, Pod, with_condition("Ready", "True"), {}, True),
        (conditions.pod_ready, Pod, with_condition("Ready", "False"), {}, False),
        (conditions.pod_ready, Pod, {}, {}, False),
        (conditions.pod_succeeded, Pod, {"phase": "Succeeded"}, {}, True),
        (conditions.pod_succeeded, Pod, {"phase": "Failed"}, {}, False),
        (conditions.pod_failed, Pod, {"phase": "Failed"}, {}, True),
        (conditions.pod_finished, Pod, {"phase": "Failed"}, {}, True),
        (conditions.pod_finished, Pod, {"phase": "Running"}, {}, False),
        (conditions.job_complete, Job, with_condition("Complete", "True"), {}, True),
        (conditions.job_complete, Job, with_condition("Failed", "True"), {}, False),
        (conditions.job_failed, Job, with_condition("Failed", "True"), {}, True),
        (conditions.job_finished, Job, with_condition("Failed", "True"), {}, True),
        (conditions.job_finished, Job, with_condition("Suspended", "True"), {}, False),
        (conditions.deployment_available, Deployment, with_condition("Available", "True"), {}, True),
        (conditions.deployment_available, Deployment, with_condition("Available", "Unknown"), {}, False),
        (conditions.deployment_rolled_out, Deployment, ROLLED_OUT, THREE, True),
        (conditions.deployment_rolled_out, Deployment, ROLLED_OUT | {"observedGeneration": 1}, THREE, False),
        (conditions.deployment_rolled_out, Deployment, ROLLED_OUT | {"updatedReplicas": 2}, THREE, False),
        (conditions.deployment_rolled_out, Deployment, ROLLED_OUT | {"replicas": 4}, THREE, False),
        (conditions.deployment_rolled_out, Deployment, ROLLED_OUT | {"availableReplicas": 2}, THREE, False),
        (
            conditions.deployment_rolled_out,
            Deployment,
            {"observedGeneration": 2},
            {"spec": {"replicas": 0}},
            True,
        ),
        (conditions.deployment_rolled_out, Deployment, {}, THREE, False),
        (conditions.stateful_set_rolled_out, StatefulSet, ROLLED_OUT, THREE, True),
        (conditions.stateful_set_rolled_out, StatefulSet, ROLLED_OUT | {"readyReplicas": 2}, THREE, False),
        (
            conditions.stateful_set_rolled_out,
            StatefulSet,
            ROLLED_OUT | {"updateRevision": "web-2"},
            THREE,
            False,
        ),
        (conditions.stateful_set_rolled_out, StatefulSet, {"replicas": 0}, THREE, False),
        (
            conditions.stateful_set_rolled_out,
            StatefulSet,
            ROLLED_OUT | {"updateRevision": "web-2", "updatedReplicas": 1},
            PARTITIONED,
            True,
        ),
        (
            conditions.stateful_set_rolled_out,
            StatefulSet,
            ROLLED_OUT | {"updateRevision": "web-2", "updatedReplicas": 0},
            PARTITIONED,
            False,
        ),
        (conditions.daemon_set_rolled_out, DaemonSet, EVERYWHERE, {}, True),
        (conditions.daemon_set_rolled_out, DaemonSet, EVERYWHERE | {"updatedNumberScheduled": 1}, {}, False),
        (conditions.daemon_set_rolled_out, DaemonSet, EVERYWHERE | {"numberAvailable": 1}, {}, False),
        (conditions.daemon_set_rolled_out, DaemonSet, EVERYWHERE | {"observedGeneration": 1}, {}, False),
    ],
)
def test_ready_made_conditions_decide_as_kubectl_does(
    make: Callable[[], WaitCondition[Any]],
    cls: type[Object],
    status: dict[str, object],
    sections: dict[str, object],
    expected: bool,
) -> None:
    condition = make()
    assert [condition(obj) for obj in both(cls, status, generation=2, **sections)] == [expected, expected]
    assert not condition(None)


@pytest.mark.parametrize(
    ("true", "expected"),
    [
        ({"Established", "NamesAccepted"}, True),
        ({"Established"}, False),
        ({"NamesAccepted"}, False),
        (set(), False),
    ],
)
def test_a_definition_is_established_once_its_names_are_taken_too(true: set[str], expected: bool) -> None:
    status = [
        {"type": each, "status": str(each in true), "lastTransitionTime": None}
        for each in ("NamesAccepted", "Established")
    ]
    names = {"kind": "Widget", "plural": "widgets"}
    for obj in both(CustomResourceDefinition, {"acceptedNames": names, "conditions": status, "storedVersions": []}):
        assert conditions.crd_established()(obj) is expected


def definition_with(*conditions_of: dict[str, Any], **meta: Any) -> Unstructured:
    return Unstructured.from_dict(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com", **meta},
            "status": {"conditions": list(conditions_of)},
        }
    )


def test_a_definition_says_why_its_names_are_not_accepted() -> None:
    refused = {
        "type": "NamesAccepted",
        "status": "False",
        "reason": "KindConflict",
        "message": '"Widget" is taken',
    }

    assert conditions.crd_established().says(definition_with(refused)) == (
        'NamesAccepted is False (KindConflict: "Widget" is taken)'
    )
    assert not conditions.crd_names_accepted()(definition_with(refused))


def test_a_definition_that_is_being_deleted_is_not_established() -> None:
    true = [{"type": each, "status": "True"} for each in ("NamesAccepted", "Established")]
    ending = {"type": "Terminating", "status": "True", "reason": "InstanceDeletionInProgress"}
    deleted = definition_with(*true, ending, deletionTimestamp="2026-01-01T00:00:00Z")

    assert conditions.crd_established()(definition_with(*true))
    assert not conditions.crd_established()(deleted)
    assert conditions.crd_established().says(deleted) == "it is being deleted (InstanceDeletionInProgress)"


def test_a_condition_of_an_older_generation_does_not_count() -> None:
    old = with_condition("Ready", "True", observedGeneration=1)
    new = with_condition("Ready", "True", observedGeneration=2)
    by_status = with_condition("Ready", "True") | {"observedGeneration": 1}
    for status, expected in ((old, False), (new, True), (by_status, False)):
        for obj in both(Pod, status, generation=2):
            assert condition_is("Ready")(obj) is expected
    assert condition_is("Ready").says(both(Pod, old, generation=2)[0]) == (
        "Ready is True, but observed for an older generation"
    )


def test_types_and_statuses_are_compared_without_case_as_kubectl_does() -> None:
    for obj in both(Pod, with_condition("Ready", "True")):
        assert condition_is("ready", "true")(obj)


def test_the_state_of_a_condition_includes_reason_and_message() -> None:
    status = with_condition(
        "Ready", "False", reason="ContainersNotReady", message="containers with unready status: [web]"
    )
    for obj in both(Pod, status):
        assert conditions.pod_ready().says(obj) == (
            "Ready is False (ContainersNotReady: containers with unready status: [web])"
        )
        assert condition_is("Available").says(obj) == "it has no condition Available yet, but Other, Ready"
    assert conditions.pod_ready().says(None) == "it does not exist"


def test_the_state_of_a_rollout_includes_progress_and_whether_it_is_stuck() -> None:
    stuck = {"conditions": [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]}
    for obj in both(Deployment, ROLLED_OUT | {"availableReplicas": 1} | stuck, generation=2, **THREE):
        assert conditions.deployment_rolled_out().says(obj) == (
            "1 of 3 new pods are available, and its progress deadline is exceeded"
        )
    for obj in both(Deployment, ROLLED_OUT, generation=3, **THREE):
        assert conditions.deployment_rolled_out().says(obj) == "the controller has not seen the newest change yet"


def test_deleted_holds_when_an_object_is_gone_or_replaced() -> None:
    obj = both(ConfigMap, {})[1]
    assert deleted()(None)
    assert not deleted()(obj)
    assert deleted(uid="u1")(None)
    assert not deleted(uid="u1")(obj)
    assert deleted(uid="u0")(obj)


def test_a_custom_function_is_called_for_existing_objects_only() -> None:
    def is_empty(obj: ConfigMap) -> bool:
        return not obj.data

    # One for config maps and one for any object combine to one for config maps; the type checkers know.
    empty: WaitCondition[ConfigMap] = exists() & matches(is_empty, "it is empty") | matches(is_empty, "it") & ~deleted()
    assert empty(ConfigMap.new("a"))
    assert not empty(ConfigMap.new("a", data={"b": "c"}))
    assert not empty(None)


def test_exists_holds_for_any_existing_object() -> None:
    assert exists()(ConfigMap.new("a"))
    assert not exists()(None)


def test_fields_are_compared_as_the_wire_has_them() -> None:
    data: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "labels": {"example.com/a.b": "yes"}},
        "spec": {
            "nodeName": "node-1",
            "containers": [{"name": "web", "resources": {"limits": {"cpu": "500m"}}}],
        },
        "status": {"startTime": "2026-01-01T00:00:00Z"},
    }
    for obj in (Pod.from_dict(data), Unstructured.from_dict(data)):
        assert field_is("spec.containers[0].resources.limits.cpu", "500m")(obj)
        assert field_is("spec.containers[-1].name", "web")(obj)
        assert field_is('metadata.labels["example.com/a.b"]', "yes")(obj)
        assert field_is("status.startTime", "2026-01-01T00:00:00Z")(obj)
        assert field_is("spec.containers[1].name", None)(obj)
        assert field_is("kind", "Pod")(obj)
        assert field_is("spec.containers[0].resources.limits", {"cpu": "500m"})(obj)
        assert not field_is("spec.nodeName", "node-2")(obj)
        assert field_is("spec.nodeName", "node-2").says(obj) == "spec.nodeName is 'node-1'"
    assert not field_is("spec.nodeName", None)(None)


def test_a_field_unknown_to_the_type_is_rejected() -> None:
    with pytest.raises(ArgumentError, match='no field "phaze"; did you mean "phase"'):
        field_is("status.phaze", "Running")(Pod.new("web"))


def test_a_field_of_a_newer_server_is_found() -> None:
    newer = Pod.from_dict({"metadata": {"name": "web"}, "status": {"mood": "fine"}})
    assert field_is("status.mood", "fine")(newer)


@pytest.mark.parametrize("path", ["", ".", "[0]", "a..b", "a[", "a[x]", 'a["b]', "a]"])
def test_an_invalid_field_path_is_rejected_at_once(path: str) -> None:
    with pytest.raises(ArgumentError, match="is not a field path"):
        field_is(path, 1)


def test_a_path_may_begin_with_a_dot_as_it_does_for_kubectl() -> None:
    assert parse_path(".status.phase") == ("status", "phase")
    assert value_at(ConfigMap.new("a"), ("status", "phase")) is None


def test_conditions_cannot_be_combined_with_the_and_keyword() -> None:
    with pytest.raises(TypeError, match="&"):
        bool(exists() and deleted())


def test_descriptions_follow_the_operators() -> None:
    combined: WaitCondition[Object] = (exists() & ~deleted()) | matches(lambda _: True, "it shines")
    assert combined.description == "((it exists and not (it is gone)) or it shines)"
    assert repr(~exists()) == "WaitCondition(not (it exists))"


@pytest.mark.parametrize(
    ("condition", "needs_object"),
    [
        (exists(), True),
        (deleted(), False),
        (~exists(), False),
        (exists() & deleted(), True),
        (deleted() & exists(), True),
        (deleted() & deleted(), False),
        (exists() | conditions.pod_ready(), True),
        (exists() | deleted(), False),
        (deleted() | exists(), False),
        (matches(lambda _: True, "it is so"), True),
        (WaitCondition(lambda _: True, "it is so"), False),
    ],
    ids=str,
)
def test_a_condition_that_needs_an_object_is_false_without_one(
    condition: WaitCondition[Any], needs_object: bool
) -> None:
    assert isinstance(condition, ObjectWaitCondition) is needs_object
    assert not (needs_object and condition(None))


def test_a_combination_describes_both_states_without_repetition() -> None:
    obj = both(Pod, {"phase": "Pending"})[0]
    assert (field_is("status.phase", "Running") | condition_is("Ready")).says(obj) == (
        "status.phase is 'Pending'; it has no condition Ready yet"
    )
    assert conditions.pod_finished().says(obj) == "status.phase is 'Pending'"
    assert (exists() & deleted()).says(obj) == "it exists; status.phase is 'Pending'"


def test_an_object_that_stays_names_its_finalizers_and_what_is_in_it() -> None:
    obj = both(
        Namespace,
        {
            "phase": "Terminating",
            "conditions": [
                {"type": "NamespaceContentRemaining", "status": "False", "message": "nothing"},
                {"type": "NamespaceFinalizersRemaining", "status": "True", "message": "Some content has a: 1"},
            ],
        },
    )[0]
    obj.metadata.deletion_timestamp = datetime(2026, 1, 1, tzinfo=UTC)
    obj.metadata.finalizers = ["a"]

    assert deleted().says(obj) == (
        "it still exists: being deleted, finalizer a, Some content has a: 1; status.phase is 'Terminating'"
    )


leaves = st.sampled_from(
    [
        exists(),
        deleted(),
        deleted(uid="u1"),
        condition_is("Ready"),
        condition_is("Ready", "False"),
        field_is("status.phase", "Running"),
        conditions.pod_finished(),
    ]
)
anything = st.recursive(
    leaves,
    lambda inner: st.one_of(
        inner.map(lambda one: ~one),
        st.tuples(inner, inner).map(lambda two: two[0] & two[1]),
        st.tuples(inner, inner).map(lambda two: two[0] | two[1]),
    ),
    max_leaves=6,
)


@st.composite
def objects(draw: st.DrawFn) -> Object | None:
    if draw(st.booleans()) and draw(st.booleans()):
        return None
    status = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "phase": st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]),
                "conditions": st.lists(
                    st.fixed_dictionaries(
                        {
                            "type": st.sampled_from(["Ready", "Other"]),
                            "status": st.sampled_from(["True", "False"]),
                        }
                    ),
                    max_size=2,
                ),
            },
        )
    )
    data = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "uid": draw(st.sampled_from(["u1", "u2"]))},
        "status": status,
    }
    return Pod.from_dict(data) if draw(st.booleans()) else Unstructured.from_dict(data)


@given(anything, anything, objects())
def test_operators_follow_boolean_logic(
    one: WaitCondition[Object], other: WaitCondition[Object], obj: Object | None
) -> None:
    assert (one & other)(obj) is (one(obj) and other(obj))
    assert (one | other)(obj) is (one(obj) or other(obj))
    assert (~one)(obj) is (not one(obj))
    assert (~(one & other))(obj) is (~one | ~other)(obj)
    assert (~(one | other))(obj) is (~one & ~other)(obj)
    assert (~~one)(obj) is one(obj)
    assert (one | ~one)(obj)
    assert not (one & ~one)(obj)


@given(anything, objects())
def test_every_condition_describes_every_object(one: WaitCondition[Object], obj: Object | None) -> None:
    assert one.description
    assert one.says(obj)


@pytest.mark.parametrize("obj", both(StatefulSet, ROLLED_OUT, spec={"replicas": 3}), ids=["typed", "untyped"])
@pytest.mark.parametrize(
    "make",
    [conditions.pod_ready, conditions.deployment_rolled_out, conditions.job_finished, conditions.crd_established],
)
def test_a_condition_of_a_kind_refuses_objects_of_another(make: Callable[[], WaitCondition[Any]], obj: Object) -> None:
    for condition in (make(), ~make(), make() & exists(), deleted() | make()):
        with pytest.raises(
            ArgumentError, match=r"is for objects of the kind .*, and web is of the kind StatefulSet; use"
        ):
            condition(obj)


def test_an_object_without_its_kind_may_be_of_any() -> None:
    assert conditions.pod_running()(Unstructured.from_dict({"status": {"phase": "Running"}}))


def test_combinations_short_circuit() -> None:
    def fails(_: Object | None) -> bool:
        raise AssertionError

    broken = WaitCondition(fails, "never evaluated")
    assert (exists() | broken)(ConfigMap.new("a"))
    assert not (exists() & broken)(None)
