"""Each thing that can go wrong, alone: what the handler hears, and what the server is asked."""

from __future__ import annotations

import asyncio
import gc
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.scenarios.stage import PLAIN, staged

from masthead._cache.informer.informer import SharedInformer
from masthead.testing.virtual_time import VirtualLoop, in_virtual_time, now

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.guarantee(6)

LISTING = replace(PLAIN, watch_list=False)


@in_virtual_time
async def test_without_any_fault_one_request_is_all() -> None:
    async with staged(there=["a"]) as stage, stage.informer:
        await stage.settled()
        await stage.write("a", "b")
        await stage.delete("a")
        await stage.settled()
        assert stage.told == ["add default/a", "update default/a", "add default/b", "delete default/a"]
        assert stage.asked == ["watch-list"]


@in_virtual_time
async def test_a_dropped_watch_goes_on_where_it_was() -> None:
    async with staged(there=["a"]) as stage:
        stage.faults.drop_watch(after=2)  # behind the initial object and its bookmark
        async with stage.informer:
            await stage.informer.wait_synced()
            await stage.write("b")
            assert await stage.settled() < 3
            assert stage.told == ["add default/a", "add default/b"]
            assert stage.asked == ["watch-list", "proof", "watch"]
            assert stage.informer.health.relists == 0


@in_virtual_time
async def test_half_a_line_is_no_event_and_comes_again_whole() -> None:
    async with staged(there=["a"]) as stage:
        stage.faults.cut_watch(after=2)
        async with stage.informer:
            await stage.informer.wait_synced()
            await stage.write("b", "a")
            assert await stage.settled() < 3
            assert stage.told == ["add default/a", "add default/b", "update default/a"]
            assert stage.asked == ["watch-list", "proof", "watch"]


@in_virtual_time
async def test_a_watch_that_breaks_before_its_initial_objects_are_all_there_begins_anew_and_then_lists() -> (
    None
):
    async with staged(there=["a", "b"]) as stage:
        stage.faults.drop_watch(after=1, times=2)
        async with stage.informer:
            await stage.settled()
            assert stage.told == ["add default/a", "add default/b"]
            assert stage.asked == ["watch-list", "watch-list", "list", "watch"]


@pytest.mark.guarantee(7)
@in_virtual_time
async def test_a_silent_watch_is_given_up_after_ninety_seconds() -> None:
    async with staged(there=["a"]) as stage:
        stage.faults.silence_watch(after=2)
        async with stage.informer:
            await stage.settled()
            await stage.write("b")
            assert 85 < await stage.settled() < 95
            assert stage.told == ["add default/a", "add default/b"]
            assert stage.asked == ["watch-list", "proof", "watch"]
            assert "sent nothing for 90 s" in stage.informer.health.last_error


@pytest.mark.guarantee(7)
@in_virtual_time
async def test_a_silent_watch_is_given_up_as_soon_as_one_likes() -> None:
    async with staged(replace(PLAIN, stall_after=5.0), there=["a"]) as stage:
        stage.faults.silence_watch(after=2)
        async with stage.informer:
            await stage.settled()
            await stage.write("b")
            assert await stage.settled() < 8
            assert stage.told == ["add default/a", "add default/b"]


@pytest.mark.guarantee(7)
@in_virtual_time
async def test_a_watch_that_is_quiet_for_long_is_never_left_alone_for_long() -> None:
    async with staged(replace(PLAIN, stall_after=5.0), there=["a"]) as stage, stage.informer:
        for _ in range(40):
            await asyncio.sleep(7.3)
            assert stage.informer.health.since_error < 7  # it was given up, and opened anew
            assert stage.informer.health.is_healthy
        await stage.write("b")
        assert await stage.settled() < 2
        assert stage.informer.health.relists == 0


@pytest.mark.guarantee(8)
@in_virtual_time
async def test_a_server_that_falls_silent_among_the_initial_objects_is_asked_for_a_list() -> None:
    async with staged(there=["a", "b"]) as stage:
        stage.faults.silence_watch(after=1)
        async with stage.informer:
            await stage.settled()
            assert 10 <= now() < 15
            assert stage.asked == ["watch-list", "list", "watch"]


