"""The streams of a remote command over SPDY, which kubectl before 1.30 speaks, and later releases on request.

The client opens one stream per requested stdin, stdout and stderr, one for the Status, and with a terminal
one for its sizes.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from masthead_server.kubelet.error_responses import build_text_response, send_error
from masthead_server.kubelet.first_completed import until_first_ends
from masthead_server.kubelet.spdy import SpdyConnection
from masthead_server.kubelet.spdy_upgrade import negotiate, upgrade_headers
from masthead_server.kubelet.stdio import OutputStream, StdinPipe, TerminalSizes
from masthead_server.kubelet.streams import parse_terminal_size
from masthead_server.wire.plain import text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead_server.clock import Clock
    from masthead_server.kubelet.remotecommand import RemoteCommand
    from masthead_server.kubelet.spdy import SpdyStream
    from masthead_server.kubelet.streams import RemoteCommandOptions
    from masthead_server.web.byte_stream import ByteStream
    from masthead_server.web.request import Request
    from masthead_server.wire.plain import Plain

__all__ = ["SpdyCommand", "SpdyStreams"]

_V4: Final = "v4.channel.k8s.io"
_PROTOCOLS: Final = (_V4, "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io")
_WITH_SIZES: Final = frozenset(_PROTOCOLS[:2])
_OPEN_SECONDS: Final = 30.0
"""Time for the client to open all streams, as of the kubelet."""
_MAX_RESIZE_BYTES: Final = 4096


class SpdyCommand:
    """Runs a command over SPDY.

    Args:
        command: The command.
        clock: Times out a client that does not open its streams.
    """

    def __init__(self, command: RemoteCommand, clock: Clock) -> None:
        self._command = command
        self._clock = clock

    async def serve(self, incoming: Request, on_response: Callable[[int], None]) -> None:
        """Upgrade the connection, and run the command over it.

        Args:
            incoming: The request.
            on_response: Called with the status code, right before the response begins.

        Raises:
            ConnectionError: If the client has disconnected.
        """
        # Before the upgrade: SPDY clients read the reason from the response.
        if self._command.problem:
            await send_error(incoming, build_text_response(500, self._command.problem), on_response)
            return
        chosen = negotiate(incoming.headers.get_all("X-Stream-Protocol-Version"), _PROTOCOLS)
        if not isinstance(chosen, str):
            await send_error(incoming, chosen, on_response)
            return
        on_response(101)
        carrier = await incoming.switch(upgrade_headers(chosen))
        streams = SpdyStreams(carrier, self._command.options, chosen)
        expiry = self._clock.call_later(_OPEN_SECONDS, streams.give_up)
        try:
            await streams.serve(self._command.run)
        finally:
            expiry.cancel()


class SpdyStreams:
    """The streams of one exec or attach.

    Args:
        carrier: What carries the bytes.
        options: The streams that the client asks for.
        protocol: The version of the protocol.
    """

    def __init__(self, carrier: ByteStream, options: RemoteCommandOptions, protocol: str) -> None:
        self._connection = SpdyConnection(carrier, self._accept)
        self._protocol = protocol
        asked = {"stdin": options.stdin, "stdout": options.stdout, "stderr": options.stderr}
        self._expected = {"error", *(name for name, is_asked in asked.items() if is_asked)}
        # Older versions have no stream for sizes, and would wait for it.
        if options.tty and protocol in _WITH_SIZES:
            self._expected.add("resize")
        self._streams: dict[str, SpdyStream] = {}
        self._are_open = asyncio.Event()
        self._is_broken = False
        self.stdin = StdinPipe()
        self.sizes = TerminalSizes()
        self.stdout = OutputStream(lambda data: self._send("stdout", data))
        # A terminal has one output.
        self.stderr = OutputStream(lambda data: self._send("stdout" if options.tty else "stderr", data))
        if not options.stdin:
            self.stdin.close()

    async def serve(self, run: Callable[[SpdyStreams], Awaitable[None]]) -> None:
        """Run a command once the client has opened all streams, and close the connection."""
        async with asyncio.TaskGroup() as group:
            receiving = group.create_task(self._connection.run())
            await until_first_ends(self._are_open.wait(), self._connection.ended.wait())
            # Otherwise the client left, or took too long to open its streams.
            if self._are_open.is_set():
                await run(self)
            await self._connection.close()
            receiving.cancel()

    def give_up(self) -> None:
        """Wait no longer for the client to open its streams; if it has, this does nothing."""
        if not self._are_open.is_set():
            self._connection.ended.set()

    async def receive(self) -> None:
        """Feed what the client sends to stdin and sizes, until it goes away."""
        async with asyncio.TaskGroup() as group:
            pumps = [group.create_task(pump) for pump in (self._pump_stdin(), self._pump_sizes())]
            await self._connection.ended.wait()
            for pump in pumps:
                pump.cancel()

    async def finish(self, status: Plain) -> None:
        """Send the Status that ends the command, and end all streams.

        Raises:
            ConnectionError: If the client has disconnected.
        """
        if self._protocol == _V4:
            await self._streams["error"].write(msgspec.json.encode(status))
        # Before version 4, the error stream carried text, and stayed empty on success.
        elif status["status"] != "Success":
            await self._streams["error"].write(text(status, "message").encode())
        for stream in self._streams.values():
            await stream.end()

    def break_off(self) -> None:
        """Expect nothing more of the client."""
        self._is_broken = True
        self.stdin.close()
        self.sizes.close()

    def _accept(self, stream: SpdyStream) -> bool:
        kind = stream.headers.get("streamtype", "")
        # A second stream of a kind would replace the first one under the command.
        if kind not in self._expected or kind in self._streams:
            return False
        self._streams[kind] = stream
        if self._streams.keys() == self._expected:
            self._are_open.set()
        return True

    async def _pump_stdin(self) -> None:
        if (stream := self._streams.get("stdin")) is None:
            return
        with suppress(ConnectionError):
            while piece := await stream.read():
                await self.stdin.feed(bytes(piece))
        self.stdin.close()

    async def _pump_sizes(self) -> None:
        """Read the sizes of the terminal: JSON objects, one after the other."""
        if (stream := self._streams.get("resize")) is None:
            return
        decoder, received = json.JSONDecoder(), ""
        with suppress(ConnectionError):
            while piece := await stream.read():
                # Objects may be cut anywhere; only the end of an endless one is buffered.
                received = (received + bytes(piece).decode("latin-1"))[-_MAX_RESIZE_BYTES:].lstrip()
                with suppress(ValueError):  # the rest of an object is still to come
                    while received:
                        message, end = decoder.raw_decode(received)
                        received = received[end:].lstrip()
                        if (size := parse_terminal_size(message)) is not None:
                            self.sizes.put(size)

    async def _send(self, kind: str, data: bytes) -> None:
        if self._is_broken:
            raise BrokenPipeError("the client is gone")
        if kind not in self._expected:
            return
        try:
            await self._streams[kind].write(data)
        except ConnectionError:
            self._is_broken = True
            raise BrokenPipeError("the client is gone") from None
