"""How a namespace that is being deleted comes to its end: its contents go, and then it does."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Final

from masthead._server.controllers.objects import uid_of
from masthead._server.wire.plain import Plain, is_being_deleted, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._server.controllers.objects import ObjectClient, ObjectRef
    from masthead._server.resources.resource import ServedResource
    from masthead._server.storage import Record

__all__ = ["NamespaceController"]

_NAMESPACES: Final = "namespaces"
_PODS: Final = "pods"
_WORTH_READING: Final = (b'"deletionTimestamp"', b'"finalizers"')
_FINALIZER: Final = "kubernetes"
_FINE: Final = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}
"""What each condition of a namespace's status says when there is nothing to complain of."""


class NamespaceController:
    """Empties namespaces that are being deleted, and lets go of them.

    It counts what they hold as it changes: to read all of it again after each removal would take ever longer, the more
    there is.
    """

    def __init__(self, places: ObjectClient) -> None:
        self._places = places
        self._contents: dict[str, _Contents] = {}
        """What each namespace holds that is being emptied."""

    def hear(self, served: ServedResource, place: ObjectRef, record: Record) -> None:
        """Take note of a write."""
        if place.table == _NAMESPACES and record.is_deleted:
            self._contents.pop(place.key, None)
        contents = self._contents.get(place.namespace)
        if contents is not None:
            contents.hear(served, place, record)

    def empty(self, place: ObjectRef, namespace: Plain) -> None:
        """Delete what a namespace holds; if that is all gone, let go of the namespace.

        Pods go first: only when none is left is the rest deleted, as the real controller does it.

        Raises:
            JournalError: A change could not be kept.
        """
        contents = self._contents_of(place.key)
        self._delete(contents.unmarked(_PODS))
        if contents.has(_PODS):
            _report(self._places, place, {})
            return
        self._delete(contents.unmarked())
        _report(self._places, place, contents.complaints())
        if not contents.has() and _FINALIZER in (part(namespace, "spec").get("finalizers") or ()):
            self._places.change(place, _let_go, subresource="finalize")

    def _contents_of(self, namespace: str) -> _Contents:
        contents = self._contents.get(namespace)
        if contents is None:
            contents = self._contents[namespace] = _Contents()
            for place in self._places.within(namespace):
                record = self._places.cluster.storage.table(place.table).get(place.key)
                served = self._places.served(place.table)
                if record is not None and served is not None:
                    contents.hear(served, place, record)
        return contents

    def _delete(self, contents: list[ObjectRef]) -> None:
        for each in contents:
            found = self._places.load(each)
            if found is not None:
                self._places.delete(each, uid_of(found))


class _Contents:
    """What one namespace holds, counted."""

    def __init__(self) -> None:
        self._finalizers: dict[ObjectRef, list[str]] = {}
        """Those of each object that is there."""
        self._unmarked: dict[str, set[ObjectRef]] = {}
        """What is not being deleted yet, by table."""
        self._resources: Counter[str] = Counter()
        """How many objects each table has."""
        self._held: Counter[str] = Counter()
        """How many objects each finalizer holds."""

    def hear(self, served: ServedResource, place: ObjectRef, record: Record) -> None:
        """Take note of what became of an object."""
        self._forget(place)
        if record.is_deleted:
            return
        # The text tells without a parse what most objects do not have.
        is_plain = not any(each in record.value for each in _WORTH_READING)
        found: Plain = {} if is_plain else served.load(record)
        finalizers = self._finalizers[place] = list(metadata(found).get("finalizers") or ())
        self._resources[place.table] += 1
        self._held.update(finalizers)
        if not is_being_deleted(found):
            self._unmarked.setdefault(place.table, set()).add(place)

    def has(self, table: str = "") -> bool:
        """Whether anything is left, in this table or at all."""
        return bool(self._resources[table]) if table else bool(self._finalizers)

    def unmarked(self, table: str = "") -> list[ObjectRef]:
        """What is not being deleted yet, in this table or at all."""
        if table:
            return sorted(self._unmarked.get(table, ()))
        return sorted(chain.from_iterable(self._unmarked.values()))

    def complaints(self) -> dict[str, tuple[str, str]]:
        """The reason and message of each condition of the namespace that is not fine."""
        complaints: dict[str, tuple[str, str]] = {}
        if listed := _listed("has", {_resource(table): count for table, count in self._resources.items()}):
            problem = f"Some resources are remaining: {listed}"
            complaints["NamespaceContentRemaining"] = ("SomeResourcesRemain", problem)
        if listed := _listed("in", self._held):
            problem = f"Some content in the namespace has finalizers remaining: {listed}"
            complaints["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", problem)
        return complaints

    def _forget(self, place: ObjectRef) -> None:
        finalizers = self._finalizers.pop(place, None)
        if finalizers is not None:
            self._resources[place.table] -= 1
            self._held.subtract(finalizers)
            self._unmarked.get(place.table, set()).discard(place)


def _listed(verb: str, counts: Mapping[str, int]) -> str:
    return ", ".join(
        sorted(f"{each} {verb} {count} resource instances" for each, count in counts.items() if count)
    )


def _resource(table: str) -> str:
    group, _, name = table.rpartition("/")
    return f"{name}.{group}"


def _report(places: ObjectClient, place: ObjectRef, complaints: dict[str, tuple[str, str]]) -> None:
    now = places.cluster.now()

    def report(namespace: Plain) -> None:
        status = namespace.setdefault("status", {})
        before = {text(each, "type"): each for each in items(status, "conditions")}
        ours = [_condition(kind, complaints.get(kind), before.get(kind), now) for kind in _FINE]
        status["conditions"] = [each for kind, each in before.items() if kind not in _FINE] + ours

    places.change(place, report, subresource="status")


def _condition(kind: str, complaint: tuple[str, str] | None, before: Plain | None, now: str) -> Plain:
    reason, message = complaint or _FINE[kind]
    status = "True" if complaint else "False"
    since = before["lastTransitionTime"] if before and before.get("status") == status else now
    return {
        "type": kind,
        "status": status,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }


def _let_go(namespace: Plain) -> None:
    spec = part(namespace, "spec")
    left = [each for each in spec.get("finalizers") or () if each != _FINALIZER]
    spec["finalizers"] = left
    if not left:
        del spec["finalizers"]
