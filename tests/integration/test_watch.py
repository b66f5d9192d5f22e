"""Watches, and what they survive."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.conftest import connected

from masthead._meta.patch import Patch
from masthead.api.core.v1 import ConfigMap
from masthead.errors import BadRequestError, ExpiredError, ForbiddenError, NotFoundError

if TYPE_CHECKING:
    from tests.integration.conftest import Cluster

    from masthead.server import Server

OURS = "here=yes"


@pytest.fixture
def maps(client: Any, namespace: str) -> Any:
    return client.core_v1.config_maps(namespace)


async def put(maps: Any, name: str, value: str = "1") -> str:
    """Create an object, and return its version."""
    made = await maps.create(ConfigMap.new(name, labels={"here": "yes"}, data={"value": value}))
    version: str = made.metadata.resource_version
    return version


async def change(maps: Any, name: str, value: str) -> None:
    await maps.patch(name, Patch.merge({"data": {"value": value}}))


async def next_events(events: Any, count: int) -> list[tuple[str, str, str]]:
    """The next events as type, name and value."""
    found: list[tuple[str, str, str]] = []
    async with asyncio.timeout(60):
        async for event in events:
            found.append((event.type, event.object.metadata.name, event.object.data.get("value", "")))
            if len(found) == count:
                break
    return found


async def version_of(maps: Any) -> str:
    found = await maps.list(limit=1)
    version: str = found.metadata.resource_version
    return version


def faults_of(cluster: Cluster) -> Server:
    assert cluster.embedded is not None
    return cluster.embedded


async def test_every_change_after_a_version_is_delivered_in_order(maps: Any) -> None:
    since = await version_of(maps)
    await put(maps, "a")
    await change(maps, "a", "2")
    await maps.delete("a")

    async with maps.watch(resource_version=since) as events:
        assert await next_events(events, 3) == [
            ("ADDED", "a", "1"),
            ("MODIFIED", "a", "2"),
            ("DELETED", "a", "2"),
        ]


async def test_without_a_version_existing_objects_are_delivered_first(maps: Any) -> None:
    await put(maps, "a")
    await put(maps, "b")

    async with maps.watch(label_selector=OURS) as events:
        assert sorted(await next_events(events, 2)) == [("ADDED", "a", "1"), ("ADDED", "b", "1")]
        await change(maps, "b", "2")
        assert await next_events(events, 1) == [("MODIFIED", "b", "2")]


@pytest.mark.embedded_only
@pytest.mark.parametrize("refuses", [True, False])
async def test_bookmarks_are_delivered_only_on_request(cluster: Cluster, maps: Any, refuses: bool) -> None:
    await put(maps, "a")
    if refuses:  # then it is a list that the watch begins with
        faults_of(cluster).faults.fail(422, verb="watch", namespace=maps.namespace)
    async with maps.watch(label_selector=OURS) as events:
        assert await next_events(events, 1) == [("ADDED", "a", "1")]
        await change(maps, "a", "2")
        assert await next_events(events, 1) == [("MODIFIED", "a", "2")]


async def test_an_object_that_leaves_the_selector_is_deleted_for_the_watch(maps: Any) -> None:
    since = await version_of(maps)
    async with maps.watch(resource_version=since, label_selector=OURS) as events:
        await put(maps, "a")
        await maps.patch("a", Patch.merge({"metadata": {"labels": {"here": "no"}}}))
        assert await next_events(events, 2) == [("ADDED", "a", "1"), ("DELETED", "a", "1")]


@pytest.mark.slow
async def test_a_watch_ends_with_its_timeout_and_another_continues_from_its_version(maps: Any) -> None:
    await put(maps, "a")
    async with maps.watch(label_selector=OURS, timeout_seconds=1) as events:
        assert [(event.type, event.object.metadata.name) async for event in events] == [("ADDED", "a")]
    await put(maps, "b")
    async with maps.watch(resource_version=events.version, label_selector=OURS) as events:
        assert await next_events(events, 1) == [("ADDED", "b", "1")]


@pytest.mark.slow
async def test_a_raw_watch_ends_with_its_connection(maps: Any) -> None:
    since = await version_of(maps)
    await put(maps, "a")

    async with maps.watch(resource_version=since, timeout_seconds=1, raw=True) as events:
        seen = [event.type async for event in events]

    assert seen == ["ADDED"]


async def test_an_expired_resource_version_advises_to_list_again(cluster: Cluster, maps: Any) -> None:
    if cluster.embedded is not None:
        await put(maps, "a")
        cluster.embedded.compact()
    async with maps.watch(resource_version="1") as events:
        with pytest.raises(ExpiredError, match="List again and continue from the new resource version"):
            await next_events(events, 1)


async def test_a_watch_of_a_missing_resource_fails_at_once(client: Any) -> None:
    absent = client.dynamic("example.com/v1", "unicorns")
    with pytest.raises(LookupError):
        await absent.list()

    from masthead._meta.gvk import GroupVersionResource

    async with client.dynamic(GroupVersionResource("example.com", "v1", "unicorns")).watch() as events:
        with pytest.raises(NotFoundError):
            await next_events(events, 1)


async def test_a_closed_watch_is_exhausted(maps: Any) -> None:
    events = maps.watch(resource_version=await version_of(maps))
    await events.close()

    assert [event async for event in events] == []


@pytest.mark.slow
@pytest.mark.embedded_only
@pytest.mark.parametrize("fault", ["drop_watch", "cut_watch"])
async def test_a_dropped_connection_loses_and_repeats_no_event(cluster: Cluster, maps: Any, fault: str) -> None:
    since = await version_of(maps)
    for index in range(6):
        await put(maps, f"map-{index}")
    hit = getattr(faults_of(cluster).faults, fault)(after=2, times=2, namespace=maps.namespace)

    async with maps.watch(resource_version=since) as events:
        seen = await next_events(events, 6)

    assert seen == [("ADDED", f"map-{index}", "1") for index in range(6)]
    assert hit.hits == 2


@pytest.mark.slow
@pytest.mark.embedded_only
async def test_a_connection_lost_during_initial_events_loses_and_repeats_no_event(cluster: Cluster, maps: Any) -> None:
    for index in range(6):
        await put(maps, f"map-{index}")
    hit = faults_of(cluster).faults.drop_watch(after=3, times=1, namespace=maps.namespace)

    async with maps.watch(label_selector=OURS) as events:
        seen = await next_events(events, 6)
        await change(maps, "map-0", "2")
        assert await next_events(events, 1) == [("MODIFIED", "map-0", "2")]

    assert sorted(seen) == [("ADDED", f"map-{index}", "1") for index in range(6)]
    assert hit.hits == 1


@pytest.mark.slow
@pytest.mark.embedded_only
async def test_a_silent_connection_is_detected(cluster: Cluster, facade: str, maps: Any) -> None:
    since = await version_of(maps)
    hit = faults_of(cluster).faults.silence_watch(after=1, times=1, namespace=maps.namespace)
    async with (
        connected(cluster.config, facade, read_timeout=0.2) as impatient,
        impatient.core_v1.config_maps(maps.namespace).watch(resource_version=since) as events,
    ):
        await put(maps, "a")
        await put(maps, "b")
        assert await next_events(events, 2) == [("ADDED", "a", "1"), ("ADDED", "b", "1")]
    assert hit.hits == 1


@pytest.mark.slow
@pytest.mark.embedded_only
async def test_an_error_in_the_stream_is_survived(cluster: Cluster, maps: Any) -> None:
    since = await version_of(maps)
    faults = faults_of(cluster).faults
    refused = faults.fail(503, verb="watch", namespace=maps.namespace, times=2)
    await put(maps, "a")

    async with maps.watch(resource_version=since) as events:
        assert await next_events(events, 1) == [("ADDED", "a", "1")]
    assert refused.hits == 2


@pytest.mark.embedded_only
async def test_an_expired_watch_advises_to_list_again(cluster: Cluster, maps: Any) -> None:
    since = await version_of(maps)
    await put(maps, "a")
    await put(maps, "b")
    faults_of(cluster).faults.expire_watch(after=1, namespace=maps.namespace)

    async with maps.watch(resource_version=since) as events:
        assert await next_events(events, 1) == [("ADDED", "a", "1")]
        with pytest.raises(ExpiredError, match="List again"):
            await next_events(events, 1)


@pytest.mark.embedded_only
async def test_an_error_response_ends_a_watch(cluster: Cluster, maps: Any) -> None:
    since = await version_of(maps)
    refused = faults_of(cluster).faults.fail(403, verb="watch", namespace=maps.namespace)

    async with maps.watch(resource_version=since) as events:
        with pytest.raises(ForbiddenError):
            await next_events(events, 1)
    assert refused.hits == 1


@pytest.mark.embedded_only
async def test_a_server_without_initial_events_is_listed_first(cluster: Cluster, maps: Any) -> None:
    await put(maps, "a")
    faults_of(cluster).faults.fail(422, verb="watch", namespace=maps.namespace)

    async with maps.watch(label_selector=OURS) as events:
        assert await next_events(events, 1) == [("ADDED", "a", "1")]
        await change(maps, "a", "2")
        assert await next_events(events, 1) == [("MODIFIED", "a", "2")]


@pytest.mark.embedded_only
async def test_a_server_without_the_initial_events_bookmark_is_listed(
    cluster: Cluster, maps: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("masthead._client.watch.INITIAL_EVENTS_TIMEOUT", 0.1)
    await put(maps, "a")
    faults_of(cluster).faults.hold_bookmarks(namespace=maps.namespace)

    async with maps.watch(label_selector=OURS) as events:
        assert await next_events(events, 1) == [("ADDED", "a", "1")]
        await change(maps, "a", "2")
        assert await next_events(events, 1) == [("MODIFIED", "a", "2")]


@pytest.mark.slow
@pytest.mark.embedded_only
async def test_a_list_that_fails_at_first_is_not_the_end_of_a_watch(cluster: Cluster, maps: Any) -> None:
    await put(maps, "a")
    faults = faults_of(cluster).faults
    faults.fail(422, verb="watch", namespace=maps.namespace)
    failed = faults.fail(500, verb="list", namespace=maps.namespace)

    async with maps.watch(label_selector=OURS) as events:
        assert await next_events(events, 1) == [("ADDED", "a", "1")]
    assert failed.hits == 1


async def test_a_rejected_selector_does_not_disable_initial_events(maps: Any) -> None:
    async with maps.watch(field_selector="spec.nonsense=1") as events:
        with pytest.raises(BadRequestError):
            await next_events(events, 1)

    assert len(await maps.watch_list(label_selector=OURS)) == 0
    async with maps.watch(label_selector=OURS, bookmarks=True) as events:
        assert await next_events(events, 1) == [("BOOKMARK", "", "")]


@pytest.mark.slow
async def test_a_watch_that_is_often_resumed_is_not_delayed(embedded_cluster: Cluster) -> None:
    async with connected(embedded_cluster.config, "aio") as client:
        maps = client.core_v1.config_maps("default")
        since = await version_of(maps)
        await put(maps, "often-1")
        await put(maps, "often-2")
        faults_of(embedded_cluster).faults.drop_watch(after=1)

        seen: list[str] = []
        async with maps.watch(resource_version=since) as events:
            while len(seen) < 2:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.1):  # far less than the pause after a drop
                        seen.append((await anext(events)).object.metadata.name)

    assert seen == ["often-1", "often-2"]


@pytest.mark.embedded_only
@pytest.mark.parametrize("refuses", [True, False])
async def test_the_end_of_initial_events_is_delivered_whether_the_server_supports_it_or_not(
    cluster: Cluster, maps: Any, refuses: bool
) -> None:
    await put(maps, "a")
    if refuses:
        faults_of(cluster).faults.fail(422, verb="watch", namespace=maps.namespace)

    async with maps.watch(label_selector=OURS, bookmarks=True) as events:
        first, second = await anext(events), await anext(events)

    assert (first.type, first.ends_initial_events) == ("ADDED", False)
    assert (second.type, second.ends_initial_events) == ("BOOKMARK", True)
    assert int(second.version) >= int(first.version)


@pytest.mark.embedded_only
async def test_a_connection_lost_at_the_start_does_not_disable_initial_events(
    cluster: Cluster, maps: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("masthead._client.watch.INITIAL_EVENTS_TIMEOUT", 0.1)
    await put(maps, "a")
    faults = faults_of(cluster).faults
    faults.silence_watch(after=0, namespace=maps.namespace)

    async with maps.watch(label_selector=OURS) as events:
        assert await next_events(events, 1) == [("ADDED", "a", "1")]
    lists = faults.fail(500, verb="list", namespace=maps.namespace)
    async with maps.watch(label_selector=OURS) as events:
        assert await next_events(events, 1) == [("ADDED", "a", "1")]

    assert lists.hits == 0
