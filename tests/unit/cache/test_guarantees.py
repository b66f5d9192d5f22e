"""The numbered contract of informers, without failures: each test names its number.

Every one runs before a source in memory, too, which is no client's resource.
"""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import TYPE_CHECKING

import pytest
from tests.unit.cache.clusters import processed, reached, state_of
from tests.unit.cache.fake_list_watch import FakeListWatch
from tests.unit.cache.recording_handler import AsyncRecordingHandler, RecordingHandler

from masthead._cache.informer.informer import SharedInformer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from tests.unit.cache.clusters import Cluster

    from masthead._client.listwatch import ListWatchOptions
    from masthead._client.watch_event import WatchEvent
    from masthead.api.core.v1 import ConfigMap


@pytest.mark.guarantee(1)
async def test_the_store_equals_the_state_of_the_server(cluster: Cluster) -> None:
    await cluster.put("a")
    await cluster.put("b")
    async with cluster.informer() as informer:
        await informer.wait_for_cache_sync(30)
        assert state_of(informer) == {"a": "1", "b": "1"}
        await cluster.put("a", "2")
        await cluster.put("c")
        await reached(informer, await cluster.remove("b"))
        assert state_of(informer) == await cluster.state() == {"a": "2", "c": "1"}


@pytest.mark.guarantee(2)
async def test_changes_of_an_object_are_dispatched_in_the_servers_order(cluster: Cluster) -> None:
    recorder = RecordingHandler()
    informer = cluster.informer()
    handle = informer.add_event_handler(recorder)
    async with informer:
        await informer.wait_for_cache_sync(30)
        for value in "12345":
            await cluster.put("a", value)
        await cluster.remove("a")
        await reached(informer, await cluster.put("a", "6"), handle)
    assert recorder.recorded == [
        "add a=1", "update a=1>2", "update a=2>3", "update a=3>4", "update a=4>5", "delete a=5", "add a=6",
    ]  # fmt: skip


@pytest.mark.guarantee(2)
async def test_the_calls_of_a_handler_never_overlap(cluster: Cluster) -> None:
    recorder = AsyncRecordingHandler()
    informer = cluster.informer()
    handle = informer.add_event_handler(recorder)
    async with informer:
        for name in "abcde":
            await cluster.put(name)
        await informer.wait_for_cache_sync(30)
        await reached(informer, await cluster.put("f"), handle)
    assert recorder.most_inside == 1
    assert recorder.state == dict.fromkeys("abcdef", "1")


@pytest.mark.guarantee(2)
async def test_a_slow_handler_delays_no_other(cluster: Cluster) -> None:
    release = asyncio.Event()
    slow, quick = AsyncRecordingHandler(release.wait), RecordingHandler()
    informer = cluster.informer()
    waiting = informer.add_event_handler(slow)
    informer.add_event_handler(quick)
    async with informer:
        await informer.wait_for_cache_sync(30)
        for value in "123":
            await cluster.put("a", value)
        await quick.until("update a=2>3")
        assert slow.recorded == []
        assert waiting.pending >= 3
        release.set()
        await processed(waiting)
    assert slow.recorded == quick.recorded


