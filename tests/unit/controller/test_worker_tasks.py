"""Workers: as many as were declared, whatever reconciles do to them."""

from __future__ import annotations

import asyncio
import logging
import threading
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest

import masthead
import masthead.server
from masthead._controller.worker_tasks import MOST_SUBSTITUTES, WorkerTasks
from masthead.api.core.v1 import ConfigMap
from masthead.testing import in_virtual_time

if TYPE_CHECKING:
    from collections.abc import Callable

LABELS = {"test": "1"}
PATIENCE = 60


class Work:
    """What workers are given to do: each call takes one job, which lasts until it is finished."""

    def __init__(self, count: int) -> None:
        self.jobs: asyncio.Queue[Callable[[], asyncio.Future[None]]] = asyncio.Queue()
        self.is_ending = False
        self.workers = WorkerTasks("test", self.work, lambda: self.is_ending, logging.getLogger("test"))
        self.workers.start(count)

    async def work(self) -> None:
        while not self.workers.may_leave():
            job = await self.jobs.get()
            with self.workers.substituted_after(10):
                await job()

    async def begin(self) -> asyncio.Future[None]:
        """Begin a job, which ends when its future is done."""
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
async def test_a_worker_that_is_overdue_has_a_substitute_until_it_returns() -> None:
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
    for number in range(MOST_SUBSTITUTES + 1):
        assert work.workers.is_stuck is (number == MOST_SUBSTITUTES)
        hanging.append(await work.begin())
        await asyncio.sleep(11)
    assert "10 reconciles hang in threads, and one more, which gets no substitute" in caplog.text
    for each in hanging:
        each.set_result(None)
    await asyncio.sleep(1)
    assert (work.workers.is_stuck, len(work.workers.tasks)) == (False, 1)
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


def test_a_reconcile_that_hangs_in_a_thread_keeps_no_other_object_waiting() -> None:
    app = masthead.Manager("hanging")
    over, others = threading.Event(), threading.Semaphore(0)

    @app.controller(ConfigMap, label_selector=LABELS, timeout=0.01)
    def reconcile(ctx: masthead.Context[ConfigMap], _: ConfigMap) -> None:
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
        for number in range(MOST_SUBSTITUTES):
            create(f"hang-{number}")
            create(f"other-{number}")
            assert others.acquire(timeout=PATIENCE)
        port = runtime.probes.probe_port
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz/reconciles?verbose", timeout=PATIENCE)
        assert b"too many reconciles hang in threads: configmaps; restart the process" in refused.value.read()
        over.set()
        for _ in range(MOST_SUBSTITUTES):
            assert others.acquire(timeout=PATIENCE)
