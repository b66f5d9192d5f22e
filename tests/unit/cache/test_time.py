"""Informers under a virtual clock, which advances only while every task waits."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.cache.clusters import processed, reached, state_of, turns_until
from tests.unit.cache.fake_list_watch import FakeListWatch
from tests.unit.cache.recording_handler import RecordingHandler

from masthead._cache.informer.informer import SharedInformer
from masthead._meta.v1 import StatusDetails
from masthead._sansio.backoff import Backoff
from masthead.errors import (
    DeadlineError,
    ExpiredError,
    InternalServerError,
    ProtocolError,
    StoreReadError,
    TooManyRequestsError,
)
from masthead.testing.virtual_time import VirtualLoop, in_virtual_time, now

if TYPE_CHECKING:
    from masthead._client.listwatch import ListWatchOptions
    from masthead.api.core.v1 import ConfigMap


def following(source: FakeListWatch, **options: Any) -> SharedInformer[ConfigMap]:
    return SharedInformer(source, **options)


def busy(seconds: int) -> TooManyRequestsError:
    details = StatusDetails(retry_after_seconds=seconds)
    return TooManyRequestsError("wait", code=429, reason="TooManyRequests", details=details)


@pytest.mark.guarantee(6)
@in_virtual_time
async def test_an_expired_continue_token_loses_nothing() -> None:
    source = FakeListWatch(supports_initial_events=False)
    for name in "abcde":
        source.put(name)
    informer = following(source, page_size=2)
    recorder = RecordingHandler()
    handle = informer.add_event_handler(recorder)
    async with informer:
        await turns_until(lambda: len(source.requests) == 2)
        source.forget_pages()
        await handle.wait_for_cache_sync(30)
    assert source.verbs == ["list", "page", "list", "watch 15"]
    assert source.requests[2].options.limit == 0  # in one piece, of which nothing can expire
    assert sorted(recorder.recorded) == [f"initial {name}=1" for name in "abcde"]


@pytest.mark.guarantee(6)
@in_virtual_time
async def test_retry_after_is_respected() -> None:
    source = FakeListWatch()
    source.put("a")
    source.errors.extend([busy(40), None])
    async with following(source) as informer:
        await informer.wait_for_cache_sync(120)
        assert 40 <= now() < 80


@pytest.mark.guarantee(6)
@in_virtual_time
async def test_a_failing_server_is_retried_for_ever_with_growing_delays() -> None:
    source = FakeListWatch()
    source.errors.extend([InternalServerError("no etcd", code=500, reason="InternalError")] * 100)
    async with following(source) as informer:
        with pytest.raises(DeadlineError, match=r"has not synced within 600 s; the last error was .*no etcd"):
            await informer.wait_for_cache_sync(600)
        assert 10 <= len(source.requests) <= 40
        assert informer.health.failures == len(source.requests) - informer.health.state.count("listing")
        source.errors.clear()
        await informer.wait_for_cache_sync(120)
        assert informer.health.failures == 0
        assert "no etcd" in informer.health.last_error


@pytest.mark.guarantee(6)
@in_virtual_time
async def test_watches_that_end_immediately_are_reopened_with_backoff() -> None:
    source = FakeListWatch()
    source.put("a")
    async with following(source) as informer:
        await informer.wait_for_cache_sync(30)
        began = len(source.requests)

        async def end_each() -> None:
            while True:
                source.end()
                await asyncio.sleep(0.01)

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(300):
                await end_each()
        assert len(source.requests) - began < 60


class Unwatchable(FakeListWatch):
    """A source that can be listed and rejects every watch."""

    is_ill = False

    def _meet(self, verb: str, options: ListWatchOptions) -> None:
        super()._meet(verb, options)
        if self.is_ill and verb == "watch":
            raise InternalServerError("bad gateway", code=502, reason="InternalError")


@pytest.mark.guarantee(6)
@in_virtual_time
async def test_a_server_that_refuses_watches_is_listed_every_few_minutes_and_health_reports_it() -> None:
    source = Unwatchable()
    source.put("a")
    async with following(source) as informer:
        await informer.wait_for_cache_sync(30)
        source.is_ill = True
        source.end(OSError("cable"))
        await asyncio.sleep(0)
        for number in range(10):
            version = source.put("b", str(number)).metadata.resource_version
            await informer.wait_for_version(version, 240)
        assert 8 <= informer.health.relists <= 12
        await turns_until(lambda: informer.health.state == "waiting")
        assert not informer.health.is_healthy
        source.is_ill = False
        await asyncio.sleep(120)
        source.bookmark()
        await asyncio.sleep(1)
        assert informer.health.is_healthy


@pytest.mark.guarantee(7)
@in_virtual_time
async def test_a_reachable_server_alone_makes_neither_the_cache_fresh_nor_the_informer_healthy() -> None:
    source = FakeListWatch()
    source.put("a")
    async with following(source) as informer:
        await informer.wait_for_cache_sync(30)
        await asyncio.sleep(10)
        source.end(OSError("cable"))
        await asyncio.sleep(0.5)
        assert source.verbs[-2:] == ["proof", "watch 11"]
        assert informer.health.staleness == pytest.approx(10.5)
        assert informer.health.failures == 1
        await asyncio.sleep(1.5)  # the new watch has lasted
        assert informer.health.staleness == pytest.approx(12)
        assert informer.health.failures == 0


@pytest.mark.guarantee(7)
@in_virtual_time
async def test_only_a_resumed_watch_may_expire(
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = FakeListWatch()
    source.put("a")
    async with following(source) as informer:
        await informer.wait_for_cache_sync(30)
        gone = ExpiredError("too old resource version", code=410, reason="Expired")
        source.errors.extend([gone] * 100)
        source.end(gone)
        await asyncio.sleep(0)
        assert caplog.records == []
        await asyncio.sleep(100)
        assert informer.health.failures >= 3
        assert not informer.health.is_healthy
        assert len(caplog.records) == informer.health.failures
        assert caplog.messages[0] == (
            "configmaps: trying again at once, after this failed: too old resource version (410 Expired)"
        )


@pytest.mark.guarantee(6)
@in_virtual_time
async def test_an_object_deleted_during_a_store_read_error_leaves_the_store() -> None:
    source = FakeListWatch()
    source.put("a")
    source.put("b")
    async with following(source) as informer:
        await informer.wait_for_cache_sync(30)
        await asyncio.sleep(5)
        source.lose_event(lambda: source.remove("a"))  # the server cannot read what it was
        source.end(StoreReadError("corrupt object", code=500, reason="StorageReadError"))
        await asyncio.sleep(3)
        assert state_of(informer) == {"b": "1"}
        assert informer.health.relists == 1


@pytest.mark.guarantee(7)
@in_virtual_time
async def test_a_silent_watch_is_detected_within_the_configured_time() -> None:
    source = FakeListWatch()
    source.put("a")
    async with following(source, stall_after=20) as informer:
        await informer.wait_for_cache_sync(30)
        source.is_silent = True
        source.put("a", "2")
        await asyncio.sleep(15)
        assert state_of(informer) == {"a": "1"}
        assert informer.health.staleness == pytest.approx(15)
        await asyncio.sleep(10)
        assert state_of(informer) == {"a": "2"}
        assert informer.health.staleness <= 5
        assert informer.health.reconnects == 1


@pytest.mark.guarantee(7)
@in_virtual_time
async def test_health_reports_the_current_state() -> None:
    source = FakeListWatch()
    source.put("a")
    informer = following(source, backoff=lambda: Backoff(first=10, cap=10, jitter=0))
    assert (informer.health.state, informer.health.staleness) == ("new", float("inf"))
    assert not informer.health.is_healthy
    source.errors.append(InternalServerError("no etcd", code=500, reason="InternalError"))
    async with informer:
        await asyncio.sleep(1)
        health = informer.health
        assert (health.state, health.failures, health.is_synced) == ("waiting", 1, False)
        assert health.last_error.startswith("InternalServerError: no etcd (500 InternalError).")
        assert health.since_error == pytest.approx(1)
        await informer.wait_for_cache_sync(30)
        await asyncio.sleep(7)
        health = informer.health
        assert (health.state, health.failures, health.is_synced) == ("watching", 0, True)
        assert (health.version, health.objects) == ("11", 1)
        assert health.is_healthy
        assert health.staleness == pytest.approx(7)
        assert health.since_event == float("inf")
        source.bookmark()
        await asyncio.sleep(2)
        assert informer.health.staleness == pytest.approx(2)
        source.put("a", "2")
        await asyncio.sleep(3)
        assert informer.health.since_event == pytest.approx(3)
        assert informer.health.relists == 0
    assert informer.health.state == "stopped"
    assert not informer.health.is_healthy


@pytest.mark.guarantee(8)
@in_virtual_time
async def test_a_server_that_ignores_send_initial_events_is_listed_after_some_seconds() -> None:
    source = FakeListWatch(ends_initial_events=False)
    source.put("a")
    async with following(source) as informer:
        await informer.wait_for_cache_sync(60)
        assert now() <= 30
    assert source.verbs == ["watch-list", "list", "watch 11"]
    assert not source.supports_initial_events  # the next informer lists without a watch-list
    async with following(source) as informer:
        await informer.wait_for_cache_sync(1)
    assert source.verbs[3:] == ["list", "watch 11"]


@pytest.mark.guarantee(8)
@in_virtual_time
async def test_a_blocked_event_loop_does_not_count_as_a_silent_watch() -> None:
    source = FakeListWatch(ends_initial_events=False)
    source.put("a")
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    async with following(source) as informer:
        await asyncio.sleep(9)
        loop.advance(1.2)
        await informer.wait_for_cache_sync(60)
    assert source.verbs == ["watch-list", "list", "watch 11"]
    assert source.supports_initial_events


@pytest.mark.guarantee(8)
@in_virtual_time
async def test_rejected_initial_events_are_remembered_and_are_no_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = FakeListWatch(refuses=True)
    source.put("a")
    async with following(source) as informer:
        await informer.wait_for_cache_sync(1)
        source.forget()
        source.put("b")
        source.forget()
        source.end(InternalServerError("gone", code=410, reason="Expired"))
        await informer.wait_for_version(str(source.version), 60)
        assert informer.health.relists == 1
    assert source.verbs[:3] == ["watch-list", "list", "watch 11"]
    assert source.verbs.count("watch-list") == 1
    assert caplog.records == []


@pytest.mark.guarantee(9)
@in_virtual_time
async def test_resyncs_follow_each_handlers_period_and_send_no_request() -> None:
    source = FakeListWatch()
    source.put("a")
    often, seldom, never = RecordingHandler(), RecordingHandler(), RecordingHandler()
    informer = following(source, resync=60, stall_after=10_000)
    for recorder, period in ((often, None), (seldom, 150.0), (never, 0.0)):
        informer.add_event_handler(recorder, resync=period)
    async with informer:
        await asyncio.sleep(310)
        requests = len(source.requests)
    assert often.recorded == ["initial a=1"] + ["update a=1>1"] * 5
    assert seldom.recorded == ["initial a=1", "update a=1>1"]
    assert never.recorded == ["initial a=1"]
    assert requests <= 2


@pytest.mark.guarantee(9)
@pytest.mark.parametrize("start", [0.0, 86_400.0, 1_234_567.8])
@in_virtual_time
async def test_the_first_resync_waits_for_the_handlers_period(
    start: float,
) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    loop.advance(start)
    source = FakeListWatch()
    source.put("a")
    seldom = RecordingHandler()
    informer = following(source, resync=60)
    informer.add_event_handler(seldom, resync=600)
    async with informer:
        await asyncio.sleep(599)
        assert seldom.recorded == ["initial a=1"]
        await asyncio.sleep(2)
        assert seldom.recorded == ["initial a=1", "update a=1>1"]


@pytest.mark.guarantee(9)
@in_virtual_time
async def test_an_impossible_resync_period_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    source = FakeListWatch()
    source.put("a")
    recorder = RecordingHandler()
    informer = following(source)
    informer.add_event_handler(recorder, resync=30, name="eager")
    async with informer:
        await asyncio.sleep(40)
    assert recorder.recorded == ["initial a=1"]
    assert caplog.messages == [
        "handler eager: a resync every 30 s was asked for, but the informer has no resync period: never"
    ]


@pytest.mark.guarantee(10)
@in_virtual_time
async def test_waiting_for_a_resource_version_times_out_with_the_reason() -> None:
    source = FakeListWatch()
    source.put("a")
    async with following(source) as informer:
        await informer.wait_for_cache_sync(30)
        with pytest.raises(DeadlineError, match="has not reached version 99 within 5 s"):
            await informer.wait_for_version("99", timeout=5)
        assert now() == pytest.approx(5, abs=1)
        source.version = 98
        source.bookmark()
        source.put("b")
        await informer.wait_for_version("99", timeout=5)


@in_virtual_time
async def test_without_errors_only_the_sync_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    source = FakeListWatch()
    recorder = RecordingHandler()
    informer = following(source, resync=60)
    handle = informer.add_event_handler(recorder)
    async with informer:
        for number in range(60):
            source.put("a", str(number))
            await asyncio.sleep(30)
            source.bookmark()
            if number % 20 == 19:
                source.end()
        await reached(informer, str(source.version), handle)
    await processed(handle)
    assert recorder.state == {"a": "59"}
    assert caplog.record_tuples == [
        ("masthead.cache", logging.INFO, "informer configmaps has synced: 1 object in 0.00 s")
    ]


@in_virtual_time
async def test_an_outage_is_one_log_line_and_its_end_another(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    source = FakeListWatch()
    source.put("a")
    async with following(source) as informer:
        await informer.wait_for_cache_sync(30)
        source.end(InternalServerError("no etcd", code=500, reason="InternalError"))
        await asyncio.sleep(60)
        source.put("a", "2")
        await informer.wait_for_version(str(source.version), 60)
    assert [(record.levelname, "no etcd" in record.message) for record in caplog.records] == [
        ("INFO", False),
        ("WARNING", True),
        ("INFO", False),
    ]
    assert "has synced" in caplog.messages[0]
    assert caplog.messages[2].endswith("all is well again, after 1 failure")


@in_virtual_time
async def test_a_broken_watch_is_a_warning_only_once_it_keeps_failing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    source = FakeListWatch()
    source.put("a")
    async with following(source) as informer:
        await informer.wait_for_cache_sync(30)
        caplog.clear()
        source.end(ProtocolError("the connection was lost"))
        await asyncio.sleep(60)
        source.put("a", "2")
        await informer.wait_for_version(str(source.version), 60)
    assert {record.levelname for record in caplog.records} == {"INFO"}
    assert "the connection was lost" in caplog.messages[0]


@in_virtual_time
async def test_a_handler_that_blocks_the_event_loop_is_named_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)

    def block(_: ConfigMap) -> None:
        loop.advance(15)  # as time.sleep(15) would

    async def block_behind_an_await(_: ConfigMap) -> None:
        await asyncio.sleep(3)  # waiting is fine
        loop.advance(7)

    async def wait(_: ConfigMap) -> None:
        await asyncio.sleep(30)

    source = FakeListWatch()
    source.put("a")
    informer = following(source, stall_after=10_000)
    for name, handler in {"plain": block, "coroutine": block_behind_an_await, "patient": wait}.items():
        informer.add_event_handler(on_add=handler, name=name)
    async with informer:
        await informer.wait_for_cache_sync(100, handlers=True)
    assert [message.partition(":")[0] for message in caplog.messages] == [
        "handler plain has blocked the event loop for 15.0 s with the add of 'shop/a'",
        "handler coroutine has blocked the event loop for 7.0 s with the add of 'shop/a'",
    ]


@in_virtual_time
async def test_a_coroutine_handler_receives_its_cancellation_and_may_raise(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[str] = []

    async def fail(_: ConfigMap) -> None:
        await asyncio.sleep(1)
        raise ValueError("no")

    async def hang(_: ConfigMap) -> None:
        try:
            await asyncio.sleep(10_000)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    source = FakeListWatch()
    source.put("a")
    informer = following(source, stall_after=10_000)
    informer.add_event_handler(on_add=fail, name="failing")
    informer.add_event_handler(on_add=hang, name="hanging")
    await informer.start()
    await asyncio.sleep(5)
    await informer.stop(timeout=1)
    assert seen == ["cancelled"]
    assert informer.health.handler_failures["failing"] == 1
    assert "handler failing failed on the add of 'shop/a'" in caplog.text
