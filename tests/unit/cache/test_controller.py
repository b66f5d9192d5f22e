"""The controller of informers, without an informer."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.cache.clusters import QUICK, turns_until
from tests.unit.cache.fake_list_watch import FakeListWatch

from masthead._cache.informer.controller import InformerController
from masthead._cache.options import InformerOptions
from masthead._cache.reflector.metrics import InformerMetrics
from masthead._cache.store.mutable_indexer import MutableIndexer
from masthead._sansio.changes import Bookmark, Delta, DeltaType, ReplacedAll, Reselected, SyncAll
from masthead._sansio.deltafifo import DeltaFIFO
from masthead.api.core.v1 import ConfigMap
from masthead.errors import (
    ArgumentError,
    ClosedError,
    ExpiredError,
    InformerStateError,
    ProtocolError,
)
from masthead.testing.virtual_time import in_virtual_time

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Sequence

    from masthead._client.listwatch import ListWatchOptions
    from masthead._sansio.changes import Change, Process


class Seen:
    """A process function that records its changes."""

    def __init__(self) -> None:
        self.recorded: list[str] = []

    def __call__(self, changes: Sequence[Change[Any]], is_initial: bool) -> None:
        self.recorded += [f"{'initial ' if is_initial else ''}{_described(change)}" for change in changes]


def _described(change: Change[Any]) -> str:
    if isinstance(change, Delta):
        return f"{change.type.value} {change.key}"
    if isinstance(change, ReplacedAll):
        return f"all of {','.join(change.items)}"
    if isinstance(change, Reselected):
        return "reselected"
    return "again" if isinstance(change, SyncAll) else f"at {change.version}"


@asynccontextmanager
async def running(controller: InformerController[ConfigMap]) -> AsyncIterator[None]:
    """Run a controller for the length of a block."""
    task = asyncio.get_running_loop().create_task(controller.run())
    try:
        yield
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_changes_are_processed_in_order(source: FakeListWatch) -> None:
    source.put("a")
    seen = Seen()
    controller = InformerController(source, seen, InformerOptions(backoff=QUICK))
    assert not controller.has_synced
    async with running(controller):
        await turns_until(lambda: controller.has_synced)
        source.put("b")
        source.put("a", "2")
        source.remove("b")
        source.bookmark()
        await turns_until(lambda: "at 14" in seen.recorded)
        assert controller.last_sync_resource_version == "14"
        (status,) = controller.statuses
        assert status.state == "watching"
    assert seen.recorded == [
        "initial all of shop/a", "added shop/b", "updated shop/a", "deleted shop/b", "at 14",
    ]  # fmt: skip
    assert source.open_streams == 0


async def test_changes_of_an_object_are_processed_one_by_one_between_those_of_others(
    source: FakeListWatch,
) -> None:
    seen = Seen()
    controller = InformerController(source, seen, InformerOptions(backoff=QUICK))
    async with running(controller):
        await turns_until(lambda: controller.has_synced)
        for name, value in [("a", "1"), ("b", "1"), ("a", "2"), ("a", "3"), ("c", "1")]:
            source.put(name, value)
        source.remove("a")
        source.put("a", "4")
        await turns_until(lambda: len(seen.recorded) == 8)
    assert seen.recorded[1:] == [
        "added shop/a", "added shop/b", "updated shop/a", "updated shop/a", "added shop/c",
        "deleted shop/a", "added shop/a",
    ]  # fmt: skip


async def test_a_deletion_of_an_unknown_object_is_processed(source: FakeListWatch) -> None:
    seen = Seen()
    controller = InformerController(source, seen, InformerOptions(backoff=QUICK))
    async with running(controller):
        await turns_until(lambda: controller.has_synced)
        source.send("DELETED", {"metadata": {"name": "unknown", "namespace": "shop", "resourceVersion": "11"}})
        await turns_until(lambda: len(seen.recorded) == 2)
    assert seen.recorded == ["initial all of ", "deleted shop/unknown"]


@pytest.mark.parametrize("names", ["", "ab"], ids=["empty", "two objects"])
async def test_it_has_synced_only_after_the_initial_list_is_processed(source: FakeListWatch, names: str) -> None:
    for name in names:
        source.put(name)
    seen: list[tuple[bool, bool]] = []

    def process(_changes: Sequence[Change[Any]], is_initial: bool) -> None:
        seen.append((is_initial, controller.has_synced))

    controller = InformerController(source, process, InformerOptions(backoff=QUICK))
    async with running(controller):
        await turns_until(lambda: controller.has_synced)
        source.put("c")
        await turns_until(lambda: len(seen) == 2)
    assert seen == [(True, False), (False, True)]


async def test_a_standalone_store_can_be_maintained_by_it(source: FakeListWatch) -> None:
    source.put("a")
    source.put("b")
    store: MutableIndexer[ConfigMap] = MutableIndexer(ConfigMap, {"value": lambda obj: [obj.data["value"]]})

    def process(changes: Sequence[Change[Any]], _: bool) -> None:
        for change in changes:
            if isinstance(change, ReplacedAll):
                store.replace(change.items.values(), change.version)
            elif isinstance(change, Delta) and change.value is not None:
                (store.delete if change.type is DeltaType.DELETED else store.add)(change.value)

    async with running(InformerController(source, process)):
        await turns_until(lambda: len(store) == 2)
        source.put("c", "2")
        source.remove("a")
        await turns_until(lambda: store.version == str(source.version))
        assert sorted(store.list_keys()) == ["shop/b", "shop/c"]
        assert store.index_keys("value", "2") == ["shop/c"]


async def test_a_delta_fifo_groups_by_key(source: FakeListWatch) -> None:
    source.put("a")
    seen = Seen()
    controller = InformerController(source, seen, queue=DeltaFIFO())
    async with running(controller):
        await turns_until(lambda: controller.has_synced)
        source.put("b")
        await turns_until(lambda: len(seen.recorded) == 2)
    assert seen.recorded == ["initial replaced shop/a", "added shop/b"]


async def test_a_failing_process_function_loses_only_those_changes(
    source: FakeListWatch, caplog: pytest.LogCaptureFixture
) -> None:
    seen = Seen()

    def process(changes: Sequence[Change[Any]], is_initial: bool) -> None:
        seen(changes, is_initial)
        if "added shop/bad" in seen.recorded[-1:]:
            raise LookupError("no such shelf")

    controller = InformerController(source, process)
    async with running(controller):
        await turns_until(lambda: controller.has_synced)
        source.put("bad")
        await turns_until(lambda: len(seen.recorded) == 2)
        source.put("a")
        await turns_until(lambda: len(seen.recorded) == 3)
    assert seen.recorded == ["initial all of ", "added shop/bad", "added shop/a"]
    assert caplog.messages == ["configmaps: the process function failed on some changes, which are lost to it"]


class Stubborn(DeltaFIFO[Any]):
    """A queue that pops nothing while it is blocked."""

    is_stubborn = True
    raises = False

    def pop(self, process: Process[Any]) -> bool:
        if self.raises and self.is_stubborn:
            raise LookupError("no such shelf")
        return not self.is_stubborn and super().pop(process)


@pytest.mark.parametrize("raises", [False, True])
async def test_a_queue_that_pops_nothing_is_popped_again_with_the_next_change(
    source: FakeListWatch, raises: bool
) -> None:
    source.put("a")
    seen, queue = Seen(), Stubborn()
    queue.raises = raises
    controller = InformerController(source, seen, queue=queue)
    async with running(controller):
        await turns_until(lambda: len(queue) == 1)
        source.put("b")
        await turns_until(lambda: len(queue) == 2)
        assert seen.recorded == []
        queue.is_stubborn = False
        source.put("c")
        await turns_until(lambda: not len(queue))
    assert seen.recorded == ["initial replaced shop/a", "added shop/b", "added shop/c"]


class Losing(DeltaFIFO[Any]):
    """A queue that fails to take in a whole state, some times."""

    losses = 0

    def replace(self, *given: Any, **named: Any) -> None:
        if self.losses:
            self.losses -= 1
            raise OSError("no space")
        super().replace(*given, **named)


@pytest.mark.parametrize("watch_list", [True, False], ids=["watch-list", "list"])
@pytest.mark.parametrize("losses", [1, 3])
async def test_a_list_that_the_queue_fails_to_take_is_requested_again(
    source: FakeListWatch, watch_list: bool, losses: int
) -> None:
    source.put("a")
    seen, queue = Seen(), Losing()
    controller = InformerController(source, seen, InformerOptions(watch_list=watch_list, backoff=QUICK), queue=queue)
    queue.losses = losses
    async with running(controller):
        await turns_until(lambda: controller.has_synced)
        source.put("b")
        source.forget()
        queue.losses = losses
        source.end(ExpiredError("too old", code=410, reason="Expired"))
        await turns_until(lambda: "replaced shop/b" in seen.recorded)
        assert controller.last_sync_resource_version == str(source.version)
        assert controller.statuses[0].failures == 0


async def test_failing_metrics_lose_no_list(source: FakeListWatch) -> None:
    class Meter(InformerMetrics):
        is_broken = False

        def listed(self, seconds: float, items: int) -> None:
            if self.is_broken:
                raise OSError("no buffer space")
            super().listed(seconds, items)

        def relisted(self) -> None:
            self.is_broken = True
            raise OSError("no buffer space")

    seen = Seen()
    meter = Meter(None, name="maps", resource="configmaps")
    controller = InformerController(source, seen, InformerOptions(backoff=QUICK), metrics=meter)
    async with running(controller):
        await turns_until(lambda: controller.has_synced)
        source.is_silent = True
        source.put("a")
        source.forget()
        source.is_silent = False
        source.end(OSError("cable"))
        await turns_until(lambda: "no buffer space" in controller.statuses[0].error)
        meter.relisted = lambda: None  # type: ignore[method-assign]
        await turns_until(lambda: "all of shop/a" in seen.recorded)


async def test_events_before_an_invalid_one_are_processed() -> None:
    class Rude(FakeListWatch):
        async def watch(self, options: ListWatchOptions) -> AsyncGenerator[Any, None]:
            async for events in super().watch(options):
                yield [*events, None] if self.is_rude and events else events

        is_rude = False

    rude, seen = Rude(), Seen()
    controller = InformerController(rude, seen, InformerOptions(backoff=QUICK))
    async with running(controller):
        await turns_until(lambda: controller.has_synced)
        rude.is_rude = True
        rude.put("a")
        await turns_until(lambda: "added shop/a" in seen.recorded)
        await turns_until(lambda: "among its events" in controller.statuses[0].error)


async def test_log_lines_name_the_controller_and_the_source(
    source: FakeListWatch, caplog: pytest.LogCaptureFixture
) -> None:
    other = FakeListWatch(namespace="bank")
    other.errors.append(ProtocolError("cable"))
    controller = InformerController(
        {"shop": source, "bank": other}, Seen(), InformerOptions(backoff=QUICK, name="maps")
    )
    async with running(controller):
        await turns_until(lambda: controller.has_synced)
    assert caplog.messages == ["maps in bank: trying again in 0.0 s, after this failed: cable"]


async def test_queue_latency_is_measured_after_processing(source: FakeListWatch) -> None:
    queued: list[int] = []

    class Meter(InformerMetrics):
        def queued(self, count: int) -> None:
            queued.append(count)

    meter = Meter(None, name="maps", resource="configmaps")
    meter.is_on = True
    async with running(InformerController(source, Seen(), metrics=meter)):
        await turns_until(lambda: bool(queued))
        source.put("a")
        await turns_until(lambda: len(queued) > 1)
    assert set(queued) == {0}


async def test_it_has_synced_once_every_source_has(source: FakeListWatch) -> None:
    other = FakeListWatch(namespace="bank")
    other.put("a")
    source.put("a")
    other.errors.extend([OSError("cable")] * 3)
    seen = Seen()
    controller = InformerController({"shop": source, "bank": other}, seen, InformerOptions(backoff=QUICK))
    async with running(controller):
        await turns_until(lambda: bool(seen.recorded))
        assert seen.recorded == ["initial all of shop/a"]
        assert not controller.has_synced
        await turns_until(lambda: controller.has_synced)
    assert seen.recorded == ["initial all of shop/a", "initial all of bank/a"]


async def test_errors_are_reported_with_the_delay_before_the_retry(source: FakeListWatch) -> None:
    received: list[tuple[str, bool]] = []
    source.errors.extend([OSError("cable"), OSError("plug")])
    controller = InformerController(
        source,
        Seen(),
        InformerOptions(backoff=QUICK),
        on_error=lambda error, after: received.append((str(error), after > 0)),
    )
    async with running(controller):
        await turns_until(lambda: controller.has_synced)
    assert received == [("cable", True), ("plug", True)]


async def test_a_controller_runs_once(source: FakeListWatch) -> None:
    controller = InformerController(source, Seen())
    async with running(controller):
        await turns_until(lambda: controller.has_synced)
        with pytest.raises(InformerStateError, match="runs once"):
            await controller.run()


async def test_a_closed_source_ends_it(source: FakeListWatch) -> None:
    source.errors.append(ClosedError("the client is closed"))
    with pytest.raises(ClosedError, match="the client is closed"):
        await InformerController({"shop": source, "bank": FakeListWatch()}, Seen()).run()


async def test_it_requires_a_storage(source: FakeListWatch) -> None:
    wrong: Any = "tight"
    with pytest.raises(ArgumentError, match="'lazy' or 'eager' or 'compact'"):
        InformerController(source, Seen(), InformerOptions(hold=wrong))
    with pytest.raises(ArgumentError):
        InformerController({}, Seen())


@in_virtual_time
async def test_a_resync_happens_when_it_is_due() -> None:
    source = FakeListWatch()
    source.put("a")
    seen, checks = Seen(), list[float]()

    def is_due(now: float) -> bool:
        checks.append(now)
        return len(checks) != 2

    controller = InformerController(source, seen, InformerOptions(resync=60, stall_after=10_000), is_due=is_due)
    began = asyncio.get_running_loop().time()
    async with running(controller):
        await asyncio.sleep(190)
    assert [check - began for check in checks] == [pytest.approx(60), pytest.approx(120), pytest.approx(180)]
    assert seen.recorded == ["initial all of shop/a", "again", "again"]


def test_the_repr_of_a_bookmark_has_its_resource_version() -> None:
    assert _described(Bookmark("7")) == "at 7"
