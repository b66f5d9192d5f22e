"""The cells of pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import pod
from tests.conformance.rows import THEN, containers, show, show_with_status

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Cells of pods")

WAITING = {"waiting": {"reason": "CrashLoopBackOff"}}
RUNNING = {"running": {"startedAt": THEN}}
DONE = {"terminated": {"exitCode": 0, "reason": "Completed"}}


def ran(name: str, state: Plain, *, ready: bool = False, restarts: int = 0, **more: object) -> Plain:
    """The status of a container."""
    return {
        "name": name,
        "state": state,
        "ready": ready,
        "restartCount": restarts,
        "image": "image",
        "imageID": "",
        **more,
    }


@case("a pod that runs")
def _(api: Api) -> None:
    show_with_status(
        api,
        "pods",
        pod("a", spec={"containers": containers("main", "other")}),
        {"phase": "Running", "containerStatuses": [ran("main", RUNNING), ran("other", RUNNING)]},
        {"containerStatuses": [ran("main", RUNNING, ready=True), ran("other", RUNNING)]},
        {"containerStatuses": [ran("main", RUNNING, ready=True), ran("other", RUNNING, ready=True)]},
    )


@case("a pod with addresses, a node and a nominated node")
def _(api: Api) -> None:
    show_with_status(
        api,
        "pods",
        pod("a"),
        {"podIP": "192.0.2.1", "podIPs": [{"ip": "192.0.2.1"}, {"ip": "2001:db8::1"}]},
        {"nominatedNodeName": "node-2"},
    )
    api.create("pods", pod("b", spec={"nodeName": "node-1"}))
    show(api, "pods", "b")


@case("a pod whose containers wait")
def _(api: Api) -> None:
    show_with_status(
        api,
        "pods",
        pod("a", spec={"containers": containers("main", "other")}),
        {"phase": "Running", "containerStatuses": [ran("main", WAITING), ran("other", RUNNING, ready=True)]},
        {
            "containerStatuses": [
                ran("main", {"waiting": {"reason": "ImagePullBackOff"}}),
                ran("other", WAITING),
            ]
        },
        {"containerStatuses": [ran("main", {"waiting": {}}), ran("other", {})]},
        {"containerStatuses": [ran("main", {"waiting": {"reason": "ContainerCreating"}})]},
    )


@case("a pod that was restarted")
def _(api: Api) -> None:
    before = {"terminated": {"exitCode": 1, "finishedAt": THEN}}
    show_with_status(
        api,
        "pods",
        pod("a", spec={"containers": containers("main", "other")}),
        {"phase": "Running", "containerStatuses": [ran("main", RUNNING, ready=True, restarts=2)]},
        {"containerStatuses": [ran("main", RUNNING, ready=True, restarts=2, lastState=before)]},
        {"containerStatuses": [ran("main", RUNNING, lastState=before), ran("other", RUNNING)]},
    )


@case("a pod whose containers ended")
def _(api: Api) -> None:
    failed = {"terminated": {"exitCode": 3}}
    killed = {"terminated": {"exitCode": 137, "signal": 9}}
    reason = {"terminated": {"exitCode": 1, "reason": "OOMKilled"}}
    show_with_status(
        api,
        "pods",
        pod("a", spec={"restartPolicy": "Never", "containers": containers("main", "other")}),
        {"phase": "Running", "containerStatuses": [ran("main", failed), ran("other", RUNNING, ready=True)]},
        {"containerStatuses": [ran("main", killed), ran("other", failed)]},
        {"containerStatuses": [ran("main", reason), ran("other", killed)]},
        {"containerStatuses": [ran("main", {"terminated": {"exitCode": 0}}), ran("other", DONE)]},
        {"containerStatuses": [ran("main", DONE), ran("other", failed)]},
    )


@case("a pod of which one container is done and another runs")
def _(api: Api) -> None:
    statuses = [ran("main", DONE), ran("other", RUNNING, ready=True)]
    show_with_status(
        api,
        "pods",
        pod("a", spec={"restartPolicy": "Never", "containers": containers("main", "other")}),
        {"phase": "Running", "containerStatuses": statuses},
        {"conditions": [{"type": "Ready", "status": "True"}]},
        {"conditions": [{"type": "Ready", "status": "False"}]},
    )


@case("pods that succeeded or failed have a condition in their row")
def _(api: Api) -> None:
    show_with_status(api, "pods", pod("a"), {"phase": "Succeeded", "containerStatuses": [ran("main", DONE)]})
    show_with_status(api, "pods", pod("b"), {"phase": "Failed", "reason": "Evicted"})
    show_with_status(api, "pods", pod("c"), {"phase": "Unknown"})


@case("a pod whose init containers run")
def _(api: Api) -> None:
    body = pod("a", spec={"initContainers": containers("one", "two")})
    waits = ran("main", {"waiting": {"reason": "PodInitializing"}})
    show_with_status(
        api,
        "pods",
        body,
        {"initContainerStatuses": [ran("one", RUNNING), ran("two", {})], "containerStatuses": [waits]},
        {"initContainerStatuses": [ran("one", DONE), ran("two", RUNNING)]},
        {"initContainerStatuses": [ran("one", DONE), ran("two", {"waiting": {"reason": "PodInitializing"}})]},
        {"initContainerStatuses": [ran("one", DONE), ran("two", DONE)]},
        {"initContainerStatuses": [ran("one", WAITING, restarts=3), ran("two", {})]},
    )


@case("a pod whose init containers fail")
def _(api: Api) -> None:
    body = pod("a", spec={"restartPolicy": "Never", "initContainers": containers("one", "two")})
    show_with_status(
        api,
        "pods",
        body,
        {"initContainerStatuses": [ran("one", {"terminated": {"exitCode": 2}})]},
        {"initContainerStatuses": [ran("one", {"terminated": {"exitCode": 2, "signal": 15}})]},
        {"initContainerStatuses": [ran("one", {"terminated": {"exitCode": 2, "reason": "Error"}})]},
        {"initContainerStatuses": [ran("one", DONE), ran("two", {"waiting": {"reason": "ErrImagePull"}})]},
    )


@case("a pod with sidecars")
def _(api: Api) -> None:
    sidecars = [*containers("side", restartPolicy="Always"), *containers("one")]
    started = ran("side", RUNNING, ready=True, restarts=2, started=True)
    show_with_status(
        api,
        "pods",
        pod("a", spec={"initContainers": sidecars}),
        {"initContainerStatuses": [ran("side", RUNNING, started=False)]},
        {"initContainerStatuses": [started, ran("one", RUNNING, restarts=4)]},
        {"initContainerStatuses": [started, ran("one", DONE, restarts=4)]},
        {"containerStatuses": [ran("main", RUNNING, ready=True, restarts=1)]},
        {"conditions": [{"type": "Initialized", "status": "True"}]},
    )


@case("a pod that is initialized although an init container runs")
def _(api: Api) -> None:
    show_with_status(
        api,
        "pods",
        pod("a", spec={"initContainers": containers("one")}),
        {
            "phase": "Running",
            "initContainerStatuses": [ran("one", RUNNING, restarts=7)],
            "containerStatuses": [ran("main", RUNNING, ready=True)],
            "conditions": [{"type": "Initialized", "status": "True"}],
        },
    )


@case("a pod that waits at scheduling gates")
def _(api: Api) -> None:
    show_with_status(
        api,
        "pods",
        pod("a", spec={"schedulingGates": [{"name": "example.com/gate"}]}),
        {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]},
        {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]},
    )


@case("a pod with readiness gates")
def _(api: Api) -> None:
    gates = [{"conditionType": "example.com/one"}, {"conditionType": "example.com/two"}]
    show_with_status(
        api,
        "pods",
        pod("a", spec={"readinessGates": gates}),
        {"conditions": [{"type": "example.com/one", "status": "True"}]},
        {
            "conditions": [
                {"type": "example.com/one", "status": "False"},
                {"type": "example.com/two", "status": "True"},
            ]
        },
    )


@case("a pod with a reason of its own")
def _(api: Api) -> None:
    show_with_status(api, "pods", pod("a"), {"phase": "Pending", "reason": "OutOfcpu"})


@case("a pod that is being deleted")
def _(api: Api) -> None:
    for name, status in (
        ("a", {"phase": "Running", "containerStatuses": [ran("main", RUNNING, ready=True)]}),
        ("b", {"phase": "Running", "reason": "NodeLost"}),
        ("c", {"phase": "Succeeded"}),
        ("d", {"phase": "Failed", "reason": "NodeLost"}),
    ):
        api.create("pods", pod(name, finalizers=["example.com/one"]))
        api.patch("pods", f"{name}/status", {"status": status})
        api.delete("pods", name, gracePeriodSeconds=0)
        show(api, "pods", name)
