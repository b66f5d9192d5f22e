"""Each fault alone: the notifications of the handler, and the requests to the server."""

from __future__ import annotations

import asyncio
import gc
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.scenarios.harness import PLAIN, running_harness

from masthead._cache.informer.informer import SharedInformer
from masthead.testing.virtual_time import VirtualLoop, in_virtual_time, now

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.guarantee(6)

LISTING = replace(PLAIN, watch_list=False)


@in_virtual_time
async def test_without_faults_an_informer_sends_one_request() -> None:
    async with running_harness(there=["a"]) as harness, harness.informer:
        await harness.converged()
        await harness.write("a", "b")
        await harness.delete("a")
        await harness.converged()
        assert harness.calls == ["add default/a", "update default/a", "add default/b", "delete default/a"]
        assert harness.requests == ["watch-list"]


@in_virtual_time
async def test_a_dropped_watch_resumes_from_its_resource_version() -> None:
    async with running_harness(there=["a"]) as harness:
        harness.faults.drop_watch(after=2)  # behind the initial object and its bookmark
        async with harness.informer:
            await harness.informer.wait_for_cache_sync()
            await harness.write("b")
            assert await harness.converged() < 3
            assert harness.calls == ["add default/a", "add default/b"]
            assert harness.requests == ["watch-list", "proof", "watch"]
            assert harness.informer.health.relists == 0


@in_virtual_time
async def test_a_truncated_line_is_no_event_and_is_sent_again() -> None:
    async with running_harness(there=["a"]) as harness:
        harness.faults.cut_watch(after=2)
        async with harness.informer:
            await harness.informer.wait_for_cache_sync()
            await harness.write("b", "a")
            assert await harness.converged() < 3
            assert harness.calls == ["add default/a", "add default/b", "update default/a"]
            assert harness.requests == ["watch-list", "proof", "watch"]


@in_virtual_time
async def test_a_watch_that_breaks_during_its_initial_events_is_retried_and_then_replaced_by_a_list() -> None:
    async with running_harness(there=["a", "b"]) as harness:
        harness.faults.drop_watch(after=1, times=2)
        async with harness.informer:
            await harness.converged()
            assert harness.calls == ["add default/a", "add default/b"]
            assert harness.requests == ["watch-list", "watch-list", "list", "watch"]


@pytest.mark.guarantee(7)
@in_virtual_time
async def test_a_change_is_seen_within_thirty_seconds_of_a_watch_falling_silent() -> None:
    async with running_harness(there=["a"]) as harness:
        harness.faults.silence_watch(after=2)
        async with harness.informer:
            await harness.converged()
            await harness.write("b")
            assert 25 < await harness.converged() < 30
            assert harness.calls == ["add default/a", "add default/b"]
            assert harness.requests == ["watch-list", "proof", "watch"]

            await asyncio.sleep(60)  # quiet: watches are short
            harness.faults.silence_watch(after=0)
            await asyncio.sleep(30)  # the next one is silent from its beginning
            await harness.write("c")
            assert await harness.converged() < 30
            assert "sent nothing for 28 s" in harness.informer.health.last_error
            assert harness.informer.health.relists == 0


@pytest.mark.guarantee(7)
@in_virtual_time
async def test_a_quiet_watch_costs_about_two_requests_a_minute_and_keeps_the_cache_fresh() -> None:
    async with running_harness(there=["a"]) as harness, harness.informer:
        await harness.converged()
        await asyncio.sleep(60)  # the first watch, with the initial events, is a long one
        for _ in range(120):
            await asyncio.sleep(30)
            assert harness.informer.health.staleness < 30
            assert harness.informer.health.is_healthy
        # One check of the server, when the first watch turns out to be quiet; none where the server ends a watch in
        # time.
        assert harness.requests[:3] == ["watch-list", "proof", "watch"]
        assert set(harness.requests[3:]) == {"watch"}
        assert 120 <= len(harness.requests) <= 190
        assert harness.informer.health.last_error == ""


