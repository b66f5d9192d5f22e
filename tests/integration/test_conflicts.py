"""Concurrent updates and retries on conflict."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.objects import config_map, named
from tests.integration.conftest import connected

import masthead
import masthead.aio
from masthead._meta.patch import Patch
from masthead._meta.unstructured import Unstructured
from masthead.api.core.v1 import ConfigMap, Service
from masthead.errors import ArgumentError, ConflictError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.integration.conftest import Cluster

MANY = 100
"""More attempts than there are others."""


@pytest.fixture
async def maps(client: Any, namespace: str) -> Any:
    found = client.core_v1.config_maps(namespace)
    await found.create(config_map("counter", data={"count": "0"}))
    return found


@pytest.fixture
async def others(cluster: Cluster, facade: str, maps: Any) -> AsyncIterator[Any]:
    """The same objects, through another client."""
    async with connected(cluster.config, facade) as other:
        yield other.core_v1.config_maps(maps.namespace)


def count_up(found: ConfigMap) -> None:
    found.data["count"] = str(int(found.data.get("count", "0")) + 1)


def reads(facade: str, obj: Any) -> Any:
    """A function that reads an object from a cache, in the form of the façade."""

    async def read() -> Any:
        return obj

    return read if facade == "aio" else lambda: obj


async def test_a_change_is_made_and_returned(maps: Any) -> None:
    changed = await maps.update_with_retry("counter", count_up)

    assert changed.data == {"count": "1"}
    assert (await maps.get("counter")) == changed


async def test_a_stale_copy_is_read_again(facade: str, maps: Any, others: Any) -> None:
    stale = await maps.get("counter")
    await others.update_with_retry("counter", count_up)

    changed = await maps.update_with_retry(reads(facade, stale), count_up)

    assert changed.data == {"count": "2"}
    assert stale.data == {"count": "0"}


async def test_two_clients_lose_no_change(maps: Any, others: Any) -> None:
    async def count(mine: Any) -> None:
        for _ in range(10):
            await mine.update_with_retry("counter", count_up, attempts=MANY)

    await asyncio.gather(count(maps), count(others), count(maps))

    assert (await maps.get("counter")).data == {"count": "30"}


async def test_a_mutation_without_effect_sends_no_write(maps: Any) -> None:
    before = await maps.get("counter")

    same = await maps.update_with_retry("counter", lambda _: None)

    assert same == before
    assert (await maps.get("counter")).metadata.resource_version == before.metadata.resource_version


async def test_a_function_may_return_another_object(maps: Any) -> None:
    def replaced(found: ConfigMap) -> ConfigMap:
        return ConfigMap.new("counter", namespace=found.metadata.namespace, data={"count": "7"})

    changed = await maps.update_with_retry("counter", replaced)

    assert changed.data == {"count": "7"}


async def test_a_missing_object_cannot_be_changed(maps: Any) -> None:
    with pytest.raises(NotFoundError):
        await maps.update_with_retry("absent", count_up)


async def test_a_function_may_not_change_the_identity_of_the_object(maps: Any) -> None:
    with pytest.raises(ArgumentError, match=r"mutate made .*other out of .*counter"):
        await maps.update_with_retry("counter", lambda _: ConfigMap.new("other"))
    with pytest.raises(TypeError, match="mutate returned dict"):
        await maps.update_with_retry("counter", lambda found: found.to_dict())
    with pytest.raises(ArgumentError, match="it must be at least 1"):
        await maps.update_with_retry("counter", count_up, attempts=0)


async def test_an_exception_of_a_function_propagates(maps: Any) -> None:
    def fail(_: ConfigMap) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await maps.update_with_retry("counter", fail)


@pytest.mark.embedded_only
@pytest.mark.parametrize(("conflicts", "attempts"), [(4, None), (2, 3)])
async def test_conflicts_are_retried(cluster: Cluster, maps: Any, conflicts: int, attempts: int | None) -> None:
    assert cluster.embedded is not None
    hit = cluster.embedded.faults.conflict(times=conflicts, resource="configmaps")
    calls = 0

    def count(found: ConfigMap) -> None:
        nonlocal calls
        calls += 1
        count_up(found)

    options = {} if attempts is None else {"attempts": attempts}
    changed = await maps.update_with_retry("counter", count, **options)

    assert changed.data == {"count": "1"}
    assert (hit.hits, calls) == (conflicts, conflicts + 1)


@pytest.mark.embedded_only
async def test_attempts_are_limited(cluster: Cluster, maps: Any) -> None:
    assert cluster.embedded is not None
    hit = cluster.embedded.faults.conflict(times=None, resource="configmaps")

    with pytest.raises(ConflictError, match="Read the object again"):
        await maps.update_with_retry("counter", count_up)
    assert hit.hits == 5
    with pytest.raises(ConflictError):
        await maps.create_or_update(ConfigMap.new("counter", data={"a": "b"}), attempts=2)
    assert hit.hits == 7


async def test_an_object_is_created_updated_or_left_alone(maps: Any) -> None:
    wanted = ConfigMap.new("it", labels={"a": "1"}, data={"x": "1"})

    made, first = await maps.create_or_update(wanted)
    same, second = await maps.create_or_update(wanted)
    wanted.data["x"] = "2"
    wanted.metadata.labels = {"b": "2"}
    changed, third = await maps.create_or_update(wanted)

    assert (first, second, third) == ("created", "unchanged", "updated")
    assert same == made
    assert changed.data == {"x": "2"}
    assert changed.metadata.labels == {"a": "1", "b": "2"}
    assert wanted.metadata.resource_version == ""


async def test_server_defaults_do_not_count_as_a_change(client: Any, namespace: str) -> None:
    services = client.core_v1.services(namespace)
    wanted = {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}

    def make(found: Service) -> None:
        found.metadata.labels["here"] = "yes"

    first, _ = await services.create_or_update(Service.from_dict(wanted), make)
    again, outcome = await services.create_or_update(Service.from_dict(wanted), make)

    assert outcome == "unchanged"
    assert (again.metadata.labels, again) == ({"here": "yes"}, first)


async def test_a_dry_run_of_create_or_update_stores_nothing(maps: Any) -> None:
    _, created = await maps.create_or_update(ConfigMap.new("dry", data={"a": "1"}), dry_run=True)
    _, updated = await maps.create_or_update(ConfigMap.new("counter", data={"count": "9"}), dry_run=True)
    tried = await maps.update_with_retry("counter", count_up, dry_run=True)

    assert (created, updated, tried.data) == ("created", "updated", {"count": "1"})
    assert (await maps.get("counter")).data == {"count": "0"}
    with pytest.raises(NotFoundError):
        await maps.get("dry")


async def test_of_many_concurrent_creates_one_wins_and_all_updates_survive(maps: Any, others: Any) -> None:
    async def make(mine: Any) -> str:
        _, outcome = await mine.create_or_update(ConfigMap.new("raced"), count_up, attempts=MANY)
        assert isinstance(outcome, str)
        return outcome

    outcomes = await asyncio.gather(*(make(mine) for mine in (maps, others, maps, others)))

    assert sorted(outcomes) == ["created", "updated", "updated", "updated"]
    assert (await maps.get("raced")).data == {"count": "4"}


async def test_objects_without_a_type_are_changed_the_same_way(client: Any, namespace: str) -> None:
    maps = client.dynamic("cm", namespace=namespace)
    wanted = Unstructured.from_dict(named("v1", "ConfigMap", "plain", data={"a": "1"}))

    def change(found: Unstructured) -> None:
        found["data"]["a"] = "2"

    _, outcome = await maps.create_or_update(wanted)
    _, again = await maps.create_or_update(wanted)
    changed = await maps.update_with_retry("plain", change)

    assert (outcome, again, changed["data"]) == ("created", "unchanged", {"a": "2"})


async def test_any_function_can_be_repeated_after_a_conflict(cluster: Cluster, facade: str, maps: Any) -> None:
    stale = await maps.get("counter")
    await maps.patch("counter", Patch.merge({"data": {"count": "5"}}))
    known = [stale, None]

    if facade == "aio":

        async def attempt() -> ConfigMap:
            found = known.pop(0) or await maps.get("counter")
            count_up(found)
            result: ConfigMap = await maps.update(found)
            return result

        changed = await masthead.aio.retry_on_conflict(attempt)
    else:
        with masthead.Client(cluster.config) as blocking:
            mine = blocking.core_v1.config_maps(maps.namespace)

            def blocked() -> ConfigMap:
                found = known.pop(0) or mine.get("counter")
                count_up(found)
                return mine.update(found)

            changed = await asyncio.to_thread(masthead.retry_on_conflict, blocked)

    assert changed.data == {"count": "6"}
    assert not known
