"""What the queue of threads and the queue of a loop have in common. Here both are called from other threads."""

from __future__ import annotations

import threading
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any

import pytest

from masthead.errors import ArgumentError, DeadlineError, QueueClosedError
from masthead.workqueue import LOW_PRIORITY, FastSlowRateLimiter

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.workqueue.drivers import Driver

SOON = 10.0
"""No test takes so long, unless it fails."""


def all_of(driver: Driver, count: int) -> list[Any]:
    return [driver.get(SOON).result(SOON) for _ in range(count)]


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait until another thread has got so far."""
    never = threading.Event()
    while not is_so():
        never.wait(0.0005)


def wait_for_waiters(driver: Driver) -> None:
    """Wait until a worker waits for a key."""
    wait_until(lambda: driver.queue._has_waiters)


def test_keys_are_deduplicated_and_keep_their_order(driver: Driver) -> None:
    for key in "abcab":
        driver.queue.add(key)

    assert len(driver.queue) == 3
    assert all_of(driver, 3) == ["a", "b", "c"]


def test_an_add_wakes_a_worker(driver: Driver) -> None:
    got = driver.get()
    wait_for_waiters(driver)
    driver.queue.add("a")

    assert got.result(SOON) == "a"


def test_each_of_several_waiting_workers_gets_a_key(driver: Driver) -> None:
    got = [driver.get() for _ in range(5)]
    wait_for_waiters(driver)
    for key in "abcde":
        driver.queue.add(key)

    assert sorted(each.result(SOON) for each in got) == [*"abcde"]


def test_the_ends_of_delays_wake_workers_one_after_the_other(driver: Driver) -> None:
    got = [driver.get() for _ in range(3)]
    wait_for_waiters(driver)
    driver.queue.add_after("c", 0.03)
    driver.queue.add_after("b", 0.02)
    driver.queue.add_after("a", 0.01)

    assert sorted(each.result(SOON) for each in got) == ["a", "b", "c"]


def test_a_delay_is_noticed_though_the_worker_that_kept_the_time_is_busy(driver: Driver) -> None:
    got = [driver.get() for _ in range(2)]
    wait_for_waiters(driver)
    driver.queue.add_after("now", 0.001)
    wait(got, SOON, return_when="FIRST_COMPLETED")
    driver.queue.add_after("later", 0.001)

    assert {each.result(SOON) for each in got} == {"now", "later"}


def test_a_key_added_while_processed_is_handed_out_again_after_done(driver: Driver) -> None:
    driver.queue.add("a")
    assert all_of(driver, 1) == ["a"]
    driver.queue.add("a")
    again = driver.get()
    wait_for_waiters(driver)
    driver.queue.done("a")

    assert again.result(SOON) == "a"


def test_priorities_come_first(driver: Driver) -> None:
    for key, priority in [("low", LOW_PRIORITY), ("normal", 0), ("high", 3)]:
        driver.queue.add(key, priority)

    assert all_of(driver, 3) == ["high", "normal", "low"]


def test_retries_are_limited_counted_and_forgotten(make: Callable[..., Driver]) -> None:
    driver = make(rate_limiter=FastSlowRateLimiter(0.001, 0.002, 1))
    driver.queue.add_rate_limited("a")
    driver.queue.add_rate_limited("a")
    assert (driver.queue.num_requeues("a"), all_of(driver, 1)) == (2, ["a"])

    driver.queue.forget("a")
    assert driver.queue.num_requeues("a") == 0


def test_waiting_has_a_limit(driver: Driver) -> None:
    driver.queue.add_after("later", 1000)
    with pytest.raises(DeadlineError, match=r"the work queue had no key within 0.01 s"):
        driver.get(0.01).result(SOON)
    with pytest.raises(DeadlineError):
        driver.get(0).result(SOON)


def test_bad_calls_are_refused_and_change_nothing(driver: Driver) -> None:
    with pytest.raises(ArgumentError):
        driver.queue.add(None)
    with pytest.raises(TypeError):
        driver.queue.add([])
    with pytest.raises(ArgumentError):
        driver.queue.add_after("a", float("nan"))
    with pytest.raises(ArgumentError):
        driver.queue.done("a")

    driver.queue.add("a")
    assert all_of(driver, 1) == ["a"]


def test_closing_ends_all_workers_once_the_queue_is_empty(driver: Driver) -> None:
    worked = list[Any]()
    driver.queue.add("a")
    workers = [driver.iter(worked.append) for _ in range(3)]
    driver.queue.add("b")
    driver.queue.close()
    driver.queue.add("c")

    for worker in workers:
        worker.result(SOON)
    assert sorted(worked) == ["a", "b"]
    with pytest.raises(QueueClosedError):
        driver.get().result(SOON)


def test_draining_waits_for_what_is_enqueued_and_for_what_is_processed(driver: Driver) -> None:
    driver.queue.add("a")
    driver.queue.add("b")
    all_of(driver, 1)
    driver.queue.add("a")
    drained = driver.drain()
    wait_until(lambda: driver.queue.is_closed)
    assert not drained.done()
    driver.queue.done("a")
    assert all_of(driver, 2) == ["b", "a"]
    assert not drained.done()
    for key in "ba":
        driver.queue.done(key)

    assert drained.result(SOON)


def test_closing_ends_a_drain(driver: Driver) -> None:
    driver.queue.add("a")
    drained = driver.drain()
    wait_until(lambda: driver.queue.is_closed)
    driver.queue.close()
    assert not drained.result(SOON)

    assert not driver.drain(0.001).result(SOON)
    driver.queue.discard("a")
    assert driver.drain().result(SOON)


def test_clearing_ends_a_drain_that_waits_for_keys_nobody_takes(driver: Driver) -> None:
    for key in "abc":
        driver.queue.add(key)
    drained = driver.drain()
    wait_until(lambda: driver.queue.is_closed)

    assert driver.queue.clear() == 3
    assert drained.result(SOON)


def test_draining_never_ends_before_the_last_key_is_done(make: Callable[..., Driver]) -> None:
    """client-go's drain may return between two keys."""
    for _ in range(20):
        driver, done = make(), list[int]()
        for key in range(50):
            driver.queue.add(key)
        workers = [driver.iter(done.append) for _ in range(3)]
        assert driver.drain().result(SOON)
        stats = driver.queue.stats()
        assert (sorted(done), dict(stats.processing), dict(stats.ready)) == ([*range(50)], {}, {})
        for worker in workers:
            worker.result(SOON)
