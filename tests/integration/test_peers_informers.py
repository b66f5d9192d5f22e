"""Known bugs of informers and caches for this API, one test each; the docstrings describe the bug.

Three flaws have no test here. That an event is parsed three times, that lines are gathered in quadratic time, and that
each connection gets a client of its own are a matter of cost, which `benchmarks` measures. That a handler is registered
by a task without references cannot be written down where registering is a plain call. And that a dead task is never
started again is what every test here would fail of that drops a connection.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.copies import QUICK, copy_of, embedded, put, quick, state
from tests.integration.facades import informer_of, is_blocking
from tests.integration.scripts import (
    ScriptedResponse,
    ScriptedServer,
    bookmark,
    client_of,
    config_map,
    event,
    json_response,
    listed,
    status,
    stream,
)
from tests.unit.cache.clusters import processed, reached, turns_until
from tests.unit.cache.recording_handler import RecordingHandler

from masthead._meta.gvk import GroupVersionResource
from masthead._meta.patch import Patch
from masthead.errors import ClosedError, InformerStateError, MutationError, NotFoundError

if TYPE_CHECKING:
    from tests.integration.conftest import Cluster

BUSY = event("ERROR", status(500, "InternalError", "etcd is not there"))


@pytest.fixture
def maps(client: Any, namespace: str) -> Any:
    return client.core_v1.config_maps(namespace)


def without_the_clusters_own(recorder: RecordingHandler) -> list[str]:
    """The events of the test's objects; a real cluster puts one of its own into each namespace."""
    return [each for each in recorder.recorded if "kube-root-ca" not in each]


# kubernetes.informer


async def test_kinds_without_a_class_are_mirrored(facade: str) -> None:
    """An informer of a custom resource failed every few seconds, or listed once and saw nothing more."""

    def box(name: str, version: str, size: int) -> dict[str, Any]:
        return config_map(name, version) | {
            "apiVersion": "example.com/v1",
            "kind": "Box",
            "spec": {"size": size},
        }

    first = stream(event("ADDED", box("a", "5", 1)), bookmark("6", ends=True), event("MODIFIED", box("a", "7", 2)))
    script = ScriptedServer(deque([first]))
    async with client_of(script.handle, facade) as client:
        boxes = client.dynamic(GroupVersionResource("example.com", "v1", "boxes"), namespace="shop")
        informer = informer_of(boxes, indexers={"size": lambda box: [str(box["spec"]["size"])]})
        async with informer:
            await informer.wait_for_version("7", 30)
            (found,) = informer.indexer.by_index("size", "2")
            assert (found.kind, found["spec"]) == ("Box", {"size": 2})


NO_PAUSE = {
    "errors": stream(BUSY, ends=True),
    "nothing new": stream(ends=True),
    "drops": stream(then="reset"),
    "refusals": ScriptedResponse(json_response(status(500, "InternalError", "no"), "500 No")),
}


@pytest.mark.parametrize("response", NO_PAUSE.values(), ids=NO_PAUSE.keys())
async def test_a_failing_server_is_retried_with_backoff(facade: str, response: ScriptedResponse) -> None:
    """A thousand requests in three seconds, against a server that fails already, each logged with a traceback."""
    script = ScriptedServer(
        deque([stream(event("ADDED", config_map()), bookmark("6", ends=True), ends=True), response])
    )
    script.rest = deque([json_response(listed(config_map(), version="6"))])
    async with client_of(script.handle, facade) as client:
        maps = client.core_v1.config_maps("shop")
        async with informer_of(maps) as informer:
            await informer.wait_for_cache_sync(30)
            for _ in range(200):
                await client.rest.get("/version")
    assert len(script.queries) <= 8  # without a pause, there would be dozens


async def test_an_unreachable_server_is_retried_with_backoff(facade: str, caplog: pytest.LogCaptureFixture) -> None:
    """Refused connections were tried again at once, hundreds of times a second."""
    script = ScriptedServer()
    async with client_of(script.handle, facade) as other, client_of(script.handle, facade) as client:
        await other.rest.get("/version")
        script.watches = deque([ScriptedResponse(then="reset")])
        async with informer_of(client.core_v1.config_maps("shop")):
            for _ in range(100):
                await other.rest.get("/version")
    assert len(script.queries) <= 4
    assert all(record.exc_info is None for record in caplog.records)


