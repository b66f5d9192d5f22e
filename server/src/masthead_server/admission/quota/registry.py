"""The evaluators of all resources that quotas can count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.admission.quota.claims import DeviceClaimEvaluator, VolumeClaimEvaluator
from masthead_server.admission.quota.evaluators import Evaluator
from masthead_server.admission.quota.pods import PodEvaluator
from masthead_server.admission.quota.services import ServiceEvaluator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from masthead_server.resources.catalog import Catalog
    from masthead_server.resources.resource import ServedResource

__all__ = ["evaluator_of", "find_evaluators"]

_EVALUATORS: Final[Mapping[str, type[Evaluator]]] = {
    "pods": PodEvaluator,
    "services": ServiceEvaluator,
    "persistentvolumeclaims": VolumeClaimEvaluator,
    "resource.k8s.io/resourceclaims": DeviceClaimEvaluator,
}
"""The resources of which quotas measure more than a count, by table."""
_IGNORED: Final = frozenset({("", "bindings"), ("", "events"), ("events.k8s.io", "events")})


def evaluator_of(served: ServedResource) -> Evaluator | None:
    """Return the evaluator of a resource; None if quotas cannot count it."""
    # Virtual resources, such as reviews, are not stored; quotas ignore events.
    if not served.is_namespaced or not served.is_stored or (served.group, served.name) in _IGNORED:
        return None
    return _EVALUATORS.get(served.table, Evaluator)(served)


def find_evaluators(catalog: Catalog, limits: Iterable[str]) -> dict[str, Evaluator]:
    """Return the evaluators that the limits of a quota are about, by table."""
    limits = list(limits)
    found: dict[str, Evaluator] = {}
    for table in (*_EVALUATORS, *map(_table_of, limits)):
        served = catalog.stored_in(table)
        evaluator = None if served is None else evaluator_of(served)
        if evaluator is not None and evaluator.matching(limits):
            found[table] = evaluator
    return found


def _table_of(limit: str) -> str:
    """Return the table whose objects a limit such as ``count/deployments.apps`` counts."""
    resource, _, group = limit.removeprefix("count/").partition(".")
    return f"{group}/{resource}" if group else resource
