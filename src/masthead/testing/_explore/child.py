"""A job in a forked process: its limits, its output, and its reply.

The process of a job ends in bounded time, whatever the job does: a watchdog in C prints the stack and ends the process,
and the waiting process kills what remains.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import logging
import os
import pickle
import select
import signal
import struct
import sys
import time
import traceback
import warnings
from typing import TYPE_CHECKING, Final, NoReturn

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

__all__ = ["Reply", "fork", "isolate", "pause", "run_in_child"]

_MAX_OUTPUT: Final = 32_768
"""The maximum length of the recorded output, which is its end."""
_MAX_MEMORY: Final = 2 << 30
"""Bytes that a job may allocate."""
_GRACE_SECONDS: Final = 2.0
"""Seconds between the watchdog and the kill."""
_POLL_MILLISECONDS: Final = 50
_PAUSE_MILLISECONDS: Final = 5
_MAX_READS: Final = 16
"""The maximum number of reads from the pipe of a dead child, which a descendant of it may fill."""
_TRACEBACK_FRAMES: Final = 12
_LENGTH: Final = struct.Struct("!Q")
_KEPT: Final[list[TextIO]] = []
"""Replaced streams: if they were collected, they would print what their buffers hold a second time."""


class Reply(msgspec.Struct):
    """What a job has returned.

    Attributes:
        result: The result; None after a failure.
        failure: Why there is no result; empty if there is one.
        is_internal: Whether the failure is an error of the explorer rather than of the operator.
        output: The end of what it printed.
        seconds: Its duration, in real time.
    """

    result: object = None
    failure: str = ""
    is_internal: bool = False
    output: str = ""
    seconds: float = 0.0


def pause() -> None:
    """Wait for a moment: the end of a process that is no file cannot be waited for with a deadline."""
    select.poll().poll(_PAUSE_MILLISECONDS)


def fork() -> int:
    """Fork, without a warning about other threads: the new process uses none of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def isolate(output: int) -> None:
    """Make a new process independent of its parent: its signals, its event loop, its input and output."""
    # Signals would wake the parent's event loop, through a descriptor that both share.
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # The loop of the caller runs in the other process only.
    asyncio._set_running_loop(None)  # noqa: SLF001
    # Both have text in their buffers that the parent will print.
    _KEPT.extend((sys.stdout, sys.stderr))
    # An operator that reads its input would take the lines of the terminal.
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    # Replace the descriptors as well: C code and subprocesses print there.
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdin = open(0, closefd=False, encoding="utf-8")  # noqa: SIM115 - open for as long as the process
    sys.stdout = open(1, "w", closefd=False, encoding="utf-8", errors="replace")  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False, encoding="utf-8", errors="replace", buffering=1)  # noqa: SIM115


def run_in_child(perform: Callable[[], object], limit: float, is_cancelled: Callable[[], bool]) -> Reply:
    """Perform a job in a forked process.

    Args:
        perform: The job.
        limit: Its maximum duration, in real seconds.
        is_cancelled: Asked now and then whether the reply is still wanted.
    """
    start = time.monotonic()
    result_in, result_out = os.pipe()
    output_in, output_out = os.pipe()
    pid = fork()
    if not pid:
        _live(perform, result_out, output_out, limit)
    # Only then the end of the child is the end of the pipes.
    os.close(result_out)
    os.close(output_out)
    # Both processes do this, since either may be first.
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)
    supervisor = _Supervisor(pid, result_in, output_in, start + limit + _GRACE_SECONDS, is_cancelled)
    try:
        supervisor.supervise()
    finally:
        status = _end(pid, is_complete=supervisor.is_complete)
        supervisor.drain()
        os.close(result_in)
        os.close(output_in)
    return supervisor.reply(status, limit, time.monotonic() - start)


class _Supervisor:
    """Reads what a child sends, until it has sent its reply or ended."""

    def __init__(self, pid: int, result: int, output: int, deadline: float, is_cancelled: Callable[[], bool]) -> None:
        self._pid = pid
        self._result = result
        self._output = output
        self._deadline = deadline
        self._is_cancelled = is_cancelled
        self._received = bytearray()
        self._printed = bytearray()
        self._has_ended = False
        # A descendant that fills one pipe must not keep us from the other.
        for descriptor in (result, output):
            os.set_blocking(descriptor, False)

    @property
    def is_complete(self) -> bool:
        """Whether the reply has arrived."""
        size = _LENGTH.size
        return len(self._received) >= size and len(self._received) >= size + _LENGTH.unpack_from(self._received)[0]

    def supervise(self) -> None:
        """Read until the reply is complete, the child has ended, or its time is over."""
        poll = select.poll()
        poll.register(self._result, select.POLLIN)
        poll.register(self._output, select.POLLIN)
        while not self.is_complete and not self._has_ended:
            ready = poll.poll(_POLL_MILLISECONDS)
            for descriptor, _ in ready:
                self._read(descriptor, poll)
            # As long as something arrives, the child is alive, and its watchdog limits it.
            if not ready and (self._is_cancelled() or self._is_over()):
                return

    def _is_over(self) -> bool:
        # A descendant of the child may hold its pipes open.
        found = os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return found is not None or time.monotonic() > self._deadline

    def _read(self, descriptor: int, poll: select.poll) -> None:
        try:
            data = os.read(descriptor, 65_536)
        except BlockingIOError:
            return
        # The result pipe ends with the child; its output may end earlier, if the operator closes it.
        if descriptor == self._result:
            self._received += data
            self._has_ended = not data
        elif data:
            self._print(data)
        else:
            poll.unregister(descriptor)

    def _print(self, data: bytes) -> None:
        self._printed += data
        # The end has the stack of the watchdog.
        del self._printed[:-_MAX_OUTPUT]

    def drain(self) -> None:
        """Read the rest of both pipes, without waiting."""
        # A child may send its reply and end between the last poll and the check of its end.
        for descriptor, keep in ((self._result, self._received.extend), (self._output, self._print)):
            with contextlib.suppress(BlockingIOError):
                for _ in range(_MAX_READS):
                    if not (data := os.read(descriptor, 65_536)):
                        break
                    keep(data)

    def reply(self, status: int, limit: float, seconds: float) -> Reply:
        """Return the reply of an ended child."""
        output = self._printed.decode(errors="replace")
        if self.is_complete:
            reply: Reply = pickle.loads(bytes(self._received[_LENGTH.size :]))
        else:
            reply = Reply(failure=_describe_end(status, output, limit, seconds))
        reply.output, reply.seconds = output, seconds
        return reply


