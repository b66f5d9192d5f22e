"""An answer, and its body: all of it, or as it comes."""

from __future__ import annotations

import asyncio
import io
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import aiohttp

from masthead.errors import ClosedError

if TYPE_CHECKING:
    from masthead.errors import MastheadError
    from masthead.transport.contract import Request
    from masthead.transport.failures import Failures

__all__ = ["PACKINGS", "Gunzip", "HttpResponse", "drop"]

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

    __slots__ = ("__weakref__", "_answer", "_closed", "_content", "_failures", "_loop", "_request", "_unpack")

    def __init__(
        self, answer: aiohttp.ClientResponse, request: Request, failures: Failures, unpack: Gunzip | None
    ) -> None:
        self._answer = answer
        self._content = answer.content
        self._request = request
        self._failures = failures
        self._unpack = unpack
        self._closed = False
        self._loop = asyncio.get_running_loop()

    @property
    def status(self) -> int:
        """The HTTP code."""
        return self._answer.status

    @property
    def is_streaming(self) -> bool:
        """Whether the body still occupies a connection."""
        return self._answer.connection is not None

    def header(self, name: str) -> str:
        """A header's value, whatever the case of its name; empty if it is not there."""
        return self._answer.headers.get(name, "")

    def headers_of(self, name: str) -> list[str]:
        """Every value of a header that may come more than once."""
        return self._answer.headers.getall(name, [])

    async def read(self) -> bytes:
        """The whole body; the connection then goes back to the pool.

        Raises:
            DeadlineError: if it does not come in time.
            ProtocolError: if it is cut short.
            ClosedError: if it was closed meanwhile.
        """
        if self._content.is_eof() and self._unpack is None:  # as most are: it came together with the head
            try:
                return self._content.read_nowait()
            except Exception as error:  # noqa: BLE001  whatever it is, the body did not come
                failure = self._fail(error)
            raise failure
        # Its buffer grows in place and becomes the result, where joining a list would hold everything twice.
        whole = io.BytesIO()
        async for piece in self:
            whole.write(piece)
        return whole.getvalue()

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
        unpack = self._unpack
        try:
            while piece := await self._content.readany():
                if unpack is None or (piece := unpack.feed(piece)):
                    return piece
            if unpack is not None:
                unpack.finish()
        except Exception as error:  # noqa: BLE001  whatever it is, the body did not come
            failure = self._fail(error)
        except BaseException:
            self.close()
            raise
        else:
            raise StopAsyncIteration
        raise failure  # here, so that it drags along no error of the library's, whose repr may hold credentials

    def close(self) -> None:
        """Drop what was not read, and the connection with it; does nothing where all was read."""
        self._closed = True
        drop(self._answer)

    def lose(self) -> None:
        """The connection is gone; if the body has not ended, it will not."""
        if not self._content.is_eof() and self._content.exception() is None:
            self._content.set_exception(aiohttp.ClientPayloadError())

    def _fail(self, error: Exception) -> MastheadError:
        if self._closed:
            return ClosedError(
                f"{self._failures.what(self._request)}: closed before all of the answer was read"
            )
        self.close()
        return self._failures.reading(error, self._request)

    def __del__(self) -> None:
        # The loop itself still holds an answer that nobody reads; only this object knows that nobody will.
        if not self._answer.closed:
            with suppress(RuntimeError):  # the loop is closed, and so is everything
                self._loop.call_soon_threadsafe(drop, self._answer)


def drop(answer: aiohttp.ClientResponse) -> None:
    """Give up an answer and its connection at once."""
    connection = answer.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()  # closing would wait for the other side's goodbye, perhaps for long
    answer.close()
