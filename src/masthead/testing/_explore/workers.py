"""Workers: processes that perform jobs, each job in a separate fork.

A worker has imported all modules and filled all caches before it forks, so that a job starts with both, and with
nothing that another job has left behind. Closures are no problem, since everything is inherited.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import selectors
import signal
import socket
import struct
import time
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn, Protocol

from masthead.testing._explore.child import Reply, fork, isolate, pause, run_in_child

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

__all__ = ["CAN_FORK", "LocalPool", "Pool", "ProcessPool", "count_cores"]

CAN_FORK: Final = hasattr(os, "fork") and hasattr(os, "waitid")
_LENGTH: Final = struct.Struct("!Q")
_STOP_SECONDS: Final = 1.0
"""Seconds for workers to end before they are killed."""
_OVERTIME_SECONDS: Final = 5.0
"""Seconds that a worker may take longer than the limit of its job before it is replaced."""


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    # The affinity respects cpusets; os.cpu_count counts all cores of the machine.
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


class Pool(Protocol):
    """Performs jobs; leaving it ends all processes."""

    limit: float
    """The maximum duration of a job, in real seconds."""

    def prepare(self, message: object) -> None:
        """Let all workers prepare for the jobs to come."""
        ...

    def submit(self, job: object, *, is_urgent: bool = False) -> int:
        """Add a job; return its number."""
        ...

    def wait(self, number: int, deadline: float | None = None) -> Reply | None:
        """Wait for the reply to a job; None after the deadline, in seconds of `time.monotonic`."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class LocalPool:
    """Performs jobs in this process, for debuggers and for systems without fork; nothing limits them.

    Args:
        perform: Performs a job.
        prepare: Prepares for jobs.
    """

    def __init__(self, perform: Callable[[object], object], prepare: Callable[[object], None]) -> None:
        self._perform = perform
        self._prepare = prepare
        self._jobs: dict[int, object] = {}
        self._count = 0
        self.limit = 0.0

    def prepare(self, message: object) -> None:
        """Prepare for the jobs to come."""
        self._prepare(message)

    def submit(self, job: object, *, is_urgent: bool = False) -> int:
        """Add a job; return its number."""
        del is_urgent
        self._count += 1
        self._jobs[self._count] = job
        return self._count

    def wait(self, number: int, deadline: float | None = None) -> Reply | None:
        """Perform a job, unless its deadline has passed."""
        start = time.monotonic()
        # The job stays, and a later call may perform it.
        if deadline is not None and start >= deadline:
            return None
        job = self._jobs.pop(number)
        try:
            result = self._perform(job)
        except SystemExit as end:
            # An operator that ends its process must not end the caller's.
            return Reply(None, f"the operator ended its process by sys.exit({end.code!r})")
        return Reply(result, seconds=time.monotonic() - start)

    def close(self) -> None:
        """Forget all jobs."""
        self._jobs.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Request(NamedTuple):
    """A request to a worker.

    Attributes:
        message: The job, or what to prepare for.
        limit: The maximum duration of the job, in real seconds.
        is_preparation: Whether it is no job.
    """

    message: object
    limit: float = 0.0
    is_preparation: bool = False


class _Worker:
    """A worker process, seen from the process that started it.

    Attributes:
        pid: Its process id.
        channel: The connection to it.
        job: The number of its job; 0 if it has none.
        since: When it got the job.
    """

    def __init__(self, pid: int, channel: socket.socket) -> None:
        self.pid = pid
        self.channel = channel
        self.job = 0
        self.since = 0.0


