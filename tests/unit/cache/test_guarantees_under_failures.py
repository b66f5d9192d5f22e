"""The numbered contract of informers, when connections, versions and servers get lost."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.cache.clusters import QUICK, EmbeddedCluster, reached, state_of
from tests.unit.cache.fake_list_watch import FakeListWatch
from tests.unit.cache.recording_handler import RecordingHandler

import masthead.aio
import masthead.server
from masthead._cache.informer.informer import SharedInformer
from masthead.config import Config

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from masthead.server import Server
    from masthead_server.faults import Faults

MAPS: Any = {"resource": "configmaps"}
READS: Any = {**MAPS, "verb": ("list", "watch")}
FIRST = 5
"""How many events precede the failure: three objects, the bookmark after them, and one change."""

STREAMS: dict[str, Callable[[Faults], object]] = {
    "a dropped connection": lambda faults: faults.drop_watch(after=FIRST, **MAPS),
    "half a line": lambda faults: faults.cut_watch(after=FIRST, **MAPS),
    "read_timeout": lambda faults: faults.silence_watch(after=FIRST, **MAPS),
    "a version that is forgotten": lambda faults: faults.expire_watch(after=FIRST, **MAPS),
}
ANSWERS: dict[str, Callable[[Faults], object]] = {
    "nothing else": lambda faults: faults,
    "429": lambda faults: faults.fail(429, times=2, **READS),
    "a plain 429": lambda faults: faults.throttle(retry_after=0, times=2, **READS),
    "500": lambda faults: faults.fail(500, times=2, **READS),
    "503": lambda faults: faults.fail(503, times=3, **READS),
    "403": lambda faults: faults.fail(403, times=2, **READS),
    "404": lambda faults: faults.fail(404, times=2, **READS),
    "410": lambda faults: faults.fail(410, reason="Expired", times=2, **READS),
    "a version that is too large": lambda faults: faults.too_large_version(times=2, **MAPS),
    "lists that lag behind": lambda faults: faults.stale_lists(by=3, **MAPS),
}


@pytest.mark.slow
@pytest.mark.guarantee(6)
@pytest.mark.parametrize("answers", ANSWERS.values(), ids=ANSWERS.keys())
@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS.keys())
async def test_failures_lose_no_change_and_invent_none(
    embedded: EmbeddedCluster, stream: Callable[[Faults], object], answers: Callable[[Faults], object]
) -> None:
    for name in "abc":
        await embedded.put(name)
    faults = embedded.server.faults
    stream(faults)
    recorder = RecordingHandler()
    informer = embedded.informer(stall_after=0.05)
    handle = informer.add_event_handler(recorder)
    async with informer:
        await informer.wait_for_cache_sync(30)
        outage = faults.fail(503, times=None, **READS)
        await embedded.put("a", "2")  # the last that comes over this stream
        await embedded.remove("b")
        await embedded.put("c", "3")
        await embedded.put("d")
        answers(faults)
        outage.remove()
        await reached(informer, await embedded.put("e"), handle)
        assert state_of(informer) == await embedded.state() == {"a": "2", "c": "3", "d": "1", "e": "1"}
    assert recorder.state == state_of(informer)
    assert sorted(recorder.recorded[:3]) == ["initial a=1", "initial b=1", "initial c=1"]
    # Each change is dispatched once, whether it came from the watch or from a relist.
    assert len(recorder.recorded) == 8


@pytest.mark.guarantee(6)
@pytest.mark.parametrize("watch_list", [True, False])
async def test_failures_during_the_initial_list_invent_no_change(embedded: EmbeddedCluster, watch_list: bool) -> None:
    for name in "abcdef":
        await embedded.put(name)
    faults = embedded.server.faults
    faults.drop_watch(after=3, **MAPS)
    faults.fail(503, times=2, **READS)
    faults.expire(times=1, **MAPS)
    recorder = RecordingHandler()
    informer = embedded.informer(watch_list=watch_list, page_size=2)
    handle = informer.add_event_handler(recorder)
    async with informer:
        await handle.wait_for_cache_sync(30)
    assert sorted(recorder.recorded) == [f"initial {name}=1" for name in "abcdef"]


def at(server: Server) -> Config:
    return Config(server=server.url, token="let-me-in")


@pytest.mark.guarantee(6)
@pytest.mark.parametrize("keeps_its_data", [True, False])
async def test_an_informer_survives_a_restart_of_the_server(tmp_path: Path, keeps_its_data: bool) -> None:
    options: Any = {"token": "let-me-in", "controllers": False, "bootstrap": False}
    if keeps_its_data:
        options["data"] = tmp_path / "server.db"
    recorder = RecordingHandler()
    with masthead.server.run(**options) as server:
        config, port = at(server), int(server.url.rpartition(":")[2])
        client = masthead.aio.Client(config)
        cluster = EmbeddedCluster(server, client)
        for name in "abc":
            await cluster.put(name)
        informer = cluster.informer()
        handle = informer.add_event_handler(recorder)
        await informer.start()
        await reached(informer, await cluster.put("a", "2"), handle)
    with masthead.server.run(**options, port=port) as server:
        cluster = EmbeddedCluster(server, client)
        await cluster.put("a", "9")
        await reached(informer, await cluster.put("d"), handle)
        await recorder.until("add d=1")
        assert state_of(informer) == await cluster.state()
        assert recorder.state == state_of(informer)
        gone = [event for event in recorder.recorded if event.startswith("lost")]
        # Another object of the same name is another object.
        assert sorted(gone) == ([] if keeps_its_data else ["lost a=2", "lost b=1", "lost c=1"])
        await informer.stop()
        await client.close()


@pytest.mark.guarantee(1)
async def test_a_relist_replaces_everything_immediately_and_dispatches_deletes_first(
    embedded: EmbeddedCluster,
) -> None:
    seen: list[dict[str, str]] = []
    for name in "abc":
        await embedded.put(name)
    embedded.server.faults.expire_watch(after=FIRST, **MAPS)
    informer = embedded.informer()
    recorder = RecordingHandler(lambda: seen.append(state_of(informer)))
    handle = informer.add_event_handler(recorder)
    async with informer:
        await informer.wait_for_cache_sync(30)
        outage = embedded.server.faults.fail(503, times=None, **READS)
        await recorder.until("initial c=1")
        await embedded.put("c", "2")
        await recorder.until("update c=1>2")
        await embedded.remove("a")
        await embedded.remove("b")
        await embedded.put("c", "3")
        version = await embedded.put("d")
        outage.remove()
        await reached(informer, version, handle)
        assert informer.health.relists >= 1
    received = recorder.recorded[4:]
    assert sorted(received[:2]) == ["lost a=1", "lost b=1"]
    assert sorted(received[2:]) == ["add d=1", "update c=2>3"]
    assert seen[4:] == [{"c": "3", "d": "1"}] * 4


@pytest.mark.guarantee(1)
async def test_a_recreated_object_is_dispatched_as_a_delete_and_an_add(embedded: EmbeddedCluster) -> None:
    await embedded.put("a")
    embedded.server.faults.expire_watch(after=3, **MAPS)
    recorder = RecordingHandler()
    informer = embedded.informer()
    handle = informer.add_event_handler(recorder)
    async with informer:
        await informer.wait_for_cache_sync(30)
        outage = embedded.server.faults.fail(503, times=None, **READS)
        await embedded.put("trigger")
        await embedded.remove("a")
        version = await embedded.put("a", "2")
        outage.remove()
        await reached(informer, version, handle)
    assert recorder.recorded == ["initial a=1", "add trigger=1", "lost a=1", "add a=2"]


class Restorable(FakeListWatch):
    """A source that can be restored from a backup."""

    def back_up(self) -> None:
        self._backup = copy.deepcopy(self._objects)

    def restore(self) -> None:
        """Restore the objects without the history; the versions have already advanced."""
        self.version += 50
        self._objects, self._forgotten = self._backup, 0
        self._log.clear()


@pytest.mark.slow
@pytest.mark.guarantee(6)
@pytest.mark.parametrize("size", [9, 300])
async def test_a_server_restored_from_a_backup_is_relisted(
    size: int,
) -> None:
    source = Restorable()
    for number in range(size):
        source.put(f"a{number}")
    source.back_up()
    informer = SharedInformer(source, backoff=QUICK)
    async with informer:
        await informer.wait_for_cache_sync(30)
        for number in (1, 3, 5):
            source.put(f"a{number}", "2")
        await reached(informer, str(source.version))
        source.restore()
        source.end(OSError("cable"))
        await reached(informer, str(source.version))
        assert informer.health.relists == 1
        assert state_of(informer) == source.state == {f"a{number}": "1" for number in range(size)}


@pytest.mark.slow
@pytest.mark.guarantee(7)
async def test_a_silent_watch_is_abandoned_and_reopened(embedded: EmbeddedCluster) -> None:
    await embedded.put("known")  # by which the server is recognised
    silent = embedded.server.faults.silence_watch(after=2, **MAPS)
    async with embedded.informer(stall_after=0.05) as informer:
        await informer.wait_for_cache_sync(30)
        await informer.wait_for_version(await embedded.put("a"), timeout=30)
        health = informer.health
        assert silent.hits == 1
        assert health.reconnects >= 1
        assert health.relists == 0


@pytest.mark.guarantee(8)
async def test_the_initial_objects_come_as_initial_events_of_a_watch(embedded: EmbeddedCluster) -> None:
    await embedded.put("a")
    async with embedded.informer() as informer:
        await informer.wait_for_cache_sync(30)
    requests = [request for request in embedded.server.requests if request.info.verb in {"list", "watch"}]
    assert [request.info.verb for request in requests] == ["watch"]
    assert "sendInitialEvents=true" in requests[0].query
    assert "allowWatchBookmarks=true" in requests[0].query


@pytest.mark.guarantee(8)
async def test_a_server_that_rejects_initial_events_is_listed_and_that_is_remembered() -> None:
    with masthead.server.run(controllers=False, bootstrap=False, watch_list=False, token="let-me-in") as server:
        async with masthead.aio.Client(at(server)) as client:
            cluster = EmbeddedCluster(server, client)
            server.faults.expire_watch(after=1, **MAPS)
            async with cluster.informer() as informer:
                await informer.wait_for_cache_sync(30)
                await cluster.put("a")
                await informer.wait_for_version(await cluster.put("b"), timeout=30)
            async with cluster.informer() as another:
                await another.wait_for_cache_sync(30)
        requests = [request for request in server.requests if request.info.verb in {"list", "watch"}]
    begun = [request for request in requests if "sendInitialEvents" in request.query]
    assert len(begun) == 1
    assert [request.info.verb for request in requests[:3]] == ["watch", "list", "watch"]


@pytest.mark.guarantee(9)
async def test_a_relist_does_not_dispatch_unchanged_objects(embedded: EmbeddedCluster) -> None:
    for name in "abc":
        await embedded.put(name)
    embedded.server.faults.expire_watch(after=FIRST, **MAPS)
    recorder = RecordingHandler()
    informer = embedded.informer()
    handle = informer.add_event_handler(recorder)
    async with informer:
        await informer.wait_for_cache_sync(30)
        await embedded.put("d")
        await embedded.put("e")
        await reached(informer, await embedded.put("f"), handle)
        assert informer.health.relists == 1
    assert sorted(recorder.recorded[:3]) == ["initial a=1", "initial b=1", "initial c=1"]
    assert sorted(recorder.recorded[3:]) == ["add d=1", "add e=1", "add f=1"]
