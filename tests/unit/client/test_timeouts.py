"""``timeout_seconds`` of lists and of collections that are deleted, in virtual time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.unit.client.scripted import FakeResponse, FakeTransport, SentRequest, failure, reply

from masthead._auth.tokens import AnonymousCredentials
from masthead._client.base import ClientContext, Defaults
from masthead._client.resource import ResourceClient
from masthead._client.resource_target import typed_target
from masthead._rest.client import RestClient
from masthead.api.core.v1 import ConfigMap
from masthead.errors import DeadlineError, MastheadError
from masthead.testing.virtual_time import in_virtual_time, now

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead._transport.contract import TransportRequest

Maps = ResourceClient[ConfigMap]


class SlowTransport(FakeTransport):
    """Responds two seconds after each request, unless its timeout is shorter."""

    async def send(self, request: TransportRequest) -> FakeResponse:
        response = await super().send(request)
        wait = 2.0 if request.timeout is None else min(2.0, request.timeout)
        await asyncio.sleep(wait)
        if wait < 2.0:
            raise DeadlineError("no response in time")
        return response


def maps_over(network: FakeTransport) -> Maps:
    context = ClientContext(RestClient(network, AnonymousCredentials()), Defaults())
    return ResourceClient(context, typed_target(ConfigMap), "default")


async def consume(maps: Maps) -> None:
    async for _ in maps.iter(timeout_seconds=5, page_size=1):
        pass


def respond_with_a_page(request: SentRequest) -> FakeResponse:
    token = str(int(request.query.get("continue", "0")) + 1)
    metadata = {"resourceVersion": "7", "continue": token}
    return reply({"apiVersion": "v1", "kind": "ConfigMapList", "metadata": metadata, "items": []})


@pytest.mark.parametrize(
    "operate",
    [
        lambda maps: maps.list(timeout_seconds=5, page_size=1),
        lambda maps: maps.table(timeout_seconds=5, page_size=1),
        consume,
    ],
    ids=["list", "table", "iter"],
)
@in_virtual_time
async def test_a_list_of_endless_pages_ends_with_its_timeout(
    operate: Callable[[Maps], Awaitable[object]],
) -> None:
    network, start = SlowTransport(respond_with_a_page), now()

    with pytest.raises(DeadlineError) as raised:
        await operate(maps_over(network))

    assert raised.value.__notes__ == ["All pages of the list together had 5 s: timeout_seconds."]
    assert now() - start == pytest.approx(5)
    assert len(network.sent) == 3
    assert {request.query["timeoutSeconds"] for request in network.sent} == {"5"}


@pytest.mark.parametrize(
    "operate",
    [lambda maps: maps.list(timeout_seconds=3), lambda maps: maps.delete_collection(timeout_seconds=3)],
    ids=["list", "delete_collection"],
)
@in_virtual_time
async def test_retries_end_with_the_timeout(operate: Callable[[Maps], Awaitable[object]]) -> None:
    network, start = FakeTransport(lambda _: reply(failure(429, "TooManyRequests"), 429)), now()

    with pytest.raises(MastheadError):
        await operate(maps_over(network))

    assert now() - start <= 3
