"""Responses that a test makes instead of a server."""

from __future__ import annotations

import http
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["StatusResponse"]


class StatusResponse:
    """A failed request: a Status as kube-apiserver sends it.

    Args:
        status: The HTTP status code.
        reason: The reason of the Status; by default, from the phrase of the code.
        message: The message of the Status.
        retry_after: Seconds for the ``Retry-After`` header; 0 for none.
    """

    def __init__(self, status: int, reason: str = "", message: str = "", retry_after: int = 0) -> None:
        phrase = http.HTTPStatus(status).phrase
        self._status = status
        self._retry_after = retry_after
        self._body = json.dumps(
            {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Failure",
                "message": message or phrase,
                "reason": reason or phrase.title().replace(" ", ""),
                "code": status,
                **({"details": {"retryAfterSeconds": retry_after}} if retry_after else {}),
            }
        ).encode()

    @property
    def status(self) -> int:
        """The HTTP status code."""
        return self._status

    def header(self, name: str) -> str:
        """A header's value; empty if absent."""
        return next(iter(self.headers_of(name)), "")

    def headers_of(self, name: str) -> list[str]:
        """All values of a header."""
        match name.lower():
            case "content-type":
                return ["application/json"]
            case "content-length":
                return [str(len(self._body))]
            case "retry-after" if self._retry_after:
                return [str(self._retry_after)]
            case _:
                return []

    async def read(self) -> bytes:
        """Return the body."""
        return self._body

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body."""
        yield self._body

    def close(self) -> None:
        """Do nothing: there is no connection."""