async def test_one_undecodable_object_does_not_break_an_informer(facade: str) -> None:
    """An object that the model rejects was read over and over, and nothing after it was delivered."""
    broken = config_map("broken", "7") | {"metadata": {**_meta("broken", "7"), "generation": "many"}}
    script = ScriptedServer(
        deque(
            [
                stream(
                    event("ADDED", config_map("a", "5")),
                    event("ADDED", broken),
                    bookmark("8", ends=True),
                    event("MODIFIED", broken | {"metadata": {**broken["metadata"], "resourceVersion": "9"}}),  # type: ignore[dict-item]
                    event("ADDED", config_map("c", "10")),
                )
            ]
        )
    )
    async with (
        client_of(script.handle, facade) as client,
        informer_of(client.core_v1.config_maps("shop")) as informer,
    ):
        await informer.wait_for_version("10", 30)
        assert sorted(informer.indexer.list_keys()) == ["shop/a", "shop/c"]
        assert list(informer.health.broken) == ["shop/broken"]
    assert len(script.queries) == 1


def _meta(name: str, version: str) -> dict[str, object]:
    return {"name": name, "namespace": "shop", "resourceVersion": version}


@pytest.mark.embedded_only
async def test_an_empty_cluster_is_distinguished_from_one_not_synced_yet(cluster: Cluster, maps: Any) -> None:
    """There was no way to know whether the first list had arrived."""
    outage = embedded(cluster).faults.fail(503, verb=("list", "watch"), namespace=maps.namespace, times=None)
    async with quick(maps) as informer:
        assert not informer.has_synced
        outage.remove()
        await informer.wait_for_cache_sync(30)
        assert informer.has_synced


async def test_a_late_handler_receives_existing_objects(maps: Any) -> None:
    """It received nothing of what was cached already."""
    await put(maps, "a")
    async with quick(maps) as informer:
        await informer.wait_for_cache_sync(30)
        recorder = RecordingHandler()
        await informer.add_event_handler(recorder).wait_for_cache_sync(30)
        assert "initial a=1" in recorder.recorded


async def test_a_slow_handler_stalls_neither_the_cache_nor_other_handlers(maps: Any) -> None:
    """Handlers ran in the task that read the watch: a slow one stalled the cache, the connection and other handlers."""
    release = threading.Event()
    loop_release = asyncio.Event()
    other = RecordingHandler()
    informer = quick(maps)

    def block(_: Any) -> Any:
        return release.wait(30) if is_blocking(informer) else loop_release.wait()

    stuck = informer.add_event_handler(on_add=block)
    handle = informer.add_event_handler(other)
    async with informer:
        await put(maps, "a")
        await put(maps, "b")
        await reached(informer, await put(maps, "c"), handle)
        assert other.state.keys() >= {"a", "b", "c"}
        assert stuck.pending >= 3
        release.set()
        loop_release.set()
        await processed(stuck)


async def test_an_update_has_the_old_object(maps: Any) -> None:
    """There was only the new object."""
    await put(maps, "a")
    recorder = RecordingHandler()
    informer = quick(maps)
    handle = informer.add_event_handler(recorder)
    async with informer:
        await handle.wait_for_cache_sync(30)
        await reached(informer, await put(maps, "a", "2"), handle)
    assert without_the_clusters_own(recorder) == ["initial a=1", "update a=1>2"]


@pytest.mark.embedded_only
async def test_a_missed_deletion_is_dispatched_after_the_cache_change_as_a_tombstone(
    cluster: Cluster, maps: Any
) -> None:
    """The handler still found the object in the cache; nothing marked its final state as unknown."""
    await put(maps, "a")
    faults, place = embedded(cluster).faults, maps.namespace
    faults.expire_watch(after=3, namespace=place)
    found: list[list[str]] = []
    informer = quick(maps)
    recorder = RecordingHandler(lambda: found.append(sorted(copy_of(informer))))
    handle = informer.add_event_handler(recorder)
    async with informer:
        await handle.wait_for_cache_sync(30)
        outage = faults.fail(503, verb=("list", "watch"), namespace=place, times=None)
        await put(maps, "b")
        await recorder.until("add b=1")
        await maps.delete("a")
        version = await put(maps, "b", "2")
        outage.remove()
        await reached(informer, version, handle)
    assert recorder.recorded == ["initial a=1", "add b=1", "lost a=1", "update b=1>2"]
    assert found[2:] == [["b"], ["b"]]


