"""Responses of backends behind the API server's proxy, distinguished from the API server's own refusals.

The proxy passes a backend's response on with any status. If it refuses a request itself, because there is no such pod,
no endpoint or no permission, or if it cannot reach the backend, it responds with a Status, as everywhere. So an error
status with a Status of API version ``v1`` in its body is taken for the API server's. A backend that is an API server
itself is the exception that cannot be distinguished.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from masthead._errors.base import printable
from masthead._meta import typeinfo
from masthead._module import set_module
from masthead._rest.response import decode_json, decode_text, is_json
from masthead.errors import ProxyResponseError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from masthead._rest.call import Call
    from masthead._transport.contract import TransportResponse

__all__ = ["PeekedResponse", "ProxyResponse", "error_of"]

_BEGINNING: Final = 64 * 1024
"""How many bytes of an error response are searched for a Status; none is longer."""
_SHOWN: Final = 300
"""How many characters of a body a message repeats."""


class _TypeMeta(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""
    status: object = None


class PeekedResponse:
    """A response whose beginning has been looked at, and which is read as if it had not."""

    def __init__(self, response: TransportResponse) -> None:
        self._response = response
        self._chunks = response.chunks()
        self._beginning = bytearray()

    @property
    def status(self) -> int:
        """The HTTP status code."""
        return self._response.status

    def header(self, name: str) -> str:
        """A header's value, whatever the case of its name; empty if absent."""
        return self._response.header(name)

    def headers_of(self, name: str) -> list[str]:
        """All values of a header that may occur more than once."""
        return self._response.headers_of(name)

    async def is_refusal(self) -> bool:
        """Whether the response is the API server's own, and an error.

        Raises:
            TransportError: If the response is lost before that is known.
            ClosedError: If the response was closed during the read.
        """
        # A Status is JSON, so that most backend errors pass without being buffered.
        if self.status < 400 or not is_json(self.header("Content-Type")):
            return False
        async for chunk in self._chunks:
            self._beginning += chunk
            # Too long for a Status: a backend may stream its errors.
            if len(self._beginning) > _BEGINNING:
                return False
        try:
            found = typeinfo.decode_json(bytes(self._beginning), _TypeMeta)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        return (found.kind, found.api_version, found.status) == ("Status", "v1", "Failure")

    async def read(self) -> bytes:
        """Read the whole body, as `TransportResponse.read` does."""
        # Released before the rest is read, which would hold the bytes twice.
        beginning = bytes(self._beginning)
        self._beginning.clear()
        return beginning + await self._response.read()

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives, as `TransportResponse.chunks` does."""
        if self._beginning:
            beginning = bytes(self._beginning)
            self._beginning.clear()
            yield beginning
        async for chunk in self._chunks:
            yield chunk

    def close(self) -> None:
        """Close the connection unless the whole body was read."""
        self._response.close()


@set_module("masthead.streams")
class ProxyResponse:
    """The response of a backend behind the API server's proxy, read to its end, whatever its status.

    Attributes:
        status: The HTTP status code.
        body: The body.
    """

    __slots__ = ("_call", "_response", "body", "status")

    def __init__(self, call: Call, response: TransportResponse, body: bytes) -> None:
        self.status: int = response.status
        self.body: bytes = body
        self._call = call
        self._response = response

    @property
    def content_type(self) -> str:
        """The ``Content-Type`` header."""
        return self.header("Content-Type")

    @property
    def is_success(self) -> bool:
        """Whether the status is one of 200 to 299."""
        return 200 <= self.status < 300

    def header(self, name: str) -> str:
        """A header's value, whatever the case of its name; empty if absent."""
        return self._response.header(name)

    @property
    def text(self) -> str:
        """The body as text; bytes that are not UTF-8 are replaced."""
        return decode_text(self.body)

    def json(self) -> Any:  # noqa: ANN401 - plain data
        """The body as plain data.

        Raises:
            DecodeError: If the body is not JSON.
        """
        return decode_json(self.body, f"the response to {self._call.subject}")

    def raise_for_status(self) -> None:
        """Do nothing unless the status is an error.

        Raises:
            ProxyResponseError: If the status is 400 or more.
        """
        if self.status >= 400:
            raise error_of(self._call, self.status, self.body)

    def __repr__(self) -> str:
        return f"<ProxyResponse {self.status} to {self._call.subject}, {len(self.body)} bytes>"


def error_of(call: Call, status: int, body: bytes = b"") -> ProxyResponseError:
    """The error of a response with an error status."""
    # Cut before decoding: an error page may be large, and printing escapes characters.
    text = " ".join(printable(body[: 4 * _SHOWN].decode("utf-8", "replace")).split())
    shown = f"{text[:_SHOWN]}..." if len(text) > _SHOWN else text
    # The subject names the object already, so only the path behind the proxy is of interest.
    path = call.path.partition("/proxy")[2] or "/"
    said = f": {shown}" if shown else ""
    return ProxyResponseError(
        f"{call.subject}: the backend answered {path} with status {status}{said}", status=status, body=body
    )
