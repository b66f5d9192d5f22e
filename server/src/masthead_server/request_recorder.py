"""The record of requests that `Server.requests` returns."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.wire.request_info import RequestInfo

__all__ = ["RecordedRequest", "RequestRecorder"]

_MEBIBYTE: Final = 1024 * 1024
_STRING_OVERHEAD: Final = 64
"""Bytes that Python needs for a string besides its characters, about."""


@set_module("masthead.server")
@dataclass(eq=False, slots=True)
class RecordedRequest:
    """A request that the server received.

    Attributes:
        method: ``GET`` and so on.
        path: Without the query.
        query: As the client wrote it.
        info: The verb and the resource.
        headers: By lower-case name; the token is left out.
        body: The body; empty if the request was refused without reading it, and once later requests have
            brought 8 MiB.
        code: The status code of the response; 0 until it is sent, and if the client left before.
        user: The user name that the request acts as; empty if authentication failed.
        impersonator: The authenticated user, if the request acts as another one.
    """

    method: str
    path: str
    query: str
    info: RequestInfo
    headers: dict[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    code: int = 0
    user: str = ""
    impersonator: str = ""


class RequestRecorder:
    """Keeps the last requests, and the bodies of the last of those, within bounds of number and bytes.

    Requests that failed authentication have a separate list, so that they cannot displace the others.
    """

    def __init__(self) -> None:
        self._order = itertools.count()
        self._admitted = _Recent(10_000, heads=16 * _MEBIBYTE, bodies=8 * _MEBIBYTE)
        self._refused = _Recent(1_000, heads=2 * _MEBIBYTE, bodies=0)

    def add(self, request: RecordedRequest, *, is_refused: bool = False) -> None:
        """Add a request; the oldest requests and bodies are dropped to stay within the bounds."""
        (self._refused if is_refused else self._admitted).add(next(self._order), request)

    def __iter__(self) -> Iterator[RecordedRequest]:
        ordered = heapq.merge(self._admitted.entries, self._refused.entries, key=itemgetter(0))
        return iter([request for _, request in ordered])


class _Recent:
    """The last requests, admitted or refused.

    Args:
        count: How many.
        heads: Bytes of everything but bodies.
        bodies: Bytes of bodies; the newest always stays.
    """

    def __init__(self, count: int, *, heads: int, bodies: int) -> None:
        self.entries: deque[tuple[int, RecordedRequest]] = deque()
        self._with_body: deque[RecordedRequest] = deque()
        self._count, self._heads, self._bodies = count, heads, bodies
        self._head_bytes = self._body_bytes = 0

    def add(self, order: int, request: RecordedRequest) -> None:
        self.entries.append((order, request))
        self._head_bytes += _size_of_head(request)
        # The newest request stays, whatever the size of its head.
        while len(self.entries) > self._count or (self._head_bytes > self._heads and len(self.entries) > 1):
            self._drop_oldest()
        if not request.body:
            return
        self._with_body.append(request)
        self._body_bytes += len(request.body)
        # Older requests lose their bodies first; they stay in the list.
        while self._body_bytes > self._bodies and len(self._with_body) > 1:
            oldest = self._with_body.popleft()
            self._body_bytes -= len(oldest.body)
            oldest.body = b""

    def _drop_oldest(self) -> None:
        _, oldest = self.entries.popleft()
        self._head_bytes -= _size_of_head(oldest)
        if self._with_body and self._with_body[0] is oldest:
            self._body_bytes -= len(self._with_body.popleft().body)


def _size_of_head(request: RecordedRequest) -> int:
    """The memory of a request without its body, about."""
    headers = request.headers
    characters = 2 * len(request.path) + len(request.query) + sum(map(len, headers)) + sum(map(len, headers.values()))
    return characters + _STRING_OVERHEAD * (8 + 2 * len(headers))
