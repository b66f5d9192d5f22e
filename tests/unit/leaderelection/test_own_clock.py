"""The clock of leases: the loop's time, and the time during which the machine was suspended."""

from __future__ import annotations

import asyncio

import pytest

from masthead._leaderelection.own_clock import OwnClock, suspended_seconds
from masthead.testing.virtual_time import in_virtual_time


@in_virtual_time
async def test_it_follows_the_loop() -> None:
    clock = OwnClock(asyncio.get_running_loop())
    before = clock.now()
    await asyncio.sleep(7)

    assert clock.now() - before == 7.0


@in_virtual_time
async def test_it_counts_the_time_of_a_suspended_machine() -> None:
    suspended = 100.0
    clock = OwnClock(asyncio.get_running_loop(), lambda: suspended)
    before = clock.now()

    suspended += 3600.0

    assert clock.now() - before == 3600.0


@in_virtual_time
async def test_it_never_goes_back() -> None:
    readings = [100.0, 99.9, 100.0, 160.0, 100.0]
    clock = OwnClock(asyncio.get_running_loop(), lambda: readings.pop(0))

    times = [clock.now(), clock.now()]

    assert times == sorted(times)
    assert times[1] - asyncio.get_running_loop().time() == pytest.approx(60.0)


def test_readings_of_this_machine_are_good_enough() -> None:
    best = max(suspended_seconds() for _ in range(100))

    assert best > -0.001