@pytest.mark.guarantee(7)
@in_virtual_time
async def test_a_silent_watch_is_abandoned_after_the_configured_time() -> None:
    async with running_harness(replace(PLAIN, stall_after=5.0), there=["a"]) as harness:
        harness.faults.silence_watch(after=2)
        async with harness.informer:
            await harness.converged()
            await harness.write("b")
            assert await harness.converged() < 8
            assert harness.calls == ["add default/a", "add default/b"]


@pytest.mark.guarantee(7)
@in_virtual_time
async def test_a_quiet_watch_is_renewed_regularly() -> None:
    async with running_harness(replace(PLAIN, stall_after=5.0), there=["a"]) as harness, harness.informer:
        for count in range(40):
            await asyncio.sleep(7.3)
            assert harness.informer.health.reconnects > count
            assert harness.informer.health.staleness < 10
            assert harness.informer.health.is_healthy
        await harness.write("b")
        assert await harness.converged() < 2
        assert harness.informer.health.relists == 0


@pytest.mark.guarantee(8)
@in_virtual_time
async def test_a_server_that_falls_silent_during_initial_events_is_listed() -> None:
    async with running_harness(there=["a", "b"]) as harness:
        harness.faults.silence_watch(after=1)
        async with harness.informer:
            await harness.converged()
            assert 10 <= now() < 15
            assert harness.requests == ["watch-list", "list", "watch"]


@pytest.mark.guarantee(9)
@in_virtual_time
async def test_an_expired_watch_causes_a_relist_that_dispatches_only_changes() -> None:
    async with running_harness(there=["a", "b", "c"]) as harness:
        harness.faults.expire_watch(after=4)
        async with harness.informer:
            await harness.informer.wait_for_cache_sync()
            await harness.delete("a")
            await harness.write("b", "d")
            await harness.converged()
            initial = ["add default/a", "add default/b", "add default/c"]
            assert harness.calls == [
                *initial,
                "delete default/a (missed)",
                "update default/b",
                "add default/d",
            ]
            assert harness.requests == ["watch-list", "watch-list"]


@in_virtual_time
async def test_a_version_that_expired_without_an_open_watch_causes_a_relist() -> None:
    async with running_harness(there=["a", "b"]) as harness:
        harness.faults.drop_watch(after=3)
        async with harness.informer:
            await harness.informer.wait_for_cache_sync()
            await harness.delete("a")
            await harness.write("b", "c")
            harness.cluster.server.compact()
            await harness.converged()
            assert harness.calls[2:] == ["delete default/a (missed)", "update default/b", "add default/c"]
            assert harness.requests in (
                ["watch-list", "proof", "watch", "watch-list"],
                [
                    "watch-list",
                    "proof",
                    "proof",
                    "watch",
                    "watch-list",
                ],  # the object of the first check is gone
            )


@in_virtual_time
async def test_an_expired_page_is_followed_by_a_full_list() -> None:
    async with running_harness(replace(LISTING, page_size=2), there=["a", "b", "c", "d", "e"]) as harness:
        harness.faults.expire()  # because a list of any version comes whole; one of the newest comes in pages
        async with harness.informer:
            await harness.requested(2)
            harness.faults.expire()
            await harness.converged()
            assert harness.requests == ["list", "list", "next page", "list", "watch"]
            assert harness.calls == [f"add default/{name}" for name in "abcde"]
            assert ["limit" in request.query for request in harness.cluster.requests[1:4]] == [
                True,
                True,
                False,
            ]


