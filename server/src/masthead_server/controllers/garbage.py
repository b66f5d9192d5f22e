"""The garbage collector: deletes objects whose owners no longer exist.

It decides as kube-controller-manager does. An owner is *solid* if it exists and does not wait for its dependents;
*absent* if no object of its kind, name and uid exists; *waiting* if it is in foreground deletion. An object with a
solid owner stays, and loses its references to the others. An object without a solid owner is deleted, in the foreground
if an owner waits for it. Owners of kinds that the server does not serve count as solid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.gvk import GroupVersionKind
from masthead_server.controllers.objects import ObjectRef, is_marked, set_or_drop, uid_of
from masthead_server.verbs.delete import FOREGROUND, ORPHAN
from masthead_server.wire.plain import Plain, is_being_deleted, items, metadata, text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.resources.resource import ServedResource

__all__ = ["GarbageCollector"]

_SOLID: Final = "solid"
_ABSENT: Final = "absent"
_WAITING: Final = "waiting"


class GarbageCollector:
    """Keeps the graph of owner references, and deletes objects that have lost all their owners."""

    observes = None

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._references: dict[ObjectRef, list[Plain]] = {}
        """The owner references of each object that has any."""
        self._dependents: dict[str, _Dependents] = {}
        """The dependents of each owner, by its uid."""

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Update the graph, and enqueue the affected objects.

        These are owners that an object no longer names, the dependents of a deleted object, and objects with owners, or
        with finalizers and a deletion timestamp.
        """
        served, ref, record = write
        due = self._update_references(write)
        if record.is_deleted:
            # The graph is empty in most tests, and decoding the last state of a deleted object is expensive.
            return [*due, *self.dependents(uid_of(served.load(record)))] if self._dependents else due
        # Of a deletion without finalizers, which most are, there is nothing to do.
        is_finalizing = is_marked(record) and b'"finalizers"' in record.value
        if is_finalizing or ref in self._references:
            return [*due, ref]
        return due

    async def reconcile(self, ref: ObjectRef) -> None:
        """Collect an object, or do what its foreground or orphaning deletion needs next.

        Raises:
            JournalError: A change could not be stored.
        """
        found = self._client.load(ref)
        if found is None:
            return
        # Finalizers count only in deletion: FOREGROUND and ORPHAN are set together with the timestamp.
        if not is_being_deleted(found):
            await self._collect(ref)
            return
        finalizers = metadata(found).get("finalizers") or ()
        if FOREGROUND in finalizers:
            await self._delete_dependents_first(ref, found)
        elif ORPHAN in finalizers:
            await self._orphan_dependents(ref, found)

    def _update_references(self, write: ObservedWrite) -> Collection[ObjectRef]:
        """Record an object's owners; return its previous owners if they have changed."""
        served, ref, record = write
        before = self._references.pop(ref, None)
        found: Plain = {}
        # Search the text first: most objects do not have it, and a parse is expensive.
        if not record.is_deleted and b'"ownerReferences"' in record.value:
            found = served.load(record)
        elif before is None:
            return ()
        now = items(metadata(found), "ownerReferences")
        # Removed before the new ones are added, so that an unchanged reference does not count twice.
        for reference in before or ():
            self._forget(text(reference, "uid"), ref)
        for reference in now:
            dependents = self._dependents.setdefault(text(reference, "uid"), _Dependents())
            dependents.add(ref, reference, stays=not is_being_deleted(found))
        if now:
            self._references[ref] = now
        # A new reference needs no reconcile of its owner; a lost one may end an owner's wait for its dependents.
        if before is None or before == now:
            return ()
        owners = (self._owner_ref(reference, ref.namespace) for reference in before)
        return {owner for owner in owners if owner is not None}

    def dependents(self, uid: str) -> list[ObjectRef]:
        """The objects that name an owner of this uid."""
        return sorted(self._dependents_of(uid).every)

    async def _collect(self, ref: ObjectRef) -> None:
        """Delete an object if none of its owners is solid; otherwise remove its references to the others.

        Raises:
            JournalError: A change could not be stored.
        """
        # Loaded again: the object may have changed since the graph enqueued it.
        found = self._client.load(ref)
        if found is None or is_being_deleted(found):
            return
        references = items(metadata(found), "ownerReferences")
        states = {text(reference, "uid"): self._state_of(ref, reference) for reference in references}
        if not references or set(states.values()) == {_SOLID}:
            return
        if _SOLID in states.values():
            # One solid owner is enough to keep the object.
            await self._drop_references(ref, {uid for uid, state in states.items() if state != _SOLID})
        elif _WAITING in states.values():
            # An owner that is deleted in the foreground waits for its dependents, and so they wait for
            # theirs.
            await self._break_circle(ref, found)
            await self._client.delete(ref, uid_of(found), policy="Foreground")
        else:
            await self._client.delete(ref, uid_of(found), policy=_policy_of(found))

    async def _delete_dependents_first(self, ref: ObjectRef, owner: Plain) -> None:
        """Delete the dependents of an object, and remove its finalizer when none of them blocks it any more.

        Raises:
            JournalError: A change could not be stored.
        """
        uid = uid_of(owner)
        # A copy: each deletion changes the set through `observe`.
        for dependent in sorted(self._dependents_of(uid).staying):
            await self._collect(dependent)
        # Only references with blockOwnerDeletion hold the owner back; other dependents may outlive it.
        if not self._dependents_of(uid).blocking:
            await self._client.remove_finalizer(ref, FOREGROUND)

    async def _orphan_dependents(self, ref: ObjectRef, owner: Plain) -> None:
        """Remove the references of an object's dependents, and then its finalizer.

        Raises:
            JournalError: A change could not be stored.
        """
        uid = uid_of(owner)
        for dependent in self.dependents(uid):
            await self._drop_references(dependent, {uid})
        await self._client.remove_finalizer(ref, ORPHAN)

    def _state_of(self, dependent: ObjectRef, reference: Plain) -> str:
        if text(reference, "uid") in self._client.cluster.storage.foreign.owners:
            return _SOLID
        served = self._owner_resource(reference)
        if served is None or (served.is_namespaced and not dependent.namespace):
            return _SOLID  # there is no telling where such an owner would be
        key = served.key(dependent.namespace, text(reference, "name"))
        owner = self._client.load(ObjectRef(served.table, key))
        # An object of the same name with another uid is a successor, not the owner.
        if owner is None or uid_of(owner) != text(reference, "uid"):
            return _ABSENT
        is_waiting = is_being_deleted(owner) and FOREGROUND in (metadata(owner).get("finalizers") or ())
        return _WAITING if is_waiting else _SOLID

    async def _break_circle(self, ref: ObjectRef, found: Plain) -> None:
        """Stop an object from blocking its owners if one of its dependents is in foreground deletion."""
        for dependent in self.dependents(uid_of(found)):
            below = self._client.load(dependent)
            if below is not None and FOREGROUND in (metadata(below).get("finalizers") or ()):
                # Two objects that own each other would otherwise wait for each other for ever.
                await self._client.update(ref, _unblock)
                return

    async def _drop_references(self, ref: ObjectRef, uids: set[str]) -> None:
        def without(found: Plain) -> None:
            meta = metadata(found)
            left = [
                owner_reference
                for owner_reference in items(meta, "ownerReferences")
                if text(owner_reference, "uid") not in uids
            ]
            set_or_drop(meta, "ownerReferences", left)

        await self._client.update(ref, without)

    def _owner_resource(self, reference: Plain) -> ServedResource | None:
        group, _, version = text(reference, "apiVersion").rpartition("/")
        return self._client.cluster.catalog.by_kind(GroupVersionKind(group, version, text(reference, "kind")))

    def _owner_ref(self, reference: Plain, namespace: str) -> ObjectRef | None:
        served = self._owner_resource(reference)
        return ObjectRef(served.table, served.key(namespace, text(reference, "name"))) if served else None

    def _forget(self, uid: str, ref: ObjectRef) -> None:
        known = self._dependents_of(uid)
        known.discard(ref)
        if not known.every:
            self._dependents.pop(uid, None)

    def _dependents_of(self, uid: str) -> _Dependents:
        # Not setdefault: a lookup must not leave empty entries for every uid.
        return self._dependents.get(uid) or _Dependents()


