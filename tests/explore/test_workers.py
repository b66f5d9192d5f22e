"""Jobs in forked processes, some of them hostile."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from masthead.testing._explore.workers import CAN_FORK, LocalPool, ProcessPool
from tests.explore.processes import children

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead.testing._explore.child import Reply

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="needs fork")


def perform(act: Callable[[], object], limit: float = 20.0) -> Reply:
    """Perform one job in a worker."""
    with ProcessPool(lambda _: act(), lambda _: None, processes=1, limit=limit) as pool:
        reply = pool.wait(pool.submit("job"))
    assert reply is not None
    return reply


def test_a_job_returns_its_result() -> None:
    reply = perform(lambda: {"pid": os.getpid()})

    assert isinstance(reply.result, dict)
    assert reply.result["pid"] != os.getpid()
    assert not reply.failure


def test_jobs_do_not_see_what_others_have_left() -> None:
    state: list[int] = []

    def act(job: object) -> int:
        assert isinstance(job, int)
        state.append(job)
        return len(state)

    with ProcessPool(act, lambda _: None, processes=2, limit=20.0) as pool:
        numbers = [pool.submit(job) for job in range(8)]
        replies = [pool.wait(number) for number in numbers]
    assert [reply and reply.result for reply in replies] == [1] * 8


def test_workers_prepare_once_for_all_jobs() -> None:
    state: list[object] = []
    with ProcessPool(lambda _: list(state), state.append, processes=2, limit=20.0) as pool:
        pool.prepare("knowledge")
        replies = [pool.wait(number) for number in [pool.submit(job) for job in range(4)]]
    assert [reply and reply.result for reply in replies] == [["knowledge"]] * 4
    assert state == []


def test_sys_exit_names_its_line() -> None:
    reply = perform(lambda: sys.exit(3))

    assert "sys.exit(3)" in reply.failure
    assert "test_workers.py" in reply.failure


def test_os_exit_is_explained() -> None:
    reply = perform(lambda: os._exit(7))

    assert "exit code 7" in reply.failure
    assert "os._exit" in reply.failure


def test_a_crash_of_the_interpreter_names_the_signal() -> None:
    reply = perform(lambda: ctypes.string_at(0))

    assert "SIGSEGV" in reply.failure
    assert "test_workers.py" in reply.failure


def test_an_endless_loop_ends_with_its_stack() -> None:
    def loop_for_ever() -> None:
        while True:
            pass

    reply = perform(loop_for_ever, limit=0.2)

    assert "real time" in reply.failure
    assert "loop_for_ever" in reply.failure


def test_a_blocking_call_ends_with_its_stack() -> None:
    def wait_for_ever() -> None:
        threading.Event().wait()

    reply = perform(wait_for_ever, limit=0.2)

    assert "wait_for_ever" in reply.failure


def test_threads_do_not_keep_a_job_alive() -> None:
    def act() -> str:
        threading.Thread(target=threading.Event().wait).start()
        return "done"

    assert perform(act).result == "done"


def test_processes_of_a_job_end_with_it() -> None:
    reading, writing = os.pipe()

    def act() -> str:
        if not os.fork():
            threading.Event().wait()
        return "done"

    assert perform(act).result == "done"
    os.close(writing)
    # The end of file comes when no process holds the other end.
    assert os.read(reading, 1) == b""
    os.close(reading)


def test_a_flood_of_output_is_cut() -> None:
    def act() -> str:
        for number in range(20_000):
            print(f"line {number} of a very talkative operator")
        return "done"

    reply = perform(act)

    assert reply.result == "done"
    assert reply.output.endswith("line 19999 of a very talkative operator\n")
    assert len(reply.output) <= 40_000


def test_huge_memory_is_an_error() -> None:
    reply = perform(lambda: len(bytearray(64 << 30)))

    assert "MemoryError" in reply.failure


def test_standard_input_is_empty() -> None:
    assert perform(lambda: sys.stdin.read()).result == ""


def test_a_result_that_cannot_be_sent_is_explained() -> None:
    reply = perform(lambda: threading.Lock())

    assert "cannot be sent" in reply.failure


def test_a_deadline_ends_the_wait_and_the_job() -> None:
    def wait_for_ever(_: object) -> None:
        threading.Event().wait()

    with ProcessPool(wait_for_ever, lambda _: None, processes=1, limit=60.0) as pool:
        number = pool.submit("job")
        assert pool.wait(number, deadline=0.0) is None


def test_no_process_and_no_file_remains() -> None:
    perform(lambda: None)
    processes = children()
    before = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()  # noqa: PTH112, PTH208
    perform(lambda: None)
    after = set(os.listdir("/proc/self/fd")) if before else set()  # noqa: PTH208

    assert len(after) == len(before)
    assert children() <= processes


def test_jobs_may_run_an_event_loop_although_the_caller_runs_one() -> None:
    async def call() -> Reply:
        return perform(lambda: asyncio.run(asyncio.sleep(0, "done")))

    assert asyncio.run(call()).result == "done"


def test_the_caller_may_be_any_thread() -> None:
    replies: list[Reply] = []
    thread = threading.Thread(target=lambda: replies.append(perform(lambda: "done")))
    thread.start()
    thread.join()

    assert replies[0].result == "done"


def test_a_killed_worker_is_replaced() -> None:
    def act(job: object) -> object:
        if job == "kill":
            os.kill(os.getppid(), signal.SIGKILL)
            threading.Event().wait()
        return job

    with ProcessPool(act, lambda _: None, processes=1, limit=1.0) as pool:
        killed, next_one = [pool.wait(number) for number in (pool.submit("kill"), pool.submit("work"))]
    assert killed is not None
    assert killed.is_internal
    assert next_one is not None
    assert next_one.result == "work"


def test_a_local_pool_runs_jobs_in_this_process() -> None:
    with LocalPool(lambda job: (job, os.getpid()), lambda _: None) as pool:
        reply = pool.wait(pool.submit("job"))

    assert reply is not None
    assert reply.result == ("job", os.getpid())
