"""Where objects lie, and what controllers do to one there: read it, change it, delete it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from masthead._server.storage import JournalError
from masthead._server.verbs import delete, write
from masthead._server.wire.failures import StatusFailure
from masthead._server.wire.options import DeletionOptions, WriteOptions
from masthead._server.wire.plain import Plain, metadata, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from masthead._server.cluster import ClusterState
    from masthead._server.resources.resource import ServedResource

__all__ = ["ObjectRef", "ObjectClient", "set_or_drop", "uid_of"]


class ObjectRef(NamedTuple):
    """Where an object lies: its table, and its key there."""

    table: str
    key: str

    @property
    def namespace(self) -> str:
        """The namespace, or nothing for what lives in none."""
        return self.key.rpartition("/")[0]


class ObjectClient:
    """Every object of a cluster, by its place."""

    def __init__(self, cluster: ClusterState) -> None:
        self.cluster = cluster

    def served(self, table: str) -> ServedResource | None:
        """Return the resource of a storage table, in a version that has the stored shape; None if there is none."""
        return self.cluster.catalog.stored_in(table)

    def load(self, place: ObjectRef) -> Plain | None:
        """The object at a place, or None."""
        record = self.cluster.storage.table(place.table).get(place.key)
        served = self.served(place.table)
        return None if record is None or served is None else served.load(record)

    def everywhere(self) -> Iterator[tuple[ServedResource, ObjectRef]]:
        """Every place that has an object."""
        for name, _ in self.cluster.storage.tables():
            served = self.served(name)
            if served is not None:
                for key in self._keys(name, ""):
                    yield served, ObjectRef(name, key)

    def within(self, namespace: str, *, only: str = "") -> Iterator[ObjectRef]:
        """Every place of a namespace that has an object; of one table only, if that is named."""
        for name, _ in self.cluster.storage.tables():
            served = self.served(name)
            if served is not None and served.is_namespaced and (not only or name == only):
                for key in self._keys(name, f"{namespace}/"):
                    yield ObjectRef(name, key)

    def _keys(self, table: str, prefix: str) -> list[str]:
        storage = self.cluster.storage
        return [record.key for record in storage.table(table).scan(prefix, storage.revision)]

    def change(self, place: ObjectRef, change: Callable[[Plain], object], *, subresource: str = "") -> None:
        """Change an object in place; nothing happens if it is gone, or may not be changed so.

        Raises:
            JournalError: The change could not be kept.
        """

        def changed(old: Plain | None) -> Plain:
            found: Plain = old or {}
            change(found)
            return found

        served = self.served(place.table)
        if served is not None:
            namespace, name = _split(served, place)
            try:
                write.update(
                    self.cluster, served, namespace, name, changed, WriteOptions(), subresource=subresource
                )
            except JournalError:
                raise
            except StatusFailure:
                return  # whoever removed it, or keeps it from being changed, knows why

    def delete(
        self, place: ObjectRef, uid: str, *, policy: str = "Background", grace: int | None = None
    ) -> None:
        """Delete the object of this uid, or begin to; nothing happens if it is gone.

        Raises:
            JournalError: The deletion could not be kept, or only its beginning.
        """
        served = self.served(place.table)
        if served is not None:
            namespace, name = _split(served, place)
            options = DeletionOptions(policy=policy, grace=grace, uid=uid)
            try:
                delete.delete(self.cluster, served, namespace, name, options)
            except JournalError:
                raise
            except StatusFailure:
                return  # gone already, and perhaps another in its place

    def take_off(self, place: ObjectRef, finalizer: str) -> None:
        """Take a finalizer off an object, which may let it go.

        Raises:
            JournalError: The change could not be kept.
        """

        def without(found: Plain) -> None:
            meta = metadata(found)
            set_or_drop(
                meta, "finalizers", [each for each in meta.get("finalizers") or () if each != finalizer]
            )

        self.change(place, without)


def set_or_drop(owner: Plain, name: str, value: list[object] | list[Plain]) -> None:
    """Set a list, or leave it out if it is empty."""
    if value:
        owner[name] = value
    else:
        owner.pop(name, None)


def uid_of(found: Plain) -> str:
    """An object's uid."""
    return text(metadata(found), "uid")


def _split(served: ServedResource, place: ObjectRef) -> tuple[str, str]:
    namespace, _, name = place.key.rpartition("/") if served.is_namespaced else ("", "", place.key)
    return namespace, name
