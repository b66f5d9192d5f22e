"""Which calls are retried, when, and which error is raised in the end."""

from __future__ import annotations

import asyncio
import logging
import math
from typing import Any

import pytest
from tests.unit.rest.scripted import (
    FakeCredentials,
    FakeResponse,
    client,
    create,
    get,
    html,
    retry_later,
    status,
    watch,
)

from masthead._rest.rate_limiter import RateLimit
from masthead._rest.settings import RestSettings
from masthead.errors import (
    ArgumentError,
    AuthError,
    ClosedError,
    ConnectError,
    DeadlineError,
    InternalServerError,
    NotFoundError,
    ProtocolError,
    ServiceUnavailableError,
    TooManyRequestsError,
    UnauthorizedError,
)
from masthead.testing.virtual_time import in_virtual_time, now


@in_virtual_time
async def test_a_call_is_retried_after_retry_after() -> None:
    rest, network = client(retry_later(3), retry_later(5, 503), FakeResponse())
    response = await rest.call(get())
    assert response.status == 200
    assert network.times == [0, 3, 8]
    assert not network.leaks


@in_virtual_time
async def test_a_repeated_write_carries_the_same_body() -> None:
    rest, network = client(retry_later(1), FakeResponse(201))
    await rest.call(create(b'{"a":1}'))
    assert [request.body for request in network.requests] == [b'{"a":1}'] * 2
    assert network.sent("content-type", 0) == network.sent("content-type", 1) == ["application/json"]


@in_virtual_time
async def test_seconds_in_a_status_count_like_the_header() -> None:
    busy = FakeResponse(429, status(429, "TooManyRequests", details={"retryAfterSeconds": 7}))
    rest, network = client(busy, FakeResponse())
    await rest.call(create())
    assert network.times == [0, 7]


@in_virtual_time
async def test_retries_are_limited() -> None:
    rest, network = client(*(retry_later(1) for _ in range(9)), settings=RestSettings(attempts=3))
    with pytest.raises(TooManyRequestsError) as caught:
        await rest.call(create())
    assert len(network.requests) == 3
    assert caught.value.__notes__ == ["This was attempt 3."]
    assert not network.leaks


