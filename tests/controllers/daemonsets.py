"""Scenarios of DaemonSets; the nodes of a scenario carry its label, and its pods select them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.controllers.parts import delete_pod, finished, running, template, write_status
from tests.controllers.scenario import Action, Area, Scenario

if TYPE_CHECKING:
    from random import Random

AREA = Area(
    embedded=("daemonsets",),
    real=("daemonset-controller",),
    resources=("daemonsets", "controllerrevisions", "pods", "events"),
    advance=60.0,
    quiet=8.0,
)
_LABELS = {"app": "alpha"}
_NAMES = ("alpha", "beta", "gamma")


def compose(random: Random) -> Scenario:
    """Compose a scenario of one DaemonSet and up to three nodes."""
    actions = [_node(random, name) for name in _NAMES[: random.randint(0, 2)]]
    actions.append(Action("create", "daemonsets", body={"metadata": {"name": "alpha"}, "spec": _spec(random)}))
    actions += [_edit(random) for _ in range(random.randint(2, 6))]
    return Scenario("daemonsets", actions)


def _node(random: Random, name: str) -> Action:
    labels = {"scenario": "{ns}", **({"disk": "fast"} if random.random() < 0.5 else {})}
    spec: dict[str, Any] = {}
    if random.random() < 0.3:
        spec["taints"] = [_taint(random)]
    if random.random() < 0.15:
        spec["unschedulable"] = True
    node = {"metadata": {"name": f"{{ns}}-{name}", "labels": labels}, "spec": spec}
    return Action("create", "nodes", body=node)


def _taint(random: Random) -> dict[str, Any]:
    return {"key": random.choice(("dedicated", "drain")), "effect": random.choice(("NoSchedule", "NoExecute"))}


def _spec(random: Random) -> dict[str, Any]:
    selector = {"scenario": "{ns}", **({"disk": "fast"} if random.random() < 0.2 else {})}
    # A new node is not ready, and nobody removes that taint here: without this no node would get a pod.
    tolerations = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}]
    pod_spec: dict[str, Any] = {"nodeSelector": selector, "tolerations": tolerations}
    if random.random() < 0.3:
        pod_spec["tolerations"] = [*tolerations, {"key": random.choice(("dedicated", "drain")), "operator": "Exists"}]
    if random.random() < 0.15:
        pod_spec["hostNetwork"] = True
    spec: dict[str, Any] = {"selector": {"matchLabels": _LABELS}, "template": template(_LABELS, **pod_spec)}
    draw = random.random()
    if draw < 0.3:
        spec["updateStrategy"] = {"type": "OnDelete"}
    elif draw < 0.5:
        rolling: dict[str, Any] = {"maxSurge": 1, "maxUnavailable": 0}
        spec["updateStrategy"] = {"type": "RollingUpdate", "rollingUpdate": rolling}
    elif draw < 0.7:
        rolling = {"maxUnavailable": random.choice((1, 2, "50%"))}
        spec["updateStrategy"] = {"type": "RollingUpdate", "rollingUpdate": rolling}
    if random.random() < 0.3:
        spec["revisionHistoryLimit"] = random.randint(0, 2)
    return spec


def _edit(random: Random) -> Action:  # noqa: PLR0911 - one per kind of edit
    draw = random.random()
    name = f"{{ns}}-{random.choice(_NAMES)}"
    if draw < 0.15:
        return _node(random, random.choice(_NAMES))
    if draw < 0.25:
        labels = {"disk": random.choice(("fast", None)), "scenario": "{ns}"}
        return Action("patch", "nodes", name, {"metadata": {"labels": labels}})
    if draw < 0.33:
        return Action("patch", "nodes", name, {"spec": {"taints": [_taint(random)]}})
    if draw < 0.4:
        return Action("delete", "nodes", name)
    if draw < 0.55:
        containers = [{"name": "app", "image": random.choice(("app:one", "app:two", "app:three"))}]
        return Action("patch", "daemonsets", "alpha", {"spec": {"template": {"spec": {"containers": containers}}}})
    if draw < 0.8:
        return write_status(random, running(ready=random.random() < 0.8))
    if draw < 0.87:
        return write_status(random, finished(1))
    if draw < 0.97:
        return delete_pod(random)
    policy = random.choice(("Background", "Orphan"))
    return Action("delete", "daemonsets", "alpha", query=f"propagationPolicy={policy}")
