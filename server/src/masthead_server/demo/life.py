"""What people and machines do to the cluster."""

from __future__ import annotations

import itertools
import random
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from masthead.api.apps.v1 import Deployment
from masthead.errors import NotFoundError, TransportError
from masthead.meta import Patch
from masthead_server.demo.cluster import NODES, set_ready

if TYPE_CHECKING:
    from collections.abc import Callable

    import masthead
    from masthead.api.core.v1 import Pod
    from masthead_server.demo.lag import LagMeter

_APPS: Final = ("web", "api", "cart", "mail", "search")
_NODE_STEPS: Final = (20, 45)
"""At which step of the life of the cluster a node fails, and at which it is ready again; over and over."""


class ClusterLife:
    """A random sequence of changes; the same for the same seed.

    Args:
        client: The client of the cluster.
        seed: The seed.
        lag: Notes when writes were sent.
        log: Writes a line.
    """

    def __init__(self, client: masthead.Client, seed: int, lag: LagMeter, log: Callable[[str], None]) -> None:
        self._client = client
        self._pods = client.core_v1.pods("default")
        self._deployments = client.apps_v1.deployments("default")
        self._random = random.Random(seed)
        self._lag = lag
        self._log = log
        self._steps = itertools.count(1)
        self._releases = itertools.count(2)
        self._failed_node = ""
        self._actions: dict[Callable[[], object], int] = {  # with their weights
            self.roll_out: 3,
            self.scale: 4,
            self.kill_pod: 4,
            self.remove_budget: 2,
        }

    def begin(self) -> None:
        """Create the deployments."""
        for name in _APPS:
            labels = {"app": name}
            containers = [{"name": "main", "image": f"registry.example/{name}:1"}]
            # Terminating pods would otherwise fill the picture for half a minute.
            spec = {"containers": containers, "terminationGracePeriodSeconds": 1}
            template = {"metadata": {"labels": labels}, "spec": spec}
            replicas = self._random.randint(2, 4)
            wanted = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
            self._deployments.create(Deployment.new(name, labels=labels, spec=wanted))

    def step(self) -> None:
        """Make one change. While the server restarts, nothing happens."""
        # A pod or budget may be deleted by a controller between its list and its deletion.
        with suppress(TransportError, NotFoundError):
            self._fail_node(next(self._steps) % (_NODE_STEPS[1] + 10))
            [action] = self._random.choices(list(self._actions), list(self._actions.values()))
            action()

    def end(self) -> None:
        """Repair the damage that `life` has done on purpose."""
        if self._failed_node:
            self._recover_node()

    def touch(self, name: str = _APPS[0]) -> Deployment:
        """Change a deployment in a way that has no consequences: the last write of the demo."""
        patch = Patch.merge({"metadata": {"annotations": {"demo/last-write": str(next(self._steps))}}})
        return self._deployments.patch(name, patch)

    def roll_out(self) -> None:
        """Release a new version of an app: its pods are replaced."""
        name, release = self._random.choice(_APPS), next(self._releases)
        container = {"name": "main", "image": f"registry.example/{name}:{release}"}
        self._log(f"someone rolls out {name}:{release}")
        self._patch(name, {"spec": {"template": {"spec": {"containers": [container]}}}})

    def scale(self) -> None:
        """Scale an app."""
        name, replicas = self._random.choice(_APPS), self._random.randint(1, 6)
        self._log(f"someone scales {name} to {replicas}")
        self._patch(name, {"spec": {"replicas": replicas}})

    def kill_pod(self) -> None:
        """Delete a pod, as someone does who believes in turning it off and on again."""
        pods: list[Pod] = list(self._pods.list(limit=50))
        if pods:
            name = self._random.choice(pods).metadata.name or ""
            self._log(f"someone deletes the pod {name}")
            self._pods.delete(name)

    def remove_budget(self) -> None:
        """Delete the disruption budget of an app, which a controller then restores."""
        name = self._random.choice(_APPS)
        self._log(f"someone deletes the disruption budget of {name}")
        self._client.policy_v1.pod_disruption_budgets("default").delete(name)

    def _patch(self, name: str, change: dict[str, object]) -> None:
        with self._lag.sending() as sent:
            sent(self._deployments.patch(name, Patch.strategic(change)))

    def _fail_node(self, step: int) -> None:
        if step == _NODE_STEPS[0] and not self._failed_node:
            self._failed_node = self._random.choice(NODES)
            self._log(f"{self._failed_node} does not respond any more")
            set_ready(self._client, self._failed_node, is_ready=False)
        elif step == _NODE_STEPS[1] and self._failed_node:
            self._recover_node()

    def _recover_node(self) -> None:
        name, self._failed_node = self._failed_node, ""
        self._log(f"{name} is back")
        set_ready(self._client, name, is_ready=True)
