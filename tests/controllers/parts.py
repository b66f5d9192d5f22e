"""Parts that the scenarios of several controllers have: pod templates, and what a scripted kubelet writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.controllers.scenario import Action

if TYPE_CHECKING:
    from random import Random

FINALIZER = "example.com/held"


def template(labels: dict[str, str], image: str = "app:one", **spec: Any) -> dict[str, Any]:
    """A pod template with one container."""
    return {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": image}], **spec}}


def bound(node: str = "node-a") -> dict[str, Any]:
    """A pod spec that is bound to a node already, so that deletion has a grace period."""
    return {"nodeName": node}


def running(*, ready: bool, ip: str = "") -> dict[str, Any]:
    """The status of a pod that runs."""
    state = {"running": {"startedAt": "{time:-2}"}}
    status = {
        "phase": "Running",
        "conditions": [_condition("Ready", ready), _condition("ContainersReady", ready)],
        "containerStatuses": [_container(state, ready=ready)],
        "startTime": "{time:-2}",
    }
    return {**status, **({"podIP": ip, "podIPs": [{"ip": ip}]} if ip else {})}


def finished(exit_code: int, *, reason: str = "", condition: str = "") -> dict[str, Any]:
    """The status of a pod that ended a minute before the scenario began, so that no backoff is left."""
    word = reason or ("Completed" if exit_code == 0 else "Error")
    ended = {"exitCode": exit_code, "reason": word, "startedAt": "{time:-2}", "finishedAt": "{time:-1}"}
    conditions = [_condition("Ready", False)]
    if condition:
        conditions.append({**_condition(condition, True), "reason": "PreemptionByScheduler"})
    return {
        "phase": "Failed" if exit_code else "Succeeded",
        "conditions": conditions,
        "containerStatuses": [_container({"terminated": ended}, ready=False)],
        "startTime": "{time:-2}",
    }


def write_status(random: Random, status: dict[str, Any], where: str = "active") -> Action:
    """Write the status of some pod."""
    return Action("patch", "pods", body={"status": status}, subresource="status", where=where, pick=random.randrange(6))


def delete_pod(random: Random, where: str = "active", *, at_once: bool | None = None) -> Action:
    """Delete some pod, gracefully or at once."""
    at_once = random.random() < 0.5 if at_once is None else at_once
    query = "gracePeriodSeconds=0" if at_once else ""
    return Action("delete", "pods", where=where, pick=random.randrange(6), query=query)


def hold_pod(random: Random) -> Action:
    """Give some pod a finalizer of somebody else."""
    body = {"metadata": {"finalizers": [FINALIZER], "labels": {"held": "yes"}}}
    return Action("patch", "pods", body=body, pick=random.randrange(6))


def _condition(kind: str, is_true: bool) -> dict[str, Any]:
    return {"type": kind, "status": "True" if is_true else "False", "lastTransitionTime": "{time:-1}"}


def _container(state: dict[str, Any], *, ready: bool) -> dict[str, Any]:
    return {
        "name": "app",
        "image": "app:one",
        "imageID": "",
        "ready": ready,
        "restartCount": 0,
        "state": state,
    }
