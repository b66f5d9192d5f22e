"""The leases of a group of replicas: lists, ends and deletes them, and writes the table of slots."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from masthead._leaderelection.lease_lock import record_of, spec_of
from masthead._meta import names
from masthead._meta.gvk import GroupVersionResource
from masthead._meta.unstructured import Unstructured
from masthead._sansio.lease_records import LeaseRecord
from masthead._sansio.shard_table import GroupView, MemberLease, ShardTable, StoredTable
from masthead.errors import NameFormatError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from masthead._client.client import Client
    from masthead._sansio.shard_table import TableWrite

__all__ = ["DIVISION_LABEL", "GROUP_LABEL", "TABLE_ANNOTATION", "ShardGroup"]

GROUP_LABEL: Final = "masthead/shard-group"
"""The label of all leases of a group."""
DIVISION_LABEL: Final = "masthead/shard-division"
"""The label of a member's lease with the layout of the slots."""
TABLE_ANNOTATION: Final = "masthead/shard-table"
"""The annotation with the table."""
_LEASES: Final = GroupVersionResource("coordination.k8s.io", "v1", "leases")


class ShardGroup:
    """The leases of one group.

    Args:
        client: The client.
        name: The name of the group.
        namespace: The namespace of the leases.
        timeout: Timeout of each request, in seconds.
        clock: The wall clock for timestamps in ended leases.

    Raises:
        NameFormatError: If the name cannot be part of the name of a Lease, or the value of a label.
    """

    def __init__(
        self, client: Client, name: str, namespace: str, *, timeout: float, clock: Callable[[], datetime]
    ) -> None:
        if problem := names.problem_with_dns1123_label(name):
            raise NameFormatError(f"the name of the shard group: {names.quote(name)} {problem}", value=name)
        self.name: Final = name
        self.namespace: Final = namespace
        self._leases = client.dynamic(_LEASES, namespace=namespace)
        self._timeout = timeout
        self._clock = clock
        self._listed: dict[str, Unstructured] = {}

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def table_name(self) -> str:
        """The name of the Lease with the table."""
        return f"{self.name}-shards"

    def member_name(self, identity: str) -> str:
        """The name of a member's Lease."""
        return f"{self.name}-shard-{blake2b(identity.encode(), digest_size=8).hexdigest()}"

    async def read(self) -> GroupView:
        """List the leases.

        Raises:
            MastheadError: As any list.
        """
        # Without a resource version, for the newest state, and one state for all leases.
        found = await self._leases.list(label_selector=f"{GROUP_LABEL}={self.name}", timeout=self._timeout, page_size=0)
        self._listed = {lease.metadata.name: lease for lease in found}
        # The table has the label of the group as well, but is not the lease of a member.
        table = self._listed.pop(self.table_name, None)
        leases = tuple(_member_lease(lease) for lease in self._listed.values())
        if table is not None:
            self._listed[self.table_name] = table
        return GroupView(leases, None if table is None else _stored_table(table))

    async def end(self, lease: MemberLease) -> str:
        """End an expired lease that has not changed since it was listed; return its UID.

        Raises:
            ConflictError: If it has changed.
            MastheadError: As any update.
        """
        now = self._clock()
        changed = self._listed[lease.name].copy()
        spec = changed.get("spec")
        # Without a holder, and with the shortest duration: the holder's next renewal is a conflict.
        ended = spec_of(LeaseRecord("", 1, now, now, lease.transitions))
        changed["spec"] = {**spec, **ended} if isinstance(spec, dict) else ended
        return (await self._leases.update(changed, timeout=self._timeout)).metadata.uid

    async def delete(self, lease: MemberLease) -> str:
        """Delete an unneeded lease that has not changed since it was listed; return its UID.

        Raises:
            ConflictError: If it has changed.
            MastheadError: As any delete.
        """
        await self._leases.delete(lease.name, uid=lease.uid, resource_version=lease.version, timeout=self._timeout)
        return lease.uid

    async def write(self, write: TableWrite) -> str:
        """Write the table if it has not changed since it was listed; return the UID of its lease.

        Raises:
            ConflictError: If it has changed.
            AlreadyExistsError: If another replica has created it.
            MastheadError: As any write.
        """
        if write.version:
            changed = self._listed[self.table_name].copy()
            changed.metadata.annotations = {
                **changed.metadata.annotations,
                TABLE_ANNOTATION: write.table.write(),
            }
            changed.metadata.resource_version = write.version
            return (await self._leases.update(changed, timeout=self._timeout)).metadata.uid
        made = Unstructured.new(
            self.table_name,
            api_version="coordination.k8s.io/v1",
            kind="Lease",
            namespace=self.namespace,
            labels={GROUP_LABEL: self.name},
            annotations={TABLE_ANNOTATION: write.table.write()},
        )
        # A Lease without a holder: only its annotation matters.
        made["spec"] = {}
        return (await self._leases.create(made, timeout=self._timeout)).metadata.uid


def _member_lease(lease: Unstructured) -> MemberLease:
    record, metadata = record_of(lease), lease.metadata
    return MemberLease(
        metadata.name,
        metadata.uid,
        metadata.resource_version,
        record.holder,
        record.seconds,
        record.transitions,
        str(record.renewed),
        is_new=record.acquired == record.renewed,
        division=metadata.labels.get(DIVISION_LABEL, ""),
    )


def _stored_table(lease: Unstructured) -> StoredTable:
    metadata = lease.metadata
    text = metadata.annotations.get(TABLE_ANNOTATION, "")
    try:
        return StoredTable(ShardTable.read(text), metadata.uid, metadata.resource_version)
    # A damaged table is replaced by a new one, with the error as the reason in the log.
    except ValueError as error:
        return StoredTable(None, metadata.uid, metadata.resource_version, str(error))
