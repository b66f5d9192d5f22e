"""The garbage collector: what becomes of objects when their owners go.

It decides as kube-controller-manager's does. An owner is *solid* if it is there and does not itself wait for its
dependents; *absent* if nothing of its kind, name and uid is there; *waiting* if it is being deleted in the foreground.
An object with a solid owner stays, and loses its references to the others. One without is deleted, in the foreground
if an owner waits for it. Owners of kinds that the server does not know count as solid: nobody can tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.gvk import GroupVersionKind
from masthead._server.controllers.objects import ObjectRef, set_or_drop, uid_of
from masthead._server.verbs.delete import FOREGROUND, ORPHAN
from masthead._server.wire.plain import Plain, is_being_deleted, items, metadata, text

if TYPE_CHECKING:
    from masthead._server.controllers.objects import ObjectClient
    from masthead._server.resources.resource import ServedResource
    from masthead._server.storage import Record

__all__ = ["GarbageCollector"]

_SOLID: Final = "solid"
_ABSENT: Final = "absent"
_WAITING: Final = "waiting"


class GarbageCollector:
    """Knows who belongs to whom, and collects those who belong to nobody any more."""

    def __init__(self, places: ObjectClient) -> None:
        self._places = places
        self._references: dict[ObjectRef, list[Plain]] = {}
        """The owners that each object names."""
        self._dependents: dict[str, _Dependents] = {}
        """The objects that name an owner, by its uid."""

    def hear(self, served: ServedResource, place: ObjectRef, record: Record) -> set[ObjectRef]:
        """Take note of who an object belongs to; returns the owners to look at again because that changed."""
        before = self._references.pop(place, [])
        found: Plain = {}
        if not record.is_deleted and b'"ownerReferences"' in record.value:
            found = served.load(record)
        now = items(metadata(found), "ownerReferences")
        for reference in before:
            self._forget(text(reference, "uid"), place)
        for reference in now:
            dependents = self._dependents.setdefault(text(reference, "uid"), _Dependents())
            dependents.add(place, reference, stays=not is_being_deleted(found))
        if now:
            self._references[place] = now
        if before == now:
            return set()
        owners = (self._owner_place(reference, place.namespace) for reference in before)
        return {owner for owner in owners if owner is not None}

    def belongs_to_somebody(self, place: ObjectRef) -> bool:
        """Whether an object names owners."""
        return place in self._references

    def dependents(self, uid: str) -> list[ObjectRef]:
        """The objects that name this owner."""
        return sorted(self._known(uid).every)

    def collect(self, place: ObjectRef) -> None:
        """Delete an object if its owners are gone or wait for that; or take off the references to those.

        Raises:
            JournalError: A change could not be kept.
        """
        found = self._places.load(place)
        if found is None or is_being_deleted(found):
            return
        references = items(metadata(found), "ownerReferences")
        states = {text(each, "uid"): self._state_of(place, each) for each in references}
        if not references or set(states.values()) == {_SOLID}:
            return
        if _SOLID in states.values():
            self._drop_references(place, {uid for uid, state in states.items() if state != _SOLID})
        elif _WAITING in states.values():
            self._break_circle(place, found)
            self._places.delete(place, uid_of(found), policy="Foreground")
        else:
            self._places.delete(place, uid_of(found), policy=_policy_of(found))

    def delete_dependents_first(self, place: ObjectRef, owner: Plain) -> None:
        """Do what foreground deletion needs next: delete dependents, and let go when none blocks any more.

        Raises:
            JournalError: A change could not be kept.
        """
        uid = uid_of(owner)
        for dependent in sorted(self._known(uid).staying):
            self.collect(dependent)
        if not self._known(uid).blocking:
            self._places.take_off(place, FOREGROUND)

    def orphan_dependents(self, place: ObjectRef, owner: Plain) -> None:
        """Let dependents belong to nobody, and let go of the owner.

        Raises:
            JournalError: A change could not be kept.
        """
        uid = uid_of(owner)
        for dependent in self.dependents(uid):
            self._drop_references(dependent, {uid})
        self._places.take_off(place, ORPHAN)

    def _state_of(self, dependent: ObjectRef, reference: Plain) -> str:
        served = self._owner_resource(reference)
        if served is None or (served.is_namespaced and not dependent.namespace):
            return _SOLID  # nobody can tell where such an owner would be
        key = served.key(dependent.namespace, text(reference, "name"))
        owner = self._places.load(ObjectRef(served.table, key))
        if owner is None or uid_of(owner) != text(reference, "uid"):
            return _ABSENT
        is_waiting = is_being_deleted(owner) and FOREGROUND in (metadata(owner).get("finalizers") or ())
        return _WAITING if is_waiting else _SOLID

    def _break_circle(self, place: ObjectRef, found: Plain) -> None:
        """Let an object not hold up its owners if one of its own dependents is already waiting for dependents."""
        for dependent in self.dependents(uid_of(found)):
            below = self._places.load(dependent)
            if below is not None and FOREGROUND in (metadata(below).get("finalizers") or ()):
                self._places.change(place, _unblock)
                return

    def _drop_references(self, place: ObjectRef, uids: set[str]) -> None:
        def without(found: Plain) -> None:
            meta = metadata(found)
            left = [each for each in items(meta, "ownerReferences") if text(each, "uid") not in uids]
            set_or_drop(meta, "ownerReferences", left)

        self._places.change(place, without)

    def _owner_resource(self, reference: Plain) -> ServedResource | None:
        group, _, version = text(reference, "apiVersion").rpartition("/")
        return self._places.cluster.catalog.by_kind(GroupVersionKind(group, version, text(reference, "kind")))

    def _owner_place(self, reference: Plain, namespace: str) -> ObjectRef | None:
        served = self._owner_resource(reference)
        return ObjectRef(served.table, served.key(namespace, text(reference, "name"))) if served else None

    def _forget(self, uid: str, place: ObjectRef) -> None:
        known = self._known(uid)
        known.discard(place)
        if not known.every:
            self._dependents.pop(uid, None)

    def _known(self, uid: str) -> _Dependents:
        return self._dependents.get(uid) or _Dependents()


class _Dependents:
    """The objects that name one owner; sorted out as they change, for an owner may be looked at once for each."""

    __slots__ = ("blocking", "every", "staying")

    def __init__(self) -> None:
        self.every: set[ObjectRef] = set()
        self.staying: set[ObjectRef] = set()
        """Those that are not being deleted."""
        self.blocking: set[ObjectRef] = set()
        """Those that an owner in the foreground waits for."""

    def add(self, place: ObjectRef, reference: Plain, *, stays: bool) -> None:
        """Take one in; it may name its owner more than once."""
        self.every.add(place)
        if stays:
            self.staying.add(place)
        if reference.get("blockOwnerDeletion") is True:
            self.blocking.add(place)

    def discard(self, place: ObjectRef) -> None:
        """Leave one out."""
        self.every.discard(place)
        self.staying.discard(place)
        self.blocking.discard(place)


def _unblock(found: Plain) -> None:
    for reference in items(metadata(found), "ownerReferences"):
        reference["blockOwnerDeletion"] = False


def _policy_of(found: Plain) -> str:
    """How an object that lost its owners is to go: as its own finalizers say."""
    finalizers = metadata(found).get("finalizers") or ()
    if ORPHAN in finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in finalizers else "Background"
