"""Three controllers that enforce rules, like those of operators, against every other writer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import masthead
from masthead._errors.base import counted
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import Node, Pod
from masthead.api.policy.v1 import PodDisruptionBudget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from masthead_server.demo.cluster import FailingCluster

__all__ = ["manager_for", "wanted_budget"]


def manager_for(cluster: FailingCluster, log: Callable[[str], None]) -> masthead.Manager:
    """A manager with all controllers."""
    app = masthead.Manager("demo")

    @app.controller(Pod, name="scheduler", reads=[Node])
    def schedule(ctx: masthead.ReconcileContext[Pod], pod: Pod) -> None:
        """Give each pod the ready node with the fewest pods, and start it."""
        if pod.metadata.deletion_timestamp or pod.status.phase != "Pending":
            return
        # A bound pod comes here again if the start of its containers failed.
        if not pod.spec.node_name:
            node = _emptiest(ctx.list(Node), ctx.list(Pod))
            if node is None:
                # No event announces that nodes have room; the queue retries instead.
                raise masthead.TemporaryError("no node is ready", delay=1)
            ctx.client.core_v1.pods("default").bind(pod.metadata.name or "", node)
        cluster.server.kubelet.start(pod)

    @app.controller(Node, name="node-lifecycle", reads=[Pod])
    def evict(ctx: masthead.ReconcileContext[Node], node: Node) -> None:
        """Delete the pods of a node that does not respond."""
        if is_ready(node):
            return
        pods = [pod for pod in ctx.list(Pod) if pod.spec.node_name == node.metadata.name]
        for pod in pods:
            # Without a grace period: the kubelet of a failed node never confirms the end of a pod.
            ctx.client.core_v1.pods("default").delete(pod.metadata.name or "", grace_period_seconds=0)
        if pods:
            log(f"the controller evicts {counted(len(pods), 'pod')} from {node.metadata.name}")

    @app.controller(Deployment, name="budgets", owns=[PodDisruptionBudget])
    def budget(ctx: masthead.ReconcileContext[Deployment], deployment: Deployment) -> None:
        """Each deployment has a disruption budget that lets one pod go."""
        ctx.apply(wanted_budget(deployment))

    return app


def wanted_budget(deployment: Deployment) -> PodDisruptionBudget:
    """The disruption budget of a deployment."""
    return PodDisruptionBudget.new(
        deployment.metadata.name,
        spec={
            # A Deployment of one pod gets 0, or a drain of its node would never end.
            "minAvailable": max(0, (deployment.spec.replicas or 0) - 1),
            "selector": deployment.spec.selector,
        },
    )


def is_ready(node: Node) -> bool:
    """Whether a node responds."""
    return any(condition.type == "Ready" and condition.status == "True" for condition in node.status.conditions)


def _emptiest(nodes: Iterable[Node], pods: Iterable[Pod]) -> str | None:
    counts = {node.metadata.name or "": 0 for node in nodes if is_ready(node)}
    for pod in pods:
        if pod.spec.node_name in counts:
            counts[pod.spec.node_name] += 1
    # By name among equals, so that runs with the same seed agree.
    return min(counts, key=lambda name: (counts[name], name)) if counts else None
