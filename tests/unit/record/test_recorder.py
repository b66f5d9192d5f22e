"""The event recorder on the embedded server, in virtual time: what becomes of records."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta

import pytest
from prometheus_client import CollectorRegistry
from tests.unit.record.cluster import START, cluster

from masthead.aio import EventRecorder
from masthead.api.core.v1 import ObjectReference
from masthead.errors import ArgumentError, ClosedError, TimeError
from masthead.metrics import Metric, NoMetrics, PrometheusMetrics
from masthead.testing.virtual_time import in_virtual_time


@in_virtual_time
async def test_an_event_has_everything_that_was_recorded() -> None:
    async with cluster() as it:
        other = await it.create("other")
        await asyncio.sleep(90)
        it.recorder.record(it.site, "Warning", "FailedSync", "no route", action="Syncing", related=other)
        assert await it.recorder.flush()
        (event,) = await it.events()
        assert (event.type, event.reason, event.note, event.action) == (
            "Warning",
            "FailedSync",
            "no route",
            "Syncing",
        )
        assert (event.reporting_controller, event.reporting_instance) == ("operator", "operator-node-1")
        assert event.event_time == START + timedelta(seconds=90)
        assert event.series is None
        meta = it.site.metadata
        assert event.regarding == ObjectReference(
            api_version="v1",
            kind="ConfigMap",
            namespace="default",
            name="site",
            uid=meta.uid,
            resource_version=meta.resource_version,
        )
        assert event.related is not None
        assert event.related.uid == other.metadata.uid
        assert event.metadata.namespace == "default"
        name, _, suffix = event.metadata.name.rpartition(".")
        assert name == "site"
        nanos = int(suffix, 16)
        assert 0 <= nanos - int((START.timestamp() + 90) * 1_000_000_000) < 1000


@in_virtual_time
async def test_the_action_is_the_reason_by_default() -> None:
    async with cluster() as it:
        it.recorder.record(it.site, "Normal", "Created", "")
        await it.recorder.flush()
        (event,) = await it.events()
        assert event.action == "Created"


@in_virtual_time
async def test_events_are_written_without_a_flush() -> None:
    async with cluster() as it:
        it.recorder.record(it.site, "Normal", "Created", "Created")
        await asyncio.sleep(0.1)
        assert await it.counts() == {"Created": 1}


@in_virtual_time
async def test_a_recorder_for_an_object_needs_no_object() -> None:
    async with cluster() as it:
        it.recorder.for_object(it.site).record("Normal", "Created", "Created", related=it.site)
        await it.recorder.flush()
        assert await it.counts() == {"Created": 1}
        with pytest.raises(ArgumentError, match="has no uid"):
            it.recorder.for_object({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}})


@in_virtual_time
async def test_events_about_cluster_scoped_objects_are_in_the_default_namespace() -> None:
    async with cluster() as it:
        namespace = await it.client.core_v1.namespaces().create({"metadata": {"name": "blue"}})
        it.recorder.record(namespace, "Normal", "Created", "Created")
        await it.recorder.flush()
        (event,) = await it.events()
        assert event.metadata.namespace == "default"
        assert not event.regarding.namespace


@in_virtual_time
async def test_references_and_plain_data_are_objects_too() -> None:
    async with cluster() as it:
        uid = it.site.metadata.uid
        reference = ObjectReference(
            api_version="v1", kind="Pod", namespace="default", name="web", uid=uid, field_path="spec"
        )
        it.recorder.record(reference, "Normal", "ByReference", "1")
        it.recorder.record(json.loads(it.site.to_json()), "Normal", "ByData", "2")
        it.recorder.record(
            {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "web", "uid": uid},
            "Normal",
            "ByReferenceData",
            "3",
        )
        await it.recorder.flush()
        found = {event.reason: event.regarding for event in await it.events()}
        assert [(each.name, each.uid) for each in found.values()] == [
            ("web", uid),
            ("site", uid),
            ("web", uid),
        ]
        assert found["ByReference"].field_path == "spec"


@in_virtual_time
async def test_a_long_name_of_an_object_fits() -> None:
    async with cluster() as it:
        site = await it.create(f"{'x' * 240}.{'y' * 12}")
        it.recorder.record(site, "Normal", "Created", "Created")
        await it.recorder.flush()
        assert await it.counts() == {"Created": 1}
        assert it.recorder.counts.failed == 0


@in_virtual_time
async def test_a_long_message_is_cut_to_what_the_server_accepts() -> None:
    async with cluster() as it:
        it.recorder.record(it.site, "Normal", "Created", "ä" * 3000)
        it.recorder.record(it.site, "Normal", "Other", "\ud800 \0 \x1b[31m")
        for number in range(10):
            it.recorder.record(it.site, "Warning", "Failed", f"{number} {'ü' * 3000}")
        await it.recorder.flush()
        notes = [event.note or "" for event in await it.events()]
        assert len(notes) == 12
        assert notes[0] == "ä" * 510 + "…"
        assert notes[1] == "? \0 \x1b[31m"
        assert notes[-1].startswith("(combined from similar events): 9 üüü")
        assert all(len(note.encode()) <= 1024 for note in notes)


@in_virtual_time
async def test_repetitions_become_a_series() -> None:
    async with cluster() as it:
        for _ in range(5):
            it.recorder.record(it.site, "Normal", "Pulled", "Pulled image")
            await asyncio.sleep(60)
        (event,) = await it.events()
        assert event.series is not None
        assert (event.series.count, event.series.last_observed_time) == (2, START + timedelta(seconds=60))
        assert await it.recorder.flush()
        (event,) = await it.events()
        assert event.series is not None
        assert (event.series.count, event.series.last_observed_time) == (5, START + timedelta(seconds=240))
        assert [method for method, _, _ in it.writes()] == ["POST", "PATCH", "PATCH"]


@in_virtual_time
async def test_a_series_is_finished_six_minutes_after_its_last_occurrence() -> None:
    async with cluster() as it:
        for _ in range(5):
            it.recorder.record(it.site, "Normal", "Pulled", "Pulled image")
            await asyncio.sleep(1)
        await asyncio.sleep(358)
        before = await it.counts()
        await asyncio.sleep(2)
        assert (before, await it.counts()) == ({"Pulled image": 2}, {"Pulled image": 5})
        it.recorder.record(it.site, "Normal", "Pulled", "Pulled image")
        await it.recorder.flush()
        assert len(await it.events()) == 2


@in_virtual_time
async def test_an_active_series_is_written_every_half_hour() -> None:
    async with cluster() as it:
        for _ in range(121):
            it.recorder.record(it.site, "Normal", "Pulled", "Pulled image")
            await asyncio.sleep(60)
        # Its second occurrence after one minute, and then after 31, 61 and 91.
        assert [method for method, _, _ in it.writes()] == ["POST", "PATCH", "PATCH", "PATCH", "PATCH"]


@in_virtual_time
async def test_a_recorder_that_has_nothing_to_do_sends_nothing() -> None:
    async with cluster() as it:
        it.recorder.record(it.site, "Normal", "Pulled", "Pulled image")
        await asyncio.sleep(86_400)
        assert len(it.writes()) == 1


@in_virtual_time
async def test_a_noisy_controller_is_limited() -> None:
    async with cluster() as it:
        for number in range(1000):
            it.recorder.record(it.site, "Warning", "Failed", f"attempt {number}")
            it.recorder.record(it.site, "Normal", f"Reason{number}", "done")
        assert await it.recorder.flush()
        counts = await it.counts()
        assert sum(count for note, count in counts.items() if note != "done") == 1000
        assert len([event for event in await it.events() if event.note == "done"]) == 25
        assert it.recorder.counts.filtered == 975
        # Nine messages have their own Event, and all others one; by the time it is written it is a series.
        assert len(it.writes()) == 25 + 9 + 1


@in_virtual_time
async def test_events_about_an_object_are_written_in_order() -> None:
    async with cluster() as it:
        others = [await it.create(f"other-{number}") for number in range(5)]
        for number in range(20):
            for other in others:
                it.recorder.record(other, "Normal", f"Step{number}", "done")
        assert await it.recorder.flush()
        events = await it.events()
        for other in others:
            reasons = [event.reason for event in events if event.regarding.uid == other.metadata.uid]
            assert reasons == [f"Step{number}" for number in range(20)]


@in_virtual_time
async def test_what_is_recorded_before_the_start_is_written_after_it() -> None:
    async with cluster() as it:
        recorder = EventRecorder(it.client, "early", clock=it.clock.now, queue_limit=3)
        assert await recorder.flush()
        for number in range(5):
            recorder.record(it.site, "Normal", f"Step{number}", "early")
        assert not await recorder.flush()
        assert recorder.counts.dropped == 2
        async with recorder:
            await recorder.start()
        assert [event.reason for event in await it.events()] == ["Step0", "Step1", "Step2"]


@in_virtual_time
async def test_a_recorder_that_was_never_started_can_be_stopped() -> None:
    async with cluster() as it:
        recorder = EventRecorder(it.client, "never")
        recorder.record(it.site, "Normal", "Created", "never")
        await recorder.stop()
        assert recorder.counts.failed == 1
        with pytest.raises(ClosedError, match="make a new one"):
            await recorder.start()


@in_virtual_time
async def test_records_after_the_end_are_dropped_and_counted() -> None:
    async with cluster() as it:
        await it.recorder.stop()
        it.recorder.record(it.site, "Normal", "Created", "late")
        assert it.recorder.counts.dropped == 1
        assert await it.recorder.flush()
        await it.recorder.stop()
        assert await it.events() == []


@in_virtual_time
async def test_stop_leaves_no_task_running() -> None:
    async with cluster() as it:
        before = asyncio.all_tasks()
        async with EventRecorder(it.client, "brief") as recorder:
            recorder.record(it.site, "Normal", "Created", "Created")
            assert asyncio.all_tasks() > before
        assert asyncio.all_tasks() <= before


@in_virtual_time
async def test_stop_writes_the_counts_of_series() -> None:
    async with cluster() as it:
        for _ in range(7):
            it.recorder.record(it.site, "Normal", "Pulled", "Pulled image")
        await it.recorder.stop()
        assert await it.counts() == {"Pulled image": 7}


@in_virtual_time
async def test_records_of_two_recorders_at_the_same_moment_are_two_events() -> None:
    async with cluster() as it:
        recorders = [EventRecorder(it.client, "twin", clock=it.clock.now) for _ in range(50)]
        for recorder in recorders:
            async with recorder:
                recorder.record(it.site, "Normal", "Created", "twin")
        assert len(await it.events()) == 50


@in_virtual_time
async def test_metrics_count_what_becomes_of_events() -> None:
    registry = CollectorRegistry()
    async with cluster(metrics=PrometheusMetrics(registry), queue_limit=30) as it:
        for number in range(30):
            it.recorder.record(it.site, "Normal", f"Reason{number}", "done")
        await it.recorder.flush()
        it.server.faults.fail(500, resource="events", verb="create")
        it.recorder.record(it.site, "Warning", "Failed", "failed")
        await it.recorder.flush()
        await it.recorder.stop()
        it.recorder.record(it.site, "Warning", "Failed", "late")

        def value(name: str, **labels: str) -> float | None:
            return registry.get_sample_value(name, {"component": "operator", **labels})

        assert value("masthead_events_sent_total", verb="create") == 25
        assert value("masthead_events_filtered_total") == 5
        assert value("masthead_events_failed_total", reason="InternalError") == 1
        assert value("masthead_events_dropped_total") == 1
        assert value("masthead_events_pending") == 0


class BrokenCounter:
    """A counter that cannot count."""

    def inc(self, amount: float = 1) -> None:
        raise OSError(f"cannot count {amount}")


class BrokenMetrics(NoMetrics):
    """A provider of broken counters."""

    def counter(self, metric: Metric, **labels: str) -> BrokenCounter:
        del metric, labels
        return BrokenCounter()


@in_virtual_time
async def test_metrics_that_fail_cost_no_event(caplog: pytest.LogCaptureFixture) -> None:
    async with cluster(metrics=BrokenMetrics()) as it:
        for number in range(30):
            it.recorder.record(it.site, "Normal", f"Reason{number}", "done")
        assert await it.recorder.flush()
        assert len(await it.events()) == 25
    assert len([record for record in caplog.records if "metrics of recorder" in record.message]) == 1


@in_virtual_time
async def test_mistakes_are_told_at_once() -> None:
    async with cluster() as it:
        record, site = it.recorder.record, it.site
        new = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new", "namespace": "blue"}}
        with pytest.raises(ArgumentError, match='is "Normal" or "Warning", not \'normal\''):
            record(site, "normal", "Created", "")
        with pytest.raises(ArgumentError, match=r"one word in CamelCase.*not 'not camel'"):
            record(site, "Normal", "not camel", "")
        with pytest.raises(ArgumentError, match=r"one word in CamelCase.*not None"):
            record(site, "Normal", None, "")  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="at most 128 characters, and this has 129"):
            record(site, "Normal", "A" * 129, "")
        with pytest.raises(ArgumentError, match="at most 128 bytes"):
            record(site, "Normal", "Created", "", action="ä" * 65)
        with pytest.raises(ArgumentError, match="must be a string, and this is of type int"):
            record(site, "Normal", "Created", 7)  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="about ConfigMap blue/new, which has no uid; give the object as"):
            record(new, "Normal", "Created", "")
        with pytest.raises(ArgumentError, match="about an object \\(unnamed\\), which has no name and no uid"):
            record({}, "Normal", "Created", "")
        with pytest.raises(ArgumentError, match=r"about an object or a reference to one, .* of type str"):
            record("site", "Normal", "Created", "")  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="which has no uid"):
            record(site, "Normal", "Created", "", related=new)
        metadata = await it.client.metadata("v1", "configmaps", namespace="default").get("site")
        with pytest.raises(ArgumentError, match="about the metadata of site alone"):
            record(metadata, "Normal", "Created", "")
        assert it.recorder.counts.recorded == 0


@in_virtual_time
async def test_recorders_have_valid_names_and_limits() -> None:
    async with cluster() as it:
        with pytest.raises(ArgumentError, match="'my operator' cannot report Events"):
            EventRecorder(it.client, "my operator")
        with pytest.raises(ArgumentError, match="has 1 to 128 bytes, not 0"):
            EventRecorder(it.client, "operator", instance="")
        with pytest.raises(ArgumentError, match="queue_limit must be at least 1, not 0"):
            EventRecorder(it.client, "operator", queue_limit=0)
        async with EventRecorder(it.client, "example.com/operator", host="h" * 300) as recorder:
            recorder.record(it.site, "Normal", "Created", "named")
        (event,) = await it.events()
        assert event.reporting_controller == "example.com/operator"
        assert len((event.reporting_instance or "").encode()) == 128
        assert repr(recorder) == "<EventRecorder of example.com/operator>"


@in_virtual_time
async def test_a_clock_without_a_time_zone_is_refused() -> None:
    async with cluster(clock=lambda: datetime(2026, 1, 1)) as it:  # noqa: DTZ001
        with pytest.raises(TimeError, match="with its time zone"):
            it.recorder.record(it.site, "Normal", "Created", "")


@in_virtual_time
async def test_a_wall_clock_that_jumps_does_no_harm() -> None:
    times = iter([START, START - timedelta(days=400), START + timedelta(days=4000)])
    async with cluster(clock=lambda: next(times)) as it:
        for _ in range(3):
            it.recorder.record(it.site, "Normal", "Pulled", "Pulled image")
        assert await it.recorder.flush()
        (event,) = await it.events()
        assert event.series is not None
        assert (event.series.count, event.event_time) == (3, START)
