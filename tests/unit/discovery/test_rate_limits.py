"""How often the server is looked at again for what is not in memory."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.discovery.network import (
    APPS,
    WIDGETS,
    Clock,
    aggregated,
    discovery_over,
    group,
    resource,
    rest_over,
    version,
    whole_server,
)

from masthead._discovery.client import DiscoveryClient
from masthead._meta.gvk import GroupVersionResource

WIDGET = GroupVersionResource("example.com", "v1", "widgets")


async def test_whoever_asks_in_a_loop_for_what_is_not_there_does_not_ask_the_server_each_time() -> None:
    clock = Clock()
    network = whole_server()
    discovery = discovery_over(network, now=clock)

    began = clock.time
    for _ in range(100):
        assert not await discovery.supports(WIDGET)
    assert clock.time - began == pytest.approx(100 - 5)
    assert len(network.asked) == 2 * (1 + 100)

    clock.time += 60
    began = clock.time
    for _ in range(60):
        clock.time += 0.5
        assert not await discovery.supports(WIDGET)
    assert clock.time - began >= 60 - 5


async def test_refreshes_with_changes_are_not_rate_limited() -> None:
    clock, network = Clock(), whole_server()
    discovery = discovery_over(network, now=clock)
    served = [APPS]

    for number in range(12):
        served.append(group(f"ex{number}.com", version("v1", resource("foos", "Foo"))))
        network.pages["/apis"] = aggregated(*served)
        assert await discovery.supports(GroupVersionResource(f"ex{number}.com", "v1", "foos"))
    assert clock.time == Clock().time


async def test_a_rate_limited_refresh_still_returns_the_current_state() -> None:
    clock, network = Clock(), whole_server()
    discovery = discovery_over(network, now=clock)
    for _ in range(8):
        assert not await discovery.supports(WIDGET)
    before = clock.time
    network.pages["/apis"] = aggregated(APPS, WIDGETS)

    assert await discovery.supports(WIDGET)
    assert clock.time - before <= 1


async def test_a_rate_limited_caller_can_be_cancelled_without_affecting_others() -> None:
    clock, network = Clock(), whole_server()
    waits = asyncio.Event()

    async def pause(_: float) -> None:
        waits.set()
        await asyncio.Event().wait()

    discovery = DiscoveryClient(rest_over(network), now=clock, pause=pause)
    for _ in range(5):
        assert not await discovery.supports(WIDGET)
    held_back = asyncio.get_running_loop().create_task(discovery.supports(WIDGET))
    await waits.wait()
    asked = len(network.asked)

    held_back.cancel()
    with pytest.raises(asyncio.CancelledError):
        await held_back
    clock.time += 1  # when the one that gave up would have had its turn
    assert not await discovery.supports(WIDGET)
    assert len(network.asked) == asked + 2


async def test_rate_limited_callers_share_a_refresh() -> None:
    clock, network = Clock(), whole_server()
    discovery = discovery_over(network, now=clock)
    for _ in range(5):
        assert not await discovery.supports(WIDGET)
    asked, before = len(network.asked), clock.time

    async with asyncio.TaskGroup() as tasks:
        answers = [tasks.create_task(discovery.supports(WIDGET)) for _ in range(50)]

    assert not any(answer.result() for answer in answers)
    assert len(network.asked) <= asked + 2 * 2
    assert clock.time - before <= 2
