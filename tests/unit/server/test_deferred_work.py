"""Deferred work: what takes long is computed in a thread, and found when the request is handled again."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, TypeVar

import pytest

from masthead_server.resources.deferred_work import WorkNeeded, WorkResults, in_thread
from masthead_server.wire.failures import StatusFailure, bad_request

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def respond(handle: Callable[[], T]) -> T:
    """Handle a request as the server does: again and again, until nothing has to be awaited."""
    results = WorkResults()
    while True:
        try:
            with results.active():
                return handle()
        except WorkNeeded as needed:
            asyncio.run(needed.perform(results))


def test_a_computation_runs_once_and_in_another_thread() -> None:
    threads: list[int] = []

    def compute() -> int:
        threads.append(threading.get_ident())
        return 42

    assert respond(lambda: in_thread("key", compute) + in_thread("key", compute)) == 84
    assert len(threads) == 1
    assert threads[0] != threading.get_ident()


def test_what_depends_on_something_else_is_computed_again() -> None:
    versions = iter((1, 2))

    def handle() -> int:
        version = next(versions)
        return in_thread(version, lambda: version) if version == 1 else version

    assert respond(handle) == 2


def test_a_failure_is_raised_when_the_request_is_handled_again() -> None:
    def fail() -> int:
        raise bad_request("no")

    with pytest.raises(StatusFailure, match="no"):
        respond(lambda: in_thread("key", fail))


def test_a_computation_may_need_another_first() -> None:
    def outer() -> int:
        return in_thread("inner", lambda: 1) + 1

    assert respond(lambda: in_thread("outer", outer)) == 2


def test_without_a_request_it_is_computed_at_once() -> None:
    assert in_thread("key", threading.get_ident) == threading.get_ident()
