"""A thread that reads what is sent to stdin."""

from __future__ import annotations

import threading
from concurrent.futures import Executor, Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SourceThread"]

P = ParamSpec("P")
T = TypeVar("T")


class SourceThread(Executor):
    """Runs calls one after the other in a thread of its own, until it is shut down.

    Not the event loop's executor: a pipe or a generator may block for ever, and neither the end of the loop nor the
    end of the program may wait for it.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        threading.Thread(target=self._work, name="masthead stdin", daemon=True).start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function in the thread when it is free."""
        future: Future[T] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except StopIteration as error:  # which asyncio's futures refuse, so that their owner would wait for ever
                raised = RuntimeError("reading what to send to stdin raised StopIteration")
                raised.__cause__ = error
                future.set_exception(raised)
            except BaseException as error:  # noqa: BLE001 - whoever waits for the future gets it
                future.set_exception(error)
            else:
                future.set_result(result)

        self._calls.put(run)
        return future

    def shutdown(self, wait: bool = False, *, cancel_futures: bool = False) -> None:
        """End the thread when its last call has returned; it never waits for that."""
        del wait, cancel_futures
        self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call()
