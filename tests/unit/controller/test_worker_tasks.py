"""Workers: their number is constant, even if reconciles hang or end them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest

import masthead
import masthead.server
from masthead._controller.main_loop import run_main
from masthead._controller.requests import Request
from masthead._controller.worker_tasks import MAX_SUBSTITUTES, WorkerTasks
from masthead.api.core.v1 import ConfigMap
from masthead.testing import Environment, in_virtual_time

if TYPE_CHECKING:
    from collections.abc import Callable

LABELS = {"test": "1"}
PATIENCE = 60


class Work:
    """A queue of jobs for workers. A job lasts until its future is done."""

    def __init__(self, count: int) -> None:
        self.jobs: asyncio.Queue[Callable[[], asyncio.Future[None]]] = asyncio.Queue()
        self.is_ending = False
        self.workers = WorkerTasks(
            "test",
            lambda: self.is_ending,
            logging.getLogger("test"),
            timeout=10,
            in_threads=True,
        )
        self.workers.start(count, self.work)

    async def work(self) -> None:
        while not self.workers.may_leave():
            job = await self.jobs.get()
            reconcile = self.workers.begin(Request("default", "web"))
            try:
                await job()
            finally:
                self.workers.end(reconcile)

    async def begin(self) -> asyncio.Future[None]:
        """Start a job; return the future that ends it."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        begun = asyncio.Event()

        def start() -> asyncio.Future[None]:
            begun.set()
            return future

        self.jobs.put_nowait(start)
        await begun.wait()
        return future

    async def end(self) -> None:
        self.is_ending = True
        for task in self.workers.tasks:
            task.cancel()
        await asyncio.gather(*self.workers.tasks, return_exceptions=True)


@in_virtual_time
async def test_an_overdue_worker_has_a_substitute_until_it_returns() -> None:
    work = Work(1)
    hanging = await work.begin()
    await asyncio.sleep(11)
    (await work.begin()).set_result(None)
    hanging.set_result(None)
    await asyncio.sleep(1)
    assert len(work.workers.tasks) == 1
    (await work.begin()).set_result(None)
    await work.end()


@in_virtual_time
async def test_a_worker_that_is_in_time_has_none() -> None:
    work = Work(1)
    slow = await work.begin()
    await asyncio.sleep(9)
    slow.set_result(None)
    await asyncio.sleep(9)
    assert len(work.workers.tasks) == 1
    await work.end()


@in_virtual_time
async def test_there_is_an_end_of_substitutes(caplog: pytest.LogCaptureFixture) -> None:
    work = Work(1)
    hanging = []
    for number in range(MAX_SUBSTITUTES + 1):
        assert bool(work.workers.problem) is (number == MAX_SUBSTITUTES)
        hanging.append(await work.begin())
        await asyncio.sleep(11)
    assert "10 reconciles hang, and one more, which gets no substitute" in caplog.text
    for future in hanging:
        future.set_result(None)
    await asyncio.sleep(1)
    assert (work.workers.problem, len(work.workers.tasks)) == ("", 1)
    await work.end()


@in_virtual_time
async def test_a_worker_that_is_cancelled_from_within_is_replaced(caplog: pytest.LogCaptureFixture) -> None:
    work = Work(2)
    busy = await work.begin()
    job = await work.begin()
    job.cancel()
    await asyncio.sleep(1)
    assert (len(work.workers.tasks), busy.done()) == (2, False)
    assert "a reconcile has cancelled its worker, which is replaced" in caplog.text
    await work.end()


def test_a_hanging_thread_does_not_block_other_objects() -> None:
    app = masthead.Manager("hanging")
    over, others = threading.Event(), threading.Semaphore(0)

    @app.controller(ConfigMap, label_selector=LABELS, timeout=0.01)
    def reconcile(ctx: masthead.ReconcileContext[ConfigMap], _: ConfigMap) -> None:
        if ctx.request.name.startswith("hang"):
            over.wait()
        others.release()

    def create(name: str) -> None:
        client.core_v1.config_maps("default").create(ConfigMap.new(name, labels=LABELS))

    with (
        masthead.server.run() as server,
        masthead.Client(kubeconfig=server.kubeconfig()) as client,
        app.running_in_thread(kubeconfig=server.kubeconfig(), metrics_bind="0", probe_bind=":0") as runtime,
    ):
        for number in range(MAX_SUBSTITUTES):
            create(f"hang-{number}")
            create(f"other-{number}")
            assert others.acquire(timeout=PATIENCE)
        port = runtime.probes.probe_port
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz/reconciles?verbose", timeout=PATIENCE)
        assert b"configmaps: too many reconciles hang in threads; restart the process" in refused.value.read()
        over.set()
        for _ in range(MAX_SUBSTITUTES):
            assert others.acquire(timeout=PATIENCE)


@in_virtual_time
async def test_a_coroutine_that_ignores_its_timeout_does_not_block_other_objects(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = masthead.Manager("hanging")
    over = asyncio.Event()
    reconciled: list[str] = []

    @app.controller(ConfigMap, label_selector="test=1", timeout=10, workers=1)
    async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], _: ConfigMap) -> None:
        while ctx.request.name == "stuck" and not over.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await over.wait()
        reconciled.append(ctx.request.name)

    objects = [ConfigMap.new(name, namespace="default", labels=LABELS) for name in ("stuck", "web")]
    async with Environment(objects=objects[:1]) as env:
        replica = await env.start(app)
        await env.advance(1)
        await env.client.core_v1.config_maps("default").create(objects[1])
        await env.advance(20)
        assert reconciled == ["web"]
        assert "the reconcile of default/stuck (" in caplog.text
        assert "test_worker_tasks.py:" in caplog.text
        [loop] = replica.runtime.loops.values()
        assert not loop.problem
        await env.advance(60)
        assert loop.problem.startswith("reconciles ignore their cancellation: default/stuck (")
        over.set()
        await env.advance(1)
        assert not loop.problem
        assert reconciled == ["web", "stuck"]


def test_a_loop_ends_though_a_task_ignores_its_cancellation(caplog: pytest.LogCaptureFixture) -> None:
    async def go_on() -> None:
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

    async def main() -> None:
        tasks.append(asyncio.get_running_loop().create_task(go_on(), name="stubborn"))
        await asyncio.sleep(0)

    tasks: list[asyncio.Task[None]] = []
    run_main(main(), patience=0.001)

    assert not tasks[0].done()
    assert "left behind at the end: stubborn (" in caplog.text


def test_a_loop_waits_for_cancelled_tasks() -> None:
    ended: list[str] = []

    async def end_slowly() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("task")

    async def main() -> None:
        tasks.append(asyncio.get_running_loop().create_task(end_slowly()))
        await asyncio.sleep(0)
        raise ValueError("main")

    tasks: list[asyncio.Task[None]] = []
    with pytest.raises(ValueError, match="main"):
        run_main(main())
    assert ended == ["task"]
