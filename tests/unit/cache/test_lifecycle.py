"""New, running, stopped: what may be done when, and what may be done inside a handler."""

from __future__ import annotations

import asyncio
import gc
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from tests.unit.cache.clusters import QUICK, processed, reached, state_of, turns_until
from tests.unit.cache.fake_list_watch import FakeListWatch
from tests.unit.cache.recording_handler import AsyncRecordingHandler, RecordingHandler

from masthead._cache.informer.informer import SharedInformer, lifecycle_of
from masthead._cache.informer.mutation_detector import VARIABLE
from masthead.errors import (
    ClosedError,
    ConnectError,
    InformerStateError,
    MutationError,
)
from masthead.testing.virtual_time import in_virtual_time

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.cache.clusters import EmbeddedCluster

    from masthead._cache.informer.registration import Registration
    from masthead._cache.options import Hold
    from masthead.api.core.v1 import ConfigMap


def following(source: FakeListWatch, **options: Any) -> SharedInformer[ConfigMap]:
    options.setdefault("backoff", QUICK)
    return SharedInformer(source, **options)


async def test_before_the_start_the_cache_is_readable_and_empty(source: FakeListWatch) -> None:
    informer = following(source)
    assert informer.name == "configmaps"
    assert informer.indexer.list() == []
    with pytest.warns(RuntimeWarning, match="listed before their informer has synced"):
        assert informer.lister.list() == []
    assert [informer.has_synced, informer.is_stopped] == [False, False]
    assert informer.last_sync_resource_version == ""
    assert informer.health.state == "new"
    assert source.requests == []
    for waiting in (informer.wait_for_cache_sync(), informer.wait_for_version("5")):
        with pytest.raises(InformerStateError, match=r"start\(\) it first"):
            await waiting


async def test_a_partial_state_is_not_saved(source: FakeListWatch, tmp_path: Path) -> None:
    with pytest.raises(InformerStateError, match=r"wait_for_cache_sync\(\) first"):
        await following(source).save(tmp_path / "maps.snapshot")


async def test_an_informer_runs_once(source: FakeListWatch) -> None:
    informer = following(source)
    async with informer:
        for again in (informer.start, informer.run):
            with pytest.raises(InformerStateError, match="it has been started; make a new one"):
                await again()
        await informer.wait_for_cache_sync(30)
        assert not informer.is_stopped
    for again in (informer.start, informer.run):
        with pytest.raises(InformerStateError, match="make a new one"):
            await again()
    assert informer.is_stopped


async def test_configuration_is_rejected_after_the_start(source: FakeListWatch, tmp_path: Path) -> None:
    async with following(source) as informer:
        with pytest.raises(InformerStateError, match="set a transform"):
            informer.set_transform(lambda obj: obj)
        with pytest.raises(InformerStateError, match="set a handler of errors"):
            informer.set_watch_error_handler(print)
        with pytest.raises(InformerStateError, match="be seeded"):
            await informer.seed(tmp_path / "maps.snapshot")


async def test_after_the_stop_the_cache_is_readable_and_no_handler_is_added(source: FakeListWatch) -> None:
    source.put("a")
    informer = following(source)
    handle = informer.add_event_handler(RecordingHandler())
    async with informer:
        await informer.wait_for_cache_sync(30)
    assert state_of(informer) == {"a": "1"}
    for refused in (
        lambda: informer.add_event_handler(RecordingHandler()),
        lambda: informer.add_indexers({}),
    ):
        with pytest.raises(ClosedError, match="it has stopped; make a new one"):
            refused()
    with pytest.raises(ClosedError):
        await informer.wait_for_version("99")
    await handle.remove()
    await informer.stop()


async def test_an_informer_stopped_before_its_start_never_starts(source: FakeListWatch) -> None:
    informer = following(source)
    handle = informer.add_event_handler(RecordingHandler())
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(_outcome(handle.wait_for_cache_sync(30)))
        await asyncio.sleep(0)
        await informer.stop()
    assert isinstance(waiting.result(), ClosedError)
    assert informer.is_stopped
    with pytest.raises(InformerStateError, match="cannot be started any more: it has been stopped; make a new"):
        await informer.start()
    with pytest.raises(ClosedError):
        await informer.wait_for_cache_sync(30)
    await handle.remove()
    assert source.requests == []


