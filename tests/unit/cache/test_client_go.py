"""Behaviour that client-go's tests check and no other test here does; see docs/conformance-client-go.md."""

from __future__ import annotations

import asyncio
import gc
import json
import tracemalloc

import pytest
from tests.unit.cache.clusters import QUICK, reached, state_of, turns_until
from tests.unit.cache.fake_list_watch import FakeListWatch
from tests.unit.cache.recording_handler import RecordingHandler

from masthead._cache.informer.informer import SharedInformer
from masthead._client.listwatch import failure_of
from masthead._meta.v1 import StatusCause, StatusDetails
from masthead.api.core.v1 import ConfigMap, ConfigMapList
from masthead.errors import ExpiredError, GatewayTimeoutError
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


@in_virtual_time
async def test_every_event_has_objects_that_were_transformed_once() -> None:
    def mark(config_map: ConfigMap) -> ConfigMap:
        config_map.data["value"] += "!"
        return config_map

    source, recorder = FakeListWatch(), RecordingHandler()
    for name in "ab":
        source.put(name)
    informer = SharedInformer(source, transform=mark, backoff=QUICK)
    handle = informer.add_event_handler(recorder)
    async with informer:
        await handle.wait_for_cache_sync(30)
        source.put("a", "2")
        source.put("c")
        source.remove("c")
        await reached(informer, str(source.version), handle)
        source.lose_event(lambda: source.remove("b"))
        source.forget()
        source.end(ExpiredError("too old resource version", code=410, reason="Expired"))
        await reached(informer, str(source.version), handle)
        assert state_of(informer) == {"a": "2!"}
    assert sorted(recorder.recorded[:2]) == ["initial a=1!", "initial b=1!"]
    assert recorder.recorded[2:] == ["update a=1!>2!", "add c=1!", "delete c=1!", "lost b=1!"]


async def test_an_error_event_closes_its_watch(source: FakeListWatch) -> None:
    async with SharedInformer(source, backoff=QUICK) as informer:
        await informer.wait_for_cache_sync(30)
        await turns_until(lambda: source.open_streams == 1)
        source.send("ERROR", {"kind": "Status", "code": 500, "reason": "InternalError", "message": "odd"})
        source.put("a")
        await reached(informer, str(source.version))
        await turns_until(lambda: len(source.requests) > 1 and source.open_streams == 1)
        assert "odd" in informer.health.last_error


CAUSE = StatusCause(reason="ResourceVersionTooLarge", message="Too large resource version")


@pytest.mark.parametrize(
    ("message", "causes"),
    [
        ("Timeout: Too large resource version: 9, current: 1", [CAUSE]),
        ("Timeout: Too large resource version: 9, current: 1", [StatusCause(message=CAUSE.message)]),
        ("Timeout: Too large resource version: 9, current: 1", []),
        ("Timeout: other words", [CAUSE]),
    ],
    ids=["1.18.6 and later", "1.17.0 to 1.18.5", "before 1.17.0", "the cause alone"],
)
def test_a_version_that_is_too_large_is_recognised_in_the_words_of_every_release(
    message: str, causes: list[StatusCause]
) -> None:
    error = GatewayTimeoutError(message, code=504, reason="Timeout", details=StatusDetails(causes=causes))

    assert failure_of(error).too_large
    assert not failure_of(GatewayTimeoutError("Timeout: etcd", code=504, reason="Timeout")).too_large


@pytest.mark.slow
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
        await handle.wait_for_cache_sync(30)
        await handle.remove()
        await handle.remove()


async def test_a_handler_may_be_removed_after_the_stop(source: FakeListWatch) -> None:
    source.put("a")
    recorder = RecordingHandler()
    async with SharedInformer(source, backoff=QUICK) as informer:
        handle = informer.add_event_handler(recorder)
        await handle.wait_for_cache_sync(30)
    await handle.remove()
    assert recorder.recorded == ["initial a=1"]
