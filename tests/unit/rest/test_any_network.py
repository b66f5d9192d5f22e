"""Guarantees that hold however the network behaves and whenever the caller cancels."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.rest.scripted import JSON, FakeCredentials, FakeResponse, client, create, get, watch

from masthead._rest.response import Response
from masthead._rest.response_stream import ResponseStream
from masthead._rest.settings import RestSettings
from masthead.errors import ConnectError, DeadlineError, MastheadError, ProtocolError, TransportError
from masthead.testing.virtual_time import in_virtual_time, now

if TYPE_CHECKING:
    from tests.unit.rest.scripted import FakeTransport

    from masthead._rest.call import Call
    from masthead._rest.client import RestClient

ATTEMPTS, TIMEOUT = 4, 20.0
SETTINGS = RestSettings(attempts=ATTEMPTS, timeout=TIMEOUT, rate=5, burst=2)
CALLS = [get(), create(), watch()]

_errors = st.sampled_from([ConnectError, DeadlineError, ProtocolError]).map(lambda kind: kind("no luck"))
_retry_after = st.sampled_from(["", "0", "2", "15", "9999", "soon"])
_kinds = st.sampled_from([JSON, "text/html", ""])
_bodies = st.sampled_from([b"", b"{}", b"{half", b"<html>", b'{"kind":"Status","status":"Failure","code":409}'])


@st.composite
def replies(draw: st.DrawFn) -> FakeResponse:
    heads = [("Retry-After", draw(_retry_after)), ("Content-Type", draw(_kinds)), ("Warning", '299 - "w"')]
    return FakeResponse(
        draw(st.sampled_from([200, 201, 304, 302, 401, 404, 409, 429, 500, 502, 503])),
        draw(_bodies),
        heads,
        broken=draw(st.none() | st.sampled_from([ProtocolError("cut"), DeadlineError("silent")])),
        takes=draw(st.sampled_from([0.0, 1.0, 6.0])),
    )


scripts = st.lists(replies() | _errors, min_size=ATTEMPTS + 1, max_size=ATTEMPTS + 1)


def made_of(script: list[FakeResponse | Exception]) -> tuple[RestClient, FakeTransport]:
    return client(*script, badge=FakeCredentials(["a", "b", "c"]), settings=SETTINGS, luck=0.5)


async def outcome(rest: RestClient, call: Call) -> object:
    try:
        if call.subject.verb == "watch":
            async with await rest.open(call) as stream:
                return stream
        return await rest.call(call)
    except MastheadError as error:
        return error


@given(st.sampled_from(CALLS), scripts)
@in_virtual_time
async def test_every_call_ends_in_time_with_a_response_or_a_masthead_error(
    call: Call, script: list[FakeResponse | Exception]
) -> None:
    rest, network = made_of(script)
    result = await outcome(rest, call)
    assert isinstance(result, (Response, ResponseStream, MastheadError))
    assert not network.leaks
    assert {request.body for request in network.requests} == {call.body}
    assert len(network.times) <= ATTEMPTS + 1  # one for renewed credentials
    assert max(network.times) < TIMEOUT
    if isinstance(result, TransportError):
        assert (result.verb, result.url) == (call.method, call.path)


@given(scripts)
@in_virtual_time
async def test_a_write_the_server_may_have_seen_is_retried_only_with_retry_after(
    script: list[FakeResponse | Exception],
) -> None:
    rest, network = made_of(script)
    await outcome(rest, create())
    for before in script[: len(network.times) - 1]:
        assert not isinstance(before, (ProtocolError, DeadlineError))
        if isinstance(before, FakeResponse):
            assert before.status in {401, 429, 500, 502, 503}
            assert before.status == 401 or before.header("Retry-After").isdigit()


@given(st.sampled_from(CALLS), scripts, st.integers(0, 200))
@in_virtual_time
async def test_a_call_can_be_cancelled_at_any_moment(
    call: Call, script: list[FakeResponse | Exception], tenths: int
) -> None:
    rest, network = made_of(script)
    calling = asyncio.get_running_loop().create_task(outcome(rest, call))
    await asyncio.sleep(tenths / 10)
    if calling.cancel():
        with pytest.raises(asyncio.CancelledError):
            await calling
        assert now() == pytest.approx(tenths / 10)
    assert not network.leaks


@in_virtual_time
async def test_cancelling_a_read_closes_the_response() -> None:
    class Stalled(FakeResponse):
        async def read(self) -> bytes:
            await asyncio.sleep(50)
            return b""

    reply = Stalled()
    rest, _ = client(reply)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await rest.call(get())
    assert reply.is_closed
