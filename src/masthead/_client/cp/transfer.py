"""The bytes of a copy, between threads that read and write local files and the streams of a command."""

from __future__ import annotations

from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Final

from masthead._client.cp.container import check_confirmation
from masthead._client.cp.threads import in_thread
from masthead.errors import ClosedError, CopyError, TransportError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Sequence

    from masthead._client.cp.container import Container, Ended
    from masthead._client.cp.progress import CopyCounter, Reporter
    from masthead._client.cp.unpack import CopySink
    from masthead._client.remotecommand.streams import RemoteInput, RemoteOutput

__all__ = ["batches", "fetch", "send"]

_BATCH: Final = 2**18
"""How many bytes are handed to or from a thread at a time."""


async def batches(chunks: Generator[bytes]) -> AsyncGenerator[bytes]:
    """The bytes of a generator that reads local files, in threads.

    Raises:
        CopyError: If a file cannot be read.
    """
    try:
        while batch := await in_thread(_next_batch, chunks):
            yield batch
    finally:
        chunks.close()


def _next_batch(chunks: Generator[bytes]) -> bytes:
    collected: list[bytes] = []
    size = 0
    for chunk in chunks:
        collected.append(chunk)
        size += len(chunk)
        # Whole batches: a thread switch for each chunk would cost more than the copy.
        if size >= _BATCH:
            break
    return b"".join(collected)


async def send(
    container: Container,
    command: Sequence[str],
    source: AsyncGenerator[bytes],
    counter: CopyCounter,
    reporter: Reporter,
) -> Ended:
    """Run a command that reads bytes from its stdin, and prints `commands.DONE` when it has succeeded.

    Raises:
        CopyError: If the source cannot be read.
        StatusError: If the server refuses.
        TransportError: If the connection fails or is lost.
        Exception: Whatever the callback of the reporter raises.
    """

    async def feed(stdin: RemoteInput) -> None:
        async for batch in source:
            try:
                await stdin.write(batch)
            except (TransportError, ClosedError):
                return  # the command has ended, and its exit explains it
            reporter.report(counter)
        if stdin.can_close:
            with suppress(TransportError, ClosedError):
                await stdin.close()

    async with aclosing(source):
        ended = check_confirmation(await container.run(command, send=feed))
    if ended.exit_code == 0:
        reporter.report(counter, is_last=True)
    return ended


async def fetch(
    container: Container,
    command: Sequence[str],
    open_sink: Callable[[CopyCounter], CopySink],
    counter: CopyCounter,
    reporter: Reporter,
    max_bytes: int | None = None,
) -> Ended:
    """Run a command that prints bytes to its stdout.

    Args:
        container: Where.
        command: The command.
        open_sink: Makes what takes them; in a thread.
        counter: Counts the bytes written.
        reporter: Says so.
        max_bytes: How many bytes it may print; None for any number.

    Raises:
        CopyError: If they are not what they should be, too many, or cannot be written.
        StatusError: If the server refuses.
        TransportError: If the connection fails or is lost.
        Exception: Whatever the callback of the reporter raises.
    """
    opened: list[CopySink] = []

    async def take(stdout: RemoteOutput) -> None:
        received, collected = 0, list[bytes]()
        size = 0
        (sink,) = opened
        async for chunk in stdout:
            received += len(chunk)
            size += len(chunk)
            # Before it is written, so that the disk is spared.
            if max_bytes is not None and received > max_bytes:
                raise CopyError(f"more than {max_bytes:,} bytes come; raise max_bytes")
            collected.append(chunk)
            if size >= _BATCH:
                await in_thread(sink.feed, b"".join(collected))
                collected, size = [], 0
                reporter.report(counter)
        await in_thread(sink.feed, b"".join(collected))

    try:
        # Not a result: a cancellation would lose it, and with it an open file.
        await in_thread(lambda: opened.append(open_sink(counter)))
        ended = await container.run(command, receive=take)
        if ended.exit_code == 0:
            # Only a complete copy replaces the target.
            await in_thread(opened[0].finish)
            reporter.report(counter, is_last=True)
    finally:
        for sink in opened:
            await in_thread(sink.close)
    return ended
