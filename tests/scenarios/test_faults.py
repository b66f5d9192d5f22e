"""Each thing that can go wrong, alone: what the handler hears, and what the server is asked."""

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
async def test_without_any_fault_one_request_is_all() -> None:
    async with running_harness(there=["a"]) as harness, harness.informer:
        await harness.settled()
        await harness.write("a", "b")
        await harness.delete("a")
        await harness.settled()
        assert harness.told == ["add default/a", "update default/a", "add default/b", "delete default/a"]
        assert harness.asked == ["watch-list"]


@in_virtual_time
async def test_a_dropped_watch_goes_on_where_it_was() -> None:
    async with running_harness(there=["a"]) as harness:
        harness.faults.drop_watch(after=2)  # behind the initial object and its bookmark
        async with harness.informer:
            await harness.informer.wait_synced()
            await harness.write("b")
            assert await harness.settled() < 3
            assert harness.told == ["add default/a", "add default/b"]
            assert harness.asked == ["watch-list", "proof", "watch"]
            assert harness.informer.health.relists == 0


@in_virtual_time
async def test_half_a_line_is_no_event_and_comes_again_whole() -> None:
    async with running_harness(there=["a"]) as harness:
        harness.faults.cut_watch(after=2)
        async with harness.informer:
            await harness.informer.wait_synced()
            await harness.write("b", "a")
            assert await harness.settled() < 3
            assert harness.told == ["add default/a", "add default/b", "update default/a"]
            assert harness.asked == ["watch-list", "proof", "watch"]


@in_virtual_time
async def test_a_watch_that_breaks_before_its_initial_objects_are_all_there_begins_anew_and_then_lists() -> (
    None
):
    async with running_harness(there=["a", "b"]) as harness:
        harness.faults.drop_watch(after=1, times=2)
        async with harness.informer:
            await harness.settled()
            assert harness.told == ["add default/a", "add default/b"]
            assert harness.asked == ["watch-list", "watch-list", "list", "watch"]


@pytest.mark.guarantee(7)
@in_virtual_time
async def test_a_silent_watch_is_given_up_after_ninety_seconds() -> None:
    async with running_harness(there=["a"]) as harness:
        harness.faults.silence_watch(after=2)
        async with harness.informer:
            await harness.settled()
            await harness.write("b")
            assert 85 < await harness.settled() < 95
            assert harness.told == ["add default/a", "add default/b"]
            assert harness.asked == ["watch-list", "proof", "watch"]
            assert "sent nothing for 90 s" in harness.informer.health.last_error


@pytest.mark.guarantee(7)
@in_virtual_time
async def test_a_silent_watch_is_given_up_as_soon_as_one_likes() -> None:
    async with running_harness(replace(PLAIN, stall_after=5.0), there=["a"]) as harness:
        harness.faults.silence_watch(after=2)
        async with harness.informer:
            await harness.settled()
            await harness.write("b")
            assert await harness.settled() < 8
            assert harness.told == ["add default/a", "add default/b"]


@pytest.mark.guarantee(7)
@in_virtual_time
async def test_a_watch_that_is_quiet_for_long_is_never_left_alone_for_long() -> None:
    async with running_harness(replace(PLAIN, stall_after=5.0), there=["a"]) as harness, harness.informer:
        for _ in range(40):
            await asyncio.sleep(7.3)
            assert harness.informer.health.since_error < 7  # it was given up, and opened anew
            assert harness.informer.health.is_healthy
        await harness.write("b")
        assert await harness.settled() < 2
        assert harness.informer.health.relists == 0


@pytest.mark.guarantee(8)
@in_virtual_time
async def test_a_server_that_falls_silent_among_the_initial_objects_is_asked_for_a_list() -> None:
    async with running_harness(there=["a", "b"]) as harness:
        harness.faults.silence_watch(after=1)
        async with harness.informer:
            await harness.settled()
            assert 10 <= now() < 15
            assert harness.asked == ["watch-list", "list", "watch"]


@pytest.mark.guarantee(9)
@in_virtual_time
async def test_a_watch_that_expires_brings_a_new_state_of_which_only_the_changes_are_told() -> None:
    async with running_harness(there=["a", "b", "c"]) as harness:
        harness.faults.expire_watch(after=4)
        async with harness.informer:
            await harness.informer.wait_synced()
            await harness.delete("a")
            await harness.write("b", "d")
            await harness.settled()
            initial = ["add default/a", "add default/b", "add default/c"]
            assert harness.told == [
                *initial,
                "delete default/a (missed)",
                "update default/b",
                "add default/d",
            ]
            assert harness.asked == ["watch-list", "watch-list"]