@pytest.mark.embedded_only
async def test_another_object_of_the_same_name_is_another_object(cluster: Cluster, maps: Any) -> None:
    """An object recreated during an outage was taken for an update of the old one, or appeared twice."""
    await put(maps, "a")
    faults, place = embedded(cluster).faults, maps.namespace
    faults.expire_watch(after=3, namespace=place)
    recorder = RecordingHandler()
    informer = quick(maps, indexers={"value": lambda obj: [obj.data["value"]]})
    handle = informer.add_event_handler(recorder)
    async with informer:
        await handle.wait_for_cache_sync(30)
        outage = faults.fail(503, verb=("list", "watch"), namespace=place, times=None)
        await put(maps, "b")
        await maps.delete("a")
        version = await put(maps, "a", "2")
        outage.remove()
        await reached(informer, version, handle)
        assert informer.indexer.index_keys("value", "1") == [f"{place}/b"]
        assert informer.indexer.index_keys("value", "2") == [f"{place}/a"]
        assert len(informer.indexer) == 2
    assert recorder.recorded == ["initial a=1", "add b=1", "lost a=1", "add a=2"]


@pytest.mark.embedded_only
async def test_bookmarks_are_requested(cluster: Cluster, maps: Any) -> None:
    """Without, the version of a quiet watch grows old until it is forgotten."""
    async with quick(maps) as informer:
        await informer.wait_for_cache_sync(30)
    watches = [request for request in embedded(cluster).requests if request.info.verb == "watch"]
    assert "allowWatchBookmarks=true" in watches[-1].query


@pytest.mark.slow
@pytest.mark.embedded_only
async def test_a_resync_sends_no_request(cluster: Cluster, maps: Any) -> None:
    """It was a full list, and dispatched every object as changed to every handler."""
    await put(maps, "a")
    recorder, other = RecordingHandler(), RecordingHandler()
    informer = quick(maps, resync=1.0)
    informer.add_event_handler(recorder)
    handle = informer.add_event_handler(other, resync=0.0)
    async with informer:
        await handle.wait_for_cache_sync(30)
        before = len(embedded(cluster).requests)
        await recorder.until("update a=1>1")
        assert len(embedded(cluster).requests) == before
    assert other.recorded == ["initial a=1"]


@pytest.mark.slow
@pytest.mark.embedded_only
async def test_a_dead_connection_is_detected(cluster: Cluster, maps: Any) -> None:
    """Nothing had a time limit: a half-open connection froze the cache for good, silently."""
    await put(maps, "a")
    silent = embedded(cluster).faults.silence_watch(after=2, namespace=maps.namespace)
    async with quick(maps, stall_after=0.1) as informer:
        await informer.wait_for_version(await put(maps, "b"), 30)
        assert copy_of(informer) == {"a": "1", "b": "1"}
    assert silent.hits == 1


async def test_a_handler_may_stop_its_informer(maps: Any) -> None:
    """`cannot join current thread`."""
    await put(maps, "a")
    informer = quick(maps)
    failed: list[BaseException] = []

    def stop_blocking(_: Any) -> None:
        try:
            informer._blocking.stop()
        except BaseException as error:  # noqa: BLE001 - it is what the test is about
            failed.append(error)

    async def stop(_: Any) -> None:
        await informer.stop()

    informer.add_event_handler(on_add=stop_blocking if is_blocking(informer) else stop)
    await informer.start()
    await turns_until(lambda: informer.is_stopped)
    await informer.stop()
    assert failed == []


async def test_an_informer_can_be_stopped_right_after_its_start(maps: Any) -> None:
    """Stopping hung: it was checked only when an event arrived."""
    informer = quick(maps)
    await informer.start()
    async with asyncio.timeout(10):
        await informer.stop()
    assert informer.is_stopped


async def test_long_lists_are_read_in_pages(facade: str) -> None:
    """Everything was requested at once; or only the first page was ever read."""
    script = ScriptedServer(deque([stream()]))
    script.rest = deque(
        [
            json_response(listed(config_map("a"), config_map("b"), token="more")),
            json_response(listed(config_map("c"), config_map("d"), token="and more")),
            json_response(listed(config_map("e"))),
        ]
    )
    async with (
        client_of(script.handle, facade) as client,
        informer_of(client.core_v1.config_maps("shop"), watch_list=False) as informer,
    ):
        await informer.wait_for_cache_sync(30)
        assert sorted(informer.indexer.list_keys()) == [f"shop/{name}" for name in "abcde"]
    lists = [each.line for each in script.seen if "watch=true" not in each.line]
    assert ["limit=500" in line for line in lists] == [True] * 3
    assert ["continue=" in line for line in lists] == [False, True, True]


