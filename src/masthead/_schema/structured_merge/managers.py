"""Managers: who owns which fields after an update or an apply, and which conflicts there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

from masthead._schema.field_sets import FieldSet
from masthead._schema.structured_merge.comparison import Comparison, compare, equal
from masthead._schema.structured_merge.merging import merge
from masthead._schema.structured_merge.ownership import field_set_of, named_fields
from masthead._schema.structured_merge.reconciliation import reconcile
from masthead._schema.structured_merge.removal import remove_items
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._schema.path_elements import Path
    from masthead._schema.schema import Json
    from masthead._schema.structured_merge.types import MergeType

__all__ = [
    "ApplyConflicts",
    "Conflict",
    "Filter",
    "ManagedSet",
    "ManagerKey",
    "Managers",
    "Updater",
    "Versions",
    "remove_abandoned",
]


class ManagerKey(NamedTuple):
    """The identity of an entry of ``managedFields``.

    Attributes:
        manager: The manager's name.
        operation: ``Apply`` or ``Update``.
        api_version: The version of an update; empty for apply, so that a manager has one entry whatever version it
            applies.
        subresource: The subresource that was written; empty for the object itself.
    """

    manager: str
    operation: str
    api_version: str
    subresource: str


class ManagedSet(NamedTuple):
    """The fields of one entry.

    Attributes:
        fields: The fields, in their version.
        api_version: The version.
    """

    fields: FieldSet
    api_version: str


Managers: TypeAlias = dict[ManagerKey, ManagedSet]
"""The entries of an object."""
SYSTEM_FIELDS: Final = FieldSet.of(
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    *(
        ("f:metadata", f"f:{name}")
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    ),
)
"""The identity of an object, and the fields that only the server sets: no manager owns them."""
_UNPRUNED: Final = "failed to prune fields"
Filter: TypeAlias = "Callable[[FieldSet], FieldSet]"
"""Returns the fields of a set that a write can own."""


class Versions(Protocol):
    """The versions of a kind: objects are whole, with apiVersion and kind."""

    def convert(self, value: Json, to: str) -> Json | None:
        """Convert an object to an apiVersion, which may be its own; None if the version no longer exists.

        Raises:
            ArgumentError: If the object cannot be converted.
        """
        ...

    def type_of(self, api_version: str) -> MergeType:
        """Return the merge type of an apiVersion that `convert` supports."""
        ...


@dataclass(frozen=True, slots=True)
class Conflict:
    """A field that another manager owns with another value.

    Attributes:
        key: The other manager.
        path: The field.
    """

    key: ManagerKey
    path: Path


class ApplyConflicts(Exception):  # noqa: N818 - it carries conflicts for the caller to report
    """An apply would change fields that other managers own.

    Attributes:
        conflicts: All of them, by manager and path.
    """

    def __init__(self, conflicts: list[Conflict]) -> None:
        super().__init__(f"{len(conflicts)} conflicts")
        self.conflicts: Final = conflicts


def _keep_all(fields: FieldSet) -> FieldSet:
    return fields


class Updater:
    """Decides who owns which fields after a write to one resource or subresource, in one version.

    Args:
        api_version: The version of the requests; objects and configurations are in it.
        versions: The versions of the kind.
        filters: The fields that a write can own, by version; in a version without a filter, all of them.
    """

    def __init__(self, api_version: str, versions: Versions, filters: Mapping[str, Filter]) -> None:
        self.api_version: Final = api_version
        self._versions = versions
        self._filters = filters

    def update(
        self, live: Json, new: Json, managers: Managers, key: ManagerKey, *, is_reconciled: bool = False
    ) -> Managers:
        """Return the managers after an update: the writer owns the fields that it changes, the others keep the rest.

        Args:
            live: The object before.
            new: The object after.
            managers: The entries before.
            key: The writer.
            is_reconciled: Whether the types have not changed since the entries were written.

        Raises:
            ArgumentError: If an object cannot be converted to the version of a manager.
            UnidentifiedItemError: If an item of a set or of a list with keys cannot be identified.
        """
        if not is_reconciled:
            # The schema may have changed since the fields were stored, from atomic to granular or back.
            managers = self._reconcile(managers, live)
        # An update never conflicts: it takes the ownership of all that it changes.
        left, change = self._take(live, new, managers, key, force=True)
        fields = change.modified | change.added
        if key in left:
            fields = self._filter_of(self.api_version)((left.pop(key).fields - change.removed) | fields)
        # The comparison is filtered already; only what the writer owned before may contain more.
        if fields := fields - SYSTEM_FIELDS:
            left[key] = ManagedSet(fields, self.api_version)
        return left

    def apply(
        self, live: Json, config: Json, managers: Managers, key: ManagerKey, *, force: bool
    ) -> tuple[Json | None, Managers]:
        """Merge a configuration into an object, and remove the fields that its manager no longer applies.

        Args:
            live: The object.
            config: The configuration.
            managers: The entries before.
            key: The manager that applies.
            force: Take over fields that other managers own.

        Returns:
            The new object, or None if it is equal to the live one; and the new entries.

        Raises:
            ApplyConflicts: If other managers own fields that would change.
            ArgumentError: If an object cannot be converted to the version of a manager.
            UnidentifiedItemError: If an item of a set or of a list with keys cannot be identified.
        """
        managers = self._reconcile(managers, live)
        type_ = self.type_of(self.api_version)
        merged = merge(live, config, type_)
        last = managers.get(key)
        applied = field_set_of(config, type_)
        managers[key] = ManagedSet(self._select_owned(applied), self.api_version)
        # Applying the same fields again is the most frequent case, and removes nothing.
        if last is not None and last != managers[key]:
            # With the system fields: no manager owns the name, but applying it keeps the metadata.
            kept = ManagedSet(self._filter_of(self.api_version)(applied), self.api_version)
            merged = remove_abandoned(self, merged, {**managers, key: kept}, last)
        # After the removal, so that removed fields leave their other owners' sets as well.
        managers, _ = self._take(live, merged, managers, key, force=force)
        # None tells the caller that no write is needed, apart from the managers.
        return (None if equal(live, merged) else merged), managers

    def type_of(self, api_version: str) -> MergeType:
        """Return the merge type of a version."""
        return self._versions.type_of(api_version)

    def convert(self, value: Json, to: str, failure: str = "") -> Json | None:
        """Convert an object; None if the version no longer exists.

        Args:
            value: The object.
            to: The version.
            failure: kube-apiserver's prefix of the error message.

        Raises:
            ArgumentError: If the object cannot be converted.
        """
        if value["apiVersion"] == to:
            return value
        try:
            return self._versions.convert(value, to)
        except ArgumentError as error:
            raise ArgumentError(f"{failure}{error}") from None

    def _select_owned(self, fields: FieldSet) -> FieldSet:
        """The fields among these that the writer owns after the write."""
        return self._filter_of(self.api_version)(fields) - SYSTEM_FIELDS if fields else fields

    def _filter_of(self, api_version: str) -> Filter:
        return self._filters.get(api_version, _keep_all)

    def _reconcile(self, managers: Managers, live: Json) -> Managers:
        """The managers adapted to the current schema, without those of versions that no longer exist."""
        found: Managers = {}
        for key, managed in managers.items():
            # Entries of a version that is no longer served are dropped.
            if self.convert(live, managed.api_version) is not None:
                fields = reconcile(managed.fields, self.type_of(managed.api_version))
                found[key] = managed if fields is managed.fields else managed._replace(fields=fields)
        return found

    def _compare(self, old: Json, new: Json, api_version: str) -> Comparison | None:
        """Compare two objects in a version; None if it does not exist."""
        before = self.convert(old, api_version, "failed to convert old object: ")
        after = self.convert(new, api_version, "failed to convert new object: ")
        if before is None or after is None:
            return None
        found = compare(before, after, self.type_of(api_version))
        return found.filter(self._filter_of(api_version))

    def _take(
        self, old: Json, new: Json, managers: Managers, writer: ManagerKey, *, force: bool
    ) -> tuple[Managers, Comparison]:
        """Remove the fields that a write changes or removes from all other managers.

        Returns:
            The managers that are left, and what the write changes.

        Raises:
            ApplyConflicts: If it changes fields of other managers, and not `force`.
        """
        own = compare(old, new, self.type_of(self.api_version)).filter(self._filter_of(self.api_version))
        # One comparison per version: many managers share a version.
        changes: dict[str, Comparison | None] = {self.api_version: own}
        left: Managers = {}
        conflicts: list[Conflict] = []
        for key, managed in managers.items():
            # A writer cannot conflict with itself.
            if key == writer:
                if managed.fields:
                    left[key] = managed
                continue
            version = managed.api_version
            if version not in changes:
                changes[version] = self._compare(old, new, version)
            if (change := changes[version]) is None:
                continue
            changed = change.modified | change.added
            if not force and changed:
                # Removed fields never conflict: no manager insists on a missing value.
                conflicts += (Conflict(key, path) for path in (managed.fields & changed).paths())
            if fields := managed.fields - changed - change.removed:
                left[key] = managed if fields is managed.fields else ManagedSet(fields, version)
        if conflicts:
            # Paths of one manager are in order already, and sorting is stable.
            raise ApplyConflicts(sorted(conflicts, key=lambda conflict: conflict.key))
        return left, own


def remove_abandoned(updater: Updater, merged: Json, managers: Managers, last: ManagedSet) -> Json:
    """Remove fields that the manager applied last time, unless a manager still owns them.

    Args:
        updater: The versions of the kind.
        merged: The object, with the new configuration.
        managers: Who owns what now.
        last: What the manager applied last time.

    Raises:
        ArgumentError: If an object cannot be converted to the version of a manager.
        UnidentifiedItemError: If an item of a set or of a list with keys cannot be identified.
    """
    to_last = f"{_UNPRUNED}: failed to convert merged object to last applied version: "
    at_last = updater.convert(merged, last.api_version, to_last)
    # Nothing to remove, or the version of the last apply is no longer served.
    if not last.fields or at_last is None:
        return merged
    last_type = updater.type_of(last.api_version)
    last_fields = named_fields(last.fields, last_type)
    # First everything of the last configuration is removed, then fields with other owners are added back.
    pruned = remove_items(at_last, last_fields, last_type)
    pruned = updater.convert(_keep_owned(updater, at_last, pruned, managers, last.api_version), last.api_version)
    if pruned is None:
        return merged
    # Only the difference is removed, so that the order of the remaining items does not change.
    gone = _fields(at_last, last_type) - _fields(pruned, last_type)
    return updater.convert(remove_items(at_last, gone & last_fields, last_type), updater.api_version, f"{_UNPRUNED}: ")


def _keep_owned(updater: Updater, merged: Json, pruned: Json, managers: Managers, first: str) -> Json:
    """Add back what a manager owns, version by version; the version `first`, in which it was removed, comes first."""
    owned: dict[str, FieldSet] = {}
    for managed in managers.values():
        owned[managed.api_version] = owned.get(managed.api_version, FieldSet()) | managed.fields
    # The version of the last apply first, as the server does: the result depends on the order.
    for version in sorted(owned, key=lambda version: (version != first, version)):
        failure = f"{_UNPRUNED}: failed add back owned items: failed to convert %s object at version {version}: "
        full = updater.convert(merged, version, failure % "merged")
        part = updater.convert(pruned, version, failure % "pruned")
        if full is None or part is None:
            continue
        type_ = updater.type_of(version)
        kept = _fields(part, type_) | named_fields(owned[version], type_)
        pruned = remove_items(full, _fields(full, type_) - kept, type_)
        merged = full
    return pruned


def _fields(value: Json, of: MergeType) -> FieldSet:
    """All fields of a value, structs included."""
    return named_fields(field_set_of(value, of), of)
