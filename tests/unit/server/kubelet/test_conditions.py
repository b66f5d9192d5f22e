"""The phase and the conditions of a pod, as they follow from its containers."""

from __future__ import annotations

from typing import Any

import pytest

from masthead_server.kubelet.conditions import drop_condition, refresh_conditions, set_condition
from masthead_server.kubelet.pod_phase import compute_phase

Plain = dict[str, Any]
RUNNING: Plain = {"running": {"startedAt": "t"}}
WAITING: Plain = {"waiting": {"reason": "ContainerCreating"}}


def ended(code: int) -> Plain:
    return {"terminated": {"exitCode": code}}


def status(name: str, state: Plain, **fields: Any) -> Plain:
    return {"name": name, "state": state, "lastState": {}, "ready": "running" in state, "started": True, **fields}


def pod(*states: Plain, policy: str = "Always", inits: tuple[Plain, ...] = (), phase: str = "", **spec: Any) -> Plain:
    """A pod with containers a, b, … in these states, and with init containers."""
    main = [status("abc"[number], state) for number, state in enumerate(states)]
    return {
        "metadata": {"name": "web", "generation": 3},
        "spec": {
            "restartPolicy": policy,
            "containers": [{"name": found["name"]} for found in main],
            "initContainers": [{"name": found["name"], **found.pop("spec", {})} for found in inits],
            **spec,
        },
        "status": {"phase": phase, "containerStatuses": main, "initContainerStatuses": list(inits)},
    }


@pytest.mark.parametrize(
    ("found", "phase"),
    [
        (pod(RUNNING, WAITING), "Pending"),
        (pod(RUNNING, ended(1), policy="Never"), "Running"),
        (pod(ended(0), ended(0), policy="Never"), "Succeeded"),
        (pod(ended(0), ended(1), policy="Never"), "Failed"),
        (pod(ended(0), ended(1), policy="OnFailure"), "Running"),
        (pod(ended(0)), "Running"),
        (pod(WAITING, inits=(status("setup", RUNNING),)), "Pending"),
        (pod(WAITING, inits=(status("setup", ended(1)),), policy="Never"), "Failed"),
        (pod(WAITING, inits=(status("setup", ended(1)),)), "Pending"),
        (pod(ended(0), inits=(status("proxy", RUNNING, spec={"restartPolicy": "Always"}),), policy="Never"), "Running"),
        (pod(), "Pending"),
    ],
)
def test_the_phase_follows_from_the_states_of_the_containers(found: Plain, phase: str) -> None:
    assert compute_phase(found) == phase


def test_conditions_have_the_order_of_a_kubelet_behind_those_of_others() -> None:
    found = pod(RUNNING, phase="Running")
    found["status"]["conditions"] = [{"type": "Ready", "status": "False", "lastTransitionTime": "old"}]
    set_condition(found, "DisruptionTarget", "t", is_true=True, reason="TerminationByKubelet")

    refresh_conditions(found, "now")

    conditions = found["status"]["conditions"]
    assert [each["type"] for each in conditions] == [
        "DisruptionTarget",
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    ]
    assert {each["observedGeneration"] for each in conditions} == {3}


def test_the_time_of_a_condition_is_that_of_its_last_change() -> None:
    found = pod(RUNNING, phase="Running")
    refresh_conditions(found, "first")
    found["status"]["containerStatuses"][0]["ready"] = False
    refresh_conditions(found, "second")

    times = {each["type"]: each["lastTransitionTime"] for each in found["status"]["conditions"]}
    assert (times["Ready"], times["PodScheduled"]) == ("second", "first")


def test_a_closed_readiness_gate_keeps_a_pod_unready() -> None:
    found = pod(RUNNING, phase="Running", readinessGates=[{"conditionType": "a.test/gate"}])
    refresh_conditions(found, "now")
    ready = next(each for each in found["status"]["conditions"] if each["type"] == "Ready")
    assert (ready["status"], ready["reason"], ready["message"]) == (
        "False",
        "ReadinessGatesNotReady",
        'corresponding condition of pod readiness gate "a.test/gate" does not exist.',
    )

    found["status"]["conditions"].append({"type": "a.test/gate", "status": "True"})
    refresh_conditions(found, "now")

    kinds = {each["type"]: each["status"] for each in found["status"]["conditions"]}
    assert (kinds["Ready"], kinds["ContainersReady"]) == ("True", "True")


def test_unready_containers_are_named() -> None:
    found = pod(RUNNING, WAITING, phase="Pending")
    refresh_conditions(found, "now")

    ready = next(each for each in found["status"]["conditions"] if each["type"] == "ContainersReady")
    assert ready["message"] == "containers with unready status: [b]"


def test_a_condition_is_dropped() -> None:
    found = pod(RUNNING)
    set_condition(found, "PodResizePending", "now", is_true=True, generation=2)
    assert found["status"]["conditions"][0]["observedGeneration"] == 2
    drop_condition(found, "PodResizePending")
    assert found["status"]["conditions"] == []
