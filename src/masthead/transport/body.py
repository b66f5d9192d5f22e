"""A body: all of it, or as it comes, unpacked on the way."""

from __future__ import annotations

import asyncio
import io
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from masthead.errors import ClosedError
from masthead.transport.failures import Fault

if TYPE_CHECKING:
    from masthead.errors import MastheadError
    from masthead.transport.answer import Answer
    from masthead.transport.contract import Request
    from masthead.transport.failures import Failures

__all__ = ["PACKINGS", "Gunzip", "HttpResponse"]

_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS


class Gunzip:
    """Unpacks a gzip stream piece by piece, holding back nothing that can be unpacked already."""

    __slots__ = ("_begun", "_inflate")

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(_GZIP_WINDOW)
        self._begun = False

    def feed(self, piece: bytes) -> bytes:
        """What this piece unpacks to; perhaps nothing yet.

        Raises:
            zlib.error: if it is not gzip.
        """
        self._begun = True
        plain = self._inflate.decompress(piece)
        while self._inflate.eof and (rest := self._inflate.unused_data):  # gzip files may be strung together
            self._inflate = zlib.decompressobj(_GZIP_WINDOW)
            plain += self._inflate.decompress(rest)
        return plain

    def finish(self) -> None:
        """The stream has ended.

        Raises:
            zlib.error: if something is missing. No stream at all misses nothing: so a ``HEAD`` is answered.
        """
        if self._begun and not self._inflate.eof:
            raise zlib.error("the end is missing")


PACKINGS: Final[dict[str, type[Gunzip] | None]] = {
    "": None,
    "identity": None,
    "gzip": Gunzip,
    "x-gzip": Gunzip,
}
"""What unpacks a ``Content-Encoding``."""


class HttpResponse:
    """The contract's `Response`, and the iterator over its own body.

    Whatever ends the reading early, cancellation included, closes the connection. So does losing the last reference.
    """

    __slots__ = ("_answer", "_failures", "_loop", "_request", "_unpack")

    def __init__(
        self,
        answer: Answer,
        request: Request,
        failures: Failures,
        unpack: Gunzip | None,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._answer = answer
        self._request = request
        self._failures = failures
        self._unpack = unpack
        self._loop = loop

    @property
    def status(self) -> int:
        """The HTTP code."""
        return self._answer.status

    def header(self, name: str) -> str:
        """A header's value, whatever the case of its name; empty if it is not there."""
        found = self._answer.headers.get(name.lower().encode())
        return "" if found is None else _text(found[0])

    def headers_of(self, name: str) -> list[str]:
        """Every value of a header that may come more than once."""
        return [_text(each) for each in self._answer.headers.get(name.lower().encode(), ())]

    async def read(self) -> bytes:
        """The whole body; the connection then goes back to the pool.

        Raises:
            DeadlineError: if it does not come in time.
            ProtocolError: if it is cut short.
            ClosedError: if it was closed meanwhile.
        """
        if self._unpack is not None:
            unpacked = io.BytesIO()
            async for piece in self:
                unpacked.write(piece)
            return unpacked.getvalue()
        answer = self._answer
        if answer.is_complete:  # as most are: it came together with the head
            return answer.take()
        try:
            whole = await answer.gather()
        except BaseException:
            answer.drop()
            raise
        if answer.fault is not None:
            raise self._broken(answer.fault)
        return whole

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
        answer, unpack = self._answer, self._unpack
        try:
            while True:
                if piece := answer.take():
                    if unpack is None or (piece := unpack.feed(piece)):
                        return piece
                elif answer.is_over:
                    break
                else:
                    await answer.changed()
            if answer.fault is not None:
                failure = self._broken(answer.fault)
            else:
                if unpack is not None:
                    unpack.finish()
                raise StopAsyncIteration
        except zlib.error as error:
            answer.drop()
            failure = self._failures.not_unpacked(error, self._request)
        except (asyncio.CancelledError, GeneratorExit):
            answer.drop()
            raise
        raise failure  # here, so that it drags along no other error

    def close(self) -> None:
        """Drop what was not read, and the connection with it; does nothing where all was read."""
        self._answer.drop()

    def _broken(self, fault: Fault) -> MastheadError:
        if fault is Fault.CLOSED:
            return ClosedError(
                f"{self._failures.what(self._request)}: closed before all of the answer was read"
            )
        return self._failures.broken(fault, self._answer.cause, self._request)

    def __del__(self) -> None:
        # Its connection still holds an answer that nobody reads; only this object knows that nobody will.
        if not self._answer.is_over:
            with suppress(RuntimeError):  # the loop is closed, and so is everything
                self._loop.call_soon_threadsafe(self._answer.drop)


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape").rstrip(" \t")
