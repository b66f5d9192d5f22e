"""Pagination, and lists whose continue token expires."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._client.pagination import ListQuery, PageTimeout, iter_pages, list_all
from masthead._meta.metadata import ListMeta
from masthead.api.core.v1 import ConfigMap, ConfigMapList
from masthead.errors import DeadlineError, ExpiredError, ProtocolError
from masthead.testing.virtual_time import in_virtual_time

if TYPE_CHECKING:
    from masthead._client.options import Query


class Collection:
    """A collection that is served in pages, and may forget its version after some of them."""

    def __init__(self, size: int, *, forgets_after: int | None = None) -> None:
        self.names = [f"map-{index:03}" for index in range(size)]
        self.queries: list[dict[str, str]] = []
        self.forgets_after = forgets_after

    async def page(self, query: Query) -> ConfigMapList:
        options = dict(query)
        self.queries.append(options)
        start = int(options.get("continue", 0))
        if start and self.forgets_after is not None and len(self.queries) > self.forgets_after:
            raise ExpiredError("the token is too old")
        end = start + int(options.get("limit", len(self.names) or 1))
        metadata = ListMeta(resource_version="7", continue_=str(end) if end < len(self.names) else "")
        if metadata.continue_:
            metadata.remaining_item_count = len(self.names) - end
        items = [ConfigMap.new(name) for name in self.names[start:end]]
        return ConfigMapList(metadata=metadata, items=items)


@given(st.integers(0, 40), st.integers(1, 12))
async def test_a_list_is_the_same_whatever_the_length_of_its_pages(size: int, page_size: int) -> None:
    collection = Collection(size)

    found = await list_all(collection.page, ListQuery(), page_size)

    assert [item.metadata.name for item in found] == collection.names
    assert (found.metadata.resource_version, found.metadata.continue_) == ("7", "")
    assert found.metadata.remaining_item_count is None
    assert len(collection.queries) == max(1, -(-size // page_size))


async def test_only_the_first_page_names_the_version() -> None:
    collection = Collection(5)
    query = ListQuery(resource_version="7", resource_version_match="Exact", label_selector="app=web")

    pages = [page async for page in iter_pages(collection.page, query, 2)]

    assert [len(page) for page in pages] == [2, 2, 1]
    first, *others = collection.queries
    assert (first["resourceVersion"], first["resourceVersionMatch"]) == ("7", "Exact")
    assert all("resourceVersion" not in other and other["labelSelector"] == "app=web" for other in others)


async def test_a_list_whose_continue_token_expires_is_listed_without_paging() -> None:
    collection = Collection(9, forgets_after=2)
    query = ListQuery(resource_version="7", resource_version_match="NotOlderThan")

    found = await list_all(collection.page, query, 3)

    assert [item.metadata.name for item in found] == collection.names
    assert collection.queries[-1] == {"resourceVersion": "7", "resourceVersionMatch": "NotOlderThan"}


async def test_pages_whose_token_expires_end_with_the_error() -> None:
    collection = Collection(9, forgets_after=2)
    pages = iter_pages(collection.page, ListQuery(), 3)

    assert [len(await anext(pages)), len(await anext(pages))] == [3, 3]
    with pytest.raises(ExpiredError):
        await anext(pages)


async def test_a_limit_or_token_requests_one_page() -> None:
    collection = Collection(9)

    first = await list_all(collection.page, ListQuery(limit=4), 100)
    last = await list_all(collection.page, ListQuery(continue_="8"), 100)

    assert (len(first), first.metadata.continue_) == (4, "4")
    assert len(last) == 1
    assert len(collection.queries) == 2


async def test_a_repeated_continue_token_is_an_error() -> None:
    async def always_the_same(_: Query) -> ConfigMapList:
        return ConfigMapList(metadata=ListMeta(resource_version="7", continue_="again"), items=[])

    with pytest.raises(ProtocolError, match="would never end"):
        await list_all(always_the_same, ListQuery(), 3)


@in_virtual_time
async def test_the_timeout_of_a_list_bounds_all_pages_and_not_the_time_between_them() -> None:
    collection, timeout = Collection(5), PageTimeout(None, 3, default=60.0)
    given: list[float | None] = []

    async def fetch(query: Query) -> ConfigMapList:
        async def fetch_within(seconds: float | None) -> ConfigMapList:
            given.append(seconds)
            await asyncio.sleep(2)
            return await collection.page(query)

        return await timeout.fetch(fetch_within)

    pages = iter_pages(fetch, ListQuery(timeout_seconds=3), 2)
    await anext(pages)
    await asyncio.sleep(100)
    await anext(pages)

    with pytest.raises(DeadlineError, match="within 3 s"):
        await anext(pages)
    assert given == pytest.approx([3, 1])


@pytest.mark.parametrize(("page", "wanted"), [(None, 60.0), (1.0, 1.0), (math.inf, 100)])
@in_virtual_time
async def test_a_page_has_the_shorter_timeout_of_its_own_and_of_the_list(page: float | None, wanted: float) -> None:
    async def fetch(seconds: float | None) -> ConfigMapList:
        assert seconds == wanted
        return ConfigMapList()

    await PageTimeout(page, 100, default=60.0).fetch(fetch)
