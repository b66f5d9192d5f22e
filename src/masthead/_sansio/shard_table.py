"""What the replicas that share a collection write and read: the leases of members, and the table of owners."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from masthead._meta import typeinfo
from masthead._sansio.sharding import MAX_SLOTS, read_slots, write_slots

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from masthead._sansio.sharding import ShardKey

__all__ = ["GroupView", "MemberLease", "Plan", "ShardTable", "StoredTable", "TableWrite", "division_of"]

_NOTHING: Final[frozenset[int]] = frozenset()


@dataclass(frozen=True, slots=True)
class MemberLease:
    """The listed lease of a member.

    Attributes:
        name: The name of the lease and the member.
        uid: The lease's uid.
        version: Its resource version.
        holder: The holder; empty if the lease has ended.
        seconds: The validity without a renewal; None if unknown.
        transitions: The number of its term.
        renewed: A value that changes with each renewal.
        is_new: Whether it has not been renewed in its current term.
        division: The member's division of the collection; see `ShardTable.division`.
    """

    name: str
    uid: str
    version: str
    holder: str
    seconds: float | None
    transitions: int
    renewed: str = ""
    is_new: bool = False
    division: str = ""

    @property
    def token(self) -> str:
        """The token of its term."""
        return f"{self.uid}:{self.transitions}"

    @property
    def is_held(self) -> bool:
        """Whether its term has not ended."""
        # A release empties the holder; an expired lease is held until another member fences it.
        return bool(self.holder)

    @property
    def record(self) -> tuple[object, ...]:
        """The fields that a renewal changes. Other writes, such as of labels, do not count."""
        return self.holder, self.seconds, self.transitions, self.renewed


class _Entry(msgspec.Struct, frozen=True):
    slots: str = ""
    seconds: float = 0.0


class _Document(msgspec.Struct, frozen=True, omit_defaults=True):
    total: int
    by: Literal["uid", "namespace"]
    writes: int = 0
    owners: dict[str, _Entry] = {}
    settling: float = 0.0


@dataclass(frozen=True, slots=True)
class ShardTable:
    """The owners of the slots.

    Attributes:
        total: The number of slots.
        by: The hashed field of an object.
        owners: The slots of each token.
        seconds: The lease duration of each token.
        writes: The number of writes, so that each write differs from the one before, and gets a new version.
        settling: For how many seconds no slot is claimed: it replaces a table that was lost, whose owners may still
            work. 0 once a member has waited for that long, and if there was no table before.
    """

    total: int
    by: ShardKey
    owners: Mapping[str, frozenset[int]] = field(default_factory=dict[str, frozenset[int]])
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    writes: int = 0
    settling: float = 0.0

    @property
    def division(self) -> str:
        """The division of the collection, such as ``64-uid``. Only members with the same division can share."""
        return division_of(self.total, self.by)

    @classmethod
    def read(cls, text: str) -> ShardTable:
        """Parse a table.

        Raises:
            ValueError: If it is invalid, or assigns a slot twice.
        """
        try:
            document = typeinfo.decode_json(text, _Document)
        except msgspec.DecodeError as error:
            raise ValueError(str(error)) from None
        if not 1 <= document.total <= MAX_SLOTS:
            raise ValueError(f"it has {document.total} slots")
        owners = {token: read_slots(entry.slots, document.total) for token, entry in document.owners.items()}
        # Two owners of one slot would both work on it, so that such a table counts as lost.
        if len(_NOTHING.union(*owners.values())) != sum(map(len, owners.values())):
            raise ValueError("it assigns a slot twice")
        seconds = {token: entry.seconds for token, entry in document.owners.items()}
        return cls(document.total, document.by, owners, seconds, document.writes, document.settling)

    def write(self) -> str:
        """The table as text."""
        # Sorted, so that equal tables have equal text.
        owners = {
            token: _Entry(write_slots(slots), self.seconds.get(token, 0.0))
            for token, slots in sorted(self.owners.items())
            if slots
        }
        document = _Document(self.total, self.by, self.writes, owners, self.settling)
        return msgspec.json.encode(document).decode()

    def changed(self, token: str, slots: Iterable[int], seconds: float) -> ShardTable:
        """A copy in which a token has exactly these slots, taken from other tokens. It has settled."""
        own = frozenset(slots)
        owners = {other: theirs - own for other, theirs in self.owners.items() if other != token}
        # Members without slots are not listed, so that the table does not grow with former members.
        owners = {other: theirs for other, theirs in owners.items() if theirs}
        durations = {other: self.seconds.get(other, 0.0) for other in owners}
        if own:
            owners[token], durations[token] = own, seconds
        return ShardTable(self.total, self.by, owners, durations, self.writes + 1)


def division_of(total: int, by: ShardKey) -> str:
    """The division of a collection, as text."""
    return f"{total}-{by}"


@dataclass(frozen=True, slots=True)
class StoredTable:
    """The stored table.

    Attributes:
        table: The table; None if it is invalid.
        uid: The uid of its lease.
        version: The resource version.
        problem: Why it is invalid.
    """

    table: ShardTable | None
    uid: str
    version: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class GroupView:
    """All leases of a group, at one resource version.

    Attributes:
        leases: The leases of the members.
        table: The table, or None.
    """

    leases: tuple[MemberLease, ...]
    table: StoredTable | None = None


@dataclass(frozen=True, slots=True)
class TableWrite:
    """A write of the table, conditional on its version.

    Attributes:
        table: The new table.
        version: The version that it must have; empty to create it.
        claims: The slots that the member may work on after the acknowledgement.
        releases: The slots that the member gives up.
    """

    table: ShardTable
    version: str
    claims: frozenset[int] = _NOTHING
    releases: frozenset[int] = _NOTHING


@dataclass(frozen=True, slots=True)
class Plan:
    """The next actions of a member.

    Attributes:
        fences: Leases to end, each conditional on its version.
        write: The write of the table; None for none.
        deletions: Ended leases to delete, each conditional on its version.
        is_member: Whether the own term has not ended, according to the leases.
        waits_for: Why the member cannot claim free slots yet; empty if there are none.
    """

    fences: tuple[MemberLease, ...] = ()
    write: TableWrite | None = None
    deletions: tuple[MemberLease, ...] = ()
    is_member: bool = True
    waits_for: str = ""
