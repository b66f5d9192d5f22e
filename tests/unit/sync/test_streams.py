"""Blocking iteration over an async iterator that runs on an event loop."""

from __future__ import annotations

import asyncio
import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._sync.portal import Portal
from masthead._sync.streams import Items
from masthead.errors import ClosedError, ExpiredError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


@pytest.fixture(scope="module")
def shared() -> Iterator[Portal]:
    portal = Portal()
    yield portal
    portal.close()


@pytest.fixture
def portal() -> Iterator[Portal]:
    portal = Portal()
    yield portal
    portal.close()


class Source:
    """An async source that counts, and records how far it got and how it ended."""

    def __init__(self, count: int, *, error: Exception | None = None, hangs_at: int | None = None) -> None:
        self.count = count
        self.error = error
        self.hangs_at = hangs_at
        self.given = 0
        self.tasks: set[int] = set()
        self.hangs = threading.Event()
        self.ended = threading.Event()

    async def items(self) -> AsyncIterator[int]:
        try:
            for number in range(self.count):
                self.tasks.add(id(asyncio.current_task()))
                if number == self.hangs_at:
                    self.hangs.set()
                    await asyncio.get_running_loop().create_future()
                if number % 3 == 0:
                    await asyncio.sleep(0)
                self.given += 1
                yield number
            if self.error:
                raise self.error
        finally:
            self.ended.set()


def turns_of(portal: Portal) -> None:
    """Let the loop run its pending callbacks."""

    async def turn() -> None:
        for _ in range(10):
            await asyncio.sleep(0)

    portal.call(turn())


@pytest.mark.slow
@given(count=st.integers(0, 60), limit=st.integers(1, 20))
def test_every_item_is_yielded_once_and_in_order(count: int, limit: int) -> None:
    portal = Portal()
    try:
        assert list(Items(portal, Source(count).items(), limit=limit)) == list(range(count))
    finally:
        portal.close()


@given(count=st.integers(0, 20), limit=st.integers(1, 7))
def test_an_error_is_raised_once_after_the_items_before_it(count: int, limit: int) -> None:
    portal = Portal()
    try:
        items = Items(portal, Source(count, error=ExpiredError("too old")).items(), limit=limit)
        assert [next(items) for _ in range(count)] == list(range(count))
        with pytest.raises(ExpiredError, match="too old"):
            next(items)
        assert list(items) == []
    finally:
        portal.close()


def test_iteration_starts_with_the_first_item(shared: Portal) -> None:
    source = Source(3)
    items = Items(shared, source.items())
    turns_of(shared)

    assert source.given == 0
    assert next(items) == 0


def test_a_limit_of_one_disables_read_ahead(shared: Portal) -> None:
    source = Source(9)
    items = Items(shared, source.items(), limit=1)
    for number in range(5):
        assert next(items) == number
        turns_of(shared)
        assert source.given == number + 1


def test_read_ahead_is_bounded_by_the_limit(shared: Portal) -> None:
    source = Source(1000)
    items = Items(shared, source.items(), limit=10)
    next(items)
    turns_of(shared)

    assert source.given <= 20


def test_one_task_runs_a_whole_iteration(shared: Portal) -> None:
    source = Source(500)

    assert len(list(Items(shared, source.items(), limit=7))) == 500
    assert len(source.tasks) == 1


def test_a_timeout_inside_the_source_works(shared: Portal) -> None:
    async def items() -> AsyncIterator[str]:
        yield "one"
        try:
            async with asyncio.timeout(0.001):
                await asyncio.get_running_loop().create_future()
        except TimeoutError:
            yield "too late"

    assert list(Items(shared, items(), limit=1)) == ["one", "too late"]