class _Dependents:
    """The dependents of one owner, sorted by state: an owner may be reconciled once for each of them."""

    __slots__ = ("blocking", "every", "staying")

    def __init__(self) -> None:
        self.every: set[ObjectRef] = set()
        self.staying: set[ObjectRef] = set()
        """Dependents that are not in deletion."""
        self.blocking: set[ObjectRef] = set()
        """Dependents that block the foreground deletion of their owner."""

    def add(self, ref: ObjectRef, reference: Plain, *, stays: bool) -> None:
        """Add a dependent, which may name its owner more than once."""
        self.every.add(ref)
        if stays:
            self.staying.add(ref)
        if reference.get("blockOwnerDeletion") is True:
            self.blocking.add(ref)

    def discard(self, ref: ObjectRef) -> None:
        """Remove a dependent."""
        self.every.discard(ref)
        self.staying.discard(ref)
        self.blocking.discard(ref)


def _unblock(found: Plain) -> None:
    for reference in items(metadata(found), "ownerReferences"):
        reference["blockOwnerDeletion"] = False


def _policy_of(found: Plain) -> str:
    """The propagation policy for an object that lost its owners: what its own finalizers say."""
    finalizers = metadata(found).get("finalizers") or ()
    if ORPHAN in finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in finalizers else "Background"
