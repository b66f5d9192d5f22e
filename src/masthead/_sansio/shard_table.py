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
    """The lease of a member, as it was listed.

    Attributes:
        name: Its name, which is the member's.
        uid: Its uid.
        version: Its resource version.
        holder: Who holds it; empty if it has ended.
        seconds: How long it is valid without a renewal; None if it does not say.
        transitions: The number of its term.
        renewed: Whatever each renewal changes.
        is_new: Whether it was not renewed in its present term yet.
        division: What the member divides the collection into; see `ShardTable.division`.
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
        """Whether its term is not over."""
        return bool(self.holder)

    @property
    def record(self) -> tuple[object, ...]:
        """What a renewal changes. Other writes, such as of labels, are none."""
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
    """Who owns which slots.

    Attributes:
        total: How many slots there are.
        by: What is hashed of an object.
        owners: The slots of each token.
        seconds: The lease duration of each token.
        writes: How often it was written; so each write differs from the one before, and gets a version of its own.
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
        """What a collection is divided into: ``64-uid``. Only members that agree on it can share."""
        return division_of(self.total, self.by)

    @classmethod
    def read(cls, text: str) -> ShardTable:
        """Read a table.

        Raises:
            ValueError: If it is invalid, or assigns a slot twice.
        """
        try:
            found = typeinfo.decode_json(text, _Document)
        except msgspec.DecodeError as error:
            raise ValueError(str(error)) from None
        if not 1 <= found.total <= MAX_SLOTS:
            raise ValueError(f"it has {found.total} slots")
        owners = {token: read_slots(each.slots, found.total) for token, each in found.owners.items()}
        if len(_NOTHING.union(*owners.values())) != sum(map(len, owners.values())):
            raise ValueError("it assigns a slot twice")
        seconds = {token: each.seconds for token, each in found.owners.items()}
        return cls(found.total, found.by, owners, seconds, found.writes, found.settling)

    def write(self) -> str:
        """The table as text."""
        owners = {
            token: _Entry(write_slots(slots), self.seconds.get(token, 0.0))
            for token, slots in sorted(self.owners.items())
            if slots
        }
        document = _Document(self.total, self.by, self.writes, owners, self.settling)
        return msgspec.json.encode(document).decode()

    def changed(self, token: str, slots: Iterable[int], seconds: float) -> ShardTable:
        """The table in which a token has these slots, and no other token has one of them. It has settled."""
        own = frozenset(slots)
        owners = {other: each - own for other, each in self.owners.items() if other != token}
        owners = {other: each for other, each in owners.items() if each}
        kept = {other: self.seconds.get(other, 0.0) for other in owners}
        if own:
            owners[token], kept[token] = own, seconds
        return ShardTable(self.total, self.by, owners, kept, self.writes + 1)


def division_of(total: int, by: ShardKey) -> str:
    """What a collection is divided into, as text."""
    return f"{total}-{by}"


@dataclass(frozen=True, slots=True)
class StoredTable:
    """The table as the server has it.

    Attributes:
        table: The table; None if it cannot be read.
        uid: The uid of its lease.
        version: The resource version.
        problem: Why it cannot be read.
    """

    table: ShardTable | None
    uid: str
    version: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class GroupView:
    """All leases of a group, at one resource version.

    Attributes:
        leases: Those of the members.
        table: The table; None if there is none.
    """

    leases: tuple[MemberLease, ...]
    table: StoredTable | None = None


@dataclass(frozen=True, slots=True)
class TableWrite:
    """A write of the table, conditional on its version.

    Attributes:
        table: The new table.
        version: The version that it must have; empty to create it.
        claims: The slots that the member may work on when the write was acknowledged.
        releases: The slots that it has given up.
    """

    table: ShardTable
    version: str
    claims: frozenset[int] = _NOTHING
    releases: frozenset[int] = _NOTHING


@dataclass(frozen=True, slots=True)
class Plan:
    """What a member does next.

    Attributes:
        fences: Leases to end, each conditional on its version.
        write: The write of the table; None for none.
        deletions: Leases to delete, each conditional on its version: they are not needed any more.
        is_member: Whether the own term is not over, as far as the leases say.
        waits_for: Why slots are free that the member would claim; empty if there are none.
    """

    fences: tuple[MemberLease, ...] = ()
    write: TableWrite | None = None
    deletions: tuple[MemberLease, ...] = ()
    is_member: bool = True
    waits_for: str = ""
