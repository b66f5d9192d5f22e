"""Leader election against a real server: what is written is a Lease as client-go has it, and hand-overs work."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from tests.real.informers_recording import config_of

import masthead
import masthead.aio
from masthead.aio import LeaderElector
from masthead.api.coordination.v1 import Lease, LeaseSpec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.real_server import RealServer

    from masthead.aio import Client, ResourceClient
    from masthead.aio.leaderelection import Leadership

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real")]

SHORT: dict[str, Any] = {"lease_duration": 3.0, "renew_deadline": 2.0, "retry_period": 0.2}
PATIENCE = 60.0


@pytest.fixture
async def client(real_server: RealServer) -> AsyncIterator[Client]:
    async with masthead.aio.Client(config_of(real_server)) as made:
        yield made


@pytest.fixture
async def namespace(client: Client) -> str:
    """A namespace of the test's own."""
    made = await client.core_v1.namespaces().create({"metadata": {"generateName": "elected-"}})
    return made.metadata.name


async def test_the_lease_is_as_client_go_has_it(client: Client, namespace: str) -> None:
    elector = LeaderElector(client, "operator", namespace, identity="a", labels={"app": "operator"})
    leases = client.coordination_v1.leases(namespace)

    async def work(leadership: Leadership) -> Lease:
        leadership.check()
        return await leases.get("operator")

    held = await elector.run(work)
    released = await leases.get("operator")

    assert held.metadata.labels == {"app": "operator"}
    assert (held.spec.holder_identity, held.spec.lease_duration_seconds) == ("a", 15)
    assert (held.spec.lease_transitions, held.spec.acquire_time) == (0, held.spec.renew_time)
    assert (released.spec.holder_identity, released.spec.lease_duration_seconds) == ("", 1)


async def test_replicas_take_over_after_a_release_and_after_a_crash(client: Client, namespace: str) -> None:
    order: list[str] = []
    working = 0

    async def work(identity: str, leadership: Leadership) -> None:
        nonlocal working
        working += 1
        assert working == 1
        order.append(f"{identity} {leadership.token.transitions}")
        try:
            await asyncio.sleep(0.5)
        finally:
            working -= 1

    async def run(identity: str, *, releases: bool) -> None:
        elector = LeaderElector(client, "operator", namespace, identity=identity, release_on_exit=releases, **SHORT)
        await elector.run(lambda leadership: work(identity, leadership))

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        for number in range(3):
            group.create_task(run(f"replica-{number}", releases=number != 1))

    assert sorted(each.split()[0] for each in order) == ["replica-0", "replica-1", "replica-2"]
    assert [each.split()[1] for each in order] == ["0", "1", "2"]


async def test_a_record_of_client_go_is_respected_and_taken_over_when_it_expires(
    client: Client, namespace: str
) -> None:
    when = datetime(2020, 1, 1, tzinfo=UTC)  # long ago, by a clock that is not ours
    spec = LeaseSpec(
        holder_identity="go",
        lease_duration_seconds=2,
        acquire_time=when,
        renew_time=when,
        lease_transitions=7,
    )
    leases = client.coordination_v1.leases(namespace)
    await leases.create(Lease.new("operator", spec=spec))
    loop = asyncio.get_running_loop()
    before = loop.time()

    async def work(leadership: Leadership) -> int:
        return leadership.token.transitions

    async with asyncio.timeout(PATIENCE):
        assert await LeaderElector(client, "operator", namespace, **SHORT).run(work) == 8
    assert loop.time() - before >= 2.0


async def test_a_lease_that_is_deleted_or_changed_by_others_keeps_its_leader(client: Client, namespace: str) -> None:
    elector = LeaderElector(client, "operator", namespace, identity="a", **SHORT)
    leases = client.coordination_v1.leases(namespace)

    async def work(leadership: Leadership) -> str:
        first = await leases.get("operator")
        first.metadata.annotations = {"touched": "yes"}
        await leases.update(first)
        await _renewed(leases, first)
        await leases.delete("operator")
        second = await _renewed(leases, first)
        leadership.check()
        return second.metadata.uid if second.metadata.uid != first.metadata.uid else ""

    async with asyncio.timeout(PATIENCE):
        assert await elector.run(work)


async def _renewed(leases: ResourceClient[Lease], before: Lease) -> Lease:
    """The lease after the next renewal, also if it does not exist for a while."""
    while True:
        for each in await leases.list():
            if each.spec.renew_time != before.spec.renew_time:
                return each
        await asyncio.sleep(0.05)


def test_the_blocking_elector_hands_over(real_server: RealServer) -> None:
    with masthead.Client(config_of(real_server)) as client:
        made = client.core_v1.namespaces().create({"metadata": {"generateName": "elected-"}})
        tokens = [
            masthead.LeaderElector(client, "operator", made.metadata.name, **SHORT).run(
                lambda leadership: leadership.token.transitions
            )
            for _ in range(3)
        ]

    assert tokens == [0, 1, 2]