@in_virtual_time
async def test_concurrent_calls_count_their_own_retries() -> None:
    rest, network = client(*(retry_later(1) for _ in range(200)), settings=RestSettings(attempts=10))
    call = create()
    outcomes = await asyncio.gather(*(rest.call(call) for _ in range(20)), return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {TooManyRequestsError}
    assert len(network.requests) == 200


@in_virtual_time
async def test_without_retries_the_first_error_response_is_raised() -> None:
    rest, network = client(retry_later(1), settings=RestSettings(attempts=1))
    with pytest.raises(TooManyRequestsError):
        await rest.call(get())
    assert len(network.requests) == 1


@in_virtual_time
async def test_a_read_is_retried_without_retry_after() -> None:
    rest, network = client(html(502), html(503), html(504), FakeResponse())
    assert (await rest.call(get())).status == 200
    assert len(network.requests) == 4


@in_virtual_time
async def test_a_write_is_not_retried_without_retry_after() -> None:
    rest, network = client(html(503))
    with pytest.raises(ServiceUnavailableError, match='an HTML page titled "Sign in"'):
        await rest.call(create())
    assert len(network.requests) == 1


@in_virtual_time
async def test_a_plain_500_is_final() -> None:
    rest, _ = client(FakeResponse(500, status(500, "InternalError", "it broke")))
    with pytest.raises(InternalServerError, match=r"get pods ns/web: it broke \(500 InternalError\)"):
        await rest.call(get())


@in_virtual_time
async def test_a_request_that_was_never_sent_is_retried_whatever_its_verb() -> None:
    rest, network = client(FakeResponse(), ConnectError("refused"), FakeResponse(201))
    await rest.call(get())
    await rest.call(create())
    assert network.times == [0, 0, 1]


@in_virtual_time
async def test_a_server_that_was_never_reached_fails_within_a_second() -> None:
    rest, network = client(*[ConnectError("10.0.0.1:6443 refused the connection")] * 3, origin="~/.kube/config")
    with pytest.raises(ConnectError) as caught:
        await rest.call(get())
    assert network.times == pytest.approx([0, 0.1, 0.3])
    assert str(caught.value) == (
        "get pods ns/web: 10.0.0.1:6443 refused the connection (the address is from ~/.kube/config)"
    )


@in_virtual_time
async def test_a_server_that_was_reached_before_is_retried_for_longer() -> None:
    rest, network = client(FakeResponse(), *[ConnectError("refused")] * 4, origin="~/.kube/config")
    await rest.call(get())
    with pytest.raises(ConnectError) as caught:
        await rest.call(get())
    assert network.times == pytest.approx([0, 0, 1, 3, 7])
    assert str(caught.value) == "get pods ns/web: refused"


@in_virtual_time
async def test_a_lost_read_is_retried_and_a_lost_write_is_not() -> None:
    rest, network = client(ProtocolError("lost"), FakeResponse(), ProtocolError("lost"))
    assert (await rest.call(get())).status == 200
    with pytest.raises(ProtocolError, match="create pods ns: lost"):
        await rest.call(create())
    assert len(network.requests) == 3


@in_virtual_time
async def test_a_truncated_body_is_requested_again_and_its_connection_closed() -> None:
    rest, network = client(FakeResponse(body=b'{"half', broken=ProtocolError("cut short")), FakeResponse())
    assert (await rest.call(get())).body == b"{}"
    assert not network.leaks


@in_virtual_time
async def test_the_error_names_its_subject_and_the_number_of_attempts() -> None:
    lost = ConnectError("GET /api/v1/namespaces/ns/pods/web: 10.0.0.1:6443 refused the connection", verb="GET")
    lost.__cause__ = OSError(111, "Connection refused")
    rest, _ = client(lost, lost, lost)
    with pytest.raises(ConnectError) as caught:
        await rest.call(get())
    assert str(caught.value) == "get pods ns/web: 10.0.0.1:6443 refused the connection"
    assert (caught.value.verb, caught.value.url) == ("GET", "/api/v1/namespaces/ns/pods/web")
    assert caught.value.attempts == 3
    assert caught.value.__cause__ is lost.__cause__


@in_virtual_time
async def test_the_last_error_mentions_a_different_earlier_one() -> None:
    rest, _ = client(retry_later(1, 503, b"starting"), FakeResponse(404, status(404, "NotFound", "no such pod")))
    with pytest.raises(NotFoundError) as caught:
        await rest.call(get())
    [attempt, before] = caught.value.__notes__
    assert attempt == "This was attempt 2."
    assert before.startswith("The previous attempt: get pods ns/web: starting (503 ServiceUnavailable)")


@in_virtual_time
async def test_each_retry_is_one_log_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "masthead.rest")
    rest, _ = client(retry_later(2), FakeResponse())
    await rest.call(get())
    assert caplog.messages == ["the API server: get pods ns/web: the server asked to retry later; retrying in 2.0 s"]


# Deadlines


@in_virtual_time
async def test_the_timeout_covers_all_attempts() -> None:
    rest, network = client(FakeResponse(503, b"", takes=4), FakeResponse(), settings=RestSettings(timeout=10))
    await rest.call(get())
    assert [request.timeout for request in network.requests] == [10, pytest.approx(5.9)]


@in_virtual_time
async def test_a_retry_that_would_start_after_the_deadline_fails_at_once() -> None:
    rest, _ = client(retry_later(10), FakeResponse(), settings=RestSettings(timeout=5))
    with pytest.raises(TooManyRequestsError):
        await rest.call(get())
    assert now() == 0


@in_virtual_time
async def test_a_call_may_override_or_disable_the_timeout() -> None:
    rest, network = client(FakeResponse(), FakeResponse(), FakeResponse())
    for timeout in (None, 1.5, math.inf):
        await rest.call(get(timeout=timeout))
    assert [request.timeout for request in network.requests] == [60, 1.5, None]


@in_virtual_time
async def test_the_time_a_login_takes_does_not_count_against_the_timeout() -> None:
    rest, network = client(FakeResponse(), badge=FakeCredentials(takes=500), settings=RestSettings(timeout=10))
    await rest.call(get())
    assert network.requests[0].timeout == 10


@in_virtual_time
async def test_a_streams_deadline_covers_the_response_head_only() -> None:
    rest, network = client(
        FakeResponse(takes=9), FakeResponse(takes=11), settings=RestSettings(timeout=10, read_timeout=30)
    )
    (await rest.open(watch())).close()
    assert (network.requests[0].timeout, network.requests[0].read_timeout) == (None, 30)
    with pytest.raises(DeadlineError, match=r"watch pods: no response began within 10 s; raise the timeout, or check"):
        await rest.open(watch())


