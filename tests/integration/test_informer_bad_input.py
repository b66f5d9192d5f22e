"""Informers of forbidden, missing or vanishing resources, and informers used incorrectly."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.conftest import connected
from tests.integration.copies import copy_of, embedded, put, quick, state
from tests.integration.facades import is_blocking
from tests.unit.cache.clusters import processed, reached, turns_until
from tests.unit.cache.recording_handler import RecordingHandler

from masthead._cache.informer.handlers import EventHandler, FilteringEventHandler
from masthead._meta.gvk import GroupVersionResource
from masthead.errors import (
    ArgumentError,
    ClosedError,
    DeadlineError,
    IndexConflictError,
    InformerStateError,
    SelectorError,
    UnknownIndexError,
)

if TYPE_CHECKING:
    from tests.integration.conftest import Cluster


@pytest.fixture
def maps(client: Any, namespace: str) -> Any:
    return client.core_v1.config_maps(namespace)


@pytest.mark.embedded_only
@pytest.mark.parametrize(("code", "name"), [(403, "ForbiddenError"), (404, "NotFoundError")])
async def test_a_forbidden_resource_is_reported_and_read_once_allowed(
    cluster: Cluster, maps: Any, caplog: pytest.LogCaptureFixture, code: int, name: str
) -> None:
    await put(maps, "a")
    refused = embedded(cluster).faults.fail(code, verb=("list", "watch"), namespace=maps.namespace, times=None)
    errors: list[Exception] = []
    informer = quick(maps)
    informer.set_watch_error_handler(errors.append)
    handle = informer.add_event_handler(RecordingHandler())
    async with informer:
        with pytest.raises(DeadlineError, match=rf"has not synced within 0.2 s; the last error was {name}"):
            await informer.wait_for_cache_sync(0.2)
        with pytest.raises(DeadlineError, match="has not processed the initial objects"):
            await handle.wait_for_cache_sync(0.01)
        health = informer.health
        assert not health.is_healthy
        assert health.failures >= 1
        assert health.last_error.startswith(name)
        refused.remove()
        await informer.wait_for_cache_sync(30)
        assert copy_of(informer) == {"a": "1"}
    assert {type(error).__name__ for error in errors} == {name}
    assert [
        record for record in caplog.records if record.levelname != "INFO"
    ] == []  # they went to the watch error handler


@pytest.mark.slow
@pytest.mark.embedded_only
@pytest.mark.parametrize("code", [403, 404])
async def test_a_resource_that_vanishes_and_returns_is_mirrored_again(cluster: Cluster, maps: Any, code: int) -> None:
    for name in "abc":
        await put(maps, name)
    faults, place = embedded(cluster).faults, maps.namespace
    faults.drop_watch(after=5, namespace=place)
    recorder = RecordingHandler()
    informer = quick(maps)
    handle = informer.add_event_handler(recorder)
    async with informer:
        await handle.wait_for_cache_sync(30)
        gone = faults.fail(code, verb=("list", "watch"), namespace=place, times=None)
        await put(maps, "a", "2")
        await turns_until(lambda: gone.hits >= 3)
        assert copy_of(informer).keys() == {"a", "b", "c"}  # what was known last
        assert not informer.health.is_healthy
        for name in "abc":
            await maps.delete(name)
        version = await put(maps, "a", "new")
        gone.remove()
        await reached(informer, version, handle)
        assert copy_of(informer) == await state(maps) == {"a": "new"}
    assert recorder.state == {"a": "new"}
    assert sorted(each for each in recorder.recorded if each.startswith("lost")) == [
        "lost a=2",
        "lost b=1",
        "lost c=1",
    ]


async def test_a_kind_that_is_not_served_is_reported(client: Any) -> None:
    unicorns = client.dynamic(GroupVersionResource("example.com", "v1", "unicorns"))
    async with quick(unicorns) as informer:
        with pytest.raises(DeadlineError, match=r"unicorns\.example\.com has not synced .*NotFoundError"):
            await informer.wait_for_cache_sync(0.2)


@pytest.mark.slow
async def test_an_unknown_kind_is_reported(client: Any) -> None:
    async with quick(client.dynamic("example.com/v1", "unicorns")) as informer:
        with pytest.raises(DeadlineError, match=r"the last error was .*unicorns"):
            await informer.wait_for_cache_sync(1)


@pytest.mark.parametrize(
    "options",
    [{"label_selector": "app in web"}, {"field_selector": "metadata.name>b"}],
    ids=str,
)
async def test_an_invalid_selector_is_rejected_at_once(maps: Any, options: dict[str, Any]) -> None:
    with pytest.raises(SelectorError):
        quick(maps, **options)


@pytest.mark.slow
async def test_a_selector_that_the_server_rejects_is_reported(maps: Any) -> None:
    async with quick(maps, field_selector="spec.colour=red") as informer:
        with pytest.raises(DeadlineError, match=r"the last error was BadRequestError: .*spec\.colour"):
            await informer.wait_for_cache_sync(1)


@pytest.mark.parametrize(
    "options",
    [
        {"hold": "tight"},
        {"resync": -1.0},
        {"stall_after": 0.0},
        {"transform": 5},
        {"indexers": {"node": None}},
    ],
    ids=str,
)
async def test_invalid_options_are_rejected_at_once(maps: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        quick(maps, **options)


async def test_an_informer_runs_once_and_knows_when(maps: Any) -> None:
    informer = quick(maps)
    with pytest.raises(InformerStateError, match=r"start\(\) it first"):
        await informer.wait_for_cache_sync(1)
    async with informer:
        await informer.wait_for_cache_sync(30)
        for again in (informer.start, informer.run):
            with pytest.raises(InformerStateError):
                await again()
        for late in (informer.set_transform, informer.set_watch_error_handler):
            with pytest.raises(InformerStateError):
                late(None)
        with pytest.raises(IndexConflictError):
            informer.add_indexers({"namespace": lambda _: []})
        with pytest.raises(UnknownIndexError):
            informer.indexer.by_index("node", "a")
    for again in (informer.start, informer.run):
        with pytest.raises(InformerStateError):
            await again()
    with pytest.raises(ClosedError):
        informer.add_event_handler(RecordingHandler())
    with pytest.raises(ClosedError):
        await informer.wait_for_version("999999999")
    await informer.stop()


@pytest.mark.parametrize(
    "given",
    [{}, {"on_add": 5}, {"handler": object()}, {"handler": RecordingHandler, "on_add": print}],
    ids=["nothing", "a number", "an object", "both"],
)
async def test_an_invalid_handler_is_rejected_when_it_is_added(maps: Any, given: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        quick(maps).add_event_handler(**given)


async def test_a_failing_filter_affects_only_its_own_handler(maps: Any, caplog: pytest.LogCaptureFixture) -> None:
    def keep(obj: Any) -> bool:
        if obj.metadata.name == "bad":
            raise LookupError("no such shelf")
        return "value" in obj.data

    with pytest.raises(ArgumentError):
        FilteringEventHandler(None, EventHandler[Any]())  # type: ignore[arg-type]
    picky, other = RecordingHandler(), RecordingHandler()
    informer = quick(maps)
    handles = [
        informer.add_event_handler(FilteringEventHandler(keep, picky)),
        informer.add_event_handler(other),
    ]
    async with informer:
        await informer.wait_for_cache_sync(30)
        await put(maps, "bad")
        await reached(informer, await put(maps, "a"), *handles)
    assert picky.recorded == ["add a=1"]
    assert {"add bad=1", "add a=1"} <= set(other.recorded)
    assert len([message for message in caplog.messages if "failed on the add" in message]) == 1


async def test_handlers_may_add_and_remove_handlers_while_they_are_called(maps: Any) -> None:
    await put(maps, "a")
    await put(maps, "b")
    informer = quick(maps)
    brought, received = RecordingHandler(), list[str]()
    handles: list[Any] = []

    def leave_blocking(obj: Any) -> None:
        received.append(obj.metadata.name)
        handles[0]._blocking.remove()

    async def leave(obj: Any) -> None:
        received.append(obj.metadata.name)
        await handles[0].remove()

    def bring(_: Any) -> None:
        if len(handles) == 2:
            handles.append(informer.add_event_handler(brought))

    handles.append(informer.add_event_handler(on_add=leave_blocking if is_blocking(informer) else leave))
    handles.append(informer.add_event_handler(on_add=bring))
    async with informer:
        await handles[1].wait_for_cache_sync(30)
        version = await put(maps, "c")
        await reached(informer, version, *handles)
    assert len(received) == 1
    assert brought.state == copy_of(informer) | _others(brought)


def _others(recorder: RecordingHandler) -> dict[str, str]:
    """The objects that a real cluster creates in every namespace."""
    return {name: value for name, value in recorder.state.items() if name.startswith("kube-root-ca")}


async def test_a_client_that_is_closed_ends_its_informers(
    cluster: Cluster, facade: str, maps: Any, caplog: pytest.LogCaptureFixture
) -> None:
    await put(maps, "a")
    other = connected(cluster.config, facade)
    async with other:
        informer = quick(other.core_v1.config_maps(maps.namespace))
        handle = informer.add_event_handler(RecordingHandler(), name="mine")
        await informer.start()
        await handle.wait_for_cache_sync(30)
    await turns_until(lambda: informer.is_stopped)
    assert copy_of(informer) == {"a": "1"}
    assert informer.health.state == "stopped"
    with pytest.raises(ClosedError):
        informer.add_event_handler(RecordingHandler())
    with pytest.raises(ClosedError):
        await informer.wait_for_version("999999999", 30)
    await informer.stop()
    assert "mine" not in {each.name for each in threading.enumerate()}
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_an_informer_of_a_closed_client_never_syncs(cluster: Cluster, facade: str) -> None:
    async with connected(cluster.config, facade) as other:
        maps = other.core_v1.config_maps("default")
    informer = quick(maps)
    with pytest.raises(ClosedError):  # the blocking façade has nowhere to start it; the other one ends at once
        await _started_and_synced(informer)
    assert not informer.has_synced
    await informer.stop()
    assert informer.is_stopped


async def _started_and_synced(informer: Any) -> None:
    await informer.start()
    await informer.wait_for_cache_sync(30)


async def test_a_handler_that_blocks_does_not_keep_a_program_from_its_end(maps: Any) -> None:
    """With threads, it is left behind; without, it is cancelled."""
    import asyncio

    await put(maps, "a")
    entered, release = threading.Event(), threading.Event()
    forever = asyncio.Event()
    informer = quick(maps)

    def block(_: Any) -> Any:
        entered.set()
        return release.wait(30) if is_blocking(informer) else forever.wait()

    informer.add_event_handler(on_add=block)
    await informer.start()
    await turns_until(entered.is_set)
    await informer.stop(timeout=0.05)
    assert informer.is_stopped
    release.set()
    await processed()
