"""Waiting for a resource version or a condition of the cache, and timeouts."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from typing import TYPE_CHECKING, Any, cast

import pytest
from tests.unit.cache.clusters import QUICK, state_of
from tests.unit.cache.fake_list_watch import FakeListWatch

from masthead._cache.informer.informer import SharedInformer
from masthead._cache.informer.progress import Progress
from masthead._meta.unstructured import Unstructured
from masthead.api.core.v1 import ConfigMap, Pod
from masthead.errors import ArgumentError, ClosedError, DeadlineError, InformerStateError
from masthead.testing.virtual_time import in_virtual_time

if TYPE_CHECKING:
    from tests.unit.cache.clusters import EmbeddedCluster


def following(source: FakeListWatch) -> SharedInformer[ConfigMap]:
    return SharedInformer(source, backoff=QUICK)


@pytest.mark.guarantee(10)
@pytest.mark.parametrize("version", ["", None, 5.0, True, -5, "abc", "5x"], ids=repr)
async def test_waiting_for_an_invalid_resource_version_is_rejected(source: FakeListWatch, version: Any) -> None:
    async with following(source) as informer:
        with pytest.raises(ArgumentError, match="wait for an object that a server has answered with") as caught:
            await informer.wait_for_version(version, 30)
        assert str(caught.value).startswith(f"{version!r} is no resource version")


@pytest.mark.guarantee(10)
async def test_the_object_of_a_response_can_be_waited_for(embedded: EmbeddedCluster) -> None:
    async with embedded.informer() as informer:
        made = await embedded.maps.create(ConfigMap.new("a", data={"value": "1"}))
        await informer.wait_for_version(made, 30)
        assert informer.lister.namespace("default").get("a") == made
        with pytest.raises(ArgumentError, match="wait for an object that a server has answered with"):
            await informer.wait_for_version(ConfigMap.new("b"), 30)
        await informer.wait_for_version(int(made.metadata.resource_version), 30)
        await informer.wait_for_version(Unstructured.from_json(made.to_json()), 30)
        for wrong in (Pod.new("web"), Unstructured.from_json(Pod.new("web").to_json())):
            wrong.metadata.resource_version = "1"
            with pytest.raises(ArgumentError, match="keeps objects of kind ConfigMap, and never receives Pod"):
                await informer.wait_for_version(wrong, 30)


@pytest.mark.guarantee(10)
@in_virtual_time
async def test_a_timeout_names_the_resource_version_of_the_cache() -> None:
    source = FakeListWatch()
    async with following(source) as informer:
        with pytest.raises(DeadlineError, match=r"has not reached version 99 within 0 s; it has not synced$"):
            await informer.wait_for_version(99, 0)
        await informer.wait_for_cache_sync(30)
        with pytest.raises(
            DeadlineError, match=r"has not reached version 99 within 2 s; it is at 10\. .*next bookmark"
        ):
            await informer.wait_for_version("99", 2)


@pytest.mark.guarantee(10)
async def test_a_condition_on_the_cache_can_be_waited_for(source: FakeListWatch) -> None:
    source.put("a")
    informer = following(source)
    with pytest.raises(InformerStateError, match=r"start\(\) it first"):
        await informer.wait_for(lambda _: True)
    async with informer:
        await informer.wait_for(lambda copy: len(copy) == 1, 30)  # not before the cache has synced
        async with asyncio.TaskGroup() as group:
            group.create_task(informer.wait_for(lambda copy: copy.get_by_key("shop/a") is None, 30))
            source.put("b")
            source.remove("a")
        assert state_of(informer) == {"b": "1"}
        with pytest.raises(DeadlineError, match="configmaps is not as it was waited for within 0 s"):
            await informer.wait_for(lambda _: False, 0)
        with pytest.raises(ZeroDivisionError):
            await informer.wait_for(lambda _: 1 // 0 > 0, 30)
        with pytest.raises(ArgumentError, match="a condition must be a function"):
            await informer.wait_for(cast("Any", "a"), 30)
    with pytest.raises(ClosedError):
        await informer.wait_for(lambda _: False, 30)


@pytest.mark.slow
async def test_cancelled_waiters_are_released() -> None:
    progress = Progress()

    async def wait_in_vain() -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0):
                await progress.next()

    before = _futures()
    for _ in range(100):
        await wait_in_vain()
    assert _futures() < before + 50


def _futures() -> int:
    gc.collect()
    return sum(type(obj) is asyncio.Future for obj in gc.get_objects())