@in_virtual_time
async def test_a_stream_without_read_timeout_has_no_limit_and_stays_a_stream() -> None:
    rest, network = client(FakeResponse(takes=10**6))
    (await rest.open(watch(read_timeout=math.inf, timeout=math.inf))).close()
    assert (network.requests[0].timeout, network.requests[0].read_timeout) == (None, math.inf)


@in_virtual_time
async def test_a_refused_stream_is_retried_only_with_retry_after() -> None:
    rest, network = client(retry_later(1), FakeResponse(), FakeResponse(503, b"no"))
    (await rest.open(watch())).close()
    assert network.times == [0, 1]
    with pytest.raises(ServiceUnavailableError):
        await rest.open(watch())


# Credentials


@in_virtual_time
async def test_rejected_credentials_are_renewed_and_sent_once_more() -> None:
    badge = FakeCredentials(["Bearer old", "Bearer new"])
    rest, network = client(FakeResponse(401, status(401, "Unauthorized")), FakeResponse(201), badge=badge)
    await rest.call(create(b"body"))
    assert badge.refused == ["Bearer old"]
    assert [network.sent("authorization", i) for i in (0, 1)] == [["Bearer old"], ["Bearer new"]]
    assert [request.body for request in network.requests] == [b"body", b"body"]
    assert not network.leaks


@in_virtual_time
async def test_credentials_are_renewed_once_and_no_more() -> None:
    badge = FakeCredentials(["a", "b", "c", "d"])
    rest, network = client(FakeResponse(401, b""), retry_later(1), FakeResponse(401, b""), badge=badge)
    with pytest.raises(UnauthorizedError):
        await rest.call(get())
    assert badge.refused == ["a"]
    assert len(network.requests) == 3


@in_virtual_time
async def test_credentials_that_cannot_be_renewed_are_not_sent_again() -> None:
    rest, network = client(FakeResponse(401, b""))
    with pytest.raises(UnauthorizedError):
        await rest.call(get())
    assert len(network.requests) == 1


@in_virtual_time
async def test_renewing_credentials_does_not_count_as_a_retry() -> None:
    rest, _ = client(
        FakeResponse(401, b""),
        FakeResponse(),
        badge=FakeCredentials(["a", "b"], takes=100),
        settings=RestSettings(attempts=1, timeout=5),
    )
    assert (await rest.call(get())).status == 200


@in_virtual_time
async def test_a_stream_renews_credentials_too() -> None:
    rest, network = client(FakeResponse(401, b""), FakeResponse(), badge=FakeCredentials(["a", "b"]))
    (await rest.open(watch())).close()
    assert network.sent("authorization") == ["b"]


@in_virtual_time
async def test_without_credentials_nothing_is_sent() -> None:
    rest, network = client(FakeResponse(), badge=FakeCredentials(problem="the plugin failed"))
    with pytest.raises(AuthError, match="the plugin failed"):
        await rest.call(get())
    with pytest.raises(AuthError, match="the plugin failed"):
        await rest.open(watch())
    assert not network.requests


@in_virtual_time
async def test_a_call_with_its_own_authorization_needs_no_credentials() -> None:
    badge = FakeCredentials(problem="the plugin failed")
    rest, network = client(FakeResponse(), FakeResponse(401, b""), badge=badge)
    own = get(headers=[("authorization", "Bearer mine")])
    await rest.call(own)
    assert network.sent("authorization") == ["Bearer mine"]
    with pytest.raises(UnauthorizedError):
        await rest.call(own)
    assert not badge.refused


# The client's own limit


@in_virtual_time
async def test_the_rate_limiter_admits_calls_in_order() -> None:
    rest, network = client(*(FakeResponse() for _ in range(6)), settings=RestSettings(rate=2, burst=3))
    async with asyncio.TaskGroup() as group:
        for i in range(6):
            group.create_task(rest.get(f"/{i}"))
    assert [request.target for request in network.requests] == [f"/{i}" for i in range(6)]
    assert network.times == [0, 0, 0, 0.5, 1, 1.5]


@pytest.mark.parametrize("is_stream", [False, True], ids=["call", "stream"])
@in_virtual_time
async def test_a_retry_waits_for_the_rate_limiter_too(is_stream: bool) -> None:
    settings = RestSettings(rate=0.1, burst=1, timeout=60)
    rest, network = client(retry_later(5), FakeResponse(), settings=settings)
    if is_stream:
        (await rest.open(watch())).close()
    else:
        await rest.call(get())
    assert network.times == [0, 10]


