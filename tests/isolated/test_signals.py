"""Signals of a process: graceful first, immediate second, and nobody else's afterwards."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

import pytest

from masthead._controller.signals import stop_on_signals

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a process cannot send signals there")

PROGRAM = """
import asyncio, logging, signal, sys, time
from masthead._controller.signals import stop_on_signals

logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)

async def main():
    stop = asyncio.Event()
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with stop_on_signals(lambda found: (print("stop", found.name, flush=True), stop.set())):
        print("ready", flush=True)
        BODY
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    print("stopped", flush=True)

RUN
"""
WAIT = "await stop.wait()"
HANG = "await stop.wait(); await asyncio.Event().wait()"
# Not one long read: a signal that comes just before its system call would not interrupt it.
BLOCK = """await stop.wait()
        while True:
            time.sleep(0.01)
"""
DEAF = """
        import threading
        threading.Thread(target=threading.Event().wait).start()
        await stop.wait(); await asyncio.Event().wait()
"""


@contextmanager
def program(body: str, run: str = "asyncio.run(main())") -> Iterator[subprocess.Popen[str]]:
    source = PROGRAM.replace("BODY", body).replace("RUN", run)
    with subprocess.Popen(
        [sys.executable, "-c", source],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        watchdog = threading.Timer(30, process.kill)
        watchdog.start()
        try:
            yield process
        finally:
            watchdog.cancel()
            process.kill()


def wait_for(output: IO[str] | None, line: str) -> None:
    assert output is not None
    seen = []
    for each in output:
        seen.append(each)
        if each.startswith(line):
            return
    pytest.fail(f"the process ended without {line!r}: {seen}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("run", ["asyncio.run(main())", "import uvloop; uvloop.run(main())"])
def test_the_first_signal_asks_for_a_graceful_stop(number: signal.Signals, run: str) -> None:
    if "uvloop" in run:
        pytest.importorskip("uvloop")
    with program(WAIT, run) as process:
        wait_for(process.stdout, "ready")
        process.send_signal(number)
        wait_for(process.stdout, f"{number.name}: stopping gracefully")
        wait_for(process.stdout, f"stop {number.name}")
        wait_for(process.stdout, "stopped")
        assert process.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("body", [HANG, BLOCK, DEAF], ids=["hangs", "blocks the loop", "has a thread that hangs"])
def test_the_second_signal_ends_a_process_that_does_not_stop(number: signal.Signals, body: str) -> None:
    with program(body) as process:
        wait_for(process.stdout, "ready")
        process.send_signal(number)
        wait_for(process.stdout, "stop")
        process.send_signal(number)
        wait_for(process.stderr, f"masthead: second {number.name}: stopped at once")
        assert process.wait() == 128 + number


def handle(*received: tuple[signal.Signals, float]) -> list[str]:
    """What signals at some times do, in a loop of their own."""
    import asyncio

    done: list[str] = []
    now = [0.0]

    async def main() -> None:
        with stop_on_signals(
            lambda found: done.append(f"stop {found.name}"),
            kill=lambda found: done.append(f"kill {found.name}"),
            clock=lambda: now[0],
        ):
            for number, at in received:
                now[0] = at
                signal.raise_signal(number)
                await asyncio.sleep(0)

    asyncio.run(main())
    return done


def test_two_different_signals_of_one_moment_are_one_request() -> None:
    assert handle((signal.SIGINT, 0), (signal.SIGTERM, 0.1)) == ["stop SIGINT"]


def test_a_different_signal_later_ends_the_process() -> None:
    assert handle((signal.SIGTERM, 0), (signal.SIGINT, 5)) == ["stop SIGTERM", "kill SIGINT"]


def test_the_same_signal_twice_ends_the_process() -> None:
    assert handle((signal.SIGINT, 0), (signal.SIGINT, 0)) == ["stop SIGINT", "kill SIGINT"]


def test_in_another_thread_nothing_is_handled() -> None:
    import asyncio

    handled: list[bool] = []
    before = signal.getsignal(signal.SIGTERM)

    async def main() -> None:
        with stop_on_signals(lambda _: None) as is_handled:
            handled.append(is_handled)
            assert signal.getsignal(signal.SIGTERM) is before

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    thread.join()
    assert handled == [False]
