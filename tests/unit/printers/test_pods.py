"""The one word that says how a pod is, and what else its row has."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from masthead._printers.kinds import printer_for

NOW = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
EARLIER = "2026-05-04T03:00:01Z"
Plain = dict[str, Any]

RUNNING: Plain = {"running": {}}
DONE: Plain = {"terminated": {"exitCode": 0, "reason": "Completed"}}
CRASHING: Plain = {"waiting": {"reason": "CrashLoopBackOff"}}


def ran(state: Plain, **fields: Any) -> Plain:
    return {"state": state, "ready": state == RUNNING, "restartCount": 0, **fields}


def pod(*, names: int = 1, init: list[Plain] | None = None, spec: Plain | None = None, **status: Any) -> Plain:
    containers = [{"name": f"c{number}"} for number in range(names)]
    return {
        "metadata": {"name": "web", "creationTimestamp": EARLIER},
        "spec": {"containers": containers, "initContainers": init or [], **(spec or {})},
        "status": status,
    }


def cells(obj: Plain) -> dict[str, object]:
    printer = printer_for("", "Pod")
    names = [column.name for column in printer.columns]
    return dict(zip(names, printer.cells(obj, NOW), strict=True))


def ready_and_status(obj: Plain) -> tuple[object, object]:
    found = cells(obj)
    return found["Ready"], found["Status"]


READY = [{"type": "Ready", "status": "True"}]
ONE = [{"name": "one"}]
SIDE = [{"name": "side", "restartPolicy": "Always"}]


@pytest.mark.parametrize(
    ("obj", "shown"),
    [
        (pod(phase="Pending"), ("0/1", "Pending")),
        (pod(phase="Running", containerStatuses=[ran(RUNNING)]), ("1/1", "Running")),
        (pod(phase="Running", containerStatuses=[ran(RUNNING, ready=False)]), ("0/1", "Running")),
        (pod(phase="Running", containerStatuses=[ran(CRASHING)]), ("0/1", "CrashLoopBackOff")),
        (
            pod(names=2, phase="Running", containerStatuses=[ran(CRASHING), ran(RUNNING)]),
            ("1/2", "CrashLoopBackOff"),
        ),
        (pod(phase="Pending", containerStatuses=[ran({"waiting": {}})]), ("0/1", "Pending")),
        (pod(phase="Failed", reason="Evicted"), ("0/1", "Evicted")),
        (pod(phase="Succeeded", containerStatuses=[ran(DONE)]), ("0/1", "Completed")),
        (
            pod(phase="Failed", containerStatuses=[ran({"terminated": {"exitCode": 3}})]),
            ("0/1", "ExitCode:3"),
        ),
        (
            pod(phase="Failed", containerStatuses=[ran({"terminated": {"exitCode": 3, "signal": 9}})]),
            ("0/1", "Signal:9"),
        ),
        (pod(names=2, containerStatuses=[ran(DONE), ran(RUNNING)], conditions=READY), ("1/2", "Running")),
        (pod(names=2, containerStatuses=[ran(DONE), ran(RUNNING)]), ("1/2", "NotReady")),
        (
            pod(
                names=2,
                containerStatuses=[ran(DONE), ran({"terminated": {"exitCode": 1, "reason": "Error"}})],
            ),
            ("0/2", "Error"),
        ),
        (pod(init=ONE, initContainerStatuses=[ran(RUNNING, name="one")]), ("0/1", "Init:0/1")),
        (pod(init=ONE, initContainerStatuses=[ran(CRASHING, name="one")]), ("0/1", "Init:CrashLoopBackOff")),
        (
            pod(init=ONE, initContainerStatuses=[ran({"waiting": {"reason": "PodInitializing"}}, name="one")]),
            ("0/1", "Init:0/1"),
        ),
        (
            pod(init=ONE, initContainerStatuses=[ran({"terminated": {"exitCode": 2}}, name="one")]),
            ("0/1", "Init:ExitCode:2"),
        ),
        (
            pod(
                init=ONE,
                initContainerStatuses=[ran({"terminated": {"exitCode": 2, "signal": 15}}, name="one")],
            ),
            ("0/1", "Init:Signal:15"),
        ),
        (
            pod(
                init=ONE,
                phase="Pending",
                initContainerStatuses=[ran(DONE, name="one")],
                containerStatuses=[ran({"waiting": {"reason": "PodInitializing"}})],
            ),
            ("0/1", "PodInitializing"),
        ),
        (
            pod(
                init=ONE,
                phase="Running",
                initContainerStatuses=[ran(RUNNING, name="one")],
                containerStatuses=[ran(RUNNING)],
                conditions=[{"type": "Initialized", "status": "True"}],
            ),
            ("1/1", "Init:0/1"),
        ),
        (
            pod(
                init=SIDE,
                phase="Running",
                initContainerStatuses=[ran(RUNNING, name="side", started=True)],
                containerStatuses=[ran(RUNNING)],
            ),
            ("2/2", "Running"),
        ),
        (
            pod(init=SIDE, initContainerStatuses=[ran(RUNNING, name="side", started=False)]),
            ("0/2", "Init:0/1"),
        ),
        (
            pod(
                phase="Pending",
                conditions=[{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}],
            ),
            ("0/1", "SchedulingGated"),
        ),
    ],
)
def test_the_status_sums_up_the_containers(obj: Plain, shown: tuple[str, str]) -> None:
    assert ready_and_status(obj) == shown


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        ({"phase": "Running"}, "Terminating"),
        ({"phase": "Running", "reason": "NodeLost"}, "Unknown"),
        ({"phase": "Succeeded"}, "Succeeded"),
        ({"phase": "Failed", "reason": "Evicted"}, "Evicted"),
    ],
)
def test_a_pod_that_is_being_deleted_is_terminating_unless_it_has_ended(status: Plain, shown: str) -> None:
    obj = pod(**status)
    obj["metadata"]["deletionTimestamp"] = EARLIER
    assert cells(obj)["Status"] == shown


def test_restarts_have_the_time_of_the_last_one() -> None:
    ended = {"terminated": {"exitCode": 1, "finishedAt": EARLIER}}
    older = {"terminated": {"exitCode": 1, "finishedAt": "2026-05-03T03:00:01Z"}}
    statuses = [ran(RUNNING, restartCount=2, lastState=older), ran(RUNNING, restartCount=1, lastState=ended)]
    assert cells(pod(containerStatuses=statuses))["Restarts"] == "3 (2m ago)"
    assert cells(pod(containerStatuses=[ran(RUNNING, restartCount=2)]))["Restarts"] == "2"
    assert cells(pod(containerStatuses=[ran(RUNNING, lastState=ended)]))["Restarts"] == "0"


def test_restarts_of_init_containers_count_until_the_pod_is_initialized() -> None:
    waiting = pod(init=ONE, initContainerStatuses=[ran(CRASHING, name="one", restartCount=4)])
    assert cells(waiting)["Restarts"] == "4"
    done = pod(
        init=[*SIDE, *ONE],
        initContainerStatuses=[
            ran(RUNNING, name="side", started=True, restartCount=2),
            ran(DONE, name="one", restartCount=4),
        ],
        containerStatuses=[ran(RUNNING, restartCount=1)],
    )
    assert cells(done)["Restarts"] == "3"


def test_wide_columns_have_address_nodes_and_gates() -> None:
    assert [cells(pod())[name] for name in ("IP", "Node", "Nominated Node", "Readiness Gates")] == ["<none>"] * 4
    gates = [{"conditionType": "a"}, {"conditionType": "b"}]
    found = cells(
        pod(
            spec={"nodeName": "node-1", "readinessGates": gates},
            podIPs=[{"ip": "192.0.2.1"}],
            nominatedNodeName="node-2",
            conditions=[{"type": "a", "status": "True"}, {"type": "b", "status": "False"}],
        )
    )
    assert [found[name] for name in ("IP", "Node", "Nominated Node", "Readiness Gates")] == [
        *("192.0.2.1", "node-1", "node-2", "1/2")
    ]
    assert cells(pod(podIP="192.0.2.7", podIPs=[{"ip": "192.0.2.1"}]))["IP"] == "192.0.2.7"


@pytest.mark.parametrize(("phase", "reasons"), [("Succeeded", ["Succeeded"]), ("Failed", ["Failed"]), ("Running", [])])
def test_the_row_of_a_pod_that_has_ended_has_a_condition(phase: str, reasons: list[str]) -> None:
    conditions = printer_for("", "Pod").conditions
    assert conditions is not None
    assert [condition["reason"] for condition in conditions(pod(phase=phase))] == reasons
