"""A cache of small configurations by namespace, which the writes to their table keep current."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource
    from masthead_server.storage import Record
    from masthead_server.wire.plain import Plain

__all__ = ["NamespacedObjects"]

T = TypeVar("T")


class NamespacedObjects(Generic[T]):
    """The objects of a resource by namespace, decoded when they are first needed.

    Args:
        cluster: The cluster state.
        table: The table of the resource.
        read: Makes the cached value of a stored object.
    """

    def __init__(self, cluster: ClusterState, table: str, read: Callable[[Plain], T]) -> None:
        self._cluster = cluster
        self._table = table
        self._read = read
        self._records: dict[str, dict[str, Record]] = {}
        self._values: dict[str, tuple[T, ...]] = {}
        for record in cluster.storage.table(table).scan("", cluster.storage.revision):
            self._keep(record)
        cluster.observe(table, self._observe)

    def __bool__(self) -> bool:
        return bool(self._records)

    def within(self, namespace: str) -> Sequence[T]:
        """Return the values of a namespace, in the order of their names."""
        records = self._records.get(namespace)
        if records is None:
            return ()
        values = self._values.get(namespace)
        if values is None:
            served = self._cluster.catalog.stored_in(self._table)
            assert served is not None, "a built-in resource"
            values = tuple(self._read(served.load(records[key])) for key in sorted(records))
            self._values[namespace] = values
        return values

    def _observe(self, _served: ServedResource, record: Record) -> None:
        self._keep(record)

    def _keep(self, record: Record) -> None:
        namespace = record.key.partition("/")[0]
        records = self._records.setdefault(namespace, {})
        self._values.pop(namespace, None)
        if not record.is_deleted:
            records[record.key] = record
            return
        records.pop(record.key, None)
        if not records:
            del self._records[namespace]
