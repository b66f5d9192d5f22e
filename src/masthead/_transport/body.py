"""Response bodies: read whole or streamed, decompressed on the way."""

from __future__ import annotations

import asyncio
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

from masthead._transport.decompression import TooLargeError, decompress_all
from masthead._transport.failures import TransportFault
from masthead.errors import ClosedError

if TYPE_CHECKING:
    from masthead._transport.contract import TransportRequest
    from masthead._transport.decompression import Gunzip
    from masthead._transport.failures import ErrorFactory
    from masthead._transport.incoming_response import IncomingResponse
    from masthead.errors import MastheadError

__all__ = ["HttpResponse"]


class HttpResponse:
    """The `TransportResponse` of HTTP, and the iterator over its own body.

    Ending the read early, by cancellation too, closes the connection. So does dropping the last reference.

    Attributes:
        status: The HTTP status code.
    """

    __slots__ = ("_failures", "_loop", "_request", "_response", "_unpack", "status")

    def __init__(
        self,
        response: IncomingResponse,
        request: TransportRequest,
        failures: ErrorFactory,
        unpack: Gunzip | None,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.status = response.status
        self._response = response
        self._request = request
        self._failures = failures
        self._unpack = unpack
        self._loop = loop

    def header(self, name: str) -> str:
        """A header's value, whatever the case of its name; empty if absent."""
        values = self._response.headers.get(name.lower().encode())
        return "" if values is None else _decode_value(values[0])

    def headers_of(self, name: str) -> list[str]:
        """All values of a header that may occur more than once."""
        values = self._response.headers.get(name.lower().encode())
        return [] if values is None else list(map(_decode_value, values))

    async def read(self) -> bytes:
        """Read the whole body, and return the connection to the pool.

        Raises:
            DeadlineError: If the timeout expires.
            ProtocolError: If the body is cut short.
            ResponseTooLargeError: If the body exceeds the transport's limit, compressed or decompressed.
            ClosedError: If the response was closed during the read.
        """
        limit = self._failures.max_response_bytes
        # The usual case: the body arrived together with the head.
        whole = self._response.take() if self._response.is_complete else await self._gather(limit)
        if self._unpack is not None:
            return await self._decompress(self._unpack, whole, limit)
        if len(whole) > limit:
            raise self._broken(TransportFault.TOO_LARGE)
        return whole

    async def _gather(self, limit: float) -> bytes:
        """Collect the rest of the body, still compressed."""
        response = self._response
        try:
            whole = await response.gather(limit)
        except BaseException:
            response.drop()
            raise
        if response.fault is None:
            return whole
        del whole  # the beginning of a response, perhaps with a token: tracebacks must not show it
        raise self._broken(response.fault)

    async def _decompress(self, unpack: Gunzip, whole: bytes, limit: float) -> bytes:
        unpack.put(whole)
        try:
            return await decompress_all(unpack, limit)
        except zlib.error as error:
            failure: MastheadError = self._failures.not_decompressed(error, self._request)
        except TooLargeError:
            failure = self._broken(TransportFault.TOO_LARGE)
        raise failure  # outside the except clause, so that it has no context

    def chunks(self) -> HttpResponse:
        """The body as it arrives, in chunks of any length.

        Raises:
            DeadlineError: If the read timeout expires.
            ProtocolError: If the body is cut short.
            ClosedError: If the response was closed during the read.
        """
        return self

    def __aiter__(self) -> HttpResponse:
        return self

    async def __anext__(self) -> bytes:
        response, unpack = self._response, self._unpack
        try:
            if piece := await self._next_piece():
                return piece
            if response.fault is not None:
                failure = self._broken(response.fault)
            else:
                if unpack is not None:
                    unpack.finish()
                raise StopAsyncIteration
        except zlib.error as error:
            response.drop()
            failure = self._failures.not_decompressed(error, self._request)
        except (asyncio.CancelledError, GeneratorExit):
            response.drop()
            raise
        raise failure  # outside the except clause, so that it has no context

    async def _next_piece(self) -> bytes:
        """The next piece, decompressed; empty at the end."""
        response, unpack = self._response, self._unpack
        is_new = False
        while True:
            if unpack is not None and unpack.is_waiting:
                if not is_new:  # a few bytes may decompress to many: let other tasks run in between
                    await asyncio.sleep(0)
                is_new = False
                if piece := unpack.step():
                    return piece
            elif piece := response.take():
                if unpack is None:
                    return piece
                unpack.put(piece)
                is_new = True
            elif response.is_over:
                return b""
            else:
                await response.changed()

    def close(self) -> None:
        """Close the connection unless the whole body was read."""
        self._response.drop()

    def _broken(self, fault: TransportFault) -> MastheadError:
        if fault is TransportFault.CLOSED:
            return ClosedError(f"{self._failures.what(self._request)}: closed before all of the response was read")
        return self._failures.broken(fault, self._response.cause, self._request)

    def __del__(self) -> None:
        # The connection still holds a response without a reader; only this object knows that.
        if not self._response.is_complete and self._response.fault is None:
            with suppress(RuntimeError):  # the loop is closed, and with it the connection
                self._loop.call_soon_threadsafe(self._response.drop)


def _decode_value(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape").rstrip(" \t")
