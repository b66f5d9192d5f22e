"""Memory for request bodies: bounded, and never held by clients that send nothing."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.endpoint.test_http_server import Client

from masthead._endpoint.bind_address import BindAddress
from masthead._endpoint.body_memory import BODY_STEP, BodyMemory
from masthead._endpoint.http_limits import ServerLimits
from masthead._endpoint.http_requests import EndpointResponse, RequestError, text_response
from masthead._endpoint.http_server import EndpointServer
from masthead.testing.virtual_time import in_virtual_time, now

if TYPE_CHECKING:
    from masthead._endpoint.http_requests import EndpointRequest

STEPS = 4
LIMITS = ServerLimits(methods=("POST",), max_body=STEPS * BODY_STEP, max_buffered=STEPS * BODY_STEP)


class Handler:
    """Returns the length of a body; waits for `release` at the path ``/slow``."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.release = asyncio.Event()

    async def __call__(self, request: EndpointRequest) -> EndpointResponse:
        if request.path == "/slow":
            self.begun.set()
            await self.release.wait()
        return text_response(str(len(request.body)))


def serve(handler: Handler | None = None) -> EndpointServer:
    return EndpointServer(handler or Handler(), BindAddress("127.0.0.1", 0), "webhooks", limits=LIMITS)


def head(length: int, path: str = "/") -> bytes:
    return f"POST {path} HTTP/1.1\r\nContent-Length: {length}\r\n\r\n".encode()


async def begin(server: EndpointServer, sent: int, length: int = LIMITS.max_body) -> Client:
    """Send a part of a body, and wait until the server has read it."""
    client = await Client.connect(server)
    await client.send(head(length) + b" " * sent)
    # Virtual time advances only when nobody has anything to read.
    await asyncio.sleep(0.01)
    return client


async def post(server: EndpointServer, length: int) -> tuple[int, bytes]:
    client = await Client.connect(server)
    await client.send(head(length) + b" " * length)
    response = await client.response()
    client.close()
    return response


@in_virtual_time
async def test_declared_lengths_reserve_no_memory() -> None:
    async with serve() as server:
        silent = [await begin(server, 0) for _ in range(STEPS - 1)]
        assert await post(server, 100) == (200, b"100")
        for client in silent:
            client.close()


@in_virtual_time
async def test_the_body_that_waited_longest_is_refused() -> None:
    async with serve() as server:
        clients = [await begin(server, 0) for _ in range(STEPS)]
        assert await post(server, 2 * BODY_STEP) == (200, b"%d" % (2 * BODY_STEP))
        for client in clients[:2]:
            assert (await client.response())[0] == 503
            assert await client.is_closed()
        assert now() < LIMITS.body_timeout
        await clients[-1].send(b" " * LIMITS.max_body)
        assert await clients[-1].response() == (200, b"%d" % LIMITS.max_body)
        for client in clients:
            client.close()


@in_virtual_time
async def test_almost_complete_bodies_that_stall_give_way() -> None:
    async with serve() as server:
        stalled = await begin(server, LIMITS.max_body - 1)
        assert await post(server, LIMITS.max_body) == (200, b"%d" % LIMITS.max_body)
        assert (await stalled.response())[0] == 503
        stalled.close()


@in_virtual_time
async def test_a_drip_of_bytes_is_no_progress() -> None:
    async with serve() as server:
        dripping = [await begin(server, 0) for _ in range(STEPS)]
        for client in dripping:
            await client.send(b"x")
        await asyncio.sleep(0.01)
        assert await post(server, 100) == (200, b"100")
        assert (await dripping[0].response())[0] == 503
        for client in dripping:
            client.close()


@in_virtual_time
async def test_requests_being_handled_keep_their_memory() -> None:
    handler = Handler()
    async with serve(handler) as server:
        slow = await Client.connect(server)
        await slow.send(head(LIMITS.max_body, "/slow") + b" " * LIMITS.max_body)
        await handler.begun.wait()
        assert await post(server, 100) == (503, b"too many large requests at the same time\n")
        handler.release.set()
        assert await slow.response() == (200, b"%d" % LIMITS.max_body)
        assert await post(server, 100) == (200, b"100")
        slow.close()


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["grow", "complete", "close"]), st.integers(1, 60))))
def test_memory_is_bounded_and_progress_is_refused_only_for_requests_being_handled(
    actions: list[tuple[int, str, int]],
) -> None:
    memory = BodyMemory(100)
    stacks = [ExitStack() for _ in range(6)]
    bodies = [stack.enter_context(memory.open()) for stack in stacks]
    handled: set[int] = set()
    for index, action, size in actions:
        body = bodies[index]
        if action == "close" or body.is_evicted:
            stacks[index].close()
            bodies[index] = stacks[index].enter_context(memory.open())
            handled.discard(index)
        elif action == "complete":
            memory.complete(body)
            handled.add(index)
        elif index not in handled:
            own, others = body.size, sum(bodies[other].size for other in handled)
            if own + others + size > 100:
                with pytest.raises(RequestError):
                    memory.grow(body, size)
            else:
                memory.grow(body, size)
                assert body.size == own + size
        assert memory.reserved == sum(body.size for body in bodies) <= 100
        assert not any(bodies[done].is_evicted for done in handled)
    for stack in stacks:
        stack.close()
    assert memory.reserved == 0
