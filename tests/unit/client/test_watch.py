"""Watches on a scripted network, in virtual time: what they deliver, and how they resume."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from typing import TYPE_CHECKING

import pytest
from tests.unit.client.scripted import FakeResponse, FakeTransport, SentRequest, failure, reply, stream

from masthead._auth.tokens import AnonymousCredentials
from masthead._client.base import ClientContext, Defaults
from masthead._client.resource import ResourceClient
from masthead._client.resource_target import typed_target
from masthead._rest.client import RestClient
from masthead.api.core.v1 import ConfigMap
from masthead.errors import ConnectError, DeadlineError, InternalServerError, ServiceUnavailableError
from masthead.testing.virtual_time import in_virtual_time, now

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from masthead._client.watch_event import WatchEvent


def maps_over(network: FakeTransport) -> ResourceClient[ConfigMap]:
    """The config maps behind a client with every default, retries of calls included."""
    return ResourceClient(
        ClientContext(RestClient(network, AnonymousCredentials()), Defaults()), typed_target(ConfigMap), "default"
    )


def event(type_: str, name: str, version: str) -> dict[str, object]:
    metadata = {"name": name, "namespace": "default", "resourceVersion": version}
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    return {"type": type_, "object": {**kind, "metadata": metadata if name else {"resourceVersion": version}}}


END_OF_INITIAL = {
    "type": "BOOKMARK",
    "object": {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"resourceVersion": "5", "annotations": {"k8s.io/initial-events-end": "true"}},
    },
}


@in_virtual_time
async def test_a_bookmark_that_is_not_delivered_is_resumed_from() -> None:
    streams = iter(
        [
            stream(event("ADDED", "a", "5"), event("BOOKMARK", "", "90"), stays_open=False),
            stream(event("ADDED", "b", "91")),
        ]
    )
    network = FakeTransport(lambda _: next(streams))

    async with maps_over(network).watch(resource_version="4") as events:
        seen = [(each.type, each.object.key) async for each in _first(2, events)]

    assert seen == [("ADDED", "default/a"), ("ADDED", "default/b")]
    assert [each.query["resourceVersion"] for each in network.sent] == ["4", "90"]
    assert all(each.query["allowWatchBookmarks"] == "true" for each in network.sent)


@in_virtual_time
async def test_bookmarks_are_delivered_only_on_request() -> None:
    network = FakeTransport(lambda _: stream(event("BOOKMARK", "", "90")))

    async with maps_over(network).watch(resource_version="4", bookmarks=True) as events:
        found = await anext(events)

    assert (found.type, found.version) == ("BOOKMARK", "90")


@in_virtual_time
async def test_an_outage_causes_one_level_of_retries_every_second_or_two(
    caplog: pytest.LogCaptureFixture,
) -> None:
    moments: list[float] = []

    def respond(request: SentRequest) -> FakeResponse:
        if not request.is_watch:
            return reply({"metadata": {"name": "reached"}})
        moments.append(now())
        if now() < 600:
            raise ConnectError("connection refused")
        return stream(event("ADDED", "a", "5"))

    maps = maps_over(FakeTransport(respond))
    await maps.get("reached")
    with caplog.at_level(logging.INFO, "masthead"):
        async with maps.watch(resource_version="4") as events:
            assert (await anext(events)).object.metadata.name == "a"

    pauses = [later - earlier for earlier, later in itertools.pairwise(moments)]
    assert max(pauses) <= 1.601
    assert min(pauses[3:]) >= 1.599
    assert {record.name for record in caplog.records} == {"masthead.client"}
    assert 5 <= len(caplog.records) <= 10  # ever more rarely


@in_virtual_time
async def test_a_watch_of_a_server_that_was_never_reached_fails_soon_as_any_call_does() -> None:
    def respond(_: SentRequest) -> FakeResponse:
        raise ConnectError("connection refused")

    async with maps_over(FakeTransport(respond)).watch() as events:
        with pytest.raises(ConnectError, match="connection refused"):
            await anext(events)
        assert now() < 2


@in_virtual_time
async def test_a_watch_that_has_no_version_yet_is_logged_as_starting_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    replies = itertools.chain(
        [reply(failure(503, "ServiceUnavailable"), 503)],
        itertools.repeat(stream(event("ADDED", "a", "5"), END_OF_INITIAL)),
    )

    async with maps_over(FakeTransport(lambda _: next(replies))).watch() as events:
        assert (await anext(events)).object.key == "default/a"

    [line] = [record.getMessage() for record in caplog.records]
    assert "a watch starts over in " in line


@in_virtual_time
async def test_a_watch_from_an_invalid_version_ends_at_once_though_the_response_is_500() -> None:
    message = 'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'
    network = FakeTransport(lambda _: reply({**failure(500, "InternalError"), "message": message}, 500))

    async with maps_over(network).watch(resource_version="abc") as events:
        with pytest.raises(InternalServerError, match="Give a version that this server has returned"):
            await anext(events)

    assert len(network.sent) == 1


@in_virtual_time
async def test_the_initial_list_of_a_watch_is_retried_by_the_watch_alone() -> None:
    moments: list[float] = []

    def respond(request: SentRequest) -> FakeResponse:
        if request.is_watch:
            return reply(failure(422, "Invalid"), 422)
        moments.append(now())
        if len(moments) < 4:
            return reply(failure(503, "ServiceUnavailable"), 503)
        return reply({"metadata": {"resourceVersion": "5"}, "items": [{"metadata": {"name": "a"}}]})

    async with maps_over(FakeTransport(respond)).watch() as events:
        assert (await anext(events)).object.metadata.name == "a"

    pauses = [later - earlier for earlier, later in itertools.pairwise(moments)]
    assert [0.8 * 2**index <= pause <= 1.6 * 2**index for index, pause in enumerate(pauses)] == [True] * 3


@in_virtual_time
async def test_a_watch_with_a_timeout_ends_across_its_connections() -> None:
    streams = iter(
        [
            stream(event("ADDED", "a", "5"), stays_open=False),
            stream(event("ADDED", "b", "6")),
        ]
    )
    network = FakeTransport(lambda _: next(streams))
    start = now()

    async with maps_over(network).watch(resource_version="4", timeout_seconds=10) as events:
        seen = [found.object.key async for found in events]

    assert seen == ["default/a", "default/b"]
    assert now() - start == pytest.approx(10)
    first, second = (int(request.query["timeoutSeconds"]) for request in network.sent)
    assert (first, second) in {(10, 9), (10, 10)}
    assert events.version == "6"


@pytest.mark.parametrize("raw", [False, True])
@in_virtual_time
async def test_a_watch_ends_although_the_server_ignores_its_timeout_and_never_pauses(raw: bool) -> None:
    class Endless(FakeResponse):
        async def chunks(self) -> AsyncIterator[bytes]:
            for version in itertools.count(5):
                if version % 100 == 0:
                    await asyncio.sleep(1)
                yield json.dumps(event("MODIFIED", "a", str(version))).encode() + b"\n"

    start = now()

    async with maps_over(FakeTransport(lambda _: Endless())).watch(
        resource_version="4", timeout_seconds=3, raw=raw
    ) as events:
        async for _ in events:
            pass

    assert now() - start == pytest.approx(3)


@in_virtual_time
async def test_a_watch_whose_time_is_up_before_it_began_raises() -> None:
    network = FakeTransport(lambda _: reply(failure(503, "ServiceUnavailable"), 503))

    async with maps_over(network).watch(timeout_seconds=3) as events:
        with pytest.raises(ServiceUnavailableError):
            await anext(events)


@in_virtual_time
async def test_initial_objects_that_do_not_arrive_in_time_are_an_error() -> None:
    start = now()

    async with maps_over(FakeTransport(lambda _: stream(event("ADDED", "a", "5")))).watch(timeout_seconds=3) as events:
        with pytest.raises(DeadlineError, match="existing objects did not arrive within 3 s"):
            await anext(events)

    assert now() - start == pytest.approx(3)


@in_virtual_time
async def test_a_timeout_of_zero_is_no_timeout() -> None:
    network = FakeTransport(lambda _: stream(event("ADDED", "a", "5")))

    async with maps_over(network).watch(resource_version="4", timeout_seconds=0) as events:
        assert (await anext(events)).object.key == "default/a"
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60):
                await anext(events)


async def _first(count: int, events: AsyncIterator[WatchEvent[ConfigMap]]) -> AsyncIterator[WatchEvent[ConfigMap]]:
    async with asyncio.timeout(60):
        for _ in range(count):
            yield await anext(events)
