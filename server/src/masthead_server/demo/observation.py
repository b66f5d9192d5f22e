"""Direct lists of the cluster's objects, which the caches are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from masthead_server.demo.cluster import NAMESPACE, SILENCED
from masthead_server.demo.story import REPLICAS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import masthead
    from masthead.api.apps.v1 import Deployment
    from masthead.api.core.v1 import Node, Pod
    from masthead.api.policy.v1 import PodDisruptionBudget


@dataclass(frozen=True, slots=True)
class Listing:
    """All objects of the story at about one moment."""

    pods: Sequence[Pod]
    deployments: Sequence[Deployment]
    nodes: Sequence[Node]
    budgets: Sequence[PodDisruptionBudget]

    def by_resource(self) -> Mapping[str, Sequence[masthead.Object]]:
        """The objects, by the plural of their resource."""
        return {
            SILENCED: self.pods,
            "deployments": self.deployments,
            "nodes": self.nodes,
            "poddisruptionbudgets": self.budgets,
        }

    def pods_of(self, app: str) -> list[Pod]:
        """The pods of an app that are not being deleted."""
        return [pod for pod in self.pods if belongs_to(pod, app) and not pod.metadata.deletion_timestamp]

    @property
    def is_settled(self) -> bool:
        """Whether every rollout is complete, every pod is ready, and no node is cordoned."""
        return (
            all(is_ready(pod) and not pod.metadata.deletion_timestamp for pod in self.pods)
            and len(self.pods) == sum(deployment.spec.replicas or 0 for deployment in self.deployments)
            and all(deployment.status.available_replicas == REPLICAS for deployment in self.deployments)
            # An interrupted drain may have left a node cordoned.
            and not any(node.spec.unschedulable for node in self.nodes)
        )


def list_all(client: masthead.Client) -> Listing:
    """Ask the server for all objects of the story.

    Raises:
        MastheadError: If the server cannot be asked.
    """
    return Listing(
        pods=list(client.core_v1.pods(NAMESPACE).list()),
        deployments=list(client.apps_v1.deployments(NAMESPACE).list()),
        nodes=list(client.core_v1.nodes.list()),
        budgets=list(client.policy_v1.pod_disruption_budgets(NAMESPACE).list()),
    )


def belongs_to(pod: Pod, app: str) -> bool:
    """Whether a pod is one of an app."""
    return (pod.metadata.labels or {}).get("app") == app


def is_ready(pod: Pod) -> bool:
    """Whether a pod is ready."""
    return any(condition.type == "Ready" and condition.status == "True" for condition in pod.status.conditions)
