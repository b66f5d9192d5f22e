"""An executor of daemon threads: unlike with ThreadPoolExecutor, a hanging thread does not delay the process' exit."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Executor, Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DaemonExecutor", "make_awaitable_error"]

P = ParamSpec("P")
T = TypeVar("T")


class DaemonExecutor(Executor):
    """Runs calls in daemon threads, which wait for further calls.

    Args:
        name: The prefix of the threads' names.
        role: What error messages call the functions, such as ``reconcile``.
        max_threads: The maximum number of threads; further calls wait. None for no limit: the caller bounds it.
    """

    def __init__(self, name: str, role: str, *, max_threads: int | None = None) -> None:
        self._name = name
        self._role = role
        self._max_threads = max_threads
        self._is_shut_down = False
        self._start_afresh()

    def _start_afresh(self) -> None:
        """Start without threads: at the beginning, and in a forked child, which has those of its parent no more."""
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._threads = 0
        self._pid = os.getpid()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function in an idle thread, or in a new one.

        Raises:
            RuntimeError: If the executor is shut down.
        """
        future: Future[T] = Future()

        def run() -> None:
            # Setting the result of a cancelled future would raise.
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:  # noqa: BLE001 - the future's owner gets it
                future.set_exception(make_awaitable_error(error, self._role))
            else:
                future.set_result(result)

        if self._pid != os.getpid():
            self._start_afresh()
        with self._lock:
            if self._is_shut_down:
                raise RuntimeError("the executor is shut down")
            self._calls.put(run)
            if self._threads != self._max_threads and not self._idle.acquire(blocking=False):
                name = f"{self._name}-{self._threads}"
                self._threads += 1
                threading.Thread(target=self._work, name=name, daemon=True).start()
        return future

    def shutdown(self, wait: bool = False, *, cancel_futures: bool = False) -> None:
        """End the threads when they are idle; it never waits for them."""
        del wait, cancel_futures
        with self._lock:
            self._is_shut_down = True
            for _ in range(self._threads):
                self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call()
            del call  # or an idle thread would keep the last result alive
            self._idle.release()


def make_awaitable_error(error: BaseException, role: str) -> BaseException:
    """Return an error that a future can bring from a thread to the event loop.

    asyncio's futures refuse StopIteration, so that their owner would wait forever; and the loop ends with
    KeyboardInterrupt, although no signal has caused it if a thread raises it.

    Args:
        error: The error of the function in the thread.
        role: What the message calls the function.
    """
    if not isinstance(error, StopIteration | KeyboardInterrupt | GeneratorExit):
        return error
    wrapped = RuntimeError(f"the {role} raised {type(error).__name__}")
    wrapped.__cause__ = error
    return wrapped
