"""The requests that came in, for those who ask afterwards."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead._server.wire.request_info import RequestInfo

__all__ = ["RequestRecorder", "RecordedRequest"]

_MEBIBYTE: Final = 1024 * 1024
_OF_A_STRING: Final = 64
"""Bytes that Python takes for a string besides its characters, about."""


@dataclass(eq=False, slots=True)
class RecordedRequest:
    """A request that came in.

    Attributes:
        method: ``GET`` and so on.
        path: Without the query.
        query: As it was written.
        info: What it was about.
        headers: By lower-case name; the token is left out.
        body: What was sent; empty if it was refused unread for want of a token, and once it is forgotten, because
            later requests brought 8 MiB.
        code: HTTP's status of the answer; 0 while there is none, and for ever if the client left before.
    """

    method: str
    path: str
    query: str
    info: RequestInfo
    headers: dict[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    code: int = 0


class RequestRecorder:
    """The last requests, and of the last of those their bodies: what is kept is bounded, in number and in bytes.

    Requests of clients that were refused for want of a token are kept apart, or they could displace all others.
    """

    def __init__(self) -> None:
        self._order = itertools.count()
        self._admitted = _Recent(10_000, heads=16 * _MEBIBYTE, bodies=8 * _MEBIBYTE)
        self._refused = _Recent(1_000, heads=2 * _MEBIBYTE, bodies=0)

    def add(self, request: RecordedRequest, *, is_refused: bool = False) -> None:
        """Remember one more; the oldest is forgotten where there are too many, and its body where those are too large."""
        (self._refused if is_refused else self._admitted).add(next(self._order), request)

    def __iter__(self) -> Iterator[RecordedRequest]:
        ordered = heapq.merge(self._admitted.entries, self._refused.entries, key=itemgetter(0))
        return iter([request for _, request in ordered])


class _Recent:
    """The last requests of one sort.

    Args:
        count: How many.
        heads: Bytes of all that is no body.
        bodies: Bytes of bodies; the newest is kept whatever its size.
    """

    def __init__(self, count: int, *, heads: int, bodies: int) -> None:
        self.entries: deque[tuple[int, RecordedRequest]] = deque()
        self._with_body: deque[RecordedRequest] = deque()
        self._count, self._heads, self._bodies = count, heads, bodies
        self._head_bytes = self._body_bytes = 0

    def add(self, order: int, request: RecordedRequest) -> None:
        self.entries.append((order, request))
        self._head_bytes += _size_of_head(request)
        while len(self.entries) > self._count or (self._head_bytes > self._heads and len(self.entries) > 1):
            self._forget_oldest()
        if not request.body:
            return
        self._with_body.append(request)
        self._body_bytes += len(request.body)
        while self._body_bytes > self._bodies and len(self._with_body) > 1:
            oldest = self._with_body.popleft()
            self._body_bytes -= len(oldest.body)
            oldest.body = b""

    def _forget_oldest(self) -> None:
        _, oldest = self.entries.popleft()
        self._head_bytes -= _size_of_head(oldest)
        if self._with_body and self._with_body[0] is oldest:
            self._body_bytes -= len(self._with_body.popleft().body)


def _size_of_head(request: RecordedRequest) -> int:
    """Bytes that a request takes without its body, about."""
    headers = request.headers
    characters = (
        2 * len(request.path) + len(request.query) + sum(map(len, headers)) + sum(map(len, headers.values()))
    )
    return characters + _OF_A_STRING * (8 + 2 * len(headers))