@in_virtual_time
async def test_a_version_that_was_forgotten_while_nobody_watched_brings_a_new_state() -> None:
    async with running_harness(there=["a", "b"]) as harness:
        harness.faults.drop_watch(after=3)
        async with harness.informer:
            await harness.informer.wait_synced()
            await harness.delete("a")
            await harness.write("b", "c")
            harness.cluster.server.compact()
            await harness.settled()
            assert harness.told[2:] == ["delete default/a (missed)", "update default/b", "add default/c"]
            assert harness.asked in (
                ["watch-list", "proof", "watch", "watch-list"],
                ["watch-list", "proof", "proof", "watch", "watch-list"],  # the first one asked about is gone
            )


@in_virtual_time
async def test_a_page_that_expires_is_followed_by_a_list_in_one_piece() -> None:
    async with running_harness(replace(LISTING, page_size=2), there=["a", "b", "c", "d", "e"]) as harness:
        harness.faults.expire()  # because a list of any version comes whole; one of the newest comes in pages
        async with harness.informer:
            await harness.requested(2)
            harness.faults.expire()
            await harness.settled()
            assert harness.asked == ["list", "list", "next page", "list", "watch"]
            assert harness.told == [f"add default/{name}" for name in "abcde"]
            assert ["limit" in each.query for each in harness.cluster.requests[1:4]] == [True, True, False]


@in_virtual_time
async def test_a_server_that_asks_for_patience_gets_it() -> None:
    async with running_harness(there=["a"]) as harness:
        harness.faults.throttle(retry_after=7)
        async with harness.informer:
            await harness.settled()
            assert 7 <= now() < 10
            assert harness.asked == ["watch-list", "watch-list"]


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_server_in_trouble_is_asked_less_and_less_often(code: int) -> None:
    @in_virtual_time
    async def run_scenario() -> None:
        async with running_harness(there=["a"]) as harness:
            harness.faults.fail(code, times=6, verb="read")
            async with harness.informer:
                await harness.settled()
                assert len(harness.asked) <= 10
                assert 0.8 * (2**6 - 1) <= now() < 2 * 0.8 * 2**6 + 30
                assert harness.told == ["add default/a"]

    run_scenario()


@pytest.mark.parametrize("code", [403, 404])
def test_a_refusal_is_not_final_and_what_happened_meanwhile_is_found(code: int) -> None:
    @in_virtual_time
    async def run_scenario() -> None:
        async with running_harness(there=["a", "b"]) as harness:
            harness.faults.drop_watch(after=3)
            async with harness.informer:
                await harness.informer.wait_synced()
                refusal = harness.faults.fail(code, times=None, verb="read")
                await asyncio.sleep(300)
                health = harness.informer.health
                assert (health.is_healthy, health.state) == (False, "waiting")
                assert health.failures < 20
                await harness.delete("a")
                await harness.write("c")
                refusal.remove()
                await harness.settled()
                assert harness.told[2:] == ["delete default/a (missed)", "add default/c"]

    run_scenario()


@in_virtual_time
async def test_a_server_that_is_behind_is_waited_for_and_then_believed() -> None:
    async with running_harness(there=["a"]) as harness:
        harness.faults.drop_watch(after=2)
        async with harness.informer:
            await harness.informer.wait_synced()
            harness.faults.too_large_version(times=3)
            await harness.write("a", "b")
            await harness.settled()
            assert harness.told == ["add default/a", "update default/a", "add default/b"]
            assert len(harness.asked) <= 7


@pytest.mark.guarantee(8)
@in_virtual_time
async def test_a_server_that_does_not_say_where_the_initial_objects_end_is_asked_for_a_list() -> None:
    async with running_harness(there=["a"]) as harness:
        harness.faults.hold_bookmarks()
        async with harness.informer:
            await harness.settled()
            assert harness.told == ["add default/a"]
            assert harness.asked == ["watch-list", "list", "watch"]


@in_virtual_time
async def test_bookmarks_that_come_twice_change_nothing() -> None:
    async with running_harness(there=["a"]) as harness:
        harness.faults.repeat_bookmarks(3)
        async with harness.informer:
            await harness.write("b")
            await asyncio.sleep(200)
            await harness.write("a")
            await harness.settled()
            assert harness.told == ["add default/a", "add default/b", "update default/a"]
            assert harness.asked == ["watch-list"]


