"""Shards of a collection, and their assignment to replicas.

Every object has a hash, 64-bit FNV-1a of its uid or its namespace, as in the API server's shard selectors. The hashes
are divided into *slots*, equal ranges of adjacent hashes. A replica owns slots, which `assign` chooses.

* `ShardRanges`: ranges of hashes, as a shard selector.
* `ShardSet`: slots.
* `assign`: rendezvous hashing of slots over members, with equal shares.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from masthead._module import set_module
from masthead.errors import ArgumentError, SelectorError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from masthead._meta.object import Object

__all__ = ["MAX_SLOTS", "ShardKey", "ShardRanges", "ShardSet", "assign", "check_slots", "hash_value"]

ShardKey: TypeAlias = Literal["uid", "namespace"]
"""The hashed field of an object."""

MAX_SLOTS: Final = 1024
"""The maximum number of slots: a shard selector in a URL has a range for up to half of them."""
_END: Final = 1 << 64
_MASK: Final = _END - 1
_FNV_OFFSET: Final = 0xCBF29CE484222325
_FNV_PRIME: Final = 0x100000001B3
_RANGE: Final = re.compile(
    r"\s*shardRange\(\s*object\.metadata\.(uid|namespace)\s*,"
    r"\s*(['\"])(0x[0-9a-f]{16,17})\2\s*,\s*(['\"])(0x[0-9a-f]{16,17})\4\s*\)\s*"
)


def hash_value(value: str) -> int:
    """The hash of a uid or namespace."""
    # FNV-1a, as in the API server's shard selectors.
    # FNV-1a, as in the API server's shard selectors.
    number = _FNV_OFFSET
    for byte in value.encode():
        number = ((number ^ byte) * _FNV_PRIME) & _MASK
    return number


# Cached: namespaces recur, uids do not.
# Cached: namespaces recur, uids do not.
_hash_namespace: Final = lru_cache(4096)(hash_value)


@set_module("masthead.sharding")
class ShardRanges:
    """Ranges of hashes, as selected by a shard selector.

    Args:
        ranges: Half-open ranges of hashes, which may overlap.
        by: The hashed field of an object.

    Attributes:
        by: The hashed field of an object.
        ranges: The sorted ranges; overlapping and adjacent ones are merged.

    Raises:
        ArgumentError: If a range is empty or out of bounds.
    """

    __slots__ = ("_ends", "_starts", "by", "ranges")

    def __init__(self, ranges: Iterable[tuple[int, int]], *, by: ShardKey = "uid") -> None:
        self.by: ShardKey = check_key(by)
        self.ranges: tuple[tuple[int, int], ...] = _union(ranges)
        self._starts = [start for start, _ in self.ranges]
        self._ends = [end for _, end in self.ranges]

    @classmethod
    def parse(cls, selector: str) -> ShardRanges:
        """Parse a shard selector.

        Raises:
            SelectorError: If it is invalid.
        """
        ranges: list[tuple[int, int]] = []
        keys: set[str] = set()
        for part in selector.split("||"):
            match = _RANGE.fullmatch(part)
            if match is None:
                raise SelectorError(
                    f"{part.strip()!r} is not a range of hashes; write shardRange(object.metadata.uid, START, END), "
                    "several "
                    "joined by ||, each bound as '0x' and 16 hexadecimal digits, the last as '0x10000000000000000'",
                    value=selector,
                )
            key, _, start, _, end = match.groups()
            keys.add(key)
            ranges.append((int(start, 16), int(end, 16)))
        if len(keys) > 1:
            raise SelectorError("all ranges of a shard selector must be of uids, or all of namespaces", value=selector)
        try:
            return cls(ranges, by="uid" if "uid" in keys else "namespace")
        except ArgumentError as error:
            raise SelectorError(f"{selector!r}: {error}", value=selector) from None

    @property
    def is_everything(self) -> bool:
        """Whether the ranges cover all hashes."""
        return self.ranges == ((0, _END),)

    def has_hash(self, number: int) -> bool:
        """Whether a hash is in one of the ranges."""
        index = bisect_right(self._starts, number) - 1
        return index >= 0 and number < self._ends[index]

    def selects(self, obj: Object) -> bool:
        """Whether an object is selected."""
        return self.selects_metadata(obj.metadata.uid, obj.metadata.namespace)

    def selects_metadata(self, uid: str, namespace: str) -> bool:
        """Whether an object with this uid and namespace is selected."""
        return self.has_hash(hash_value(uid) if self.by == "uid" else _hash_namespace(namespace))

    def is_within(self, other: ShardRanges) -> bool:
        """Whether other ranges contain these."""
        return other.is_everything or (
            self.by == other.by and ShardRanges((*self.ranges, *other.ranges), by=self.by) == other
        )

    def __str__(self) -> str:
        """The shard selector. Without ranges, that of a single hash, because no selector selects nothing."""
        path = f"object.metadata.{self.by}"
        ranges = self.ranges or ((0, 1),)
        return " || ".join(f"shardRange({path}, '0x{start:016x}', '0x{end:016x}')" for start, end in ranges)

    def __repr__(self) -> str:
        return f"<ShardRanges {self}>" if self.ranges else f"<ShardRanges of no {self.by}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ShardRanges):
            return NotImplemented
        return (self.by, self.ranges) == (other.by, other.ranges)

    def __hash__(self) -> int:
        return hash((self.by, self.ranges))


@set_module("masthead.sharding")
class ShardSet:
    """A set of slots: the share of a replica in a collection.

    Args:
        slots: The numbers of the slots.
        total: The number of slots of the collection.
        by: The hashed field of an object.

    Attributes:
        total: The number of slots of the collection.
        by: The hashed field of an object.

    Raises:
        ArgumentError: If there is no such slot, or `total` is not a number of slots.
    """

    __slots__ = ("_ranges", "_slots", "by", "total")

    def __init__(self, slots: Iterable[int] = (), *, total: int = 64, by: ShardKey = "uid") -> None:
        self.total: int = check_slots(total)
        self.by: ShardKey = check_key(by)
        self._slots = frozenset(slots)
        for slot in self._slots:
            if not 0 <= slot < total:
                raise ArgumentError(f"there is no slot {slot} among {total}", value=slot)
        self._ranges: ShardRanges | None = None

    @classmethod
    def everything(cls, *, total: int = 64, by: ShardKey = "uid") -> ShardSet:
        """All slots."""
        return cls(range(total), total=total, by=by)

    @property
    def slots(self) -> frozenset[int]:
        """The numbers of the slots."""
        return self._slots

    @property
    def ranges(self) -> ShardRanges:
        """The ranges of hashes in the slots."""
        # On demand: most shares only answer `owns`.
        if self._ranges is None:
            bounds = ((first_hash(slot, self.total), first_hash(slot + 1, self.total)) for slot in self._slots)
            self._ranges = ShardRanges(bounds, by=self.by)
        return self._ranges

    def owns(self, value: str) -> bool:
        """Whether an object with this uid, or with this namespace if sharded by namespace, belongs to the share."""
        number = hash_value(value) if self.by == "uid" else _hash_namespace(value)
        # The slot without a search: slots are equal ranges.
        return (number * self.total) >> 64 in self._slots

    def owns_object(self, obj: Object) -> bool:
        """Whether an object belongs to the share."""
        return self.owns(obj.metadata.uid if self.by == "uid" else obj.metadata.namespace)

    def selector(self) -> str | None:
        """The shard selector; None for all slots. Without slots, it selects a single hash."""
        return None if len(self._slots) == self.total else str(self.ranges)

    def __and__(self, other: ShardSet) -> ShardSet:
        return self._with(self._slots & self._slots_of(other))

    def __or__(self, other: ShardSet) -> ShardSet:
        return self._with(self._slots | self._slots_of(other))

    def __sub__(self, other: ShardSet) -> ShardSet:
        return self._with(self._slots - self._slots_of(other))

    def __contains__(self, slot: int) -> bool:
        return slot in self._slots

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self._slots))

    def __len__(self) -> int:
        return len(self._slots)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ShardSet):
            return NotImplemented
        return (self._slots, self.total, self.by) == (other._slots, other.total, other.by)

    def __hash__(self) -> int:
        return hash((self._slots, self.total, self.by))

    def __repr__(self) -> str:
        return f"<ShardSet {write_slots(self._slots) or 'of nothing'}; {len(self)} of {self.total} by {self.by}>"

    def _with(self, slots: Iterable[int]) -> ShardSet:
        return ShardSet(slots, total=self.total, by=self.by)

    def _slots_of(self, other: ShardSet) -> frozenset[int]:
        if (other.total, other.by) != (self.total, self.by):
            raise ArgumentError(f"{other!r} does not divide the same collection as {self!r}", value=other)
        return other.slots


def first_hash(slot: int, total: int) -> int:
    """The first hash of a slot; its range ends at the first hash of the next slot."""
    # Rounded up, so that `(number * total) >> 64` is the slot of every hash in the range.
    return -((-slot << 64) // total)


def assign(members: Collection[str], total: int, owners: Mapping[int, str] | None = None) -> dict[int, str]:
    """Assign slots to members: equal shares, plus or minus one, with as few changes of owners as possible.

    For every slot, a hash ranks the members (rendezvous hashing). The member with the highest rank gets the slot, until
    its share is full. A member keeps its current slots, up to its share, those with its highest ranks first. So slots
    move only from members with too many slots, or former members, to members with too few.

    The result depends on the arguments alone, not on their order.

    Args:
        members: The names of the members.
        total: The number of slots.
        owners: The current owner of each slot; an owner that is not a member is ignored.

    Returns:
        The member of each slot; empty if there are no members.
    """
    owned: dict[str, list[int]] = {member: [] for member in members}
    for slot, owner in (owners or {}).items():
        if owner in owned:
            owned[owner].append(slot)
    if not owned:
        return {}
    room = _quotas(owned, total)
    assigned: dict[int, str] = {}
    for member, slots in owned.items():
        for slot in sorted(slots, key=lambda slot: (-_rank(member, slot), slot))[: room[member]]:
            assigned[slot] = member
        room[member] -= min(len(slots), room[member])
    _fill(assigned, room, total)
    return assigned


def _quotas(owned: Mapping[str, Collection[int]], total: int) -> dict[str, int]:
    """The number of slots of each member. Members with the most slots get the remainder, which moves the fewest."""
    share, remainder = divmod(total, len(owned))
    order = sorted(owned, key=lambda member: (-len(owned[member]), member))
    return {member: share + (index < remainder) for index, member in enumerate(order)}


def _fill(assigned: dict[int, str], room: dict[str, int], total: int) -> None:
    """Assign the free slots to members with room, the highest ranks first."""
    # All pairs sorted by rank: the result does not depend on the order of the members.
    takers = [member for member, count in room.items() if count]
    pairs = [(-_rank(member, slot), slot, member) for slot in range(total) if slot not in assigned for member in takers]
    for _, slot, member in sorted(pairs):
        if slot not in assigned and room[member]:
            assigned[slot] = member
            room[member] -= 1


# Cached: every observation of a group ranks the same members and slots.
@lru_cache(65_536)
def _rank(member: str, slot: int) -> int:
    return int.from_bytes(blake2b(f"{slot}/{member}".encode(), digest_size=8).digest(), "big")


def write_slots(slots: Iterable[int]) -> str:
    """Slots as text, such as ``0-3,7``; empty for none."""
    parts: list[str] = []
    ordered = sorted(slots)
    start = 0
    for index, slot in enumerate(ordered):
        if index + 1 == len(ordered) or ordered[index + 1] != slot + 1:
            parts.append(f"{ordered[start]}-{slot}" if start != index else str(slot))
            start = index + 1
    return ",".join(parts)


def read_slots(text: str, total: int) -> frozenset[int]:
    """Parse slots.

    Raises:
        ValueError: If the text is invalid, or a slot does not exist.
    """
    slots: set[int] = set()
    for part in filter(None, text.split(",")):
        first, dash, last = part.partition("-")
        start, end = int(first), int(last if dash else first)
        if not 0 <= start <= end < total:
            raise ValueError(f"there are no slots {part} among {total}")
        slots.update(range(start, end + 1))
    return frozenset(slots)


def check_slots(total: int) -> int:
    """Check a number of slots.

    Raises:
        ArgumentError: If it is out of bounds.
    """
    # A bool is an int, too, but True is no number of slots.
    if type(total) is not int or not 1 <= total <= MAX_SLOTS:
        raise ArgumentError(
            f"a collection can be divided into 1 to {MAX_SLOTS} slots, not {total!r}; 64 suit up to 16 replicas",
            value=total,
        )
    return total


def check_key(by: ShardKey) -> ShardKey:
    """Check the hashed field.

    Raises:
        ArgumentError: If it is neither uid nor namespace.
    """
    if by not in {"uid", "namespace"}:
        raise ArgumentError(f"objects are sharded by uid or by namespace, not by {by!r}", value=by)
    return by


def _union(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if not 0 <= start < end <= _END:
            raise ArgumentError(f"0x{start:x} to 0x{end:x} is not a range of hashes", value=(start, end))
        # Sorted by start, so that only the last range can overlap or touch this one.
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)
