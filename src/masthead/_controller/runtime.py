"""A running manager: caches first, then controllers; stopped in the opposite order."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any, Final

from masthead._cache.factory.factory import SharedInformerFactory
from masthead._controller.background import run_source, run_timer
from masthead._controller.cache_reader import informer_of
from masthead._controller.reconcile_loop import ReconcileLoop
from masthead._controller.services import Services, utc_now
from masthead._module import set_module
from masthead._sansio.backoff import Backoff
from masthead.errors import ClosedError, ConfigError
from masthead.metrics import NO_METRICS, PrometheusMetrics

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from datetime import datetime
    from typing import Self

    from masthead._client.client import Client
    from masthead._controller.controller import Controller
    from masthead._controller.manager import Manager
    from masthead._controller.options import RunOptions
    from masthead._controller.services import ThreadRunner
    from masthead.metrics import Metrics

__all__ = ["ManagerRuntime"]

_log: Final = logging.getLogger("masthead.controller")


@set_module("masthead")
class ManagerRuntime:
    """One run of a `Manager`; made by `Manager.running`, `Manager.serve` and `Manager.run`.

    ::

        client ─> informers ─> probes ─> (leader) ─> controllers, sources, timers
          stop:   4             5          3            1 finish what is in flight   2 cancel the rest

    """

    def __init__(
        self,
        manager: Manager,
        options: RunOptions,
        client: Client,
        *,
        threads: type[ThreadRunner],
        metrics: Metrics | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._manager = manager
        self._options = options
        self._client = client
        self._threads = threads
        self._metrics = metrics if metrics is not None else _default_metrics(options)
        self._clock = clock
        self._factory = SharedInformerFactory(
            client, namespace=options.namespaces or None, metrics=self._metrics
        )
        self._loops: dict[str, ReconcileLoop] = {}
        self._stopping = asyncio.Event()
        self._is_hasty = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._main: asyncio.Task[None] | None = None
        self._stack = contextlib.AsyncExitStack()

    # What it is doing.

    @property
    def client(self) -> Client:
        """The client of the cluster."""
        return self._client

    @property
    def factory(self) -> SharedInformerFactory:
        """The informers, which the controllers share."""
        return self._factory

    @property
    def options(self) -> RunOptions:
        """How it runs."""
        return self._options

    @property
    def loops(self) -> Mapping[str, ReconcileLoop]:
        """The running controllers, by name; empty while another replica leads."""
        return self._loops

    @property
    def is_leading(self) -> bool:
        """Whether its controllers run."""
        return bool(self._loops)

    @property
    def is_idle(self) -> bool:
        """Whether its controllers have nothing left to do now; keys with a delay are for later."""
        controllers = self._manager.controllers
        return len(self._loops) == len(controllers) and all(each.is_idle for each in self._loops.values())

    def describe(self) -> Mapping[str, object]:
        """What it is doing, for the debug page."""
        return {
            "leading": self.is_leading,
            "controllers": {name: each.describe() for name, each in self._loops.items()},
            "informers": {name: str(each) for name, each in self._factory.health.items()},
        }

    # Its life.

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        try:
            await self._start()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._stopping.set()
        try:
            if self._main is not None:
                await self._main
        finally:
            await self._stack.aclose()

    def stop(self, why: str = "") -> None:
        """Ask it to stop gracefully; from any thread. Asking again does nothing."""
        loop = self._loop
        if loop is None:
            self._stopping.set()
            return

        def begin() -> None:
            if not self._stopping.is_set():
                _log.info("manager %s stops%s", self._manager.name, f": {why}" if why else "")
                self._stopping.set()

        with contextlib.suppress(RuntimeError):  # the loop is closed, and everything has stopped
            loop.call_soon_threadsafe(begin)

    async def wait_stopped(self) -> None:
        """Wait until it is asked to stop, or ends because of a defect.

        Raises:
            Exception: Whatever ended it.
        """
        if self._main is None:
            return
        stopping = asyncio.get_running_loop().create_task(self._stopping.wait())
        try:
            await asyncio.wait({self._main, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
        if self._main.done():
            self._main.result()

    async def _start(self) -> None:
        # The informers are made now, so that they fill while another replica leads.
        for controller in self._manager.controllers:
            for spec in controller.specs:
                informer_of(self._factory, spec)
        self._stack.push_async_callback(self._factory.shutdown)
        await self._factory.start()
        self._main = asyncio.get_running_loop().create_task(
            self._lead_or_follow(), name=f"masthead manager {self._manager.name}"
        )

    async def _lead_or_follow(self) -> None:
        await self._lead()

    async def _lead(self) -> None:
        """Run the controllers, sources and timers until asked to stop; if cancelled, end at once."""
        async with self._threads() as threads:
            services = self._services(threads)
            tasks = [self._spawn(self._run_timer(each, services)) for each in self._manager.timers]
            tasks += [self._spawn(self._run_controller(each, services)) for each in self._manager.controllers]
            try:
                await self._stopping.wait()
                await self._drain()
            finally:
                # First all, then each: they end at the same time.
                for task in tasks:
                    task.cancel()
                threads.revoke()
                await _ended(tasks)
                self._loops.clear()

    async def _drain(self) -> None:
        """Let running reconciles finish."""
        timeout = self._options.graceful_timeout
        results = await asyncio.gather(*(each.drain(timeout) for each in self._loops.values()))
        if not all(results):
            busy = ", ".join(
                f"{name} {request}" for name, each in self._loops.items() for request in each.flights
            )
            _log.warning("reconciles were cancelled that took longer than %g s to finish: %s", timeout, busy)

    async def _run_controller(self, controller: Controller[Any], services: Services) -> None:
        """Run a controller until cancelled. One that cannot be started does not keep others from running."""
        backoff = Backoff(first=1.0, cap=60.0)
        while True:
            loop = ReconcileLoop(controller, services)
            self._loops[controller.name] = loop
            sources: list[asyncio.Task[None]] = []
            try:
                await loop.start()
                sources = [
                    self._spawn(run_source(each, services, loop))
                    for each in self._manager.sources
                    if each.controller is controller
                ]
                await asyncio.Event().wait()
            except ClosedError:
                # An informer has stopped, which happens only if the client is closed or the manager stops.
                await self._stopping.wait()
            except Exception:  # noqa: BLE001 - the others go on
                delay = backoff.next(asyncio.get_running_loop().time(), services.random)
                _log.exception(
                    "controller %s could not be started; it is tried again in %.0f s", controller.name, delay
                )
                await asyncio.sleep(delay)
            finally:
                for task in sources:
                    task.cancel()
                await _ended(sources)
                await loop.stop()

    async def _run_timer(self, timer: Any, services: Services) -> None:  # noqa: ANN401
        await run_timer(timer, services)

    def _spawn(self, coroutine: Coroutine[object, None, None]) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(coroutine)

    def _services(self, threads: ThreadRunner) -> Services:
        return Services(
            self._client,
            self._factory,
            _NoRecorder(),
            threads,
            metrics=self._metrics,
            clock=self._clock,
        )


class _NoRecorder:
    def record(self, *_: object, **__: object) -> None: ...


async def _ended(tasks: Sequence[asyncio.Task[None]]) -> None:
    if tasks:
        await asyncio.wait(tasks)


def _default_metrics(options: RunOptions) -> Metrics:
    """Prometheus, if its metrics are served, and it is installed."""
    if options.metrics_bind == "0":
        return NO_METRICS
    try:
        return PrometheusMetrics()
    except ConfigError:
        return NO_METRICS
