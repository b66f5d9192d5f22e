"""The event recorder of the blocking façade, and `record` from many threads."""

from __future__ import annotations

import os
import signal
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

import masthead
import masthead.aio
import masthead.server
from masthead.config import from_kubeconfig
from masthead.errors import ArgumentError, ClosedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead.api.core.v1 import ConfigMap
    from masthead.server import Server

RECORDS = int(os.environ.get("MASTHEAD_EVENT_RECORDS", "20000"))
THREADS = 8


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with masthead.server.run(bootstrap=False, controllers=False) as running:
        yield running


@pytest.fixture
def client(server: Server) -> Iterator[masthead.Client]:
    server.faults.clear()
    with masthead.Client(from_kubeconfig(server.kubeconfig())) as made:
        made.events_v1.events("default").delete_collection()
        yield made


@pytest.fixture
def site(client: masthead.Client) -> ConfigMap:
    return client.core_v1.config_maps("default").create({"metadata": {"generateName": "site-"}})


def counts(client: masthead.Client) -> dict[str, int]:
    return {
        event.note or "": event.series.count if event.series else 1
        for event in client.events_v1.events("default").list()
    }


def pod(number: int) -> dict[str, Any]:
    metadata = {"name": f"web-{number}", "namespace": "default", "uid": f"uid-{number}"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


def test_events_are_written_in_the_background(client: masthead.Client, site: ConfigMap) -> None:
    with masthead.EventRecorder(client, "operator") as recorder:
        recorder.record(site, "Normal", "Created", "Created Deployment web", action="Creating", related=site)
        recorder.for_object(site).record("Normal", "Other", "of the object")
        assert recorder.flush()
        assert counts(client) == {"Created Deployment web": 1, "of the object": 1}
        assert recorder.counts == masthead.record.EventCounts(recorded=2, sent=2)
    assert repr(recorder) == "<EventRecorder of operator>"


def test_stop_writes_what_is_left(client: masthead.Client, site: ConfigMap) -> None:
    with masthead.EventRecorder(client, "operator") as recorder:
        for _ in range(100):
            recorder.record(site, "Normal", "Repeated", "again")
    assert counts(client) == {"again": 100}
    recorder.record(site, "Normal", "Late", "too late")
    assert recorder.counts.dropped == 1
    recorder.stop()
    with pytest.raises(ClosedError, match="the recorder has stopped"):
        recorder.start()


def test_a_client_that_is_closed_first_writes_what_is_left(
    server: Server, client: masthead.Client, site: ConfigMap
) -> None:
    other = masthead.Client(from_kubeconfig(server.kubeconfig()))
    recorder = masthead.EventRecorder(other, "operator")
    recorder.start()
    for _ in range(10):
        recorder.record(site, "Normal", "Repeated", "again")
    other.close()
    assert counts(client) == {"again": 10}
    recorder.record(site, "Normal", "Late", "too late")
    recorder.stop()
    assert recorder.counts.dropped == 1
    with pytest.raises(ClosedError):
        recorder.flush()


def test_an_async_client_is_refused(server: Server) -> None:
    made = masthead.aio.Client(from_kubeconfig(server.kubeconfig()))
    with pytest.raises(ArgumentError, match=r"use masthead\.aio\.EventRecorder"):
        masthead.EventRecorder(made, "operator")  # type: ignore[arg-type]


def test_mistakes_are_told_at_once(client: masthead.Client, site: ConfigMap) -> None:
    recorder = masthead.EventRecorder(client, "operator")
    with pytest.raises(ArgumentError, match="CamelCase"):
        recorder.record(site, "Normal", "no reason", "")


def test_many_threads_may_record_at_once(client: masthead.Client) -> None:
    """Nothing is lost or counted twice: each thread records one Event about each of a few objects, over and over."""
    pods, rounds = [pod(number) for number in range(10)], RECORDS // THREADS // 10
    begin = threading.Barrier(THREADS)

    with masthead.EventRecorder(client, "operator") as recorder:

        def work(_: int) -> None:
            begin.wait()
            for _ in range(rounds):
                for each in pods:
                    recorder.record(each, "Normal", "Repeated", each["metadata"]["name"])

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(work, range(THREADS)))
        assert recorder.flush(30)
        done = recorder.counts
    assert done.recorded + done.dropped == THREADS * rounds * 10
    assert sum(counts(client).values()) == done.recorded
    assert len(counts(client)) == 10


@pytest.mark.slow
def test_memory_is_bounded_and_records_do_not_wait_while_the_server_is_away(
    server: Server, client: masthead.Client
) -> None:
    fault = server.faults.fail(503, retry_after=300, resource="events", verb="write", times=None)
    with masthead.EventRecorder(client, "operator", queue_limit=100) as recorder:

        def work(thread: int) -> None:
            for number in range(RECORDS // THREADS):
                recorder.record(pod(thread * RECORDS + number), "Normal", "Created", f"{number} {'x' * 1000}")

        work(0)  # until all caches are full
        tracemalloc.start()
        try:
            with ThreadPoolExecutor(THREADS) as pool:
                list(pool.map(work, range(1, THREADS)))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert recorder.counts.recorded + recorder.counts.dropped >= RECORDS // THREADS * (THREADS - 1)
        assert recorder.counts.pending <= 200
        fault.remove()
    # 4096 records and 4096 aggregates, each replaced once, with a kilobyte of message.
    assert peak < 40_000_000


def test_a_signal_handler_may_record_in_the_middle_of_a_record(client: masthead.Client, site: ConfigMap) -> None:
    with masthead.EventRecorder(client, "operator", queue_limit=1_000_000) as recorder:
        interrupts: list[None] = []

        def interrupt(*_: object) -> None:
            interrupts.append(None)  # no addition, which the next signal could interrupt
            recorder.record(site, "Warning", "Interrupted", "by a signal")

        before = signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        try:
            recorded = 0
            while len(interrupts) < 50:
                recorder.record(site, "Normal", "Repeated", "again")
                recorded += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert recorder.flush(30)
        assert recorder.counts.recorded + recorder.counts.dropped == recorded + len(interrupts)
    assert counts(client)["by a signal"] == len(interrupts)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of newer Pythons
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_neither_blocks_nor_disturbs_its_parent(client: masthead.Client, site: ConfigMap) -> None:
    with masthead.EventRecorder(client, "operator") as recorder:
        recorder.record(site, "Normal", "Created", "by the parent")
        assert recorder.flush()
        child = os.fork()
        if child == 0:
            for _ in range(10):
                recorder.record(site, "Normal", "Created", "by the child")
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        recorder.record(site, "Normal", "Created", "by the parent, later")
        assert recorder.flush()
    assert set(counts(client)) == {"by the parent", "by the parent, later"}