@in_virtual_time
async def test_retry_after_is_respected() -> None:
    async with running_harness(there=["a"]) as harness:
        harness.faults.throttle(retry_after=7)
        async with harness.informer:
            await harness.converged()
            assert 7 <= now() < 10
            assert harness.requests == ["watch-list", "watch-list"]


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_failing_server_is_retried_with_growing_delays(code: int) -> None:
    @in_virtual_time
    async def run_scenario() -> None:
        async with running_harness(there=["a"]) as harness:
            harness.faults.fail(code, times=6, verb="read")
            async with harness.informer:
                await harness.converged()
                assert len(harness.requests) <= 10
                assert 0.8 * (2**6 - 1) <= now() < 2 * 0.8 * 2**6 + 30
                assert harness.calls == ["add default/a"]

    run_scenario()


@pytest.mark.parametrize("code", [403, 404])
def test_a_rejection_is_not_final_and_no_change_is_lost(code: int) -> None:
    @in_virtual_time
    async def run_scenario() -> None:
        async with running_harness(there=["a", "b"]) as harness:
            harness.faults.drop_watch(after=3)
            async with harness.informer:
                await harness.informer.wait_for_cache_sync()
                refusal = harness.faults.fail(code, times=None, verb="read")
                await asyncio.sleep(300)
                health = harness.informer.health
                assert (health.is_healthy, health.state) == (False, "waiting")
                assert health.failures < 20
                await harness.delete("a")
                await harness.write("c")
                refusal.remove()
                await harness.converged()
                assert harness.calls[2:] == ["delete default/a (missed)", "add default/c"]

    run_scenario()


@in_virtual_time
async def test_a_server_that_lags_is_waited_for_and_then_accepted() -> None:
    async with running_harness(there=["a"]) as harness:
        harness.faults.drop_watch(after=2)
        async with harness.informer:
            await harness.informer.wait_for_cache_sync()
            harness.faults.too_large_version(times=3)
            await harness.write("a", "b")
            await harness.converged()
            assert harness.calls == ["add default/a", "update default/a", "add default/b"]
            assert len(harness.requests) <= 7


@pytest.mark.guarantee(8)
@in_virtual_time
async def test_a_server_that_never_ends_its_initial_events_is_listed() -> None:
    async with running_harness(there=["a"]) as harness:
        harness.faults.hold_bookmarks()
        async with harness.informer:
            await harness.converged()
            assert harness.calls == ["add default/a"]
            assert harness.requests == ["watch-list", "list", "watch"]


@in_virtual_time
async def test_duplicate_bookmarks_change_nothing() -> None:
    async with running_harness(there=["a"]) as harness:
        harness.faults.repeat_bookmarks(3)
        async with harness.informer:
            await harness.write("b")
            await asyncio.sleep(200)
            await harness.write("a")
            await harness.converged()
            assert harness.calls == ["add default/a", "add default/b", "update default/a"]
            assert harness.requests[:3] == ["watch-list", "proof", "watch"]
            assert harness.informer.health.relists == 0


@pytest.mark.guarantee(1)
@in_virtual_time
async def test_a_stale_list_does_not_move_the_cache_back() -> None:
    async with running_harness(LISTING, there=["a", "b", "c"]) as harness:
        await harness.write("a", "b")
        harness.faults.stale_lists(by=2)
        harness.faults.expire_watch(after=1)
        async with harness.informer:
            await harness.informer.wait_for_cache_sync()
            await harness.write("a", "c")
            await harness.converged()
            assert harness.calls[:3] == ["add default/a", "add default/b", "add default/c"]
            assert harness.informer.health.relists == 1


@pytest.mark.guarantee(8)
@in_virtual_time
async def test_a_server_that_rejects_watch_lists_gets_one_and_no_other() -> None:
    async with running_harness(there=["a"], has_watch_list=False) as harness, harness.informer:
        await harness.converged()
        assert harness.requests == ["watch-list", "list", "watch"]
        async with SharedInformer(harness.client.core_v1.config_maps()) as another:
            await another.wait_for_cache_sync()
            assert harness.requests[3:5] == ["list", "watch"] or harness.requests[3:] == ["list"]


