"""A body: all of it, or as it comes, unpacked on the way."""

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
    """The contract's `Response`, and the iterator over its own body.

    Whatever ends the reading early, cancellation included, closes the connection. So does losing the last reference.
    """

    __slots__ = ("_failures", "_loop", "_request", "_response", "_unpack")

    def __init__(
        self,
        response: IncomingResponse,
        request: TransportRequest,
        failures: ErrorFactory,
        unpack: Gunzip | None,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._response = response
        self._request = request
        self._failures = failures
        self._unpack = unpack
        self._loop = loop

    @property
    def status(self) -> int:
        """The HTTP code."""
        return self._response.status

    def header(self, name: str) -> str:
        """A header's value, whatever the case of its name; empty if it is not there."""
        found = self._response.headers.get(name.lower().encode())
        return "" if found is None else _text(found[0])

    def headers_of(self, name: str) -> list[str]:
        """Every value of a header that may come more than once."""
        return [_text(each) for each in self._response.headers.get(name.lower().encode(), ())]

    async def read(self) -> bytes:
        """The whole body; the connection then goes back to the pool.

        Raises:
            DeadlineError: if it does not come in time.
            ProtocolError: if it is cut short.
            ResponseTooLargeError: if it is larger than the transport takes, packed or unpacked.
            ClosedError: if it was closed meanwhile.
        """
        limit = self._failures.max_response_bytes
        whole = await self._gathered(limit)
        if self._unpack is not None:
            return await self._unpacked(self._unpack, whole, limit)
        if len(whole) > limit:
            raise self._broken(TransportFault.TOO_LARGE)
        return whole

    async def _gathered(self, limit: float) -> bytes:
        """All that came over the wire and was not taken."""
        response = self._response
        if response.is_complete:  # as most are: it came together with the head
            return response.take()
        try:
            whole = await response.gather(limit)
        except BaseException:
            response.drop()
            raise
        if response.fault is None:
            return whole
        del whole  # the beginning of an answer, perhaps of one that issues tokens: no frame is to show it
        raise self._broken(response.fault)

    async def _unpacked(self, unpack: Gunzip, whole: bytes, limit: float) -> bytes:
        unpack.put(whole)
        try:
            return await decompress_all(unpack, limit)
        except zlib.error as error:
            failure: MastheadError = self._failures.not_unpacked(error, self._request)
        except TooLargeError:
            failure = self._broken(TransportFault.TOO_LARGE)
        raise failure  # here, so that it drags along no other error

    def chunks(self) -> HttpResponse:
        """The body as it comes, in pieces of any length.

        Raises:
            DeadlineError: if the server is silent for too long.
            ProtocolError: if it is cut short.
            ClosedError: if it was closed meanwhile.
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
            failure = self._failures.not_unpacked(error, self._request)
        except (asyncio.CancelledError, GeneratorExit):
            response.drop()
            raise
        raise failure  # here, so that it drags along no other error

    async def _next_piece(self) -> bytes:
        """What comes next; nothing once it is over."""
        response, unpack = self._response, self._unpack
        is_new = False
        while True:
            if unpack is not None and unpack.is_waiting:
                if not is_new:  # a little may unpack to very much: others have their turn in between
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
        """Drop what was not read, and the connection with it; does nothing where all was read."""
        self._response.drop()

    def _broken(self, fault: TransportFault) -> MastheadError:
        if fault is TransportFault.CLOSED:
            return ClosedError(
                f"{self._failures.what(self._request)}: closed before all of the answer was read"
            )
        return self._failures.broken(fault, self._response.cause, self._request)

    def __del__(self) -> None:
        # Its connection still holds an answer that nobody reads; only this object knows that nobody will.
        if not self._response.is_over:
            with suppress(RuntimeError):  # the loop is closed, and so is everything
                self._loop.call_soon_threadsafe(self._response.drop)


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape").rstrip(" \t")
