"""The deadline of a request: the ``timeout`` of its query, or kube-apiserver's limit.

Real time counts, whatever the server's clock: a request waits for webhooks, which live in real time.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final, TypeVar

from masthead._meta.go_duration import parse_duration
from masthead._meta.quoting import quoted
from masthead_server.wire.failures import bad_request
from masthead_server.wire.request import ApiResponse

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from masthead_server.wire.request import ApiRequest

__all__ = ["meet_deadline", "read_timeout"]

T = TypeVar("T")
_MAX_SECONDS: Final = 60.0
_NANOSECONDS: Final = 1e9
_NUMBER: Final = re.compile(r"[-+]?[0-9]+(?:\.[0-9]*)?")
_UNKNOWN_UNIT: Final = re.compile(r"[-+]?[0-9]+(?:\.[0-9]*)?([^0-9.]+)")
_TIMED_OUT: Final = ApiResponse(
    504,
    b'{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout",'
    b'"reason":"Timeout","details":{},"code":504}\n',
    "text/plain; charset=utf-8",
)
"""kube-apiserver's response, which is no Status of a kind: the handler of the request still runs."""


def read_timeout(request: ApiRequest) -> float:
    """Return the seconds that a request may take.

    Raises:
        StatusFailure: If its timeout is no duration.
    """
    value = request.first("timeout")
    if not value:
        return _MAX_SECONDS
    nanoseconds = parse_duration(value)
    if nanoseconds is None:
        raise bad_request(f"invalid timeout specified in the request URL - time: {_explain(value)}")
    seconds = nanoseconds / _NANOSECONDS
    return min(seconds, _MAX_SECONDS) if seconds > 0 else _MAX_SECONDS


async def meet_deadline(seconds: float, response: Awaitable[T]) -> T | ApiResponse:
    """Wait for a response; after the deadline the handler is cancelled, and the response is kube-apiserver's."""
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await response
    except TimeoutError:
        # An error of something else that had no time left is no answer to the client.
        if not limit.expired():
            raise
    return _TIMED_OUT


def _explain(value: str) -> str:
    if _NUMBER.fullmatch(value):
        return f"missing unit in duration {quoted(value)}"
    if unit := _UNKNOWN_UNIT.fullmatch(value):
        return f"unknown unit {quoted(unit[1])} in duration {quoted(value)}"
    return f"invalid duration {quoted(value)}"
