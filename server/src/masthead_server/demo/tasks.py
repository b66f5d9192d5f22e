"""What people and machines do to the cluster: one class for each task of the story."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

from masthead.errors import MastheadError, NotFoundError, TooManyRequestsError, TransportError
from masthead.meta import Patch
from masthead_server.demo.cluster import NAMESPACE, image_of
from masthead_server.demo.observation import is_ready
from masthead_server.demo.scene import counted
from masthead_server.demo.story import NODES, Task

if TYPE_CHECKING:
    import masthead
    from masthead.api.core.v1 import Pod
    from masthead_server.demo.cluster import DemoCluster
    from masthead_server.demo.observation import Listing
    from masthead_server.demo.story import Chapter

__all__ = ["RunningTask", "start_task"]

_REQUEST_TIMEOUT: Final = 5.0
_TIMES: Final = ("never", "once", "twice")


class RunningTask(Protocol):
    """A task under way."""

    def step(self, listing: Listing) -> str:
        """Go on, if there is something to do; return the progress in one sentence."""
        ...

    def end(self) -> None:
        """Undo temporary changes of the cluster."""
        ...


def start_task(chapter: Chapter, cluster: DemoCluster, client: masthead.Client) -> RunningTask:
    """Start the task of a chapter."""
    match chapter.task:
        case Task.ROLLOUT:
            return Rollout(client, chapter.subject, chapter.version)
        case Task.DRAIN:
            return Drain(client, chapter.subject)
        case Task.CRASH:
            return Crash(cluster, client, chapter.subject)
        case Task.BUDGET:
            return BudgetDeletion(client, chapter.subject)


class Rollout:
    """A new version of an app: its pods are replaced one by one."""

    def __init__(self, client: masthead.Client, app: str, version: int) -> None:
        self._app = app
        self._version = version
        container = {"name": "main", "image": image_of(app, version)}
        change = Patch.strategic({"spec": {"template": {"spec": {"containers": [container]}}}})
        client.apps_v1.deployments(NAMESPACE).patch(app, change)

    def step(self, listing: Listing) -> str:
        """Count the new pods."""
        pods = listing.pods_of(self._app)
        new = sum(image_of(self._app, self._version) == pod.spec.containers[0].image for pod in pods)
        return f"{new} of {len(pods)} pods run v{self._version}"

    def end(self) -> None:
        """No-op: the controllers of the cluster complete the rollout."""


class Drain:
    """A node is drained as by kubectl: cordoned, then its pods are evicted as the disruption budgets permit."""

    def __init__(self, client: masthead.Client, node: str) -> None:
        self._client = client
        self._node = node
        self._evicted = self._refused = 0
        self._set_unschedulable(is_unschedulable=True)

    def step(self, listing: Listing) -> str:
        """Try to evict one pod, so that the drain can be watched."""
        left = [pod for pod in listing.pods if pod.spec.node_name == self._node and not pod.metadata.deletion_timestamp]
        # Evictions of one pod of an app wait for the readiness of its replacement, by the disruption budget.
        if left:
            self._evict(left[0])
        refused = f", {counted(self._refused, 'eviction')} refused by a budget" if self._refused else ""
        return f"cordoned; {counted(self._evicted, 'pod')} evicted{refused}, {len(left)} left"

    def end(self) -> None:
        """Uncordon the node."""
        self._set_unschedulable(is_unschedulable=False)

    def _evict(self, pod: Pod) -> None:
        try:
            self._client.core_v1.pods(NAMESPACE).evict(pod.metadata.name or "", timeout=_REQUEST_TIMEOUT)
            self._evicted += 1
        except TooManyRequestsError:
            self._refused += 1
        except (NotFoundError, TransportError):  # a rollout was faster, or the server restarts
            pass

    def _set_unschedulable(self, *, is_unschedulable: bool) -> None:
        self._client.core_v1.nodes.patch(self._node, Patch.merge({"spec": {"unschedulable": is_unschedulable}}))


class Crash:
    """The container of a pod exits with 1; the kubelet restarts it, after the second time with a back-off."""

    def __init__(self, cluster: DemoCluster, client: masthead.Client, app: str) -> None:
        self._cluster = cluster
        self._client = client
        self._app = app
        self._name = ""
        self._crashes = 0
        self.repeat()

    def repeat(self) -> None:
        """Let it crash, again if there was a first time."""
        # A rollout or drain may delete the pod after the list.
        with suppress(NotFoundError):
            pods = self._client.core_v1.pods(NAMESPACE).list(label_selector=f"app={self._app}")
            candidates = [pod for pod in pods if is_ready(pod) and not pod.metadata.deletion_timestamp]
            # Only a container that crashes repeatedly gets a back-off.
            chosen = [pod for pod in candidates if pod.metadata.name == self._name] or candidates
            if chosen:
                self._name = chosen[0].metadata.name or ""
                self._cluster.server.kubelet.crash(chosen[0], exit_code=1)
                self._crashes += 1

    def step(self, listing: Listing) -> str:
        """Tell the state of the container."""
        for pod in listing.pods:
            if pod.metadata.name == self._name and pod.status.container_statuses:
                state = pod.status.container_statuses[0].state
                waiting = state.waiting.reason if state.waiting else None
                now = f"waits in {waiting}" if waiting else "runs again"
                return f"its container exited with code 1 {_TIMES[self._crashes]}, and {now}"
        return "its container exited with code 1, and it was deleted since"

    def end(self) -> None:
        """No-op: the kubelet restarts the container."""


class BudgetDeletion:
    """A disruption budget is deleted, for the controller to restore."""

    def __init__(self, client: masthead.Client, app: str) -> None:
        self._name = app
        self._began = time.monotonic()
        self._took: float | None = None
        with suppress(NotFoundError):
            client.policy_v1.pod_disruption_budgets(NAMESPACE).delete(app)

    def step(self, listing: Listing) -> str:
        """Tell whether the budget is back."""
        if self._took is None and any(budget.metadata.name == self._name for budget in listing.budgets):
            self._took = time.monotonic() - self._began
        if self._took is None:
            return "the controller has not noticed yet"
        return f"the controller has restored it, after {self._took:.1f} s"

    def end(self) -> None:
        """No-op: the controller restores the budget."""


class Heartbeat:
    """Writes to the cluster that have no consequences but their notifications.

    Args:
        client: A client with a direct connection.
    """

    def __init__(self, client: masthead.Client) -> None:
        self._client = client
        self._count = 0

    def beat(self, listing: Listing) -> int | None:
        """Write to a pod; return its new version, or None if there was no pod to write to."""
        names = [pod.metadata.name or "" for pod in listing.pods if not pod.metadata.deletion_timestamp]
        # The pod may have been deleted after the list, or the server may restart.
        with suppress(MastheadError):
            for name in names[:1]:
                written = self._client.core_v1.pods(NAMESPACE).patch(name, self._change(), timeout=_REQUEST_TIMEOUT)
                return int(written.metadata.resource_version or 0)
        return None

    def touch(self) -> None:
        """Write to a node, for a new version of the cluster."""
        self._client.core_v1.nodes.patch(NODES[0], self._change(), timeout=_REQUEST_TIMEOUT)

    def _change(self) -> Patch:
        self._count += 1
        return Patch.merge({"metadata": {"annotations": {"demo/heartbeat": str(self._count)}}})
