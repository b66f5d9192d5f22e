"""The aggregation controller: gives aggregated ClusterRoles the rules of the roles that they select."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.labels import from_label_selector
from masthead._meta.v1 import LabelSelector
from masthead_server.field_managers.own_entries import AGGREGATION_MANAGER, own_entry
from masthead_server.wire.plain import Plain, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient, ObjectRef

__all__ = ["ClusterRoleAggregationController"]

_TABLE: Final = "rbac.authorization.k8s.io/clusterroles"
_VERSION: Final = "rbac.authorization.k8s.io/v1"
_RULE: Final = b'"aggregationRule"'


class ClusterRoleAggregationController:
    """Keeps the rules of aggregated roles up to date; they follow any change of a ClusterRole."""

    observes = frozenset({_TABLE})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._aggregated: set[ObjectRef] = set()

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile every aggregated role after any write to a role."""
        _, ref, record = write
        if _RULE in record.value and not record.is_deleted:
            self._aggregated.add(ref)
        else:
            self._aggregated.discard(ref)
        # Any role may have gained or lost the labels of a selector.
        return tuple(self._aggregated)

    async def reconcile(self, ref: ObjectRef) -> None:
        """Set the rules of an aggregated role.

        Raises:
            JournalError: The change could not be stored.
        """
        role = self._client.load(ref)
        if role is None:
            return
        rules = self._rules_for(part(role, "aggregationRule"), ref)
        # An unconditional write would trigger itself for ever.
        if rules != (role.get("rules") or []):
            now = self._client.cluster.now()
            await self._client.update(ref, lambda found: _set_rules(found, rules, now), is_tracked=False)

    def _rules_for(self, aggregation: Plain, own: ObjectRef) -> list[Plain]:
        rules: list[Plain] = []
        for written in items(aggregation, "clusterRoleSelectors"):
            selector = from_label_selector(LabelSelector.from_dict(written))
            # Few roles have the labels, and the others need not be decoded.
            keys = [f'"{key}"'.encode() for key in part(written, "matchLabels")]
            for ref, role in self._client.listed(_TABLE, containing=keys):
                if ref != own and selector.matches(part(metadata(role), "labels")):
                    rules += [rule for rule in items(role, "rules") if rule not in rules]
        return rules


def _set_rules(role: Plain, rules: list[Plain], now: str) -> None:
    """Set the rules of a role, which are atomic, as a forced apply does."""
    role["rules"] = rules
    own = own_entry({"rules": rules}, AGGREGATION_MANAGER, _VERSION, now, operation="Apply")
    others = [
        managed_field
        for managed_field in items(metadata(role), "managedFields")
        if text(managed_field, "manager") != AGGREGATION_MANAGER
    ]
    # A forced apply takes the field over from all other managers.
    for other in others:
        other["fieldsV1"].pop("f:rules", None)
    entries = [own, *(other for other in others if other["fieldsV1"])]
    metadata(role)["managedFields"] = sorted(entries, key=lambda each: (each["operation"], text(each, "time")))
