"""The streams of a process in a container, and the standard streams of this one."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import masthead

__all__ = ["relay"]

_PIECE: Final = 65536


def relay(process: masthead.streams.RemoteProcess, *, is_fed: bool) -> int:
    """Copy the process' output and the user's input until the process ends, and return its exit code.

    Args:
        process: The process.
        is_fed: Whether it gets the standard input.

    Raises:
        OSError: If a standard stream cannot be read or written any more.
        MastheadError: If the process could not be run, or the connection was lost.
    """
    from masthead.errors import MastheadError

    beside = _Beside(process)
    errors = beside.start(lambda: _copy(process.stderr, sys.stderr.buffer))
    if is_fed:
        # It may wait for input when the process has ended already.
        beside.start(lambda: _feed(process), daemon=True)
    code = 0
    try:
        # The caller's thread copies stdout, so that Ctrl-C interrupts the copy.
        _copy(process.stdout, sys.stdout.buffer)
        code = process.wait()
    except MastheadError:
        # Closing the process after a failed copy causes this error.
        if beside.failure is None:
            raise
    finally:
        process.close()
        # Not the thread of stdin: a read from a terminal cannot be interrupted.
        errors.join()
    if beside.failure is not None:
        raise beside.failure
    return code


class _Beside:
    """The threads that copy stdin and stderr, while the caller's thread copies stdout.

    A process waits until each of its streams is read: when one thread fails, the others would wait for ever, so the
    process is closed.

    Args:
        process: The process.
    """

    def __init__(self, process: masthead.streams.RemoteProcess) -> None:
        self.failure: OSError | None = None
        self._process = process

    def start(self, work: Callable[[], None], *, daemon: bool = False) -> threading.Thread:
        """Do something in a thread, and keep the OSError that ends it."""
        thread = threading.Thread(target=self._run, args=(work,), daemon=daemon)
        thread.start()
        return thread

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except OSError as error:
            self.failure = error
            self._process.close()


def _copy(source: Iterable[bytes], target: BinaryIO) -> None:
    from masthead.errors import MastheadError

    try:
        for piece in source:
            target.write(piece)
            # Flushed immediately: output of a running process must not wait for a full buffer.
            target.flush()
    except MastheadError:
        return  # waiting for the end of the process raises the error


def _feed(process: masthead.streams.RemoteProcess) -> None:
    from masthead.errors import MastheadError

    try:
        # os.read returns the available bytes; a buffered read would wait for a whole block.
        while piece := os.read(sys.stdin.fileno(), _PIECE):
            process.stdin.write(piece)
        # Programs such as cat end only when their input does.
        process.stdin.close()
    except MastheadError:
        return  # the process has ended
