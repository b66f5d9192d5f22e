"""What the controller of definitions does: accepts names, establishes definitions, and cleans up after them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.controllers.objects import ObjectRef, is_marked, set_or_drop, uid_of
from masthead_server.resources.builtin.apiextensions.customresourcedefinition import conditions
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.accepted_names import (
    AcceptedNames,
    names_status,
)
from masthead_server.resources.custom.installer import DEFINITIONS
from masthead_server.wire.plain import Plain, is_being_deleted, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient

__all__ = ["DefinitionReconciler"]

_BATCH: Final = 200
"""How many objects of a definition that is being deleted are deleted before requests have their turn again."""


class DefinitionReconciler:
    """Sets the conditions of definitions, and deletes the custom resources of definitions in deletion."""

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._accepted_names = AcceptedNames()
        self._waiting: dict[str, set[ObjectRef]] = {}
        """The definitions of each group that do not have all the names that they ask for."""
        self._terminating: dict[str, ObjectRef] = {}
        """The definitions that are being deleted, by the table of their objects."""
        self._undeleted: dict[str, list[ObjectRef]] = {}
        """The custom resources that remain to be deleted."""

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile a written definition, and a definition in deletion after each removal of a custom resource."""
        served, ref, record = write
        if ref.table != DEFINITIONS:
            owner = self._terminating.get(ref.table)
            # Without a removal, the definition is due only while objects remain to be deleted.
            is_due = owner is not None and (record.is_deleted or self._undeleted.get(ref.table))
            return (owner,) if owner is not None and is_due else ()
        waiting = self._waiting.setdefault(ref.key.partition(".")[2], set())
        waiting.discard(ref)
        # A name that a definition gives up becomes available to definitions with a NamesAccepted conflict.
        due = sorted(waiting)
        if record.is_deleted:
            self._accepted_names.remove(ref.key)
            self._forget(ref)
            return due
        definition = served.load(record)
        self._accepted_names.set(definition)
        if not _has_its_names(definition):
            waiting.add(ref)
        if is_marked(record) and is_being_deleted(definition):
            self._terminating[_table_of(definition)] = ref
        return [ref, *due]

    def _forget(self, ref: ObjectRef) -> None:
        """Forget a deleted definition."""
        self._accepted_names.remove(ref.key)
        for table in [table for table, each in self._terminating.items() if each == ref]:
            del self._terminating[table]
            self._undeleted.pop(table, None)

    async def reconcile(self, ref: ObjectRef) -> None:
        """Set the next condition of a definition, or delete the next of its objects.

        Raises:
            JournalError: A change could not be stored.
        """
        definition = self._client.load(ref)
        if definition is None:
            return
        if is_being_deleted(definition) and conditions.CLEANUP_FINALIZER in _finalizers(definition):
            await self._clean_up(ref, definition)
            return
        status = self._next_status(definition)
        if status is not None:
            await self._client.update(ref, lambda found: found.update(status=status), subresource="status")

    def _next_status(self, definition: Plain) -> Plain | None:
        """What the status of a definition becomes; None if it stays."""
        now = self._client.cluster.now()
        group = self._accepted_names.of_group(text(part(definition, "spec"), "group"))
        # One condition at a time, as the controllers of the real server set them; each write leads to the next.
        return (
            names_status(definition, group, now)
            or conditions.established_status(definition, now)
            or conditions.approval_status(definition, now)
        )

    async def _clean_up(self, ref: ObjectRef, definition: Plain) -> None:
        """Delete the objects of a definition; when none is left, remove its finalizer.

        Raises:
            JournalError: A change could not be stored.
        """
        # A definition that was never established has no objects, and its table may belong to another one.
        is_established = conditions.is_condition_true(definition, conditions.ESTABLISHED)
        if is_established:
            table = _table_of(definition)
            if table not in self._undeleted:
                await self._begin_clean_up(ref, table)
            await self._delete_objects(table)
            # Each removal reconciles the definition again; an object stays until its finalizers are removed.
            if self._client.cluster.storage.table(table).count:
                return
        now = self._client.cluster.now()
        done = conditions.DELETION_COMPLETED if is_established else conditions.NEVER_ESTABLISHED

        def finish(found: Plain) -> None:
            found["status"] = conditions.with_condition(part(found, "status"), done, now)
            left = [finalizer for finalizer in _finalizers(found) if finalizer != conditions.CLEANUP_FINALIZER]
            set_or_drop(metadata(found), "finalizers", left)

        await self._client.update(ref, finish, subresource="status")

    async def _begin_clean_up(self, ref: ObjectRef, table: str) -> None:
        """Take stock of the objects to delete: from now on none can be created.

        Raises:
            JournalError: A change could not be stored.
        """
        cluster = self._client.cluster
        records = cluster.storage.table(table).scan("", cluster.storage.revision)
        self._undeleted[table] = [ObjectRef(table, record.key) for record in records]

        def begin(found: Plain) -> None:
            progress = conditions.DELETION_IN_PROGRESS
            found["status"] = conditions.with_condition(part(found, "status"), progress, cluster.now())

        await self._client.update(ref, begin, subresource="status")

    async def _delete_objects(self, table: str) -> None:
        """Delete the next objects of a table.

        Raises:
            JournalError: A deletion could not be stored.
        """
        undeleted = self._undeleted[table]
        for _ in range(min(_BATCH, len(undeleted))):
            each = undeleted[-1]
            found = self._client.load(each)
            if found is not None:
                await self._client.delete(each, uid_of(found))
            # Only now: what could not be stored is tried again.
            undeleted.pop()


def _finalizers(definition: Plain) -> list[str]:
    return part(definition, "metadata").get("finalizers") or []


def _table_of(definition: Plain) -> str:
    spec = part(definition, "spec")
    return f"{text(spec, 'group')}/{text(part(spec, 'names'), 'plural')}"


def _has_its_names(definition: Plain) -> bool:
    wanted, accepted = (
        part(part(definition, "spec"), "names"),
        part(part(definition, "status"), "acceptedNames"),
    )
    return {key: value for key, value in wanted.items() if value} == accepted
