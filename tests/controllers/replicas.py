"""Scenarios of ReplicaSets, Deployments and StatefulSets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.controllers.parts import bound, delete_pod, finished, running, template, write_status
from tests.controllers.scenario import Action, Area, Scenario

if TYPE_CHECKING:
    from random import Random

AREA = Area(
    embedded=("replicasets", "deployments", "statefulsets"),
    real=("replicaset-controller", "deployment-controller", "statefulset-controller"),
    resources=("deployments", "replicasets", "statefulsets", "controllerrevisions", "pods", "events"),
)
_LABELS = {"app": "alpha"}


def compose(random: Random) -> Scenario:
    """Compose a scenario of one workload."""
    resource = random.choice(("replicasets", "deployments", "statefulsets"))
    actions = [Action("create", resource, body={"metadata": {"name": "alpha"}, "spec": _spec(random, resource)})]
    actions += [_edit(random, resource) for _ in range(random.randint(2, 6))]
    return Scenario("replicas", actions)


def _spec(random: Random, resource: str) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "replicas": random.randint(0, 3),
        "selector": {"matchLabels": _LABELS},
        # Bound pods end with a grace period, and nobody ends them here until somebody deletes them at once.
        "template": template(_LABELS, **(bound() if random.random() < 0.4 else {})),
    }
    if random.random() < 0.15:
        spec["minReadySeconds"] = 3600
    if resource == "statefulsets":
        spec["serviceName"] = "alpha"
        spec["podManagementPolicy"] = random.choice(("OrderedReady", "Parallel"))
        if random.random() < 0.3:
            spec["ordinals"] = {"start": random.randint(0, 3)}
        if random.random() < 0.5:
            partition = random.randint(0, 2)
            spec["updateStrategy"] = random.choice(
                ({"type": "OnDelete"}, {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}})
            )
    if resource == "deployments":
        spec["strategy"] = random.choice(
            (
                {"type": "Recreate"},
                {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
                {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "50%", "maxUnavailable": "50%"}},
            )
        )
        spec["revisionHistoryLimit"] = random.choice((0, 1, 10))
    return spec


def _edit(random: Random, resource: str) -> Action:
    draw = random.random()
    if draw < 0.25:
        return Action("patch", resource, "alpha", {"spec": {"replicas": random.randint(0, 4)}})
    if draw < 0.4 and resource != "replicasets":
        image = random.choice(("app:one", "app:two"))
        containers = [{"name": "app", "image": image}]
        return Action("patch", resource, "alpha", {"spec": {"template": {"spec": {"containers": containers}}}})
    if draw < 0.45 and resource == "deployments":
        return Action("patch", resource, "alpha", {"spec": {"paused": random.random() < 0.5}})
    if draw < 0.5 and resource == "deployments":
        annotations = {"note": random.choice(("a", "b", None))}
        return Action("patch", resource, "alpha", {"metadata": {"annotations": annotations}})
    if draw < 0.8:
        return write_status(random, running(ready=random.random() < 0.8))
    if draw < 0.87:
        return write_status(random, finished(random.choice((0, 1))))
    if draw < 0.92:
        return delete_pod(random, "terminating", at_once=True)
    return delete_pod(random)