async def test_mutations_of_shared_objects_are_detected(maps: Any) -> None:
    """Live objects were handed out, and mutations went undetected."""
    await put(maps, "a")
    informer = quick(maps, detect_mutations=True)
    await informer.start()
    await informer.wait_for_cache_sync(30)
    informer.lister.namespace(maps.namespace).get("a").data["value"] = "mine"
    with pytest.raises(MutationError, match=f"{maps.namespace}/a"):
        informer.check_mutations()
    with pytest.raises(MutationError):
        await informer.stop()


# cloudcoil.caching


@pytest.mark.embedded_only
@pytest.mark.parametrize("watch_list", [True, False])
async def test_deletions_are_not_lost_when_a_resource_version_expires(
    cluster: Cluster, maps: Any, watch_list: bool
) -> None:
    """The version was dropped and the watch restarted: objects deleted meanwhile stayed for ever."""
    for name in "abc":
        await put(maps, name)
    faults, place = embedded(cluster).faults, maps.namespace
    faults.expire_watch(after=5 if watch_list else 1, namespace=place)
    async with quick(maps, watch_list=watch_list) as informer:
        await informer.wait_for_cache_sync(30)
        outage = faults.fail(503, verb=("list", "watch"), namespace=place, times=None)
        await put(maps, "d")
        await maps.delete("a")
        await maps.delete("b")
        version = await put(maps, "e")
        outage.remove()
        await informer.wait_for_version(version, 30)
        assert copy_of(informer) == await state(maps) == {"c": "1", "d": "1", "e": "1"}


async def test_existing_objects_are_dispatched_as_adds(maps: Any) -> None:
    """Handlers received only later changes."""
    await put(maps, "a")
    await put(maps, "b")
    recorder = RecordingHandler()
    informer = quick(maps)
    handle = informer.add_event_handler(recorder)
    async with informer:
        await handle.wait_for_cache_sync(30)
    assert sorted(without_the_clusters_own(recorder)) == ["initial a=1", "initial b=1"]


SELECTED = {"app=x,tier=f": {"a"}, "app in (x)": {"a", "b"}, "app==x": {"a", "b"}, "app!=x": {"c"}}


async def test_listers_and_lists_honor_selectors(maps: Any) -> None:
    """All but the simplest gave everything, or nothing."""
    await put(maps, "a", app="x", tier="f")
    await put(maps, "b", app="x")
    version = await put(maps, "c", app="y")
    async with quick(maps) as informer:
        await informer.wait_for_version(version, 30)
        for selector, names in SELECTED.items():
            found = informer.lister.namespace(maps.namespace).list(selector)
            assert {each.metadata.name for each in found} - {"kube-root-ca.crt"} == names
            from_server = await maps.list(label_selector=selector)
            assert {item.metadata.name for item in from_server.items} - {"kube-root-ca.crt"} == names


async def test_objects_are_never_evicted_from_the_cache(facade: str) -> None:
    """Beyond ten thousand, objects vanished from the cache."""
    many = [event("ADDED", config_map(f"map-{number}", str(number + 1))) for number in range(10_050)]
    script = ScriptedServer(deque([stream(b"".join(many), bookmark("10051", ends=True))]))
    async with (
        client_of(script.handle, facade) as client,
        informer_of(client.core_v1.config_maps("shop")) as informer,
    ):
        await informer.wait_for_cache_sync(60)
        assert len(informer.indexer) == 10_050
        assert informer.indexer.get_by_key("shop/map-0") is not None


@pytest.mark.embedded_only
async def test_an_informer_of_a_namespace_requests_only_that_namespace(
    cluster: Cluster, client: Any, namespace: str
) -> None:
    """Namespaces were taken and ignored: everything was watched, which a user with few rights may not."""
    secrets = client.core_v1.secrets(namespace)
    before = len(embedded(cluster).requests)
    async with quick([secrets, client.core_v1.secrets("default")]) as informer:
        await informer.wait_for_cache_sync(30)
    paths = {request.path for request in embedded(cluster).requests[before:] if request.info.resource == "secrets"}
    assert paths == {f"/api/v1/namespaces/{each}/secrets" for each in (namespace, "default")}


