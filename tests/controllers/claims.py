"""Scenarios of ResourceClaims: those of templates and shared ones, with allocations as the scheduler writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.controllers.parts import bound, delete_pod, finished, running, write_status
from tests.controllers.scenario import Action, Area, Scenario

if TYPE_CHECKING:
    from random import Random

AREA = Area(
    embedded=("resourceclaims",),
    real=("resourceclaim-controller",),
    resources=("resourceclaims", "resourceclaimtemplates", "pods", "events"),
)
_DEVICES = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]}}
_RESULT = {"request": "gpu", "driver": "gpu.example.com", "pool": "a", "device": "gpu-0"}
_FINALIZER = "resource.kubernetes.io/delete-protection"


def compose(random: Random) -> Scenario:
    """Compose a scenario of some pods, a template and a shared claim."""
    actions = [_template()] if random.random() < 0.5 else []
    if random.random() < 0.6:
        actions.append(_claim(random))
    actions += [_pod(random, name) for name in ("one", "two")[: random.randint(1, 2)]]
    actions += [_edit(random) for _ in range(random.randint(2, 6))]
    return Scenario("claims", actions)


def _template() -> Action:
    spec = {"metadata": {"labels": {"tier": "front"}}, "spec": _DEVICES}
    return Action("create", "resourceclaimtemplates", body={"metadata": {"name": "gpus"}, "spec": spec})


def _claim(random: Random) -> Action:
    finalizers = [_FINALIZER] if random.random() < 0.7 else []
    return Action(
        "create", "resourceclaims", body={"metadata": {"name": "shared", "finalizers": finalizers}, "spec": _DEVICES}
    )


def _pod(random: Random, name: str) -> Action:
    source = {"resourceClaimTemplateName": "gpus"} if random.random() < 0.6 else {"resourceClaimName": "shared"}
    spec: dict[str, Any] = {
        "containers": [{"name": "app", "image": "app:one"}],
        "resourceClaims": [{"name": "device", **source}],
    }
    if random.random() < 0.5:
        spec |= bound()
    return Action("create", "pods", body={"metadata": {"name": name}, "spec": spec})


def _edit(random: Random) -> Action:
    draw = random.random()
    if draw < 0.1:
        return _template()
    if draw < 0.2:
        return _pod(random, random.choice(("two", "three")))
    if draw < 0.45:
        return _allocate(random)
    if draw < 0.6:
        return write_status(random, finished(random.choice((0, 1))))
    if draw < 0.7:
        return write_status(random, running(ready=True))
    if draw < 0.85:
        return delete_pod(random)
    # Not the claims of pods: the real controller takes a new one for existing until its cache forgets it.
    return Action("delete", "resourceclaims", "shared")


def _allocate(random: Random) -> Action:
    """Allocate the shared claim, and reserve it for a pod, which need not exist."""
    name = random.choice(("one", "two", "three"))
    reserved = {"resource": "pods", "name": name, "uid": f"{{uid:pods/{name}}}"}
    status: dict[str, Any] = {"allocation": {"devices": {"results": [_RESULT]}}}
    if random.random() < 0.7:
        status["reservedFor"] = [reserved]
    return Action("patch", "resourceclaims", "shared", {"status": status}, subresource="status")