class TestClosing:
    def test_closing_ends_the_source_and_the_iteration(self, shared: Portal) -> None:
        source = Source(1000)
        items = Items(shared, source.items(), limit=10)
        next(items)
        items.close()

        assert source.ended.is_set()
        assert list(items) == []
        items.close()

    def test_leaving_the_block_ends_the_source_and_the_iteration(self, shared: Portal) -> None:
        source = Source(1000)
        with Items(shared, source.items()) as items:
            assert next(items) == 0

        assert source.ended.is_set()

    def test_closing_before_the_first_item_reads_nothing_from_the_source(self, shared: Portal) -> None:
        source = Source(3)
        items = Items(shared, source.items())
        items.close()

        assert list(items) == []
        assert source.given == 0

    def test_leaving_a_loop_early_ends_the_source(self, shared: Portal) -> None:
        source = Source(1000, hangs_at=500)
        for number in Items(shared, source.items()):
            if number == 3:
                break

        assert source.ended.wait(10)

    @pytest.mark.slow
    def test_an_iterator_that_is_collected_in_a_cycle_ends_its_source(self, shared: Portal) -> None:
        source = Source(1000)
        items = Items(shared, source.items())
        next(items)
        ring: list[object] = [items]
        ring.append(ring)
        del items, ring
        gc.collect()

        assert source.ended.wait(10)

    def test_the_given_close_function_ends_the_source(self, shared: Portal) -> None:
        source, closed = Source(1000), threading.Event()

        async def close() -> None:
            closed.set()

        items = Items(shared, source.items(), close=close)
        next(items)
        items.close()

        assert closed.is_set()

    def test_an_error_while_closing_propagates(self, shared: Portal) -> None:
        async def close() -> None:
            raise ExpiredError("cannot be closed")

        items = Items(shared, Source(2).items(), close=close)

        with pytest.raises(ExpiredError, match="cannot be closed"):
            list(items)

    def test_another_thread_may_close_while_one_waits(self, shared: Portal) -> None:
        source = Source(10, hangs_at=2)
        items = Items(shared, source.items())
        with ThreadPoolExecutor(1) as pool:
            found = pool.submit(list, items)
            source.hangs.wait()
            items.close()

            assert found.result() == [0, 1][: len(found.result())]

    def test_closing_a_portal_ends_its_streams(self, portal: Portal) -> None:
        source = Source(10, hangs_at=2)
        items = Items(portal, source.items())
        with ThreadPoolExecutor(1) as pool:
            found = pool.submit(list, items)
            source.hangs.wait()
            portal.close()

            with pytest.raises(ClosedError, match="make a new one"):
                found.result()
        assert source.ended.is_set()
        items.close()

    def test_a_stream_of_a_closed_portal_is_refused(self, portal: Portal) -> None:
        items = Items(portal, Source(3).items())
        portal.close()

        with pytest.raises(ClosedError):
            next(items)


class TestThreads:
    def test_two_threads_may_not_iterate_at_once(self, shared: Portal) -> None:
        source = Source(10, hangs_at=0)
        items = Items(shared, source.items())
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(list, items)
            source.hangs.wait()

            with pytest.raises(RuntimeError, match="two threads iterate over one stream"):
                next(items)
            items.close()
            assert waiting.result() == []

    def test_one_thread_may_continue_the_iteration_of_another(self, shared: Portal) -> None:
        items = Items(shared, Source(4).items())
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(next, items).result()

        assert [first, *items] == [0, 1, 2, 3]

    def test_iterating_on_the_loop_itself_is_refused(self, shared: Portal) -> None:
        items = Items(shared, Source(3).items())

        async def callback() -> None:
            next(items)

        with pytest.raises(RuntimeError, match="on the client's own event loop"):
            shared.call(callback())

    def test_many_streams_at_once_do_not_mix(self, shared: Portal) -> None:
        def read(count: int) -> list[int]:
            return list(Items(shared, Source(count).items(), limit=3))

        with ThreadPoolExecutor(16) as pool:
            assert list(pool.map(read, range(64))) == [list(range(count)) for count in range(64)]
