"""Index functions, transforms, filters and handlers that fail or never return are isolated and reported."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest
from tests.unit.cache.clusters import QUICK, processed, reached, state_of, turns_until
from tests.unit.cache.fake_list_watch import FakeListWatch
from tests.unit.cache.recording_handler import AsyncRecordingHandler, RecordingHandler

from masthead._cache.informer.handlers import EventHandler, FilteringEventHandler
from masthead._cache.informer.informer import SharedInformer, ThreadedInformer
from masthead.api.core.v1 import ConfigMap
from masthead.errors import ArgumentError, IndexConflictError, UnknownIndexError
from masthead.testing.virtual_time import in_virtual_time, now

if TYPE_CHECKING:
    from collections.abc import Callable


def following(source: FakeListWatch, **options: Any) -> SharedInformer[ConfigMap]:
    options.setdefault("backoff", QUICK)
    return SharedInformer(source, **options)


async def asynchronous(*_: object) -> Any:
    """An awaitable."""


def raise_lookup_error(*_: object) -> Any:
    raise LookupError("no such shelf")


RUBBISH: dict[str, Callable[[ConfigMap], Any]] = {
    "raises": raise_lookup_error,
    "returns nothing": lambda _: None,
    "returns a bare str": lambda _: "abc",
    "returns numbers": lambda _: [1, 2],
    "returns a number": lambda _: 5,
    "returns what fails when it is read": lambda obj: (1 // int(digit) for digit in obj.data["zero"]),
}


@pytest.mark.parametrize("indexer", RUBBISH.values(), ids=RUBBISH.keys())
async def test_a_failing_index_function_affects_only_its_own_index(
    source: FakeListWatch, caplog: pytest.LogCaptureFixture, indexer: Callable[[ConfigMap], Any]
) -> None:
    for name in "ab":
        source.put(name, data={"value": "1", "zero": "0"})
    informer = following(source, indexers={"bad": indexer, "good": lambda obj: [obj.data["value"]]})
    recorder = RecordingHandler()
    handle = informer.add_event_handler(recorder)
    async with informer:
        await handle.wait_for_cache_sync(30)
        source.put("a", "2")
        await reached(informer, str(source.version), handle)
        assert informer.indexer.list_index_values("bad") == []
        assert informer.indexer.index_keys("good", "2") == ["shop/a"]
        assert state_of(informer) == recorder.state == {"a": "2", "b": "1"}
    assert len(caplog.records) == 1  # and not one for each object
    assert "the indexer 'bad' failed on" in caplog.messages[0]


@pytest.mark.parametrize("indexer", [5, None, "node", asynchronous], ids=["5", "None", "text", "async"])
async def test_an_invalid_index_function_is_rejected(source: FakeListWatch, indexer: Any) -> None:
    with pytest.raises(ArgumentError, match="the indexer 'node' must be a"):
        following(source, indexers={"node": indexer})
    informer = following(source)
    with pytest.raises(ArgumentError):
        informer.add_indexers({"good": lambda _: [], "node": indexer})
    with pytest.raises(UnknownIndexError, match=r"good.*namespace"):
        informer.indexer.by_index("good", "x")


async def test_an_index_is_added_once_and_at_any_time(source: FakeListWatch) -> None:
    source.put("a")
    with pytest.raises(IndexConflictError):
        following(source, indexers={"namespace": lambda _: []})
    async with following(source) as informer:
        await informer.wait_for_cache_sync(30)
        informer.add_indexers({"value": lambda obj: [obj.data["value"]]})
        assert informer.indexer.index_keys("value", "1") == ["shop/a"]
        with pytest.raises(IndexConflictError):
            informer.add_indexers({"value": lambda _: [], "other": lambda _: []})
        with pytest.raises(UnknownIndexError):
            informer.indexer.list_index_values("other")


TRANSFORMS: dict[str, Callable[[ConfigMap], Any]] = {
    "raises": raise_lookup_error,
    "returns nothing": lambda _: None,
    "returns something else": lambda _: {"metadata": {}},
    "returns another object": lambda _: ConfigMap.new("other"),
}


@pytest.mark.parametrize("bad", TRANSFORMS.values(), ids=TRANSFORMS.keys())
async def test_an_object_whose_transform_fails_is_skipped_and_the_others_are_stored(
    source: FakeListWatch, caplog: pytest.LogCaptureFixture, bad: Callable[[ConfigMap], Any]
) -> None:
    source.put("a")
    source.put("bad")
    informer = following(source, transform=lambda obj: bad(obj) if obj.metadata.name == "bad" else obj, hold="lazy")
    async with informer:
        await informer.wait_for_cache_sync(30)
        assert state_of(informer) == {"a": "1"}
        assert list(informer.health.broken) == ["shop/bad"]
        assert "the transform" in informer.health.broken["shop/bad"]
        source.put("bad", "2")
        source.put("b")
        await reached(informer, str(source.version))
        assert state_of(informer) == {"a": "1", "b": "1"}
        source.remove("bad")
        source.put("c")
        await reached(informer, str(source.version))
        assert informer.health.broken == {}
    assert {record.levelname for record in caplog.records} == {"WARNING"}
    assert all("bad" in message for message in caplog.messages)


@pytest.mark.parametrize("bad", [5, "drop", asynchronous], ids=["5", "text", "async"])
async def test_invalid_transforms_filters_and_error_handlers_are_rejected(source: FakeListWatch, bad: Any) -> None:
    informer = following(source)
    for refuse in (
        lambda: following(source, transform=bad),
        lambda: informer.set_transform(bad),
        lambda: informer.set_watch_error_handler(bad),
        lambda: FilteringEventHandler(bad, RecordingHandler()),
    ):
        with pytest.raises(ArgumentError, match="must be a"):
            refuse()


async def test_a_failing_error_handler_does_no_harm(source: FakeListWatch, caplog: pytest.LogCaptureFixture) -> None:
    source.errors.extend([OSError("cable"), ValueError("odd")])
    informer = following(source)
    received: list[Exception] = []

    def fail(error: Exception) -> None:
        received.append(error)
        raise LookupError("no such shelf")

    informer.set_watch_error_handler(fail)
    async with informer:
        await informer.wait_for_cache_sync(30)
    assert [type(error) for error in received] == [OSError, ValueError]
    assert caplog.messages == ["configmaps: the handler of errors failed"] * 2


async def test_a_failing_filter_drops_only_that_notification_of_its_handler(
    source: FakeListWatch, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = RecordingHandler()
    informer = following(source)
    handle = informer.add_event_handler(
        FilteringEventHandler(lambda obj: raise_lookup_error() if obj.metadata.name == "bad" else True, recorder)
    )
    async with informer:
        await informer.wait_for_cache_sync(30)
        for name in ("a", "bad", "b"):
            source.put(name)
        await reached(informer, str(source.version), handle)
    assert recorder.recorded == ["add a=1", "add b=1"]
    assert len(caplog.records) == 1


async def test_a_filter_turns_updates_into_adds_and_deletes(
    source: FakeListWatch,
) -> None:
    source.put("a", "no")
    recorder = RecordingHandler()
    informer = following(source)
    handle = informer.add_event_handler(FilteringEventHandler(lambda obj: obj.data["value"] != "no", recorder))
    async with informer:
        await handle.wait_for_cache_sync(30)
        for value in ("1", "2", "no", "no", "3"):
            source.put("a", value)
        source.remove("a")
        await reached(informer, str(source.version), handle)
    assert recorder.recorded == ["add a=1", "update a=1>2", "delete a=2", "add a=3", "delete a=3"]


async def test_an_async_handler_behind_a_filter_is_awaited(source: FakeListWatch) -> None:
    recorder = AsyncRecordingHandler()
    informer = following(source)
    handle = informer.add_event_handler(FilteringEventHandler(lambda _: True, recorder))
    async with informer:
        await informer.wait_for_cache_sync(30)
        source.put("a")
        await reached(informer, str(source.version), handle)
    assert recorder.recorded == ["add a=1"]


HANDLERS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "a number": {"on_add": 5},
    "no handler": {"handler": object()},
    "both": {"handler": EventHandler[ConfigMap](), "on_add": print},
    "a text": {"handler": "RecordingHandler"},
}


class Watcher(EventHandler[ConfigMap]):
    def on_add(self, obj: ConfigMap, is_initial: bool) -> None: ...


class Deaf(EventHandler[ConfigMap]):
    """A handler with a misspelt method."""

    def on_added(self, obj: ConfigMap, is_initial: bool) -> None: ...


class Short(EventHandler[ConfigMap]):
    def on_add(self, obj: ConfigMap) -> None: ...  # type: ignore[override] # pyright: ignore[reportIncompatibleMethodOverride]


USELESS: dict[str, tuple[dict[str, Any], str]] = {
    "a class": ({"handler": Watcher}, r"^Watcher is a class; give an object: Watcher\(\)$"),
    "too few arguments": (
        {"handler": Short()},
        r"^on_add of Short takes \(obj: .*ConfigMap.*\); it is called with \(obj, is_initial\)$",
    ),
    "too many": ({"on_add": lambda a, b: (a, b)}, r"^on_add takes \(a, b\); it is called with \(obj\)$"),
    "one in place of two": (
        {"on_update": lambda obj: obj},
        r"^on_update takes \(obj\); it is called with \(old, new\)$",
    ),
    "nothing overridden": (
        {"handler": Deaf()},
        "^a Deaf overrides none of on_add, on_update, on_delete, and so would never be called$",
    ),
}


@pytest.mark.parametrize(("given", "message"), USELESS.values(), ids=USELESS.keys())
async def test_adding_an_uncallable_handler_is_rejected(
    source: FakeListWatch, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        following(source).add_event_handler(**given)


async def test_any_callable_with_a_matching_signature_is_a_handler(
    source: FakeListWatch,
) -> None:
    informer = following(source)
    for fine in (print, list[ConfigMap]().append, lambda *_: None, lambda obj, more=3: (obj, more), Mock()):
        informer.add_event_handler(on_add=fine)
    assert len(informer.health.pending) == 5


async def test_repeated_failures_of_a_handler_are_logged_with_growing_intervals(
    source: FakeListWatch, caplog: pytest.LogCaptureFixture
) -> None:
    informer = following(source)
    handle = informer.add_event_handler(on_add=raise_lookup_error, on_update=raise_lookup_error, name="bad")
    async with informer:
        await informer.wait_for_cache_sync(30)
        for number in range(123):
            source.put("a", str(number))
        await reached(informer, str(source.version), handle)
        assert informer.health.handler_failures == {"bad": 123}
        assert handle.failures == 123
    assert [bool(record.exc_info) for record in caplog.records] == [True, False, False]
    again = "handler bad has failed {} times, now on the update of 'shop/a': LookupError('no such shelf')"
    assert caplog.messages[1:] == [again.format(10), again.format(100)]


@pytest.mark.parametrize("given", HANDLERS.values(), ids=HANDLERS.keys())
async def test_an_invalid_handler_is_rejected_when_it_is_added(source: FakeListWatch, given: dict[str, Any]) -> None:
    informer = following(source)
    with pytest.raises(ArgumentError):
        informer.add_event_handler(**given)
    assert informer.health.pending == {}


async def test_handlers_in_threads_must_not_be_coroutine_functions(source: FakeListWatch) -> None:
    informer: ThreadedInformer[ConfigMap] = ThreadedInformer(source)
    with pytest.raises(ArgumentError, match=r"nothing is awaited.*masthead\.aio"):
        informer.add_event_handler(on_add=asynchronous)
    with pytest.raises(ArgumentError, match="nothing is awaited"):
        informer.add_event_handler(FilteringEventHandler(lambda _: True, AsyncRecordingHandler()))


class Outcome(BaseException):
    """Not an Exception, as what some test tools raise."""


ODD: dict[str, type[BaseException]] = {
    "an error": LookupError,
    "a cancellation of something else": asyncio.CancelledError,
    "a BaseException": Outcome,
}


@pytest.mark.parametrize("error", ODD.values(), ids=ODD.keys())
async def test_a_handler_continues_after_any_error(
    source: FakeListWatch, caplog: pytest.LogCaptureFixture, error: type[BaseException]
) -> None:
    def fail() -> None:
        raise error

    recorder = RecordingHandler(fail)
    informer = following(source)
    handle = informer.add_event_handler(recorder)
    async with informer:
        await informer.wait_for_cache_sync(30)
        for value in "123":
            source.put("a", value)
        await reached(informer, str(source.version), handle)
    assert recorder.recorded == ["add a=1", "update a=1>2", "update a=2>3"]
    assert len(caplog.records) == 1


@pytest.mark.parametrize("error", [*ODD.values(), SystemExit], ids=[*ODD.keys(), "sys.exit"])
async def test_a_handler_in_a_thread_continues_after_any_error(
    source: FakeListWatch, caplog: pytest.LogCaptureFixture, error: type[BaseException]
) -> None:
    received: list[str] = []

    def fail(obj: ConfigMap) -> None:
        received.append(obj.metadata.name)
        raise error

    informer: ThreadedInformer[ConfigMap] = ThreadedInformer(source)
    handle = informer.add_event_handler(on_add=fail)
    async with informer:
        source.put("a")
        source.put("b")
        await reached(informer, str(source.version), handle)
    assert received == ["a", "b"]
    assert len(caplog.records) == 1


@pytest.mark.guarantee(2)
async def test_a_blocking_handler_in_a_thread_delays_no_other(source: FakeListWatch) -> None:
    release = threading.Event()
    quick: list[str] = []
    informer: ThreadedInformer[ConfigMap] = ThreadedInformer(source)
    stuck = informer.add_event_handler(on_add=lambda _: release.wait(30))
    handle = informer.add_event_handler(on_add=lambda obj: quick.append(obj.metadata.name))
    async with informer:
        await informer.wait_for_cache_sync(30)
        for name in "abc":
            source.put(name)
        await reached(informer, str(source.version), handle)
        assert quick == ["a", "b", "c"]
        assert stuck.pending >= 3
        release.set()
        await processed(stuck)


@pytest.mark.guarantee(12)
async def test_a_handler_that_never_returns_is_cancelled_after_the_grace_period(
    source: FakeListWatch, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = AsyncRecordingHandler(asyncio.Event().wait)
    informer = following(source)
    informer.add_event_handler(recorder, name="stuck")
    await informer.start()
    source.put("a")
    await turns_until(lambda: recorder.inside == 1)
    before = asyncio.all_tasks()
    await informer.stop(timeout=0.01)
    assert caplog.messages == ["handler stuck did not return within 0.01 s; it is cancelled"]
    assert len(asyncio.all_tasks()) < len(before)


@in_virtual_time
async def test_handlers_that_delay_the_stop_are_logged_after_a_second(
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = FakeListWatch()
    source.put("a")
    recorder = AsyncRecordingHandler(lambda: asyncio.sleep(5))
    informer = following(source)
    informer.add_event_handler(recorder, name="busy")
    informer.add_event_handler(RecordingHandler(), name="quick")
    await informer.start()
    await turns_until(lambda: recorder.inside == 1)
    await informer.stop()
    assert caplog.messages == ["stopping: handler busy is still busy; it has 9 s more"]
    assert recorder.recorded == ["initial a=1"]


@pytest.mark.guarantee(12)
@in_virtual_time
async def test_a_coroutine_that_cannot_be_cancelled_is_abandoned_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = FakeListWatch()
    source.put("a")
    release, entered = asyncio.Event(), asyncio.Event()

    async def stubborn(_: ConfigMap) -> None:
        entered.set()
        while not release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await release.wait()

    informer = following(source)
    informer.add_event_handler(on_add=stubborn, name="stubborn")
    await informer.start()
    await entered.wait()
    began = now()
    await informer.stop(timeout=0.5)
    assert now() - began == pytest.approx(1.5)
    assert caplog.messages == [
        "handler stubborn did not return within 0.5 s; it is cancelled",
        "handler stubborn does not let itself be cancelled; its task is left",
    ]
    release.set()


@pytest.mark.guarantee(12)
async def test_a_thread_that_never_returns_is_abandoned_and_logged(
    source: FakeListWatch, caplog: pytest.LogCaptureFixture
) -> None:
    entered, release = threading.Event(), threading.Event()

    def block(_: ConfigMap) -> None:
        entered.set()
        release.wait(30)

    informer: ThreadedInformer[ConfigMap] = ThreadedInformer(source)
    informer.add_event_handler(on_add=block, name="stuck")
    await informer.start()
    source.put("a")
    await asyncio.to_thread(entered.wait, 30)
    threads = {thread for thread in threading.enumerate() if thread.name == "masthead-handler-stuck"}
    await informer.stop(timeout=0.01)
    assert caplog.messages == ["handler stuck did not return within 0.01 s; its thread is left"]
    release.set()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
