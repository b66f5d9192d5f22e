"""The pump by itself, for those who build their own."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.cache.collection import Collection
from tests.unit.cache.worlds import QUICK, turns_until

from masthead.api.core.v1 import ConfigMap
from masthead.cache.controller import Controller
from masthead.cache.store import Store
from masthead.errors import ClosedError, InformerStateError, InvalidValueError
from masthead.sansio.changes import Bookmark, Delta, DeltaType, ReplacedAll, SyncAll
from masthead.sansio.deltafifo import DeltaFIFO
from masthead.testing.virtual import in_virtual_time

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from masthead.sansio.changes import Change


class Seen:
    """A process function that writes down what it is given."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def __call__(self, changes: Sequence[Change[Any]], is_initial: bool) -> None:
        self.told += [f"{'initial ' if is_initial else ''}{_said(each)}" for each in changes]


def _said(change: Change[Any]) -> str:
    if isinstance(change, Delta):
        return f"{change.type.value} {change.key}"
    if isinstance(change, ReplacedAll):
        return f"all of {','.join(change.items)}"
    return "again" if isinstance(change, SyncAll) else f"at {change.version}"


@asynccontextmanager
async def running(controller: Controller[ConfigMap]) -> AsyncIterator[None]:
    """Run a controller for the length of a block."""
    task = asyncio.get_running_loop().create_task(controller.run())
    try:
        yield
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_what_is_mirrored_is_processed_in_order(collection: Collection) -> None:
    collection.put("a")
    seen = Seen()
    controller = Controller(collection, seen, backoff=QUICK)
    assert not controller.has_synced
    async with running(controller):
        await turns_until(lambda: controller.has_synced)
        collection.put("b")
        collection.put("a", "2")
        collection.remove("b")
        collection.bookmark()
        await turns_until(lambda: "at 14" in seen.told)
        assert controller.last_sync_resource_version == "14"
        (pulse,) = controller.pulses
        assert pulse.state == "watching"
    assert seen.told == [
        "initial all of shop/a", "added shop/b", "updated shop/a", "deleted shop/b", "at 14",
    ]  # fmt: skip
    assert collection.open_streams == 0


async def test_a_store_of_ones_own_can_be_kept_with_it(collection: Collection) -> None:
    collection.put("a")
    collection.put("b")
    store: Store[ConfigMap] = Store(ConfigMap, {"value": lambda obj: [obj.data["value"]]})

    def process(changes: Sequence[Change[Any]], _: bool) -> None:
        for change in changes:
            if isinstance(change, ReplacedAll):
                store.replace(change.items.values(), change.version)
            elif isinstance(change, Delta) and change.value is not None:
                (store.delete if change.type is DeltaType.DELETED else store.add)(change.value)

    async with running(Controller(collection, process)):
        await turns_until(lambda: len(store) == 2)
        collection.put("c", "2")
        collection.remove("a")
        await turns_until(lambda: store.version == str(collection.version))
        assert sorted(store.list_keys()) == ["shop/b", "shop/c"]
        assert store.index_keys("value", "2") == ["shop/c"]


async def test_a_delta_fifo_gathers_by_key(collection: Collection) -> None:
    collection.put("a")
    seen = Seen()
    controller = Controller(collection, seen, queue=DeltaFIFO())
    async with running(controller):
        await turns_until(lambda: controller.has_synced)
        collection.put("b")
        await turns_until(lambda: len(seen.told) == 2)
    assert seen.told == ["initial replaced shop/a", "added shop/b"]


async def test_a_process_function_that_fails_loses_those_changes_and_no_others(
    collection: Collection, caplog: pytest.LogCaptureFixture
) -> None:
    seen = Seen()

    def process(changes: Sequence[Change[Any]], is_initial: bool) -> None:
        seen(changes, is_initial)
        if "added shop/bad" in seen.told[-1:]:
            raise LookupError("no such shelf")

    controller = Controller(collection, process)
    async with running(controller):
        await turns_until(lambda: controller.has_synced)
        collection.put("bad")
        await turns_until(lambda: len(seen.told) == 2)
        collection.put("a")
        await turns_until(lambda: len(seen.told) == 3)
    assert seen.told == ["initial all of ", "added shop/bad", "added shop/a"]
    assert caplog.messages == ["the process function failed on some changes, which are lost to it"]


async def test_several_sources_are_synced_once_all_are(collection: Collection) -> None:
    other = Collection(namespace="bank")
    other.put("a")
    collection.put("a")
    other.trouble.extend([OSError("cable")] * 3)
    seen = Seen()
    controller = Controller({"shop": collection, "bank": other}, seen, backoff=QUICK)
    async with running(controller):
        await turns_until(lambda: bool(seen.told))
        assert seen.told == ["initial all of shop/a"]
        assert not controller.has_synced
        await turns_until(lambda: controller.has_synced)
    assert seen.told == ["initial all of shop/a", "initial all of bank/a"]


async def test_errors_are_told_with_the_time_until_the_next_attempt(collection: Collection) -> None:
    told: list[tuple[str, bool]] = []
    collection.trouble.extend([OSError("cable"), OSError("plug")])
    controller = Controller(
        collection, Seen(), backoff=QUICK, on_error=lambda error, after: told.append((str(error), after > 0))
    )
    async with running(controller):
        await turns_until(lambda: controller.has_synced)
    assert told == [("cable", True), ("plug", True)]


async def test_a_controller_runs_once(collection: Collection) -> None:
    controller = Controller(collection, Seen())
    async with running(controller):
        await turns_until(lambda: controller.has_synced)
        with pytest.raises(InformerStateError, match="runs once"):
            await controller.run()


async def test_a_closed_source_ends_it(collection: Collection) -> None:
    collection.trouble.append(ClosedError("the client is closed"))
    with pytest.raises(ClosedError, match="the client is closed"):
        await Controller({"shop": collection, "bank": Collection()}, Seen()).run()


async def test_it_must_be_told_how_to_hold(collection: Collection) -> None:
    wrong: Any = "tight"
    with pytest.raises(InvalidValueError, match='"lazy", "eager" or "compact"'):
        Controller(collection, Seen(), hold=wrong)
    with pytest.raises(InvalidValueError):
        Controller({}, Seen())


@in_virtual_time
async def test_what_was_processed_is_told_again_at_its_time_if_it_is_due() -> None:
    collection = Collection()
    collection.put("a")
    seen, asked = Seen(), list[float]()

    def is_due(now: float) -> bool:
        asked.append(now)
        return len(asked) != 2

    controller = Controller(collection, seen, resync=60, is_due=is_due, stall_after=10_000)
    async with running(controller):
        await asyncio.sleep(190)
    assert asked == [pytest.approx(60), pytest.approx(120), pytest.approx(180)]
    assert seen.told == ["initial all of shop/a", "again", "again"]


def test_a_bookmark_is_said_by_its_version() -> None:
    assert _said(Bookmark("7")) == "at 7"
