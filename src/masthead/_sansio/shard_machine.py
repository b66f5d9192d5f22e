"""Assigns slots to replicas: a table on the server, and one lease per replica.

::

    lease of A ──renewed by A──┐                        ┌── A: 0-31        A works on 0-31
    lease of B ──renewed by B──┼── listed together ── table ── B: 32-63    B works on 32-63
    lease of C ──ended─────────┘                        └── C: nothing     C drains, or has ended

    a slot:   owned by A ──drained, released by A──> free ──claimed by B──> owned by B
                    └──the lease of A has ended────────────claimed by B──────^

Each replica is a *member*: it holds its own Lease by the rules of leader election (`masthead._sansio.leases`), and each
term of holding it has a *token*, the lease's uid and transitions. The table has the token that owns each slot. It is an
annotation of another Lease, and every write of it is conditional on the resource version that was read.

The rules:

1. A member adds only its own token to the table, and removes another's only if that term has ended.
2. A term has ended when its lease has no holder, or another term's transitions. Its member ends it after its work has
   ended. Another member ends it (*fences* it) if it has received no new record for the lease duration, by its own
   clock, with a write conditional on the version that it read then. A term that has ended never begins again.
3. A member works on a slot only after an acknowledged write of the table with its token for the slot, and while its own
   term is valid: until the renew deadline after sending the last acknowledged renewal, by its own clock, and after
   sending the last successful read of the table.
4. Before a member removes its own token from a slot, its work on the slot has ended (*drain, then move*), and it does
  not
   work on the slot again before rule 3 holds again.

Why no two members work on one slot at the same time: Let A work on a slot. By 3, a write of A had A's token there. Only
A removes it while A's term lasts (1), and A does so only without work (4). So until A's term ends, all writes leave the
slot to A, since each is conditional on the state that it was computed from, and by 3 no other member works on it. If A
ends its term itself, its work has ended. If B fences it, B has waited for the lease duration since it *received* A's
last record, and A could not renew it afterwards, because B's conditional write came first. A *sent* that record
earlier, and stops at the renew deadline after that. So A has stopped before B's write, whatever the delays, if no clock
runs faster than another by more than lease duration / renew deadline.

Views of the membership may differ and be wrong: they decide who claims a slot, never who may work on it. The
assumptions are that the server honours conditional requests, and that work stops when it must; see
`docs/scaling-out.md` for the limits.

If the lease of an owner was deleted, its term counts as ended a lease duration after the first observation.

If the table was deleted or is invalid, its owners notice that, or stop because they cannot read it, within the renew
deadline. A member replaces it by an empty table that is *settling*: no member claims a slot before a lease duration has
passed since it first observed that table. So all owners of the lost table have stopped, even of a table that this
member has never seen: others may have created and lost one between two observations. Only the first table of a group
need not settle.
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
    """The state machine of one replica in a group.

    The caller lists the leases of the group, reports them, performs the plan, and reports its success::

        machine.join(token)                         # the own lease is held
        while True:
            plan = machine.observe(view, now)       # `now` is when the view arrived, or later
            ...                                     # end leases; write the table:
            machine.written(plan.write, uid)        # only if it was acknowledged
            share = machine.share                   # what may be worked on; until nothing else is worked on:
            machine.acknowledge(share)

    Args:
        total: The number of slots.
        by: The hashed field of an object.
        lease_duration: The lease duration of this member, in seconds.
    """

    def __init__(self, *, total: int, by: ShardKey, lease_duration: float) -> None:
        self._empty = self._share = ShardSet(total=total, by=by)
        self._duration = lease_duration
        self._division = division_of(total, by)
        self._seen: dict[str, tuple[tuple[object, ...], float]] = {}
        """The record of each lease, by uid, and the time of its first observation."""
        self._absent: dict[str, float] = {}
        """Owners in the table without a lease, and the time of the first observation."""
        self._table_uid = ""
        self._creates_from: float | None = None
        """The time from which a missing table may be replaced; None if it is not missing."""
        self._settling = ("", 0.0)
        """The version of a settling table, and the time of its first observation."""
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
        """The slots whose work must end, and has not been acknowledged to have ended."""
        return self._leaving - self._drained

    def join(self, token: str) -> None:
        """Begin a new term of the own lease. All work of earlier terms has ended."""
        self._token = token
        self._owned = self._leaving = self._drained = _NOTHING

    def acknowledge(self, share: ShardSet) -> None:
        """Report that no work runs outside of an earlier share, and none will begin."""
        self._drained |= self._leaving - share.slots

    def written(self, write: TableWrite, uid: str) -> None:
        """Report that the server has acknowledged the write of the last plan, in a lease with this uid."""
        self._table_uid, self._creates_from = uid, None
        self._leaving -= write.releases
        self._drained -= write.releases
        self._owned |= write.claims

    def observe(self, view: GroupView, now: float) -> Plan:
        """Report the leases of the group, and a time not before their arrival.

        Returns:
            The next actions.
        """
        self._view = view
        self._note_records(view.leases, now)
        # By token, not by name: after a restart, the lease may have an earlier term of the same name.
        self._member = next((lease.name for lease in view.leases if lease.token == self._token and lease.is_held), "")
        if not self._member:
            self._lose(self._owned)
            return Plan(is_member=False)
        # Fencing comes first: a slot of an expired member is free only after its term has ended.
        fences = tuple(lease for lease in view.leases if self._is_expired(lease, now))
        table = self._readable(now)
        if table is None or self._is_settling(table, now):
            # A settling table has no owners. This member may not have seen the loss of the table before it.
            self._lose(self._owned)
            return Plan(fences, self._replacement(table), waits_for=self._waits_for_table(table, now))
        over = {token for token in table.owners if self._is_over(token, table, now)}
        self._absent = {token: since for token, since in self._absent.items() if token in table.owners}
        if table.division != self._division:
            return self._replace_division(table, over, fences)
        write, waits_for = self._next_write(table, over, now)
        return Plan(fences, write, self._garbage(table, now), waits_for=waits_for)

    def _note_records(self, leases: Iterable[MemberLease], now: float) -> None:
        known, self._seen = self._seen, {}
        for lease in leases:
            record, since = known.get(lease.uid, ((), now))
            self._seen[lease.uid] = (lease.record, since if record == lease.record else now)

    def _is_expired(self, lease: MemberLease, now: float) -> bool:
        """Whether another's lease is held, but was not renewed in time."""
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
        """The names of the live members with the same division, by token."""
        others = {
            lease.token: lease.name
            for lease in self._view.leases
            if lease.is_held and lease.division == self._division and not self._is_expired(lease, now)
        }
        return {**others, self._token: self._member}

    def _garbage(self, table: ShardTable, now: float) -> tuple[MemberLease, ...]:
        """Ended leases without slots. One member deletes them for all."""
        # The first by name, so that members do not delete the same leases.
        members = self._members(now)
        if self._member != min(members.values()):
            return ()
        owning = {token.rpartition(":")[0] for token in table.owners}
        return tuple(lease for lease in self._view.leases if not lease.is_held and lease.uid not in owning)

    def _readable(self, now: float) -> ShardTable | None:
        """The table; an empty one if none exists and one may be created; None if the member must wait for one.

        A table that replaces another is settling.
        """
        stored = self._view.table
        uid = stored.uid if stored is not None else ""
        if uid != self._table_uid:
            # Members that know only the current table do not respect our slots in the earlier one.
            self._lose(self._owned)
        if stored is not None and stored.table is not None:
            self._table_uid, self._creates_from = uid, None
            return stored.table
        is_first = not self._table_uid and self._creates_from is None
        if stored is None and is_first and not self._has_established_members:
            return ShardTable(self._empty.total, self._empty.by)
        self._lose(self._owned)
        if self._creates_from is None:
            # A member that has seen a table knows that it is lost. For others, the group may be about to create the
            # first.
            self._creates_from = now if self._table_uid else now + self._duration
        self._table_uid = uid
        if now < self._creates_from:
            return None
        return ShardTable(self._empty.total, self._empty.by, writes=1, settling=self._duration)

    def _is_settling(self, table: ShardTable, now: float) -> bool:
        """Whether owners of an earlier table may still work, counted from the first observation of this version."""
        if not table.settling:
            return False
        if not self._is_stored or self._settling[0] != self._version:
            self._settling = (self._version if self._is_stored else "", now)
        return now - self._settling[1] < max(table.settling, self._duration)

    @property
    def _is_stored(self) -> bool:
        """Whether a readable table is stored."""
        return self._view.table is not None and self._view.table.table is not None

    def _replacement(self, table: ShardTable | None) -> TableWrite | None:
        """The write of an empty table that replaces a lost one."""
        return None if table is None or self._is_stored else TableWrite(table, self._version)

    @property
    def _has_established_members(self) -> bool:
        """Whether other members have run long enough to have had a table."""
        return any(lease.is_held and not lease.is_new and lease.token != self._token for lease in self._view.leases)

    def _waits_for_table(self, table: ShardTable | None, now: float) -> str:
        stored = self._view.table
        if table is None and self._creates_from is not None:
            problem = f"cannot be read: {stored.problem}" if stored is not None else "is gone"
            return f"the table {problem}; unless others do, it is replaced in {self._creates_from - now:.1f} s"
        seconds = max(self._duration, table.settling if table is not None else 0.0)
        left = self._settling[1] + seconds - now
        return f"the table was lost; who owned slots may work for another {left:.1f} s"

    def _replace_division(self, table: ShardTable, over: Collection[str], fences: tuple[MemberLease, ...]) -> Plan:
        """Replace a table with another division, when all of its owners have ended."""
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
        # Slots that have left the table need no release.
        self._leaving -= self._drained - named
        self._drained &= self._leaving
        others = (slots for token, slots in table.owners.items() if token != self._token and token not in over)
        taken = frozenset[int]().union(*others)
        claims = wanted - taken - self._owned - self._leaving
        # Drained slots, and slots of an unacknowledged claim that are assigned to another member by now.
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
        """Stop the work on slots."""
        self._owned -= slots
        self._leaving |= slots
        self._drained -= slots
