"""Random nodes, pods on them, and pods to schedule; and what a scheduler decides about these."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.real_server import wait_until

if TYPE_CHECKING:
    from tests.conformance.target import Target

MERGE_PATCH = "application/merge-patch+json"
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
APPS = ("web", "db", "cache")
PATIENCE = 30.0


@dataclass(frozen=True)
class SchedulingScenario:
    """A cluster, and pods that come one after the other, each when the one before is gone."""

    nodes: list[Any]
    placed: list[Any]
    pods: list[Any]


@dataclass(frozen=True)
class Decision:
    """What a scheduler decides about a pod."""

    is_scheduled: bool
    events: list[tuple[str, str, str]]
    condition: Any
    preempted: list[tuple[str, str]]


def compose(seed: str) -> SchedulingScenario:
    """Make a scenario from a seed."""
    dice = random.Random(seed)
    nodes = [_node(dice, number) for number in range(dice.randint(0 if dice.random() < 0.05 else 1, 5))]
    names = [node["metadata"]["name"] for node in nodes]
    count = dice.randint(0, 8) if names else 0
    placed = [_pod(dice, f"placed-{number}", node=dice.choice(names)) for number in range(count)]
    pods = [_pod(dice, f"pod-{number}", names=names) for number in range(4)]
    return SchedulingScenario(nodes, placed, [*pods, _pod(dice, "urgent", names=names, priority="high")])


def _node(dice: random.Random, number: int) -> Any:
    name = f"node-{number}"
    labels = {HOST: name}
    if dice.random() < 0.8:
        labels[ZONE] = dice.choice(("one", "two"))
    if dice.random() < 0.5:
        labels["disk"] = dice.choice(("ssd", "hdd", "7"))
    taints = [
        {"key": dice.choice(("gpu", "team")), "value": dice.choice(("a", "b")), "effect": effect}
        for effect in ("NoSchedule", "NoExecute", "PreferNoSchedule")
        if dice.random() < 0.12
    ]
    offers = {
        "cpu": dice.choice(("1", "2", "3500m", "8")),
        "memory": dice.choice(("1Gi", "2Gi", "8Gi")),
        "pods": dice.choice(("2", "4", "110")),
        "ephemeral-storage": "10Gi",
    }
    if dice.random() < 0.3:
        offers["example.com/gpu"] = dice.choice(("1", "2"))
    if dice.random() < 0.08:
        offers = {}
    spec = {"unschedulable": True} if dice.random() < 0.12 else {}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {**spec, "taints": taints or None},
        "status": {"capacity": offers, "allocatable": offers},
    }


def _container(dice: random.Random, name: str) -> Any:
    requests: dict[str, str] = {}
    if dice.random() < 0.6:
        requests["cpu"] = dice.choice(("100m", "500m", "900m", "1", "2"))
    if dice.random() < 0.4:
        requests["memory"] = dice.choice(("64Mi", "512Mi", "1Gi"))
    limits: dict[str, str] = {}
    if dice.random() < 0.1:
        limits["example.com/gpu"] = dice.choice(("1", "2"))
    if dice.random() < 0.1:
        requests["ephemeral-storage"] = dice.choice(("1Gi", "20Gi"))
    container: Any = {"name": name, "image": "nginx", "resources": {"requests": requests, "limits": limits}}
    # Containers of one pod must not have the same port.
    if name == "main" and dice.random() < 0.25:
        port = {"containerPort": 80, "hostPort": dice.choice((80, 8080)), "protocol": dice.choice(("TCP", "UDP"))}
        if dice.random() < 0.3:
            port["hostIP"] = "127.0.0.1"
        container["ports"] = [port]
    return container


def _pod(dice: random.Random, name: str, *, node: str = "", names: list[str] | None = None, priority: str = "") -> Any:
    spec: Any = {"containers": [_container(dice, "main")], "terminationGracePeriodSeconds": 60}
    if dice.random() < 0.2:
        spec["containers"].append(_container(dice, "second"))
    if dice.random() < 0.2:
        init = _container(dice, "init")
        if dice.random() < 0.5:
            init["restartPolicy"] = "Always"
        spec["initContainers"] = [init]
    if dice.random() < 0.1:
        spec["resources"] = {"requests": {"cpu": "6", "memory": "4Gi"}}
    spec["priorityClassName"] = priority or dice.choice(("low", "middle", "polite"))
    affinity = _affinity(dice, names or [])
    if affinity:
        spec["affinity"] = affinity
    if node:
        spec["nodeName"] = node
    else:
        _restrict(dice, spec)
    return {
        "metadata": {"name": name, "labels": {"app": dice.choice(APPS), "version": dice.choice("12")}},
        "spec": spec,
    }


def _restrict(dice: random.Random, spec: Any) -> None:
    if dice.random() < 0.2:
        spec["nodeSelector"] = {"disk": dice.choice(("ssd", "hdd"))}
    if dice.random() < 0.3:
        spec["tolerations"] = [
            {"key": "gpu", "operator": "Exists"},
            {"key": "team", "value": "a", "effect": "NoSchedule"},
        ][: dice.randint(1, 2)]
    if dice.random() < 0.3:
        spec["topologySpreadConstraints"] = [
            _constraint(dice, key) for key in dice.sample((ZONE, HOST), dice.randint(1, 2))
        ]
    if dice.random() < 0.04:
        spec["schedulingGates"] = [{"name": "wait"}]


def _constraint(dice: random.Random, key: str) -> Any:
    constraint: Any = {
        "maxSkew": dice.randint(1, 2),
        "topologyKey": key,
        "whenUnsatisfiable": dice.choice(("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": _selector(dice),
    }
    if constraint["whenUnsatisfiable"] == "DoNotSchedule" and dice.random() < 0.3:
        constraint["minDomains"] = dice.randint(1, 3)
    if dice.random() < 0.3:
        constraint["nodeAffinityPolicy"] = dice.choice(("Honor", "Ignore"))
    if dice.random() < 0.3:
        constraint["nodeTaintsPolicy"] = dice.choice(("Honor", "Ignore"))
    if dice.random() < 0.2:
        constraint["matchLabelKeys"] = ["version"]
    return constraint


def _selector(dice: random.Random) -> Any:
    if dice.random() < 0.2:
        return {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    if dice.random() < 0.2:
        return {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": [dice.choice(APPS)]}]}
    return {"matchLabels": {"app": dice.choice(APPS)}}


def _affinity(dice: random.Random, names: list[str]) -> Any:
    affinity: Any = {}
    if dice.random() < 0.2:
        affinity["nodeAffinity"] = {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [_node_term(dice, names) for _ in range(dice.randint(1, 2))]
            }
        }
    for kind, chance in (("podAffinity", 0.12), ("podAntiAffinity", 0.2)):
        if dice.random() < chance:
            term: Any = {"topologyKey": dice.choice((ZONE, HOST)), "labelSelector": _selector(dice)}
            if dice.random() < 0.2:
                term["namespaceSelector"] = dice.choice(({}, {"matchLabels": {"none": "such"}}))
            if dice.random() < 0.2:
                term[dice.choice(("matchLabelKeys", "mismatchLabelKeys"))] = ["version"]
            if dice.random() < 0.3:
                preferred = [{"weight": 10, "podAffinityTerm": term}]
                affinity[kind] = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
            else:
                affinity[kind] = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return affinity


def _node_term(dice: random.Random, names: list[str]) -> Any:
    if names and dice.random() < 0.3:
        chosen = [dice.choice((*names, "node-9"))]
        return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": chosen}]}
    operator = dice.choice(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
    expression: Any = {"key": "disk", "operator": operator}
    if operator in {"In", "NotIn"}:
        expression["values"] = [dice.choice(("ssd", "hdd"))]
    elif operator in {"Gt", "Lt"}:
        expression["values"] = ["5"]
    return {"matchExpressions": [expression]}


class SchedulingPlayer:
    """Plays scenarios on one server, in one namespace for each of them.

    Args:
        target: The server.
        namespace: The namespace.
    """

    def __init__(self, target: Target, namespace: str) -> None:
        self._target = target
        self._connection = target.connect()
        self._namespace = namespace
        self._pods = f"/api/v1/namespaces/{namespace}/pods"

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def send(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> tuple[int, Any]:
        """Send a request; returns the status and the decoded body."""
        headers = {"Authorization": f"Bearer {self._target.token}", "Content-Type": content_type}
        self._connection.request(method, path, None if body is None else json.dumps(body).encode(), headers)
        response = self._connection.getresponse()
        return response.status, json.loads(response.read() or b"null")

    def begin(self, scenario: SchedulingScenario) -> None:
        """Create the namespace, the nodes and the pods on them."""
        code, body = self.send("POST", "/api/v1/namespaces", {"metadata": {"name": self._namespace}})
        assert code == 201, body
        for node in scenario.nodes:
            path = f"/api/v1/nodes/{node['metadata']['name']}"
            assert self.send("POST", "/api/v1/nodes", node)[0] == 201
            # Admission adds a taint that a node has until it is ready.
            assert self.send("PATCH", path, {"spec": {"taints": node["spec"]["taints"]}}, MERGE_PATCH)[0] == 200
            assert self.send("PATCH", f"{path}/status", {"status": node["status"]}, MERGE_PATCH)[0] == 200
        for number, pod in enumerate(scenario.placed):
            code, body = self.send("POST", self._pods, pod)
            assert code == 201, body
            # Without a start, the real scheduler sorts victims by chance.
            path, started = f"{self._pods}/{pod['metadata']['name']}/status", f"2026-01-01T00:00:{number:02}Z"
            assert self.send("PATCH", path, {"status": {"startTime": started}}, MERGE_PATCH)[0] == 200

    def decide(self, pod: Any) -> Decision:
        """Create a pod, wait for the decision about it, and delete it."""
        name = pod["metadata"]["name"]
        code, body = self.send("POST", self._pods, pod)
        assert code == 201, body
        assert wait_until(lambda: self._is_decided(name), within=PATIENCE), f"nothing decided about {name}"
        found = self.send("GET", f"{self._pods}/{name}")[1]
        nominated = bool(found["status"].get("nominatedNodeName"))
        if nominated:
            assert wait_until(lambda: bool(self._preempted()), within=PATIENCE)
        events = self._events(name)
        condition = None if nominated else _condition(found)
        self._delete(name)
        return Decision(
            bool(found["spec"].get("nodeName")), events[:1], condition, self._preempted() if nominated else []
        )

    def _is_decided(self, name: str) -> bool:
        found = self.send("GET", f"{self._pods}/{name}")[1]
        condition = _condition(found)
        if condition is not None and condition[1] == "SchedulingGated":
            return True
        return condition is not None and bool(self._events(name))

    def _events(self, name: str) -> list[tuple[str, str, str]]:
        path = f"/apis/events.k8s.io/v1/namespaces/{self._namespace}/events"
        found = [event for event in self.send("GET", path)[1]["items"] if event["regarding"].get("name") == name]
        found.sort(key=lambda event: event["eventTime"] or "")
        return [(event["type"], event["reason"], _without_node(event["note"], self._namespace)) for event in found]

    def _preempted(self) -> list[tuple[str, str]]:
        marked = [
            (pod["spec"]["priorityClassName"], condition["message"])
            for pod in self.send("GET", self._pods)[1]["items"]
            for condition in pod["status"].get("conditions") or ()
            if condition["type"] == "DisruptionTarget"
        ]
        return sorted(marked)

    def _delete(self, name: str) -> None:
        self.send("DELETE", f"{self._pods}/{name}?gracePeriodSeconds=0")

    def end(self, scenario: SchedulingScenario) -> None:
        """Delete the pods and the nodes."""
        for pod in self.send("GET", self._pods)[1]["items"]:
            self._delete(pod["metadata"]["name"])
        for node in scenario.nodes:
            self.send("DELETE", f"/api/v1/nodes/{node['metadata']['name']}")


def _condition(pod: Any) -> Any:
    for condition in pod["status"].get("conditions") or ():
        if condition["type"] == "PodScheduled":
            kept = ("reason", "message", "observedGeneration")
            return (condition["status"], *(condition.get(field) for field in kept))
    return None


def _without_node(note: str, namespace: str) -> str:
    text = note.replace(namespace, "NAMESPACE")
    return text.rpartition(" to ")[0] if text.startswith("Successfully assigned") else text
