"""The areas of scenarios, and scenarios by their seeds."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from tests.controllers import budgets, claims, cronjobs, daemonsets, endpoints, jobs, replicas

if TYPE_CHECKING:
    from tests.controllers.scenario import Area, Scenario

_MODULES = {
    "replicas": replicas,
    "jobs": jobs,
    "cronjobs": cronjobs,
    "daemonsets": daemonsets,
    "budgets": budgets,
    "endpoints": endpoints,
    "claims": claims,
}
AREAS: dict[str, Area] = {name: module.AREA for name, module in _MODULES.items()}
"""The areas by name."""


def compose(area: str, seed: str) -> Scenario:
    """Compose the scenario of a seed; the same one each time."""
    composed: Scenario = _MODULES[area].compose(Random(f"{area} {seed}"))
    return composed
