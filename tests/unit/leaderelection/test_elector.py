"""A leader elector and its work: when it runs, when it ends, and what becomes of the lease."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.unit.leaderelection.replicas import Work, cluster

from masthead.aio import LeaderElector
from masthead.errors import ArgumentError, ClosedError, LeadershipLostError, NameFormatError
from masthead.testing.virtual_time import in_virtual_time, now

if TYPE_CHECKING:
    from masthead.aio.leaderelection import Leadership


@in_virtual_time
async def test_run_returns_what_the_work_returns_and_releases_the_lease() -> None:
    async with cluster() as replicas:
        elector = await replicas.elector("a")
        seen: list[object] = []

        async def work(leadership: Leadership) -> int:
            seen.extend([elector.is_leader, elector.leader, leadership.is_valid, await replicas.holder()])
            return 42

        assert await elector.run(work) == 42
        assert seen == [True, "a", True, "a"]
        spec = (await replicas.lease())["spec"]
        assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("", 1)
        assert (elector.is_leader, elector.leader) == (False, "")


@in_virtual_time
async def test_run_raises_what_the_work_raises_after_the_release() -> None:
    async with cluster() as replicas:
        elector = await replicas.elector("a")

        async def work(_: Leadership) -> None:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await elector.run(work)
        assert await replicas.holder() == ""


@in_virtual_time
async def test_the_lease_can_be_kept_on_exit() -> None:
    async with cluster() as replicas:
        elector = await replicas.elector("a", release_on_exit=False)

        async def work(_: Leadership) -> None:
            pass

        await elector.run(work)
        assert await replicas.holder() == "a"


@in_virtual_time
async def test_the_next_leads_as_soon_as_the_lease_is_released() -> None:
    async with cluster() as replicas:
        log: list[str] = []
        first = replicas.start(await replicas.elector("a"), work := Work("a", log)).task
        await work.started.wait()
        second = Work("b", log)
        replicas.start(await replicas.elector("b"), second)
        await asyncio.sleep(100)

        first.cancel()
        await second.started.wait()

        assert log[:3] == ["0 a starts", "100 a is cancelled", "100 a ends"]
        assert now() < 105  # a try, not the whole lease


@in_virtual_time
async def test_the_next_leads_after_the_lease_has_expired_if_it_is_not_released() -> None:
    async with cluster() as replicas:
        elector = await replicas.elector("a", release_on_exit=False)
        first = replicas.start(elector, work := Work("a")).task
        await work.started.wait()
        second = Work("b")
        replicas.start(await replicas.elector("b"), second)
        await asyncio.sleep(100)

        first.cancel()
        await second.started.wait()

        assert 112 < now() < 125  # the rest of a lease, and a try; virtual time may pass while data is on its way
        assert second.leadership is not None
        assert second.leadership.token.transitions == 1


@in_virtual_time
async def test_a_cancelled_elector_renews_until_its_work_has_ended_and_releases_then() -> None:
    async with cluster() as replicas:
        log: list[str] = []
        first = replicas.start(await replicas.elector("a"), work := Work("a", log, stop_seconds=60)).task
        await work.started.wait()
        second = Work("b", log)
        replicas.start(await replicas.elector("b"), second)
        await asyncio.sleep(10)

        first.cancel()
        await second.started.wait()

        assert log[:3] == ["0 a starts", "10 a is cancelled", "70 a ends"]
        assert first.cancelled()
        assert work.leadership is not None
        assert not work.leadership.is_valid


@in_virtual_time
async def test_work_that_ends_well_when_it_is_cancelled_is_not_an_error() -> None:
    async with cluster() as replicas:

        async def work(_: Leadership) -> str:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return "tidied up"
            return ""

        task = replicas.start(await replicas.elector("a"), work).task
        await asyncio.sleep(1)
        task.cancel()

        assert await task == "tidied up"


@in_virtual_time
async def test_work_is_cancelled_at_the_renew_deadline_and_runs_again_in_the_next_term() -> None:
    async with cluster() as replicas:
        elector = await replicas.elector("a")
        replicas.start(elector, work := Work("a"))
        await asyncio.sleep(61)  # the last renewal was sent a second ago
        fault = replicas.server.faults.fail(500, resource="leases", times=None)
        await asyncio.sleep(30)
        assert work.log == ["0 a starts", "70 a is cancelled", "70 a ends"]
        leads = [elector.is_leader]

        fault.remove()
        await work.started.wait()

        assert [*leads, elector.is_leader] == [False, True]
        assert work.leadership is not None
        assert work.leadership.token.transitions == 1


@in_virtual_time
async def test_an_elector_that_does_not_campaign_again_raises() -> None:
    async with cluster() as replicas:
        task = replicas.start(await replicas.elector("a", recampaign=False), Work("a")).task
        await asyncio.sleep(1)
        replicas.server.faults.fail(500, resource="leases", times=None)

        with pytest.raises(LeadershipLostError, match=r"lease default/operator: the lease was not renewed for 10 s"):
            await task


@in_virtual_time
async def test_what_work_raises_after_a_loss_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with cluster() as replicas:
        runs = 0

        async def work(_: Leadership) -> None:
            nonlocal runs
            runs += 1
            try:
                await asyncio.Event().wait()
            finally:
                raise ZeroDivisionError

        replicas.start(await replicas.elector("a"), work)
        await asyncio.sleep(1)
        with_fault = replicas.server.faults.fail(500, resource="leases", times=None)
        await asyncio.sleep(20)
        with_fault.remove()
        await asyncio.sleep(20)

        assert runs == 2
        assert "the work failed after its leadership was lost" in caplog.text


@in_virtual_time
async def test_a_check_that_fails_in_the_work_is_a_loss_and_no_error() -> None:
    async with cluster() as replicas:
        starts = []

        async def work(leadership: Leadership) -> None:
            starts.append(now())
            while True:
                leadership.check()
                # The loop stands still, as in a process that is paused or a call that blocks.
                if len(starts) == 1:
                    asyncio.get_running_loop().advance(12.0)  # type: ignore[attr-defined]
                else:
                    await asyncio.sleep(1)

        replicas.start(await replicas.elector("a"), work)
        await asyncio.sleep(40)

        assert len(starts) == 2


@in_virtual_time
async def test_a_leadership_is_over_by_the_clock_before_anything_else_notices() -> None:
    async with cluster() as replicas:
        replicas.start(await replicas.elector("a"), work := Work("a"))
        await work.started.wait()
        leadership = work.leadership
        assert leadership is not None
        leadership.check()
        assert leadership.remaining == pytest.approx(10.0, abs=0.1)

        asyncio.get_running_loop().advance(10.0)  # type: ignore[attr-defined]

        assert not leadership.is_valid
        with pytest.raises(LeadershipLostError, match="held as a: the lease was not renewed in time; stop"):
            leadership.check()
        assert leadership.remaining == 0.0


@in_virtual_time
async def test_the_loss_can_be_waited_for() -> None:
    async with cluster() as replicas:
        replicas.start(await replicas.elector("a"), work := Work("a"))
        await work.started.wait()
        assert work.leadership is not None
        waiting = asyncio.get_running_loop().create_task(work.leadership.wait_for_loss())
        await asyncio.sleep(20)
        assert not waiting.done()

        await replicas.edit(holderIdentity="other")
        await waiting
        await work.leadership.wait_for_loss()  # at once

        assert now() < 25


@in_virtual_time
async def test_work_that_ignores_its_cancellation_is_reported_when_the_lease_expires(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with cluster() as replicas:
        overdue: list[float] = []
        elector = await replicas.elector("a", on_overdue=lambda: overdue.append(now()))
        replicas.start(elector, Work("a", stop_seconds=60))
        await asyncio.sleep(1)
        fault = replicas.server.faults.fail(500, resource="leases", times=None)
        await asyncio.sleep(13)
        assert (elector.is_leader, elector.is_overdue) == (False, False)
        elector.health_check(0)

        await asyncio.sleep(10)

        assert overdue == [pytest.approx(15, abs=0.1)]
        assert elector.is_overdue
        assert "the work has not ended though its lease has expired" in caplog.text
        elector.health_check(20)
        with pytest.raises(LeadershipLostError, match="9 s after its lease expired; restart the process"):
            elector.health_check(8)
        fault.remove()
        await asyncio.sleep(5)
        assert not elector.is_overdue  # renewed: nobody else can lead while it ends


@in_virtual_time
async def test_an_elector_runs_once_at_a_time_and_may_run_again() -> None:
    async with cluster() as replicas:
        elector = await replicas.elector("a")
        task = replicas.start(elector, work := Work("a")).task
        await work.started.wait()
        with pytest.raises(RuntimeError, match="lease default/operator runs already"):
            await elector.run(Work("b"))
        task.cancel()
        await asyncio.wait({task})

        replicas.start(elector, work)
        await work.started.wait()


@in_virtual_time
async def test_a_campaign_can_be_cancelled_at_any_time() -> None:
    async with cluster() as replicas:
        replicas.start(await replicas.elector("a"), Work("a"))
        await asyncio.sleep(5)  # or b might be the first
        task = replicas.start(await replicas.elector("b"), Work("b")).task
        await asyncio.sleep(30)

        task.cancel()
        await asyncio.wait({task})

        assert task.cancelled()
        assert await replicas.holder() == "a"


@in_virtual_time
async def test_a_lease_that_was_acquired_while_the_campaign_was_cancelled_is_released() -> None:
    async with cluster() as replicas:
        elector = await replicas.elector("a")
        task = replicas.start(elector, Work("a")).task
        while not any(request.method == "POST" for request in replicas.server.requests):  # noqa: ASYNC110
            await asyncio.sleep(0)

        task.cancel()
        await asyncio.wait({task})

        assert task.cancelled()
        assert await replicas.holder() == ""


@in_virtual_time
async def test_a_lease_whose_renewal_was_in_flight_when_the_elector_was_cancelled_is_released() -> None:
    async with cluster() as replicas:
        elector = await replicas.elector("a")
        task = replicas.start(elector, work := Work("a")).task
        await work.started.wait()
        slow = replicas.server.faults.delay(1, resource="leases", verb="update")
        while not slow.hits:  # noqa: ASYNC110
            await asyncio.sleep(0.1)

        task.cancel()
        await asyncio.wait({task})

        assert task.cancelled()
        assert await replicas.holder() == ""


@in_virtual_time
async def test_a_closed_client_ends_the_work_and_the_run() -> None:
    async with cluster() as replicas:
        client = await replicas.new_client()
        task = replicas.start(LeaderElector(client, "operator", "default"), work := Work("a")).task
        await work.started.wait()

        await client.close()

        with pytest.raises(ClosedError):
            await task
        assert work.log[-1].endswith("ends")


@in_virtual_time
async def test_several_elections_in_one_process_are_independent() -> None:
    async with cluster() as replicas:
        works = [Work(name) for name in ("one", "two")]
        for work in works:
            replicas.start(LeaderElector(replicas.client, work.title, "default"), work)
        for work in works:
            await work.started.wait()

        leases = await replicas.client.dynamic("coordination.k8s.io/v1", "leases", namespace="default").list()
        assert {lease.metadata.name for lease in leases} == {"one", "two"}


@in_virtual_time
async def test_a_plain_function_is_refused() -> None:
    async with cluster() as replicas:
        elector = await replicas.elector("a")

        with pytest.raises(ArgumentError, match="give a coroutine function"):
            await elector.run(lambda _: None)  # type: ignore[arg-type,return-value]


@in_virtual_time
async def test_names_labels_and_durations_are_checked_before_anything_is_sent() -> None:
    async with cluster() as replicas:
        with pytest.raises(NameFormatError, match="the name of the lease"):
            LeaderElector(replicas.client, "My Operator")
        with pytest.raises(NameFormatError, match="the namespace of the lease"):
            LeaderElector(replicas.client, "operator", "My Namespace")
        with pytest.raises(ArgumentError, match="the label"):
            LeaderElector(replicas.client, "operator", labels={"a b": "c"})
        with pytest.raises(ArgumentError, match="lease_duration > renew_deadline"):
            LeaderElector(replicas.client, "operator", lease_duration=10)
        with pytest.raises(ArgumentError, match="identity is empty"):
            LeaderElector(replicas.client, "operator", identity="")


@in_virtual_time
async def test_identities_are_unique_by_default() -> None:
    async with cluster() as replicas:
        identities = {LeaderElector(replicas.client, "operator").identity for _ in range(3)}

        assert len(identities) == 3
        assert all("_" in identity for identity in identities)