@in_virtual_time
async def test_there_is_no_client_side_rate_limit_by_default() -> None:
    rest, network = client(*(FakeResponse() for _ in range(100)))
    async with asyncio.TaskGroup() as group:
        for _ in range(100):
            group.create_task(rest.call(get()))
    assert network.times == [0] * 100


@in_virtual_time
async def test_clients_can_share_a_rate_limit() -> None:
    limit = RateLimit(2, burst=1)
    rests = [client(FakeResponse(), FakeResponse(), settings=RestSettings(rate=limit)) for _ in range(2)]
    async with asyncio.TaskGroup() as group:
        for rest, _ in rests * 2:
            group.create_task(rest.get("/"))

    assert sorted(time for _, network in rests for time in network.times) == [0, 0.5, 1, 1.5]
    assert (limit.rate, limit.burst) == (2, 1)


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (1, 0), ("fast", 1)])
def test_a_rate_limit_that_is_none_is_refused(rate: Any, burst: int) -> None:
    with pytest.raises(ArgumentError, match="rate > 0 and burst >= 1"):
        RateLimit(rate, burst)


@in_virtual_time
async def test_a_call_cancelled_in_the_rate_limiter_returns_its_slot() -> None:
    rest, network = client(*(FakeResponse() for _ in range(3)), settings=RestSettings(rate=1, burst=1))
    await rest.get("/first")
    waiting = asyncio.get_running_loop().create_task(rest.get("/second"))
    await asyncio.sleep(0.5)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await rest.get("/third")
    assert [request.target for request in network.requests] == ["/first", "/third"]
    assert network.times == [0, 1]


@in_virtual_time
async def test_a_rate_limit_wait_beyond_the_deadline_fails_at_once() -> None:
    rest, network = client(FakeResponse(), settings=RestSettings(rate=0.1, burst=1, timeout=5))
    await rest.get("/first")
    with pytest.raises(
        DeadlineError, match=r"get /second: not sent: the client-side rate limit of 0\.1 calls per second"
    ):
        await rest.get("/second")
    assert now() == 0
    assert len(network.requests) == 1


@in_virtual_time
async def test_a_long_wait_for_the_rate_limit_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "masthead.rest")
    rest, _ = client(FakeResponse(), FakeResponse(), settings=RestSettings(rate=0.1, burst=1))
    await rest.get("/first")
    await rest.get("/second")
    assert caplog.messages == [
        "the API server: the client-side rate limit of 0.1 calls per second delays a call by 10.0 s"
    ]


@in_virtual_time
async def test_long_waits_for_the_rate_limit_are_logged_every_ten_seconds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "masthead.rest")
    rest, _ = client(*(FakeResponse() for _ in range(80)), settings=RestSettings(rate=2, burst=1))
    async with asyncio.TaskGroup() as group:
        for _ in range(40):
            group.create_task(rest.get("/"))
        await asyncio.sleep(10)
        for _ in range(40):
            group.create_task(rest.get("/"))
    assert [message.rpartition(" delays ")[2] for message in caplog.messages] == [
        "a call by 1.5 s",
        "a call by 10.0 s",
    ]


# Cancelling and closing


@in_virtual_time
async def test_cancelling_ends_the_wait_for_another_attempt() -> None:
    rest, network = client(retry_later(30), FakeResponse())
    calling = asyncio.get_running_loop().create_task(rest.call(get()))
    await asyncio.sleep(1)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert now() == 1
    assert len(network.requests) == 1
    assert not network.leaks


@in_virtual_time
async def test_closing_ends_the_wait_for_another_attempt() -> None:
    rest, network = client(retry_later(30), FakeResponse())
    async with asyncio.TaskGroup() as group:
        calling = group.create_task(_outcome(rest.call(get())))
        await asyncio.sleep(1)
        await rest.close()
    assert isinstance(calling.result(), ClosedError)
    assert now() == 1
    assert network.is_closed


@in_virtual_time
async def test_a_closed_client_sends_nothing() -> None:
    rest, network = client(FakeResponse())
    await rest.close()
    await rest.close()
    with pytest.raises(ClosedError, match="get pods ns/web: the client is closed"):
        await rest.call(get())
    assert not network.requests


async def _outcome(call: object) -> object:
    try:
        return await call  # type: ignore[misc]
    except ClosedError as error:
        return error
