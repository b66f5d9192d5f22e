"""Calls the functions of webhooks: on the event loop or in threads, within a time limit."""

from __future__ import annotations

import asyncio
import inspect
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, cast

from masthead.errors import ArgumentError, DeadlineError, MastheadError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

    from masthead._client.client import Client

__all__ = ["TooManyCallsError", "CallTimeoutError", "FunctionCalls", "PlainRunner"]

MAX_THREADS: Final = 64
"""Plain functions that run at the same time. Threads cannot be cancelled, so hanging ones would pile up."""


class TooManyCallsError(MastheadError):
    """Too many plain functions are running. The answer is 503."""


class CallTimeoutError(DeadlineError):
    """A function took longer than its time limit. The answer is 504."""


class PlainRunner(Protocol):
    """Runs plain functions in threads."""

    async def call_plain(self, function: Callable[..., object], *clients: Client, role: str) -> object:
        """Call a function with blocking clients, and return its result."""
        ...


class FunctionCalls:
    """Calls the functions of webhooks.

    Args:
        client: The client for functions that take one.
        threads: Runs plain functions.
    """

    def __init__(self, client: Client, threads: PlainRunner) -> None:
        self._client = client
        self._threads = threads
        self._running: set[asyncio.Task[object]] = set()

    async def call(
        self, function: Callable[..., object], *arguments: object, is_async: bool, takes_client: bool, limit: float
    ) -> object:
        """Call a function; return its result, or a list of its results if it is a generator function.

        Args:
            function: The function.
            arguments: Its arguments.
            is_async: Whether it runs on the event loop.
            takes_client: Whether it takes the client as a further argument.
            limit: The time limit in seconds.

        Raises:
            CallTimeoutError: If it takes too long. A coroutine is cancelled, a thread is abandoned.
            TooManyCallsError: If too many threads are running.
            Exception: Whatever the function raises.
        """
        clients = (self._client,) if takes_client else ()
        if is_async:
            return await self._call_on_loop(function, (*arguments, *clients), limit)
        return await self._call_in_thread(partial(_call_plain, function, *arguments), clients, limit)

    async def _call_on_loop(
        self, function: Callable[..., object], arguments: tuple[object, ...], limit: float
    ) -> object:
        deadline = asyncio.timeout(limit)
        try:
            async with deadline:
                returned = function(*arguments)
                if inspect.isasyncgen(returned):
                    return [item async for item in cast("AsyncIterator[object]", returned)]
                return await cast("Awaitable[object]", returned)
        except TimeoutError:
            # A TimeoutError of the function itself is an ordinary failure.
            if not deadline.expired():
                raise
            raise CallTimeoutError(f"the webhook took longer than {limit:g} s, and was cancelled") from None

    async def _call_in_thread(
        self, function: Callable[..., object], clients: tuple[Client, ...], limit: float
    ) -> object:
        if len(self._running) >= MAX_THREADS:
            raise TooManyCallsError(f"{MAX_THREADS} functions of webhooks are running")
        task = asyncio.get_running_loop().create_task(self._run_in_thread(function, clients))
        self._running.add(task)
        task.add_done_callback(self._forget)
        # Shielded by the wait: the thread is still running after a timeout, and counts until it returns.
        done, _ = await asyncio.wait({task}, timeout=limit)
        if not done:
            raise CallTimeoutError(f"the webhook takes longer than {limit:g} s; its thread is still running")
        return task.result()

    async def _run_in_thread(self, function: Callable[..., object], clients: tuple[Client, ...]) -> object:
        return await self._threads.call_plain(function, *clients, role="webhook")

    def _forget(self, task: asyncio.Task[object]) -> None:
        self._running.discard(task)
        # Retrieved, or asyncio would log the error of an abandoned call.
        if not task.cancelled():
            task.exception()


def _call_plain(function: Callable[..., object], *arguments: object) -> object:
    returned = function(*arguments)
    if inspect.isawaitable(returned):
        if inspect.iscoroutine(returned):
            returned.close()
        raise ArgumentError("the function returned a coroutine; define it with `async def`", value=function)
    # A generator's body runs here, in the thread.
    return list(cast("Iterable[object]", returned)) if inspect.isgenerator(returned) else returned
