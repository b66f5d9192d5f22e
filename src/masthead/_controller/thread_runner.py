"""The protocol for running plain reconcilers, timers and webhooks in threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from masthead.errors import ArgumentError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from typing import Self

    from masthead._client.client import Client
    from masthead._controller.context import ReconcileContext
    from masthead._meta.object import Object

__all__ = ["NoThreads", "ThreadRunner"]


class ThreadRunner(Protocol):
    """Runs plain functions in threads, with a blocking context or client, during one term of leadership."""

    async def __aenter__(self) -> Self:
        """Start."""
        ...

    async def __aexit__(self, *exc: object) -> None:
        """Wait for all threads to finish."""
        ...

    @property
    def is_busy(self) -> bool:
        """Whether any thread is running a function."""
        ...

    def revoke(self) -> None:
        """Reject all further client calls from the threads."""
        ...

    def serves(self, task: asyncio.Task[None]) -> bool:
        """Whether a task runs a client call of a thread, which waits for it."""
        ...

    def abandon(self) -> None:
        """End all client calls of the threads, whose tasks stand still, and reject further ones."""
        ...

    async def call(
        self,
        function: Callable[..., object],
        context: ReconcileContext[Object],
        arguments: tuple[object, ...],
        limit: float | None,
    ) -> object:
        """Call a function with a blocking context and further arguments, and return its result.

        Threads cannot be cancelled: after a timeout or a cancellation, the call still waits for the function to return.

        Raises:
            DeadlineError: If the function took longer than `limit` seconds; raised once it has returned.
            Exception: Whatever the function raises.
        """
        ...

    async def call_plain(self, function: Callable[..., object], *clients: Client, role: str = "timer") -> object:
        """Call the function of a timer or webhook with blocking clients, and return its result.

        A cancelled call still waits for the function to return. The role, ``timer`` or ``webhook``, is part of thread
        names and messages.

        Raises:
            Exception: Whatever the function raises.
        """
        ...


class NoThreads:
    """Rejects plain functions, for programs without the blocking façade."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None: ...

    @property
    def is_busy(self) -> bool:
        """Always false."""
        return False

    def revoke(self) -> None:
        """No-op."""

    def serves(self, task: asyncio.Task[None]) -> bool:
        """Always false."""
        del task
        return False

    def abandon(self) -> None:
        """No-op."""

    async def call(
        self,
        function: Callable[..., object],
        context: ReconcileContext[Object],
        arguments: tuple[object, ...],
        limit: float | None,
    ) -> object:
        """Reject a function.

        Raises:
            ArgumentError: Always.
        """
        del context, arguments, limit
        raise _plain_function_error(function)

    async def call_plain(self, function: Callable[..., object], *clients: Client, role: str = "timer") -> object:
        """Reject a function.

        Raises:
            ArgumentError: Always.
        """
        del clients, role
        raise _plain_function_error(function)


def _plain_function_error(function: object) -> ArgumentError:
    return ArgumentError(f"{function!r} is a plain function; masthead.Manager runs these", value=function)
