"""Whether a request fits into the quotas of its namespace, and their usage afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta.quantity import Quantity
from masthead_server.admission.attributes import Operation
from masthead_server.resources.amounts import Amounts, add_amounts, select_amounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.admission.quota.evaluators import Evaluator
    from masthead_server.admission.quota.quota import Quota
    from masthead_server.wire.plain import Plain

__all__ = ["QuotaRefusal", "charge", "is_about"]


class QuotaRefusal(Exception):  # noqa: N818 - the plugin makes a response of it
    """A request does not fit into a quota."""


def charge(
    quotas: Sequence[Quota], evaluator: Evaluator, attributes: AdmissionAttributes, now: datetime
) -> dict[str, Amounts]:
    """Charge a request to quotas.

    Args:
        quotas: The quotas of its namespace.
        evaluator: The evaluator of its resource.
        attributes: The request, which has an object.
        now: The time.

    Returns:
        The usage after the request, by the name of the quota; without quotas whose usage stays the same.

    Raises:
        QuotaRefusal: If the request does not fit.
    """
    new, old = attributes.object or {}, attributes.old
    concerned = [quota for quota in quotas if is_about(quota, quota.hard, evaluator, new)]
    for quota in concerned:
        _check_known(quota, evaluator, new)
    if not concerned:
        return {}
    usage = evaluator.measure(new, now)
    used: dict[str, Amounts] = {}
    for quota in concerned:
        added = usage
        is_update = attributes.operation is Operation.UPDATE and old is not None
        # An update that moves an object into the scope of a quota costs all that the object uses.
        if is_update and old is not None and is_about(quota, quota.hard, evaluator, old):
            added = _subtract(usage, evaluator.measure(old, now))
        requested = select_amounts({name: value for name, value in added.items() if value}, quota.hard)
        if requested:
            # A status reports an expansion that a controller has made already; refusing it would not undo that.
            used[quota.name] = _add(quota, requested, is_enforced=attributes.subresource != "status")
    return used


def is_about(quota: Quota, limits: Iterable[str], evaluator: Evaluator, found: Plain) -> bool:
    """Tell whether a quota with these limits counts an object."""
    return any(map(evaluator.measures, limits)) and all(evaluator.is_in_scope(scope, found) for scope in quota.scopes)


def _check_known(quota: Quota, evaluator: Evaluator, found: Plain) -> None:
    limits = evaluator.matching(quota.hard)
    if missing := evaluator.find_missing(limits, found):
        raise QuotaRefusal(f"failed quota: {quota.name}: {missing}")
    if any(limit not in quota.used for limit in limits):
        raise QuotaRefusal(f"status unknown for quota: {quota.name}, resources: {','.join(sorted(limits))}")


def _subtract(usage: Amounts, before: Amounts) -> Amounts:
    """Return by how much usage grows."""
    grown = {name: value - before.get(name, Quantity(0)) for name, value in usage.items()}
    return {name: value for name, value in grown.items() if value > 0}


def _add(quota: Quota, requested: Amounts, *, is_enforced: bool) -> Amounts:
    used = dict(quota.used)
    add_amounts(used, requested)
    exceeded = [name for name in requested if used[name] > quota.hard[name]]
    if exceeded and is_enforced:
        raise QuotaRefusal(
            f"exceeded quota: {quota.name}, requested: {_format(requested, exceeded)}, "
            f"used: {_format(quota.used, exceeded)}, limited: {_format(quota.hard, exceeded)}"
        )
    return used


def _format(amounts: Amounts, names: list[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in sorted(names) if name in amounts)
