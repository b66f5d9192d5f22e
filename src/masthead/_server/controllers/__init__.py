"""What a cluster's controllers do that an API server alone does not.

They empty and remove deleted namespaces, collect garbage, end pods when their grace period is over, and let go of volumes
that nothing uses. Without them a deleted namespace would stay for ever, and so would an object that is deleted in the
foreground. All of it happens right after the write that calls for it, in the server's own thread, and counts as work
until it is done. What has to wait, waits for a write or for the clock: nothing is tried again and again. So does what
could not be kept, because the disk is full, say: it is tried again later, and is no work until then.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Final

from masthead._server.controllers.garbage import GarbageCollector
from masthead._server.controllers.namespaces import NamespaceController
from masthead._server.controllers.objects import ObjectClient, ObjectRef, uid_of
from masthead._server.storage import JournalError
from masthead._server.verbs.delete import FOREGROUND, ORPHAN
from masthead._server.wire.plain import Plain, has_finalizers, is_being_deleted, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._server.clock import Timer
    from masthead._server.cluster import ClusterState
    from masthead._server.resources.resource import ServedResource
    from masthead._server.storage import Record

__all__ = ["Controllers"]

_AT_ONCE: Final = 64
"""How many objects are looked at before requests have their turn again."""
_FIRST_DELAY: Final = 1.0
_LONGEST_DELAY: Final = 60.0
"""Seconds until what could not be kept is tried again; the delay doubles each time."""
_PODS: Final = "pods"
_NAMESPACES: Final = "namespaces"
_CLAIMS: Final = "persistentvolumeclaims"
_VOLUMES: Final = "persistentvolumes"
_PROTECTIONS: Final = {
    _CLAIMS: "kubernetes.io/pvc-protection",
    _VOLUMES: "kubernetes.io/pv-protection",
}
"""Finalizers that come off once nothing uses the object."""
_NAMES_CLAIMS: Final = (b'"persistentVolumeClaim"', b'"ephemeral"')
"""What is in the text of a pod that uses claims; a volume made for a pod is a claim too."""


class Controllers:
    """Acts on what is written.

    Args:
        cluster: What they look after.
        on_idle: Called when there is nothing left to do.
    """

    def __init__(self, cluster: ClusterState, on_idle: Callable[[], object]) -> None:
        self._cluster = cluster
        self._on_idle = on_idle
        self._places = ObjectClient(cluster)
        self._emptier = NamespaceController(self._places)
        self._garbage = GarbageCollector(self._places)
        self._due: dict[ObjectRef, None] = {}
        """Objects to look at, each once, in order."""
        self._turn: asyncio.Handle | None = None
        self._graces: dict[ObjectRef, tuple[str, Timer]] = {}
        """Until when each pod that is being deleted has time, and what ends it then."""
        self._postponed: dict[ObjectRef, None] = {}
        """Objects to look at again when the journal may have recovered."""
        self._retry: Timer | None = None
        self._delay = _FIRST_DELAY

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to do."""
        return not self._due

    def start(self) -> None:
        """Look at everything that is stored, and from then on at every write."""
        storage = self._cluster.storage
        for served, place in self._places.everywhere():
            record = storage.table(place.table).get(place.key)
            if record is not None:
                self._hear(served, record)
        self._cluster.on_write.append(self._hear)

    def stop(self) -> None:
        """Do nothing more; what is left is found again by the next one that starts."""
        if self._hear in self._cluster.on_write:
            self._cluster.on_write.remove(self._hear)
        self._due.clear()
        if self._turn is not None:
            self._turn.cancel()
        if self._retry is not None:
            self._retry.cancel()
        for _, timer in self._graces.values():
            timer.cancel()

    def drain(self) -> None:
        """Do everything that there is to do, at once."""
        while self._due:
            self._look_at_some()

    def _hear(self, served: ServedResource, record: Record) -> None:
        place = ObjectRef(served.table, record.key)
        self._emptier.hear(served, place, record)
        for owner in self._garbage.hear(served, place, record):
            self._look_at(owner)
        if record.is_deleted:
            self._look_after(served, place, served.load(record))
        elif b'"deletionTimestamp"' in record.value or self._garbage.belongs_to_somebody(place):
            self._look_at(place)
        if place.table == _PODS and any(each in record.value for each in _NAMES_CLAIMS):
            self._look_at_claims(place, served.load(record))

    def _look_after(self, served: ServedResource, place: ObjectRef, gone: Plain) -> None:
        """See to those who may have waited for an object to go."""
        if place in self._graces:
            self._graces.pop(place)[1].cancel()
        for dependent in self._garbage.dependents(uid_of(gone)):
            self._look_at(dependent)
        if served.is_namespaced:
            record = self._cluster.storage.table(_NAMESPACES).get(place.namespace)
            if record is not None and b'"deletionTimestamp"' in record.value:
                self._look_at(ObjectRef(_NAMESPACES, place.namespace))

    def _look_at_claims(self, place: ObjectRef, pod: Plain) -> None:
        for name in _claims_of(pod):
            self._look_at(ObjectRef(_CLAIMS, f"{place.namespace}/{name}"))

    def _look_at(self, place: ObjectRef) -> None:
        self._due[place] = None
        if self._turn is None:
            self._turn = asyncio.get_running_loop().call_soon(self._work)

    def _work(self) -> None:
        self._turn = None
        try:
            self._look_at_some()
        finally:
            if self._due and self._turn is None:
                self._turn = asyncio.get_running_loop().call_soon(self._work)
        if not self._due:
            self._on_idle()

    def _look_at_some(self) -> None:
        for place in list(islice(self._due, _AT_ONCE)):
            self._due.pop(place, None)
            try:
                self._settle(place)
            except JournalError:
                self._postpone(place)
        if not self._due and not self._postponed:
            self._delay = _FIRST_DELAY

    def _postpone(self, place: ObjectRef) -> None:
        """Look at an object later. All wait for the same journal, and so for the same moment."""
        self._postponed[place] = None
        if self._retry is None:
            self._retry = self._cluster.clock.call_later(self._delay, self._try_again)
            self._delay = min(2 * self._delay, _LONGEST_DELAY)

    def _try_again(self) -> None:
        self._retry = None
        places, self._postponed = self._postponed, {}
        for place in places:
            self._look_at(place)

    def _settle(self, place: ObjectRef) -> None:
        """Do the next thing that an object needs."""
        found = self._places.load(place)
        if found is None:
            return
        if not is_being_deleted(found):
            self._garbage.collect(place)
            return
        if place.table == _NAMESPACES:
            self._emptier.empty(place, found)
        elif place.table == _PODS:
            self._end_in_time(place, found)
        finalizers = metadata(found).get("finalizers") or ()
        if FOREGROUND in finalizers:
            self._garbage.delete_dependents_first(place, found)
        elif ORPHAN in finalizers:
            self._garbage.orphan_dependents(place, found)
        elif _PROTECTIONS.get(place.table) in finalizers and not self._is_used(place, found):
            self._places.take_off(place, _PROTECTIONS[place.table])
        elif place.table != _NAMESPACES and _nothing_holds(found):
            # It was marked, but its removal could not be kept. Any write lets it go.
            self._places.change(place, _as_it_is)

    def _is_used(self, place: ObjectRef, found: Plain) -> bool:
        if place.table == _VOLUMES:
            return text(part(found, "status"), "phase") == "Bound"
        pods = (self._places.load(each) for each in self._places.within(place.namespace, only=_PODS))
        return any(pod is not None and _uses(pod, found) for pod in pods)

    def _end_in_time(self, place: ObjectRef, pod: Plain) -> None:
        """Do what a kubelet does: end a pod when its grace period is over, or when that is shortened."""
        meta = metadata(pod)
        until = text(meta, "deletionTimestamp")
        if not meta.get("deletionGracePeriodSeconds"):
            return
        before = self._graces.get(place)
        if before is not None:
            if before[0] == until:
                return
            before[1].cancel()
            del self._graces[place]
        left = (datetime.fromisoformat(until) - self._cluster.clock.now()).total_seconds()
        if left <= 0:
            self._places.delete(place, uid_of(pod), grace=0)
            return
        timer = self._cluster.clock.call_later(left, lambda: self._end(place, uid_of(pod)))
        self._graces[place] = (until, timer)

    def _end(self, place: ObjectRef, uid: str) -> None:
        self._graces.pop(place, None)
        try:
            self._places.delete(place, uid, grace=0)
        except JournalError:
            self._postpone(place)


