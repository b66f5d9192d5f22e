"""When a replica runs its controllers: always, as the elected leader, or for its share of the objects."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from masthead._controller.controller_runner import wait_ended
from masthead.errors import ManagerStateError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from datetime import datetime

    from masthead._cache.factory.factory import SharedInformerFactory
    from masthead._client.client import Client
    from masthead._controller.controller_runner import ControllerRunner
    from masthead._controller.manager import Manager
    from masthead._controller.options import RunOptions
    from masthead._controller.shard_member import ShardMember
    from masthead._controller.sharded_run import ShardedRun
    from masthead._leaderelection.leader_elector import LeaderElector
    from masthead._record.recorder import EventRecorder
    from masthead.metrics import Metrics

__all__ = ["ElectedReplica", "ReplicaRole", "ShardedReplica", "make_elector", "make_sharded_run"]


class ReplicaRole:
    """The role of the only replica: it always runs its controllers."""

    @property
    def elector(self) -> LeaderElector | None:
        """The leader election, if any."""
        return None

    @property
    def shards(self) -> ShardedRun | None:
        """The replica's share of the objects, if it has one."""
        return None

    @property
    def health_checks(self) -> dict[str, Callable[[], object]]:
        """Checks for ``/healthz``."""
        return {}

    def may_work(self) -> bool:
        """Whether the lease is held, if the role needs one."""
        return True

    async def run(self, runner: ControllerRunner, stopping: asyncio.Event) -> None:
        """Run the controllers until `stopping` is set.

        Raises:
            WorkAbandonedError: If cancelled work does not end.
        """
        del stopping
        await runner.run()


class ElectedReplica(ReplicaRole):
    """The role of a candidate: it runs its controllers while it leads."""

    def __init__(self, elector: LeaderElector) -> None:
        self._elector = elector

    @property
    def elector(self) -> LeaderElector:
        """The leader election."""
        return self._elector

    @property
    def health_checks(self) -> dict[str, Callable[[], object]]:
        """Checks for ``/healthz``."""
        return {"leader-election": self.elector.health_check}

    def may_work(self) -> bool:
        """Whether this replica leads. After a pause of the process, the lease may expire before the elector notices."""
        return self.elector.is_leader

    async def run(self, runner: ControllerRunner, stopping: asyncio.Event) -> None:
        """Run the controllers in every term, until `stopping` is set.

        Raises:
            WorkAbandonedError: If cancelled work does not end.
        """

        async def wait_for_stop() -> None:
            await stopping.wait()
            # A leader finishes its term first. If it loses the lease before that, there is no next term.
            await runner.idle.wait()

        await _campaign(self.elector.run(lambda _: runner.run()), wait_for_stop())


class ShardedReplica(ReplicaRole):
    """The role of a group member: it runs its controllers for its share of the objects."""

    def __init__(self, shards: ShardedRun) -> None:
        self._shards = shards

    @property
    def shards(self) -> ShardedRun:
        """The replica's share of the objects."""
        return self._shards

    @property
    def member(self) -> ShardMember:
        """The membership of the group."""
        return self.shards.member

    @property
    def health_checks(self) -> dict[str, Callable[[], object]]:
        """Checks for ``/healthz``."""
        return {"sharding": self.member.health_check}

    def may_work(self) -> bool:
        """Whether the lease of the membership is held."""
        return self.member.is_member

    async def run(self, runner: ControllerRunner, stopping: asyncio.Event) -> None:
        """Run the controllers with every share, until `stopping` is set.

        Raises:
            WorkAbandonedError: If cancelled work does not end.
        """
        del runner

        async def wait_for_stop() -> None:
            await stopping.wait()
            await self.shards.wait_ended()

        await _campaign(self.shards.run(), wait_for_stop())


async def _campaign(campaigning: Coroutine[object, None, None], stopped: Coroutine[object, None, None]) -> None:
    """Hold a lease until the campaign ends, or `stopped` returns."""
    create_task = asyncio.get_running_loop().create_task
    campaign = create_task(campaigning)

    async def cancel_when_stopped() -> None:
        await stopped
        campaign.cancel()

    stopping = create_task(cancel_when_stopped())
    try:
        await asyncio.wait({campaign})
    finally:
        # A cancelled manager must not leave the lease behind.
        campaign.cancel()
        stopping.cancel()
        await wait_ended([campaign, stopping])
        stopped.close()
    # A cancelled campaign is the normal end; its errors concern the manager.
    if not campaign.cancelled():
        campaign.result()


def make_elector(
    client: Client, options: RunOptions, *, clock: Callable[[], datetime], metrics: Metrics, recorder: EventRecorder
) -> LeaderElector:
    """Create the elector of a manager.

    Raises:
        ManagerStateError: If the options do not name a Lease.
    """
    if not options.leader_election_id:
        raise ManagerStateError("leader election needs the name of a Lease: Manager(leader_election='my-operator')")
    # Imported only where it is needed, to keep the start of other managers short.
    from masthead._leaderelection.leader_elector import LeaderElector

    return LeaderElector(
        client,
        options.leader_election_id,
        options.leader_election_namespace or None,
        identity=options.identity or None,
        lease_duration=options.lease_duration,
        renew_deadline=options.renew_deadline,
        retry_period=options.retry_period,
        clock=clock,
        metrics=metrics,
        recorder=recorder,
    )


def make_sharded_run(
    client: Client,
    manager: Manager,
    options: RunOptions,
    factory: SharedInformerFactory,
    runner: ControllerRunner,
    *,
    clock: Callable[[], datetime],
) -> ShardedRun:
    """Create the sharded run of a manager.

    Raises:
        ManagerStateError: If the manager does not name a group, or has a leader election as well.
    """
    from masthead._controller.shard_member import ShardMember
    from masthead._controller.sharded_run import ShardedRun, sharded_informers

    if options.leader_election:
        raise ManagerStateError(
            "a leader works on all objects, and replicas that share them have no leader: leader_election or sharding"
        )
    if not manager.sharding:
        raise ManagerStateError("sharding needs the name of a group: Manager(sharding='my-operator')")
    member = ShardMember(
        client,
        manager.sharding,
        options.leader_election_namespace or None,
        identity=options.identity or None,
        by=manager.shard_by,
        lease_duration=options.lease_duration,
        renew_deadline=options.renew_deadline,
        retry_period=options.retry_period,
        clock=clock,
    )
    informers = sharded_informers(manager.controllers, factory, manager.shard_by)
    return ShardedRun(member, informers, lambda: list(runner.loops.values()), runner.run)
