"""Calls from blocking threads into an event loop, and their results."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
import os
import signal
import sys
import threading
import traceback
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

import masthead._sync.portal as portal_module
from masthead._sync.portal import Portal
from masthead.errors import ClosedError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from types import FrameType
    from typing import Any, TypeAlias

    TraceFunction: TypeAlias = Callable[[FrameType, str, Any], Any]

TENANT: contextvars.ContextVar[str] = contextvars.ContextVar("TENANT", default="nobody")


@pytest.fixture(params=["asyncio", "uvloop"])
def loop_of(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test runs on both loops."""
    if request.param == "asyncio":
        monkeypatch.setattr("masthead._sync.portal.new_loop", asyncio.new_event_loop)


@pytest.fixture
def portal(loop_of: None) -> Iterator[Portal]:  # noqa: ARG001
    portal = Portal()
    yield portal
    portal.close()


def threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "masthead-client"]


async def double(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


async def for_ever() -> None:
    await asyncio.get_running_loop().create_future()


class Started:
    """A coroutine that records when it runs, and why it ended."""

    def __init__(self) -> None:
        self.running = threading.Event()
        self.ended: BaseException | None = None

    async def run(self) -> None:
        self.running.set()
        try:
            await for_ever()
        except BaseException as error:
            self.ended = error
            raise


class TestCalls:
    def test_a_call_returns_what_the_coroutine_returns(self, portal: Portal) -> None:
        assert portal.call(double(21)) == 42

    def test_the_thread_starts_with_the_first_call_and_ends_with_the_close(self, loop_of: None) -> None:  # noqa: ARG002
        portal = Portal()
        assert threads() == []

        portal.call(double(1))
        assert len(threads()) == 1

        portal.close()
        assert threads() == []

    def test_every_call_runs_on_the_same_loop(self, portal: Portal) -> None:
        async def here() -> asyncio.AbstractEventLoop:
            return asyncio.get_running_loop()

        assert portal.call(here()) is portal.call(here())

    def test_an_error_propagates_unchanged(self, portal: Portal) -> None:
        wanted = NotFoundError("there is none", verb="get")

        async def fail() -> None:
            raise wanted

        with pytest.raises(NotFoundError) as caught:
            portal.call(fail())
        assert caught.value is wanted

    def test_a_traceback_leads_from_the_caller_to_the_line_that_failed(self, portal: Portal) -> None:
        async def deep() -> None:
            raise KeyError("web")

        async def fail() -> None:
            await deep()

        def caller() -> None:
            portal.call(fail())

        with pytest.raises(KeyError) as caught:
            caller()
        frames = [each.name for each in traceback.extract_tb(caught.value.__traceback__)]
        assert frames[1:] == ["caller", "call", "result", "fail", "deep"]

    @pytest.mark.slow
    def test_an_error_that_was_handled_leaves_no_garbage(self, portal: Portal) -> None:
        class MarkedError(Exception):
            pass

        async def fail() -> None:
            raise MarkedError

        gc.collect()
        gc.disable()
        try:
            gone: weakref.ref[BaseException] | None = None
            try:
                portal.call(fail())
            except MarkedError as error:
                gone = weakref.ref(error)
            portal.call(double(1))  # the loop has let go of the first task, too
            assert gone is not None
            assert gone() is None
        finally:
            gc.enable()

    @pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit])
    def test_an_exit_inside_a_coroutine_reaches_the_caller_and_not_the_loop(
        self, portal: Portal, error: type[BaseException]
    ) -> None:
        async def fail() -> None:
            raise error

        with pytest.raises(error):
            portal.call(fail())
        assert portal.call(double(2)) == 4

    def test_a_coroutine_that_cancels_itself_is_a_cancellation(self, portal: Portal) -> None:
        async def fail() -> None:
            raise asyncio.CancelledError

        with pytest.raises(asyncio.CancelledError):
            portal.call(fail())

    def test_the_coroutine_sees_the_callers_context(self, portal: Portal) -> None:
        async def tenant() -> str:
            return TENANT.get()

        token = TENANT.set("blue")
        try:
            assert portal.call(tenant()) == "blue"
        finally:
            TENANT.reset(token)
        assert portal.call(tenant()) == "nobody"

    async def test_it_works_inside_a_running_event_loop(self, portal: Portal) -> None:
        assert portal.call(double(3)) == 6  # as in a notebook


