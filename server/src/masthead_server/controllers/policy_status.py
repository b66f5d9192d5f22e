"""The policy status controller: type-checks ValidatingAdmissionPolicies, and shows the warnings in their status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.field_managers.own_entries import own_entry
from masthead_server.wire.plain import Plain, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient, ObjectRef

__all__ = ["PolicyStatusController"]

_TABLE: Final = "admissionregistration.k8s.io/validatingadmissionpolicies"
_VERSION: Final = "admissionregistration.k8s.io/v1"
_MANAGER: Final = "validatingadmissionpolicy-status"


class PolicyStatusController:
    """Keeps the observed generation and the type-checking warnings of policies up to date."""

    observes = frozenset({_TABLE})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile a policy that is written."""
        _, ref, record = write
        return () if record.is_deleted else (ref,)

    async def reconcile(self, ref: ObjectRef) -> None:
        """Check a policy whose spec has changed since the last check.

        Raises:
            JournalError: The change could not be stored.
        """
        policy = self._client.load(ref)
        if policy is None:
            return
        generation = int(metadata(policy).get("generation") or 0)
        if generation <= int(part(policy, "status").get("observedGeneration") or 0):
            return
        # Imported now: few servers have policies, and the types of all kinds take long to import.
        from masthead_server.admission.policies.type_checking import check_types

        cluster = self._client.cluster
        warnings = check_types(cluster.catalog, policy)
        checked: Plain = {
            "observedGeneration": generation,
            "typeChecking": {"expressionWarnings": warnings} if warnings else {},
        }
        now = cluster.now()
        await self._client.update(
            ref, lambda found: _set_status(found, checked, now), subresource="status", is_tracked=False
        )


def _set_status(policy: Plain, checked: Plain, now: str) -> None:
    """Set the status as an apply does."""
    policy["status"] = {**part(policy, "status"), **checked}
    own = own_entry({"status": checked}, _MANAGER, _VERSION, now, operation="Apply", subresource="status")
    own["fieldsV1"]["f:status"]["f:typeChecking"].pop(".", None)
    others = [entry for entry in items(metadata(policy), "managedFields") if text(entry, "manager") != _MANAGER]
    metadata(policy)["managedFields"] = [own, *others]
