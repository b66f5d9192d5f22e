"""The field manager of a resource: the managedFields of an object after a write, as in kube-apiserver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, cast

from masthead._schema.structured_merge.items import UnidentifiedItemError
from masthead._schema.structured_merge.managers import ApplyConflicts, ManagedSet, ManagerKey, Updater
from masthead.errors import ArgumentError, DecodeError
from masthead_server.field_managers.entries import (
    APPLY,
    UPDATE,
    ManagedFields,
    is_reset,
    merge_oldest,
    read_entries,
    read_stored,
    write_entries,
)
from masthead_server.field_managers.last_applied import KUBECTL, still_applied, with_last_applied
from masthead_server.field_managers.reset_fields import reset_filters
from masthead_server.field_managers.versions import versions_of
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.plain import Plain, metadata, part, without_managed_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._schema.structured_merge.managers import Conflict, Filter
    from masthead_server.field_managers.versions import KindVersions
    from masthead_server.resources.resource import ServedResource

__all__ = ["FieldManager", "field_manager_of"]

_FIRST: Final = "before-first-apply"
_UNKNOWN: Final = "unknown"
_CURRENT: Final = "current-operation"
"""The manager of a write until it is known whether the write changes anything."""


def field_manager_of(served: ServedResource, subresource: str) -> FieldManager:
    """Return the field manager of a resource, or of a subresource that is written as the object itself."""
    found = served.field_managers.get(subresource)
    if found is None:
        found = FieldManager(versions_of(served), subresource, reset_filters(served, subresource))
        served.field_managers[subresource] = found
    return found


class Applied(NamedTuple):
    """The result of an apply.

    Attributes:
        found: The object in the version of the request, with its kind and without managedFields; its new fields have no
            defaults yet. If it is not changed, the stored object, except for the annotation of ``kubectl apply``.
        entries: Its managedFields.
        is_changed: Whether the configuration changes the object.
    """

    found: Plain
    entries: list[Plain]
    is_changed: bool


class FieldManager:
    """Tracks who manages the fields of a resource's objects, for writes of the object or of one subresource.

    Args:
        versions: The versions of the kind that is written.
        subresource: The subresource; empty for the object itself.
        filters: The fields that a write can change, by apiVersion.
    """

    def __init__(self, versions: KindVersions, subresource: str, filters: Mapping[str, Filter]) -> None:
        self.versions = versions
        self._api_version = versions.gvk.api_version
        self._subresource = subresource
        self._updater = Updater(self._api_version, versions, filters)
        self._blank = versions.blank()

    def update(self, live: Plain | None, new: Plain, manager: str, now: str) -> None:
        """Set the managedFields of an object that is to be written, in place; if that fails, it has none.

        Args:
            live: The stored object; None on create.
            new: The object that is to be stored, with the managedFields that the client sent.
            manager: The name of the manager; empty if it is not known.
            now: The time.

        Raises:
            ConversionPending: If a webhook has to convert something first.
        """
        meta = metadata(new)
        sent = meta.pop("managedFields", None)
        if live is not None and self._changes_nothing(live, new, sent):
            _set_entries(meta, _entries_of(live))
            return
        try:
            fields = self._update_entries(live, new, sent, manager, now)
        # As in kube-apiserver: a write does not fail because its fields cannot be tracked.
        except (ArgumentError, StatusFailure, UnidentifiedItemError):
            return
        _set_entries(meta, write_entries(fields))

    def apply(self, live: Plain | None, config: Plain, manager: str, now: str, *, force: bool) -> Applied:
        """Merge a configuration into an object.

        Args:
            live: The stored object; None on create.
            config: The configuration, in the version of the request and with its kind.
            manager: The name of the manager.
            now: The time.
            force: Take over fields that other managers own.

        Returns:
            The result; it may share values with the configuration and with the stored object.

        Raises:
            ApplyConflicts: If other managers own fields that would change.
            ArgumentError: If the object cannot be converted to the version of a manager.
            StatusFailure: If it cannot be converted by its webhook.
            UnidentifiedItemError: If an item of a set or of a list with keys cannot be identified.
            ConversionPending: If a webhook has to convert something first.
        """
        old = self._old(live)
        fields = read_stored(_entries_of(live))
        # Fields of objects from before the first apply need an owner, or apply could never conflict with them.
        if not fields.managers:
            fields = self._track_changes(self._blank, old, fields, _FIRST, now)
        key = ManagerKey(manager, APPLY, "", self._subresource)
        try:
            merged, managers = self._updater.apply(old, config, fields.managers, key, force=force)
        except ApplyConflicts as refused:
            if manager != KUBECTL:
                raise
            # kubectl takes over fields that it set by client-side apply.
            if conflicts := self._not_last_applied(old, refused):
                raise ApplyConflicts(conflicts) from None
            merged, managers = self._updater.apply(old, config, fields.managers, key, force=True)
        times = fields.times if merged is None else {**fields.times, key: now}
        entries = write_entries(fields._replace(managers=managers, times=times)) if managers else []
        is_changed = merged is not None or live is None
        # Without a merge, the stored form is returned: converting it twice might lose something.
        found = (old if merged is None else merged) if is_changed else cast("Plain", live)
        if manager == KUBECTL:
            found = with_last_applied(found, config)
        return Applied(found, entries, is_changed=is_changed)

    def _not_last_applied(self, old: Plain, refused: ApplyConflicts) -> list[Conflict]:
        """The conflicts with fields that client-side apply has not set, or that were changed since."""
        allowed = still_applied(old, self.versions.type_of(self._api_version))
        return [conflict for conflict in refused.conflicts if conflict.path not in allowed]

    def _update_entries(
        self, live: Plain | None, new: Plain, sent: list[Plain] | None, manager: str, now: str
    ) -> ManagedFields:
        before = self._before(_entries_of(live), sent)
        # The managers of an existing object without entries are unknown, so its changes are not tracked.
        if not before.managers and live is not None:
            return before
        return self._track_changes(self._old(live), self.versions.from_storage(new), before, manager, now)

    def _changes_nothing(self, live: Plain, new: Plain, sent: list[Plain] | None) -> bool:
        """Tell quickly whether a write changes neither the object nor its managers, as is frequent."""
        stored = _entries_of(live)
        if not self.versions.is_fixed or not (self._subresource or sent is None or sent == stored):
            return False
        # Entries of other versions may be dropped, even if nothing else changes.
        if any(entry["apiVersion"] != self._api_version for entry in stored):
            return False
        # A write through the scale can leave a manager two entries, which the next write joins.
        keys = {(entry.get("manager"), entry.get("operation"), entry.get("subresource")) for entry in stored}
        if len(keys) != len(stored):
            return False
        return new == without_managed_fields(live)

    def _old(self, live: Plain | None) -> Plain:
        """Return the object before a write, without managedFields."""
        return self._blank if live is None else self.versions.from_storage(without_managed_fields(live))

    def _before(self, stored: list[Plain], sent: list[Plain] | None) -> ManagedFields:
        """Return the managers before a write: those of the request, if the verb allows that and they are valid."""
        # Subresources cannot change managedFields, whatever a client sends.
        if self._subresource or sent is None or sent == stored:
            return read_stored(stored)
        if is_reset(sent):
            return ManagedFields.none()
        try:
            return read_entries(sent)
        except DecodeError:
            return read_stored(stored)

    def _track_changes(self, old: Plain, new: Plain, before: ManagedFields, manager: str, now: str) -> ManagedFields:
        current = self._key(_CURRENT)
        # Only entries of the server itself, under types that never change, are known to fit the schema.
        is_reconciled = before.is_stored and self.versions.is_fixed
        managers = self._updater.update(old, new, before.managers, current, is_reconciled=is_reconciled)
        after = before._replace(managers=managers, times=dict(before.times))
        if (changed := managers.pop(current, None)) is not None:
            key = self._key(manager or _UNKNOWN)
            managers[key] = _union(changed, managers.get(key), before.managers.get(key))
            after.times[key] = now
        merge_oldest(after)
        return after

    def _key(self, manager: str) -> ManagerKey:
        return ManagerKey(manager, UPDATE, self._api_version, self._subresource)


def _union(changed: ManagedSet, rest: ManagedSet | None, before: ManagedSet | None) -> ManagedSet:
    """Return what a manager owns after a write: what it has changed, and the rest of what it owned before."""
    fields = changed.fields if rest is None else changed.fields | rest.fields
    # An equal set is reused, so that its entry is not encoded again.
    return before if before is not None and fields == before.fields else changed._replace(fields=fields)


def _set_entries(meta: Plain, entries: list[Plain]) -> None:
    if entries:
        meta["managedFields"] = entries


def _entries_of(found: Plain | None) -> list[Plain]:
    return part(found or {}, "metadata").get("managedFields") or []