def _as_it_is(found: Plain) -> None:
    """Change nothing."""


def _nothing_holds(found: Plain) -> bool:
    return not has_finalizers(found) and not metadata(found).get("deletionGracePeriodSeconds")


def _claims_of(pod: Plain) -> set[str]:
    """The claims that a pod's volumes name, those made for it among them."""
    return _named_by(pod) | _made_for(pod)


def _named_by(pod: Plain) -> set[str]:
    volumes = items(part(pod, "spec"), "volumes")
    return {text(part(each, "persistentVolumeClaim"), "claimName") for each in volumes} - {""}


def _made_for(pod: Plain) -> set[str]:
    named = text(metadata(pod), "name")
    volumes = items(part(pod, "spec"), "volumes")
    return {f"{named}-{text(each, 'name')}" for each in volumes if "ephemeral" in each}


def _uses(pod: Plain, claim: Plain) -> bool:
    """Whether a claim must wait for a pod: one that no node has seen will not start any more.

    A claim that was made for the pod need not wait once all that is left of the pod are its finalizers.
    """
    if not part(pod, "spec").get("nodeName"):
        return False
    name = text(metadata(claim), "name")
    if name in _named_by(pod):
        return True
    is_shut_down = is_being_deleted(pod) and metadata(pod).get("deletionGracePeriodSeconds") == 0
    return name in _made_for(pod) and not is_shut_down and _is_controlled_by(claim, uid_of(pod))


def _is_controlled_by(found: Plain, uid: str) -> bool:
    owners = items(metadata(found), "ownerReferences")
    return any(each.get("controller") is True and each.get("uid") == uid for each in owners)
