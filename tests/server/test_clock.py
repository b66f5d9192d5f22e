"""Virtual time: nothing falls due until the clock is moved, and then everything does, in order."""

from __future__ import annotations

import functools
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.calls import MAPS, PODS, Caller, config_map

import masthead.server
from masthead.errors import ConfigError
from masthead.server import VirtualClock
from masthead_server.clock import add_seconds, stamp

if TYPE_CHECKING:
    from masthead.server import Server

START = datetime(2026, 1, 1, tzinfo=UTC)


def pod(name: str, *, seconds: int = 30) -> dict[str, object]:
    return {
        "metadata": {"name": name},
        "spec": {
            "nodeName": "n",
            "terminationGracePeriodSeconds": seconds,
            "containers": [{"name": "c", "image": "i"}],
        },
    }


# The clock itself


def test_it_stands_still_until_it_is_advanced() -> None:
    clock = VirtualClock(START)

    assert clock.now() == clock.now() == START
    clock.advance(1.5)
    assert clock.now() == START + timedelta(seconds=1.5)


def test_timers_fire_at_their_own_time_and_in_order() -> None:
    clock, fired = VirtualClock(START), list[tuple[str, float]]()

    def note(name: str) -> None:
        fired.append((name, (clock.now() - START).total_seconds()))

    for name, seconds in (("late", 3.0), ("early", 1.0), ("early too", 1.0), ("never", 9.0)):
        clock.call_later(seconds, functools.partial(note, name))

    clock.advance(5)

    assert fired == [("early", 1.0), ("early too", 1.0), ("late", 3.0)]


def test_a_timer_may_schedule_another_that_is_due_within_the_same_advance() -> None:
    clock, fired = VirtualClock(START), list[float]()

    def again() -> None:
        fired.append((clock.now() - START).total_seconds())
        clock.call_later(10, again)

    clock.call_later(10, again)
    clock.advance(35)

    assert fired == [10.0, 20.0, 30.0]


def test_a_cancelled_timer_does_not_fire() -> None:
    clock, fired = VirtualClock(START), list[str]()
    timer = clock.call_later(1, lambda: fired.append("it"))

    timer.cancel()
    clock.advance(2)
    timer.cancel()

    assert fired == []


def test_time_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="does not go back"):
        VirtualClock().advance(-1)


@given(st.lists(st.tuples(st.floats(0, 100), st.booleans()), max_size=20), st.lists(st.floats(0, 60)))
def test_the_same_timers_fire_in_the_same_order_however_it_is_advanced(
    calls: list[tuple[float, bool]], moves: list[float]
) -> None:
    clock, fired = VirtualClock(START), list[int]()
    for index, (seconds, is_cancelled) in enumerate(calls):
        timer = clock.call_later(seconds, functools.partial(fired.append, index))
        if is_cancelled:
            timer.cancel()

    for move in moves:
        clock.advance(move)
    clock.advance(0)
    end = clock.now()

    due = [
        (START + timedelta(seconds=seconds), index)
        for index, (seconds, is_cancelled) in enumerate(calls)
        if not is_cancelled and START + timedelta(seconds=seconds) <= end
    ]
    assert fired == [index for _, index in sorted(due)]


def test_cancelled_timers_do_not_accumulate() -> None:
    clock = VirtualClock(START)
    for _ in range(10_000):
        clock.call_later(1800, lambda: None).cancel()

    assert clock.pending < 1000


def test_a_stamp_has_whole_seconds_and_no_offset() -> None:
    assert stamp(datetime(2026, 1, 2, 3, 4, 5, 999_999, tzinfo=UTC)) == "2026-01-02T03:04:05Z"


# What the server does with it


def test_creation_timestamps_follow_the_clock(server: Server, caller: Caller) -> None:
    server.advance(90)

    made = caller.call("POST", MAPS, config_map("a")).json

    assert made["metadata"]["creationTimestamp"] == "2026-01-01T00:01:30Z"


