"""The async work queue in virtual time: what waits, and for how long."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import time
import weakref

import pytest

from masthead._sansio.rate_limiters import FastSlowRateLimiter
from masthead._sansio.workqueue import LOW_PRIORITY
from masthead.aio import WorkQueue
from masthead.errors import ArgumentError, ClosedError, DeadlineError, QueueClosedError
from masthead.testing.virtual_time import in_virtual_time, now


@in_virtual_time
async def test_a_worker_waits_until_a_key_is_added() -> None:
    queue = WorkQueue[str]()
    async with asyncio.TaskGroup() as tasks:
        got = tasks.create_task(queue.get())
        await asyncio.sleep(10)
        assert not got.done()
        queue.add("a")

    assert got.result() == "a"


@in_virtual_time
async def test_delayed_keys_come_when_their_delay_ends_to_workers_that_wait() -> None:
    queue, got = WorkQueue[str](), list[tuple[float, str]]()

    async def work() -> None:
        async for key in queue:
            got.append((now(), key))
            queue.done(key)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(3):
            tasks.create_task(work())
        queue.add_after("late", 3600)
        await asyncio.sleep(1)
        queue.add_after("b", 2)
        queue.add_after("c", 2)
        queue.add_after("a", 1)
        await asyncio.sleep(7200)
        queue.close()

    assert got == [(2.0, "a"), (3.0, "b"), (3.0, "c"), (3600.0, "late")]


@in_virtual_time
async def test_a_delay_that_ends_while_all_workers_are_busy_is_seen_by_the_next_get() -> None:
    queue = WorkQueue[str]()
    queue.add("a")
    queue.add_after("b", 5)
    assert await queue.get() == "a"
    await asyncio.sleep(6)

    assert await queue.get() == "b"
    assert now() == 6.0


@in_virtual_time
async def test_rate_limited_keys_wait_as_the_limiter_says_until_it_forgets_them() -> None:
    queue = WorkQueue[str](rate_limiter=FastSlowRateLimiter(1.0, 60.0, 2))
    times = list[float]()
    for _ in range(3):
        queue.add_rate_limited("a")
        queue.done(await queue.get())
        times.append(now())
    assert (times, queue.num_requeues("a")) == ([1.0, 2.0, 62.0], 3)

    queue.forget("a")
    queue.add_rate_limited("a")
    await queue.get()
    assert (now(), queue.num_requeues("a")) == (63.0, 1)


@in_virtual_time
async def test_a_retry_keeps_the_priority_of_its_key() -> None:
    queue = WorkQueue[str](rate_limiter=FastSlowRateLimiter(1.0, 1.0, 1))
    queue.add("a", LOW_PRIORITY)
    queue.add_rate_limited(await queue.get())
    queue.done("a")
    await asyncio.sleep(2)
    queue.add("b")
    queue.add_after("c", 0, -1)

    assert [await queue.get() for _ in range(3)] == ["b", "c", "a"]


@in_virtual_time
async def test_a_wait_ends_at_its_deadline_and_takes_no_key() -> None:
    queue = WorkQueue[str](name="sites")
    with pytest.raises(DeadlineError, match=r"work queue 'sites' had no key within 2.5 s"):
        await queue.get(timeout=2.5)
    assert now() == 2.5

    queue.add("a")
    assert await queue.get(timeout=0) == "a"


@in_virtual_time
async def test_a_cancelled_worker_loses_no_key() -> None:
    queue = WorkQueue[str]()
    loop = asyncio.get_running_loop()
    first, second = loop.create_task(queue.get()), loop.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add("a")  # wakes the first one
    first.cancel()

    assert await second == "a"
    assert first.cancelled()


@in_virtual_time
async def test_a_worker_that_is_cancelled_while_it_waits_is_forgotten() -> None:
    queue = WorkQueue[str]()
    for _ in range(3):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await queue.get()

    assert (len(queue._waiters), queue._has_waiters) == (0, False)
    queue.add("a")
    assert await queue.get() == "a"


@in_virtual_time
async def test_a_block_ends_the_processing_of_its_key_also_if_it_fails() -> None:
    queue = WorkQueue[str]()
    queue.add("a")
    with contextlib.suppress(ZeroDivisionError):
        async with queue.processing() as key:
            queue.add(key)
            raise ZeroDivisionError

    async with queue.processing() as key:
        assert key == "a"
    assert queue.stats().processing == {}


@in_virtual_time
async def test_after_closing_what_is_enqueued_is_handed_out_and_then_all_workers_end() -> None:
    queue, got = WorkQueue[str]("sites"), list[str]()

    async def work() -> None:
        async for key in queue:
            got.append(key)
            await asyncio.sleep(1)
            queue.done(key)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(4):
            tasks.create_task(work())
        await asyncio.sleep(0)
        queue.add("a")
        queue.add("b")
        queue.add_after("later", 5)
        queue.close()
        queue.add("c")
        queue.add_after("d", 1)
        queue.add_rate_limited("e")

    assert (got, now()) == (["a", "b"], 1.0)
    assert queue.is_closed
    with pytest.raises(QueueClosedError, match="'sites' is closed and empty") as caught:
        await queue.get()
    assert isinstance(caught.value, ClosedError)


@in_virtual_time
async def test_a_worker_waits_for_a_key_that_is_handed_out_again_after_the_queue_is_closed() -> None:
    queue = WorkQueue[str]()
    queue.add("a")
    await queue.get()
    queue.add("a")
    queue.close()
    async with asyncio.TaskGroup() as tasks:
        again, over = tasks.create_task(_keys(queue)), tasks.create_task(_keys(queue))
        await asyncio.sleep(1)
        queue.done("a")
        await asyncio.sleep(1)
        assert queue.stats().processing == {"a": 1.0}
        queue.done("a")

    assert sorted([again.result(), over.result()]) == [[], ["a"]]


@in_virtual_time
async def test_draining_waits_for_the_queue_and_for_the_workers() -> None:
    queue, done = WorkQueue[str](), list[tuple[float, str]]()

    async def work() -> None:
        async for key in queue:
            await asyncio.sleep(1)
            done.append((now(), key))
            queue.done(key)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(work())
        for key in "abc":
            queue.add(key)
        await asyncio.sleep(0.5)
        queue.add("a")  # while it is processed
        queue.add_after("later", 0.1)
        drained = [tasks.create_task(queue.drain()) for _ in range(2)]
        await asyncio.sleep(0)
        queue.add("too late")
        assert [await each for each in drained] == [True, True]
        assert now() == 4.0

    assert done == [(1.0, "a"), (2.0, "b"), (3.0, "c"), (4.0, "a")]
    assert await queue.drain()


@in_virtual_time
async def test_closing_ends_a_drain_that_waits() -> None:
    queue = WorkQueue[str]()
    queue.add("stuck")
    await queue.get()
    async with asyncio.TaskGroup() as tasks:
        drained = tasks.create_task(queue.drain())
        await asyncio.sleep(3)
        assert not drained.done()
        queue.close()
    assert not drained.result()

    assert not await queue.drain(timeout=7)
    assert now() == 10.0
    queue.done("stuck")
    assert await queue.drain()


@in_virtual_time
async def test_a_discarded_key_ends_a_drain_that_waits_for_it() -> None:
    queue = WorkQueue[str]()
    queue.add("a")
    queue.num_requeues("a")
    async with asyncio.TaskGroup() as tasks:
        drained = tasks.create_task(queue.drain())
        await asyncio.sleep(1)
        assert queue.discard("a")
    assert drained.result()


@in_virtual_time
async def test_discarding_a_key_forgets_its_failures() -> None:
    queue = WorkQueue[str]()
    queue.add_rate_limited("a")
    assert queue.discard("a")

    assert queue.num_requeues("a") == 0
    with pytest.raises(DeadlineError):
        await queue.get(timeout=3600)


@in_virtual_time
async def test_workers_that_never_wait_leave_turns_to_others() -> None:
    queue, turns = WorkQueue[int](), 0
    for number in range(1_000):
        queue.add(number)

    async def other() -> None:
        nonlocal turns
        while len(queue):
            turns += 1
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(other())
        while len(queue):
            queue.done(await queue.get())

    assert turns >= 10


@in_virtual_time
async def test_threads_wake_workers_of_the_loop() -> None:
    queue = WorkQueue[str]()
    async with asyncio.TaskGroup() as tasks:
        got = [tasks.create_task(queue.get()) for _ in range(3)]
        await asyncio.sleep(0)

        def add() -> None:
            queue.add("a")
            queue.add("b")
            queue.add_after("c", 1000)

        await asyncio.to_thread(add)

    assert [each.result() for each in got] == ["a", "b", "c"]
    assert now() == 1000.0
    async with asyncio.TaskGroup() as tasks:
        drained = tasks.create_task(queue.drain())
        await asyncio.sleep(0)
        for key in "abc":
            await asyncio.to_thread(queue.done, key)
    assert drained.result()


@in_virtual_time
async def test_a_thread_may_shut_the_queue_down() -> None:
    queue = WorkQueue[str]()
    queue.add_after("a", 5)
    async with asyncio.TaskGroup() as tasks:
        got = tasks.create_task(_keys(queue))
        await asyncio.sleep(1)
        await asyncio.to_thread(queue.close)
    assert (got.result(), now()) == ([], 1.0)


async def _keys(queue: WorkQueue[str]) -> list[str]:
    """The keys that a worker gets until the end."""
    return [key async for key in queue]


def test_a_queue_made_before_its_loop_keeps_what_was_added_and_the_delays() -> None:
    queue = WorkQueue[str]()
    queue.add("a")
    queue.add_after("b", 500)

    @in_virtual_time
    async def run() -> None:
        assert [await queue.get(), await queue.get()] == ["a", "b"]
        # The clock of the loop begins at 0; the delay began at the add, some real milliseconds earlier.
        assert 490 < now() <= 500

    run()


def test_a_queue_of_a_closed_loop_can_be_used_in_another_but_not_in_two_at_once() -> None:
    queue = WorkQueue[str]()

    async def wait_for(key: str) -> None:
        asyncio.get_running_loop().call_soon(queue.add, key)
        queue.done(await queue.get())
        assert queue.stats().processing == {}

    asyncio.run(wait_for("a"))
    asyncio.run(wait_for("b"))

    async def use_in_two() -> None:
        waiter = asyncio.get_running_loop().create_task(queue.get())
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="belongs to another event loop"):
            await asyncio.to_thread(asyncio.run, queue.drain())
        queue.add("c")
        assert await waiter == "c"

    asyncio.run(use_in_two())


def test_keys_can_be_added_after_the_loop_is_closed() -> None:
    queue = WorkQueue[str]()

    async def give_up() -> None:
        task = asyncio.get_running_loop().create_task(queue.get())
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    thread = threading.Thread(target=queue.add, args=["a"])
    thread.start()
    thread.join()
    queue.add_after("b", 1)
    queue.close()
    assert len(queue) == 1


@in_virtual_time
async def test_only_keys_that_were_handed_out_can_be_done() -> None:
    queue = WorkQueue[str]()
    with pytest.raises(ArgumentError, match="'a' is not being processed"):
        queue.done("a")


@in_virtual_time
async def test_stats_say_what_waits_and_what_is_processed_and_for_how_long() -> None:
    queue = WorkQueue[str](name="sites")
    queue.add("a")
    await asyncio.sleep(1)
    await queue.get()
    queue.add("a")
    for key in ("b", "c"):
        queue.add(key)
    queue.add("low", LOW_PRIORITY)
    queue.add_after("d", 30)
    await asyncio.sleep(2)

    stats = queue.stats()
    assert (stats.name, stats.ready, stats.delayed, stats.dirty) == ("sites", {0: 2, LOW_PRIORITY: 1}, 1, 1)
    assert (stats.processing, stats.oldest, stats.next_due) == ({"a": 2.0}, ("b", 2.0), 28.0)
    assert not stats.is_closed
    assert repr(queue) == "<WorkQueue 'sites': 3 ready, 1 delayed, 1 being processed>"
    queue.close()
    assert repr(queue) == "<WorkQueue 'sites': 3 ready, 0 delayed, 1 being processed, closed>"


class Key:
    """A key that a weak reference can refer to."""


@pytest.mark.slow
@in_virtual_time
async def test_a_key_that_is_done_is_freed_while_its_queue_lives() -> None:
    queue, key = WorkQueue[Key](), Key()
    reference = weakref.ref(key)
    queue.add(key)
    queue.done(await queue.get())
    queue.add_after(key, 1)
    queue.done(await queue.get())
    del key
    gc.collect()

    assert reference() is None
    assert len(queue) == 0


@pytest.mark.slow
def test_a_queue_that_nobody_uses_is_freed() -> None:
    async def use() -> weakref.ref[WorkQueue[str]]:
        queue = WorkQueue[str]()
        queue.add_after("a", 0.001)
        assert await queue.get() == "a"
        return weakref.ref(queue)

    reference = asyncio.run(use())
    gc.collect()
    assert reference() is None


def test_the_clock_of_usual_loops_is_read_without_a_detour() -> None:
    async def clock() -> object:
        return WorkQueue[str]()._clock

    assert asyncio.run(clock()) is time.monotonic
