"""The requests that came in, for those who ask afterwards."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead.server.faults import Call

__all__ = ["Requests", "Seen"]

_MOST: Final = 10_000
_MOST_BYTES: Final = 8 * 1024 * 1024


@dataclass(eq=False, slots=True)
class Seen:
    """A request that came in.

    Attributes:
        method: ``GET`` and so on.
        path: Without the query.
        query: As it was written.
        call: What it was about.
        headers: By lower-case name; the token is left out.
        body: What was sent; empty once it is forgotten, because later requests brought 8 MiB.
        code: HTTP's status of the answer; 0 while there is none, and for ever if the client left before.
    """

    method: str
    path: str
    query: str
    call: Call
    headers: dict[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    code: int = 0


class Requests:
    """The last requests, and of the last of those their bodies: what is kept is bounded."""

    def __init__(self) -> None:
        self._seen: deque[Seen] = deque()
        self._with_body: deque[Seen] = deque()
        self._size = 0

    def add(self, seen: Seen) -> None:
        """Remember one more; the oldest is forgotten where there are too many, and its body where those are too large."""
        if len(self._seen) == _MOST:
            self._forget_oldest()
        self._seen.append(seen)
        if not seen.body:
            return
        self._with_body.append(seen)
        self._size += len(seen.body)
        while self._size > _MOST_BYTES and len(self._with_body) > 1:
            oldest = self._with_body.popleft()
            self._size -= len(oldest.body)
            oldest.body = b""

    def _forget_oldest(self) -> None:
        oldest = self._seen.popleft()
        if self._with_body and self._with_body[0] is oldest:
            self._size -= len(self._with_body.popleft().body)

    def __iter__(self) -> Iterator[Seen]:
        return iter(self._seen)