@pytest.mark.guarantee(12)
async def test_an_informer_can_be_stopped_right_after_its_start(source: FakeListWatch) -> None:
    before = asyncio.all_tasks()
    informer = following(source)
    informer.add_event_handler(RecordingHandler())
    await informer.start()
    await informer.stop()
    assert asyncio.all_tasks() == before
    assert source.open_streams == 0


def open_sockets(server: str) -> int:
    """The number of client connections of this process to a server."""
    address = urlsplit(server).hostname, urlsplit(server).port
    return sum(peer_of(found) == address for found in gc.get_objects() if type(found) is socket.socket)


def peer_of(found: socket.socket) -> object:
    """The address at the other end of a socket; None if there is none."""
    try:
        return found.getpeername() if found.fileno() >= 0 else None
    except OSError:
        return None


@pytest.mark.slow
@pytest.mark.guarantee(12)
async def test_stopping_leaves_no_socket(embedded: EmbeddedCluster) -> None:
    await embedded.put("a")
    url = embedded.server.url
    before = open_sockets(url)
    for number in range(3):
        async with embedded.informer() as informer:
            await informer.wait_for_cache_sync(30)
            await informer.wait_for_version(await embedded.put("a", str(number)), 30)
            assert open_sockets(url) == before + 1
        await turns_until(lambda: open_sockets(url) == before)


@pytest.mark.guarantee(12)
async def test_waiters_get_an_error_when_the_informer_stops(source: FakeListWatch) -> None:
    source.errors.extend([OSError("cable")] * 1000)
    informer = following(source)
    handle = informer.add_event_handler(RecordingHandler())
    await informer.start()
    waiting = [informer.wait_for_cache_sync(), informer.wait_for_version("99"), handle.wait_for_cache_sync()]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_outcome(wait)) for wait in waiting]
        await turns_until(lambda: len(source.requests) > 1)
        await informer.stop()
    assert [type(task.result()) for task in tasks] == [ClosedError] * 3


async def _outcome(waiting: Any) -> BaseException | None:
    try:
        await waiting
    except ClosedError as error:
        return error
    return None


@pytest.mark.guarantee(12)
async def test_waiters_get_an_error_when_run_is_cancelled_before_its_first_step(
    source: FakeListWatch,
) -> None:
    before = asyncio.all_tasks()
    informer = following(source)
    handle = informer.add_event_handler(RecordingHandler())
    lifecycle_of(informer).start()
    (task,) = (task for task in asyncio.all_tasks() if task.get_name() == "masthead informer configmaps")
    task.cancel()
    for waiting in (handle.wait_for_cache_sync(30), informer.wait_for_cache_sync(30)):
        assert isinstance(await _outcome(waiting), ClosedError)
    await informer.stop()
    await turns_until(lambda: asyncio.all_tasks() == before)


@pytest.mark.guarantee(12)
async def test_an_informer_whose_block_is_cancelled_on_entry_is_stopped(source: FakeListWatch) -> None:
    before = asyncio.all_tasks()
    informer = following(source)

    async def use() -> None:
        async with informer:
            await asyncio.Event().wait()

    task = asyncio.get_running_loop().create_task(use())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert informer.is_stopped
    assert asyncio.all_tasks() == before


@pytest.mark.guarantee(12)
async def test_a_stopping_informer_rejects_handlers(source: FakeListWatch) -> None:
    source.put("a")
    release = asyncio.Event()
    slow, late = AsyncRecordingHandler(release.wait), RecordingHandler()
    informer = following(source)
    informer.add_event_handler(slow)
    running = asyncio.get_running_loop().create_task(informer.run())
    await turns_until(lambda: slow.inside == 1)
    informer.stop_nowait()
    with pytest.raises(ClosedError, match="cannot take a handler any more: it is being stopped"):
        informer.add_event_handler(late)
    release.set()
    await running
    assert late.recorded == []