def test_a_pod_has_its_grace_period_to_the_second(server: Server, caller: Caller) -> None:
    caller.call("POST", PODS, pod("a"))
    deleted = caller.call("DELETE", f"{PODS}/a").json
    assert deleted["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:30Z"

    server.block_until_idle()
    server.advance(29)
    assert caller.call("GET", f"{PODS}/a").code == 200
    server.advance(1)
    assert caller.call("GET", f"{PODS}/a").code == 404


def test_a_grace_period_that_is_shortened_ends_sooner(server: Server, caller: Caller) -> None:
    caller.call("POST", PODS, pod("a", seconds=600))
    caller.call("DELETE", f"{PODS}/a")
    server.block_until_idle()
    server.advance(10)
    caller.call("DELETE", f"{PODS}/a?gracePeriodSeconds=15")
    server.block_until_idle()

    server.advance(4)
    assert caller.call("GET", f"{PODS}/a").code == 200
    server.advance(1)
    assert caller.call("GET", f"{PODS}/a").code == 404


def test_history_and_tokens_age(server: Server, caller: Caller) -> None:
    version = caller.call("POST", MAPS, config_map("a")).json["metadata"]["resourceVersion"]
    caller.call("POST", MAPS, config_map("b"))
    token = caller.call("GET", f"{MAPS}?limit=1").json["metadata"]["continue"]

    caller.call("POST", MAPS, config_map("c"))

    server.advance(301)
    assert caller.call("GET", f"{MAPS}?limit=1&continue={token}").code == 200
    assert len(caller.events(f"{MAPS}?watch=1&resourceVersion={version}", 2)) == 2

    server.advance(301)
    assert caller.call("GET", f"{MAPS}?limit=1&continue={token}").failure[:2] == (410, "Expired")
    [event] = caller.events(f"{MAPS}?watch=1&resourceVersion={version}", 1)
    assert event["type"] == "ERROR"


def test_watches_that_have_been_sent_everything_survive_compaction(server: Server, caller: Caller) -> None:
    with caller.watching(f"{MAPS}?watch=1&timeoutSeconds=7200") as stream:
        caller.call("POST", "/api/v1/namespaces", {"metadata": {"name": "elsewhere"}})
        server.block_until_idle()
        server.advance(3600)
        caller.call("POST", MAPS, config_map("a"))
        assert b'"ADDED"' in stream.readline()


async def test_a_server_in_the_tests_own_loop_is_advanced_in_the_same_way() -> None:
    clock = VirtualClock(START)
    async with masthead.server.run(clock=clock) as server:
        server.advance(5)
        assert clock.now() == START + timedelta(seconds=5)


def test_advance_raises_the_error_of_a_timer() -> None:
    clock = VirtualClock()
    with masthead.server.run(clock=clock) as server:
        clock.call_later(1, lambda: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            server.advance(1)


def test_the_system_clock_cannot_be_advanced() -> None:
    with masthead.server.run() as server, pytest.raises(ConfigError, match="VirtualClock"):
        server.advance(1)


def test_a_class_makes_each_server_a_clock_of_its_own() -> None:
    with (
        masthead.server.run(clock=VirtualClock) as first,
        masthead.server.run(clock=VirtualClock) as second,
    ):
        first.advance(3600)
        for server, hour in ((first, "01"), (second, "00")):
            caller = Caller(server.url, server.token)
            made = caller.call("POST", MAPS, config_map("a")).json
            caller.close()
            assert made["metadata"]["creationTimestamp"] == f"2026-01-01T{hour}:00:00Z"


def test_a_virtual_clock_serves_one_server_at_a_time() -> None:
    clock = VirtualClock()
    with masthead.server.run(clock=clock) as first:
        with pytest.raises(ConfigError, match="clock=VirtualClock each server gets one of its own"):
            masthead.server.run(clock=clock).__enter__()
        first.advance(1)
    with pytest.raises(ConfigError, match="no port"):
        masthead.server.run(clock=clock, port=-1).__enter__()
    with masthead.server.run(clock=clock) as second:
        second.advance(1)

    assert clock.now() == START + timedelta(seconds=2)


@pytest.mark.parametrize("seconds", [10**12, 2**62])
def test_a_pod_may_have_an_endless_grace_period(server: Server, caller: Caller, seconds: int) -> None:
    caller.call("POST", PODS, pod("a", seconds=seconds))

    deleted = caller.call("DELETE", f"{PODS}/a")
    assert (deleted.code, deleted.json["metadata"]["deletionTimestamp"]) == (200, "9999-12-31T23:59:59Z")
    server.block_until_idle()
    server.advance(10 * 365 * 86400)
    assert caller.call("GET", f"{PODS}/a").code == 200
    assert caller.call("DELETE", f"{PODS}/a?gracePeriodSeconds=0").code == 200
    assert caller.call("GET", f"{PODS}/a").code == 404


@given(seconds=st.integers(-(2**63), 2**63))
def test_a_time_and_so_many_seconds_is_a_time(seconds: int) -> None:
    found = add_seconds(START, seconds)

    assert (found - START).total_seconds() == seconds or found.year in {1, 9999}
