"""Loads a dump into an empty store: objects keep their uids, times, status and managed fields."""

from __future__ import annotations

import logging
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._meta.gvk import GroupVersionKind
from masthead._schema.errors import gather
from masthead.errors import ConfigError
from masthead_server.controllers.objects import ObjectClient, ObjectRef, uid_of
from masthead_server.loading.clock_start import begin_after_objects
from masthead_server.loading.manifests import Manifest
from masthead_server.loading.sources import find_files, read_objects
from masthead_server.loading.unknown_fields import UnknownFields
from masthead_server.resources.custom.installer import DEFINITIONS
from masthead_server.resources.go_decoder import Mismatch
from masthead_server.resources.validation.metadata import create_errors
from masthead_server.storage import ForeignObjects, StoredRow, StoredState
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from masthead_server.cluster import ClusterState
    from masthead_server.loading.sources import DumpedObject
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.plain import Plain

__all__ = ["load_dump"]

_log: Final = logging.getLogger("masthead.server")
_DEFINITION: Final = "CustomResourceDefinition"
_DEFINITIONS_GROUP: Final = "apiextensions.k8s.io"
_MAX_REVISION: Final = 2**62
_PODS: Final = "pods"
# What no cluster leaves out: controllers and the kubelet rely on it.
_REQUIRED: Final = {
    ("", "Pod"): "containers",
    ("", "ReplicationController"): "selector",
    ("apps", "DaemonSet"): "selector",
    ("apps", "Deployment"): "selector",
    ("apps", "ReplicaSet"): "selector",
    ("apps", "StatefulSet"): "selector",
    ("batch", "Job"): "selector",
}
_STORED: Final = {("", "Namespace"), ("", "Node"), (_DEFINITIONS_GROUP, _DEFINITION)}
"""Kinds that are stored as they are, even without a uid: they are the frame of the cluster."""


class _LoadedRow(NamedTuple):
    served: ServedResource
    place: str
    uid: str
    revision: int
    """The resourceVersion of the dump; 0 if it has none."""
    value: bytes


async def load_dump(cluster: ClusterState, paths: Sequence[str | Path]) -> Sequence[Manifest]:
    """Store the objects of a dump, as they are: without admission, and before any controller runs.

    Returns:
        The objects without a uid, which have not been in a cluster: they are created once its controllers run.

    Args:
        cluster: The cluster state, which must be empty.
        paths: Files and folders.

    Raises:
        ConfigError: If the store is not empty, a file is broken, or nothing can be loaded.
        JournalError: The objects could not be stored.
    """
    if any(table.count for _, table in cluster.storage.tables()):
        raise ConfigError("a dump can only be loaded into an empty store: the data file has objects. Name another file")
    loader = _Loader(cluster)
    await loader.load([Path(path) for path in paths])
    return loader.manifests