@in_virtual_time
async def _restarted_with_data(folder: Path) -> None:
    async with running_harness(there=["a", "b"], data=folder) as harness, harness.informer:
        await harness.converged()
        await harness.cluster.stop()
        await asyncio.sleep(20)
        assert not harness.informer.health.is_healthy
        await harness.cluster.start(keeps_data=True)
        await harness.write("c")
        await harness.converged()
        assert harness.calls == ["add default/a", "add default/b", "add default/c"]
        assert harness.requests == ["watch-list", "proof", "watch"]


def test_a_server_restarted_with_its_data_is_recognised_and_watched_again(tmp_path: Path) -> None:
    _restarted_with_data(tmp_path)


@pytest.mark.guarantee(1)
@in_virtual_time
async def test_a_server_restarted_without_its_data_is_relisted() -> None:
    async with running_harness(there=["a", "b"]) as harness, harness.informer:
        await harness.converged()
        await harness.cluster.stop()
        await asyncio.sleep(1)
        await harness.cluster.start(keeps_data=False)
        await harness.write("b", "c")  # with the versions that a and b had
        await harness.converged()
        assert harness.calls[2:] == [
            "delete default/a (missed)",
            "delete default/b (missed)",
            "add default/b",
            "add default/c",
        ]


@in_virtual_time
async def test_a_server_that_is_down_for_an_hour_is_tried_every_second_or_two() -> None:
    async with running_harness(there=["a"]) as harness:
        errors: list[Exception] = []
        harness.informer.set_watch_error_handler(errors.append)
        async with harness.informer:
            await harness.converged()
            await harness.cluster.stop()
            await asyncio.sleep(3600)
            assert 2000 <= len(errors) <= 3600
            await harness.cluster.start(keeps_data=False)
            assert await harness.converged() < 3


@pytest.mark.parametrize("outage", [1, 5, 60])
@in_virtual_time
async def test_a_change_is_seen_within_two_seconds_of_the_end_of_an_outage(outage: float, tmp_path: Path) -> None:
    async with running_harness(there=["a"], data=tmp_path) as harness, harness.informer:
        await harness.converged()
        for count in range(3):
            await asyncio.sleep(10)
            await harness.cluster.stop()
            await asyncio.sleep(outage)
            await harness.cluster.start(keeps_data=True)
            await harness.write(f"b{count}")
            assert await harness.converged() <= 3  # a second of it is until the informer counts as healthy
            assert harness.handler.calls[-1] == f"add default/b{count}"
        assert harness.informer.health.relists == 0


@in_virtual_time
async def test_an_informer_catches_up_after_a_suspend() -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    async with running_harness(there=["a"]) as harness, harness.informer:
        await harness.converged()
        loop.advance(8 * 3600)
        await asyncio.sleep(0.01)
        await harness.write("b")
        await harness.converged()
        assert harness.calls == ["add default/a", "add default/b"]
        assert len(harness.requests) <= 4


@in_virtual_time
async def test_a_clock_that_is_set_back_changes_nothing() -> None:
    async with running_harness(there=["a"]) as harness, harness.informer:
        await harness.converged()
        harness.cluster.clock.shift(-86_400)
        await harness.write("a", "b")
        await asyncio.sleep(200)
        await harness.converged()
        assert harness.calls == ["add default/a", "update default/a", "add default/b"]
        assert harness.informer.health.relists == 0


@pytest.mark.guarantee(12)
def test_a_stopped_informer_is_garbage_collected() -> None:
    left: list[weakref.ref[object]] = []

    @in_virtual_time
    async def run_scenario() -> None:
        async with running_harness(there=["a"]) as harness:
            harness.faults.drop_watch(after=2)
            harness.informer.set_watch_error_handler(lambda _: None)  # the log's records are kept by pytest
            async with harness.informer:
                await harness.converged()
            left.append(weakref.ref(harness.informer))
            left.append(weakref.ref(harness.handler))

    run_scenario()
    gc.collect()
    assert [each() for each in left] == [None, None]