@pytest.mark.guarantee(2)
async def test_a_failing_handler_delays_no_other_and_gets_the_remaining_changes(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise LookupError("no such shelf")

    failing, sound = RecordingHandler(fail), RecordingHandler()
    informer = cluster.informer()
    handles = [informer.add_event_handler(handler) for handler in (failing, sound)]
    async with informer:
        await informer.wait_for_cache_sync(30)
        await cluster.put("a")
        await reached(informer, await cluster.put("a", "2"), *handles)
        assert informer.health.handler_failures == {"configmaps-1": 2, "configmaps-2": 0}
    assert failing.recorded == sound.recorded == ["add a=1", "update a=1>2"]
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "failed on the add of" in caplog.messages[0]


class Busy(FakeListWatch):
    """A source whose events arrive without a pause, as from a socket that always has data."""

    async def watch(self, options: ListWatchOptions) -> AsyncGenerator[Sequence[WatchEvent[ConfigMap]], None]:
        async for events in super().watch(options):
            for start in range(0, max(len(events), 1), 250):
                yield events[start : start + 250]


@pytest.mark.guarantee(2)
async def test_a_quick_handler_keeps_up_with_a_busy_watch() -> None:
    source, recorder = Busy(), RecordingHandler()
    informer = SharedInformer(source)
    handle = informer.add_event_handler(recorder)
    async with informer:
        await informer.wait_for_cache_sync(30)
        for number in range(4000):
            source.put("a", str(number))
        await reached(informer, str(source.version), handle)
    assert len(recorder.recorded) == 4000  # and nothing is folded


@pytest.mark.guarantee(3)
async def test_a_handler_finds_the_object_in_the_store(cluster: Cluster) -> None:
    found: list[str] = []

    def look() -> None:
        found.append(",".join(f"{name}={value}" for name, value in state_of(informer).items()))

    informer = cluster.informer()
    handle = informer.add_event_handler(RecordingHandler(look))
    async with informer:
        await informer.wait_for_cache_sync(30)
        await reached(informer, await cluster.put("a"), handle)
        await reached(informer, await cluster.put("a", "2"), handle)
        await reached(informer, await cluster.remove("a"), handle)
    assert found == ["a=1", "a=2", ""]


@pytest.mark.guarantee(3)
async def test_indices_are_up_to_date_when_a_handler_is_called(cluster: Cluster) -> None:
    found: list[list[str]] = []
    informer = cluster.informer(indexers={"value": lambda each: [each.data["value"]]})

    def look() -> None:
        found.append([key for value in "12" for key in informer.indexer.index_keys("value", value)])

    handle = informer.add_event_handler(RecordingHandler(look))
    async with informer:
        await informer.wait_for_cache_sync(30)
        await reached(informer, await cluster.put("a"), handle)
        assert informer.indexer.list_index_values("value") == ["1"]
        await reached(informer, await cluster.put("a", "2"), handle)
        assert informer.indexer.list_index_values("value") == ["2"]
    assert [len(events) for events in found] == [1, 1]


@pytest.mark.guarantee(4)
async def test_a_late_handler_gets_initial_adds_and_then_every_change(cluster: Cluster) -> None:
    await cluster.put("a")
    async with cluster.informer() as informer:
        await informer.wait_for_cache_sync(30)
        await reached(informer, await cluster.put("b"))
        late = RecordingHandler()
        handle = informer.add_event_handler(late)
        await cluster.put("a", "2")
        await reached(informer, await cluster.put("c"), handle)
    assert sorted(late.recorded[:2]) == ["initial a=1", "initial b=1"]
    assert late.recorded[2:] == ["update a=1>2", "add c=1"]


@pytest.mark.guarantee(4)
async def test_handlers_added_at_any_moment_have_no_gap_and_no_duplicate(cluster: Cluster) -> None:
    recorders = [RecordingHandler()]
    informer = cluster.informer()
    handles = [informer.add_event_handler(recorders[0])]
    version = ""
    async with informer:
        for number in range(40):
            name = "abcde"[number % 5]
            if number % 7 == 6 and name in await cluster.state():
                await cluster.remove(name)
            version = await cluster.put(name, str(number))
            if number % 4 == 0:
                recorders.append(RecordingHandler())
                handles.append(informer.add_event_handler(recorders[-1]))
        await reached(informer, version, *handles)
    assert state_of(informer) == await cluster.state()
    for recorder in recorders:
        assert recorder.state == state_of(informer)  # fails on a change of an object that was never added


@pytest.mark.guarantee(5)
async def test_nothing_has_synced_before_the_initial_list_is_complete(cluster: Cluster) -> None:
    informer = cluster.informer()
    handle = informer.add_event_handler(RecordingHandler())
    assert [informer.has_synced, handle.has_synced] == [False, False]
    async with informer:
        await informer.wait_for_cache_sync(30)
        assert len(informer.indexer) == 0
        await handle.wait_for_cache_sync(30)
        assert [informer.has_synced, handle.has_synced] == [True, True]


@pytest.mark.guarantee(5)
async def test_a_handler_has_synced_once_it_has_returned_from_every_initial_add(cluster: Cluster) -> None:
    await cluster.put("a")
    await cluster.put("b")
    release = asyncio.Event()
    informer = cluster.informer()
    handle = informer.add_event_handler(AsyncRecordingHandler(release.wait))
    async with informer:
        await informer.wait_for_cache_sync(30)
        assert not handle.has_synced
        release.set()
        await handle.wait_for_cache_sync(30)
        late = informer.add_event_handler(AsyncRecordingHandler())
        assert not late.has_synced
        await late.wait_for_cache_sync(30)


@pytest.mark.guarantee(5)
async def test_a_handler_that_fails_on_initial_adds_has_synced_all_the_same(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(obj: ConfigMap) -> None:
        raise LookupError(obj.metadata.name)

    await cluster.put("a")
    informer = cluster.informer()
    handle = informer.add_event_handler(on_add=fail)
    async with informer:
        await handle.wait_for_cache_sync(30)
    assert len(caplog.records) == 1


@pytest.mark.guarantee(10)
async def test_a_write_can_be_read_once_its_resource_version_is_reached(cluster: Cluster) -> None:
    async with cluster.informer() as informer:
        for number in range(10):
            await informer.wait_for_version(await cluster.put("a", str(number)), timeout=30)
            assert state_of(informer)["a"] == str(number)
        assert informer.last_sync_resource_version == informer.indexer.version


@pytest.mark.guarantee(11)
async def test_pending_notifications_are_bounded_and_countable(cluster: Cluster) -> None:
    release = asyncio.Event()
    stuck = AsyncRecordingHandler(release.wait)
    informer = cluster.informer(buffer_limit=10)
    version = ""
    handle = informer.add_event_handler(stuck, name="stuck")
    async with informer:
        await informer.wait_for_cache_sync(30)
        await informer.wait_for_version(await cluster.put("first"), timeout=30)
        for number in range(100):
            version = await cluster.put("abc"[number % 3], str(number))
        await informer.wait_for_version(version, timeout=30)
        assert 1 <= handle.pending <= 10 + 2 * 3 + 2  # the limit, two notifications a key, and those in progress
        assert informer.health.pending == {"stuck": handle.pending}
        release.set()
        await processed(handle)
    assert stuck.state == state_of(informer)
    assert len(stuck.recorded) < 30


@pytest.mark.slow
@pytest.mark.guarantee(12)
async def test_stopping_leaves_no_task_and_no_reference(cluster: Cluster) -> None:
    before = asyncio.all_tasks()
    informer = cluster.informer(resync=60)
    recorder = RecordingHandler()
    informer.add_event_handler(recorder)
    async with informer:
        await informer.wait_for_cache_sync(30)
        await reached(informer, await cluster.put("a"))
        assert asyncio.all_tasks() > before
    assert informer.is_stopped
    assert asyncio.all_tasks() == before
    informer_ref, recorder_ref = weakref.ref(informer), weakref.ref(recorder)
    del informer, recorder
    gc.collect()
    assert informer_ref() is None
    assert recorder_ref() is None


@pytest.mark.slow
@pytest.mark.guarantee(12)
async def test_a_removed_handler_is_not_called_again_and_is_released(cluster: Cluster) -> None:
    informer = cluster.informer(resync=60)
    recorder = RecordingHandler()
    handle = informer.add_event_handler(recorder)
    async with informer:
        await informer.wait_for_cache_sync(30)
        await reached(informer, await cluster.put("a"), handle)
        tasks = asyncio.all_tasks()
        await handle.remove()
        await handle.remove()
        assert len(asyncio.all_tasks()) == len(tasks) - 1
        assert informer.health.pending == {}
        await reached(informer, await cluster.put("b"))
        assert recorder.recorded == ["add a=1"]
        gone = weakref.ref(recorder)
        del recorder, handle
        gc.collect()
        assert gone() is None