class TestThreads:
    def test_a_thousand_calls_from_sixteen_threads_each_get_their_own_result(self, portal: Portal) -> None:
        with ThreadPoolExecutor(16) as pool:
            results = list(pool.map(lambda number: portal.call(double(number)), range(1000)))

        assert results == [2 * number for number in range(1000)]
        assert len(threads()) == 1

    def test_calls_run_at_the_same_time(self, portal: Portal) -> None:
        barrier = asyncio.Barrier(16)

        async def meet() -> int:
            return await barrier.wait()

        with ThreadPoolExecutor(16) as pool:
            assert sorted(pool.map(lambda _: portal.call(meet()), range(16))) == list(range(16))

    def test_many_first_calls_start_one_thread(self, loop_of: None) -> None:  # noqa: ARG002
        portal = Portal()
        start = threading.Barrier(8)

        def call(number: int) -> int:
            start.wait()
            return portal.call(double(number))

        with ThreadPoolExecutor(8) as pool:
            assert sorted(pool.map(call, range(8))) == [2 * number for number in range(8)]
        assert len(threads()) == 1
        portal.close()

    def test_two_portals_do_not_wait_for_each_other(self, portal: Portal) -> None:
        other = Portal()

        async def call_the_other() -> int:
            return other.call(double(4))

        assert portal.call(call_the_other()) == 8
        other.close()


class TestReentry:
    def test_a_blocking_call_on_the_loop_itself_is_refused_instead_of_waiting_for_ever(self, portal: Portal) -> None:
        async def callback() -> None:
            portal.call(double(1))

        with pytest.raises(RuntimeError, match="on the client's own event loop"):
            portal.call(callback())

    def test_closing_on_the_loop_itself_is_refused(self, portal: Portal) -> None:
        async def callback() -> None:
            portal.close()

        with pytest.raises(RuntimeError, match="on the client's own event loop"):
            portal.call(callback())
        assert portal.call(double(1)) == 2


class InterruptAt:
    """Raises KeyboardInterrupt in this thread, as Python does for a signal, at the nth line of the module under
    test."""

    def __init__(self, line: int) -> None:
        self._left = line
        self._before: Any = None

    def __enter__(self) -> None:
        self._before = sys.gettrace()
        sys.settrace(self._trace)

    def __exit__(self, *exc: object) -> None:
        sys.settrace(self._before)

    def _trace(self, frame: FrameType, event: str, arg: object) -> TraceFunction | None:
        del arg
        if frame.f_code.co_filename != portal_module.__file__:
            return None
        if event in {"line", "return"}:
            self._left -= 1
            if self._left == -1:
                raise KeyboardInterrupt
        return self._trace


