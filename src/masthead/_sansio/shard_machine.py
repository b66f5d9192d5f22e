"""Which replica owns which slot: one table on the server, and leases that say who lives.

::

    lease of A ──renewed by A──┐                        ┌── A: 0-31        A works on 0-31
    lease of B ──renewed by B──┼── listed together ── table ── B: 32-63    B works on 32-63
    lease of C ──ended─────────┘                        └── C: nothing     C drains, or is gone

    a slot:   owned by A ──drained, released by A──> free ──claimed by B──> owned by B
                    └──the lease of A has ended────────────claimed by B──────^

Each replica is a *member*: it holds a Lease of its own by the rules of leader election (`masthead._sansio.leases`), and
each term of holding it has a *token*, the lease's uid and transitions. The table names the token that owns each slot.
It is an annotation of one more Lease, and every write of it is conditional on the resource version that was read.

The rules:

1. A member adds no token but its own to the table, and takes away another's only if that term is over.
2. A term is over when its lease has no holder any more, or another term's transitions. Its member ends it when its work
   has ended; another ends it (*fences* it) if the record has not changed for its duration since it was received here,
   by the own clock, with a write that is conditional on the version that was read then. What has ended never begins
   again.
3. A member works on a slot only after a write of the table that names its token for the slot was acknowledged, and
  while
   its own term is valid: for the renew deadline since the last acknowledged renewal was sent, by its own clock, and
   since the last successful reading of the table was.
4. Before a member takes away its own token from a slot, no work on it is under way (*drain, then move*), and it does
  not
   work on the slot again before rule 3 holds again.

Why no two members work on one slot at a time: Let A work on a slot. By 3, a write of A named A's token there. No one
but A takes it away while A's term lasts (1), and A does so only without work (4). So as long as A's term is not over,
all writes leave the slot to A, since each is conditional on the state that it was computed from, and by 3 no other
member works on it. If A ends its term itself, its work has ended. If B fences it, B has waited for the lease duration
since it *received* A's last record, and A could not renew it afterwards, because B's write came first, by its
condition. A *sent* that record earlier, and stops at the renew deadline after that. So A has stopped before B's write,
whatever the delays, if no clock runs faster than another by more than lease duration / renew deadline.

Views of the membership may differ and be wrong: they decide who claims what, never who may. What is assumed is that
requests conditional on a version are honoured, and that work stops when it must; see `docs/scaling-out.md` for the
limits.

If the lease of an owner was deleted, its term counts as over a lease duration after that was noticed.

If the table was deleted, or cannot be read, its owners notice, or stop because they have not seen it, within the renew
deadline. A member replaces it by an empty one that is *settling*: whoever sees that claims nothing before a lease
duration has passed since then. So all owners of the lost table have stopped, also of one that this member has never
seen: between two looks at a group without a table, others may have created one and lost it. Only the first table of a
group need not settle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._sansio.shard_table import GroupView, Plan, ShardTable, TableWrite, division_of
from masthead._sansio.sharding import ShardSet, assign, write_slots

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from masthead._sansio.shard_table import MemberLease
    from masthead._sansio.sharding import ShardKey

__all__ = ["ShardMachine"]

_NOTHING: Final[frozenset[int]] = frozenset()


class ShardMachine:
    """What one replica knows of a group, and what it does next.

    The caller lists the leases of the group, reports them, performs the plan, and reports its success::

        machine.join(token)                         # the own lease is held
        while True:
            plan = machine.observe(view, now)       # `now` is when the view arrived, or later
            ...                                     # end leases; write the table:
            machine.written(plan.write, uid)        # only if it was acknowledged
            share = machine.share                   # what may be worked on; until nothing else is worked on:
            machine.acknowledge(share)

    Args:
        total: How many slots there are.
        by: What is hashed of an object.
        lease_duration: The lease duration of this member, in seconds.
    """

    def __init__(self, *, total: int, by: ShardKey, lease_duration: float) -> None:
        self._empty = self._share = ShardSet(total=total, by=by)
        self._duration = lease_duration
        self._division = division_of(total, by)
        self._seen: dict[str, tuple[tuple[object, ...], float]] = {}
        """The record of each lease, by uid, and since when it is known."""
        self._absent: dict[str, float] = {}
        """Owners in the table that have no lease, and since when that is known."""
        self._table_uid = ""
        self._creates_from: float | None = None
        """Since when, or from when on, a table that is missing may be replaced; None if it is not missing."""
        self._settling = ("", 0.0)
        """The version of a table that is settling, and since when it is known."""
        self._token = ""
        self._owned: frozenset[int] = _NOTHING
        self._leaving: frozenset[int] = _NOTHING
        self._drained: frozenset[int] = _NOTHING
        self._view = GroupView(())
        self._member = ""

    @property
    def token(self) -> str:
        """The token of the own term; empty before the first one."""
        return self._token

    @property
    def share(self) -> ShardSet:
        """The slots that may be worked on while the own term is valid."""
        if self._share.slots != self._owned:
            self._share = ShardSet(self._owned, total=self._empty.total, by=self._empty.by)
        return self._share

    @property
    def draining(self) -> frozenset[int]:
        """The slots that must not be worked on any more, and of which that is not acknowledged yet."""
        return self._leaving - self._drained

    def join(self, token: str) -> None:
        """A new term of the own lease has begun. Of an earlier one nothing is left, no work either."""
        self._token = token
        self._owned = self._leaving = self._drained = _NOTHING

    def acknowledge(self, share: ShardSet) -> None:
        """No work is under way on slots outside of a share that was current at some time, and none will begin."""
        self._drained |= self._leaving - share.slots

    def written(self, write: TableWrite, uid: str) -> None:
        """The server has acknowledged the write of the last plan, and stored the table in a lease with this uid."""
        self._table_uid, self._creates_from = uid, None
        self._leaving -= write.releases
        self._drained -= write.releases
        self._owned |= write.claims

    def observe(self, view: GroupView, now: float) -> Plan:
        """Report the leases of the group, and when they arrived: not earlier.

        Returns:
            What to do next.
        """
        self._view = view
        self._note_records(view.leases, now)
        self._member = next((lease.name for lease in view.leases if lease.token == self._token and lease.is_held), "")
        if not self._member:
            self._lose(self._owned)
            return Plan(is_member=False)
        fences = tuple(lease for lease in view.leases if self._is_expired(lease, now))
        table = self._readable(now)
        if table is None or self._is_settling(table, now):
            # A settling table has no owners. This member may not have seen the loss of the table before it.
            self._lose(self._owned)
            return Plan(fences, self._replacement(table), waits_for=self._waits_for_table(table, now))
        over = {token for token in table.owners if self._is_over(token, table, now)}
        self._absent = {token: since for token, since in self._absent.items() if token in table.owners}
        if table.division != self._division:
            return self._divide_anew(table, over, fences)
        write, waits_for = self._next_write(table, over, now)
        return Plan(fences, write, self._garbage(table, now), waits_for=waits_for)

    # The leases

    def _note_records(self, leases: Iterable[MemberLease], now: float) -> None:
        known, self._seen = self._seen, {}
        for lease in leases:
            record, since = known.get(lease.uid, ((), now))
            self._seen[lease.uid] = (lease.record, since if record == lease.record else now)

    def _is_expired(self, lease: MemberLease, now: float) -> bool:
        """Whether another's lease is held, and was not renewed in time."""
        seconds = self._duration if lease.seconds is None else lease.seconds
        return lease.is_held and lease.token != self._token and now - self._seen[lease.uid][1] >= seconds

    def _is_over(self, token: str, table: ShardTable, now: float) -> bool:
        """Whether the term of an owner is over."""
        if token == self._token:
            return False
        uid = token.rpartition(":")[0]
        for lease in self._view.leases:
            if lease.uid == uid:
                self._absent.pop(token, None)
                return not lease.is_held or lease.token != token
        since = self._absent.setdefault(token, now)
        return now - since >= max(table.seconds.get(token, 0.0), self._duration)

    def _members(self, now: float) -> dict[str, str]:
        """The names of the members that share the collection, by token."""
        others = {
            lease.token: lease.name
            for lease in self._view.leases
            if lease.is_held and lease.division == self._division and not self._is_expired(lease, now)
        }
        return {**others, self._token: self._member}

    def _garbage(self, table: ShardTable, now: float) -> tuple[MemberLease, ...]:
        """Leases that have ended, and own nothing. One member deletes them for all."""
        members = self._members(now)
        if self._member != min(members.values()):
            return ()
        owning = {token.rpartition(":")[0] for token in table.owners}
        return tuple(lease for lease in self._view.leases if not lease.is_held and lease.uid not in owning)

    # The table

    def _readable(self, now: float) -> ShardTable | None:
        """The table; an empty one if there is none and one may be created; None if one must be waited for.

        One that replaces another is settling.
        """
        stored = self._view.table
        uid = stored.uid if stored is not None else ""
        if uid != self._table_uid:
            # A member that knows only the present one need not respect what the other said of us.
            self._lose(self._owned)
        if stored is not None and stored.table is not None:
            self._table_uid, self._creates_from = uid, None
            return stored.table
        is_first = not self._table_uid and self._creates_from is None
        if stored is None and is_first and not self._has_veterans:
            return ShardTable(self._empty.total, self._empty.by)
        self._lose(self._owned)
        if self._creates_from is None:
            # Who has had a table knows that it is lost. For others, the group may be about to create its first one.
            self._creates_from = now if self._table_uid else now + self._duration
        self._table_uid = uid
        if now < self._creates_from:
            return None
        return ShardTable(self._empty.total, self._empty.by, writes=1, settling=self._duration)

    def _is_settling(self, table: ShardTable, now: float) -> bool:
        """Whether owners of an earlier table may still work; counted from when this version of it was first seen."""
        if not table.settling:
            return False
        if not self._is_stored or self._settling[0] != self._version:
            self._settling = (self._version if self._is_stored else "", now)
        return now - self._settling[1] < max(table.settling, self._duration)

    @property
    def _is_stored(self) -> bool:
        """Whether there is a table that can be read."""
        return self._view.table is not None and self._view.table.table is not None

    def _replacement(self, table: ShardTable | None) -> TableWrite | None:
        """The write of an empty table in place of one that is lost."""
        return None if table is None or self._is_stored else TableWrite(table, self._version)

    @property
    def _has_veterans(self) -> bool:
        """Whether others have been here for so long that they must have had a table."""
        return any(lease.is_held and not lease.is_new and lease.token != self._token for lease in self._view.leases)

    def _waits_for_table(self, table: ShardTable | None, now: float) -> str:
        stored = self._view.table
        if table is None and self._creates_from is not None:
            problem = f"cannot be read: {stored.problem}" if stored is not None else "is gone"
            return f"the table {problem}; unless others do, it is replaced in {self._creates_from - now:.1f} s"
        seconds = max(self._duration, table.settling if table is not None else 0.0)
        left = self._settling[1] + seconds - now
        return f"the table was lost; who owned slots may work for another {left:.1f} s"

    def _divide_anew(self, table: ShardTable, over: Collection[str], fences: tuple[MemberLease, ...]) -> Plan:
        """The table divides the collection otherwise: replace it when none of its owners is left."""
        self._lose(self._owned)
        if len(over) < len(table.owners):
            others = len(table.owners) - len(over)
            problem = f"the group is divided into {table.division}, not {self._division}, by {others} other replicas"
            return Plan(fences, waits_for=f"{problem}; give all the same slots and key")
        empty = ShardTable(self._empty.total, self._empty.by, writes=table.writes + 1)
        return Plan(fences, TableWrite(empty, self._version))

    def _next_write(self, table: ShardTable, over: Collection[str], now: float) -> tuple[TableWrite | None, str]:
        members = self._members(now)
        named = table.owners.get(self._token, _NOTHING)
        owners = {slot: members[token] for token, slots in table.owners.items() if token in members for slot in slots}
        assigned = assign(members.values(), table.total, owners)
        wanted = frozenset(slot for slot, member in assigned.items() if member == self._member)
        self._lose(self._owned - named)
        self._lose(self._owned - wanted)
        # What is not in the table any more need not be taken from it.
        self._leaving -= self._drained - named
        self._drained &= self._leaving
        others = (slots for token, slots in table.owners.items() if token != self._token and token not in over)
        taken = frozenset[int]().union(*others)
        claims = wanted - taken - self._owned - self._leaving
        # Drained ones, and those of a claim that was not acknowledged and that are now another's turn.
        releases = (named & self._drained) | (named - wanted - self._owned - self._leaving)
        waits_for = ""
        if blocked := wanted & taken:
            waits_for = f"slots {write_slots(blocked)} are still others'"
        if not claims and not releases:
            return None, waits_for
        own = (named - releases) | claims
        changed = table.changed(self._token, own, self._duration)
        return TableWrite(changed, self._version, claims, releases), waits_for

    @property
    def _version(self) -> str:
        return self._view.table.version if self._view.table is not None else ""

    def _lose(self, slots: frozenset[int]) -> None:
        """Slots must not be worked on any more."""
        self._owned -= slots
        self._leaving |= slots
        self._drained -= slots
