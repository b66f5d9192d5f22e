"""The namespace controller: deletes the contents of a terminating namespace, and then finalizes it."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Final

from masthead_server.controllers.base import ObservedWrite
from masthead_server.controllers.objects import ObjectRef, is_marked, uid_of
from masthead_server.wire.plain import Plain, is_being_deleted, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from masthead_server.controllers.objects import ObjectClient

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
"""The reason and message of each condition of a namespace's status whose status is False."""


class NamespaceController:
    """Deletes the contents of terminating namespaces, and then finalizes those.

    It keeps count of what they contain as that changes: to list all of it again after each removal would take
    quadratic time.
    """

    observes = None

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._contents: dict[str, _Contents] = {}
        """What each terminating namespace contains."""

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Count what changes; reconcile a namespace that terminates, and again after each removal from it."""
        _, ref, record = write
        if ref.table == _NAMESPACES:
            if record.is_deleted:
                # A namespace of this name may be created again; its counts start at zero then.
                self._contents.pop(ref.key, None)
            return (ref,) if not record.is_deleted and is_marked(record) else ()
        namespace = ref.namespace
        contents = self._contents.get(namespace)
        # Counts exist only for terminating namespaces; others would cost time at every write.
        if contents is not None:
            contents.count(write)
        if not record.is_deleted or not namespace:
            return ()
        owner = self._client.cluster.storage.table(_NAMESPACES).get(namespace)
        return (ObjectRef(_NAMESPACES, namespace),) if owner is not None and is_marked(owner) else ()

    async def reconcile(self, ref: ObjectRef) -> None:
        """Delete the contents of a terminating namespace; finalize the namespace once it is empty.

        Pods are deleted first, and everything else once no pod is left, as the real controller does.

        Raises:
            JournalError: A change could not be stored.
        """
        namespace = self._client.load(ref)
        if namespace is None or not is_being_deleted(namespace):
            return
        contents = self._contents_of(ref.key)
        # Pods may still use other contents, such as their ConfigMaps and claims, while they shut down.
        await self._delete(contents.unmarked(_PODS))
        # Without problems: the real controller reports them only after the pods.
        if contents.has(_PODS):
            await self._report(ref, {})
            return
        await self._delete(contents.unmarked())
        await self._report(ref, contents.problems())
        # Objects with finalizers stay until those are removed; each removal reconciles the namespace again.
        if not contents.has() and _FINALIZER in (part(namespace, "spec").get("finalizers") or ()):
            await self._client.update(ref, _finalize, subresource="finalize")

    def _contents_of(self, namespace: str) -> _Contents:
        contents = self._contents.get(namespace)
        if contents is None:
            contents = self._contents[namespace] = _Contents()
            for ref in self._client.within(namespace):
                record = self._client.cluster.storage.table(ref.table).get(ref.key)
                served = self._client.served(ref.table)
                if record is not None and served is not None:
                    contents.count(ObservedWrite(served, ref, record))
        return contents

    async def _delete(self, contents: list[ObjectRef]) -> None:
        for content in contents:
            found = self._client.load(content)
            if found is not None:
                await self._client.delete(content, uid_of(found))

    async def _report(self, ref: ObjectRef, problems: dict[str, tuple[str, str]]) -> None:
        """Write the conditions of a namespace's status."""
        now = self._client.cluster.now()

        def report(namespace: Plain) -> None:
            status = namespace.setdefault("status", {})
            before = {text(condition, "type"): condition for condition in items(status, "conditions")}
            ours = [_condition(kind, problems.get(kind), before.get(kind), now) for kind in _FINE]
            # Conditions of other types are not this controller's, and stay.
            status["conditions"] = [each for kind, each in before.items() if kind not in _FINE] + ours

        await self._client.update(ref, report, subresource="status")


class _Contents:
    """The objects of one namespace, counted."""

    def __init__(self) -> None:
        self._finalizers: dict[ObjectRef, list[str]] = {}
        """The finalizers of each object."""
        self._unmarked: dict[str, set[ObjectRef]] = {}
        """Objects that are not marked for deletion, by table."""
        self._table_counts: Counter[str] = Counter()
        """How many objects each table has."""
        self._finalizer_counts: Counter[str] = Counter()
        """How many objects have each finalizer."""

    def count(self, write: ObservedWrite) -> None:
        """Count an object again after a write."""
        served, ref, record = write
        self._forget(ref)
        if record.is_deleted:
            return
        # Search the text first: most objects do not have it, and a parse is expensive.
        # Only finalizers and deletion timestamps matter here.
        is_plain = not any(marker in record.value for marker in _WORTH_READING)
        found: Plain = {} if is_plain else served.load(record)
        finalizers = self._finalizers[ref] = list(metadata(found).get("finalizers") or ())
        self._table_counts[ref.table] += 1
        self._finalizer_counts.update(finalizers)
        if not is_being_deleted(found):
            self._unmarked.setdefault(ref.table, set()).add(ref)

    def has(self, table: str = "") -> bool:
        """Whether any object is left, in this table or in any."""
        return bool(self._table_counts[table]) if table else bool(self._finalizers)

    def unmarked(self, table: str = "") -> list[ObjectRef]:
        """The objects that are not marked for deletion, in this table or in any."""
        if table:
            return sorted(self._unmarked.get(table, ()))
        return sorted(chain.from_iterable(self._unmarked.values()))

    def problems(self) -> dict[str, tuple[str, str]]:
        """The reason and message of each condition whose status is True."""
        problems: dict[str, tuple[str, str]] = {}
        if listed := _format_counts("has", {_resource(table): count for table, count in self._table_counts.items()}):
            problem = f"Some resources are remaining: {listed}"
            problems["NamespaceContentRemaining"] = ("SomeResourcesRemain", problem)
        if listed := _format_counts("in", self._finalizer_counts):
            problem = f"Some content in the namespace has finalizers remaining: {listed}"
            problems["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", problem)
        return problems

    def _forget(self, ref: ObjectRef) -> None:
        finalizers = self._finalizers.pop(ref, None)
        if finalizers is not None:
            self._table_counts[ref.table] -= 1
            self._finalizer_counts.subtract(finalizers)
            self._unmarked.get(ref.table, set()).discard(ref)


def _format_counts(verb: str, counts: Mapping[str, int]) -> str:
    return ", ".join(sorted(f"{each} {verb} {count} resource instances" for each, count in counts.items() if count))


def _resource(table: str) -> str:
    group, _, name = table.rpartition("/")
    return f"{name}.{group}"


def _condition(kind: str, problem: tuple[str, str] | None, before: Plain | None, now: str) -> Plain:
    reason, message = problem or _FINE[kind]
    status = "True" if problem else "False"
    since = before["lastTransitionTime"] if before and before.get("status") == status else now
    return {
        "type": kind,
        "status": status,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }


def _finalize(namespace: Plain) -> None:
    spec = part(namespace, "spec")
    left = [finalizer for finalizer in spec.get("finalizers") or () if finalizer != _FINALIZER]
    spec["finalizers"] = left
    if not left:
        del spec["finalizers"]
