"""When an object is ready, by its kind; and restarts, which make it unready."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from masthead import conditions
from masthead._client.restarts import restart_patch
from masthead._meta.unstructured import Unstructured
from masthead.api.batch.v1 import Job
from masthead.errors import ArgumentError, ObjectFailedError

READY = conditions.ready()


def obj(api_version: str, kind: str, **sections: Any) -> Unstructured:
    meta = {"name": "a", "namespace": "n", "generation": 2, **sections.pop("metadata", {})}
    return Unstructured.from_dict({"apiVersion": api_version, "kind": kind, "metadata": meta, **sections})


def condition(type_: str, status: str = "True", **more: Any) -> dict[str, Any]:
    return {"conditions": [{"type": type_, "status": status, **more}]}


DONE = {
    "observedGeneration": 2,
    "replicas": 1,
    "updatedReplicas": 1,
    "availableReplicas": 1,
    "readyReplicas": 1,
}
ON_DELETE = {"replicas": 1, "updateStrategy": {"type": "OnDelete"}}


@pytest.mark.parametrize(
    "found",
    [
        obj("v1", "ConfigMap"),
        obj("apps/v1", "Deployment", spec={"replicas": 1}, status=DONE),
        obj("apps/v1", "ReplicaSet", spec={"replicas": 1}, status=DONE),
        obj("v1", "ReplicationController", spec={"replicas": 1}, status=DONE),
        obj(
            "apps/v1",
            "StatefulSet",
            spec=ON_DELETE,
            status={**DONE, "currentRevision": "a", "updateRevision": "b"},
        ),
        obj(
            "apps/v1",
            "DaemonSet",
            spec=ON_DELETE,
            status={"observedGeneration": 2, "desiredNumberScheduled": 1, "numberAvailable": 1},
        ),
        obj("batch/v1", "Job", status=condition("Complete")),
        obj("v1", "Pod", status=condition("Ready")),
        obj("v1", "Pod", status={"phase": "Succeeded"}),
        obj("v1", "PersistentVolumeClaim", status={"phase": "Bound"}),
        obj("v1", "Namespace", status={"phase": "Active"}),
        obj("apiregistration.k8s.io/v1", "APIService", status=condition("Available")),
        obj("example.com/v1", "Widget", status=condition("Ready")),
        obj("example.com/v1", "Widget", status=condition("Synced", "False")),
    ],
    ids=lambda each: each.kind,
)
def test_objects_that_are_ready(found: Unstructured) -> None:
    assert READY(found)


@pytest.mark.parametrize(
    ("found", "lacks"),
    [
        (None, "it does not exist"),
        (
            obj("v1", "ConfigMap", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
            "it is being deleted",
        ),
        (obj("apps/v1", "Deployment", spec={"replicas": 2}, status=DONE), "1 of 2 pods are new"),
        (obj("apps/v1", "ReplicaSet", spec={"replicas": 2}, status=DONE), "1 of 2 pods are ready"),
        (obj("apps/v1", "ReplicaSet", status={"observedGeneration": 1}), "has not seen the newest change"),
        (obj("batch/v1", "Job"), "it has no condition Complete yet"),
        (obj("v1", "Pod", status={"phase": "Pending"}), "status.phase is 'Pending'"),
        (obj("v1", "PersistentVolumeClaim", status={"phase": "Pending"}), "status.phase is 'Pending'"),
        (obj("v1", "Namespace", status={"phase": "Terminating"}), "status.phase is 'Terminating'"),
        (obj("apiextensions.k8s.io/v1", "CustomResourceDefinition"), "no condition NamesAccepted"),
        (
            obj("example.com/v1", "Widget", status=condition("Ready", "False", reason="Broken")),
            "Ready is False (Broken)",
        ),
        (obj("example.com/v1", "Widget", status={"observedGeneration": 1}), "has not seen the newest change"),
    ],
)
def test_objects_that_are_not_ready_say_why(found: Unstructured | None, lacks: str) -> None:
    assert not READY(found)
    assert lacks in READY.says(found)


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        (obj("batch/v1", "Job", status=condition("Failed", reason="DeadlineExceeded")), "DeadlineExceeded"),
        (obj("v1", "Pod", status={"phase": "Failed", "reason": "Evicted"}), r"has failed \(Evicted\)"),
        (obj("v1", "PersistentVolumeClaim", status={"phase": "Lost"}), "has lost its volume"),
        (
            obj(
                "apps/v1",
                "Deployment",
                spec={"replicas": 2},
                status={**DONE, **condition("Progressing", "False", reason="ProgressDeadlineExceeded")},
            ),
            "has not progressed in time: 1 of 2 pods are new",
        ),
    ],
)
def test_objects_that_have_failed_end_a_wait(found: Unstructured, problem: str) -> None:
    with pytest.raises(ObjectFailedError, match=f"^{found.kind} n/a .*{problem}"):
        READY(found)


def test_typed_objects_are_judged_alike() -> None:
    job = Job.from_dict(obj("batch/v1", "Job", status=condition("Complete")).to_dict())

    assert READY(job)


AT = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"


def restarted_at(found: Unstructured) -> str:
    plain: Any = json.loads(restart_patch(found, AT).body)
    return str(plain["spec"]["template"]["metadata"]["annotations"][RESTARTED_AT])


def test_a_restart_is_an_annotation_of_the_pod_template() -> None:
    assert restarted_at(obj("apps/v1", "Deployment", spec={"template": {}})) == "2026-01-02T03:04:05Z"


@pytest.mark.parametrize(
    ("last", "next_"),
    [
        ("2026-01-02T03:04:04Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"),
        ("2026-01-02T03:04:06Z", "2026-01-02T03:04:07Z"),
        ("2026-01-02T05:04:05+02:00", "2026-01-02T03:04:06Z"),
        ("yesterday", "2026-01-02T03:04:05Z"),
    ],
)
def test_a_restart_in_the_same_second_has_a_later_time(last: str, next_: str) -> None:
    annotated = {"template": {"metadata": {"annotations": {RESTARTED_AT: last}}}}

    assert restarted_at(obj("apps/v1", "DaemonSet", spec=annotated)) == next_


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        (obj("apps/v1", "Deployment", spec={"paused": True}), "the deployment is paused; resume it"),
        (obj("apps/v1", "ReplicaSet"), "only deployments, daemon sets and stateful sets"),
        (obj("example.com/v1", "Deployment"), "only deployments"),
    ],
)
def test_what_cannot_be_restarted(found: Unstructured, problem: str) -> None:
    with pytest.raises(ArgumentError, match=problem):
        restart_patch(found, AT)
