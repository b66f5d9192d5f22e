"""Behaviour that client-go's own tests check and no other test here names; docs/conformance-client-go.md has the list."""

from __future__ import annotations

import asyncio
import gc
import json
import tracemalloc

from tests.unit.cache.clusters import QUICK
from tests.unit.cache.fake_list_watch import FakeListWatch
from tests.unit.cache.recording_handler import RecordingHandler

from masthead._cache.informer.informer import SharedInformer
from masthead.api.core.v1 import ConfigMap, ConfigMapList
from masthead.testing.virtual_time import in_virtual_time

LARGE = 4_000_000


@in_virtual_time
async def test_a_resync_dispatches_objects_as_they_were_transformed() -> None:
    transformed: list[str] = []

    def count(config_map: ConfigMap) -> ConfigMap:
        transformed.append(config_map.metadata.name)
        return config_map

    source, recorder = FakeListWatch(), RecordingHandler()
    source.put("a")
    informer = SharedInformer(source, resync=60, stall_after=10_000, transform=count)
    informer.add_event_handler(recorder)
    async with informer:
        await asyncio.sleep(130)
    assert recorder.recorded == ["initial a=1", "update a=1>1", "update a=1>1"]
    assert transformed == ["a"]


def test_a_stored_object_does_not_keep_its_list_in_memory() -> None:
    items = [
        {"metadata": {"name": "small"}, "data": {"key": "value"}},
        {"metadata": {"name": "large"}, "data": {"key": "x" * LARGE}},
    ]
    text = json.dumps({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {}, "items": items}).encode()
    ConfigMapList.from_json(b'{"items": [{"data": {"a": "b"}}]}')  # types are built once
    gc.collect()
    tracemalloc.start()
    try:
        small = next(iter(ConfigMapList.from_json(bytes(bytearray(text))).items))
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert small.data == {"key": "value"}
    assert held < LARGE / 10


async def test_a_handler_may_be_removed_twice(source: FakeListWatch) -> None:
    async with SharedInformer(source, backoff=QUICK) as informer:
        handle = informer.add_event_handler(RecordingHandler())
        await handle.wait_synced(30)
        await handle.remove()
        await handle.remove()


async def test_a_handler_may_be_removed_after_the_stop(source: FakeListWatch) -> None:
    source.put("a")
    recorder = RecordingHandler()
    async with SharedInformer(source, backoff=QUICK) as informer:
        handle = informer.add_event_handler(recorder)
        await handle.wait_synced(30)
    await handle.remove()
    assert recorder.recorded == ["initial a=1"]
