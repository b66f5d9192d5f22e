"""Scenarios of PodDisruptionBudgets: pods with and without a controller, and evictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.controllers.parts import bound, delete_pod, finished, running, template, write_status
from tests.controllers.scenario import Action, Area, Scenario

if TYPE_CHECKING:
    from random import Random

AREA = Area(
    embedded=("disruption",),
    real=("disruption-controller",),
    resources=("poddisruptionbudgets", "pods", "events"),
    advance=5.0,
)
_LABELS = {"app": "alpha"}
_OTHER = {"app": "beta"}
"""The pods of the second budget. No pod has two: kube-controller-manager would choose one of them at random."""


def compose(random: Random) -> Scenario:
    """Compose a scenario of one or two budgets and some pods."""
    actions = [_controller(random)]
    actions += [_pod(random, name) for name in ("one", "two", "three")[: random.randint(0, 3)]]
    selector: dict[str, Any] = {} if random.random() < 0.3 else {"matchLabels": _LABELS}
    actions.append(_budget(random, "alpha", selector))
    actions += [_edit(random, selector) for _ in range(random.randint(2, 6))]
    return Scenario("budgets", actions)


def _controller(random: Random) -> Action:
    spec = {"replicas": random.randint(1, 4), "selector": {"matchLabels": _LABELS}, "template": template(_LABELS)}
    return Action("create", "replicasets", body={"metadata": {"name": "owner"}, "spec": spec})


def _pod(random: Random, name: str) -> Action:
    metadata: dict[str, Any] = {"name": name, "labels": _LABELS if random.random() < 0.8 else _OTHER}
    draw = random.random()
    if draw < 0.7:
        kind, owner = ("ReplicaSet", "owner") if draw < 0.6 else ("Unknown", "other")
        uid = "{uid:replicasets/owner}" if draw < 0.6 else "00000000-0000-0000-0000-000000000001"
        version = "apps/v1" if draw < 0.6 else "example.com/v1"
        reference = {"apiVersion": version, "kind": kind, "name": owner, "uid": uid, "controller": True}
        metadata["ownerReferences"] = [reference]
    spec = {"containers": [{"name": "app", "image": "app:one"}], **bound()}
    return Action("create", "pods", body={"metadata": metadata, "spec": spec})


def _budget(random: Random, name: str, selector: dict[str, Any]) -> Action:
    limit = random.choice(("minAvailable", "maxUnavailable"))
    value = random.choice((0, 1, 2, "50%", "100%", "34%"))
    spec: dict[str, Any] = {limit: value, "selector": selector}
    if random.random() < 0.3:
        spec["unhealthyPodEvictionPolicy"] = random.choice(("AlwaysAllow", "IfHealthyBudget"))
    return Action("create", "poddisruptionbudgets", body={"metadata": {"name": name}, "spec": spec})


def _edit(random: Random, selector: dict[str, Any]) -> Action:
    draw = random.random()
    if draw < 0.15:
        return _pod(random, random.choice(("four", "five", "one")))
    if draw < 0.5:
        return write_status(random, running(ready=random.random() < 0.8))
    if draw < 0.55:
        return write_status(random, finished(random.choice((0, 1))))
    if draw < 0.7:
        return delete_pod(random)
    if draw < 0.85:
        name = random.choice(("one", "two", "three"))
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        return Action("evict", "pods", name, eviction)
    if draw < 0.92:
        return Action("patch", "replicasets", "owner", {"spec": {"replicas": random.randint(0, 5)}})
    if draw < 0.97 or not selector:
        body = {"spec": {"minAvailable": random.choice((0, 1, "50%")), "maxUnavailable": None}}
        return Action("patch", "poddisruptionbudgets", "alpha", body)
    return _budget(random, "beta", {"matchLabels": _OTHER})
