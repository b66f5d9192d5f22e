"""What happens in the cluster: pods and deployments come, change and go."""

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


class Story:
    """Writes one thing after the other; the same for the same seed.

    Args:
        client: Whose cluster it happens in.
        seed: Which story it is.
    """

    def __init__(self, client: masthead.Client, seed: int) -> None:
        self._pods = client.core_v1.pods("default")
        self._deployments = client.apps_v1.deployments("default")
        self._chance = random.Random(seed)
        self._count = 0
        self._living: dict[str, list[str]] = {"pods": [], "deployments": []}
        self._acts: dict[Callable[[], object], int] = {  # and how often each happens, of 14 times
            self.add_pod: 4,
            self.change_pod: 3,
            self.remove_pod: 3,
            self.add_deployment: 1,
            self.scale_deployment: 2,
            self.remove_deployment: 1,
        }

    def begin(self) -> None:
        """Write what is there at first."""
        for _ in range(_PODS_AT_FIRST):
            self.add_pod()
        for _ in range(_DEPLOYMENTS_AT_FIRST):
            self.add_deployment()

    def go_on(self) -> None:
        """Let one more thing happen."""
        [act] = self._chance.choices(list(self._acts), list(self._acts.values()))
        act()

    def add_pod(self) -> Pod:
        """A pod comes."""
        node = self._chance.choice(_NODES)
        spec = {"nodeName": node, "containers": [Container(name="main", image="nginx")]}
        return self._pods.create(Pod.new(self._new_name("pods"), labels={"node": node}, spec=spec))

    def change_pod(self) -> None:
        """A pod gets further."""
        if name := self._any("pods"):
            phase = self._chance.choice(("Running", "Succeeded", "Failed"))
            self._pods.patch_status(name, Patch.merge({"status": {"phase": phase}}))

    def remove_pod(self) -> None:
        """A pod goes."""
        if name := self._any("pods"):
            self._living["pods"].remove(name)
            self._pods.delete(name, grace_period_seconds=0)

    def add_deployment(self) -> Deployment:
        """A deployment comes."""
        name = self._new_name("deployments")
        labels = {"app": name}
        template = {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "main", "image": "nginx"}]},
        }
        spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
        return self._deployments.create(Deployment.new(name, labels=labels, spec=spec))

    def scale_deployment(self) -> None:
        """A deployment grows, or shrinks."""
        if name := self._any("deployments"):
            replicas = self._chance.randint(0, 9)
            self._deployments.patch(name, Patch.merge({"spec": {"replicas": replicas}}))

    def remove_deployment(self) -> None:
        """A deployment goes."""
        if name := self._any("deployments"):
            self._living["deployments"].remove(name)
            self._deployments.delete(name)

    def _new_name(self, resource: str) -> str:
        self._count += 1
        name = f"{self._chance.choice(_APPS)}-{self._count}"
        self._living[resource].append(name)
        return name

    def _any(self, resource: str) -> str | None:
        living = self._living[resource]
        return self._chance.choice(living) if living else None