@pytest.mark.embedded_only
@pytest.mark.parametrize("code", [401, 403, 404, 429, 500, 503])
async def test_an_informer_recovers_from_an_error_at_the_start(cluster: Cluster, maps: Any, code: int) -> None:
    """One error stopped the informer for good, and its lister returned empty lists from then on."""
    await put(maps, "a")
    refused = embedded(cluster).faults.fail(code, verb=("list", "watch"), namespace=maps.namespace, times=3)
    async with quick(maps) as informer:
        await informer.wait_for_cache_sync(30)
        assert copy_of(informer) == {"a": "1"}
    assert refused.hits == 3


async def test_without_a_namespace_all_namespaces_are_watched(client: Any, maps: Any) -> None:
    """A cached list meant all namespaces, another the default one; and a cached get without a namespace never hit."""
    version = await put(maps, "a")
    async with quick(client.core_v1.config_maps()) as informer:
        await informer.wait_for_version(version, 60)
        assert f"{maps.namespace}/a" in {each.key for each in informer.lister.list()}
        assert informer.lister.namespace(maps.namespace).get("a").metadata.name == "a"
        assert informer.lister.get(f"{maps.namespace}/a").metadata.name == "a"
        with pytest.raises(NotFoundError):
            informer.lister.get("a")


async def test_a_cluster_scoped_update_has_the_old_object(client: Any, namespace: str) -> None:
    """Its key was made in two ways, so that there never was an old object."""
    seen: list[tuple[str, str]] = []
    informer = quick(client.core_v1.namespaces())

    def note(old: Any, new: Any) -> None:
        if new.metadata.name == namespace and "x" in new.metadata.labels:
            seen.append((old.metadata.uid, new.metadata.uid))

    handle = informer.add_event_handler(on_update=note)
    async with informer:
        await informer.wait_for_cache_sync(30)
        made = await client.core_v1.namespaces().patch(namespace, Patch.merge({"metadata": {"labels": {"x": "1"}}}))
        await informer.wait_for_version(made, 30)
        await processed(handle)
    assert seen
    assert all(old == new != "" for old, new in seen)


@pytest.mark.embedded_only
async def test_readers_never_see_a_partial_relist(cluster: Cluster, maps: Any) -> None:
    """A relist emptied the cache and filled it again, while it was being read."""
    for number in range(50):
        await put(maps, f"map-{number}")
    faults, place = embedded(cluster).faults, maps.namespace
    done = threading.Event()
    counts: set[int] = set()

    def read() -> None:
        while not done.is_set():
            counts.update((len(informer.indexer.list()), len(informer.indexer.by_index("namespace", place))))

    async with quick(maps) as informer:
        await informer.wait_for_cache_sync(30)
        reading = asyncio.get_running_loop().run_in_executor(None, read)
        try:
            for number in range(5):
                faults.expire_watch(after=0, namespace=place)
                await informer.wait_for_version(await put(maps, "map-0", str(number)), 30)
        finally:
            done.set()
            await reading
    assert counts == {50}


async def test_a_stopped_informer_stays_stopped_and_leaves_no_thread(maps: Any) -> None:
    """A thread was given up after some seconds, and came back to life beside a new one."""
    informer = quick(maps)
    informer.add_event_handler(RecordingHandler(), name="mine")
    await informer.start()
    await informer.wait_for_cache_sync(30)
    await informer.stop()
    with pytest.raises(InformerStateError):
        await informer.start()
    with pytest.raises(ClosedError):
        informer.add_event_handler(RecordingHandler())
    assert not [each.name for each in threading.enumerate() if each.name.startswith("masthead-handler-mine")]


# kopf


@pytest.mark.embedded_only
async def test_a_connection_lost_during_initial_events_loses_no_object(cluster: Cluster, maps: Any) -> None:
    """The watch resumed from the last object received: those not received yet were never sent."""
    for number in range(6):
        await put(maps, f"map-{number}")
    dropped = embedded(cluster).faults.drop_watch(after=3, times=1, namespace=maps.namespace)
    async with quick(maps) as informer:
        await informer.wait_for_cache_sync(30)
        assert len(copy_of(informer)) == 6
    assert dropped.hits == 1


