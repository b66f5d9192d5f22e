"""kube-controller-manager and kube-scheduler run unchanged against a server without controllers and kubelet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.controllers.controller_manager import PROGRAM, SCHEDULER, controller_manager, scheduler
from tests.real_server import wait_until

import masthead
import masthead.server
from masthead import Patch
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import Node, Pod

if TYPE_CHECKING:
    from collections.abc import Iterator

missing = [program.name for program in (PROGRAM, SCHEDULER) if not program.is_file()]
pytestmark = [
    pytest.mark.real,
    pytest.mark.xdist_group("real"),
    pytest.mark.timeout(180),
    pytest.mark.skipif(bool(missing), reason=f"there is no {' and no '.join(missing)}"),
]

ROOM = {"cpu": "2", "memory": "4Gi", "pods": "10"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[masthead.Client]:
    """Run both programs beside a server with two nodes, and return an administrator's client."""
    folder = tmp_path_factory.mktemp("control-plane")
    with masthead.server.run(controllers=False, tls=True) as server:
        ca_file = folder / "ca.crt"
        ca_file.write_text(server.ca)
        assert server.token is not None
        address = (server.url.replace("http:", "https:"), server.token, ca_file)
        with (
            masthead.Client(kubeconfig=server.kubeconfig()) as client,
            controller_manager(*address, folder / "manager", ["*"]),
            scheduler(*address, folder / "scheduler"),
        ):
            for name in ("north", "south"):
                add_node(client, name)
            yield client


def add_node(client: masthead.Client, name: str) -> None:
    """Register a node as a kubelet does: with room for pods, and ready."""
    labels = {"kubernetes.io/hostname": name}
    client.core_v1.nodes.create(Node.new(name, labels=labels))
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    status = {"capacity": ROOM, "allocatable": ROOM, "conditions": [ready]}
    client.core_v1.nodes.patch_status(name, Patch.merge({"status": status}))


def create_deployment(client: masthead.Client, name: str, replicas: int, **spec: object) -> None:
    """Create a Deployment of pods with a label `app`, and with a spec of more than one container."""
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {
            "containers": [{"name": "main", "image": "web", "resources": {"requests": {"cpu": "100m"}}}],
            **spec,
        },
    }
    body = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    client.apps_v1.deployments("default").create(Deployment.new(name, spec=body))


def pods_of(client: masthead.Client, name: str) -> list[Pod]:
    """Return the pods of a Deployment."""
    return list(client.core_v1.pods("default").list(label_selector=f"app={name}"))


def nodes_of(client: masthead.Client, name: str) -> list[str | None]:
    """Return the nodes of a Deployment's pods."""
    return [pod.spec.node_name for pod in pods_of(client, name)]


def test_pods_of_a_deployment_are_spread_over_the_nodes(client: masthead.Client) -> None:
    # Two domains at least: the scheduler may learn of the second node after it has the first pods.
    spread = {
        "topologyKey": "kubernetes.io/hostname",
        "maxSkew": 1,
        "minDomains": 2,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    create_deployment(client, "web", replicas=6, topologySpreadConstraints=[spread])

    assert wait_until(lambda: sorted(node or "" for node in nodes_of(client, "web")) == ["north"] * 3 + ["south"] * 3)
    assert wait_until(lambda: event_reasons(client).count("Scheduled") >= 6)
    assert "ScalingReplicaSet" in event_reasons(client)


def test_replicas_that_are_too_many_for_the_nodes_wait(client: masthead.Client) -> None:
    create_deployment(client, "large", replicas=3, nodeSelector={"kubernetes.io/hostname": "west"})

    assert wait_until(lambda: len(pods_of(client, "large")) == 3)
    assert wait_until(lambda: all("Unschedulable" in reasons_of(pod) for pod in pods_of(client, "large")))
    add_node(client, "west")
    assert wait_until(lambda: nodes_of(client, "large") == ["west"] * 3)


def test_a_rollout_proceeds_as_pods_become_ready(client: masthead.Client) -> None:
    create_deployment(client, "rolled", replicas=2)
    assert wait_until(lambda: None not in nodes_of(client, "rolled") and len(pods_of(client, "rolled")) == 2)
    deployments = client.apps_v1.deployments("default")

    def is_available() -> bool:
        # Each time: the scheduler may still write a pod's status.
        make_ready(client, "rolled")
        return deployments.get("rolled").status.available_replicas == 2

    assert wait_until(is_available)

    template = {"spec": {"containers": [{"name": "main", "image": "web:2"}]}}
    deployments.patch("rolled", Patch.strategic({"spec": {"template": template}}))

    def is_rolled_out() -> bool:
        make_ready(client, "rolled")
        remove_terminating(client, "rolled")
        status = deployments.get("rolled").status
        images = {pod.spec.containers[0].image for pod in pods_of(client, "rolled")}
        counts = (status.observed_generation, status.updated_replicas, status.available_replicas)
        return counts == (2, 2, 2) and images == {"web:2"}

    assert wait_until(is_rolled_out)


def event_reasons(client: masthead.Client) -> list[str]:
    """Return the reasons of all events."""
    return [event.reason for event in client.core_v1.events("default").list() if event.reason]


def reasons_of(pod: Pod) -> list[str | None]:
    """Return the reasons in the conditions of a pod."""
    return [condition.reason for condition in pod.status.conditions or ()]


def make_ready(client: masthead.Client, name: str) -> None:
    """Report the scheduled pods of a Deployment as ready, as a kubelet does."""
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    for pod in pods_of(client, name):
        if pod.spec.node_name and pod.metadata.name and pod.status.phase == "Pending":
            client.core_v1.pods("default").patch_status(pod.metadata.name, Patch.merge({"status": status}))


def remove_terminating(client: masthead.Client, name: str) -> None:
    """Remove the terminating pods of a Deployment, as a kubelet does once their containers have ended."""
    pods = client.core_v1.pods("default")
    for pod in pods_of(client, name):
        if pod.metadata.name and pod.metadata.deletion_timestamp is not None:
            pods.delete(pod.metadata.name, grace_period_seconds=0)
