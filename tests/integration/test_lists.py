"""Lists: whole, in pages, item by item, and as the beginning of a watch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.conftest import connected

from masthead.api.core.v1 import ConfigMap, ConfigMapList
from masthead.errors import ArgumentError, ExpiredError, StatusError

if TYPE_CHECKING:
    from tests.integration.conftest import Cluster


@pytest.fixture
async def maps(client: Any, namespace: str) -> Any:
    """Seven objects and their handlers."""
    found = client.core_v1.config_maps(namespace)
    for index in range(7):
        labels = {"parity": "even" if index % 2 == 0 else "odd", "here": "yes"}
        await found.create(ConfigMap.new(f"map-{index}", labels=labels, data={"index": str(index)}))
    return found


def names(items: Any) -> list[str]:
    return [item.metadata.name for item in items]


ALL = [f"map-{index}" for index in range(7)]
OURS = "here=yes"


async def test_a_list_is_complete_however_small_its_pages(maps: Any) -> None:
    whole = await maps.list(label_selector=OURS)
    paged = await maps.list(label_selector=OURS, page_size=2)

    assert isinstance(paged, ConfigMapList)
    assert names(paged) == names(whole) == ALL
    assert paged.metadata.resource_version
    assert not paged.metadata.continue_
    assert paged.metadata.remaining_item_count is None


async def test_a_page_has_a_positive_size_or_0_for_a_single_page(maps: Any) -> None:
    assert names(await maps.list(label_selector=OURS, page_size=0)) == ALL
    for page_size in (-1, True, "3"):
        with pytest.raises(ArgumentError, match=f"page_size is {page_size!r}; it must be an integer, 0 or more"):
            await maps.list(page_size=page_size)


async def test_a_limit_requests_one_page_and_its_token_the_next(maps: Any) -> None:
    first = await maps.list(label_selector=OURS, limit=5)
    second = await maps.list(label_selector=OURS, limit=5, continue_=first.metadata.continue_)

    assert names(first) == ALL[:5]
    assert names(second) == ALL[5:]
    assert not second.metadata.continue_


async def test_pages_are_yielded_one_at_a_time(maps: Any) -> None:
    pages = [names(page) async for page in maps.iter_pages(label_selector=OURS, page_size=3)]

    assert pages == [ALL[:3], ALL[3:6], ALL[6:]]


async def test_items_are_yielded_one_by_one(maps: Any) -> None:
    assert [item.data["index"] async for item in maps.iter(label_selector=OURS, page_size=3)] == list("0123456")


async def test_iterating_may_stop_early(maps: Any) -> None:
    seen = []
    async for item in maps.iter(page_size=2, label_selector=OURS):
        seen.append(item.metadata.name)
        if len(seen) == 3:
            break

    assert seen == ALL[:3]
    assert names(await maps.list(label_selector=OURS)) == ALL


async def test_selectors_may_be_text_or_mappings(maps: Any) -> None:
    for selector in ("parity=odd", "parity in (odd)", {"parity": "odd"}):
        assert names(await maps.list(label_selector=selector)) == ["map-1", "map-3", "map-5"]
    for selector in ("metadata.name=map-2", {"metadata.name": "map-2"}):
        assert names(await maps.list(field_selector=selector)) == ["map-2"]


async def test_a_list_can_be_of_all_namespaces(client: Any, maps: Any) -> None:
    found = await client.core_v1.config_maps().list(label_selector=OURS)

    assert set(ALL) <= set(names(found))
    assert maps.namespace in {each.metadata.namespace for each in found}


async def test_a_list_can_be_of_an_exact_version(maps: Any) -> None:
    before = await maps.list(label_selector=OURS)
    await maps.delete("map-0")

    then = await maps.list(
        label_selector=OURS,
        resource_version=before.metadata.resource_version,
        resource_version_match="Exact",
    )

    assert names(then) == ALL


async def test_a_list_from_initial_events_equals_a_plain_list(maps: Any) -> None:
    plain = await maps.list(label_selector=OURS)
    streamed = await maps.watch_list(label_selector=OURS)

    assert isinstance(streamed, ConfigMapList)
    assert sorted(streamed, key=lambda each: each.key) == list(plain)
    assert int(streamed.metadata.resource_version) >= int(plain.metadata.resource_version)


async def test_a_list_as_a_watch_can_be_checked_against_a_plain_one(cluster: Cluster, facade: str, maps: Any) -> None:
    async with connected(cluster.config, facade, check_watch_lists=True) as careful:
        found = await careful.core_v1.config_maps(maps.namespace).watch_list(label_selector=OURS)

    assert sorted(names(found)) == ALL


@pytest.mark.embedded_only
async def test_a_server_without_initial_events_is_listed_and_remembered(cluster: Cluster, maps: Any) -> None:
    server = cluster.embedded
    assert server is not None
    refusal = server.faults.fail(422, verb="watch", resource="configmaps")

    first = await maps.watch_list(label_selector=OURS)
    again = await maps.watch_list(label_selector=OURS)

    assert names(first) == names(again) == ALL
    assert refusal.hits == 1


@pytest.mark.embedded_only
async def test_an_expired_continue_token_advises_to_list_again(cluster: Cluster, maps: Any) -> None:
    server = cluster.embedded
    assert server is not None
    pages = maps.iter_pages(label_selector=OURS, page_size=3)
    await anext(pages)
    server.faults.expire(times=1, verb="list", resource="configmaps")

    with pytest.raises(ExpiredError, match="List again"):
        await anext(pages)


@pytest.mark.embedded_only
async def test_a_rejected_list_reports_the_reason(cluster: Cluster, maps: Any) -> None:
    assert cluster.embedded is not None
    cluster.embedded.faults.fail(500, message="the disk is on fire", verb="list", times=1)

    with pytest.raises(StatusError, match="the disk is on fire"):
        await maps.list()
