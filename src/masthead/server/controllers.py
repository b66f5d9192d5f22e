"""What a cluster's controllers do that an API server alone does not: empty namespaces, collect garbage, end pods.

Without them a deleted namespace would stay for ever, and so would an object that is deleted in the foreground. All of it
happens right after the write that calls for it, in the server's own thread, and counts as work until it is done.
"""

from __future__ import annotations

import asyncio
from collections import deque
from datetime import datetime
from typing import TYPE_CHECKING, Final

from masthead.server import catalog, conversion, deleting, writing
from masthead.server.cluster import is_being_deleted
from masthead.server.deleting import FOREGROUND, ORPHAN
from masthead.server.failures import Failure
from masthead.server.options import DeleteOptions, WriteOptions
from masthead.server.plain import Plain, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from masthead.server.catalog import Served
    from masthead.server.cluster import Cluster
    from masthead.server.storage import Record

__all__ = ["Controllers"]

_NOW: Final = DeleteOptions(grace=0, policy="Background")
_PROTECTIONS: Final = {
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "persistentvolumes": "kubernetes.io/pv-protection",
}
"""Finalizers that a controller takes off once nothing uses the object; here nothing ever does."""


class Controllers:
    """Acts on what is written.

    Args:
        cluster: What they look after.
        on_idle: Called when there is nothing left to do.
    """

    def __init__(self, cluster: Cluster, on_idle: Callable[[], object]) -> None:
        self._cluster = cluster
        self._on_idle = on_idle
        self._jobs: deque[Callable[[], object]] = deque()
        self._is_scheduled = False
        self._dependents: dict[str, set[tuple[str, str]]] = {}
        """For the uid of each owner, the tables and keys of those that named it; some may no longer."""
        self._served: dict[str, Served] = {}

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to do."""
        return not self._jobs

    def start(self) -> None:
        """Look at everything that is stored, and from then on at every write."""
        for name, table in self._cluster.storage.tables():
            served = self._stored_as(name)
            if served is not None:
                for record in list(table.scan("", self._cluster.storage.revision)):
                    self._hear(served, record)
        self._cluster.on_write.append(self._hear)

    def _hear(self, served: Served, record: Record) -> None:
        self._served.setdefault(served.table, served)
        value = record.value
        if b'"ownerReferences"' in value and not record.is_deleted:
            self._remember_owners(served, record)
        if record.is_deleted:
            self._add(lambda: self._collect_dependents(served.load(record)))
        elif b'"deletionTimestamp"' in value:
            self._add(lambda: self._help_along(served, record.key))

    def _add(self, job: Callable[[], object]) -> None:
        self._jobs.append(job)
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._work)

    def _work(self) -> None:
        self._is_scheduled = False
        while self._jobs:
            job = self._jobs[0]
            try:
                job()
            except Failure:
                pass  # the object went, or changed, and whoever did that gave us another job
            finally:
                self._jobs.popleft()
        self._on_idle()

    def _help_along(self, served: Served, key: str) -> None:
        """Do the next thing that an object needs to be gone."""
        record = self._cluster.storage.table(served.table).get(key)
        if record is None:
            return
        found = served.load(record)
        if not is_being_deleted(found):
            return
        if served.table == "namespaces":
            self._empty_namespace(served, found)
        finalizers = metadata(found).get("finalizers") or ()
        if FOREGROUND in finalizers:
            self._delete_dependents_first(served, found)
        elif ORPHAN in finalizers:
            self._orphan_dependents(served, found)
        elif _PROTECTIONS.get(served.table) in finalizers:
            self._take_off(served, found, _PROTECTIONS[served.table])
        elif served.strategy.graceful and not finalizers:
            self._end_in_time(served, found)

    def _empty_namespace(self, served: Served, namespace: Plain) -> None:
        name = text(metadata(namespace), "name")
        is_empty = True
        for table_name, _ in self._cluster.storage.tables():
            within = self._stored_as(table_name)
            if within is None or not within.is_namespaced:
                continue
            for key in self._keys_in(table_name, name):
                is_empty = False
                self._delete(within, key)
        if is_empty or not self._anything_in(name):
            options = WriteOptions()
            writing.update(
                self._cluster, served, "", name, _without_spec_finalizers, options, subresource="finalize"
            )

    def _anything_in(self, namespace: str) -> bool:
        return any(
            True
            for name, _ in self._cluster.storage.tables()
            if (within := self._stored_as(name)) is not None and within.is_namespaced
            for _ in self._keys_in(name, namespace)
        )

    def _keys_in(self, table: str, namespace: str) -> list[str]:
        storage = self._cluster.storage
        return [record.key for record in storage.table(table).scan(f"{namespace}/", storage.revision)]

    def _collect_dependents(self, owner: Plain) -> None:
        """Delete what belonged to an object that is gone, unless it belongs to another as well."""
        uid = text(metadata(owner), "uid")
        for served, found in self._dependents_of(uid):
            others = [each for each in items(metadata(found), "ownerReferences") if each.get("uid") != uid]
            if any(text(each, "uid") in self._dependents for each in others):
                self._drop_reference(served, found, uid)
            else:
                self._delete(served, _key(served, found))
        self._dependents.pop(uid, None)
        self._recheck_owners(owner)
        namespace = text(metadata(owner), "namespace")
        if namespace:
            self._recheck_namespace(namespace)

    def _recheck_owners(self, gone: Plain) -> None:
        """Owners that wait for their dependents may have waited for this one."""
        for reference in items(metadata(gone), "ownerReferences"):
            group, _, version = text(reference, "apiVersion").rpartition("/")
            served = _by_kind(group, version, text(reference, "kind"))
            if served is not None:
                namespace = text(metadata(gone), "namespace")
                self._help_along(served, served.key(namespace, text(reference, "name")))

    def _recheck_namespace(self, name: str) -> None:
        record = self._cluster.storage.table("namespaces").get(name)
        served = catalog.find("", "v1", "namespaces")
        if record is not None and served is not None and b'"deletionTimestamp"' in record.value:
            self._help_along(served, name)

    def _delete_dependents_first(self, served: Served, owner: Plain) -> None:
        uid = text(metadata(owner), "uid")
        is_waiting = False
        for kind, found in list(self._dependents_of(uid)):
            reference = _reference(found, uid)
            if not is_being_deleted(found):
                self._delete(kind, _key(kind, found), policy="Foreground")
            is_still_there = self._cluster.storage.table(kind.table).get(_key(kind, found)) is not None
            is_waiting = is_waiting or (is_still_there and bool(reference.get("blockOwnerDeletion")))
        if not is_waiting:
            self._take_off(served, owner, FOREGROUND)

    def _orphan_dependents(self, served: Served, owner: Plain) -> None:
        uid = text(metadata(owner), "uid")
        for kind, found in list(self._dependents_of(uid)):
            self._drop_reference(kind, found, uid)
        self._take_off(served, owner, ORPHAN)

    def _end_in_time(self, served: Served, pod: Plain) -> None:
        """Do what a kubelet does when a pod's grace period is over."""
        meta = metadata(pod)
        ends = datetime.fromisoformat(meta["deletionTimestamp"])
        wait = max(0.0, (ends - self._cluster.clock.now()).total_seconds())
        uid = meta["uid"]

        def end() -> None:
            record = self._cluster.storage.table(served.table).get(_key(served, pod))
            if record is not None and text(metadata(served.load(record)), "uid") == uid:
                self._delete(served, record.key, grace=0)

        self._cluster.clock.call_later(wait, lambda: self._add(end))

    def _take_off(self, served: Served, found: Plain, finalizer: str) -> None:
        def without(old: Plain | None) -> Plain:
            changed: Plain = old or {}
            meta = metadata(changed)
            left = [each for each in meta.get("finalizers") or () if each != finalizer]
            meta["finalizers"] = left
            if not left:
                del meta["finalizers"]
            return changed

        self._change(served, found, without)

    def _drop_reference(self, served: Served, found: Plain, uid: str) -> None:
        def without(old: Plain | None) -> Plain:
            changed: Plain = old or {}
            meta = metadata(changed)
            left = [each for each in items(meta, "ownerReferences") if each.get("uid") != uid]
            meta["ownerReferences"] = left
            if not left:
                del meta["ownerReferences"]
            return changed

        self._change(served, found, without)

    def _change(self, served: Served, found: Plain, change: Callable[[Plain | None], Plain]) -> None:
        meta = metadata(found)
        name, namespace = text(meta, "name"), text(meta, "namespace")
        writing.update(self._cluster, served, namespace, name, change, WriteOptions())

    def _delete(
        self, served: Served, key: str, *, policy: str = "Background", grace: int | None = None
    ) -> None:
        namespace, _, name = key.rpartition("/") if served.is_namespaced else ("", "", key)
        try:
            deleting.delete(self._cluster, served, namespace, name, DeleteOptions(policy=policy, grace=grace))
        except Failure:
            return  # gone already

    def _remember_owners(self, served: Served, record: Record) -> None:
        for reference in items(metadata(served.load(record)), "ownerReferences"):
            uid = text(reference, "uid")
            self._dependents.setdefault(uid, set()).add((served.table, record.key))

    def _dependents_of(self, uid: str) -> Iterator[tuple[Served, Plain]]:
        for table, key in sorted(self._dependents.get(uid, ())):
            record = self._cluster.storage.table(table).get(key)
            served = self._stored_as(table)
            if record is None or served is None:
                continue
            found = served.load(record)
            if _reference(found, uid):
                yield served, found

    def _stored_as(self, table: str) -> Served | None:
        """The resource of a table, in the version whose shape is the stored one."""
        if table not in self._served:
            group, _, name = table.rpartition("/")
            for version in conversion.versions_of(group, name):
                served = catalog.find(group, version, name)
                if served is not None and not served.has_own_shape:
                    self._served[table] = served
                    break
        return self._served.get(table)


def _without_spec_finalizers(old: Plain | None) -> Plain:
    changed: Plain = old or {}
    part(changed, "spec").pop("finalizers", None)
    return changed


def _reference(found: Plain, uid: str) -> Plain:
    for reference in items(metadata(found), "ownerReferences"):
        if reference.get("uid") == uid:
            return reference
    return {}


def _key(served: Served, found: Plain) -> str:
    meta = metadata(found)
    return served.key(text(meta, "namespace"), text(meta, "name"))


def _by_kind(group: str, version: str, kind: str) -> Served | None:
    return next((served for served in catalog.resources_in(group, version) if served.kind == kind), None)
