"""The sharding protocol in random scenarios: no two replicas work on one slot, and in the end every slot is worked on.

``MASTHEAD_SHARD_SCENARIOS=5000`` runs more of them, and ``MASTHEAD_SHARD_SEED=17`` one alone. Replicas that break a
rule of the protocol are detected, one by one: so the scenarios can fail.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.unit.sansio.shard_simulator import TIMING, Rules, SafetyError, World

from masthead._sansio.lease_records import LeaseTiming
from masthead._sansio.shard_machine import ShardMachine

if TYPE_CHECKING:
    from masthead._sansio.shard_table import GroupView, MemberLease, Plan, ShardTable

SEED = int(os.environ.get("MASTHEAD_SHARD_SEED", "-1"))
SCENARIOS = int(os.environ.get("MASTHEAD_SHARD_SCENARIOS", "40"))
SEEDS = range(SCENARIOS) if SEED < 0 else [SEED]
CHUNK = 20
ISOLATION = ("isolate", *["nothing"] * 7)


@pytest.mark.parametrize("first", SEEDS[::CHUNK])
def test_every_slot_is_eventually_worked_on_by_exactly_one_replica(first: int) -> None:
    for seed in range(first, min(first + CHUNK, SEEDS[-1] + 1)):
        try:
            World(seed).run()
        except AssertionError as error:
            raise AssertionError(f"{error}; again with MASTHEAD_SHARD_SEED={seed}") from error


def test_a_returning_replica_does_not_replace_a_table_immediately() -> None:
    """It had seen a group without a table, was paused, and came back when another table had just been deleted."""
    World(200213).run()


class ClaimsBeforeAcknowledgement(ShardMachine):
    """Works on what it has claimed before the write was acknowledged."""

    def observe(self, view: GroupView, now: float) -> Plan:
        plan = super().observe(view, now)
        if plan.write is not None:
            self._owned |= plan.write.claims
        return plan


class TakesAbsentTermsForOver(ShardMachine):
    """Does not wait after a lease was deleted."""

    def _is_over(self, token: str, table: ShardTable, now: float) -> bool:
        uids = {lease.uid for lease in self._view.leases}
        return token.rpartition(":")[0] not in uids or super()._is_over(token, table, now)


class FencesTooEarly(ShardMachine):
    """Ends leases before their duration is over."""

    def _is_expired(self, lease: MemberLease, now: float) -> bool:
        return super()._is_expired(lease, now + 0.4 * TIMING.lease_duration)


class TakesAnything(ShardMachine):
    """Takes slots from members that are alive."""

    def _is_over(self, token: str, table: ShardTable, now: float) -> bool:
        del table, now
        return token != self._token


class ClaimsAtOnce(ShardMachine):
    """Does not wait after the table was replaced."""

    def _is_settling(self, table: ShardTable, now: float) -> bool:
        return super()._is_settling(table, now) and not self._is_stored


@pytest.mark.slow
@pytest.mark.parametrize(
    "rules",
    [
        Rules(machine=ClaimsBeforeAcknowledgement),
        Rules(machine=TakesAbsentTermsForOver, troubles=("sabotage", "cut")),
        Rules(machine=FencesTooEarly, troubles=ISOLATION, has_extreme_clocks=True),
        Rules(machine=TakesAnything),
        Rules(machine=ClaimsAtOnce, troubles=("cut", "join", "delete table")),
        Rules(drains=False, troubles=("join", "leave", "nothing")),
        Rules(stops=False),
        Rules(honours_conditions=False),
        Rules(looks_at_table=False, troubles=("blind", "join", "delete table")),
        # A member that has not seen the table stops anyway, so that this is found only without that rule.
        Rules(
            timing=LeaseTiming(14.9, 14.8, 2.0),
            looks_at_table=False,
            troubles=ISOLATION,
            has_extreme_clocks=True,
        ),
    ],
    ids=lambda rules: _name(rules),
)
def test_a_replica_that_breaks_a_rule_is_found_out(rules: Rules) -> None:
    for seed in range(2_000):
        try:
            World(seed, rules).run()
        except SafetyError:
            return
        except AssertionError:  # it has not come to rest, which is no surprise
            continue
    pytest.fail("nothing was found")


def _name(rules: Rules) -> str:
    changed = [name for name, value in vars(rules).items() if value != vars(Rules())[name]]
    return rules.machine.__name__ if "machine" in changed else " ".join(changed)
