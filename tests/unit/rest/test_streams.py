"""Responses that are read while they arrive."""

from __future__ import annotations

import pytest
from tests.unit.rest.scripted import FakeResponse, client, watch

from masthead.errors import DeadlineError, ExpiredError, ProtocolError
from masthead.testing.virtual_time import in_virtual_time


@in_virtual_time
async def test_lines_received_in_one_chunk_are_yielded_at_once() -> None:
    rest, network = client(FakeResponse(body=[b'{"a":1}\n{"b":2}\n{"c"', b":3", b"}\n", b'{"cut']))
    async with await rest.open(watch()) as stream:
        assert stream.content_type == "application/json"
        batches = [batch async for batch in stream.batches()]
    assert batches == [[b'{"a":1}', b'{"b":2}'], [b'{"c":3}']]
    assert not network.leaks


@in_virtual_time
async def test_bytes_are_yielded_as_they_arrive() -> None:
    rest, _ = client(FakeResponse(body=[b"a", b"b\n"], headers=[("Content-Type", "text/plain")]))
    async with await rest.open(watch(accept="*/*")) as stream:
        assert [piece async for piece in stream.chunks()] == [b"a", b"b\n"]


@in_virtual_time
async def test_a_broken_stream_raises_after_its_complete_lines() -> None:
    rest, _ = client(FakeResponse(body=[b"1\n2"], broken=DeadlineError("silent")))
    async with await rest.open(watch()) as stream:
        batches = stream.batches()
        assert await anext(batches) == [b"1"]
        with pytest.raises(DeadlineError, match="silent"):
            await anext(batches)


@in_virtual_time
async def test_leaving_the_block_closes_the_stream() -> None:
    reply = FakeResponse()
    rest, _ = client(reply)
    with pytest.raises(KeyError):
        async with await rest.open(watch()):
            raise KeyError
    assert reply.is_closed


@in_virtual_time
async def test_a_refused_stream_is_an_error_and_leaves_nothing_open() -> None:
    rest, network = client(FakeResponse(410, b"too old"), FakeResponse(headers=[("Content-Type", "text/plain")]))
    with pytest.raises(ExpiredError, match="watch pods: too old"):
        await rest.open(watch())
    with pytest.raises(ProtocolError, match="watch pods: the response is text/plain instead of JSON"):
        await rest.open(watch())
    assert not network.leaks


@in_virtual_time
async def test_a_stream_without_a_content_type_is_accepted() -> None:
    rest, _ = client(FakeResponse(headers=[]))
    (await rest.open(watch())).close()