@pytest.mark.guarantee(1)
@in_virtual_time
async def test_a_server_that_lists_its_past_does_not_turn_time_back() -> None:
    async with running_harness(LISTING, there=["a", "b", "c"]) as harness:
        await harness.write("a", "b")
        harness.faults.stale_lists(by=2)
        harness.faults.expire_watch(after=1)
        async with harness.informer:
            await harness.informer.wait_synced()
            await harness.write("a", "c")
            await harness.settled()
            assert harness.told[:3] == ["add default/a", "add default/b", "add default/c"]
            assert harness.informer.health.relists == 1


@pytest.mark.guarantee(8)
@in_virtual_time
async def test_a_server_that_refuses_watch_lists_is_asked_once_and_never_again() -> None:
    async with running_harness(there=["a"], has_watch_list=False) as harness, harness.informer:
        await harness.settled()
        assert harness.asked == ["watch-list", "list", "watch"]
        async with SharedInformer(harness.client.core_v1.config_maps()) as another:
            await another.wait_synced()
            assert harness.asked[3:5] == ["list", "watch"] or harness.asked[3:] == ["list"]


@in_virtual_time
async def _restarted_with_data(folder: Path) -> None:
    async with running_harness(there=["a", "b"], data=folder) as harness, harness.informer:
        await harness.settled()
        await harness.cluster.stop()
        await asyncio.sleep(20)
        assert not harness.informer.health.is_healthy
        await harness.cluster.start(keeps_data=True)
        await harness.write("c")
        await harness.settled()
        assert harness.told == ["add default/a", "add default/b", "add default/c"]
        assert harness.asked == ["watch-list", "proof", "watch"]


def test_a_server_that_comes_back_with_its_data_is_recognised_and_followed(tmp_path: Path) -> None:
    _restarted_with_data(tmp_path)


@pytest.mark.guarantee(1)
@in_virtual_time
async def test_a_server_that_comes_back_without_its_data_is_another_one() -> None:
    async with running_harness(there=["a", "b"]) as harness, harness.informer:
        await harness.settled()
        await harness.cluster.stop()
        await asyncio.sleep(1)
        await harness.cluster.start(keeps_data=False)
        await harness.write("b", "c")  # with the versions that a and b had
        await harness.settled()
        assert harness.told[2:] == [
            "delete default/a (missed)",
            "delete default/b (missed)",
            "add default/b",
            "add default/c",
        ]


@in_virtual_time
async def test_a_server_that_is_away_for_an_hour_is_not_asked_without_pause() -> None:
    async with running_harness(there=["a"]) as harness:
        errors: list[Exception] = []
        harness.informer.set_watch_error_handler(errors.append)
        async with harness.informer:
            await harness.settled()
            await harness.cluster.stop()
            await asyncio.sleep(3600)
            assert 60 <= len(errors) <= 130
            await harness.cluster.start(keeps_data=False)
            assert await harness.settled() < 61


@in_virtual_time
async def test_a_machine_that_was_asleep_catches_up() -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    async with running_harness(there=["a"]) as harness, harness.informer:
        await harness.settled()
        loop.advance(8 * 3600)
        await asyncio.sleep(0.01)
        await harness.write("b")
        await harness.settled()
        assert harness.told == ["add default/a", "add default/b"]
        assert len(harness.asked) <= 4


@in_virtual_time
async def test_a_clock_that_is_set_back_changes_nothing() -> None:
    async with running_harness(there=["a"]) as harness, harness.informer:
        await harness.settled()
        harness.cluster.clock.shift(-86_400)
        await harness.write("a", "b")
        await asyncio.sleep(200)
        await harness.settled()
        assert harness.told == ["add default/a", "update default/a", "add default/b"]
        assert harness.asked == ["watch-list"]


@pytest.mark.guarantee(12)
def test_an_informer_that_was_stopped_is_held_by_nobody() -> None:
    left: list[weakref.ref[object]] = []

    @in_virtual_time
    async def run_scenario() -> None:
        async with running_harness(there=["a"]) as harness:
            harness.faults.drop_watch(after=2)
            harness.informer.set_watch_error_handler(lambda _: None)  # the log's records are kept by pytest
            async with harness.informer:
                await harness.settled()
            left.append(weakref.ref(harness.informer))
            left.append(weakref.ref(harness.handler))

    run_scenario()
    gc.collect()
    assert [each() for each in left] == [None, None]
