"""The change log: every change of every object, with the request behind it."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from masthead._meta.typeinfo import decode_json
from masthead._module import set_module
from masthead_server.request_origin import CURRENT_ORIGIN

if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from masthead_server.cluster import ClusterState
    from masthead_server.request_origin import RequestOrigin
    from masthead_server.resources.resource import ServedResource
    from masthead_server.storage import Record

__all__ = ["ChangeLog", "PlainObject", "RecordedChange", "decoder_of", "qualify_table", "type_of"]

PlainObject: TypeAlias = dict[str, object]
"""An object as plain data."""
_OVERHEAD: Final = 512
"""Bytes of a change besides the object, about."""


@set_module("masthead.server")
class RecordedChange:
    """A change of a stored object, as `Server.changes` returns it.

    Attributes:
        revision: The revision of the write.
        time: The time of the write, on the server's clock.
        resource: The resource, such as ``deployments.apps``.
        key: The object: ``namespace/name``, or the name alone.
        type: ``ADDED``, ``MODIFIED`` or ``DELETED``.
        client: The header ``X-Masthead-Client`` of the request, which replicas of a test environment send; for writes
            of a built-in controller, its name.
        reconcile: The header ``X-Masthead-Reconcile`` of the request: controller, key and id of the reconcile.
        user_agent: The user agent of the request.
        field_manager: The field manager of the request.
        verb: The verb of the request: ``create``, ``update``, ``patch``, ``apply``, ``delete`` or
            ``deletecollection``; empty for built-in controllers.
        subresource: The subresource of the request, such as ``status``.
    """

    def __init__(
        self,
        resource: str,
        record: Record,
        decode: Callable[[bytes], PlainObject],
        time: datetime,
        origin: RequestOrigin,
        revision: int,
    ) -> None:
        self.revision: int = revision
        self.time: datetime = time
        self.resource: str = resource
        self.key: str = record.key
        self.type: str = type_of(record)
        self.client: str = origin.client
        self.reconcile: str = origin.reconcile
        self.user_agent: str = origin.user_agent
        self.field_manager: str = origin.field_manager
        self.verb: str = origin.verb
        self.subresource: str = origin.subresource
        self._value = record.value
        self._value_before = None if record.before is None else record.before.value
        self._decode = decode

    @cached_property
    def object(self) -> dict[str, builtins.object]:
        """The object after the write, as plain data; for a deletion, its last state."""
        return self._decode(self._value)

    @cached_property
    def before(self) -> dict[str, builtins.object] | None:
        """The object before the write, as plain data; None for a new one."""
        return None if self._value_before is None else self._decode(self._value_before)

    @property
    def uid(self) -> str:
        """The uid of the object."""
        return str(cast("dict[str, Any]", self.object["metadata"])["uid"])

    @property
    def size(self) -> int:
        """The bytes of memory, about."""
        return len(self._value) + _OVERHEAD

    def __repr__(self) -> str:
        return f"<RecordedChange {self.revision}: {self.type} {self.resource} {self.key}>"


class ChangeLog:
    """Records all changes of a cluster. The oldest are dropped beyond the limits.

    Args:
        cluster: The cluster.
        max_changes: The maximum number of changes.
        max_bytes: The maximum number of bytes of all changes.
        before: The changes of an earlier server.
    """

    def __init__(
        self, cluster: ClusterState, *, max_changes: int, max_bytes: int, before: Iterable[RecordedChange] = ()
    ) -> None:
        self._cluster = cluster
        self._max_changes = max_changes
        self._max_bytes = max_bytes
        self._changes: deque[RecordedChange] = deque(before)
        self._size = sum(change.size for change in self._changes)
        cluster.on_write.append(self._record)

    def since(self, revision: int) -> list[RecordedChange]:
        """Return the changes after a revision, oldest first."""
        changes = list(self._changes)
        return changes[bisect_right(changes, revision, key=attrgetter("revision")) :]

    def _record(self, served: ServedResource, record: Record) -> None:
        # In the stored version, which needs no conversion webhook.
        stored = self._cluster.catalog.stored_in(served.table) or served
        now, origin = self._cluster.clock.now(), CURRENT_ORIGIN.get()
        # A restored object keeps the revision of its last write; the change has a new one.
        revision = self._cluster.storage.revision
        change = RecordedChange(qualify_table(served.table), record, decoder_of(stored), now, origin, revision)
        self._changes.append(change)
        self._size += change.size
        while len(self._changes) > self._max_changes or (self._size > self._max_bytes and len(self._changes) > 1):
            self._size -= self._changes.popleft().size


def qualify_table(table: str) -> str:
    """Return the qualified name of the resource of a table: ``deployments.apps`` for ``apps/deployments``."""
    group, _, name = table.rpartition("/")
    return f"{name}.{group}" if group else name


def decoder_of(served: ServedResource) -> Callable[[bytes], PlainObject]:
    """Return a function that decodes stored objects, with kind and apiVersion."""

    def decode(value: bytes) -> PlainObject:
        return decode_json(served.codec.write(value), PlainObject)

    return decode


def type_of(record: Record) -> str:
    """Return the type of the watch event of a write."""
    if record.is_deleted:
        return "DELETED"
    return "ADDED" if record.before is None else "MODIFIED"
