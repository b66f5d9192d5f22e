"""What may be in the way of an election: permissions, namespaces, other writers, clocks, conflicts."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry
from tests.unit.leaderelection.replicas import Work, cluster

from masthead.aio import LeaderElector, Unstructured
from masthead.errors import ForbiddenError, NotFoundError
from masthead.metrics import PrometheusMetrics
from masthead.testing.virtual_time import in_virtual_time, now

if TYPE_CHECKING:
    from masthead.aio.leaderelection import Leadership

LEASES = ("coordination.k8s.io/v1", "leases")


@in_virtual_time
async def test_a_missing_permission_is_named_once_with_the_rule_to_add_and_retried_with_backoff(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with cluster() as replicas:
        fault = replicas.server.faults.fail(403, resource="leases", times=None)
        elector = await replicas.elector("a")
        replicas.start(elector, work := Work("a"))
        await asyncio.sleep(600)

        assert 15 < fault.hits < 40
        assert isinstance(elector.last_error, ForbiddenError)
        warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
        assert len(warnings) == 1
        assert "no permission to get leases" in warnings[0]
        assert (
            'apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"]'
            in (warnings[0])
        )
        fault.remove()
        await work.started.wait()
        assert now() < 600 + 36
        assert elector.last_error is None


@in_virtual_time
async def test_a_permission_that_is_withdrawn_ends_the_term(caplog: pytest.LogCaptureFixture) -> None:
    async with cluster() as replicas:
        replicas.start(await replicas.elector("a"), work := Work("a"))
        await asyncio.sleep(1)
        replicas.server.faults.fail(403, resource="leases", verb="update", times=None)
        await asyncio.sleep(20)

        assert work.log == ["0 a starts", "10 a is cancelled", "10 a ends"]
        assert "no permission to update leases" in caplog.text


@in_virtual_time
async def test_a_missing_namespace_is_named_and_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    async with cluster() as replicas:
        elector = LeaderElector(replicas.client, "operator", "later")
        replicas.start(elector, work := Work("a"))
        await asyncio.sleep(100)
        assert isinstance(elector.last_error, NotFoundError)
        assert "create the namespace later, or give the elector another one" in caplog.text

        await replicas.client.dynamic("v1", "namespaces").create(Unstructured.new("later"))
        await work.started.wait()

        assert now() < 140


@pytest.mark.slow
@in_virtual_time
async def test_a_deleted_lease_is_created_again_and_the_work_goes_on() -> None:
    async with cluster() as replicas:
        replicas.start(await replicas.elector("a"), work := Work("a"))
        other = Work("b")
        replicas.start(await replicas.elector("b"), other)
        await asyncio.sleep(30)
        leads, waits = (work, other) if work.started.is_set() else (other, work)

        await replicas.delete()
        await asyncio.sleep(60)

        assert leads.started.is_set()
        assert not waits.log
        assert await replicas.holder() == leads.title


@in_virtual_time
async def test_a_deleted_lease_whose_holder_is_gone_is_created_and_worked_on_later() -> None:
    async with cluster() as replicas:
        first = replicas.start(await replicas.elector("a", release_on_exit=False), Work("a")).task
        await asyncio.sleep(1)
        replicas.start(await replicas.elector("b"), work := Work("b"))
        await asyncio.sleep(20)
        first.cancel()
        await asyncio.wait({first})
        await replicas.delete()

        await work.started.wait()

        assert 21 + 25 <= now() < 21 + 25 + 9  # renew deadline, lease duration, and two tries
        assert await replicas.holder() == "b"


@in_virtual_time
async def test_a_lease_that_is_taken_away_ends_the_work_at_once(caplog: pytest.LogCaptureFixture) -> None:
    async with cluster() as replicas:
        replicas.start(await replicas.elector("a"), work := Work("a"))
        await asyncio.sleep(20.5)

        await replicas.edit(holderIdentity="administrator")
        await asyncio.sleep(3)

        assert work.log == ["0 a starts", "22 a is cancelled", "22 a ends"]
        assert "lease default/operator: lost: administrator holds it" in caplog.text


@in_virtual_time
async def test_a_change_of_metadata_costs_a_read_and_nothing_else() -> None:
    async with cluster() as replicas:
        registry = CollectorRegistry()
        metrics = PrometheusMetrics(registry)
        replicas.start(await replicas.elector("a", metrics=metrics), work := Work("a"))
        await asyncio.sleep(20.5)
        lease = await replicas.lease()
        lease.metadata.annotations = {"seen": "yes"}
        await replicas.client.dynamic(*LEASES, namespace="default").update(lease)

        await asyncio.sleep(60)

        assert work.log == ["0 a starts"]
        assert (await replicas.lease()).metadata.annotations == {"seen": "yes"}
        assert registry.get_sample_value("leader_election_slowpath_total", {"name": "operator"}) == 1.0
        assert registry.get_sample_value("leader_election_master_status", {"name": "operator"}) == 1.0


@in_virtual_time
async def test_labels_and_annotations_of_others_are_kept() -> None:
    async with cluster() as replicas:
        given = Unstructured.new("operator", labels={"theirs": "yes", "ours": "no"}, annotations={"a": "b"})
        await replicas.client.dynamic(*LEASES, namespace="default").create(given)
        replicas.start(await replicas.elector("a", labels={"ours": "yes"}), work := Work("a"))
        await work.started.wait()
        await asyncio.sleep(10)

        lease = await replicas.lease()

        assert lease.metadata.labels == {"theirs": "yes", "ours": "yes"}
        assert lease.metadata.annotations == {"a": "b"}


@pytest.mark.parametrize(
    ("stored", "own"), [({}, {"ours": "yes"}), ({"theirs": "yes"}, {}), ({"theirs": "yes"}, {"ours": "yes"})]
)
def test_a_renewal_adds_own_labels_to_those_of_the_lease(stored: dict[str, str], own: dict[str, str]) -> None:
    @in_virtual_time
    async def scenario() -> None:
        async with cluster() as replicas:
            replicas.start(await replicas.elector("a", labels=own), work := Work("a"))
            await work.started.wait()
            lease = await replicas.lease()
            lease.metadata.labels = stored
            await replicas.client.dynamic(*LEASES, namespace="default").update(lease)
            await asyncio.sleep(10)

            assert (await replicas.lease()).metadata.labels == stored | own
            assert work.log == ["0 a starts"]

    scenario()


@in_virtual_time
async def test_two_electors_with_one_identity_lead_one_after_the_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with cluster() as replicas:
        log: list[str] = []
        first = replicas.start(await replicas.elector("same"), Work("first", log)).task
        await asyncio.sleep(1)
        replicas.start(await replicas.elector("same"), second := Work("second", log))
        await asyncio.sleep(100)
        assert log == ["0 first starts"]
        assert "held by our own identity same, but not by us" in caplog.text

        first.cancel()
        await second.started.wait()

        assert log[1:3] == ["101 first is cancelled", "101 first ends"]


@in_virtual_time
async def test_a_restart_with_the_same_identity_waits_until_the_lease_has_expired() -> None:
    async with cluster() as replicas:
        first = replicas.start(await replicas.elector("same", release_on_exit=False), Work("a")).task
        await asyncio.sleep(20)
        first.cancel()
        await asyncio.wait({first})

        replicas.start(await replicas.elector("same"), work := Work("a"))
        await work.started.wait()

        assert 35 <= now() < 45


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"holderIdentity": "gone"},
        {"holderIdentity": "gone", "leaseDurationSeconds": 3, "leaseTransitions": 7},
        {"holderIdentity": "gone", "renewTime": "1999-01-01T00:00:00.000000Z", "leaseDurationSeconds": 1},
    ],
)
def test_a_lease_without_some_fields_is_taken_over(spec: dict[str, object]) -> None:
    @in_virtual_time
    async def scenario() -> None:
        async with cluster() as replicas:
            given = Unstructured.new("operator")
            given["spec"] = spec
            await replicas.client.dynamic(*LEASES, namespace="default").create(given)
            replicas.start(await replicas.elector("a"), work := Work("a"))
            await work.started.wait()

            assert now() < 20
            transitions = spec.get("leaseTransitions", 0)
            assert isinstance(transitions, int)
            assert (await replicas.lease())["spec"]["leaseTransitions"] == transitions + 1

    scenario()


@in_virtual_time
async def test_wall_clocks_may_be_anywhere_stand_still_and_jump() -> None:
    async with cluster() as replicas:
        when = datetime(1999, 1, 1, tzinfo=UTC)

        def jumping() -> datetime:
            nonlocal when
            when += timedelta(days=1000) if when.year < 2030 else timedelta(days=-9000)
            return when

        log: list[str] = []
        stands_still = datetime(2500, 1, 1, tzinfo=UTC)
        replicas.start(await replicas.elector("a", clock=lambda: stands_still), Work("a", log))
        await asyncio.sleep(1)
        replicas.start(await replicas.elector("b", clock=jumping), Work("b", log))
        await asyncio.sleep(300)
        assert log == ["0 a starts"]


@in_virtual_time
async def test_a_server_that_restarts_does_not_end_a_term() -> None:
    async with cluster() as replicas:
        replicas.start(await replicas.elector("a"), work := Work("a"))
        await asyncio.sleep(20)
        fault = replicas.server.faults.fail(503, resource="leases", times=None)
        await asyncio.sleep(7)
        fault.remove()
        await asyncio.sleep(60)

        assert work.log == ["0 a starts"]


@in_virtual_time
async def test_an_error_of_a_wall_clock_ends_the_run_after_the_work() -> None:
    """A defect is not swallowed, and does not leave the work behind."""
    async with cluster() as replicas:
        calls = 0

        def clock() -> datetime:
            nonlocal calls
            calls += 1
            if calls > 5:
                raise ZeroDivisionError
            return datetime.now(UTC)

        async def work(leadership: Leadership) -> None:
            await leadership.wait_for_loss()

        task = replicas.start(await replicas.elector("a", clock=clock, release_on_exit=False), work).task

        with pytest.raises(ZeroDivisionError):
            await task
