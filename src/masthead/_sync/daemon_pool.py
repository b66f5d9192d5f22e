"""A pool of daemon threads: one that hangs does not keep the process from exiting, as those of ThreadPoolExecutor do."""

from __future__ import annotations

import threading
from concurrent.futures import Executor, Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from masthead._controller.user_errors import raise_in_future

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DaemonPool"]

P = ParamSpec("P")
T = TypeVar("T")


class DaemonPool(Executor):
    """Runs calls in threads that are kept for further calls; whoever submits bounds their number.

    Args:
        name: The prefix of the threads' names.
        what: What messages call the functions.
    """

    def __init__(self, name: str, what: str = "reconcile") -> None:
        self._name = name
        self._what = what
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._threads = 0
        self._is_shut_down = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function in a thread that is idle, or in a new one.

        Raises:
            RuntimeError: If the pool is shut down.
        """
        future: Future[T] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:  # noqa: BLE001 - whoever waits for the future gets it
                future.set_exception(raise_in_future(error, self._what))
            else:
                future.set_result(result)

        with self._lock:
            if self._is_shut_down:
                raise RuntimeError("the pool is shut down")
            self._calls.put(run)
            if not self._idle.acquire(blocking=False):
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
