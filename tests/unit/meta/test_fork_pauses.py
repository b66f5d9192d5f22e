"""Event loops in threads stand still while another thread forks."""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from masthead._meta import fork_pauses, registry
from masthead._meta.fork_pauses import paused_at_forks

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


class LoopThread:
    """A loop in a thread, paused at forks."""

    def __init__(self) -> None:
        self._up = threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=[self._live()], daemon=True)

    def __enter__(self) -> asyncio.AbstractEventLoop:
        self._thread.start()
        self._up.wait()
        return self.loop

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self._leave.set)
        self._thread.join()

    async def _live(self) -> None:
        self.loop, self._leave = asyncio.get_running_loop(), asyncio.Event()
        with paused_at_forks():
            self._up.set()
            await self._leave.wait()


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    with LoopThread() as running:
        yield running


def fork_and_try(lock: threading.Lock) -> bool:
    """Fork, and return whether the lock is free in the child."""
    pid = os.fork()
    if pid == 0:
        os._exit(0 if lock.acquire(blocking=False) else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def hold_until_a_fork_waits(lock: threading.Lock, held: threading.Event) -> None:
    """Hold a lock, in a callback of a loop, until a fork has asked the loop to stand still."""
    loop = asyncio.get_running_loop()
    ready: list[object] = loop._ready  # type: ignore[attr-defined]
    with lock:
        held.set()
        while not ready:
            threading.Event().wait(0.0005)


def test_a_fork_waits_for_the_callback_of_a_loop(loop: asyncio.AbstractEventLoop) -> None:
    lock, held = threading.Lock(), threading.Event()
    loop.call_soon_threadsafe(hold_until_a_fork_waits, lock, held)
    held.wait()

    assert fork_and_try(lock)


def test_a_loop_that_needs_a_lock_of_forks_comes_to_a_stand(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork_pauses, "_TIMEOUT", 1000.0)  # longer than this test may take
    lock, held = threading.Lock(), threading.Event()

    def register() -> None:
        hold_until_a_fork_waits(lock, held)
        with registry._changing:
            pass

    loop.call_soon_threadsafe(register)
    held.wait()

    assert fork_and_try(lock)


def test_loops_go_on_after_a_fork(loop: asyncio.AbstractEventLoop) -> None:
    assert fork_and_try(threading.Lock())

    went_on = threading.Event()
    loop.call_soon_threadsafe(went_on.set)
    assert went_on.wait(30)


def test_several_threads_fork_at_the_same_time(loop: asyncio.AbstractEventLoop) -> None:
    locks = [threading.Lock() for _ in range(8)]
    with LoopThread(), ThreadPoolExecutor(4) as pool:
        assert all(pool.map(fork_and_try, locks))

    assert loop in fork_pauses._loops


def test_a_loop_may_fork_itself(loop: asyncio.AbstractEventLoop) -> None:
    forked = threading.Event()

    def fork() -> None:
        assert fork_and_try(threading.Lock())
        forked.set()

    loop.call_soon_threadsafe(fork)
    assert forked.wait(30)


def test_a_fork_does_not_wait_for_ever_for_a_callback_that_waits_for_it(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork_pauses, "_TIMEOUT", 0.01)
    inside, forked, went_on = threading.Event(), threading.Event(), threading.Event()

    def wait_for_the_fork() -> None:
        inside.set()
        forked.wait(30)

    loop.call_soon_threadsafe(wait_for_the_fork)
    inside.wait()
    assert fork_and_try(threading.Lock())
    forked.set()

    loop.call_soon_threadsafe(went_on.set)
    assert went_on.wait(30)


def test_a_child_has_no_loops_to_wait_for(loop: asyncio.AbstractEventLoop) -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(len(fork_pauses._loops))

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert loop in fork_pauses._loops