@pytest.mark.guarantee(9)
@in_virtual_time
async def test_a_watch_that_expires_brings_a_new_state_of_which_only_the_changes_are_told() -> None:
    async with staged(there=["a", "b", "c"]) as stage:
        stage.faults.expire_watch(after=4)
        async with stage.informer:
            await stage.informer.wait_synced()
            await stage.delete("a")
            await stage.write("b", "d")
            await stage.settled()
            initial = ["add default/a", "add default/b", "add default/c"]
            assert stage.told == [*initial, "delete default/a (missed)", "update default/b", "add default/d"]
            assert stage.asked == ["watch-list", "watch-list"]


@in_virtual_time
async def test_a_version_that_was_forgotten_while_nobody_watched_brings_a_new_state() -> None:
    async with staged(there=["a", "b"]) as stage:
        stage.faults.drop_watch(after=3)
        async with stage.informer:
            await stage.informer.wait_synced()
            await stage.delete("a")
            await stage.write("b", "c")
            stage.world.server.compact()
            await stage.settled()
            assert stage.told[2:] == ["delete default/a (missed)", "update default/b", "add default/c"]
            assert stage.asked in (
                ["watch-list", "proof", "watch", "watch-list"],
                ["watch-list", "proof", "proof", "watch", "watch-list"],  # the first one asked about is gone
            )


@in_virtual_time
async def test_a_page_that_expires_is_followed_by_a_list_in_one_piece() -> None:
    async with staged(replace(LISTING, page_size=2), there=["a", "b", "c", "d", "e"]) as stage:
        stage.faults.expire()  # because a list of any version comes whole; one of the newest comes in pages
        async with stage.informer:
            await stage.requested(2)
            stage.faults.expire()
            await stage.settled()
            assert stage.asked == ["list", "list", "next page", "list", "watch"]
            assert stage.told == [f"add default/{name}" for name in "abcde"]
            assert ["limit" in each.query for each in stage.world.requests[1:4]] == [True, True, False]


@in_virtual_time
async def test_a_server_that_asks_for_patience_gets_it() -> None:
    async with staged(there=["a"]) as stage:
        stage.faults.throttle(retry_after=7)
        async with stage.informer:
            await stage.settled()
            assert 7 <= now() < 10
            assert stage.asked == ["watch-list", "watch-list"]


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_server_in_trouble_is_asked_less_and_less_often(code: int) -> None:
    @in_virtual_time
    async def play() -> None:
        async with staged(there=["a"]) as stage:
            stage.faults.answer(code, times=6, verb="read")
            async with stage.informer:
                await stage.settled()
                assert len(stage.asked) <= 10
                assert 0.8 * (2**6 - 1) <= now() < 2 * 0.8 * 2**6 + 30
                assert stage.told == ["add default/a"]

    play()


@pytest.mark.parametrize("code", [403, 404])
def test_a_refusal_is_not_final_and_what_happened_meanwhile_is_found(code: int) -> None:
    @in_virtual_time
    async def play() -> None:
        async with staged(there=["a", "b"]) as stage:
            stage.faults.drop_watch(after=3)
            async with stage.informer:
                await stage.informer.wait_synced()
                refusal = stage.faults.answer(code, times=None, verb="read")
                await asyncio.sleep(300)
                health = stage.informer.health
                assert (health.is_healthy, health.state) == (False, "waiting")
                assert health.failures < 20
                await stage.delete("a")
                await stage.write("c")
                refusal.remove()
                await stage.settled()
                assert stage.told[2:] == ["delete default/a (missed)", "add default/c"]

    play()


@in_virtual_time
async def test_a_server_that_is_behind_is_waited_for_and_then_believed() -> None:
    async with staged(there=["a"]) as stage:
        stage.faults.drop_watch(after=2)
        async with stage.informer:
            await stage.informer.wait_synced()
            stage.faults.too_large_version(times=3)
            await stage.write("a", "b")
            await stage.settled()
            assert stage.told == ["add default/a", "update default/a", "add default/b"]
            assert len(stage.asked) <= 7


@pytest.mark.guarantee(8)
@in_virtual_time
async def test_a_server_that_does_not_say_where_the_initial_objects_end_is_asked_for_a_list() -> None:
    async with staged(there=["a"]) as stage:
        stage.faults.hold_bookmarks()
        async with stage.informer:
            await stage.settled()
            assert stage.told == ["add default/a"]
            assert stage.asked == ["watch-list", "list", "watch"]


@in_virtual_time
async def test_bookmarks_that_come_twice_change_nothing() -> None:
    async with staged(there=["a"]) as stage:
        stage.faults.repeat_bookmarks(3)
        async with stage.informer:
            await stage.write("b")
            await asyncio.sleep(200)
            await stage.write("a")
            await stage.settled()
            assert stage.told == ["add default/a", "add default/b", "update default/a"]
            assert stage.asked == ["watch-list"]