def _end(pid: int, *, is_complete: bool) -> int:
    """Wait for a child that has ended, kill it otherwise; kill its descendants; return its exit status."""
    status = 0
    if not is_complete and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        # The end of its pipe precedes the end of a process by a moment.
        deadline = time.monotonic() + 0.2
        while time.monotonic() < deadline:
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                break
            pause()
    # Processes that the operator has started belong to its group.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    # The child may not have joined its group yet.
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def _live(perform: Callable[[], object], result: int, output: int, limit: float) -> NoReturn:
    """Perform a job, send its reply, and end the process without any cleanup."""
    try:
        with contextlib.suppress(OSError):
            os.setpgid(0, 0)
        isolate(output)
        # A crash in C has a stack in the report as well.
        faulthandler.enable(file=2)
        faulthandler.dump_traceback_later(limit, exit=True, file=2)
        _limit_memory()
        # Operators under faults log a lot, which would fill the pipes.
        logging.disable(logging.CRITICAL)
        content = _reply_of(perform)
        # The watchdog must not end the process while it sends its reply.
        faulthandler.cancel_dump_traceback_later()
        # The process ends without a flush, and the operator may have replaced the streams.
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        # Sent last: the supervisor kills the process as soon as the reply is complete.
        _send(result, content)
    finally:
        # Exit handlers, such as those of pytest, belong to the parent.
        os._exit(0)


def _reply_of(perform: Callable[[], object]) -> bytes:
    try:
        reply = Reply(perform())
    except SystemExit as end:
        # Not an error of the explorer: operators do this in handlers of failures.
        reply = Reply(failure=f"the operator ended its process by sys.exit({end.code!r}):\n{_stack_of(end)}")
    except BaseException as error:  # noqa: BLE001 - code of the user
        failure = f"the run failed with {type(error).__name__}: {error}\n{_stack_of(error)}"
        reply = Reply(failure=failure, is_internal=True)
    try:
        return pickle.dumps(reply, pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 - whatever objects of the user do
        failure = f"the outcome of the run cannot be sent to another process: {error}"
        return pickle.dumps(Reply(failure=failure, is_internal=True))


def _stack_of(error: BaseException) -> str:
    return "".join(traceback.format_tb(error.__traceback__)[-_TRACEBACK_FRAMES:]).rstrip()


def _send(descriptor: int, content: bytes) -> None:
    data = memoryview(_LENGTH.pack(len(content)) + content)
    while data:
        data = data[os.write(descriptor, data) :]


def _limit_memory() -> None:
    try:
        import resource
        from pathlib import Path

        # The limit is on top of what the parent has mapped already.
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        used = pages * resource.getpagesize()
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        limit = used + _MAX_MEMORY if hard == resource.RLIM_INFINITY else min(used + _MAX_MEMORY, hard)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    except (ImportError, OSError, ValueError):
        # Not on this system; the time limit remains.
        return


def _describe_end(status: int, output: str, limit: float, seconds: float) -> str:
    """Say why a process ended without a reply."""
    stack = _stack_in(output)
    # On a loaded machine, the process may be killed before its watchdog has printed anything.
    if seconds >= limit or "Timeout (" in output:
        doing = f"; at that moment it was here, innermost call first:\n{stack}" if stack else ""
        return f"the operator took more than {limit:.0f} s of real time in one run: it blocks or loops{doing}"
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = str(-status)
        return f"the process of the operator was killed by {name}{f':{chr(10)}{stack}' if stack else ''}"
    return (
        f"the process of the operator ended with exit code {status} in the middle of a run, as os._exit does;"
        " raise an exception instead"
    )


def _stack_in(output: str) -> str:
    """Return the frames that the watchdog or the fault handler printed."""
    frames: Sequence[str] = [line for line in output.splitlines() if line.startswith('  File "')]
    return "\n".join(frames[:_TRACEBACK_FRAMES])
