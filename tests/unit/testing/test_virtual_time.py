"""Virtual time: the clock jumps when all tasks wait."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime

import pytest

import masthead.aio
import masthead.server
from masthead.config import Config
from masthead.errors import ProtocolError
from masthead.testing.virtual_time import START, LoopClock, VirtualLoop, in_virtual_time, now, process, run


async def virtual_loop() -> VirtualLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop


@in_virtual_time
async def test_a_year_passes_at_once() -> None:
    await asyncio.sleep(365 * 86_400)
    assert now() == pytest.approx(365 * 86_400)


@in_virtual_time
async def test_the_clock_starts_at_the_uptime_of_no_fresh_machine() -> None:
    loop = await virtual_loop()
    assert loop.time() > 86_400
    assert (loop.elapsed, now()) == (0.0, 0.0)


def test_the_clock_starts_where_a_test_wants_it() -> None:
    async def tell() -> tuple[float, float]:
        await asyncio.sleep(0.3)
        return asyncio.get_running_loop().time(), now()

    with asyncio.Runner(loop_factory=lambda: VirtualLoop(start=7.0)) as runner:
        assert runner.run(tell()) == (7.3, 0.3)


@in_virtual_time
async def test_timers_run_in_order_and_on_time() -> None:
    calls: list[tuple[str, float]] = []

    async def speak(word: str, after: float) -> None:
        await asyncio.sleep(after)
        calls.append((word, now()))

    await asyncio.gather(speak("last", 90.0), speak("first", 0.5), speak("second", 2.0))
    assert calls == [("first", 0.5), ("second", 2.0), ("last", 90.0)]


@in_virtual_time
async def test_pending_socket_data_is_delivered_before_time_advances() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        async with asyncio.timeout(0.001):
            for _ in range(50):
                writer.write(b"a line\n")
                assert await reader.readline() == b"a line\n"
        writer.close()
        await writer.wait_closed()
    assert now() < 0.001


@in_virtual_time
async def test_time_does_not_advance_while_a_thread_works() -> None:
    go_on = threading.Event()
    working = asyncio.get_running_loop().run_in_executor(None, go_on.wait, 30)
    threading.Timer(0.01, go_on.set).start()
    async with asyncio.timeout(0.001):
        assert await working
    assert now() == 0.0


@pytest.mark.slow
def test_a_deadlock_is_an_error_and_does_not_hang() -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    with pytest.raises(RuntimeError, match="deadlock"):
        run(wait())


@in_virtual_time
async def test_a_machine_that_was_asleep_is_late() -> None:
    loop = await virtual_loop()
    sleeping = asyncio.gather(asyncio.sleep(1.0))
    await asyncio.sleep(0)
    loop.advance(3600)
    await sleeping
    assert now() == 3600.0
    with pytest.raises(ValueError, match="does not go back"):
        loop.advance(-1)


@in_virtual_time
async def test_a_server_on_the_loop_clock_ends_its_watches_in_virtual_time() -> None:
    clock = LoopClock()
    async with (
        masthead.server.run(clock=clock, token=None) as server,
        masthead.aio.Client(Config(server=server.url)) as client,
    ):
        with pytest.raises(ProtocolError, match="empty"):  # nothing happened
            await client.rest.get("/api/v1/pods", query={"watch": "true", "timeoutSeconds": "50"})
        assert 50 <= now() < 51
        await client.core_v1.config_maps("default").create({"metadata": {"name": "some"}})
        made = await client.core_v1.config_maps("default").get("some")
        assert made.metadata.creation_timestamp == datetime(2026, 1, 1, 0, 0, 50, tzinfo=UTC)


@in_virtual_time
async def test_a_clock_can_be_set() -> None:
    clock = LoopClock(datetime(2030, 1, 1, tzinfo=UTC))
    await asyncio.sleep(60)
    clock.shift(-120)
    assert clock.now() == datetime(2029, 12, 31, 23, 59, tzinfo=UTC)


def test_the_end_of_the_executor_takes_no_time_and_waits_for_its_threads() -> None:
    ended: list[str] = []

    async def work() -> asyncio.AbstractEventLoop:
        await asyncio.get_running_loop().run_in_executor(None, ended.append, "done")
        return asyncio.get_running_loop()

    for _ in range(200):  # the thread that ends the executor races with the loop that waits for it
        assert run(work()).time() == START
    assert len(ended) == 200


@in_virtual_time
async def test_one_can_wait_until_all_tasks_wait_and_no_time_passes() -> None:
    loop = await virtual_loop()
    steps: list[int] = []

    async def work() -> None:
        for number in range(50):
            await asyncio.sleep(0)
            steps.append(number)
        await asyncio.sleep(60)

    async with asyncio.TaskGroup() as group:
        group.create_task(work())
        assert await loop.until_idle()
        assert (len(steps), now()) == (50, 0.0)
        assert loop.next_timer == START + 60


@in_virtual_time
async def test_a_loop_that_is_always_busy_is_not_waited_for() -> None:
    loop = await virtual_loop()

    async def spin() -> None:
        for _ in range(200):
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        group.create_task(spin())
        assert not await loop.until_idle(turns=100)


@in_virtual_time
async def test_time_stands_still_while_it_is_held() -> None:
    loop = await virtual_loop()
    loop.hold()
    woken = asyncio.Event()
    threading.Timer(0.05, lambda: loop.call_soon_threadsafe(woken.set)).start()
    async with asyncio.TaskGroup() as group:
        sleeping = group.create_task(asyncio.sleep(1))
        await woken.wait()
        assert (now(), sleeping.done()) == (0.0, False)
        loop.release()
    assert now() == 1.0


@in_virtual_time
async def test_threads_can_read_the_clock_of_the_loop() -> None:
    clock = LoopClock()
    clock.now()
    await asyncio.sleep(5)
    assert await asyncio.to_thread(clock.now) == clock.now()


@in_virtual_time
async def test_a_frozen_process_does_nothing_until_it_is_thawed() -> None:
    loop = await virtual_loop()
    steps: list[tuple[str, float]] = []

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line)
        writer.close()

    async def tick() -> None:
        await asyncio.sleep(5)
        steps.append(("tick", now()))

    async def talk(port: int) -> None:
        process.set("it")
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.TaskGroup() as group:
            group.create_task(tick())
            await asyncio.sleep(1)
            writer.write(b"hello\n")
            await asyncio.sleep(0)
            await reader.readline()
            steps.append(("answer", now()))
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server, asyncio.TaskGroup() as group:
        group.create_task(talk(server.sockets[0].getsockname()[1]))
        await asyncio.sleep(0.5)
        loop.freeze("it")
        await asyncio.sleep(99.5)
        assert (now(), steps) == (100, [])
        loop.thaw("it")
    assert sorted(steps) == [("answer", 100), ("tick", 100)]


@in_virtual_time
async def test_a_call_after_the_threads_of_a_process_waits_for_the_last_one() -> None:
    loop = await virtual_loop()
    steps: list[str] = []
    process.set("it")
    gates = [threading.Event(), threading.Event()]
    threads = [loop.run_in_executor(None, gate.wait, 30) for gate in gates]
    process.set(None)
    called = loop.create_future()
    loop.call_after_threads("it", lambda: called.set_result(list(steps)))
    for gate, thread in zip(gates, threads, strict=True):
        assert not called.done()
        steps.append("thread")
        gate.set()
        assert await thread
    assert await called == ["thread", "thread"]
    loop.call_after_threads("it", lambda: steps.append("no thread"))
    assert await loop.until_idle()
    assert steps[-1] == "no thread"


@in_virtual_time
async def test_data_for_a_frozen_process_waits_in_its_socket() -> None:
    loop = await virtual_loop()
    received: list[tuple[bytes, float]] = []

    async def send(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(2)
        writer.write(b"news\n")
        writer.close()

    async def listen(port: int) -> None:
        process.set("it")
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        received.append((await reader.readline(), now()))
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(send, "127.0.0.1", 0)
    async with server, asyncio.TaskGroup() as group:
        group.create_task(listen(server.sockets[0].getsockname()[1]))
        await asyncio.sleep(1)
        loop.freeze("it")
        await asyncio.sleep(9)
        assert received == []
        loop.thaw("it")
    assert received == [(b"news\n", 10)]