@pytest.mark.guarantee(12)
async def test_stopping_waits_for_removed_handlers(source: FakeListWatch) -> None:
    source.put("a")
    before = asyncio.all_tasks()
    release = asyncio.Event()
    handles: list[Registration] = []
    returned: list[str] = []

    async def leave(obj: ConfigMap) -> None:
        await handles[0].remove()
        await release.wait()
        returned.append(obj.metadata.name)

    informer = following(source)
    handles.append(informer.add_event_handler(on_add=leave))
    await informer.start()
    await turns_until(lambda: informer.health.pending == {})
    stopping = asyncio.get_running_loop().create_task(informer.stop())
    await turns_until(lambda: source.open_streams == 0)
    for _ in range(20):
        await asyncio.sleep(0)
    assert not stopping.done()
    release.set()
    await stopping
    assert returned == ["a"]
    assert asyncio.all_tasks() == before


async def test_handlers_may_remove_each_other(source: FakeListWatch) -> None:
    source.put("a")
    both = asyncio.Barrier(2)
    handles: list[Registration] = []
    removed: list[int] = []

    def removing(other: int) -> Any:
        async def on_add(_: ConfigMap) -> None:
            await both.wait()
            await handles[other].remove()
            removed.append(other)

        return on_add

    informer = following(source)
    handles += [informer.add_event_handler(on_add=removing(other)) for other in (1, 0)]
    async with informer:
        await turns_until(lambda: len(removed) == 2)


