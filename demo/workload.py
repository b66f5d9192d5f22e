"""The workload: pods and deployments are created, changed and deleted."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import Container, Pod
from masthead.meta import Patch

if TYPE_CHECKING:
    from collections.abc import Callable

    import masthead

_PODS_AT_FIRST: Final = 8
_DEPLOYMENTS_AT_FIRST: Final = 3
_NODES: Final = ("node-1", "node-2", "node-3")
_APPS: Final = ("web", "api", "cart", "mail")


class Workload:
    """A random sequence of writes; the same for the same seed.

    Args:
        client: The client of the cluster.
        seed: The seed.
    """

    def __init__(self, client: masthead.Client, seed: int) -> None:
        self._pods = client.core_v1.pods("default")
        self._deployments = client.apps_v1.deployments("default")
        self._random = random.Random(seed)
        self._count = 0
        self._existing: dict[str, list[str]] = {"pods": [], "deployments": []}
        self._actions: dict[Callable[[], object], int] = {  # with their weights
            self.add_pod: 4,
            self.change_pod: 3,
            self.remove_pod: 3,
            self.add_deployment: 1,
            self.scale_deployment: 2,
            self.remove_deployment: 1,
        }

    def create_initial(self) -> None:
        """Create the initial objects."""
        for _ in range(_PODS_AT_FIRST):
            self.add_pod()
        for _ in range(_DEPLOYMENTS_AT_FIRST):
            self.add_deployment()

    def step(self) -> None:
        """Make one write."""
        [action] = self._random.choices(list(self._actions), list(self._actions.values()))
        action()

    def add_pod(self) -> Pod:
        """Create a pod."""
        node = self._random.choice(_NODES)
        spec = {"nodeName": node, "containers": [Container(name="main", image="nginx")]}
        return self._pods.create(Pod.new(self._new_name("pods"), labels={"node": node}, spec=spec))

    def change_pod(self) -> None:
        """Change a pod's phase."""
        if name := self._any("pods"):
            phase = self._random.choice(("Running", "Succeeded", "Failed"))
            self._pods.patch_status(name, Patch.merge({"status": {"phase": phase}}))

    def remove_pod(self) -> None:
        """Delete a pod."""
        if name := self._any("pods"):
            self._existing["pods"].remove(name)
            self._pods.delete(name, grace_period_seconds=0)

    def add_deployment(self) -> Deployment:
        """Create a deployment."""
        name = self._new_name("deployments")
        labels = {"app": name}
        template = {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "main", "image": "nginx"}]},
        }
        spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
        return self._deployments.create(Deployment.new(name, labels=labels, spec=spec))

    def scale_deployment(self) -> None:
        """Scale a deployment."""
        if name := self._any("deployments"):
            replicas = self._random.randint(0, 9)
            self._deployments.patch(name, Patch.merge({"spec": {"replicas": replicas}}))

    def remove_deployment(self) -> None:
        """Delete a deployment."""
        if name := self._any("deployments"):
            self._existing["deployments"].remove(name)
            self._deployments.delete(name)

    def _new_name(self, resource: str) -> str:
        self._count += 1
        name = f"{self._random.choice(_APPS)}-{self._count}"
        self._existing[resource].append(name)
        return name

    def _any(self, resource: str) -> str | None:
        existing = self._existing[resource]
        return self._random.choice(existing) if existing else None
