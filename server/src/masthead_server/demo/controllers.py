"""A controller that keeps a rule, like those of operators, against every other writer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import masthead
from masthead.api.apps.v1 import Deployment
from masthead.api.policy.v1 import PodDisruptionBudget

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["ReconcileCounter", "find_wrong_budgets", "manager_for", "wanted_budget"]


class ReconcileCounter:
    """The number of reconciles."""

    def __init__(self) -> None:
        self.count = 0


def manager_for(counter: ReconcileCounter) -> masthead.Manager:
    """A manager with the controller: each Deployment has a disruption budget that lets one pod go."""
    app = masthead.Manager("demo")

    # One worker by default, so that the counter needs no lock.
    @app.controller(Deployment, name="budgets", owns=[PodDisruptionBudget])
    def ensure_budget(ctx: masthead.ReconcileContext[Deployment], deployment: Deployment) -> None:
        counter.count += 1
        # Nothing is sent if the budget is as it should be.
        ctx.apply(wanted_budget(deployment))

    return app


def wanted_budget(deployment: Deployment) -> PodDisruptionBudget:
    """The disruption budget of a Deployment."""
    return PodDisruptionBudget.new(
        deployment.metadata.name,
        spec={
            # A Deployment of one pod gets 0, or a drain of its node would never end.
            "minAvailable": max(0, (deployment.spec.replicas or 0) - 1),
            "selector": deployment.spec.selector,
        },
    )


def find_wrong_budgets(deployments: Iterable[Deployment], budgets: Iterable[PodDisruptionBudget]) -> Iterator[str]:
    """The Deployments for which the rule of the controller does not hold, as sentences."""
    by_name = {budget.metadata.name: budget for budget in budgets}
    for deployment in deployments:
        budget, wanted = by_name.get(deployment.metadata.name), wanted_budget(deployment)
        if budget is None or budget.spec.min_available != wanted.spec.min_available:
            yield f"deployment {deployment.metadata.name} lacks the disruption budget that the controller ensures"
