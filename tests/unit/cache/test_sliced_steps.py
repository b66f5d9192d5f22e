"""Steps over many objects run in slices: other tasks run in between, and no reader sees a partial state."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.cache.clusters import QUICK, turns_until
from tests.unit.cache.recording_handler import RecordingHandler

from masthead._cache.informer.controller import InformerController
from masthead._cache.informer.informer import SharedInformer
from masthead._sansio.changes import Delta, ReplacedAll
from masthead._sansio.slices import SLICE
from masthead.errors import ExpiredError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.unit.cache.fake_list_watch import FakeListWatch

    from masthead._sansio.changes import Change
    from masthead.api.core.v1 import ConfigMap

MANY = 5 * SLICE
EXPIRED = ExpiredError("too old resource version", code=410, reason="Expired")


class Turns:
    """Calls a function at each iteration of the event loop, until it is stopped."""

    def __init__(self, look: Callable[[], object]) -> None:
        self._look = look
        self._loop = asyncio.get_running_loop()
        self._handle: asyncio.Handle | None = self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._look()
        self._handle = self._loop.call_soon(self._turn)

    def stop(self) -> None:
        assert self._handle is not None
        self._handle.cancel()


class CountingIndexer:
    """An index function that knows how often it is called between two turns of the loop, at most."""

    def __init__(self) -> None:
        self.calls = 0
        self.most = 0
        self._before = 0

    def __call__(self, obj: ConfigMap) -> list[str]:
        self.calls += 1
        return [obj.data["value"]]

    def turn(self) -> None:
        self.most = max(self.most, self.calls - self._before)
        self._before = self.calls


def fill(source: FakeListWatch, count: int, value: str = "1") -> None:
    for number in range(count):
        source.put(f"map-{number}", value)


def informer_of(source: FakeListWatch, *, watch_list: bool = True) -> SharedInformer[ConfigMap]:
    return SharedInformer(source, watch_list=watch_list, backoff=QUICK)


@pytest.fixture(params=[True, False], ids=["watch-list", "list"])
def watch_list(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


async def test_the_loop_gets_a_turn_after_each_slice(source: FakeListWatch, watch_list: bool) -> None:
    fill(source, MANY)
    informer, indexer = informer_of(source, watch_list=watch_list), CountingIndexer()
    informer.add_indexers({"value": indexer})
    turns = Turns(indexer.turn)
    async with informer:
        await informer.wait_for_cache_sync(30)
        await turns_until(lambda: source.open_streams > 0)
        source.forget()
        source.end(EXPIRED)
        await turns_until(lambda: informer.health.relists == 1 and informer.health.state == "watching")
        turns.stop()

    assert indexer.calls == 2 * MANY
    assert 0 < indexer.most <= SLICE


async def test_readers_see_the_old_state_or_the_new_one(source: FakeListWatch, watch_list: bool) -> None:
    fill(source, MANY)
    informer = informer_of(source, watch_list=watch_list)
    informer.add_indexers({"value": lambda obj: [obj.data["value"]]})
    seen: set[tuple[int, int, int]] = set()

    def look() -> None:
        old, new = informer.indexer.by_index("value", "1"), informer.indexer.by_index("value", "2")
        seen.add((len(informer.indexer), len(old), len(new)))

    turns = Turns(look)
    async with informer:
        await informer.wait_for_cache_sync(30)
        await turns_until(lambda: source.open_streams > 0)
        source.is_silent = True  # what follows is not watched, but listed
        fill(source, MANY + 100, "2")
        source.is_silent = False
        source.forget()
        source.end(EXPIRED)
        await turns_until(lambda: informer.health.relists == 1 and informer.health.state == "watching")
        look()
        turns.stop()

    assert seen == {(0, 0, 0), (MANY, MANY, 0), (MANY + 100, 0, MANY + 100)}


@pytest.mark.slow
async def test_stopping_in_the_middle_leaves_no_partial_state(source: FakeListWatch, watch_list: bool) -> None:
    fill(source, 10 * MANY)  # the end of a task takes some turns, too
    informer, indexer = informer_of(source, watch_list=watch_list), CountingIndexer()
    informer.add_indexers({"value": indexer})
    handler = RecordingHandler()
    informer.add_event_handler(handler)
    async with informer:
        await turns_until(lambda: indexer.calls >= 2 * SLICE)
        assert indexer.calls < 3 * MANY

    assert len(informer.indexer) == 0
    assert informer.indexer.by_index("value", "1") == []
    assert informer.last_sync_resource_version == ""
    assert not informer.has_synced
    assert handler.recorded == []


@pytest.mark.parametrize("after", [1, 2 * SLICE, MANY - 1])
async def test_a_handler_added_during_a_relist_misses_nothing(
    source: FakeListWatch, watch_list: bool, after: int
) -> None:
    fill(source, MANY)
    informer, indexer = informer_of(source, watch_list=watch_list), CountingIndexer()
    informer.add_indexers({"value": indexer})
    async with informer:
        await informer.wait_for_cache_sync(30)
        await turns_until(lambda: source.open_streams > 0)
        before = indexer.calls
        source.is_silent = True
        fill(source, MANY - 50, "2")
        source.remove("map-7")
        source.put("new")
        source.is_silent = False
        source.forget()
        source.end(EXPIRED)
        await turns_until(lambda: indexer.calls >= before + after)
        handler = RecordingHandler()
        informer.add_event_handler(handler)
        await turns_until(lambda: informer.health.relists == 1 and informer.health.state == "watching")
        source.put("last")
        await handler.until("add last=1")

    assert handler.state == source.state


async def test_an_index_added_during_a_relist_is_complete(source: FakeListWatch) -> None:
    fill(source, MANY)
    informer, indexer = informer_of(source), CountingIndexer()
    informer.add_indexers({"value": indexer})
    async with informer:
        await turns_until(lambda: indexer.calls > 0)
        informer.add_indexers({"late": lambda obj: [obj.metadata.name[-1]]})
        await informer.wait_for_cache_sync(30)
        found = informer.indexer.by_index("late", "3")

    assert len(found) == MANY // 10


async def test_a_change_in_another_scope_waits_for_the_last_step() -> None:
    from tests.unit.cache.fake_list_watch import FakeListWatch

    one, other = FakeListWatch(namespace="one"), FakeListWatch(namespace="other")
    one.put("a")
    done: list[str] = []

    def process(changes: Sequence[Change[Any]], is_initial: bool) -> Iterator[None] | None:
        del is_initial
        change = changes[0]
        if isinstance(change, ReplacedAll) and change.scope == "one":
            return steps()
        if isinstance(change, Delta):
            done.append(change.key)
        return None

    def steps() -> Iterator[None]:
        for number in range(20):
            done.append(f"step {number}")
            if number == 5:
                other.put("b")
            yield

    controller = InformerController({"one": one, "other": other}, process)
    task = asyncio.get_running_loop().create_task(controller.run())
    await turns_until(lambda: "other/b" in done)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert done == [*(f"step {number}" for number in range(20)), "other/b"]


async def test_steps_that_fail_are_logged_and_the_next_change_is_processed(
    source: FakeListWatch, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []

    def process(changes: Sequence[Change[Any]], is_initial: bool) -> Iterator[None] | None:
        del is_initial
        change = changes[0]
        if isinstance(change, ReplacedAll):
            return steps()
        if isinstance(change, Delta):
            done.append(change.key)
        return None

    def steps() -> Iterator[None]:
        yield
        raise KeyError("a step")

    controller = InformerController(source, process)
    task = asyncio.get_running_loop().create_task(controller.run())
    await turns_until(lambda: controller.has_synced and source.open_streams > 0)
    source.put("a")
    await turns_until(lambda: bool(done))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert done == ["shop/a"]
    assert "the process function failed" in caplog.text


@pytest.mark.slow
async def test_a_resync_and_a_late_handler_yield_to_other_tasks(source: FakeListWatch) -> None:
    fill(source, MANY)
    informer = SharedInformer(source, resync=1.0, backoff=QUICK)
    handled = most = before = 0

    def on_turn() -> None:
        nonlocal most, before
        most, before = max(most, handled - before), handled

    def count(*_: object) -> None:
        nonlocal handled
        handled += 1

    async with informer:
        await informer.wait_for_cache_sync(30)
        turns = Turns(on_turn)
        registration = informer.add_event_handler(on_add=count, on_update=count)
        await registration.wait_for_cache_sync(30)
        assert handled == MANY
        await turns_until(lambda: handled == 2 * MANY)
        turns.stop()

    assert 0 < most <= 1000 + 100