@pytest.mark.guarantee(12)
async def test_run_ends_when_its_task_is_cancelled(source: FakeListWatch) -> None:
    before = asyncio.all_tasks()
    informer = following(source)
    recorder = RecordingHandler()
    informer.add_event_handler(recorder)
    task = asyncio.get_running_loop().create_task(informer.run())
    await asyncio.sleep(0)
    await informer.wait_for_cache_sync(30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert informer.is_stopped
    assert asyncio.all_tasks() == before
    assert source.open_streams == 0


async def test_an_error_of_a_custom_queue_is_raised_by_the_start(source: FakeListWatch) -> None:
    def fail(_: object) -> Any:
        raise LookupError("no such shelf")

    informer = following(source, queue=fail)
    with pytest.raises(LookupError, match="no such shelf"):
        await informer.start()
    await informer.stop()
    assert informer.is_stopped


async def test_a_handler_may_stop_its_informer(source: FakeListWatch) -> None:
    source.put("a")
    source.put("b")
    informer = following(source)
    received: list[str] = []

    async def stop(obj: ConfigMap) -> None:
        received.append(obj.metadata.name)
        await informer.stop()

    informer.add_event_handler(on_add=stop)
    await informer.run()
    assert informer.is_stopped
    assert received == ["a"]


async def test_a_handler_may_remove_itself(source: FakeListWatch) -> None:
    source.put("a")
    source.put("b")
    informer = following(source)
    handles: list[Registration] = []
    received: list[str] = []

    async def leave(obj: ConfigMap) -> None:
        received.append(obj.metadata.name)
        await handles[0].remove()

    handles.append(informer.add_event_handler(on_add=leave))
    other = RecordingHandler()
    handles.append(informer.add_event_handler(other))
    async with informer:
        await handles[1].wait_for_cache_sync(30)
        source.put("c")
        await reached(informer, str(source.version), handles[1])
    assert received == ["a"]
    assert len(other.recorded) == 3


async def test_a_handler_may_add_another_which_gets_every_object(source: FakeListWatch) -> None:
    source.put("a")
    informer = following(source)
    added = RecordingHandler()
    handles: list[Registration] = []

    def add() -> None:
        if not handles:
            handles.append(informer.add_event_handler(added))

    first = informer.add_event_handler(RecordingHandler(add))
    async with informer:
        await first.wait_for_cache_sync(30)
        source.put("b")
        await reached(informer, str(source.version), *handles)
    assert added.recorded == ["initial a=1", "add b=1"]


async def test_a_handler_can_be_added_only_in_the_informers_event_loop(source: FakeListWatch) -> None:
    async with following(source) as informer:
        with pytest.raises(InformerStateError, match="runs on another event loop"):
            await asyncio.to_thread(informer.add_event_handler, RecordingHandler())
        assert informer.health.pending == {}


async def test_removing_a_handler_waits_for_it(source: FakeListWatch) -> None:
    source.put("a")
    release = asyncio.Event()
    recorder = AsyncRecordingHandler(release.wait)
    async with following(source) as informer:
        handle = informer.add_event_handler(recorder)
        await turns_until(lambda: recorder.inside == 1)
        async with asyncio.TaskGroup() as group:
            removal = group.create_task(handle.remove())
            await informer.wait_for_cache_sync(30)
            assert not removal.done()
            release.set()
        assert recorder.inside == 0
        with pytest.raises(ClosedError, match="it was removed"):
            await handle.wait_for_cache_sync(30)


async def test_the_same_handler_may_be_added_twice(source: FakeListWatch) -> None:
    source.put("a")
    recorder = RecordingHandler()
    async with following(source) as informer:
        handles = [informer.add_event_handler(recorder) for _ in range(2)]
        await handles[0].wait_for_cache_sync(30)
        await handles[1].wait_for_cache_sync(30)
        await handles[0].remove()
        source.put("b")
        await reached(informer, str(source.version), handles[1])
    assert recorder.recorded == ["initial a=1", "initial a=1", "add b=1"]
    assert len({handle.name for handle in handles}) == 2


async def test_closing_a_client_stops_its_informers(
    embedded: EmbeddedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    await embedded.put("a")
    informer = embedded.informer()
    handle = informer.add_event_handler(RecordingHandler())
    await informer.start()
    await handle.wait_for_cache_sync(30)
    await embedded.client.close()
    with pytest.raises(ClosedError):
        await informer.wait_for_version("999999", 30)
    assert informer.is_stopped
    assert informer.health.state == "stopped"
    assert len([message for message in caplog.messages if message.startswith("informer configmaps ends")]) == 1
    assert state_of(informer) == {"a": "1"}
    await informer.stop()


async def test_an_informer_of_a_closed_client_raises(embedded: EmbeddedCluster) -> None:
    await embedded.client.close()
    informer = embedded.informer()
    await informer.start()
    with pytest.raises(ClosedError):
        await informer.wait_for_cache_sync(30)
    assert informer.is_stopped


async def test_a_mutation_of_a_shared_object_is_detected(source: FakeListWatch) -> None:
    source.put("a")
    informer = following(source, detect_mutations=True)
    await informer.start()
    await informer.wait_for_cache_sync(30)
    informer.check_mutations()
    informer.indexer.list()[0].data["value"] = "mine"
    with pytest.raises(MutationError, match=r"shop/a \(data\.value\)"):
        informer.check_mutations()
    with pytest.raises(MutationError):
        await informer.stop()
    assert informer.is_stopped


@pytest.mark.parametrize("hold", ["lazy", "eager", "compact"])
@pytest.mark.parametrize("end", ["replaced", "deleted"])
async def test_a_mutated_object_that_has_left_the_store_is_reported(
    source: FakeListWatch,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    hold: Hold,
    end: str,
) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    source.put("a")
    informer = following(source, hold=hold)
    await informer.start()
    await informer.wait_for_cache_sync(30)
    informer.indexer.list()[0].data["value"] = "mine"
    if end == "replaced":
        source.put("a", "2")
    else:
        source.remove("a")
    await reached(informer, str(source.version))
    assert caplog.messages == [
        "informer configmaps: shop/a (data.value) was changed, which the cache shares; copy() it first"
    ]
    with pytest.raises(MutationError, match=r"shop/a \(data\.value\)") as caught:
        await informer.stop()
    assert caught.value.keys == ("shop/a",)


async def test_a_mutation_is_reported_with_the_handler_after_which_it_was_noticed(
    source: FakeListWatch,
) -> None:
    source.put("a")
    informer = following(source, detect_mutations=True)

    async def change(obj: ConfigMap) -> None:
        obj.data["value"] = "mine"

    handle = informer.add_event_handler(on_add=change, name="careless")
    await informer.start()
    await handle.wait_for_cache_sync(30)
    with pytest.raises(MutationError, match=r"shop/a \(data\.value; noticed after handler careless\)"):
        await informer.stop()


@in_virtual_time
async def test_mutations_are_logged_within_seconds(caplog: pytest.LogCaptureFixture) -> None:
    source = FakeListWatch()
    source.put("a")
    informer = following(source, detect_mutations=True)
    await informer.start()
    await informer.wait_for_cache_sync(30)
    informer.indexer.list()[0].data["value"] = "mine"
    await asyncio.sleep(2)
    assert [message for message in caplog.messages if "shop/a (data.value) was changed" in message]
    with pytest.raises(MutationError):
        await informer.stop()


@pytest.mark.parametrize("hold", ["lazy", "compact"])
async def test_reading_replacing_and_deleting_is_no_mutation(source: FakeListWatch, hold: Hold) -> None:
    for name in "abc":
        source.put(name)
    informer = following(source, detect_mutations=True, hold=hold)
    handle = informer.add_event_handler(RecordingHandler())
    await informer.start()
    await handle.wait_for_cache_sync(30)
    assert [len(obj.data) for obj in informer.indexer.list()] == [1, 1, 1]
    source.put("a", "2")
    source.remove("b")
    await reached(informer, str(source.version), handle)
    await informer.stop()


async def test_a_mutation_does_not_hide_the_error_of_a_block(
    source: FakeListWatch, caplog: pytest.LogCaptureFixture
) -> None:
    source.put("a")
    informer = following(source, detect_mutations=True)

    async def fail() -> None:
        async with informer:
            await informer.wait_for_cache_sync(30)
            informer.indexer.list()[0].data["value"] = "mine"
            raise LookupError("no such shelf")

    with pytest.raises(LookupError, match="no such shelf"):
        await fail()
    assert informer.is_stopped
    assert len(caplog.messages) == 1
    assert "shop/a (data.value)" in caplog.messages[0]


async def test_an_informer_has_a_readable_repr(source: FakeListWatch) -> None:
    source.put("a")
    informer = following(source)
    assert repr(informer) == "<SharedInformer configmaps: new, not synced, 0 objects>"
    async with informer:
        await informer.wait_for_cache_sync(30)
        await turns_until(lambda: informer.health.state == "watching")
        assert repr(informer) == "<SharedInformer configmaps: watching, synced, 1 object>"
    assert repr(informer) == "<SharedInformer configmaps: stopped, synced, 1 object>"


async def test_logs_and_health_use_the_given_names(source: FakeListWatch) -> None:
    informer = following(source, name="settings")
    first = informer.add_event_handler(RecordingHandler())
    second = informer.add_event_handler(RecordingHandler(), name="audit")
    assert (informer.name, first.name, second.name) == ("settings", "settings-1", "audit")
    assert repr(second) == "<Registration of 'audit', 0 pending>"
    async with informer:
        await informer.wait_for_cache_sync(30)
        await processed(first, second)
        assert informer.health.pending == {"settings-1": 0, "audit": 0}


@pytest.mark.slow
async def test_health_reports_whether_the_watch_is_open(
    source: FakeListWatch,
) -> None:
    informer = following(source)
    assert not informer.health.is_connected
    async with informer:
        await informer.wait_for_cache_sync(30)
        await turns_until(lambda: informer.health.is_connected)
        source.errors.extend([ConnectError("refused")] * 3)
        source.end(ConnectError("gone"))
        await turns_until(lambda: informer.health.failures > 0 and not informer.health.is_connected)
        await turns_until(lambda: informer.health.is_connected)
    assert not informer.health.is_connected
