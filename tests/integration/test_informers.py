"""Informers through both façades: their guarantees, as users see them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.copies import copy_of, embedded, put, quick, state
from tests.integration.facades import is_blocking
from tests.unit.cache.clusters import processed, reached
from tests.unit.cache.recording_handler import RecordingHandler

from masthead._cache.store.transforms import drop_managed_fields, keep_fields
from masthead._sansio.deltafifo import DeltaFIFO
from masthead.errors import NotFoundError, SnapshotError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.conftest import Cluster

ways = pytest.mark.parametrize("hold", ["lazy", "eager", "compact"])


@pytest.fixture
def maps(client: Any, namespace: str) -> Any:
    return client.core_v1.config_maps(namespace)


def ours(recorder: RecordingHandler) -> list[str]:
    """The recorded events, without what a real cluster puts into each namespace."""
    return [each for each in recorder.recorded if "kube-root-ca" not in each]


@pytest.mark.guarantee(1)
@ways
async def test_the_store_matches_the_server(maps: Any, hold: str) -> None:
    await put(maps, "a")
    await put(maps, "b")
    recorder = RecordingHandler()
    informer = quick(maps, hold=hold, indexers={"value": lambda obj: [obj.data.get("value", "")]})
    handle = informer.add_event_handler(recorder)
    async with informer:
        await handle.wait_for_cache_sync(30)
        await put(maps, "a", "2")
        await maps.delete("b")
        await reached(informer, await put(maps, "c"), handle)
        assert copy_of(informer) == await state(maps) == {"a": "2", "c": "1"}
        assert informer.indexer.index_keys("value", "2") == [f"{maps.namespace}/a"]
        found = informer.lister.namespace(maps.namespace).get("a")
        assert found == await maps.get("a")
        with pytest.raises(NotFoundError):
            informer.lister.namespace(maps.namespace).get("b")
    assert sorted(ours(recorder)[:2]) == ["initial a=1", "initial b=1"]
    assert ours(recorder)[2:] == ["update a=1>2", "delete b=1", "add c=1"]


@pytest.mark.guarantee(10)
async def test_a_write_is_read_back_from_the_cache(maps: Any) -> None:
    async with quick(maps) as informer:
        for number in range(5):
            await informer.wait_for_version(await put(maps, "a", str(number)), 30)
            assert copy_of(informer)["a"] == str(number)


@pytest.mark.guarantee(4)
async def test_handlers_join_and_leave_while_things_change(maps: Any) -> None:
    informer = quick(maps)
    recorders: list[RecordingHandler] = []
    handles: list[Any] = []
    version = ""
    async with informer:
        for number in range(20):
            version = await put(maps, "abc"[number % 3], str(number))
            if number % 3 == 0:
                recorders.append(RecordingHandler())
                handles.append(informer.add_event_handler(recorders[-1]))
            if number % 7 == 6:
                await handles.pop(0).remove()
                recorders.pop(0)
        await reached(informer, version, *handles)
        assert copy_of(informer) == await state(maps)
    for recorder in recorders:
        assert {name: value for name, value in recorder.state.items() if value} == copy_of(informer)


@pytest.mark.guarantee(2)
async def test_with_the_blocking_client_each_handler_has_a_thread_and_otherwise_none_has(maps: Any) -> None:
    await put(maps, "a")
    threads: dict[str, str] = {}
    informer = quick(maps)

    def note(name: str) -> Any:
        return lambda _: threads.__setitem__(name, threading.current_thread().name)

    handles = [informer.add_event_handler(on_add=note(name), name=name) for name in ("x", "y")]
    async with informer:
        for handle in handles:
            await handle.wait_for_cache_sync(30)
    if is_blocking(informer):
        assert threads == {"x": "masthead-handler-x", "y": "masthead-handler-y"}
    else:
        assert set(threads.values()) == {threading.current_thread().name}


async def test_any_thread_may_read(maps: Any) -> None:
    await put(maps, "a")
    async with quick(maps) as informer:
        await informer.wait_for_cache_sync(30)
        found: list[str] = []
        reader = threading.Thread(target=lambda: found.extend(each.metadata.name for each in informer.lister.list()))
        reader.start()
        reader.join()
        assert "a" in found


@pytest.mark.parametrize("form", ["dynamic", "metadata"])
async def test_kinds_without_types_are_mirrored_alike(client: Any, maps: Any, namespace: str, form: str) -> None:
    version = await put(maps, "a")
    async with quick(getattr(client, form)("v1", "configmaps", namespace=namespace)) as informer:
        await informer.wait_for_version(version, 30)
        found = informer.indexer.get_by_key(f"{namespace}/a")
        assert found.metadata.name == "a"
        if form == "dynamic":
            assert found["data"] == {"value": "1"}


@pytest.mark.parametrize("transform", [drop_managed_fields, keep_fields("data")], ids=["drop", "keep"])
async def test_objects_are_transformed_before_they_are_stored_or_dispatched(maps: Any, transform: Any) -> None:
    await put(maps, "a")
    seen: list[Any] = []
    informer = quick(maps, transform=transform)
    handle = informer.add_event_handler(on_add=seen.append)
    async with informer:
        await handle.wait_for_cache_sync(30)
        assert informer.health.broken == {}
        (found,) = (each for each in informer.indexer.list() if each.metadata.name == "a")
        assert found.metadata.managed_fields == []
        assert found.data == {"value": "1"}
    assert found in seen


async def test_a_start_from_a_snapshot_dispatches_only_changes(maps: Any, tmp_path: Path) -> None:
    for name in "abc":
        await put(maps, name)
    async with quick(maps) as informer:
        await informer.wait_for_cache_sync(30)
        assert await informer.save(tmp_path / "maps") >= 3
    await put(maps, "a", "2")
    await maps.delete("b")
    again, recorder = quick(maps), RecordingHandler()
    with pytest.raises(SnapshotError):
        await again.seed(tmp_path / "nothing")
    assert await again.seed(tmp_path / "maps") >= 3
    handle = again.add_event_handler(recorder)
    async with again:
        await reached(again, await put(maps, "d"), handle)
        assert copy_of(again) == await state(maps)
    assert ours(recorder) == ["update a=1>2", "delete b=1", "add d=1"]


async def test_a_delta_fifo_may_be_the_queue(maps: Any) -> None:
    await put(maps, "a")
    recorder = RecordingHandler()
    informer = quick(maps, queue=DeltaFIFO)
    handle = informer.add_event_handler(recorder)
    async with informer:
        await handle.wait_for_cache_sync(30)
        await maps.delete("a")
        await reached(informer, await put(maps, "b"), handle)
    assert ours(recorder) == ["initial a=1", "delete a=1", "add b=1"]


@pytest.mark.slow
@pytest.mark.embedded_only
@pytest.mark.guarantee(6)
@pytest.mark.parametrize("fault", ["drop_watch", "cut_watch", "expire_watch", "silence_watch"])
async def test_no_event_is_lost_or_invented(cluster: Cluster, maps: Any, fault: str) -> None:
    for name in "abc":
        await put(maps, name)
    getattr(embedded(cluster).faults, fault)(after=5, times=1, namespace=maps.namespace)
    recorder = RecordingHandler()
    informer = quick(maps, stall_after=0.1)
    handle = informer.add_event_handler(recorder)
    async with informer:
        await handle.wait_for_cache_sync(30)
        await put(maps, "a", "2")
        await maps.delete("b")
        await put(maps, "c", "3")
        await reached(informer, await put(maps, "d"), handle)
        assert copy_of(informer) == await state(maps) == {"a": "2", "c": "3", "d": "1"}
    assert recorder.state == copy_of(informer)
    assert len(recorder.recorded) == 7


@pytest.mark.guarantee(12)
async def test_stopping_leaves_no_thread(maps: Any) -> None:
    before = set(threading.enumerate())
    informer = quick(maps)
    handles = [informer.add_event_handler(RecordingHandler()) for _ in range(3)]
    async with informer:
        await informer.wait_for_cache_sync(30, handlers=True)
        await processed(*handles)
        assert not is_blocking(informer) or len(set(threading.enumerate()) - before) >= 3
    names = {each.name for each in set(threading.enumerate()) - before}
    assert not [name for name in names if name.startswith("masthead-handler")]
