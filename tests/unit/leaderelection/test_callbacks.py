"""What an elector tells its owner: callbacks, events and metrics, none of which can disturb the election."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry
from tests.unit.leaderelection.replicas import Work, cluster

from masthead.aio import EventRecorder
from masthead.errors import ArgumentError, LeadershipLostError
from masthead.metrics import PrometheusMetrics
from masthead.testing.virtual_time import in_virtual_time, now

if TYPE_CHECKING:
    from masthead.aio.leaderelection import Leadership


async def _nothing(_: Leadership) -> None:
    pass


@in_virtual_time
async def test_a_term_begins_and_ends_with_callbacks_around_the_work() -> None:
    async with cluster() as replicas:
        log: list[str] = []

        async def stopped() -> None:
            await asyncio.sleep(0)
            log.append("stopped leading")

        elector = await replicas.elector(
            "a",
            on_started_leading=lambda: log.append("started leading"),
            on_stopped_leading=stopped,
            on_new_leader=lambda identity: log.append(f"new leader {identity}"),
        )

        await elector.run(_nothing)

        assert log == ["new leader a", "started leading", "stopped leading"]


@in_virtual_time
async def test_an_elector_that_never_leads_never_stops_leading() -> None:
    async with cluster() as replicas:
        log: list[str] = []
        replicas.start(await replicas.elector("a"), Work("a"))
        await asyncio.sleep(1)
        elector = await replicas.elector(
            "b", on_stopped_leading=lambda: log.append("stopped"), on_new_leader=log.append
        )
        task = replicas.start(elector, Work("b")).task
        await asyncio.sleep(20)
        task.cancel()
        await asyncio.wait({task})

        assert log == ["a"]


@in_virtual_time
async def test_each_new_leader_is_reported_once() -> None:
    async with cluster() as replicas:
        seen: list[str] = []
        first = replicas.start(await replicas.elector("a"), Work("a")).task
        await asyncio.sleep(1)
        replicas.start(await replicas.elector("b", on_new_leader=seen.append), work := Work("b"))
        await asyncio.sleep(100)
        first.cancel()
        await work.started.wait()
        await asyncio.sleep(100)

        assert seen == ["a", "b"]


@in_virtual_time
async def test_callbacks_that_raise_or_hang_do_not_disturb_the_election(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with cluster() as replicas:

        async def hang(_: str) -> None:
            await asyncio.Event().wait()

        def fail() -> None:
            raise ZeroDivisionError

        elector = await replicas.elector("a", on_started_leading=fail, on_stopped_leading=fail, on_new_leader=hang)
        await elector.run(_nothing)

        assert now() == 10.0  # for the one that hangs
        assert "a callback has not returned after 10 s; it is cancelled" in caplog.text
        second = await replicas.elector("b", on_started_leading=fail)
        await second.run(_nothing)
        assert "lease default/operator: on_started_leading failed" in caplog.text


@in_virtual_time
async def test_work_that_is_overdue_is_reported_though_other_callbacks_hang() -> None:
    async with cluster() as replicas:
        overdue: list[float] = []

        async def hang() -> None:
            await asyncio.Event().wait()

        elector = await replicas.elector("a", on_started_leading=hang, on_overdue=lambda: overdue.append(round(now())))
        replicas.start(elector, Work("a", stop_seconds=30))
        await asyncio.sleep(1)
        replicas.server.faults.fail(500, resource="leases", times=None)
        await asyncio.sleep(30)

        assert overdue == [15]


@in_virtual_time
async def test_events_are_recorded_about_the_lease() -> None:
    async with cluster() as replicas:
        async with EventRecorder(replicas.client, "operator") as recorder:
            elector = await replicas.elector("a", recorder=recorder)
            await elector.run(_nothing)

        lease = await replicas.lease()
        events = await replicas.client.core_v1.events("default").list()
        assert [(event.type, event.reason, event.message) for event in events] == [
            ("Normal", "LeaderElection", "a became leader"),
            ("Normal", "LeaderElection", "a stopped leading"),
        ]
        assert {event.involved_object.kind for event in events} == {"Lease"}
        assert {event.involved_object.uid for event in events} == {lease.metadata.uid}


@in_virtual_time
async def test_a_function_in_place_of_a_recorder_is_refused() -> None:
    async with cluster() as replicas:
        with pytest.raises(ArgumentError, match=r"recorder is of type function; it must be a masthead\.EventRecorder"):
            await replicas.elector("a", recorder=lambda *_: None)


@in_virtual_time
async def test_metrics_have_the_names_of_client_go() -> None:
    async with cluster() as replicas:
        registry = CollectorRegistry()
        values: list[object] = []

        def status(name: str = "leader_election_master_status") -> object:
            return registry.get_sample_value(name, {"name": "operator"})

        elector = await replicas.elector("a", metrics=PrometheusMetrics(registry), recampaign=False)
        values.append(status())

        async def work(_: Leadership) -> None:
            values.append(status())
            replicas.server.faults.fail(500, resource="leases", times=None)
            try:
                await asyncio.sleep(100)
            finally:
                values.append(status())
                await asyncio.sleep(6)
                values.append(status("leader_election_overdue"))
                replicas.server.faults.clear()

        with pytest.raises(LeadershipLostError):
            await elector.run(work)

        assert values == [0.0, 1.0, 0.0, 1.0]
        assert (status(), status("leader_election_overdue")) == (0.0, 0.0)
