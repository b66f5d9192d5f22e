"""Undecodable objects, invalid sources and lists: skipped or retried, reported, and isolated from other objects."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.cache.clusters import QUICK, reached, state_of, turns_until
from tests.unit.cache.fake_list_watch import FakeListWatch
from tests.unit.cache.recording_handler import RecordingHandler

from masthead._cache.informer.informer import SharedInformer
from masthead._client.watch_event import WatchEvent
from masthead.api.core.v1 import ConfigMap, ConfigMapList
from masthead.errors import (
    ArgumentError,
    ClosedError,
    DeadlineError,
    InternalServerError,
    NotFoundError,
    ServiceUnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from masthead._client.listwatch import ListWatchOptions
    from masthead._meta.object import ObjectList
    from masthead.errors import DecodeError


def following(source: Any, **options: Any) -> SharedInformer[ConfigMap]:
    options.setdefault("backoff", QUICK)
    return SharedInformer(source, **options)


both = pytest.mark.parametrize("watch_list", [True, False], ids=["watch-list", "list"])


@both
async def test_an_undecodable_object_in_the_initial_list_is_skipped_and_added_once_it_is_fixed(
    source: FakeListWatch, caplog: pytest.LogCaptureFixture, watch_list: bool
) -> None:
    source.put("a")
    source.spoil("bad")
    source.put("c")
    recorder = RecordingHandler()
    informer = following(source, watch_list=watch_list)
    handle = informer.add_event_handler(recorder)
    async with informer:
        await handle.wait_for_cache_sync(30)
        assert state_of(informer) == {"a": "1", "c": "1"}
        assert list(informer.health.broken) == ["shop/bad"]
        assert informer.health.is_healthy  # the informer is; an object is not
        source.put("bad", "2")
        await reached(informer, str(source.version), handle)
        assert informer.health.broken == {}
        assert state_of(informer) == recorder.state == {"a": "1", "c": "1", "bad": "2"}
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert caplog.messages[0].startswith("configmaps: 'shop/bad' is not in the store: ")


@both
async def test_many_undecodable_objects_are_logged_in_one_line(
    source: FakeListWatch, caplog: pytest.LogCaptureFixture, watch_list: bool
) -> None:
    names = [f"bad{number}" for number in range(300)]
    for name in names:
        source.spoil(name)
    async with following(source, watch_list=watch_list) as informer:
        await informer.wait_for_cache_sync(30)
        assert len(informer.health.broken) == 300
        (line,) = caplog.messages
        assert line.startswith("configmaps: 300 objects cannot be used ('shop/bad0', 'shop/bad1', ")
        assert line.count("'shop/") == 5
        for name in names[:100]:
            source.spoil(name)
        source.put("bad7")
        await reached(informer, str(source.version))
        assert len(informer.health.broken) == 299
    assert len(caplog.messages) <= 2  # the messages of a list and of a watch differ


async def test_an_undecodable_change_keeps_the_last_known_object(
    source: FakeListWatch, caplog: pytest.LogCaptureFixture
) -> None:
    source.put("bad")
    recorder = RecordingHandler()
    informer = following(source)
    handle = informer.add_event_handler(recorder)
    async with informer:
        await handle.wait_for_cache_sync(30)
        source.spoil("bad")
        await informer.wait_for_version(str(source.version), 30)  # the version is reached all the same
        assert list(informer.health.broken) == ["shop/bad"]
        assert state_of(informer) == {"bad": "1"}
        source.put("a")
        source.put("bad", "3")
        await reached(informer, str(source.version), handle)
        assert informer.health.broken == {}
    assert recorder.recorded == ["initial bad=1", "add a=1", "update bad=1>3"]
    assert caplog.messages[0].startswith("configmaps: 'shop/bad' is left as it was: ")


async def test_an_undecodable_object_is_added_once_it_can_be_decoded(source: FakeListWatch) -> None:
    recorder = RecordingHandler()
    informer = following(source)
    handle = informer.add_event_handler(recorder)
    async with informer:
        await informer.wait_for_cache_sync(30)
        source.spoil("bad")
        source.put("a")
        await reached(informer, str(source.version), handle)
        assert state_of(informer) == {"a": "1"}
        source.put("bad", "2")
        await reached(informer, str(source.version), handle)
    assert recorder.recorded == ["add a=1", "add bad=2"]


async def test_an_undecodable_deletion_is_dispatched_as_a_tombstone(source: FakeListWatch) -> None:
    source.put("bad")
    recorder = RecordingHandler()
    informer = following(source)
    handle = informer.add_event_handler(recorder)
    async with informer:
        await handle.wait_for_cache_sync(30)
        source.spoil("bad")
        source.remove("bad")
        await reached(informer, str(source.version), handle)
        assert state_of(informer) == {}
        assert informer.health.broken == {}
    assert recorder.recorded == ["initial bad=1", "lost bad=1"]  # its final state was undecodable


async def test_an_undecodable_object_without_a_name_is_reported_and_skipped(source: FakeListWatch) -> None:
    informer = following(source)
    async with informer:
        await informer.wait_for_cache_sync(30)
        source.send("MODIFIED", {"metadata": {"name": 5, "resourceVersion": "11"}})
        source.send("DELETED", {"metadata": ["what"]})
        source.send("ADDED", "nothing")
        source.send("EXPLODED", {"metadata": {"name": "odd", "namespace": "shop"}})
        source.put("a")
        await reached(informer, str(source.version))
        assert state_of(informer) == {"a": "1"}
        assert sorted(informer.health.broken) == ["", "shop/odd"]
        assert "EXPLODED" in informer.health.broken["shop/odd"]


async def test_a_relist_does_not_delete_an_undecodable_object(source: FakeListWatch) -> None:
    for name in ("a", "bad", "c"):
        source.put(name)
    recorder = RecordingHandler()
    informer = following(source, watch_list=False)
    handle = informer.add_event_handler(recorder)
    async with informer:
        await handle.wait_for_cache_sync(30)
        source.is_silent = True
        source.spoil("bad")
        source.remove("c")
        source.put("d")
        source.forget()
        source.is_silent = False
        source.end(OSError("cable"))
        await reached(informer, str(source.version), handle)
        assert state_of(informer) == {"a": "1", "bad": "1", "d": "1"}
        assert list(informer.health.broken) == ["shop/bad"]
        source.remove("bad")
        source.put("e")
        await reached(informer, str(source.version), handle)
        assert informer.health.broken == {}
    assert recorder.recorded[3:] == ["lost c=1", "add d=1", "lost bad=1", "add e=1"]


async def test_eager_decoding_finds_an_undecodable_section_immediately(
    source: FakeListWatch,
) -> None:
    source.put("a")
    source.put("bad", data=["not", "a", "map"])
    async with following(source, hold="eager") as informer:
        await informer.wait_for_cache_sync(30)
        assert list(informer.health.broken) == ["shop/bad"]
        assert informer.indexer.list_keys() == ["shop/a"]


ODD: dict[str, BaseException] = {
    "an error of the network's": OSError("cable"),
    "an error of its own": LookupError("no such shelf"),
    "a cancellation of something else": asyncio.CancelledError("another task"),
    "a time that is over": TimeoutError("late"),
    "the end of an iteration": StopAsyncIteration("odd"),
    "a group of errors": ExceptionGroup("several", [OSError("a"), ValueError("b")]),
    "an error without a message": Exception(),
}


@pytest.mark.slow
@pytest.mark.parametrize("error", ODD.values(), ids=ODD.keys())
async def test_a_source_is_retried_after_any_error(source: FakeListWatch, error: BaseException) -> None:
    source.put("a")
    source.errors.extend([error, error, error])
    async with following(source) as informer:
        await informer.wait_for_cache_sync(30)
        source.put("b")
        source.end(error)
        source.errors.append(error)
        source.put("c")
        await reached(informer, str(source.version))
        assert state_of(informer) == {"a": "1", "b": "1", "c": "1"}
        assert not informer.is_stopped
        assert informer.health.last_error


async def test_a_closed_source_stops_the_informer_with_an_error(
    source: FakeListWatch, caplog: pytest.LogCaptureFixture
) -> None:
    source.put("a")
    informer = following(source)
    handle = informer.add_event_handler(RecordingHandler())
    await informer.start()
    await informer.wait_for_cache_sync(30)
    source.end(ClosedError("the client is closed"))
    with pytest.raises(ClosedError, match="it has stopped"):
        await informer.wait_for_version("99", 30)
    assert informer.is_stopped
    assert informer.health.state == "stopped"
    assert caplog.messages == ["informer configmaps ends: the client is closed"]
    assert state_of(informer) == {"a": "1"}  # what there was can still be read
    with pytest.raises(ClosedError):
        informer.add_event_handler(RecordingHandler())
    await handle.remove()
    await informer.stop()


class Versionless(FakeListWatch):
    """A source whose lists have no resource version."""

    async def list(self, options: ListWatchOptions, on_broken: Callable[[DecodeError], None]) -> ObjectList[ConfigMap]:
        found = await super().list(options, on_broken)
        found.metadata.resource_version = ""
        return found


async def test_a_list_without_a_resource_version_is_an_error_and_is_retried() -> None:
    source = Versionless(supports_initial_events=False)
    source.put("a")
    async with following(source) as informer:
        await turns_until(lambda: len(source.requests) >= 3)
        assert not informer.has_synced
        assert "the list of configmaps has no version to watch from" in informer.health.last_error
        with pytest.raises(DeadlineError, match="no version to watch from"):
            await informer.wait_for_cache_sync(0.01)


class Returning(FakeListWatch):
    """A source whose watch returns events instead of yielding them."""

    async def watch(self, options: ListWatchOptions) -> Any:  # type: ignore[override]
        return super().watch(options)


class Nameless:
    """A source that can only be listed."""

    async def list(self) -> None: ...


SOURCES: dict[str, Any] = {
    "nothing": None,
    "a name": "pods",
    "an empty list": [],
    "a list of names": ["pods", "nodes"],
    "a source that cannot be watched": Nameless(),
    "a watch that cannot be iterated": Returning(),
    "a number": 5,
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
async def test_an_invalid_source_is_rejected_immediately(source: Any) -> None:
    with pytest.raises(ArgumentError):
        following(source)


OPTIONS: dict[str, dict[str, Any]] = {
    "an unknown storage": {"hold": "tight"},
    "a negative resync": {"resync": -1},
    "a resync that is no number": {"resync": float("nan")},
    "no time to stall": {"stall_after": 0},
    "a negative buffer": {"buffer_limit": -1},
    "a selector for what has none": {"label_selector": "app=web"},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
async def test_invalid_options_are_rejected_immediately(source: FakeListWatch, options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        following(source, **options).add_event_handler(RecordingHandler())


class Rude(FakeListWatch):
    """A source whose watch yields invalid values instead of events."""

    rubbish: Any = None

    async def watch(self, options: ListWatchOptions) -> AsyncGenerator[Sequence[WatchEvent[ConfigMap]], None]:
        async for events in super().watch(options):
            yield events
            if self.rubbish is not None:
                rubbish, self.rubbish = self.rubbish, None
                yield rubbish


A_MAP = ConfigMap.from_dict({"metadata": {"name": "x", "namespace": "shop", "resourceVersion": "11"}})
RUBBISH: dict[str, tuple[Any, str]] = {
    "a number": (5, "yielded a int; it must yield lists of events"),
    "a bare event": (WatchEvent("ADDED", A_MAP), "yielded a WatchEvent; it must yield lists of events"),
    "words": (["event"], "yielded a str among its events"),
    "nothing": ([None], "yielded a NoneType among its events"),
    "plain data": ([{"type": "ADDED"}], "yielded a dict among its events"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("rubbish", "problem"), RUBBISH.values(), ids=RUBBISH.keys())
async def test_invalid_events_are_an_error_that_names_the_expected_type(rubbish: Any, problem: str) -> None:
    source = Rude()
    source.put("a")
    async with following(source) as informer:
        await informer.wait_for_cache_sync(30)
        source.rubbish = rubbish
        source.put("b")
        await reached(informer, str(source.version))
        await turns_until(lambda: problem in informer.health.last_error)
        assert informer.health.last_error.startswith("ProtocolError: the watch of configmaps ")
        source.put("c")
        await reached(informer, str(source.version))
        assert state_of(informer) == {"a": "1", "b": "1", "c": "1"}


async def test_objects_without_resource_versions_are_dispatched_on_every_event(
    source: FakeListWatch,
) -> None:
    recorder = RecordingHandler()
    informer = following(source)
    handle = informer.add_event_handler(recorder)
    metadata = {"name": "a", "namespace": "shop"}
    async with informer:
        await informer.wait_for_cache_sync(30)
        source.send("ADDED", {"metadata": metadata, "data": {"value": "1"}})
        source.send("MODIFIED", {"metadata": metadata, "data": {"value": "2"}})
        await recorder.until("update a=1>2")
        await handle.remove()


class Wordy(FakeListWatch):
    """A source whose event types are plain strings."""

    async def watch(self, options: ListWatchOptions) -> AsyncGenerator[Sequence[WatchEvent[ConfigMap]], None]:
        async for events in super().watch(options):
            yield [self.altered(event) for event in events]

    def altered(self, event: WatchEvent[ConfigMap]) -> WatchEvent[ConfigMap]:
        word: Any = "".join(event.type)  # equal, but not the same
        return WatchEvent(word, event.object)


@both
async def test_an_event_type_may_be_a_plain_string(watch_list: bool) -> None:
    source = Wordy()
    source.put("a")
    async with following(source, watch_list=watch_list) as informer:
        await informer.wait_for_cache_sync(5)
        source.put("b")
        source.put("a", "2")
        source.put("c")
        source.remove("c")
        await reached(informer, str(source.version))
        assert state_of(informer) == {"a": "2", "b": "1"}
        assert source.verbs[0] == ("watch-list" if watch_list else "list")


class Inventive(Wordy):
    """A source with an unknown event type for some objects."""

    def altered(self, event: WatchEvent[ConfigMap]) -> WatchEvent[ConfigMap]:
        word: Any = "PATCHED"
        is_odd = event.type == "MODIFIED" and event.object.metadata.name == "odd"
        return WatchEvent(word, event.object) if is_odd else event


async def test_an_unknown_event_type_deletes_nothing_and_is_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = Inventive()
    source.put("odd")
    async with following(source) as informer:
        await informer.wait_for_cache_sync(30)
        source.put("odd", "2")
        await reached(informer, str(source.version))
        assert state_of(informer) == {"odd": "1"}
        assert "'PATCHED'" in informer.health.broken["shop/odd"]
    assert [line.partition(" is ")[0] for line in caplog.messages] == ["configmaps: 'shop/odd'"]


class Listless(FakeListWatch):
    """A source whose lists are plain Python lists."""

    async def list(self, options: ListWatchOptions, on_broken: Callable[[DecodeError], None]) -> Any:
        return (await super().list(options, on_broken)).items


async def test_an_invalid_list_is_an_error_that_names_the_expected_type() -> None:
    source = Listless(supports_initial_events=False)
    async with following(source) as informer:
        await turns_until(lambda: "must return an ObjectList" in informer.health.last_error)
        assert not informer.has_synced


class Unwatched(FakeListWatch):
    """A source whose watch returns anything; an invalid source is rejected earlier."""

    found: Any = None

    def watch(self, options: ListWatchOptions) -> Any:
        self._meet("watch", options)
        return self.found() if callable(self.found) else self.found


async def forgotten_yield() -> None: ...


@pytest.mark.parametrize("found", [None, [], forgotten_yield], ids=["nothing", "a list", "a coroutine"])
async def test_an_invalid_watch_is_an_error_that_names_the_expected_type(found: Any) -> None:
    source = Unwatched(supports_initial_events=False)
    source.found = found
    async with following(source) as informer:
        await turns_until(lambda: "must be an async generator" in informer.health.last_error)


class Circular(FakeListWatch):
    """A source whose continue tokens repeat."""

    async def list(self, options: ListWatchOptions, on_broken: Callable[[DecodeError], None]) -> ObjectList[ConfigMap]:
        del on_broken
        self._meet("list", options)
        token = {"": "b", "b": "c", "c": "b"}[options.continue_]
        return ConfigMapList.from_dict({"metadata": {"resourceVersion": "11", "continue": token}})


async def test_a_repeated_continue_token_is_an_error() -> None:
    source = Circular(supports_initial_events=False)
    async with following(source) as informer:
        await turns_until(lambda: "has no end" in informer.health.last_error)
        assert source.verbs[:3] == ["list", "page", "page"]
        assert not informer.has_synced


@pytest.mark.parametrize("version", ["", "3"])
async def test_an_empty_or_older_bookmark_does_not_move_the_cache_back(source: FakeListWatch, version: str) -> None:
    source.put("a")
    async with following(source) as informer:
        await informer.wait_for_cache_sync(30)
        source.send("BOOKMARK", {"metadata": {"resourceVersion": version}})
        source.spoil("bad")
        await turns_until(lambda: bool(informer.health.broken))
        await informer.wait_for_version("11", 5)
        assert informer.last_sync_resource_version == str(source.version)
        source.send("BOOKMARK", {"metadata": {"resourceVersion": version}})
        source.send("ADDED", {"metadata": {"name": 5}})
        await turns_until(lambda: len(informer.health.broken) == 2)
        assert informer.last_sync_resource_version == str(source.version)


async def test_log_lines_have_advice_only_where_a_person_is_needed(
    source: FakeListWatch, caplog: pytest.LogCaptureFixture
) -> None:
    source.errors.append(NotFoundError("404 page not found", verb="watch", resource="shelves.shop", code=404))
    source.errors.append(ServiceUnavailableError("later", verb="list", resource="shelves.shop", code=503))
    async with following(source, name="shelves") as informer:
        await informer.wait_for_cache_sync(30)
    missing, late = caplog.messages
    assert "if it is custom, install its CRD" in missing
    assert late.endswith("list shelves.shop: later (503 ServiceUnavailable)")


async def test_log_lines_name_the_informer(source: FakeListWatch, caplog: pytest.LogCaptureFixture) -> None:
    source.errors.append(InternalServerError("no etcd", verb="watch", resource="configmaps", code=500))
    async with following(source, name="shelves") as informer:
        await informer.wait_for_cache_sync(30)
        source.spoil("bad")
        await reached(informer, str(source.version))
    first, second = caplog.messages
    assert re.fullmatch(
        r"shelves: trying again in 0\.0 s, after this failed: watch configmaps: no etcd \(500 InternalError\)",
        first,
    )
    assert second.startswith("shelves: 'shop/bad' is not in the store: ")
