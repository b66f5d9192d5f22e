"""The manager: reconcilers and timers may be coroutine functions, or plain functions that run in threads."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import logging
from typing import TYPE_CHECKING, Final

from masthead._controller.invocation import ReconcileTimeoutError
from masthead._controller.manager import Manager as AsyncManager
from masthead._meta.daemon_executor import DaemonExecutor
from masthead._module import set_module
from masthead._rest.call_observer import call_observer
from masthead._rest.write_observer import write_observer
from masthead._sync.context import ReconcileContext
from masthead._sync.portal import Portal
from masthead._sync.reconcile_calls import client_of_loop

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from masthead._cache.factory.factory import SharedInformerFactory
    from masthead._client.client import Client as AsyncClient
    from masthead._controller.context import ReconcileContext as AsyncContext
    from masthead._controller.manager_page import ManagerPage
    from masthead._meta.object import Object
    from masthead._rest.call_observer import CallObserver
    from masthead._rest.write_observer import WriteObserver

__all__ = ["Manager", "ReconcilerThreads"]

_log: Final = logging.getLogger("masthead.controller")


class ReconcilerThreads:
    """Runs plain reconcilers, timers and webhooks in threads, with a context and a client that block.

    One instance serves one term of leadership, or the webhooks of a run. Threads cannot be interrupted: `revoke` makes their calls to the client
    fail, so that outdated work ends soon.
    """

    def __init__(self) -> None:
        self._portal = Portal.attached()
        self._executor = DaemonExecutor("masthead-reconcile", "reconcile")
        self._plain: dict[str, DaemonExecutor] = {}
        self._running: set[asyncio.Future[object]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.revoke()
        self._executor.shutdown()
        for executor in self._plain.values():
            executor.shutdown()

    @property
    def is_busy(self) -> bool:
        """Whether a thread runs a function."""
        return bool(self._running)

    def revoke(self) -> None:
        """Refuse all further calls of the threads to the client."""
        self._portal.revoke()

    def serves(self, task: asyncio.Task[None]) -> bool:
        """Whether a task runs a client call of a thread, which waits for it."""
        return self._portal.runs(task)

    def abandon(self) -> None:
        """End all calls of the threads, and refuse further ones, because the event loop no longer runs them."""
        self._portal.abandon()

    async def call(
        self,
        function: Callable[..., object],
        context: AsyncContext[Object],
        arguments: tuple[object, ...],
        limit: float | None,
    ) -> object:
        """Call a function with a blocking context and further arguments; return its result.

        Raises:
            ReconcileTimeoutError: If it took longer than `limit` seconds, once it has returned.
            asyncio.CancelledError: If the caller is cancelled, once it has returned.
            Exception: Whatever the function raises.
        """
        # Threads that the function starts do not inherit its context, but their writes count as the reconcile's.
        portal = self._portal.within(functools.partial(_with_observer, write_observer.get(), call_observer.get()))
        blocking: ReconcileContext[Object] = ReconcileContext(portal, context)
        copied = contextvars.copy_context()
        future = asyncio.get_running_loop().run_in_executor(
            self._executor, lambda: copied.run(function, blocking, *arguments)
        )
        self._track(future)
        try:
            done, _ = await asyncio.wait({future}, timeout=limit)
            if not done:
                _log.error(
                    "the reconcile of %s takes longer than %g s; a thread cannot be cancelled, so the object stays in "
                    "flight until it returns",
                    context.request,
                    limit,
                )
                await asyncio.wait({future})
                raise ReconcileTimeoutError(f"the reconcile of {context.request} took longer than {limit:g} s")
        except asyncio.CancelledError:
            # No other reconcile of the object may start while the thread is running.
            await asyncio.wait({future})
            raise
        return future.result()

    async def call_plain(self, function: Callable[..., object], *clients: AsyncClient, role: str = "timer") -> object:
        """Call the function of a timer or webhook with blocking clients; return its result.

        Raises:
            asyncio.CancelledError: If the caller is cancelled, once it has returned.
            Exception: Whatever the function raises.
        """
        blocking = [client_of_loop(self._portal, client) for client in clients]
        copied = contextvars.copy_context()
        executor = self._plain.setdefault(role, DaemonExecutor(f"masthead-{role}", role))
        future = asyncio.get_running_loop().run_in_executor(executor, lambda: copied.run(function, *blocking))
        self._track(future)
        try:
            await asyncio.wait({future})
        except asyncio.CancelledError:
            # Or the next term would run the timer a second time.
            await asyncio.wait({future})
            raise
        return future.result()

    def _track(self, future: asyncio.Future[object]) -> None:
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        # An error after a timeout or a revocation has no reader; asyncio would log it as never retrieved.
        future.add_done_callback(_retrieve)


def _with_observer(observer: WriteObserver | None, calls: CallObserver | None) -> contextvars.Context:
    """Copy the context of the calling thread, and add the observers of a reconcile's calls."""
    context = contextvars.copy_context()
    if context.get(write_observer) is None:
        context.run(write_observer.set, observer)
        context.run(call_observer.set, calls)
    return context


def _make_page(name: str, client: AsyncClient, factory: SharedInformerFactory, host: str) -> ManagerPage:
    # Only for those who look at it.
    from masthead._ui.manager_page import LiveManagerPage

    return LiveManagerPage(name, client, factory, host)


def _retrieve(future: asyncio.Future[object]) -> None:
    if not future.cancelled():
        future.exception()


@set_module("masthead")
class Manager(AsyncManager):
    __doc__ = AsyncManager.__doc__

    _THREADS = ReconcilerThreads
    _PAGE = staticmethod(_make_page)
