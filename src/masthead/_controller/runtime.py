"""A running manager: caches first, then controllers; stopped in the opposite order."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import time
from typing import TYPE_CHECKING, Any, Final, cast

from masthead._cache.factory.factory import SharedInformerFactory
from masthead._cache.informer import mutation_detector
from masthead._controller.cache_reader import informer_of
from masthead._controller.controller_runner import ControllerRunner, wait_ended
from masthead._controller.controller_services import ControllerServices, utc_now
from masthead._controller.debug_snapshot import describe_manager
from masthead._controller.manager_checks import ManagerChecks
from masthead._controller.manager_page import page_address
from masthead._controller.manager_webhooks import make_webhooks, serves_webhooks
from masthead._controller.probe_server import ProbeServer, show_page
from masthead._controller.reconcile_observer import reconcile_observer
from masthead._controller.replica_roles import (
    ElectedReplica,
    ReplicaRole,
    ShardedReplica,
    make_elector,
    make_sharded_run,
)
from masthead._controller.watchdog import Watchdog
from masthead._leaderelection.leadership import WorkAbandonedError
from masthead._module import set_module
from masthead._record.recorder import EventRecorder
from masthead.errors import ArgumentError, ConfigError, ManagerStateError, MastheadError
from masthead.metrics import NO_METRICS, PrometheusMetrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextvars import Token
    from datetime import datetime
    from os import PathLike
    from typing import Self

    from masthead._client.client import Client
    from masthead._controller.controller import Controller
    from masthead._controller.manager import Manager
    from masthead._controller.manager_page import ManagerPage, PageMaker, TakeReconcile
    from masthead._controller.options import RunOptions
    from masthead._controller.reconcile_loop import ReconcileLoop
    from masthead._controller.reconcile_observer import ReconcileObserver
    from masthead._controller.shard_member import ShardMember
    from masthead._controller.thread_runner import ThreadRunner
    from masthead._controller.user_errors import RepeatedFailure
    from masthead._leaderelection.leader_elector import LeaderElector
    from masthead._meta.gvk import GroupVersionResource
    from masthead._meta.object import Object
    from masthead._recorder.recorder import Recorder
    from masthead._webhook.runtime import WebhookRuntime
    from masthead.metrics import Metrics

__all__ = ["ManagerRuntime", "default_metrics"]

_log: Final = logging.getLogger("masthead.controller")

_VERSION_TIMEOUT: Final = 3.0
"""Seconds that a recording waits for the version of the server."""


@set_module("masthead.controller")
class ManagerRuntime:
    """One run of a `Manager`; created by `Manager.running`, `Manager.serve` and `Manager.run`.

    ::

        client ─> informers ─> probes, webhooks ─> (leader) ─> controllers, sources, timers
          stop:   5             4                    3            1 finish running reconciles   2 cancel the others

    """

    def __init__(
        self,
        manager: Manager,
        options: RunOptions,
        client: Client,
        *,
        threads: type[ThreadRunner],
        make_page: PageMaker | None = None,
        metrics: Metrics | None = None,
        clock: Callable[[], datetime] = utc_now,
        detect_mutations: bool | None = None,
    ) -> None:
        self._manager = manager
        self._options = options
        self._client = client
        self._metrics = metrics if metrics is not None else default_metrics(options)
        self._clock = clock
        self._threads = threads
        self._webhooks: WebhookRuntime | None = None
        self._webhook_threads: ThreadRunner | None = None
        self._detects_mutations = mutation_detector.is_on(detect_mutations)
        caches = manager.cache_options
        self._factory = SharedInformerFactory(
            client,
            namespace=options.namespaces or None,
            hold=caches.hold,
            transform=caches.transform,
            metrics=self._metrics,
            resyncs=_resync_periods(manager.controllers),
            detect_mutations=detect_mutations,
        )
        self._recorder = EventRecorder(
            client, manager.name, instance=options.identity or None, clock=clock, metrics=self._metrics
        )
        self._run = _Run()
        self._runner = ControllerRunner(
            manager,
            threads,
            self._make_services,
            graceful_timeout=options.graceful_timeout,
            stopping=self._run.stopping,
        )
        self._role = self._choose_role()
        self._page = self._make_page(make_page) if options.ui else None
        self._probes = self._make_probes()

    @property
    def client(self) -> Client:
        """The client of the cluster."""
        return self._client

    @property
    def factory(self) -> SharedInformerFactory:
        """The informers that the controllers share."""
        return self._factory

    @property
    def options(self) -> RunOptions:
        """The options of this run."""
        return self._options

    @property
    def loops(self) -> Mapping[str, ReconcileLoop]:
        """The running controllers by name; empty while another replica leads."""
        return self._runner.loops

    @property
    def elector(self) -> LeaderElector | None:
        """The leader election, or None."""
        return self._role.elector

    @property
    def member(self) -> ShardMember | None:
        """The membership of the replicas that share the objects; None without sharding."""
        return None if self._role.shards is None else self._role.shards.member

    @property
    def probes(self) -> ProbeServer:
        """The HTTP endpoints, with their ports."""
        return self._probes

    @property
    def webhook_port(self) -> int | None:
        """The port of the webhook server; None if it does not listen."""
        return None if self._webhooks is None else self._webhooks.port

    async def wait_for_webhooks(self) -> None:
        """Wait until the webhook server listens and API servers trust it; return at once without webhooks."""
        if self._webhooks is not None:
            await self._webhooks.wait_for_ready()

    @property
    def is_leading(self) -> bool:
        """Whether the controllers run; always true without leader election."""
        return not self._runner.idle.is_set()

    @property
    def abandoned_work(self) -> str:
        """Reconciles, sources and timers that ignored their cancellation at the stop; empty if there were none."""
        return self._run.abandoned

    @property
    def is_idle(self) -> bool:
        """Whether the controllers have nothing to do now. Delayed keys do not count."""
        return not self.pending_work()

    def pending_work(self, retries_within: float = 0.0) -> list[str]:
        """Describe the remaining work; empty if the manager is idle.

        Args:
            retries_within: Retries of failed reconciles count if they are due within this number of seconds.
        """
        lines: list[str] = []
        if events := self._recorder.counts.pending:
            lines.append(f"{events} Events are not written yet")
        if self._webhooks is not None:
            lines += self._webhooks.pending_work()
        if self._role.shards is not None and self._role.shards.is_adopting:
            lines.append("objects of other replicas wait for the caches to catch up with the server")
        return lines + self._runner.pending_work(retries_within)

    def failing(self) -> dict[str, RepeatedFailure]:
        """Return the failing functions of the user, by controller and object, or by name."""
        return self._runner.failing()

    def describe(self) -> Mapping[str, object]:
        """Describe the manager for the debug page."""
        return describe_manager(self._manager.name, self)

    async def __aenter__(self) -> Self:
        run = self._run
        run.loop = asyncio.get_running_loop()
        try:
            observing = await self._observe_reconciles(run.stack)
            try:
                await self._start(run.stack)
                # It inherits the observer of reconciles.
                run.main = run.loop.create_task(self._run_role(), name=f"masthead manager {self._manager.name}")
            finally:
                if observing is not None:
                    reconcile_observer.reset(observing)
        except BaseException:
            await run.stack.aclose()
            raise
        return self

    async def _observe_reconciles(self, stack: contextlib.AsyncExitStack) -> Token[ReconcileObserver | None] | None:
        """Observe the reconciles for a recording and the page; return what ends that here."""
        takers: list[TakeReconcile] = [] if self._page is None else [self._page.take_reconcile]
        record = self._options.record or self._manager.record
        if record is not None:
            takers.append(await self._start_recorder(stack, record))
        if not takers:
            return None
        # Only for those who record.
        from masthead._controller.reconcile_recording import ReconcileRecording

        return reconcile_observer.set(ReconcileRecording(takers, reconcile_observer.get()))

    async def _start_recorder(
        self,
        stack: contextlib.AsyncExitStack,
        record: str | PathLike[str] | Callable[[SharedInformerFactory], Recorder],
    ) -> TakeReconcile:
        """Start the recording of the manager, before there are caches; return what records reconciles."""
        from masthead._recorder.recorder import Recorder, learn_version, record_entry

        recorder = record(self._factory) if callable(record) else Recorder(self._factory, record)
        if not isinstance(cast("object", recorder), Recorder):
            raise ArgumentError(f"record returned {recorder!r}; it must return a Recorder", value=recorder)
        with contextlib.suppress(MastheadError, TimeoutError):
            async with asyncio.timeout(_VERSION_TIMEOUT):
                learn_version(recorder, (await self._client.discovery.server_version()).git_version)
        await stack.enter_async_context(recorder)
        return functools.partial(record_entry, recorder)

    async def __aexit__(self, *exc: object) -> None:
        run = self._run
        run.stopping.set()
        try:
            # After an abort, errors of the cancelled task are of no interest.
            if run.main is not None and run.is_aborted:
                await wait_ended([run.main])
            elif run.main is not None:
                await run.main
        finally:
            await run.stack.aclose()

    def stop(self, why: str = "") -> None:
        """Ask the manager to stop gracefully, from any thread. Further calls have no effect."""
        run = self._run
        if run.loop is None:
            run.stopping.set()
            return

        def begin() -> None:
            if not run.stopping.is_set():
                _log.info("manager %s stops%s", self._manager.name, f": {why}" if why else "")
                run.stopping.set()

        with contextlib.suppress(RuntimeError):  # the loop is closed, and everything has stopped
            run.loop.call_soon_threadsafe(begin)

    def abort(self) -> None:
        """Stop immediately, from its event loop. Reconciles in flight are cancelled, and their calls refused."""
        run = self._run
        run.is_aborted = True
        self._runner.abandon()
        if self._webhook_threads is not None:
            self._webhook_threads.abandon()
        run.stopping.set()
        if run.main is not None:
            run.main.cancel()

    def serves_thread(self, task: asyncio.Task[None]) -> bool:
        """Whether a task runs a client call of a plain function's thread, which waits for it."""
        webhooks = self._webhook_threads
        return self._runner.serves_thread(task) or (webhooks is not None and webhooks.serves(task))

    def pause_workers(self) -> None:
        """Start no reconcile until `resume_workers`; running ones finish."""
        self._runner.pause()

    def resume_workers(self) -> None:
        """Start reconciles again."""
        self._runner.resume()

    async def wait_for_stop(self) -> None:
        """Wait until the manager is asked to stop, or ends because of a defect.

        Raises:
            Exception: Whatever ended it.
        """
        main = self._run.main
        if main is None:
            return
        stopping = asyncio.get_running_loop().create_task(self._run.stopping.wait())
        try:
            await asyncio.wait({main, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
        if main.done():
            main.result()

    async def _start(self, stack: contextlib.AsyncExitStack) -> None:
        # Created before the controllers run, so that the caches fill while another replica leads.
        for controller in self._manager.controllers:
            for spec in controller.specs:
                informer_of(self._factory, spec)
        await stack.enter_async_context(self._recorder)
        # Registered before the start, so that informers stop even if the start fails halfway.
        stack.push_async_callback(self._factory.stop)
        if self._role.shards is not None:
            await self._role.shards.prepare()
        if serves_webhooks(self._manager, self._options):
            threads = self._webhook_threads = await stack.enter_async_context(self._threads())
            self._webhooks = self._make_webhooks(threads)
        await self._factory.start()
        await stack.enter_async_context(self._probes)
        if self._page is not None:
            await stack.enter_async_context(self._page.following())
            # The only line with the token, which is spent by the first browser.
            _log.info("the page of this manager: %s", self._page.address(self._probes.debug_port or 0))
        if self._webhooks is not None:
            await stack.enter_async_context(self._webhooks)
        # In virtual time, the loop is idle for long stretches of real time.
        if not _is_virtual(asyncio.get_running_loop()):
            stack.enter_context(Watchdog(self._runner.describe_reconciles))

    async def _run_role(self) -> None:
        try:
            await self._role.run(self._runner, self._run.stopping)
        except WorkAbandonedError as error:  # logged
            self._run.abandoned = str(error)

    def _choose_role(self) -> ReplicaRole:
        options = self._options
        # Sharding first: with both, `make_sharded_run` explains that they exclude each other.
        if options.sharding:
            return ShardedReplica(
                make_sharded_run(self._client, self._manager, options, self._factory, self._runner, clock=self._clock)
            )
        if options.leader_election:
            return ElectedReplica(
                make_elector(self._client, options, clock=self._clock, metrics=self._metrics, recorder=self._recorder)
            )
        return ReplicaRole()

    def _make_probes(self) -> ProbeServer:
        checks = ManagerChecks(self._factory, self._runner.loops)
        own = {"webhooks": self._check_webhooks} if serves_webhooks(self._manager, self._options) else {}
        options, metrics = self._options, self._metrics
        probes = ProbeServer(
            {**checks.health, **self._manager.health_checks, **self._role.health_checks},
            {**checks.readiness, **own, **self._manager.ready_checks},
            metrics_registry=metrics.registry if isinstance(metrics, PrometheusMetrics) else None,
            debug=self.describe,
            probe_bind=options.probe_bind,
            metrics_bind=options.metrics_bind,
            debug_bind=str(page_address(options.debug_bind)) if options.ui else options.debug_bind,
        )
        if self._page is not None:
            show_page(probes, self._page)
        return probes

    def _make_page(self, make: PageMaker | None) -> ManagerPage:
        if make is None:
            raise ManagerStateError("this manager has no page; use masthead.Manager")
        host = page_address(self._options.debug_bind).host
        return make(self._manager.name, self._client, self._factory, host)

    async def _check_webhooks(self) -> None:
        if self._webhooks is None:
            raise ManagerStateError("the webhooks are not started yet")
        await self._webhooks.check_ready()

    def _make_webhooks(self, threads: ThreadRunner) -> WebhookRuntime:
        return make_webhooks(
            self._manager,
            self._options,
            self._client,
            self._factory,
            threads=threads,
            failures=self._runner.failures,
            metrics=self._metrics,
            clock=self._clock,
        )

    def _make_services(self, threads: ThreadRunner) -> ControllerServices:
        return ControllerServices(
            self._client,
            self._factory,
            self._recorder,
            threads,
            metrics=self._metrics,
            clock=self._clock,
            share=self._role.shards,
            may_work=self._role.may_work,
            failures=self._runner.failures,
            detects_mutations=self._detects_mutations,
        )


class _Run:
    """The life cycle of a run.

    Attributes:
        stopping: Set when the manager is asked to stop.
        loop: The event loop; None before the start.
        main: The task that runs the controllers.
        stack: Closes the parts that have been started.
        is_aborted: Whether the run ends without finishing reconciles.
        abandoned: Work that ignored its cancellation.
    """

    def __init__(self) -> None:
        self.stopping: Final = asyncio.Event()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.main: asyncio.Task[None] | None = None
        self.stack: Final = contextlib.AsyncExitStack()
        self.is_aborted = False
        self.abandoned = ""


def _resync_periods(
    controllers: Iterable[Controller[Any]],
) -> dict[type[Object] | GroupVersionResource, float]:
    """Return the shortest resync period per reconciled resource."""
    periods: dict[type[Object] | GroupVersionResource, float] = {}
    for controller in controllers:
        if controller.resync:
            resource = controller.primary.resource
            periods[resource] = min(controller.resync, periods.get(resource, controller.resync))
    return periods


def _is_virtual(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether the loop runs in virtual time, where a watchdog would measure the wrong clock."""
    return abs(loop.time() - time.monotonic()) > 1.0


def default_metrics(options: RunOptions) -> Metrics:
    """Return Prometheus metrics if they are served and Prometheus is installed."""
    if options.metrics_bind == "0":
        return NO_METRICS
    try:
        return _prometheus()
    except ConfigError:
        return NO_METRICS


@functools.cache
def _prometheus() -> PrometheusMetrics:
    """Return the metrics in the global registry, which accepts each name only once."""
    return PrometheusMetrics()
