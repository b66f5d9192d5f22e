"""The event recorder when the server refuses, is slow, or is away, in virtual time."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import pytest
from tests.unit.record.cluster import cluster

import masthead.server
from masthead.aio import Client, EventRecorder
from masthead.config import from_kubeconfig
from masthead.testing.virtual_time import LoopClock, in_virtual_time, now, run

if TYPE_CHECKING:
    from tests.unit.record.cluster import Cluster


def logged(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    return [
        record.getMessage() for record in caplog.records if record.levelno == level and record.name == "masthead.record"
    ]


@in_virtual_time
async def test_a_refused_event_is_given_up_and_logged_once_with_the_rule_to_add(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with cluster() as it:
        it.server.faults.fail(403, resource="events", verb="create", times=None)
        for number in range(5):
            it.recorder.record(it.site, "Normal", f"Reason{number}", "done")
        assert await it.recorder.flush()
        assert [code for _, _, code in it.writes()] == [403] * 5
        assert it.recorder.counts.failed == 5
    (message,) = logged(caplog, logging.ERROR)
    assert "the Event Reason0 about ConfigMap default/site was not written: create events.events.k8s.io" in message
    assert 'apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"]' in message


@in_virtual_time
async def test_each_kind_of_failure_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async with cluster() as it:
        for code in (500, 422, 400, 500, 422):
            it.server.faults.fail(code, resource="events", verb="create")
        for number in range(6):
            it.recorder.record(it.site, "Normal", f"Reason{number}", "done")
        assert await it.recorder.flush()
        assert it.recorder.counts.failed == 5
        assert await it.counts() == {"done": 1}
    assert len(logged(caplog, logging.ERROR)) == 3


@in_virtual_time
async def test_an_event_in_a_namespace_that_ends_is_given_up_quietly(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = LoopClock()
    async with (
        masthead.server.run(clock=clock) as server,
        Client(from_kubeconfig(server.kubeconfig())) as client,
        EventRecorder(client, "operator", clock=clock.now) as recorder,
    ):
        await client.core_v1.namespaces().create({"metadata": {"name": "blue"}})
        site = await client.core_v1.config_maps("blue").create(
            {"metadata": {"name": "site", "finalizers": ["example.com/hold"]}}
        )
        await client.core_v1.namespaces().delete("blue")
        recorder.record(site, "Normal", "Deleting", "in a namespace that ends")
        assert await recorder.flush()
        assert recorder.counts.failed == 1
    assert logged(caplog, logging.ERROR) == []


@in_virtual_time
async def test_an_event_in_a_namespace_that_is_gone_is_given_up_quietly(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with cluster() as it:
        gone = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "site", "namespace": "gone", "uid": "7"},
        }
        it.recorder.record(gone, "Normal", "Deleted", "in a namespace that is gone")
        assert await it.recorder.flush()
        assert it.recorder.counts.failed == 1
    assert logged(caplog, logging.ERROR) == []


@in_virtual_time
async def test_a_throttled_event_is_written_when_the_server_wants_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with cluster() as it:
        it.server.faults.throttle(retry_after=7, resource="events", verb="create")
        it.server.faults.fail(503, retry_after=20, resource="events", verb="create")
        it.server.faults.fail(504, resource="events", verb="create")
        it.recorder.record(it.site, "Normal", "Created", "patient")
        assert await it.recorder.flush(timeout=60)
        assert now() >= 27
        assert await it.counts() == {"patient": 1}
        assert it.recorder.counts.failed == 0
    (message,) = logged(caplog, logging.WARNING)
    assert "they are kept and tried again" in message


@in_virtual_time
async def test_a_server_that_stays_busy_is_given_up_after_twelve_attempts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with cluster() as it:
        it.server.faults.fail(503, resource="events", verb="create", times=None)
        it.recorder.record(it.site, "Normal", "Created", "lost")
        assert await it.recorder.flush(timeout=3600)
        assert [code for _, _, code in it.writes()] == [503] * 12
        assert it.recorder.counts.failed == 1
    assert len(logged(caplog, logging.ERROR)) == 1


async def make_noise(it: Cluster) -> None:
    for number in range(20):
        it.recorder.record(it.site, "Normal", f"Reason{number}", "done")
        it.recorder.record(it.site, "Normal", "Repeated", "again")
        await asyncio.sleep(1)


@in_virtual_time
async def test_an_outage_costs_no_event() -> None:
    async with cluster() as it:
        it.recorder.record(it.site, "Normal", "First", "before")
        assert await it.recorder.flush()
        await it.proxy.shut()
        await make_noise(it)
        await asyncio.sleep(120)
        it.proxy.open()
        assert await it.recorder.flush(timeout=120)
        events = await it.events()
        assert len(events) == 22
        assert {event.note: event.series.count for event in events if event.series} == {"again": 20}
        assert it.recorder.counts.failed == 0
        times = [event.event_time for event in events]
        assert times == sorted(times)  # type: ignore[type-var]


@in_virtual_time
async def test_a_server_that_was_never_reached_is_tried_again() -> None:
    async with cluster() as it:
        await it.proxy.shut()
        it.recorder.record(it.site, "Normal", "First", "before")
        await asyncio.sleep(30)
        it.proxy.open()
        assert await it.recorder.flush(timeout=60)
        assert await it.counts() == {"before": 1}


@in_virtual_time
async def test_a_response_that_is_lost_makes_no_second_event() -> None:
    async with cluster() as it:
        it.recorder.record(it.site, "Normal", "First", "connects")
        assert await it.recorder.flush()
        it.proxy.stall()
        it.recorder.record(it.site, "Normal", "Second", "lost")
        await asyncio.sleep(1)
        it.recorder.record(it.site, "Normal", "Second", "lost")
        assert await it.recorder.flush(timeout=120)
        assert it.writes() == [
            ("POST", "First", 201),
            ("POST", "Second", 201),
            ("POST", "Second", 409),
            ("PATCH", (await it.events())[1].metadata.name, 200),
        ]
        assert await it.counts() == {"connects": 1, "lost": 2}
        assert it.recorder.counts.failed == 0


@in_virtual_time
async def test_a_flush_has_all_occurrences_also_if_a_response_was_lost() -> None:
    async with cluster() as it:
        it.server.faults.lose_response(resource="events", verb="create")
        for _ in range(2):
            it.recorder.record(it.site, "Normal", "Pulled", "Pulled image")
        await asyncio.sleep(0.5)
        for _ in range(3):
            it.recorder.record(it.site, "Normal", "Pulled", "Pulled image")
        assert await it.recorder.flush(timeout=60)
        assert [code for _, _, code in it.writes()[1:]] == [409, 200]
        assert await it.counts() == {"Pulled image": 5}


@in_virtual_time
async def test_a_name_that_is_taken_is_changed() -> None:
    async with cluster() as it:
        it.server.faults.conflict(resource="events", verb="create", times=2)
        it.recorder.record(it.site, "Normal", "Created", "renamed")
        assert await it.recorder.flush()
        assert [code for _, _, code in it.writes()] == [409, 409, 201]
        assert await it.counts() == {"renamed": 1}


@in_virtual_time
async def test_names_that_are_always_taken_are_given_up() -> None:
    async with cluster() as it:
        it.server.faults.conflict(resource="events", verb="create", times=None)
        it.recorder.record(it.site, "Normal", "Created", "renamed")
        assert await it.recorder.flush()
        assert [code for _, _, code in it.writes()] == [409] * 4
        assert it.recorder.counts.failed == 1


@in_virtual_time
async def test_a_series_whose_event_is_gone_is_created_anew() -> None:
    async with cluster() as it:
        for _ in range(3):
            it.recorder.record(it.site, "Normal", "Pulled", "Pulled image")
            await asyncio.sleep(1)
        await it.client.events_v1.events("default").delete_collection()
        assert await it.recorder.flush()
        assert await it.counts() == {"Pulled image": 3}
        assert [code for _, _, code in it.writes() if code != 200][-2:] == [404, 201]


@in_virtual_time
async def test_a_patch_that_conflicts_is_given_up_and_the_count_comes_later() -> None:
    async with cluster() as it:
        it.server.faults.conflict(resource="events", verb="patch")
        for _ in range(3):
            it.recorder.record(it.site, "Normal", "Pulled", "Pulled image")
            await asyncio.sleep(1)
        assert await it.counts() == {"Pulled image": 3}
        assert it.recorder.counts.failed == 1


@in_virtual_time
async def test_a_slow_server_holds_up_nobody() -> None:
    async with cluster() as it:
        it.recorder.record(it.site, "Normal", "First", "connects")
        assert await it.recorder.flush()
        it.proxy.stall()
        others = [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"web-{each}", "namespace": "default", "uid": f"{each}"},
            }
            for each in range(10)
        ]
        begin = now()
        for other in others:
            it.recorder.record(other, "Normal", "Slow", other["metadata"]["name"])  # type: ignore[index]
        assert now() == begin
        assert await it.recorder.flush(timeout=120)
        assert len(await it.events()) == 11


@in_virtual_time
async def test_an_object_whose_writes_always_fail_does_not_hold_up_others() -> None:
    async with cluster() as it:
        await it.client.core_v1.namespaces().create({"metadata": {"name": "slow"}})
        slow = await it.create("slow", "slow")
        fault = it.server.faults.fail(504, resource="events", verb="create", namespace="slow", times=None)
        it.recorder.record(slow, "Normal", "Slow", "slow")
        for number in range(20):
            it.recorder.record(it.site, "Normal", f"Reason{number}", "done")
        await asyncio.sleep(120)
        assert len(await it.events()) == 20
        assert fault.hits == 12


@in_virtual_time
async def test_a_full_queue_drops_and_counts(caplog: pytest.LogCaptureFixture) -> None:
    async with cluster(queue_limit=10) as it:
        await it.proxy.shut()
        for number in range(25):
            it.recorder.record(it.site, "Normal", f"Reason{number}", "done")
        for _ in range(100):
            it.recorder.record(it.site, "Normal", "Reason0", "done")
        assert it.recorder.counts.dropped == 15
        assert it.recorder.counts.pending == 10
        it.proxy.open()
        assert await it.recorder.flush(timeout=60)
        events = await it.events()
        assert [event.reason for event in events] == [f"Reason{number}" for number in range(10)]
        assert events[0].series
        assert events[0].series.count == 101
    (message,) = [each for each in logged(caplog, logging.WARNING) if "dropped" in each]
    assert "an Event about ConfigMap default/site is dropped, because 10 wait already" in message


@in_virtual_time
async def test_stop_gives_everything_one_last_attempt() -> None:
    async with cluster() as it:
        it.recorder.record(it.site, "Normal", "First", "connects")
        assert await it.recorder.flush()
        await it.proxy.shut()
        for number in range(20):
            it.recorder.record(it.site, "Normal", f"Reason{number}", "done")
        await asyncio.sleep(20)
        it.proxy.open()
        begin = now()
        await it.recorder.stop()
        assert now() - begin < 1
        assert len(await it.events()) == 21


@in_virtual_time
async def test_stop_ends_in_time_if_the_server_is_away(caplog: pytest.LogCaptureFixture) -> None:
    async with cluster() as it:
        await it.proxy.shut()
        for number in range(20):
            it.recorder.record(it.site, "Normal", f"Reason{number}", "done")
        begin = now()
        await it.recorder.stop()
        assert now() - begin <= 5
        assert it.recorder.counts.failed == 20
        assert it.recorder.counts.pending == 0
        it.proxy.open()
    assert len(logged(caplog, logging.ERROR)) == 1


@in_virtual_time
async def test_stop_ends_in_time_if_the_server_does_not_respond(caplog: pytest.LogCaptureFixture) -> None:
    async with cluster() as it:
        it.recorder.record(it.site, "Normal", "First", "connects")
        assert await it.recorder.flush()
        it.proxy.stall()
        for number in range(20):
            it.recorder.record(it.site, "Normal", f"Reason{number}", "done")
        begin = now()
        await it.recorder.stop(timeout=3)
        assert 2.9 < now() - begin < 3.1
        assert it.recorder.counts.failed == 20
    assert any("20 Events were not written before it stopped" in each for each in logged(caplog, logging.WARNING))


@in_virtual_time
async def test_flush_tells_that_it_was_too_short() -> None:
    async with cluster() as it:
        await it.proxy.shut()
        it.recorder.record(it.site, "Normal", "First", "before")
        begin = now()
        assert not await it.recorder.flush(timeout=3)
        assert now() - begin == pytest.approx(3)
        it.proxy.open()
        assert await it.recorder.flush(timeout=60)


@in_virtual_time
async def test_a_closed_client_ends_the_recorder() -> None:
    async with cluster() as it:
        async with Client(from_kubeconfig(it.server.kubeconfig())) as client:
            recorder = EventRecorder(client, "orphan", clock=it.clock.now)
            await recorder.start()
        recorder.record(it.site, "Normal", "Created", "late")
        await asyncio.sleep(1)
        begin = now()
        await recorder.stop()
        assert now() == begin
        assert recorder.counts.failed == 1


@pytest.mark.parametrize("steps", range(12))
def test_cancelled_tasks_still_write_what_is_left(steps: int) -> None:
    """As when `asyncio.run` ends, which cancels all tasks, whatever they have done so far."""

    async def play() -> None:
        async with cluster() as it:
            recorder = EventRecorder(it.client, "cancelled", clock=it.clock.now)
            await recorder.start()
            for number in range(10):
                recorder.record(it.site, "Normal", f"Reason{number}", "last words")
            for _ in range(steps):
                await asyncio.sleep(0)
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                if "EventSender" in repr(task):
                    task.cancel()
            await recorder.stop()
            assert [event.reason for event in await it.events()] == [f"Reason{number}" for number in range(10)]
            assert recorder.counts.failed == 0

    run(play())
