"""The ledger of a quota: what each object uses of it, and the sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta.quantity import Quantity
from masthead_server.admission.quota.decision import is_about
from masthead_server.admission.quota.pods import expiry_of
from masthead_server.resources.amounts import Amounts, add_amounts, select_amounts

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping
    from datetime import datetime

    from masthead_server.admission.quota.evaluators import Evaluator
    from masthead_server.admission.quota.quota import Quota
    from masthead_server.wire.plain import Plain

__all__ = ["QuotaLedger"]


class QuotaLedger:
    """Adds up the usage of a quota object by object, so that a write costs no scan of its namespace.

    Args:
        quota: The quota.
        evaluators: The evaluators that its limits are about, by table.
    """

    def __init__(self, quota: Quota, evaluators: Mapping[str, Evaluator]) -> None:
        self._quota = quota
        self._entries: dict[Hashable, Amounts] = {}
        self._expiries: dict[Hashable, datetime] = {}
        self.evaluators = evaluators
        """The evaluators of the objects that it counts, by table."""
        measured = (evaluator.matching(quota.wanted) for evaluator in evaluators.values())
        self._total: Amounts = {name: Quantity(0) for names in measured for name in names}

    def is_of(self, quota: Quota) -> bool:
        """Tell whether its entries are still valid for a changed quota."""
        return self._quota.wanted.keys() == quota.wanted.keys() and self._quota.scopes == quota.scopes

    def sum_up(self, quota: Quota) -> Amounts:
        """Return the usage of the quota; limits without an evaluator keep their value in the status."""
        return select_amounts(quota.used | self._total, quota.wanted)

    def record(self, ref: Hashable, table: str, found: Plain | None, now: datetime) -> None:
        """Enter the usage of an object; None for a deleted one."""
        evaluator = self.evaluators[table]
        self._expiries.pop(ref, None)
        usage: Amounts = {}
        if found is not None and is_about(self._quota, self._quota.wanted, evaluator, found):
            usage = select_amounts(evaluator.measure(found, now), self._total)
            expiry = expiry_of(found) if table == "pods" else None
            if expiry is not None and expiry >= now:
                self._expiries[ref] = expiry
        # The total has the same notation as before: a sum prints in that of its left side.
        add_amounts(self._total, {name: -value for name, value in self._entries.pop(ref, {}).items()})
        if usage:
            self._entries[ref] = usage
            add_amounts(self._total, usage)

    def next_expiry(self) -> datetime | None:
        """Return the first expiry of a pod in deletion."""
        return min(self._expiries.values(), default=None)

    def expire(self, now: datetime) -> list[Hashable]:
        """Return the pods in deletion whose grace period is over, to be recorded again."""
        return [ref for ref, expiry in self._expiries.items() if expiry < now]
