"""The cells of workloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import deployment, job, metadata, named, workload
from tests.conformance.rows import LATER, THEN, containers, show, show_with_status

if TYPE_CHECKING:
    from tests.conformance.api import Api

case = area("Cells of workloads")


@case("a deployment and its selector")
def _(api: Api) -> None:
    body = deployment("a", replicas=3)
    body["spec"]["selector"] = {
        "matchLabels": {"app": "a"},
        "matchExpressions": [
            {"key": "tier", "operator": "In", "values": ["b", "a"]},
            {"key": "app", "operator": "Exists"},
            {"key": "old", "operator": "DoesNotExist"},
            {"key": "zone", "operator": "NotIn", "values": ["z"]},
        ],
    }
    body["spec"]["template"]["metadata"]["labels"] = {"app": "a", "tier": "a", "zone": "y"}
    body["spec"]["template"]["spec"]["containers"] = containers("main", "other")
    show_with_status(
        api,
        "deployments",
        body,
        {"replicas": 3, "readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1},
    )


@case("replica sets, stateful sets and replication controllers")
def _(api: Api) -> None:
    status = {"replicas": 2, "readyReplicas": 1, "fullyLabeledReplicas": 2, "availableReplicas": 1}
    show_with_status(api, "replicasets", workload("ReplicaSet", "a", replicas=2), status)
    show_with_status(api, "statefulsets", workload("StatefulSet", "a", replicas=2), {"replicas": 2, "readyReplicas": 1})
    controller = named(
        "v1",
        "ReplicationController",
        "a",
        spec={
            "replicas": 2,
            "selector": {"app": "a", "b": "c"},
            "template": {
                "metadata": {"labels": {"app": "a", "b": "c"}},
                "spec": {"containers": containers("main", "other")},
            },
        },
    )
    show_with_status(api, "replicationcontrollers", controller, status)


@case("a daemon set")
def _(api: Api) -> None:
    body = workload("DaemonSet", "a")
    body["spec"]["template"]["spec"]["nodeSelector"] = {"b": "2", "a": "1"}
    show_with_status(
        api,
        "daemonsets",
        body,
        {
            "desiredNumberScheduled": 5,
            "currentNumberScheduled": 4,
            "numberReady": 3,
            "updatedNumberScheduled": 2,
            "numberAvailable": 1,
            "numberMisscheduled": 0,
        },
    )


@case("controller revisions and their controllers")
def _(api: Api) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "1", "controller": True}
    for name, owners in (("a", [owner]), ("b", [{**owner, "controller": False}])):
        body = {"metadata": metadata(name, ownerReferences=owners), "revision": 7, "data": {"k": "v"}}
        api.create("controllerrevisions", body)
        show(api, "controllerrevisions", name)
    core = {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "1", "controller": True}
    api.create("controllerrevisions", {"metadata": metadata("c", ownerReferences=[core]), "revision": 1, "data": {}})
    show(api, "controllerrevisions", "c")


@case("a job and how often it completes")
def _(api: Api) -> None:
    for name, spec in (
        ("a", {}),
        ("b", {"completions": 5, "parallelism": 2}),
        ("c", {"parallelism": 3}),
        ("d", {"suspend": True}),
    ):
        body = job(name)
        body["spec"] |= spec
        api.create("jobs", body)
        show(api, "jobs", name)
        api.patch("jobs", f"{name}/status", {"status": {"active": 1, "startTime": THEN}})
        show(api, "jobs", name)


@case("a job that has ended")
def _(api: Api) -> None:
    condition = {"status": "True", "lastProbeTime": THEN, "lastTransitionTime": THEN}
    target = {**condition, "type": "SuccessCriteriaMet"}
    show_with_status(
        api,
        "jobs",
        job("a"),
        {"startTime": THEN, "active": 1},
        {"conditions": [target]},
        {
            "conditions": [target, {**condition, "type": "Complete"}],
            "completionTime": LATER,
            "active": 0,
            "succeeded": 1,
        },
    )
    failing = {**condition, "type": "FailureTarget", "reason": "BackoffLimitExceeded"}
    show_with_status(
        api,
        "jobs",
        job("b"),
        {"startTime": THEN, "active": 1},
        {"conditions": [failing]},
        {
            "conditions": [failing, {**condition, "type": "Failed", "reason": "BackoffLimitExceeded"}],
            "active": 0,
            "failed": 1,
        },
    )


@case("a job that is being deleted")
def _(api: Api) -> None:
    api.create("jobs", job("a", finalizers=["example.com/one"]))
    api.delete("jobs", "a", propagationPolicy="Background")
    show(api, "jobs", "a")


@case("a cron job")
def _(api: Api) -> None:
    spec = {"schedule": "*/5 * * * *", "jobTemplate": {"spec": job()["spec"]}}
    for name, more in (("a", {}), ("b", {"suspend": True, "timeZone": "Europe/Berlin"})):
        body = named("batch/v1", "CronJob", name, spec={**spec, **more})
        show_with_status(
            api,
            "cronjobs",
            body,
            {"lastScheduleTime": THEN, "active": [{"kind": "Job", "name": "one"}, {"kind": "Job"}]},
        )
