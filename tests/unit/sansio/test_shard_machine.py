"""The machine of a shard group: the rules of the protocol, one by one. `test_shard_scenarios` combines them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from masthead._sansio.shard_machine import ShardMachine
from masthead._sansio.shard_table import GroupView, MemberLease, ShardTable, StoredTable
from masthead._sansio.sharding import ShardSet

SLOTS = 4
ALL = frozenset(range(SLOTS))


def lease(name: str, *, renewed: int = 1, holder: str | None = None, transitions: int = 0) -> MemberLease:
    """The lease of a member, at some renewal."""
    held_by = name if holder is None else holder
    return MemberLease(name, f"uid-{name}", "7", held_by, 15, transitions, str(renewed), division=f"{SLOTS}-uid")


def view(*leases: MemberLease, version: str = "3", uid: str = "t", **owners: set[int]) -> GroupView:
    """A group whose table names the first term of each owner."""
    slots = {f"uid-{name}:0": frozenset(owned) for name, owned in owners.items()}
    table = ShardTable(SLOTS, "uid", slots, dict.fromkeys(slots, 15.0))
    return GroupView(leases, StoredTable(table, uid, version))


def member(name: str = "a") -> ShardMachine:
    """A machine that has joined."""
    made = ShardMachine(total=SLOTS, by="uid", lease_duration=15)
    made.join(f"uid-{name}:0")
    return made


def owning(*slots: int, seen: GroupView | None = None) -> ShardMachine:
    """A machine that owns slots, of a group of one."""
    machine = member()
    plan = machine.observe(view(lease("a")), 0)
    assert plan.write is not None
    machine.written(replace(plan.write, claims=frozenset(slots)), "t")
    if seen is not None:
        machine.observe(seen, 1)
    return machine


def test_the_first_member_creates_the_table_and_claims_everything() -> None:
    machine = member()

    plan = machine.observe(GroupView((lease("a"),)), 0)

    assert plan.write is not None
    assert (plan.write.version, plan.write.claims) == ("", ALL)
    assert machine.share == ShardSet(total=SLOTS)
    machine.written(plan.write, "t")
    assert machine.share.slots == ALL
    assert machine.observe(view(lease("a"), a=set(ALL)), 1).write is None


def test_nothing_is_owned_before_the_write_is_acknowledged() -> None:
    machine = member()
    machine.observe(view(lease("a")), 0)

    # The write succeeded after all; but another member's write may be under way.
    plan = machine.observe(view(lease("a"), version="4", a=set(ALL)), 1)

    assert not machine.share
    assert plan.write is not None
    assert (plan.write.version, plan.write.claims, plan.write.table.writes) == ("4", ALL, 1)


def test_slots_of_a_member_that_lives_are_not_claimed() -> None:
    machine = member()

    plan = machine.observe(view(lease("a"), lease("b"), b=set(ALL)), 0)

    assert plan.write is None
    assert plan.waits_for.endswith("are still others'")


def test_an_expired_lease_is_ended_before_its_slots_are_claimed() -> None:
    machine = member()
    group = view(lease("a"), lease("b"), b=set(ALL))
    machine.observe(group, 0)
    assert machine.observe(group, 14.9).fences == ()

    plan = machine.observe(group, 15.0)
    assert [fence.name for fence in plan.fences] == ["b"]
    assert plan.write is None

    ended = view(lease("a"), lease("b", holder=""), b=set(ALL))
    plan = machine.observe(ended, 15.1)
    assert plan.fences == ()
    assert plan.write is not None
    assert plan.write.claims == ALL
    assert list(plan.write.table.owners) == ["uid-a:0"]


def test_only_a_renewal_restarts_the_wait() -> None:
    machine = member()
    machine.observe(view(lease("a"), lease("b", renewed=1), b=set(ALL)), 0)
    machine.observe(view(lease("a"), lease("b", renewed=2), b=set(ALL)), 10)
    touched = view(lease("a"), replace(lease("b", renewed=2), version="8"), b=set(ALL))

    assert machine.observe(touched, 24.9).fences == ()
    assert machine.observe(touched, 25.0).fences


def test_a_new_term_of_the_same_lease_is_another_owner() -> None:
    machine = member()

    plan = machine.observe(view(lease("a"), lease("b", transitions=1), b=set(ALL)), 0)

    assert plan.write is not None
    assert len(plan.write.claims) == SLOTS // 2


def test_slots_of_a_deleted_lease_are_claimed_after_its_duration() -> None:
    machine = member()
    group = view(lease("a"), b=set(ALL))

    assert machine.observe(group, 0).write is None
    assert machine.observe(group, 14.9).write is None
    assert machine.observe(group, 15).write is not None


def test_a_slot_is_released_when_it_is_drained_and_not_before() -> None:
    machine = owning(*ALL)
    both = view(lease("a"), lease("b"), a=set(ALL))

    assert machine.observe(both, 1).write is None
    kept = machine.share
    assert len(kept) == SLOTS // 2
    assert machine.draining == ALL - kept.slots
    machine.acknowledge(ShardSet.everything(total=SLOTS))  # of an earlier share
    assert machine.observe(both, 2).write is None

    machine.acknowledge(kept)
    plan = machine.observe(both, 3)
    assert plan.write is not None
    assert (plan.write.releases, plan.write.claims) == (ALL - kept.slots, frozenset())
    assert plan.write.table.owners == {"uid-a:0": kept.slots}
    machine.written(plan.write, "t")
    assert machine.observe(view(lease("a"), lease("b"), a=set(kept.slots)), 4).write is None


def test_a_slot_that_leaves_is_not_taken_back_before_it_is_released() -> None:
    machine = owning(*ALL)
    machine.observe(view(lease("a"), lease("b"), a=set(ALL)), 1)
    kept = machine.share

    assert machine.observe(view(lease("a"), a=set(ALL)), 2).write is None  # the other is gone again
    assert machine.share == kept

    machine.acknowledge(kept)
    plan = machine.observe(view(lease("a"), a=set(ALL)), 3)
    assert plan.write is not None
    assert plan.write.releases == ALL - kept.slots
    machine.written(plan.write, "t")
    plan = machine.observe(view(lease("a"), a=set(kept.slots)), 4)
    assert plan.write is not None
    assert plan.write.claims == ALL - kept.slots


def test_a_member_without_a_listed_lease_loses_its_slots() -> None:
    for group in (
        view(lease("b"), a=set(ALL)),
        view(lease("a", holder=""), a=set(ALL)),
        view(lease("a", transitions=1), a=set(ALL)),
    ):
        machine = owning(*ALL)
        assert not machine.observe(group, 1).is_member
        assert not machine.share
        assert machine.draining == ALL


def test_slots_that_the_table_gives_to_another_are_lost() -> None:
    machine = owning(*ALL)

    machine.observe(view(lease("a"), lease("b"), a={0, 1}, b={2, 3}), 1)

    assert machine.share.slots == {0, 1}
    assert machine.draining == {2, 3}


@pytest.mark.parametrize("table", [None, StoredTable(None, "t", "9", "garbled"), StoredTable(None, "u", "9", "?")])
def test_a_table_that_is_lost_is_waited_for(table: StoredTable | None) -> None:
    machine = owning(*ALL, seen=view(lease("a"), a=set(ALL)))
    group = GroupView((lease("a"),), table)

    plan = machine.observe(group, 10)
    assert machine.share == ShardSet(total=SLOTS)
    assert "who owned slots may work for another 15.0 s" in plan.waits_for
    assert plan.write is not None
    assert (plan.write.claims, plan.write.table.settling) == (frozenset(), 15)
    assert plan.write.version == ("9" if table is not None else "")
    machine.written(plan.write, "n")
    machine.acknowledge(ShardSet(total=SLOTS))

    settling = settling_view("10")
    assert machine.observe(settling, 11).write is None
    assert machine.observe(settling, 25.9).write is None
    plan = machine.observe(settling, 26)
    assert plan.write is not None
    assert (plan.write.claims, plan.write.table.settling) == (ALL, 0)


def settling_view(version: str) -> GroupView:
    """A group of one whose table was lost and replaced."""
    return GroupView((lease("a"),), StoredTable(ShardTable(SLOTS, "uid", settling=15), "n", version))


def test_a_member_stops_when_a_lost_table_is_replaced_in_the_same_lease() -> None:
    machine = owning(0, 1)
    assert len(machine.share) == 2

    machine.observe(GroupView((lease("a"),), StoredTable(ShardTable(SLOTS, "uid", settling=15), "t", "10")), 11)

    assert len(machine.share) == 0


def test_a_table_lost_twice_settles_twice() -> None:
    machine = member()
    machine.observe(settling_view("10"), 0)

    assert machine.observe(settling_view("12"), 15).write is None
    assert machine.observe(settling_view("12"), 29.9).write is None
    assert machine.observe(settling_view("12"), 30).write is not None


def test_a_long_pause_voids_the_knowledge_of_owners() -> None:
    machine = member()
    veterans = GroupView((lease("a"), lease("b")))
    assert machine.observe(veterans, 0).write is None

    # Others have had a table since, which was deleted just now.
    plan = machine.observe(veterans, 100)

    assert plan.write is not None
    assert (plan.write.claims, plan.write.table.settling) == (frozenset(), 15)


def test_a_table_of_another_lease_is_another_table() -> None:
    machine = owning(*ALL, seen=view(lease("a"), a=set(ALL)))

    machine.observe(view(lease("a"), uid="u", a=set(ALL)), 2)

    assert not machine.share
    assert machine.draining == ALL


def test_a_member_without_a_table_among_established_ones_waits() -> None:
    machine = member()
    group = GroupView((lease("a"), lease("b")))

    assert machine.observe(group, 0).write is None
    assert machine.observe(group, 15).write is not None

    fresh = member()
    beginners = GroupView((lease("a"), replace(lease("b"), is_new=True)))
    assert fresh.observe(beginners, 0).write is not None


def test_the_division_of_a_group_changes_when_all_owners_have_ended() -> None:
    table = ShardTable(8, "uid", {"uid-b:0": frozenset({1})}, {"uid-b:0": 15.0})
    stored = StoredTable(table, "t", "3")
    other = replace(lease("b"), division="8-uid")
    machine = member()

    plan = machine.observe(GroupView((lease("a"), other), stored), 0)
    assert plan.write is None
    assert "divided into 8-uid, not 4-uid" in plan.waits_for

    plan = machine.observe(GroupView((lease("a"), replace(other, holder="")), stored), 1)
    assert plan.write is not None
    assert (plan.write.table.total, plan.write.claims, plan.write.version) == (SLOTS, frozenset(), "3")


def test_members_with_another_division_get_no_share() -> None:
    machine = member()

    plan = machine.observe(view(lease("a"), replace(lease("b"), division="8-uid")), 0)

    assert plan.write is not None
    assert plan.write.claims == ALL


def test_one_member_deletes_ended_leases_without_slots() -> None:
    ended, owner = lease("c", holder=""), lease("d", holder="")
    group = view(lease("a"), lease("b"), ended, owner, a={0, 1}, b={2}, d={3})

    assert [deletion.name for deletion in member("a").observe(group, 0).deletions] == ["c"]
    assert member("b").observe(group, 0).deletions == ()


def test_a_new_term_begins_without_slots() -> None:
    machine = owning(*ALL)

    machine.join("uid-a:1")

    assert not machine.share
    assert not machine.draining
    assert machine.token == "uid-a:1"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"total": 0, "by": "uid"}',
        '{"total": 4, "by": "name"}',
        '{"total": 4, "by": "uid", "owners": {"a": {"slots": "4"}}}',
        '{"total": 4, "by": "uid", "owners": {"a": {"slots": "1"}, "b": {"slots": "0-2"}}}',
    ],
)
def test_an_invalid_table_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        ShardTable.read(text)


def test_a_table_is_read_as_it_was_written() -> None:
    table = ShardTable(8, "namespace", {"u:1": frozenset({0, 1, 5})}, {"u:1": 15.0}, 3)

    assert table.write() == (
        '{"total":8,"by":"namespace","writes":3,"owners":{"u:1":{"slots":"0-1,5","seconds":15.0}}}'
    )
    assert ShardTable.read(table.write()) == table
    settling = ShardTable(8, "uid", settling=15.0)
    assert settling.write() == '{"total":8,"by":"uid","settling":15.0}'
    assert ShardTable.read(settling.write()) == settling
