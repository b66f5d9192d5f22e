"""Both queues under many threads: no key is ever in two workers, and no add is lost."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import masthead
from masthead.workqueue import LOW_PRIORITY, FastSlowRateLimiter

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.workqueue.drivers import Driver

SOON = 60.0
ADDS = int(os.environ.get("MASTHEAD_QUEUE_ADDS", "1500"))
KEYS = 40


class Workshop:
    """Producers that change things, and workers that look at them."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.lock = threading.Lock()
        self.versions: Counter[int] = Counter()
        self.seen: dict[int, int] = {}
        self.at_work: set[int] = set()
        self.problems: list[str] = []

    def produce(self, seed: int) -> None:
        rng, queue = random.Random(seed), self.driver.queue
        for _ in range(ADDS):
            key = rng.randrange(KEYS)
            with self.lock:
                self.versions[key] += 1
            priority = rng.choice([0, 0, LOW_PRIORITY, 7])
            match rng.randrange(4):
                case 0:
                    queue.add_after(key, rng.random() / 1000, priority)
                case 1:
                    queue.add_rate_limited(key)
                    queue.forget(key)
                case _:
                    queue.add(key, priority)
            if rng.random() < 0.05:
                len(queue)
                queue.stats()

    def work(self, key: int) -> None:
        with self.lock:
            if key in self.at_work:
                self.problems.append(f"{key} is in two workers")
            self.at_work.add(key)
            version = self.versions[key]
        if key % 7 == 0:
            self.driver.queue.add_rate_limited(key)  # as after a failure: it comes again
            self.driver.queue.discard(-key)
        with self.lock:
            self.seen[key] = version
            self.at_work.remove(key)


@pytest.mark.parametrize("seed", range(2))
def test_no_key_is_in_two_workers_and_the_last_change_of_each_is_seen(make: Callable[..., Driver], seed: int) -> None:
    driver = make(rate_limiter=FastSlowRateLimiter[Any](0.0001, 0.001, 5))
    workshop = Workshop(driver)
    workers = [driver.iter(workshop.work) for _ in range(6)]
    producers = [threading.Thread(target=workshop.produce, args=[4 * seed + number]) for number in range(4)]
    for producer in producers:
        producer.start()
    for producer in producers:
        producer.join(SOON)
    for key in workshop.versions:
        driver.queue.add(key)  # ends delays, which draining would drop

    assert driver.drain().result(SOON)
    for worker in workers:
        worker.result(SOON)
    assert workshop.problems == []
    assert workshop.seen == workshop.versions


def test_closing_in_the_middle_of_everything_ends_all_workers(make: Callable[..., Driver]) -> None:
    for seed in range(5):
        driver = make()
        workshop = Workshop(driver)
        workers = [driver.iter(workshop.work) for _ in range(4)]
        producer = threading.Thread(target=workshop.produce, args=[seed])
        producer.start()
        driver.queue.close()
        for worker in workers:
            worker.result(SOON)
        producer.join(SOON)
        assert workshop.problems == []
        assert dict(driver.queue.stats().processing) == {}


def test_a_block_of_the_blocking_queue_ends_the_processing_of_its_key() -> None:
    queue = masthead.WorkQueue[str]()
    queue.add("a")
    with contextlib.suppress(ZeroDivisionError), queue.processing() as key:
        queue.add(key)
        raise ZeroDivisionError

    with queue.processing() as key:
        assert key == "a"
    assert queue.stats().processing == {}


class Interrupted(BaseException):
    """What a signal handler raises."""


def interrupt(*_: object) -> None:
    raise Interrupted


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals cannot be sent to a thread")
def test_a_thread_whose_wait_is_interrupted_passes_the_delays_on_to_another() -> None:
    queue, got, never = masthead.WorkQueue[str](), list[str](), threading.Event()
    other = threading.Thread(target=lambda: got.append(queue.get()), daemon=True)

    def interrupt_the_wait() -> None:
        while queue._waiting < 1:
            never.wait(0.0005)
        other.start()
        while queue._waiting < 2:
            never.wait(0.0005)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        queue.add_after("a", 0.2)
        interrupter = threading.Thread(target=interrupt_the_wait)
        interrupter.start()
        with pytest.raises(Interrupted):
            queue.get()
    finally:
        signal.signal(signal.SIGUSR1, before)
    interrupter.join(SOON)
    other.join(SOON)

    assert got == ["a"]


PROGRAM = """
import asyncio, threading
import masthead, masthead.aio
from masthead.workqueue import LOW_PRIORITY, QueueClosedError

blocking, done = masthead.WorkQueue("blocking"), []

def work():
    for key in blocking:
        done.append(key)
        blocking.done(key)

threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for number in range(1000): blocking.add(number, LOW_PRIORITY if number % 2 else 0)
assert blocking.drain()
for thread in threads: thread.join()
assert sorted(done) == list(range(1000))

async def main():
    queue = masthead.aio.WorkQueue("async")
    seen = []
    async def work():
        async for key in queue:
            seen.append(key)
            queue.done(key)
    async with asyncio.TaskGroup() as tasks:
        for _ in range(4): tasks.create_task(work())
        await asyncio.to_thread(lambda: [queue.add(number) for number in range(1000)])
        queue.add_after("late", 0.01)
        while "late" not in seen: await asyncio.sleep(0.001)
        assert await queue.drain()
    assert set(seen) == {*range(1000), "late"}
    try:
        await queue.get()
    except QueueClosedError as error:
        print(error)

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_program_of_its_own_uses_both_queues_and_ends() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "work queue 'async' is closed and empty\n"
