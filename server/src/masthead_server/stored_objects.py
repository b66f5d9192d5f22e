"""Reads of the store without requests: histories, dumps, and the versions of a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from masthead.errors import ArgumentError, UnknownKindError
from masthead_server.argument_checks import check_object, check_type, check_whole_number
from masthead_server.change_log import decoder_of, qualify_table, type_of
from masthead_server.verbs.selection import SelectionPredicate
from masthead_server.wire.failures import StatusFailure

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._meta.gvk import GroupVersionResource
    from masthead._meta.object import Object
    from masthead_server.change_log import PlainObject
    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.options import CollectionOptions

    Encoded: TypeAlias = tuple[str, Callable[[bytes], PlainObject], dict[str, bytes]]

__all__ = ["StoredObjects"]


class StoredObjects:
    """Reads stored objects, in the server's thread. Callers decode the bytes in their own.

    Args:
        cluster: The cluster state.
    """

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self._storage = cluster.storage

    def locate(self, obj: Object) -> tuple[ServedResource, str]:
        """Return the resource and the key of an object.

        Raises:
            TypeError: If it is no object.
            UnknownKindError: If the server does not serve the kind.
            ArgumentError: If a namespace is missing, or a webhook converts the objects.
        """
        check_object("history", obj, "that of an object, such as Pod.new(name)")
        served = self._cluster.catalog.by_kind(obj.gvk)
        if served is None:
            raise UnknownKindError(f"the server serves no {obj.gvk}")
        name, namespace = obj.metadata.name, obj.metadata.namespace
        # An empty namespace would match nothing, and look like an object without writes.
        if served.is_namespaced and not namespace:
            raise ArgumentError(f"{served.kind} {name!r} has no namespace", value=obj)
        if served.converts_by_webhook and served.stored_as.version != served.version:
            stored = served.stored_as
            raise ArgumentError(
                f"a webhook converts {served.kind} to {served.version}: ask for its history in {stored}",
                value=obj,
            )
        return served, served.key(namespace or "", name or "")

    def read_history(self, served: ServedResource, key: str) -> list[tuple[str, str, bytes]]:
        """Return the type, the version and the object of every write to an object."""
        records = [record for record in self._storage.table(served.table).log if record.key == key]
        return [(type_of(record), str(record.revision), served.codec.write(record.value)) for record in records]

    def read_all(self, revision: int | None) -> list[Encoded]:
        """Return all objects at a revision, the present one by default: resource, decoder and values by key.

        Raises:
            TypeError: If the revision is no whole number.
            ArgumentError: If the revision does not exist yet, or is compacted.
        """
        storage = self._storage
        if revision is not None:
            check_type("revision", revision, int, "a whole number")
        wanted = storage.revision if revision is None else revision
        if not storage.compacted <= wanted <= storage.revision:
            raise ArgumentError(
                f"there is no revision {wanted} to read; there are {storage.compacted} to {storage.revision}",
                value=revision,
            )
        return [
            (qualify_table(name), decoder_of(served), {record.key: record.value for record in records})
            for name, table in storage.tables()
            if (served := self._cluster.catalog.stored_in(name)) and (records := list(table.scan("", wanted)))
        ]

    def check_compaction(self, revision: int | None) -> int | None:
        """Return the revision to compact at, if it exists.

        Raises:
            TypeError: If the revision is no whole number.
            ArgumentError: If it does not exist yet.
        """
        if revision is not None:
            check_whole_number("revision", revision, minimum=0, maximum=self._storage.revision)
        return revision

    def list_versions(
        self, resource: GroupVersionResource, namespace: str, options: CollectionOptions, revision: int
    ) -> dict[str, str]:
        """Return the versions of the objects of a list by key, at a revision.

        Raises:
            UnknownKindError: If the server does not serve the resource.
            ArgumentError: If a selector is invalid.
        """
        served = self._cluster.catalog.find(resource)
        if served is None:
            raise UnknownKindError(f"the server serves no {resource}")
        try:
            selection = SelectionPredicate(served, namespace, options)
        except StatusFailure as failure:
            raise ArgumentError(str(failure), value=(options.label_selector, options.field_selector)) from None
        present = self._storage.table(served.table).scan(selection.prefix, revision)
        return {record.key: str(record.revision) for record in selection.among(present)}