async def test_an_ordinary_bookmark_does_not_end_the_initial_events(facade: str) -> None:
    """Any first bookmark was taken for it."""
    first = stream(
        event("ADDED", config_map("a", "5")),
        bookmark("6"),
        event("ADDED", config_map("b", "4")),
        bookmark("7", ends=True),
    )
    script = ScriptedServer(deque([first]))
    async with (
        client_of(script.handle, facade) as client,
        informer_of(client.core_v1.config_maps("shop")) as informer,
    ):
        await informer.wait_for_cache_sync(30)
        assert sorted(informer.indexer.list_keys()) == ["shop/a", "shop/b"]
        assert informer.last_sync_resource_version == "7"


async def test_changes_during_the_initial_events_are_part_of_the_initial_state(facade: str) -> None:
    """Only additions were expected before the bookmark."""
    first = stream(
        event("ADDED", config_map("a", "5")),
        event("ADDED", config_map("b", "6")),
        event("MODIFIED", config_map("a", "7")),
        event("DELETED", config_map("b", "8")),
        bookmark("8", ends=True),
    )
    script = ScriptedServer(deque([first]))
    async with (
        client_of(script.handle, facade) as client,
        informer_of(client.core_v1.config_maps("shop")) as informer,
    ):
        await informer.wait_for_cache_sync(30)
        assert {obj.key: obj.metadata.resource_version for obj in informer.indexer.list()} == {"shop/a": "7"}
        assert informer.last_sync_resource_version == "8"


@pytest.mark.parametrize("code", [400, 403, 429, 500, 504])
async def test_an_error_event_does_not_stop_an_informer(facade: str, code: int) -> None:
    """Anything but 410 ended the whole program; or left a task that was dead, and never started again."""
    failing = stream(event("ERROR", status(code, "", "odd")), ends=True)
    first = stream(
        event("ADDED", config_map("a", "5")),
        bookmark("6", ends=True),
        event("ERROR", status(code, "", "odd")),
    )
    script = ScriptedServer(deque([first, failing, failing, stream(event("ADDED", config_map("b", "9")))]))
    script.rest = deque([json_response(listed(config_map("a", "5"), version="6"))])
    async with (
        client_of(script.handle, facade) as client,
        informer_of(client.core_v1.config_maps("shop"), backoff=QUICK) as informer,
    ):
        await informer.wait_for_version("9", 30)
        assert sorted(informer.indexer.list_keys()) == ["shop/a", "shop/b"]


@pytest.mark.slow
@pytest.mark.embedded_only
async def test_an_informer_survives_a_long_outage(cluster: Cluster, maps: Any) -> None:
    """The informer gave up after a minute of 5xx."""
    faults, place = embedded(cluster).faults, maps.namespace
    faults.drop_watch(after=1, namespace=place)
    outage = faults.fail(503, verb=("list", "watch"), namespace=place, times=60)
    async with quick(maps) as informer:
        await informer.wait_for_version(await put(maps, "a"), 60)
        assert informer.health.failures == 0
    assert outage.hits == 60


async def test_a_failing_handler_does_not_delay_the_indexes(maps: Any) -> None:
    """Indices waited behind an unrelated failure, for up to ten minutes."""

    def fail() -> None:
        raise LookupError("no such shelf")

    recorder = RecordingHandler(fail)
    informer = quick(maps, indexers={"value": lambda obj: [obj.data.get("value", "")]})
    informer.add_event_handler(recorder)
    async with informer:
        await informer.wait_for_cache_sync(30)
        for number in range(5):
            await informer.wait_for_version(await put(maps, "a", str(number)), 30)
            assert informer.indexer.index_keys("value", str(number)) == [f"{maps.namespace}/a"]


async def test_the_queue_of_a_handler_is_bounded(maps: Any) -> None:
    """Every notice was kept, in queues without a limit."""
    release = threading.Event()
    loop_release = asyncio.Event()
    informer = quick(maps, buffer_limit=5)

    def block(*_: Any) -> Any:
        return release.wait(30) if is_blocking(informer) else loop_release.wait()

    handle = informer.add_event_handler(on_add=block, on_update=block, on_delete=block)
    async with informer:
        await informer.wait_for_cache_sync(30)
        for number in range(40):
            await informer.wait_for_version(await put(maps, "ab"[number % 2], str(number)), 30)
        assert handle.pending <= 5 + 2 * 3 + 2
        release.set()
        loop_release.set()
        await processed(handle)
