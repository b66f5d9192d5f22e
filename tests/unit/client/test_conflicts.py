"""Concurrent updates and retries on conflict: the async façade, against the embedded server."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._auth.tokens import BearerToken
from masthead._client.base import ClientContext, Defaults
from masthead._client.conflicts import retry_on, retry_on_conflict
from masthead._client.create_or_update import apply_mutation, overlay, prepare_create, retry_schedule
from masthead._client.resource import ResourceClient
from masthead._client.resource_target import typed_target
from masthead._meta.patch import Patch
from masthead._meta.secret import Secret
from masthead._rest.client import RestClient
from masthead._sansio.backoff import Attempts
from masthead._transport.http import HttpTransport
from masthead.api.core.v1 import ConfigMap, Namespace, Service
from masthead.errors import (
    AlreadyExistsError,
    ApplyConflictError,
    ArgumentError,
    ConflictError,
    NotFoundError,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from masthead.server import Server

AT_ONCE = Attempts(count=3, first=0.0, factor=1.0, jitter=0.0)


@asynccontextmanager
async def config_maps(server: Server, namespace: str | None = "default") -> AsyncIterator[ResourceClient[ConfigMap]]:
    rest = RestClient(HttpTransport(server.url, tls=None), BearerToken(Secret(server.token or "")))
    try:
        yield ResourceClient(ClientContext(rest, Defaults()), typed_target(ConfigMap), namespace)
    finally:
        await rest.close()


def verbs(server: Server) -> list[str]:
    return [request.info.verb for request in server.requests]


class Flaky:
    """Fails some times, then returns how often it was called."""

    def __init__(self, error: Exception, times: int) -> None:
        self.error, self.times, self.calls = error, times, 0

    async def __call__(self) -> int:
        self.calls += 1
        if self.calls <= self.times:
            raise self.error
        return self.calls


async def test_a_conflict_is_retried() -> None:
    assert await retry_on_conflict(Flaky(ConflictError("taken"), 2), attempts=AT_ONCE) == 3
    assert await retry_on_conflict(Flaky(ConflictError("taken"), 4)) == 5


async def test_an_apply_that_conflicts_with_other_managers_is_not_retried() -> None:
    flaky = Flaky(ApplyConflictError("owned"), 1)
    with pytest.raises(ApplyConflictError):
        await retry_on_conflict(flaky, attempts=AT_ONCE)
    with pytest.raises(ApplyConflictError):
        await retry_on(Flaky(ApplyConflictError("owned"), 1), ConflictError, Exception, attempts=AT_ONCE)
    assert flaky.calls == 1
    assert await retry_on(Flaky(ApplyConflictError("owned"), 1), ApplyConflictError, attempts=AT_ONCE) == 2


async def test_the_last_conflict_is_raised() -> None:
    flaky = Flaky(ConflictError("taken"), 9)
    with pytest.raises(ConflictError, match="taken"):
        await retry_on_conflict(flaky, attempts=2)
    assert flaky.calls == 2


@pytest.mark.parametrize("error", [AlreadyExistsError("there"), NotFoundError("gone"), KeyError("mine")])
async def test_only_a_conflict_is_retried(error: Exception) -> None:
    flaky = Flaky(error, 1)
    with pytest.raises(type(error)):
        await retry_on_conflict(flaky)
    assert flaky.calls == 1


async def test_other_errors_can_be_named() -> None:
    assert await retry_on(Flaky(KeyError("a"), 1), KeyError, NotFoundError, attempts=AT_ONCE) == 2


async def test_the_backoff_can_be_cancelled() -> None:
    flaky = Flaky(ConflictError("taken"), 9)
    for_ever = Attempts(count=2, first=1e6, factor=1.0, jitter=0.0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await retry_on_conflict(flaky, attempts=for_ever)
    assert flaky.calls == 1


@pytest.mark.parametrize("attempts", [0, -1])
def test_one_attempt_is_the_least(attempts: int) -> None:
    with pytest.raises(ArgumentError, match="it must be at least 1"):
        retry_schedule(attempts)


@given(st.integers(1, 20))
def test_there_is_one_wait_fewer_than_there_are_attempts(attempts: int) -> None:
    assert len(list(retry_schedule(attempts).delays(lambda: 0.5))) == attempts - 1


def add_one(obj: ConfigMap) -> None:
    obj.data["count"] = str(int(obj.data.get("count", "0")) + 1)


async def test_a_mutation_is_repeated_on_the_latest_object(kube_server: Server) -> None:
    async with config_maps(kube_server) as maps:
        await maps.create(ConfigMap.new("a"))
        kube_server.faults.conflict(verb="update", times=2)
        changed_ = await maps.update_with_retry("a", add_one, attempts=AT_ONCE)
        assert changed_.data == {"count": "1"}
        assert verbs(kube_server) == ["create", *["get", "update"] * 3]


async def test_concurrent_updates_lose_no_change(kube_server: Server) -> None:
    async with config_maps(kube_server) as maps:
        await maps.create(ConfigMap.new("a"))
        async with asyncio.TaskGroup() as tasks:
            for _ in range(8):
                tasks.create_task(maps.update_with_retry("a", add_one, attempts=100))
        assert (await maps.get("a")).data == {"count": "8"}


async def test_an_unchanged_object_is_not_written(kube_server: Server) -> None:
    async with config_maps(kube_server) as maps:
        await maps.create(ConfigMap.new("a", data={"b": "c"}))
        same = await maps.update_with_retry("a", lambda obj: obj.data.update(b="c"))
        assert same.data == {"b": "c"}
        assert verbs(kube_server) == ["create", "get"]


async def test_a_cached_object_is_copied_and_after_a_conflict_read_from_the_server(
    kube_server: Server,
) -> None:
    async with config_maps(kube_server, None) as maps:
        cached = await maps.create(ConfigMap.new("a", namespace="default"))
        before = cached.to_json()
        await maps.update(ConfigMap.new("a", namespace="default", data={"count": "5"}))

        async def from_cache() -> ConfigMap:
            return cached

        assert (await maps.update_with_retry(from_cache, add_one)).data == {"count": "6"}
        assert cached.to_json() == before
        assert verbs(kube_server) == ["create", "update", "update", "get", "update"]


async def test_the_last_conflict_of_an_update_is_raised_and_a_missing_object_is_not_found(
    kube_server: Server,
) -> None:
    async with config_maps(kube_server) as maps:
        await maps.create(ConfigMap.new("a"))
        kube_server.faults.conflict(verb="update", times=None)
        with pytest.raises(ConflictError):
            await maps.update_with_retry("a", add_one, attempts=AT_ONCE)
        with pytest.raises(NotFoundError):
            await maps.update_with_retry("b", add_one)


async def test_an_object_is_created_then_left_alone_then_updated(kube_server: Server) -> None:
    wanted = ConfigMap.new("a", labels={"app": "web"}, data={"b": "1"})
    before = wanted.to_json()
    async with config_maps(kube_server) as maps:
        made, outcome = await maps.create_or_update(wanted)
        assert (made.data, outcome) == ({"b": "1"}, "created")
        await maps.patch("a", Patch.merge({"metadata": {"labels": {"other": "kept"}}, "data": {"c": "2"}}))
        updated, outcome = await maps.create_or_update(wanted)
        assert (updated.data, outcome) == ({"b": "1"}, "updated")
        assert updated.metadata.labels == {"app": "web", "other": "kept"}
        same, outcome = await maps.create_or_update(wanted)
        assert (same.metadata.resource_version, outcome) == (updated.metadata.resource_version, "unchanged")
    assert verbs(kube_server) == ["get", "create", "patch", "get", "update", "get"]
    assert wanted.to_json() == before


async def test_mutate_is_applied_whether_the_object_exists_or_not(
    kube_server: Server,
) -> None:
    wanted = ConfigMap.new("a")
    async with config_maps(kube_server) as maps:
        first, outcome = await maps.create_or_update(wanted, add_one)
        assert (first.data, outcome) == ({"count": "1"}, "created")
        second, outcome = await maps.create_or_update(wanted, add_one)
        assert (second.data, outcome) == ({"count": "2"}, "updated")
        _, outcome = await maps.create_or_update(wanted, lambda _: None)
        assert outcome == "unchanged"


async def test_races_with_concurrent_creates_and_deletes_are_retried(kube_server: Server) -> None:
    async with config_maps(kube_server) as maps:
        await maps.create(ConfigMap.new("a"))
        # It seems not to be there, so it is created, which fails; the next attempt finds it.
        kube_server.faults.fail(404, reason="NotFound", verb="get")
        _, outcome = await maps.create_or_update(ConfigMap.new("a", data={"b": "c"}), attempts=AT_ONCE)
        assert outcome == "updated"
        # It goes between being read and being written.
        kube_server.faults.fail(404, reason="NotFound", verb="update")
        again, outcome = await maps.create_or_update(ConfigMap.new("a", data={"b": "d"}), attempts=AT_ONCE)
        assert (again.data, outcome) == ({"b": "d"}, "updated")
        kube_server.faults.fail(404, reason="NotFound", verb="update", times=None)
        with pytest.raises(ConflictError, match="was deleted after it was read"):
            await maps.create_or_update(ConfigMap.new("a", data={"b": "e"}), attempts=AT_ONCE)


async def test_an_unchanged_resource_version_means_unchanged_despite_server_defaults(
    kube_server: Server,
) -> None:
    wanted = Service.new("a", namespace="default", spec={"ports": [{"port": 80}]})

    async with config_maps(kube_server) as maps:
        services = ResourceClient(maps._context, typed_target(Service), "default")
        assert (await services.create_or_update(wanted))[1] == "created"
        live, outcome = await services.create_or_update(wanted)
        assert outcome == "unchanged"
        assert live.spec.cluster_ip
        assert (await services.create_or_update(wanted, dry_run=True))[1] == "updated"


async def test_an_object_to_create_or_update_has_a_name(kube_server: Server) -> None:
    async with config_maps(kube_server) as maps:
        with pytest.raises(ArgumentError, match=r"set metadata\.name"):
            await maps.create_or_update(ConfigMap.new(generate_name="a-"))


def live(**data: str) -> ConfigMap:
    text = ConfigMap.from_dict(
        {"metadata": {"name": "a", "namespace": "default", "resourceVersion": "7", "uid": "u"}, "data": data}
    ).to_json()
    return ConfigMap.from_wire(text)


def test_another_object_may_be_returned_and_keeps_the_version_that_was_read() -> None:
    other = apply_mutation(live(a="1"), lambda _: ConfigMap.new("a", namespace="default", data={"b": "2"}))
    assert other is not None
    assert (other.data, other.metadata.resource_version) == ({"b": "2"}, "7")
    assert apply_mutation(live(a="1"), lambda obj: obj.copy()) is None


def test_an_invalid_result_of_mutate_is_rejected() -> None:
    with pytest.raises(TypeError, match="mutate returned str"):
        apply_mutation(live(), cast("Any", lambda obj: obj.data.setdefault("a", "b")))


def test_mutate_may_not_change_the_identity_of_the_object() -> None:
    def rename(obj: ConfigMap) -> None:
        obj.metadata.name = "b"

    with pytest.raises(ArgumentError, match="default/b out of default/a"):
        apply_mutation(live(), rename)
    with pytest.raises(ArgumentError, match="b out of a"):
        prepare_create(ConfigMap.new("a"), rename)


def test_a_created_object_drops_uid_and_resource_version() -> None:
    made = prepare_create(live(a="1"), None)
    assert (made.metadata.resource_version, made.metadata.uid, made.data) == ("", "", {"a": "1"})


def test_status_and_finalizers_of_the_live_object_stay() -> None:
    found = Namespace.from_dict(
        {
            "metadata": {"name": "a", "finalizers": ["x"], "resourceVersion": "7"},
            "status": {"phase": "Active"},
        }
    )
    assert overlay(found, Namespace.new("a", status={"phase": "Terminating"})) is None
    over = overlay(found, Namespace.new("a", annotations={"b": "c"}))
    assert over is not None
    assert over.to_dict() == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "a", "finalizers": ["x"], "resourceVersion": "7", "annotations": {"b": "c"}},
        "status": {"phase": "Active"},
    }


def test_owners_and_finalizers_are_added_to_the_existing_ones() -> None:
    found = ConfigMap.from_dict(
        {
            "metadata": {
                "name": "a",
                "finalizers": ["x"],
                "ownerReferences": [owner("1", "old name"), owner("2", "other")],
            }
        }
    )
    wanted = ConfigMap.from_dict(
        {"metadata": {"name": "a", "finalizers": ["x", "y"], "ownerReferences": [owner("1"), owner("3")]}}
    )

    over = overlay(found, wanted)

    assert over is not None
    assert over.metadata.finalizers == ["x", "y"]
    assert [(owner_reference.uid, owner_reference.name) for owner_reference in over.metadata.owner_references] == [
        ("1", "web"),
        ("2", "other"),
        ("3", "web"),
    ]
    assert overlay(over, wanted) is None


def owner(uid: str, name: str = "web") -> dict[str, object]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": uid}
