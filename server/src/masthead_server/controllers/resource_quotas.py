"""The quota controller: keeps the status of quotas current."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from masthead_server.admission.quota.ledger import QuotaLedger
from masthead_server.admission.quota.quota import Quota
from masthead_server.admission.quota.registry import find_evaluators
from masthead_server.controllers.objects import ObjectRef
from masthead_server.resources.amounts import Amounts, write_amounts
from masthead_server.resources.custom.installer import DEFINITIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.wire.plain import Plain

__all__ = ["ResourceQuotaController"]

_QUOTAS: Final = "resourcequotas"


class ResourceQuotaController:
    """Sets the limits and the usage in the status of quotas.

    Admission charges new objects to quotas. This controller measures existing objects when a quota is new or changes,
    and releases deleted objects and ended pods. kube-controller-manager takes back charges for objects that were not
    stored every five minutes; this controller does so after the charge, which it observes.
    """

    observes = None

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._keys: dict[str, set[str]] = {}
        """The keys of the quotas, by namespace."""
        self._ledgers: dict[str, QuotaLedger] = {}
        self._changed: dict[str, set[ObjectRef]] = {}
        """The objects that were written since they were recorded, by the key of the quota."""

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile the quotas of the namespace of a write, and counts of custom resources after a definition."""
        ref = write.ref
        if ref.table == DEFINITIONS:
            return self._forget_counts()
        if ref.table == _QUOTAS:
            self._track(ref, is_deleted=write.record.is_deleted)
        # Every write comes here, and most servers have no quota.
        keys = self._keys.get(ref.namespace) if self._keys else None
        if keys is None:
            return ()
        concerned = [key for key in keys if self._note(key, ref)]
        return [ObjectRef(_QUOTAS, key) for key in sorted(concerned)]

    async def reconcile(self, ref: ObjectRef) -> float | None:
        """Bring the status of a quota up to date.

        Returns:
            The seconds after which a pod in deletion stops to count.

        Raises:
            JournalError: The status could not be stored.
        """
        found = self._client.load(ref)
        if found is None:
            return None
        quota = Quota.read(found)
        if quota.hard != quota.wanted or quota.used != self._measure(ref, quota):

            def write_status(current: Plain) -> None:
                # Measured again: another write may have come first.
                now = Quota.read(current)
                used = self._measure(ref, now)
                current["status"] = {"hard": write_amounts(now.wanted), "used": write_amounts(used)}

            await self._client.update(ref, write_status, subresource="status")
        expiry = self._ledgers[ref.key].next_expiry() if ref.key in self._ledgers else None
        # The moment itself still counts.
        return None if expiry is None else (expiry - self._client.cluster.clock.now()).total_seconds() + 1

    def _track(self, ref: ObjectRef, *, is_deleted: bool) -> None:
        if not is_deleted:
            self._keys.setdefault(ref.namespace, set()).add(ref.key)
            return
        self._ledgers.pop(ref.key, None)
        self._changed.pop(ref.key, None)
        keys = self._keys.get(ref.namespace, set())
        keys.discard(ref.key)
        if not keys:
            self._keys.pop(ref.namespace, None)

    def _forget_counts(self) -> list[ObjectRef]:
        """Drop all ledgers: what limits are about depends on the resources that are served."""
        keys = list(self._ledgers)
        self._ledgers.clear()
        return [ObjectRef(_QUOTAS, key) for key in keys]

    def _note(self, key: str, ref: ObjectRef) -> bool:
        """Record a write; return whether it concerns a quota."""
        ledger = self._ledgers.get(key)
        if ledger is not None and ref.table in ledger.evaluators:
            self._changed.setdefault(key, set()).add(ref)
            return True
        return ref == (_QUOTAS, key)

    def _measure(self, ref: ObjectRef, quota: Quota) -> Amounts:
        """Return what the objects of a namespace use of a quota."""
        ledger = self._ledgers.get(ref.key)
        now = self._client.cluster.clock.now()
        changed: Iterable[ObjectRef] = self._changed.pop(ref.key, set())
        if ledger is None or not ledger.is_of(quota):
            evaluators = find_evaluators(self._client.cluster.catalog, quota.wanted)
            ledger = self._ledgers[ref.key] = QuotaLedger(quota, evaluators)
            changed = [found for table in evaluators for found in self._client.within(ref.namespace, only=table)]
        # Only written objects are read: the usage of all others is in the ledger.
        for found in {*changed, *cast("list[ObjectRef]", ledger.expire(now))}:
            ledger.record(found, found.table, self._client.load(found), now)
        return ledger.sum_up(quota)