class _Loader:
    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self._client = ObjectClient(cluster)
        self.manifests: list[Manifest] = []
        self._rows: dict[ObjectRef, _LoadedRow] = {}
        self._places: dict[ObjectRef, str] = {}
        """Where the manifests are from."""
        self._uids: dict[str, ObjectRef] = {}
        self._owners: set[str] = set()
        self._skipped: Counter[str] = Counter()
        self._unknown = UnknownFields()

    async def load(self, paths: Sequence[Path]) -> None:
        """Read the files twice, so that one file at a time is in memory: definitions first, then all other objects."""
        files = list(find_files(paths))
        for file in files:
            # A parse of YAML takes long; a search does not.
            if _DEFINITION.encode() in file.read_bytes():
                await self._install_definitions(read_objects(file))
        for file in files:
            for dumped in read_objects(file):
                if dumped.content["kind"] != _DEFINITION:
                    self._add(dumped)
        if not self._rows and not self.manifests:
            kinds = f" Unknown kinds: {_format_counts(self._skipped)}." if self._skipped else ""
            raise ConfigError(f"cannot load {', '.join(map(str, paths))}: there are no objects of known kinds.{kinds}")
        if self._skipped:
            _log.warning("objects of unknown kinds are not loaded: %s", _format_counts(self._skipped))
        for warning in self._unknown.warnings():
            _log.warning("%s", warning)
        manifests = (manifest.content for manifest in self.manifests)
        begin_after_objects(self._cluster.clock, chain((row.value for row in self._rows.values()), manifests))
        self._add_namespaces()
        self._cluster.restore(self._state())

    async def _install_definitions(self, objects: Iterable[DumpedObject]) -> None:
        from masthead_server.controllers.base import ObservedWrite
        from masthead_server.controllers.definition_reconciler import DefinitionReconciler

        reconciler = DefinitionReconciler(self._client)
        for dumped in objects:
            if dumped.content["kind"] != _DEFINITION or (ref := self._add(dumped)) is None:
                continue
            row = self._rows[ref]
            record = self._cluster.write(row.served, ref.key, row.served.codec.load(row.value))
            # A manifest has no conditions; objects of its kind are served once it is established.
            for due in reconciler.observe(ObservedWrite(row.served, ref, record)):
                await reconciler.reconcile(due)
            written = self._cluster.storage.table(DEFINITIONS).get(ref.key)
            if written is not None and not row.revision:
                self._rows[ref] = row._replace(value=written.value)

    def _add(self, dumped: DumpedObject) -> ObjectRef | None:
        """Decode an object; return None if its kind is not served.

        Raises:
            ConfigError: If it is broken, or contradicts another one.
        """
        content = dumped.content
        group, _, version = content["apiVersion"].rpartition("/")
        served = self._cluster.catalog.by_kind(GroupVersionKind(group, version, content["kind"]))
        if served is None or not served.is_stored:
            self._skipped[f"{content['apiVersion']} {content['kind']}"] += 1
            return None
        is_manifest = "uid" not in metadata(content) and (group, served.gvk.kind) not in _STORED
        found = self._decode(dumped, served, is_manifest=is_manifest)
        meta = metadata(found)
        ref = ObjectRef(served.table, served.key(text(meta, "namespace"), text(meta, "name")))
        if is_manifest:
            self._add_manifest(ref, Manifest(dumped, served, found))
            return None
        stored = self._client.served(served.table) or served
        row = _LoadedRow(stored, dumped.place, uid_of(found), _revision_of(meta), served.dump(found))
        self._check_identity(dumped, ref, row.uid)
        # The same object in several files: the newest state counts.
        if ref not in self._rows or row.revision >= self._rows[ref].revision:
            self._rows[ref] = row
            self._owners.update(text(owner, "uid") for owner in items(meta, "ownerReferences"))
        return ref

    def _add_manifest(self, ref: ObjectRef, manifest: Manifest) -> None:
        place = self._places.get(ref) or (self._rows[ref].place if ref in self._rows else "")
        if ref.name and place:
            raise manifest.dumped.fail(f"another object of this name is in {place}")
        self._places[ref] = manifest.dumped.place
        self.manifests.append(manifest)

    def _check_identity(self, dumped: DumpedObject, ref: ObjectRef, uid: str) -> None:
        """Refuse two objects of one name, and two names of one object.

        Raises:
            ConfigError: If there is another object with the same name or the same uid.
        """
        if place := self._places.get(ref):
            raise dumped.fail(f"another object of this name is in {place}")
        known = self._rows.get(ref)
        if known is not None and known.uid != uid:
            raise dumped.fail(f"another object of this name, with uid {known.uid}, is in {known.place}")
        same = self._uids.setdefault(uid, ref)
        if same != ref:
            raise dumped.fail(f"its uid {uid} is that of {same.table} {same.key} in {self._rows[same].place}, too")

    def _decode(self, dumped: DumpedObject, served: ServedResource, *, is_manifest: bool) -> Plain:
        try:
            found, unknown = served.codec.decode(dumped.content)
            self._unknown.add(dumped, unknown)
            meta = found.setdefault("metadata", {})
            if served.is_namespaced and not meta.get("namespace"):
                meta["namespace"] = "default"
            if is_manifest:
                return found
            # Namespaces, nodes and definitions of manifests have neither.
            meta.setdefault("uid", self._cluster.new_uid())
            if not meta.get("creationTimestamp"):
                meta["creationTimestamp"] = self._cluster.now()
            served.apply_defaults(found)
            found = served.to_storage(found)
        except (Mismatch, StatusFailure) as error:
            raise dumped.fail(error) from None
        required = _REQUIRED.get((served.group, served.gvk.kind))
        if required is not None and not part(found, "spec").get(required):
            raise dumped.fail(f"spec.{required}: Required value")
        # Otherwise only metadata: a server accepts stored objects that would be refused as new ones.
        errors = gather(lambda: create_errors(found, served.strategy, namespaced=served.is_namespaced))
        if errors:
            raise dumped.fail("; ".join(str(error) for error in errors))
        return found

    def _add_namespaces(self) -> None:
        served = self._client.served("namespaces")
        if served is None:
            return
        needed = {ref.namespace for ref, row in self._rows.items() if row.served.is_namespaced}
        needed |= {ref.namespace for ref in self._places if ref.namespace}
        for name in sorted(needed):
            ref = ObjectRef("namespaces", name)
            if ref not in self._rows:
                namespace = self._cluster.new_namespace(name)
                self._rows[ref] = _LoadedRow(served, "", uid_of(namespace), 0, served.dump(namespace))

    def _state(self) -> StoredState:
        """Number the objects: by their versions in the dump if those are distinct, otherwise from the first on.

        Objects without a version, such as manifests, come after all others.
        """
        versions = [row.revision for row in self._rows.values() if row.revision]
        is_consistent = len(versions) == len(set(versions))
        next_revision = max(versions, default=1) if is_consistent else 1
        rows: list[StoredRow] = []
        for ref, row in sorted(self._rows.items(), key=lambda entry: (not entry[1].revision, entry[1].revision)):
            revision = row.revision if is_consistent else 0
            if not revision:
                next_revision += 1
                revision = next_revision
            value = row.served.codec.with_version(row.value, str(revision))
            rows.append(StoredRow(ref.table, ref.key, revision, is_deleted=False, value=value))
        # Partial dumps lack owners, such as the StatefulSets of pods; the garbage collector must not take those pods.
        foreign = ForeignObjects(
            frozenset(self._owners - {row.uid for row in self._rows.values()}),
            frozenset(row.uid for ref, row in self._rows.items() if ref.table == _PODS),
        )
        return StoredState(tuple(rows), rows[-1].revision if rows else 1, 0, foreign)


def _revision_of(meta: Plain) -> int:
    version = text(meta, "resourceVersion")
    return int(version) if version.isascii() and version.isdigit() and int(version) < _MAX_REVISION else 0


def _format_counts(counts: Counter[str]) -> str:
    return ", ".join(f"{kind} ({count})" for kind, count in sorted(counts.items()))