@pytest.mark.guarantee(1)
@in_virtual_time
async def test_a_server_that_lists_its_past_does_not_turn_time_back() -> None:
    async with staged(LISTING, there=["a", "b", "c"]) as stage:
        await stage.write("a", "b")
        stage.faults.stale_lists(by=2)
        stage.faults.expire_watch(after=1)
        async with stage.informer:
            await stage.informer.wait_synced()
            await stage.write("a", "c")
            await stage.settled()
            assert stage.told[:3] == ["add default/a", "add default/b", "add default/c"]
            assert stage.informer.health.relists == 1


@pytest.mark.guarantee(8)
@in_virtual_time
async def test_a_server_that_refuses_watch_lists_is_asked_once_and_never_again() -> None:
    async with staged(there=["a"], has_watch_list=False) as stage, stage.informer:
        await stage.settled()
        assert stage.asked == ["watch-list", "list", "watch"]
        async with SharedInformer(stage.client.core_v1.config_maps()) as another:
            await another.wait_synced()
            assert stage.asked[3:5] == ["list", "watch"] or stage.asked[3:] == ["list"]


@in_virtual_time
async def _restarted_with_data(folder: Path) -> None:
    async with staged(there=["a", "b"], data=folder) as stage, stage.informer:
        await stage.settled()
        await stage.world.stop()
        await asyncio.sleep(20)
        assert not stage.informer.health.is_healthy
        await stage.world.start(keeps_data=True)
        await stage.write("c")
        await stage.settled()
        assert stage.told == ["add default/a", "add default/b", "add default/c"]
        assert stage.asked == ["watch-list", "proof", "watch"]


def test_a_server_that_comes_back_with_its_data_is_recognised_and_followed(tmp_path: Path) -> None:
    _restarted_with_data(tmp_path)


@pytest.mark.guarantee(1)
@in_virtual_time
async def test_a_server_that_comes_back_without_its_data_is_another_one() -> None:
    async with staged(there=["a", "b"]) as stage, stage.informer:
        await stage.settled()
        await stage.world.stop()
        await asyncio.sleep(1)
        await stage.world.start(keeps_data=False)
        await stage.write("b", "c")  # with the versions that a and b had
        await stage.settled()
        assert stage.told[2:] == [
            "delete default/a (missed)",
            "delete default/b (missed)",
            "add default/b",
            "add default/c",
        ]


@in_virtual_time
async def test_a_server_that_is_away_for_an_hour_is_not_asked_without_pause() -> None:
    async with staged(there=["a"]) as stage:
        errors: list[Exception] = []
        stage.informer.set_watch_error_handler(errors.append)
        async with stage.informer:
            await stage.settled()
            await stage.world.stop()
            await asyncio.sleep(3600)
            assert 60 <= len(errors) <= 130
            await stage.world.start(keeps_data=False)
            assert await stage.settled() < 61


@in_virtual_time
async def test_a_machine_that_was_asleep_catches_up() -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    async with staged(there=["a"]) as stage, stage.informer:
        await stage.settled()
        loop.advance(8 * 3600)
        await asyncio.sleep(0.01)
        await stage.write("b")
        await stage.settled()
        assert stage.told == ["add default/a", "add default/b"]
        assert len(stage.asked) <= 4


@in_virtual_time
async def test_a_clock_that_is_set_back_changes_nothing() -> None:
    async with staged(there=["a"]) as stage, stage.informer:
        await stage.settled()
        stage.world.clock.shift(-86_400)
        await stage.write("a", "b")
        await asyncio.sleep(200)
        await stage.settled()
        assert stage.told == ["add default/a", "update default/a", "add default/b"]
        assert stage.asked == ["watch-list"]


@pytest.mark.guarantee(12)
def test_an_informer_that_was_stopped_is_held_by_nobody() -> None:
    left: list[weakref.ref[object]] = []

    @in_virtual_time
    async def play() -> None:
        async with staged(there=["a"]) as stage:
            stage.faults.drop_watch(after=2)
            stage.informer.set_watch_error_handler(lambda _: None)  # the log's records are kept by pytest
            async with stage.informer:
                await stage.settled()
            left.append(weakref.ref(stage.informer))
            left.append(weakref.ref(stage.story))

    play()
    gc.collect()
    assert [each() for each in left] == [None, None]