class TestInterrupts:
    @pytest.fixture
    def interrupt(self) -> Iterator[Callable[[], None]]:
        """Sends this process, whose main thread runs the tests, what Ctrl-C sends."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        yield lambda: os.kill(os.getpid(), signal.SIGINT)
        signal.signal(signal.SIGINT, before)

    def test_an_interrupt_cancels_the_call_and_is_raised(self, portal: Portal, interrupt: Callable[[], None]) -> None:
        started = Started()

        def once_it_runs() -> None:
            started.running.wait()
            interrupt()

        helper = threading.Thread(target=once_it_runs)
        helper.start()

        with pytest.raises(KeyboardInterrupt):
            portal.call(started.run())
        helper.join()
        assert isinstance(started.ended, asyncio.CancelledError)
        assert portal.call(double(5)) == 10

    def test_an_interrupt_is_raised_at_whichever_line_it_comes(self, portal: Portal) -> None:
        portal.call(double(1))  # the loop runs
        lines = 0
        while True:
            coroutine = double(lines)
            try:
                with InterruptAt(lines):
                    assert portal.call(coroutine) == 2 * lines
            except KeyboardInterrupt:
                lines += 1
            else:
                break
            finally:
                coroutine.close()  # it may have come before the first line that handles it
        assert lines > 10
        assert portal.call(double(1)) == 2

    def test_any_exception_of_a_signal_handler_cancels_the_call_and_is_raised(self, portal: Portal) -> None:
        class AlarmError(Exception):
            pass

        def ring(*_: object) -> None:
            raise AlarmError

        started = Started()

        def once_it_runs() -> None:
            started.running.wait()
            os.kill(os.getpid(), signal.SIGUSR1)

        before = signal.signal(signal.SIGUSR1, ring)
        helper = threading.Thread(target=once_it_runs)
        helper.start()
        try:
            with pytest.raises(AlarmError):
                portal.call(started.run())
        finally:
            helper.join()
            signal.signal(signal.SIGUSR1, before)
        assert isinstance(started.ended, asyncio.CancelledError)

    def test_a_second_interrupt_does_not_wait_for_a_call_that_will_not_end(
        self, portal: Portal, interrupt: Callable[[], None]
    ) -> None:
        running, stubborn = threading.Event(), threading.Event()
        release = asyncio.Event()

        async def refuse() -> None:
            running.set()
            try:
                await for_ever()
            except asyncio.CancelledError:
                stubborn.set()
                await release.wait()

        def twice() -> None:
            for each in (running, stubborn):
                each.wait()
                interrupt()

        helper = threading.Thread(target=twice)
        helper.start()
        with pytest.raises(KeyboardInterrupt):
            portal.call(refuse())
        helper.join()
        portal.soon(release.set)


class TestClosing:
    def test_a_call_after_the_close_is_refused(self, portal: Portal) -> None:
        portal.close()

        with pytest.raises(ClosedError, match="make a new one"):
            portal.call(double(1))

    def test_a_portal_that_was_never_used_closes_too(self, portal: Portal) -> None:
        portal.close()
        portal.close()

        assert portal.is_closed

    def test_closing_ends_calls_that_are_waiting(self, portal: Portal) -> None:
        started = Started()
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(lambda: portal.call(started.run()))
            started.running.wait()
            portal.close()

            with pytest.raises(ClosedError, match="given up"):
                waiting.result()
        assert isinstance(started.ended, asyncio.CancelledError)

    def test_resources_are_closed_on_the_loop_in_reverse_order(self, portal: Portal) -> None:
        closed: list[tuple[str, int]] = []

        def closing(name: str) -> Callable[[], Coroutine[None, None, None]]:
            async def close() -> None:
                await asyncio.sleep(0)
                closed.append((name, threading.get_ident()))

            return close

        portal.at_close(closing("connection"))
        portal.at_close(closing("stream"))
        portal.call(double(1))
        ident = threads()[0].ident
        portal.close()

        assert closed == [("stream", ident), ("connection", ident)]

    def test_a_failing_close_does_not_keep_the_others_open(
        self, portal: Portal, caplog: pytest.LogCaptureFixture
    ) -> None:
        closed: list[str] = []

        async def fine() -> None:
            closed.append("fine")

        async def broken() -> None:
            raise OSError("no")

        portal.at_close(fine)
        portal.at_close(broken)
        portal.call(double(1))
        with caplog.at_level(logging.ERROR, logger="masthead.sync"):
            portal.close()

        assert closed == ["fine"]
        assert [record.getMessage() for record in caplog.records] == [
            "a resource of the client could not be closed; the others were"
        ]

    def test_several_threads_may_close_at_once_and_all_wait_for_the_end(self, portal: Portal) -> None:
        portal.call(double(1))
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: portal.close(), range(8)))

        assert threads() == []

    def test_calls_that_race_with_a_close_always_end(self, loop_of: None) -> None:  # noqa: ARG002
        for _ in range(30):
            portal = Portal()
            portal.call(double(1))
            start = threading.Barrier(5)

            def call(portal: Portal, start: threading.Barrier) -> str:
                start.wait()
                try:
                    for number in range(20):
                        assert portal.call(double(number)) == 2 * number
                except ClosedError:
                    return "closed"
                return "done"

            def close(portal: Portal, start: threading.Barrier) -> None:
                start.wait()
                portal.close()

            with ThreadPoolExecutor(5) as pool:
                calls = [pool.submit(call, portal, start) for _ in range(4)]
                closing = pool.submit(close, portal, start)
                assert {each.result() for each in calls} <= {"closed", "done"}
                closing.result()
        assert threads() == []


class TestCollection:
    def test_an_unclosed_portal_warns_and_ends_its_thread(self, loop_of: None) -> None:  # noqa: ARG002
        closed = threading.Event()

        async def close() -> None:
            closed.set()

        portal = Portal()
        portal.at_close(close)
        portal.call(double(1))
        (thread,) = threads()
        with pytest.warns(ResourceWarning, match="unclosed client"):
            del portal
        thread.join(10)

        assert not thread.is_alive()
        assert closed.is_set()

    def test_a_closed_or_unused_portal_does_not_warn(self, loop_of: None) -> None:  # noqa: ARG002
        used, unused = Portal(), Portal()
        used.call(double(1))
        used.close()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            del used, unused

    def test_it_can_be_collected_on_its_own_loop(self, loop_of: None) -> None:  # noqa: ARG002
        held = [Portal()]
        held[0].call(double(1))
        (thread,) = threads()
        go = asyncio.Event()

        async def here() -> asyncio.AbstractEventLoop:
            return asyncio.get_running_loop()

        async def drop() -> None:
            await go.wait()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                held.clear()

        loop = held[0].call(here())
        held[0].start(lambda spawn: spawn(drop()))
        loop.call_soon_threadsafe(go.set)
        thread.join(10)

        assert not thread.is_alive()
