"""The controllers' client: reads, updates and deletes stored objects, without HTTP between."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from masthead_server import scheme
from masthead_server.field_managers.own_entries import CONTROLLER_MANAGER
from masthead_server.resources.catalog import unknown_resource
from masthead_server.storage import JournalError
from masthead_server.verbs import delete, write
from masthead_server.verbs.delete import DeletionContext
from masthead_server.verbs.write_context import WriteContext
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.options import DeletionOptions, WriteOptions
from masthead_server.wire.plain import Plain, metadata, text
from masthead_server.wire.user_info import CONTROLLER_USER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource
    from masthead_server.storage import Record
    from masthead_server.wire.user_info import UserInfo

__all__ = ["ObjectClient", "ObjectRef", "is_marked", "set_or_drop", "uid_of"]


class ObjectRef(NamedTuple):
    """Names a stored object: its table, and its key there."""

    table: str
    key: str

    @property
    def namespace(self) -> str:
        """The namespace; empty for a cluster-scoped object."""
        return self.key.rpartition("/")[0]

    @property
    def name(self) -> str:
        """The name."""
        return self.key.rpartition("/")[2]


class ObjectClient:
    """Reads and changes objects by reference, like the verbs for requests.

    Args:
        cluster: The cluster state.
        manager: The field manager of the writes.
        user: Who writes, as admission sees it.
    """

    def __init__(
        self, cluster: ClusterState, manager: str = CONTROLLER_MANAGER, user: UserInfo = CONTROLLER_USER
    ) -> None:
        self.cluster = cluster
        self.manager = manager
        self.user = user

    def served(self, table: str) -> ServedResource | None:
        """Return the resource of a table, in a version that has the stored shape; None if it is not served."""
        return self.cluster.catalog.stored_in(table)

    def load(self, ref: ObjectRef) -> Plain | None:
        """Read an object; return None if it does not exist."""
        record = self.cluster.storage.table(ref.table).get(ref.key)
        served = self.served(ref.table)
        return None if record is None or served is None else served.load(record)

    def everywhere(self) -> Iterator[tuple[ServedResource, ObjectRef]]:
        """Every stored object, with its resource."""
        for name, _ in self.cluster.storage.tables():
            served = self.served(name)
            if served is not None:
                for key in self._keys(name, ""):
                    yield served, ObjectRef(name, key)

    def listed(self, table: str, *, containing: Sequence[bytes] = ()) -> Iterator[tuple[ObjectRef, Plain]]:
        """Every object of a table, in the order of their keys.

        Args:
            table: The table.
            containing: What the text of an object must contain; the others are not decoded.
        """
        served = self.served(table)
        storage = self.cluster.storage
        # A copy, since a caller may write to the table between two objects.
        for record in list(storage.table(table).scan("", storage.revision)):
            if served is not None and all(text in record.value for text in containing):
                yield ObjectRef(table, record.key), served.load(record)

    def within(self, namespace: str, *, only: str = "") -> Iterator[ObjectRef]:
        """The objects of a namespace; of one table only, if that is named."""
        for name, _ in self.cluster.storage.tables():
            served = self.served(name)
            if served is not None and served.is_namespaced and (not only or name == only):
                for key in self._keys(name, f"{namespace}/"):
                    yield ObjectRef(name, key)

    def _keys(self, table: str, prefix: str) -> list[str]:
        storage = self.cluster.storage
        return [record.key for record in storage.table(table).scan(prefix, storage.revision)]

    async def create(self, table: str, namespace: str, content: Plain, *, is_tracked: bool = True) -> Plain | None:
        """Create an object in a namespace; return it, or None if it is refused: it may exist already.

        Args:
            table: Its table.
            namespace: The namespace.
            content: The object.
            is_tracked: Whether the manager's fields are tracked; otherwise the object has its managedFields already.

        Raises:
            JournalError: The object could not be stored.
        """
        try:
            return await self.create_or_raise(table, namespace, content, is_tracked=is_tracked)
        # A full disk is no refusal: the caller's queue retries it after a backoff.
        except JournalError:
            raise
        except StatusFailure:
            return None

    async def create_or_raise(self, table: str, namespace: str, content: Plain, *, is_tracked: bool = True) -> Plain:
        """Create an object in a namespace, as `create` does.

        Raises:
            StatusFailure: If it is refused.
            JournalError: The object could not be stored.
        """
        served = self.served(table)
        if served is None:
            raise unknown_resource()
        await self.cluster.write_turns.wait()
        manager = self.manager if is_tracked else None
        if is_tracked:
            # Field managers see the structs that Go writes even if they are empty.
            content, _ = served.codec.decode(content)
        context = WriteContext(self.cluster, served, namespace, "", WriteOptions(), user=self.user, manager=manager)
        return served.codec.load((await write.create(context, content)).value)

    async def update(
        self,
        ref: ObjectRef,
        change: Callable[[Plain], object],
        *,
        subresource: str = "",
        is_tracked: bool = True,
    ) -> bool:
        """Update an object with `change`; return False if it no longer exists, or if the update is rejected.

        Args:
            ref: The object.
            change: Changes it in place.
            subresource: The subresource to write; empty for the object itself.
            is_tracked: Whether the manager's fields are tracked; otherwise `change` sets the managedFields.

        Raises:
            JournalError: The change could not be stored.
        """

        async def changed(found: Plain) -> Plain:
            change(found)
            return found

        served = self.served(ref.table)
        if served is None:
            return False
        namespace, name = _split(served, ref)
        context = WriteContext(
            self.cluster,
            served,
            namespace,
            name,
            WriteOptions(),
            user=self.user,
            subresource=subresource,
            # Controllers write only the metadata of custom resources, in whatever version it is stored.
            manager=self.manager if is_tracked and served.group in scheme.VERSIONS else None,
        )
        try:
            await write.update(context, changed)
        except JournalError:
            raise
        except StatusFailure:
            return False  # another write removed or changed it; the controller observes that write too
        return True

    async def delete(self, ref: ObjectRef, uid: str, *, policy: str = "Background", grace: int | None = None) -> bool:
        """Delete the object with this uid, or mark it for deletion; return False if it no longer exists.

        Raises:
            JournalError: The deletion could not be stored, or only its mark.
        """
        try:
            await self.delete_or_raise(ref, uid, policy=policy, grace=grace)
        except JournalError:
            raise
        except StatusFailure:
            return False  # deleted already; another object may have its name
        return True

    async def delete_or_raise(
        self, ref: ObjectRef, uid: str, *, policy: str = "Background", grace: int | None = None
    ) -> None:
        """Delete the object with this uid, as `delete` does.

        Raises:
            StatusFailure: If it does not exist, or the deletion is refused.
            JournalError: The deletion could not be stored, or only its mark.
        """
        served = self.served(ref.table)
        if served is None:
            raise unknown_resource()
        await self.cluster.write_turns.wait()
        namespace, name = _split(served, ref)
        options = DeletionOptions(policy=policy, grace=grace, uid=uid)
        await delete.delete(DeletionContext(self.cluster, served, namespace, name, options, user=self.user))

    async def remove_finalizer(self, ref: ObjectRef, finalizer: str) -> None:
        """Remove a finalizer from an object, which may complete its deletion.

        Raises:
            JournalError: The change could not be stored.
        """

        def without(found: Plain) -> None:
            meta = metadata(found)
            set_or_drop(meta, "finalizers", [name for name in meta.get("finalizers") or () if name != finalizer])

        await self.update(ref, without)


def set_or_drop(owner: Plain, name: str, value: Sequence[object]) -> None:
    """Set a list, or remove the field if the list is empty."""
    if value:
        owner[name] = list(value)
    else:
        owner.pop(name, None)


def is_marked(record: Record) -> bool:
    """Whether an object may be marked for deletion, as far as the text shows without a parse."""
    return b'"deletionTimestamp"' in record.value


def uid_of(found: Plain) -> str:
    """An object's uid."""
    return text(metadata(found), "uid")


def _split(served: ServedResource, ref: ObjectRef) -> tuple[str, str]:
    namespace, _, name = ref.key.rpartition("/") if served.is_namespaced else ("", "", ref.key)
    return namespace, name