class ProcessPool:
    """Performs jobs in forks of worker processes.

    Args:
        perform: Performs a job, in a separate process.
        prepare: Called in each worker with a message of `prepare`.
        processes: The number of workers.
        limit: The maximum duration of a job, in real seconds.
    """

    def __init__(
        self,
        perform: Callable[[object], object],
        prepare: Callable[[object], None],
        *,
        processes: int,
        limit: float,
    ) -> None:
        self._perform = perform
        self._prepare = prepare
        self.limit = limit
        self._messages: list[object] = []
        self._queue: deque[tuple[int, object]] = deque()
        self._jobs: dict[int, object] = {}
        self._replies: dict[int, Reply] = {}
        self._count = 0
        self._selector = selectors.DefaultSelector()
        self._workers: list[_Worker] = []
        try:
            for _ in range(processes):
                self._add_worker()
        except BaseException:
            # Even after Ctrl-C, no process may remain.
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def prepare(self, message: object) -> None:
        """Let all workers prepare for the jobs to come."""
        # Workers that replace others get the same messages.
        self._messages.append(message)
        for worker in self._workers:
            _send(worker.channel, _Request(message, is_preparation=True))

    def submit(self, job: object, *, is_urgent: bool = False) -> int:
        """Add a job; return its number."""
        self._count += 1
        self._jobs[self._count] = job
        # Someone waits for an urgent job, such as the confirmation of a finding; the others are work in advance.
        if is_urgent:
            self._queue.appendleft((self._count, job))
        else:
            self._queue.append((self._count, job))
        self._distribute()
        return self._count

    def wait(self, number: int, deadline: float | None = None) -> Reply | None:
        """Wait for the reply to a job; None after the deadline."""
        while number not in self._replies:
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                return None
            # Workers that hang send nothing, so the wait is interrupted each second.
            pause = 1.0 if deadline is None else min(1.0, deadline - now)
            for key, _ in self._selector.select(pause):
                self._receive(key.data)
            self._replace_silent()
            self._distribute()
        self._jobs.pop(number, None)
        return self._replies.pop(number)

    def close(self) -> None:
        """End all workers and their jobs."""
        # Signal all workers before waiting for any, so that they end at the same time.
        for worker in self._workers:
            # The end of its connection lets a worker end its job as well.
            with contextlib.suppress(OSError):
                worker.channel.close()
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGTERM)
        deadline = time.monotonic() + _STOP_SECONDS
        for worker in self._workers:
            _reap(worker.pid, deadline)
        self._workers.clear()
        self._selector.close()

    def _add_worker(self) -> _Worker:
        ours, theirs = socket.socketpair()
        pid = fork()
        if not pid:
            # A worker with a copy of another's connection would keep that one from ending.
            ours.close()
            for worker in self._workers:
                worker.channel.close()
            _work(theirs, self._perform, self._prepare)
        theirs.close()
        worker = _Worker(pid, ours)
        self._workers.append(worker)
        self._selector.register(ours, selectors.EVENT_READ, worker)
        # A new worker was forked from this process, which has prepared nothing.
        for message in self._messages:
            _send(ours, _Request(message, is_preparation=True))
        return worker

    def _distribute(self) -> None:
        for worker in list(self._workers):
            if not worker.job and self._queue:
                number, job = self._queue.popleft()
                worker.job, worker.since = number, time.monotonic()
                try:
                    _send(worker.channel, _Request(job, self.limit))
                except OSError:
                    # It has ended between two jobs; this job fails with it.
                    self._replace(worker)

    def _receive(self, worker: _Worker) -> None:
        try:
            reply = _receive(worker.channel)
        except (EOFError, OSError):
            self._replace(worker)
            return
        assert isinstance(reply, Reply)
        self._replies[worker.job] = reply
        worker.job = 0

    def _replace_silent(self) -> None:
        """Replace workers that should have replied long ago."""
        now = time.monotonic()
        for worker in list(self._workers):
            # The worker ends its job at the limit itself; only a hung worker gets beyond.
            if worker.job and now > worker.since + self.limit + _OVERTIME_SECONDS:
                self._replace(worker)

    def _replace(self, worker: _Worker) -> None:
        """Replace a worker after its end or a hang; its job has failed."""
        self._selector.unregister(worker.channel)
        worker.channel.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker.pid, signal.SIGTERM)
        _reap(worker.pid, time.monotonic() + _STOP_SECONDS)
        self._workers.remove(worker)
        # The job may be the cause, so that a second attempt could take as long.
        if worker.job:
            failure = "the worker process of the explorer ended or hung during the run"
            self._replies[worker.job] = Reply(failure=failure, is_internal=True)
        self._add_worker()


def _work(channel: socket.socket, perform: Callable[[object], object], prepare: Callable[[object], None]) -> NoReturn:
    """Live as a worker: perform jobs until the connection ends."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        isolate(nothing)
        # Ctrl-C in a terminal is for the process that waits for us; it tells us.
        with contextlib.suppress(OSError):
            os.setpgid(0, 0)
        signal.signal(signal.SIGTERM, _stop)
        # A collection would write to all objects, and so copy the pages that children share.
        gc.disable()
        while True:
            request = _receive(channel)
            assert isinstance(request, _Request)
            if request.is_preparation:
                prepare(request.message)
                # Children never touch what the collector has frozen, so that they share its memory.
                gc.collect()
                gc.freeze()
            else:
                _send(channel, _perform_one(perform, request, channel))
    except (EOFError, OSError, _Stopped):
        pass
    finally:
        os._exit(0)


class _Stopped(BaseException):
    """Ends a worker."""


def _stop(*_: object) -> None:
    raise _Stopped


def _perform_one(perform: Callable[[object], object], request: _Request, channel: socket.socket) -> Reply:
    def work() -> object:
        # The child has a copy of the connection, which would keep it open after the worker's end.
        channel.close()
        # Without collections, cycles of a long run would reach the memory limit.
        gc.enable()
        return perform(request.message)

    return run_in_child(work, request.limit, lambda: _is_closed(channel))


def _is_closed(channel: socket.socket) -> bool:
    """Whether the other side has closed a connection, or has died."""
    try:
        # Peeking leaves the next request where it is.
        return not channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True


def _reap(pid: int, deadline: float) -> None:
    """Wait for a process to end; kill it after the deadline."""
    while True:
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            return
        if ended:
            return
        if time.monotonic() >= deadline:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            # Nothing survives this signal, so the next wait ends soon.
            deadline = float("inf")
        pause()


def _send(channel: socket.socket, message: object) -> None:
    content = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    channel.sendall(_LENGTH.pack(len(content)) + content)


def _receive(channel: socket.socket) -> object:
    (length,) = _LENGTH.unpack(_receive_exactly(channel, _LENGTH.size))
    return pickle.loads(_receive_exactly(channel, length))


def _receive_exactly(channel: socket.socket, count: int) -> bytes:
    content = bytearray()
    while len(content) < count:
        # Bounded reads, because recv allocates its whole buffer in advance.
        if not (data := channel.recv(min(count - len(content), 1 << 20))):
            raise EOFError
        content += data
    return bytes(content)
