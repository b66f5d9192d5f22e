"""The discovery client: both formats, caching and refreshes."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from tests.unit.discovery.network import (
    AGGREGATED,
    APPS,
    CORE,
    PODS,
    WIDGETS,
    Clock,
    Network,
    Reply,
    aggregated,
    discovery_over,
    group,
    groups,
    old_server,
    page,
    resource,
    resource_list,
    tagged,
    until,
    version,
    whole_server,
)

from masthead._discovery.aggregated import ACCEPT
from masthead._discovery.disk_cache import DiskCache
from masthead._meta.gvk import GroupVersion, GroupVersionResource
from masthead.errors import (
    ArgumentError,
    ClosedError,
    ConnectError,
    DecodeError,
    ForbiddenError,
    NotFoundError,
    ServiceUnavailableError,
    UnknownKindError,
)

if TYPE_CHECKING:
    from pathlib import Path

    from masthead._discovery.client import DiscoveryClient

WIDGET = GroupVersionResource("example.com", "v1", "widgets")
DEPLOYMENT = GroupVersionResource("apps", "v1", "deployments")


async def names(discovery: DiscoveryClient) -> list[str]:
    return [f"{each.api_version} {each.name}" for each in await discovery.resources()]


ALL = ["v1 pods", "v1 nodes", "apps/v1 deployments", "apps/v1beta1 deployments"]


async def test_aggregated_discovery_needs_two_requests() -> None:
    network = whole_server()

    assert await names(discovery_over(network)) == ALL
    assert sorted(network.targets) == ["/api", "/apis"]
    assert all(("Accept", ACCEPT) in request.headers for request in network.asked)


async def test_the_older_aggregated_form_is_read_too() -> None:
    network = Network({"/api": aggregated(CORE, form="v2beta1"), "/apis": aggregated(APPS, form="v2beta1")})

    assert await names(discovery_over(network)) == ALL


@pytest.mark.parametrize("asks_for_all", [True, False])
async def test_legacy_discovery_requests_each_list(asks_for_all: bool) -> None:
    network = old_server()
    discovery = discovery_over(network, aggregated=asks_for_all)

    assert await names(discovery) == ALL
    assert set(network.targets) == {"/api", "/apis", "/api/v1", "/apis/apps/v1", "/apis/apps/v1beta1"}
    assert await discovery.resources() == await discovery_over(whole_server()).resources()
    accepted = {dict(request.headers)["Accept"] for request in network.asked[:2]}
    assert accepted == {ACCEPT if asks_for_all else "application/json"}


async def test_each_root_may_have_a_form_of_its_own() -> None:
    network = old_server()
    network.pages["/api"] = aggregated(CORE)

    assert await names(discovery_over(network)) == ALL
    assert "/api/v1" not in network.targets


async def test_lists_are_asked_for_several_at_a_time_but_not_all_at_once() -> None:
    network = old_server(*(f"g{number}.io" for number in range(40)))

    assert len(await discovery_over(network).groups()) == 42
    assert network.at_once == 8


@pytest.mark.parametrize("missing", ["/api", "/apis"])
async def test_a_server_may_have_one_root_only(missing: str) -> None:
    network = whole_server()
    del network.pages[missing]

    assert len(await discovery_over(network).groups()) == 1


async def test_a_server_without_both_roots_raises_not_found() -> None:
    with pytest.raises(NotFoundError, match="/api"):
        await discovery_over(Network()).resources()


@pytest.mark.parametrize("root", ["/api", "/apis"])
async def test_a_root_that_may_not_be_read_is_an_error(root: str) -> None:
    network = whole_server()
    network.pages[root] = Reply(403, b"no", {"Content-Type": "text/plain"})

    with pytest.raises(ForbiddenError):
        await discovery_over(network).resources()


async def test_a_root_of_another_kind_is_an_error() -> None:
    network = whole_server()
    network.pages["/apis"] = page({"kind": "Surprise"})

    with pytest.raises(DecodeError, match="APIGroupList: the server returned Surprise"):
        await discovery_over(network).resources()


async def test_an_invalid_entry_does_not_hide_the_others() -> None:
    network = old_server("down.io", "lost.io", "odd.io")
    network.pages["/apis/down.io/v1"] = Reply(503, b"down", {"Content-Type": "text/plain"})
    network.pages["/apis/lost.io/v1"] = ConnectError("no way")
    network.pages["/apis/odd.io/v1"] = page({"kind": "Surprise"})

    found = await discovery_over(network).resources()

    assert [each.name for each in found] == ["pods", "nodes", "deployments", "deployments"]
    assert {str(served): type(error) for served, error in found.failures.items()} == {
        "down.io/v1": ServiceUnavailableError,
        "lost.io/v1": ConnectError,
        "odd.io/v1": DecodeError,
    }
    assert "down.io" in [each.name for each in found.groups]


async def test_an_error_of_the_client_is_not_a_group_failure() -> None:
    network = old_server()
    network.pages["/apis/apps/v1"] = ClosedError("closed")

    with pytest.raises(ClosedError):
        await discovery_over(network).resources()


async def test_a_failed_group_version_is_retried_soon() -> None:
    clock = Clock()
    network = old_server("down.io")
    good = network.pages["/apis/down.io/v1"]
    network.pages["/apis/down.io/v1"] = Reply(503, b"down", {"Content-Type": "text/plain"})
    discovery = discovery_over(network, now=clock)

    assert (await discovery.resources()).failures
    network.pages["/apis/down.io/v1"] = good
    clock.time += 29
    assert (await discovery.resources()).failures
    clock.time += 2
    assert not (await discovery.resources()).failures


async def test_an_invalidated_failure_is_requested_again_at_once() -> None:
    network = old_server("down.io")
    good = network.pages["/apis/down.io/v1"]
    network.pages["/apis/down.io/v1"] = Reply(503, b"down", {"Content-Type": "text/plain"})
    discovery = discovery_over(network)

    assert (await discovery.resources()).failures
    network.pages["/apis/down.io/v1"] = good
    discovery.invalidate()
    assert not (await discovery.resources()).failures


async def test_stale_versions_are_failures_beside_what_was_found() -> None:
    network = whole_server()
    stale = group("m.io", version("v1", resource("metrics", "Metric"), freshness="Stale"), version("v1beta1"))
    network.pages["/apis"] = aggregated(APPS, stale)
    discovery = discovery_over(network)

    found = await discovery.resources()

    assert list(found.failures) == [GroupVersion("m.io", "v1")]
    assert [each.preferred for each in found.groups] == ["v1", "v1", "v1beta1"]
    assert await discovery.supports(GroupVersionResource("m.io", "v1", "metrics"))


async def test_a_result_is_cached_until_it_expires() -> None:
    clock = Clock()
    network = whole_server()
    discovery = discovery_over(network, now=clock, expiry=60)
    freshness = [discovery.is_fresh]

    first = await discovery.resources()
    clock.time += 59
    assert await discovery.resources() is first
    freshness.append(discovery.is_fresh)
    assert len(network.asked) == 2

    clock.time += 1
    freshness.append(discovery.is_fresh)
    await discovery.resources()
    assert len(network.asked) == 4
    assert freshness == [False, True, False]


async def test_those_who_ask_together_share_one_request() -> None:
    network = whole_server()
    discovery = discovery_over(network)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(10):
            tasks.create_task(discovery.resources())
            tasks.create_task(discovery.groups())

    assert len(network.asked) == 2


async def test_an_unchanged_document_is_not_sent_again() -> None:
    clock = Clock()
    network = Network({"/api": tagged(groups(CORE), '"c1"'), "/apis": tagged(groups(APPS), '"a1"')})
    discovery = discovery_over(network, now=clock)

    first = await discovery.resources()
    discovery.invalidate()
    again = await discovery.resources()
    clock.time += 601
    last = await discovery.resources()

    assert first == again == last
    assert last is again  # nothing that was made of it has to be made again
    for request in network.asked[2:]:
        assert dict(request.headers)["If-None-Match"] == ('"c1"' if request.target == "/api" else '"a1"')


async def test_a_changed_document_is_read_anew() -> None:
    network = Network({"/api": tagged(groups(CORE), '"c1"'), "/apis": tagged(groups(APPS), '"a1"')})
    discovery = discovery_over(network)
    await discovery.resources()

    network.pages["/apis"] = tagged(groups(APPS, WIDGETS), '"a2"')
    assert WIDGET not in {each.gvr for each in await discovery.resources()}
    discovery.invalidate()
    assert WIDGET in {each.gvr for each in await discovery.resources()}


async def test_a_result_that_was_invalidated_in_flight_is_not_cached() -> None:
    network = whole_server()
    discovery = discovery_over(network)
    network.gate.clear()

    async with asyncio.TaskGroup() as tasks:
        before = tasks.create_task(discovery.resources())
        await until(lambda: len(network.asked) == 2)
        discovery.invalidate()
        after = tasks.create_task(discovery.resources())
        await until(lambda: len(network.asked) == 4)
        network.pages["/apis"] = aggregated(APPS, WIDGETS)
        network.gate.set()

    assert len(before.result()) >= 4
    assert await discovery.resources() is after.result()
    assert len(network.asked) == 4


async def test_resources_of_one_version() -> None:
    discovery = discovery_over(whole_server())

    found = await discovery.resources("apps/v1beta1")

    assert [each.gvr for each in found] == [GroupVersionResource("apps", "v1beta1", "deployments")]
    assert [each.name for each in found.groups] == ["apps"]
    assert [each.name for each in await discovery.resources("v1")] == ["pods", "nodes"]


async def test_a_version_that_is_not_served_is_named_with_its_nearest() -> None:
    discovery = discovery_over(whole_server())

    with pytest.raises(UnknownKindError, match="the server has no apps/v2; the nearest: apps/v1"):
        await discovery.resources("apps/v2")
    with pytest.raises(UnknownKindError, match=r"client\.discovery\.groups"):
        await discovery.resources("zzzzzzz/q9")
    with pytest.raises(ArgumentError, match="not an API version"):
        await discovery.resources("a/b/c")


async def test_a_group_version_that_failed_raises_its_error() -> None:
    network = old_server("down.io")
    network.pages["/apis/down.io/v1"] = Reply(503, b"down", {"Content-Type": "text/plain"})
    discovery = discovery_over(network)

    for _ in range(2):
        with pytest.raises(ServiceUnavailableError, match="down"):
            await discovery.resources("down.io/v1")
    with pytest.raises(ServiceUnavailableError, match="down"):
        await discovery.supports(GroupVersionResource("down.io", "v1", "things"))


async def test_a_version_that_was_added_a_moment_ago_is_found() -> None:
    network = whole_server()
    discovery = discovery_over(network)
    await discovery.resources()

    network.pages["/apis"] = aggregated(APPS, WIDGETS)

    assert [each.name for each in await discovery.resources("example.com/v1")] == ["widgets"]


async def test_preferred_resources_come_once() -> None:
    found = await discovery_over(whole_server()).preferred_resources()

    assert [f"{each.api_version} {each.name}" for each in found] == ALL[:3]


async def test_whether_a_resource_is_there() -> None:
    network = whole_server()
    discovery = discovery_over(network)

    assert await discovery.supports(DEPLOYMENT)
    assert len(network.asked) == 2
    assert not await discovery.supports(WIDGET)
    network.pages["/apis"] = aggregated(APPS, WIDGETS)
    assert await discovery.supports(WIDGET)


async def test_a_refresh_sees_the_state_at_the_time_of_the_call() -> None:
    network = whole_server()
    discovery = discovery_over(network)
    network.gate.clear()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(discovery.resources())
        await until(lambda: len(network.asked) == 2)
        refreshed = [tasks.create_task(discovery.refresh()) for _ in range(5)]
        await asyncio.sleep(0)
        network.gate.set()

    assert all(task.result() is refreshed[0].result() for task in refreshed)
    assert len(network.asked) == 4


async def test_an_outage_is_an_error_and_not_an_empty_cluster() -> None:
    network = whole_server()
    network.pages["/api"] = network.pages["/apis"] = ConnectError("no way")
    discovery = discovery_over(network)

    with pytest.raises(ConnectError):
        await discovery.resources()
    assert not discovery.is_fresh
    network.pages |= whole_server().pages
    assert await names(discovery) == ALL
    assert discovery.is_fresh


async def test_the_version_of_the_server() -> None:
    said = {"major": "1", "minor": "36+", "gitVersion": "v1.36.4", "platform": "linux/amd64", "new": 1}
    discovery = discovery_over(Network({"/version": page(said)}))

    found = await discovery.server_version()

    assert (str(found), found.number, found.platform) == ("v1.36.4", (1, 36), "linux/amd64")


async def test_an_invalid_api_version_is_rejected() -> None:
    with pytest.raises(DecodeError, match="server version"):
        await discovery_over(Network({"/version": page([])})).server_version()


class WallClock:
    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time


def shorten_files(directory: Path) -> int:
    files = [each for each in directory.rglob("*") if each.is_file()]
    for file in files:
        file.write_bytes(file.read_bytes()[:-5])
    return len(files)


class TestFiles:
    """What one process found, the next one knows."""

    def start(self, network: Network, directory: Path, wall: WallClock, clock: Clock) -> DiscoveryClient:
        cache = DiskCache(directory, server="https://10.0.0.1:6443", now=wall)
        return discovery_over(network, cache=cache, now=clock)

    def server(self) -> Network:
        return Network({"/api": tagged(groups(CORE), '"c1"'), "/apis": tagged(groups(APPS), '"a1"')})

    async def test_files_that_are_young_enough_save_every_request(self, tmp_path: Path) -> None:
        wall, network = WallClock(), self.server()
        assert await names(self.start(network, tmp_path, wall, Clock())) == ALL
        wall.time += timedelta(minutes=9)

        clock, later = Clock(), Network()
        discovery = self.start(later, tmp_path, wall, clock)

        assert await names(discovery) == ALL
        assert not later.asked
        assert not discovery.is_fresh
        # They are a minute from their end, in memory too.
        clock.time += 61
        later.pages |= network.pages
        assert await names(discovery) == ALL
        assert len(later.asked) == 2
        assert discovery.is_fresh

    async def test_files_that_are_too_old_are_offered_by_their_tags(self, tmp_path: Path) -> None:
        wall, network = WallClock(), self.server()
        await names(self.start(network, tmp_path, wall, Clock()))
        wall.time += timedelta(minutes=11)

        discovery = self.start(network, tmp_path, wall, Clock())

        assert await names(discovery) == ALL
        assert [len([1 for name, _ in each.headers if name == "If-None-Match"]) for each in network.asked] == [
            0,
            0,
            1,
            1,
        ]
        assert discovery.is_fresh

        wall.time += timedelta(minutes=9)  # what was confirmed is young again
        later = Network()
        assert await names(self.start(later, tmp_path, wall, Clock())) == ALL
        assert not later.asked

    async def test_a_resource_missing_from_disk_is_looked_up_on_the_server(self, tmp_path: Path) -> None:
        wall, network = WallClock(), self.server()
        await names(self.start(network, tmp_path, wall, Clock()))
        network.pages["/apis"] = tagged(groups(APPS, WIDGETS), '"a2"')

        assert await self.start(network, tmp_path, wall, Clock()).supports(WIDGET)

    async def test_an_invalidated_client_does_not_believe_files(self, tmp_path: Path) -> None:
        wall, network = WallClock(), self.server()
        await names(self.start(network, tmp_path, wall, Clock()))
        network.pages["/apis"] = tagged(groups(APPS, WIDGETS), '"a2"')
        discovery = self.start(network, tmp_path, wall, Clock())
        discovery.invalidate()

        assert WIDGET in {each.gvr for each in await discovery.resources()}

    async def test_broken_files_cost_a_request_and_nothing_else(self, tmp_path: Path) -> None:
        wall, network = WallClock(), self.server()
        await names(self.start(network, tmp_path, wall, Clock()))
        assert shorten_files(tmp_path) == 2

        assert await names(self.start(network, tmp_path, wall, Clock())) == ALL
        assert len(network.asked) == 4

    async def test_the_two_forms_are_kept_apart(self, tmp_path: Path) -> None:
        cache = DiskCache(tmp_path, server="https://10.0.0.1:6443")
        whole, old = whole_server(), old_server()

        assert await names(discovery_over(whole, cache=cache)) == ALL
        assert await names(discovery_over(old, cache=cache, aggregated=False)) == ALL
        assert len(old.asked) == 5


async def test_a_body_that_only_claims_to_be_aggregated_is_refused() -> None:
    network = whole_server()
    network.pages["/apis"] = page({"items": [{"versions": [{"nonsense": 1}]}]}, AGGREGATED.format("v2"))

    with pytest.raises(DecodeError, match="APIGroupDiscoveryList"):
        await discovery_over(network).resources()


async def test_legacy_discovery_has_the_same_result_as_aggregated_discovery() -> None:
    network = old_server()
    network.pages["/api/v1"] = page(resource_list("v1", PODS))
    whole = whole_server()
    whole.pages["/api"] = aggregated(group("", version("v1", PODS)))

    assert await discovery_over(network).resources() == await discovery_over(whole).resources()
