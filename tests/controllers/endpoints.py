"""Scenarios of Endpoints, EndpointSlices and their mirroring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.controllers.parts import bound, delete_pod, finished, running, write_status
from tests.controllers.scenario import Action, Area, Scenario

if TYPE_CHECKING:
    from random import Random

AREA = Area(
    embedded=("endpoints", "endpointslices", "endpointslicemirroring"),
    real=("endpoints-controller", "endpointslice-controller", "endpointslice-mirroring-controller"),
    resources=("services", "endpoints", "endpointslices", "pods", "events"),
    advance=10.0,
    options=("--endpoint-updates-batch-period=0s", "--endpointslice-updates-batch-period=0s"),
)
_LABELS = {"app": "alpha"}
_NODE = "{ns}-node"


def compose(random: Random) -> Scenario:
    """Compose a scenario of a Service and some pods, or of Endpoints that somebody writes."""
    names = ("one", "two", "three")[: random.randint(0, 3)]
    # Endpoints on a node that does not exist are left out of slices.
    actions = [_node(random)] if random.random() < 0.7 else []
    actions += [_pod(random, name) for name in names]
    actions.append(_service(random, with_selector=random.random() < 0.8))
    actions += [_edit(random) for _ in range(random.randint(2, 6))]
    return Scenario("endpoints", actions)


def _node(random: Random) -> Action:
    zone = {"topology.kubernetes.io/zone": "north"} if random.random() < 0.7 else {}
    return Action("create", "nodes", body={"metadata": {"name": _NODE, "labels": {"scenario": "{ns}", **zone}}})


def _pod(random: Random, name: str) -> Action:
    ports = [{"containerPort": random.choice((80, 8080)), "name": random.choice(("http", "web"))}]
    spec: dict[str, Any] = {"containers": [{"name": "app", "image": "app:one", "ports": ports}], **bound(_NODE)}
    if random.random() < 0.2:
        spec |= {"hostname": f"host-{name}", "subdomain": "alpha"}
    labels = _LABELS if random.random() < 0.85 else {"app": "other"}
    return Action("create", "pods", body={"metadata": {"name": name, "labels": labels}, "spec": spec})


def _service(random: Random, *, with_selector: bool) -> Action:
    port: dict[str, Any] = {"port": 80, "targetPort": random.choice((80, 8080, "http"))}
    ports = [port]
    if random.random() < 0.3:
        port["name"] = "web"
        ports.append(
            {"name": "metrics", "port": 9090, "targetPort": random.choice((9090, "metrics")), "protocol": "TCP"}
        )
    spec: dict[str, Any] = {"ports": ports}
    if with_selector:
        spec["selector"] = _LABELS
    if random.random() < 0.4:
        spec["clusterIP"] = "None"
    if random.random() < 0.2:
        spec["publishNotReadyAddresses"] = True
    if random.random() < 0.2:
        spec["trafficDistribution"] = random.choice(("PreferSameZone", "PreferSameNode"))
    metadata: dict[str, Any] = {"name": "alpha", "labels": {"tier": "front"}}
    return Action("create", "services", body={"metadata": metadata, "spec": spec})


def _edit(random: Random) -> Action:
    draw = random.random()
    if draw < 0.12:
        return _pod(random, random.choice(("four", "five")))
    if draw < 0.55:
        # The address is that of the pod's number: two pods never share one.
        name = random.choice(("one", "two", "three", "four", "five"))
        address = f"10.1.2.{['one', 'two', 'three', 'four', 'five'].index(name) + 1}"
        body = {"status": running(ready=random.random() < 0.7, ip=address)}
        return Action("patch", "pods", name, body, subresource="status")
    if draw < 0.6:
        return write_status(random, finished(random.choice((0, 1))))
    if draw < 0.7:
        return delete_pod(random)
    if draw < 0.8:
        return _endpoints(random)
    if draw < 0.88:
        labels = {"app": random.choice(("alpha", "other"))}
        return Action("patch", "pods", where="any", pick=random.randrange(5), body={"metadata": {"labels": labels}})
    if draw < 0.96:
        change = random.choice(
            (
                {"spec": {"publishNotReadyAddresses": random.random() < 0.5}},
                {"metadata": {"labels": {"tier": random.choice(("back", None))}}},
                {"spec": {"selector": random.choice(({"app": "other"}, {"app": "alpha"}))}},
                {"spec": {"selector": random.choice(({"app": None}, {"app": "alpha"}))}},
                {"spec": {"trafficDistribution": random.choice(("PreferClose", None))}},
            )
        )
        return Action("patch", "services", "alpha", change)
    return Action("delete", "services", "alpha")


def _endpoints(random: Random) -> Action:
    """Write Endpoints by hand: they are mirrored if the Service has no selector."""
    subset: dict[str, Any] = {
        "addresses": [{"ip": f"10.2.0.{number}"} for number in range(1, random.randint(1, 3) + 1)],
        "ports": [{"port": 80, "name": "web"}],
    }
    if random.random() < 0.4:
        subset["notReadyAddresses"] = [{"ip": "10.2.0.9"}]
    labels = {"by": "hand", **({"endpointslice.kubernetes.io/skip-mirror": "true"} if random.random() < 0.15 else {})}
    return Action("create", "endpoints", body={"metadata": {"name": "alpha", "labels": labels}, "subsets": [subset]})
