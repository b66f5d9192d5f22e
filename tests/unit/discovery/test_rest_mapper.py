"""The REST mapper refreshes once before it fails."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.unit.discovery.network import (
    APPS,
    CORE,
    WIDGETS,
    Clock,
    Network,
    Reply,
    aggregated,
    discovery_over,
    group,
    old_server,
    resource,
    version,
    whole_server,
)

from masthead._discovery.rest_mapper import RestMapper
from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
from masthead.errors import (
    ArgumentError,
    ConnectError,
    MastheadError,
    ServiceUnavailableError,
    UnknownKindError,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead._discovery.model import ServedResource

WIDGET = GroupVersionKind("example.com", "v1", "Widget")


def mapper_over(network: Network) -> RestMapper:
    return RestMapper(discovery_over(network))


def with_widgets(network: Network) -> None:
    network.pages["/apis"] = aggregated(APPS, WIDGETS)


async def test_names_kinds_and_resources_lead_to_the_same() -> None:
    network = whole_server()
    mapper = mapper_over(network)
    deployments = await mapper.find("deploy")

    assert deployments.gvr == GroupVersionResource("apps", "v1", "deployments")
    assert await mapper.find("Deployment", group="apps") == deployments
    assert await mapper.kind(deployments.gvk) == deployments
    assert await mapper.resource(deployments.gvr) == deployments
    assert (await mapper.find("deploy", api_version="apps/v1beta1")).api_version == "apps/v1beta1"
    assert [each.name for each in await mapper.category("all")] == ["pods", "deployments"]
    assert len(network.asked) == 2


LOOKS: dict[str, Callable[[RestMapper], Awaitable[ServedResource]]] = {
    "short name": lambda mapper: mapper.find("wd"),
    "kind": lambda mapper: mapper.kind(WIDGET),
    "resource": lambda mapper: mapper.resource(WIDGET.group_version.resource("widgets")),
}


@pytest.mark.parametrize("by", LOOKS)
async def test_a_definition_that_was_created_a_moment_ago_is_found(by: str) -> None:
    network = whole_server()
    mapper = mapper_over(network)
    await mapper.find("pods")
    with_widgets(network)

    assert (await LOOKS[by](mapper)).gvk == WIDGET
    assert len(network.asked) == 4


async def test_a_missing_resource_causes_one_refresh_and_an_error_with_similar_names() -> None:
    network = whole_server()
    mapper = mapper_over(network)

    with pytest.raises(UnknownKindError, match=r'no resource "deploymens"; the nearest: deployments.apps'):
        await mapper.find("deploymens")
    assert len(network.asked) == 4
    with pytest.raises(
        UnknownKindError, match=r"no kind Deployment in apps/v2; the nearest: deployments.apps, served as apps/v1"
    ):
        await mapper.kind(GroupVersionKind("apps", "v2", "Deployment"))
    with pytest.raises(UnknownKindError, match='no resource "pods" in apps; the nearest: pods, served as v1'):
        await mapper.find("pods", group="apps")
    with pytest.raises(UnknownKindError, match=r"no resource widgets in example.com/v1; if it is custom"):
        await mapper.resource(GroupVersionResource("example.com", "v1", "widgets"))
    with pytest.raises(UnknownKindError, match='no category "al"; it has all'):
        await mapper.category("al")


async def test_concurrent_misses_share_at_most_two_refreshes() -> None:
    network = whole_server()
    mapper = mapper_over(network)
    await mapper.find("pods")
    with_widgets(network)

    async with asyncio.TaskGroup() as tasks:
        found = [tasks.create_task(mapper.find("widgets")) for _ in range(20)]

    assert {task.result().gvk for task in found} == {WIDGET}
    # The first miss begins a look; the others came later, and what they look for may be newer.
    assert len(network.asked) <= 6


async def test_repeated_misses_are_rate_limited_and_never_served_from_the_cache() -> None:
    clock, network = Clock(), whole_server()
    mapper = RestMapper(discovery_over(network, now=clock))

    before = clock.time
    for _ in range(50):
        with pytest.raises(UnknownKindError):
            await mapper.find("widgets")
    assert clock.time - before >= 45

    with_widgets(network)
    assert (await mapper.find("widgets")).gvk == WIDGET


async def test_definitions_that_come_one_after_the_other_are_all_found_at_once() -> None:
    clock, network = Clock(), whole_server()
    mapper = RestMapper(discovery_over(network, now=clock))
    served = [APPS]

    for number in range(12):
        served.append(group(f"ex{number}.com", version("v1", resource("foos", f"Foo{number}"))))
        network.pages["/apis"] = aggregated(*served)
        found = await mapper.find(f"Foo{number}", api_version=f"ex{number}.com/v1")
        assert found.gvr == GroupVersionResource(f"ex{number}.com", "v1", "foos")
    assert clock.time == Clock().time


DOWN = GroupVersionKind("down.io", "v1", "Widget")
IN_WHAT_IS_DOWN: dict[str, Callable[[RestMapper], Awaitable[ServedResource]]] = {
    "kind": lambda mapper: mapper.kind(DOWN),
    "resource": lambda mapper: mapper.resource(DOWN.group_version.resource("widgets")),
    "name": lambda mapper: mapper.find("widgets", api_version="down.io/v1"),
}


@pytest.mark.parametrize("by", IN_WHAT_IS_DOWN)
@pytest.mark.parametrize("why", [ServiceUnavailableError, ConnectError])
async def test_a_resource_of_a_failed_group_version_raises_that_error(by: str, why: type[MastheadError]) -> None:
    network = old_server("down.io")
    network.pages["/apis/down.io/v1"] = (
        ConnectError("no way") if why is ConnectError else Reply(503, b"down", {"Content-Type": "text/plain"})
    )
    mapper = mapper_over(network)

    with pytest.raises(why) as first:
        await IN_WHAT_IS_DOWN[by](mapper)
    with pytest.raises(why) as second:
        await IN_WHAT_IS_DOWN[by](mapper)
    assert first.value is not second.value  # or one would collect the tracebacks of all


async def test_a_resource_missing_from_a_stale_version_may_exist() -> None:
    network = whole_server()
    network.pages["/apis"] = aggregated(
        APPS, group("down.io", version("v1", resource("gadgets", "Gadget"), freshness="Stale"))
    )
    mapper = mapper_over(network)

    assert (await mapper.find("gadgets", api_version="down.io/v1")).kind == "Gadget"
    with pytest.raises(ServiceUnavailableError, match=r"down\.io/v1"):
        await mapper.kind(DOWN)


async def test_a_version_that_went_while_it_was_looked_at_is_missing() -> None:
    network = old_server("gone.io")
    del network.pages["/apis/gone.io/v1"]

    with pytest.raises(UnknownKindError, match=r"no kind Widget in gone\.io/v1"):
        await mapper_over(network).kind(GroupVersionKind("gone.io", "v1", "Widget"))


async def test_an_unknown_resource_error_lists_failed_group_versions() -> None:
    network = old_server("down.io")
    network.pages["/apis/down.io/v1"] = Reply(503, b"down", {"Content-Type": "text/plain"})
    mapper = mapper_over(network)

    assert (await mapper.find("pods")).name == "pods"
    with pytest.raises(UnknownKindError, match=r"group-version that could not be discovered: down\.io/v1"):
        await mapper.find("widgets")
    with pytest.raises(UnknownKindError, match=r"group-version that could not be discovered: down\.io/v1"):
        await mapper.category("widgets")


async def test_an_outage_during_the_refresh_is_raised() -> None:
    network = whole_server()
    mapper = mapper_over(network)
    await mapper.find("pods")
    network.pages["/api"] = network.pages["/apis"] = ConnectError("no way")

    with pytest.raises(ConnectError):
        await mapper.find("widgets")
    assert (await mapper.find("pods")).name == "pods"


async def test_a_definition_that_is_gone_is_forgotten_with_the_rest() -> None:
    network = Network({"/api": aggregated(CORE)})
    with_widgets(network)
    discovery = discovery_over(network)
    mapper = RestMapper(discovery)
    await mapper.kind(WIDGET)
    network.pages["/apis"] = aggregated(APPS)

    assert (await mapper.kind(WIDGET)).gvk == WIDGET
    discovery.invalidate()
    with pytest.raises(UnknownKindError):
        await mapper.kind(WIDGET)


async def test_an_invalid_name_triggers_no_refresh() -> None:
    network = whole_server()

    with pytest.raises(ArgumentError):
        await mapper_over(network).find("pods/status")
    assert len(network.asked) == 2
