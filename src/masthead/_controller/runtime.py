"""A running manager: caches first, then controllers; stopped in the opposite order."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import time
from typing import TYPE_CHECKING, Any, Final

from masthead._cache.factory.factory import SharedInformerFactory
from masthead._cache.informer import mutation_detector
from masthead._controller.cache_reader import informer_of
from masthead._controller.controller_services import ControllerServices, utc_now
from masthead._controller.debug_snapshot import describe_manager
from masthead._controller.probe_server import ProbeServer
from masthead._controller.reconcile_loop import ReconcileLoop
from masthead._controller.sources import SOURCE_TASK_PREFIX, start_sources
from masthead._controller.stacks import describe_task
from masthead._controller.timers import TIMER_TASK_PREFIX, drain_timers, start_timers
from masthead._controller.user_errors import FailureLog, describe_error, with_user_frames
from masthead._controller.watchdog import Watchdog
from masthead._leaderelection.leadership import WorkAbandonedError
from masthead._module import set_module
from masthead._record.recorder import EventRecorder
from masthead._rest.call_guard import CallGuard, call_guard
from masthead._sansio.backoff import Backoff
from masthead.errors import ClosedError, ConfigError, ManagerStateError
from masthead.metrics import NO_METRICS, PrometheusMetrics

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Self

    from masthead._client.client import Client
    from masthead._controller.controller import Controller
    from masthead._controller.manager import Manager
    from masthead._controller.options import RunOptions
    from masthead._controller.shard_member import ShardMember
    from masthead._controller.sharded_run import ShardedRun
    from masthead._controller.thread_runner import ThreadRunner
    from masthead._controller.user_errors import RepeatedFailure
    from masthead._leaderelection.leader_elector import LeaderElector
    from masthead._meta.gvk import GroupVersionResource
    from masthead._meta.object import Object
    from masthead._sansio.own_writes import OwnWrite
    from masthead.metrics import Metrics

__all__ = ["ManagerRuntime", "default_metrics"]

_log: Final = logging.getLogger("masthead.controller")
_CANCEL_TIMEOUT: Final = 2.5
"""Seconds that cancelled reconciles have to end when the process is asked to stop. With `_CALL_TIMEOUT` and the patience of
`run_main` it is less than the five seconds after the graceful timeout that the documents promise."""
_CALL_TIMEOUT: Final = 0.5
"""Seconds that the last calls of abandoned reconciles have to end."""


@set_module("masthead.controller")
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
        detect_mutations: bool | None = None,
    ) -> None:
        self._manager = manager
        self._options = options
        self._client = client
        self._threads = threads
        self._metrics = metrics if metrics is not None else default_metrics(options)
        self._clock = clock
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
        self._elector = self._make_elector() if options.leader_election else None
        self._shards = self._make_shards() if options.sharding else None
        self._probes = self._make_probes()
        self._loops: dict[str, ReconcileLoop] = {}
        self._sources: set[asyncio.Task[None]] = set()
        self._failures = FailureLog()
        self._abandoned = ""
        self._unseen: dict[str, Sequence[OwnWrite]] = {}
        self._stopping = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._main: asyncio.Task[None] | None = None
        self._is_following = asyncio.Event()
        self._is_following.set()
        self._is_aborted = False
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
    def elector(self) -> LeaderElector | None:
        """The leader election; None if there is none."""
        return self._elector

    @property
    def member(self) -> ShardMember | None:
        """The membership of replicas that share the objects; None if there is no sharding."""
        return None if self._shards is None else self._shards.member

    @property
    def probes(self) -> ProbeServer:
        """The HTTP endpoints, with their ports."""
        return self._probes

    @property
    def is_leading(self) -> bool:
        """Whether its controllers run: always, if there is no leader election."""
        return not self._is_following.is_set()

    @property
    def abandoned_work(self) -> str:
        """The reconciles, sources and timers that went on after the stop although they were cancelled; empty if none did."""
        return self._abandoned

    @property
    def is_idle(self) -> bool:
        """Whether its controllers have nothing left to do now; keys with a delay are for later."""
        return not self.pending_work()

    def pending_work(self, within: float = 0.0) -> list[str]:
        """What is left to do, in a sentence each; empty if nothing is.

        Args:
            within: Retries of reconciles that have failed count if they are due within so many seconds.
        """
        found: list[str] = []
        if events := self._recorder.counts.pending:
            found.append(f"{events} Events are not written yet")
        if self._shards is not None and self._shards.is_adopting:
            found.append("objects of other replicas wait for the caches to catch up with the server")
        for controller in self._manager.controllers:
            found += self._pending_work_of(controller.name, within)
        return found

    def _pending_work_of(self, controller: str, within: float) -> list[str]:
        if failure := self._failures.failing().get(_start_label(controller)):
            return [f"controller {controller} cannot be started, and is tried again: {failure}"]
        loop = self._loops.get(controller)
        return [f"controller {controller} does not run"] if loop is None else loop.pending_work(within)

    def failing(self) -> dict[str, RepeatedFailure]:
        """Return the functions of the user whose last call failed, by controller and object, or by name."""
        found = {
            f"{name} {key}": failure for name, loop in self._loops.items() for key, failure in loop.failing().items()
        }
        return found | self._failures.failing()

    def describe(self) -> Mapping[str, object]:
        """What it is doing, for the debug page."""
        return describe_manager(self._manager.name, self)

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
            if self._main is not None and self._is_aborted:
                await _ended([self._main])
            elif self._main is not None:
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

    def abort(self) -> None:
        """End at once, on its loop: reconciles in flight are cancelled, not finished."""
        self._is_aborted = True
        self._stopping.set()
        if self._main is not None:
            self._main.cancel()

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
        await self._stack.enter_async_context(self._recorder)
        self._stack.push_async_callback(self._factory.shutdown)
        if self._shards is not None:
            await self._shards.prepare()
        await self._factory.start()
        await self._stack.enter_async_context(self._probes)
        if not _is_virtual(asyncio.get_running_loop()):
            self._stack.enter_context(Watchdog(self._running_reconciles))
        self._main = asyncio.get_running_loop().create_task(
            self._lead_or_follow(), name=f"masthead manager {self._manager.name}"
        )

    async def _lead_or_follow(self) -> None:
        """Run the controllers: at once, in each term as the leader, or with a share; until asked to stop."""
        try:
            if self._elector is not None:
                elector = self._elector
                await self._campaign(elector.run(lambda _: self._lead()), self._stop_following)
            elif self._shards is not None:
                await self._campaign(self._shards.run(), self._stop_sharing)
            else:
                await self._lead()
        except WorkAbandonedError as error:  # logged
            self._abandoned = str(error)

    async def _campaign(
        self,
        campaigning: Coroutine[object, None, None],
        stop: Callable[[asyncio.Task[None]], Coroutine[object, None, None]],
    ) -> None:
        """Hold a lease until asked to stop."""
        campaign = self._spawn(campaigning)
        stopping = self._spawn(stop(campaign))
        try:
            await asyncio.wait({campaign})
        finally:
            # Cancelled itself, it must not leave the lease behind.
            campaign.cancel()
            stopping.cancel()
            await _ended([campaign, stopping])
        if not campaign.cancelled():
            campaign.result()

    async def _stop_following(self, campaign: asyncio.Task[None]) -> None:
        """End the campaign of a manager that is asked to stop: at once while another replica leads."""
        await self._stopping.wait()
        # Who leads finishes the term first; if that is lost meanwhile, there is no next one.
        await self._is_following.wait()
        campaign.cancel()

    async def _stop_sharing(self, campaign: asyncio.Task[None]) -> None:
        """Leave the group when the controllers of a manager that is asked to stop have ended."""
        await self._stopping.wait()
        if self._shards is not None:
            await self._shards.wait_ended()
        campaign.cancel()

    async def _lead(self) -> None:
        """Run the controllers, sources and timers until asked to stop; if cancelled, end at once.

        Raises:
            WorkAbandonedError: If something goes on although it was cancelled.
        """
        self._is_following.clear()
        try:
            await self._run_controllers()
        finally:
            self._is_following.set()

    async def _run_controllers(self) -> None:
        # Inherited by every task of this term.
        guard = CallGuard(self._may_work)
        call_guard.set(guard)
        async with self._threads() as threads:
            services = self._services(threads)
            timers = start_timers(self._manager.timers, services, self._stopping)
            tasks = [
                self._spawn(self._run_controller(controller, services)) for controller in self._manager.controllers
            ]
            tasks += timers
            try:
                await self._stopping.wait()
                await asyncio.gather(self._drain(), drain_timers(timers, self._options.graceful_timeout))
            finally:
                # First all, then each: they end at the same time.
                for task in tasks:
                    task.cancel()
                threads.revoke()
                try:
                    await self._wait_ended(tasks, guard, threads)
                finally:
                    self._loops.clear()

    async def _drain(self) -> None:
        """Let running reconciles finish."""
        timeout = self._options.graceful_timeout
        results = await asyncio.gather(*(loop.drain(timeout) for loop in self._loops.values()))
        if not all(results):
            _log.warning(
                "reconciles are cancelled that took longer than %g s to finish: %s",
                timeout,
                self._running_reconciles(),
            )

    async def _run_controller(self, controller: Controller[Any], services: ControllerServices) -> None:
        """Run a controller until cancelled. One that cannot be started does not keep others from running."""
        backoff = Backoff(first=1.0, cap=60.0)
        while True:
            loop: ReconcileLoop | None = None
            sources: list[asyncio.Task[None]] = []
            try:
                loop = ReconcileLoop(controller, services, self._unseen.get(controller.name, ()))
                self._loops[controller.name] = loop
                await loop.start()
                self._failures.clear(_start_label(controller.name))
                own = [source for source in self._manager.sources if source.controller is controller]
                sources = start_sources(own, services, loop)
                self._sources.update(sources)
                await asyncio.Event().wait()
            except ClosedError:
                # An informer has stopped, which happens only if the client is closed or the manager stops.
                await self._stopping.wait()
            except Exception as error:  # noqa: BLE001 - the others go on
                self._failures.add(_start_label(controller.name), error)
                delay = backoff.next(asyncio.get_running_loop().time(), services.random)
                _log.error(
                    "controller %s could not be started; it is tried again in %.0f s: %s",
                    controller.name,
                    delay,
                    describe_error(error),
                    exc_info=with_user_frames(error),
                )
                await asyncio.sleep(delay)
            finally:
                for task in sources:
                    task.cancel()
                # Before the sources have ended, because one of them may ignore its cancellation.
                if loop is not None:
                    self._unseen[controller.name] = await loop.stop()
                await _ended(sources)
                self._sources.difference_update(sources)

    async def _wait_ended(self, tasks: Sequence[asyncio.Task[None]], guard: CallGuard, threads: ThreadRunner) -> None:
        """Wait until cancelled tasks have ended; not forever, if the process is to end.

        Raises:
            WorkAbandonedError: If they have not.
        """
        # Who has lost the lease must not campaign again while work of the last term is running.
        busy = await self._until_stopping(tasks)
        if busy:
            _, busy = await asyncio.wait(busy, timeout=_CANCEL_TIMEOUT)
        if busy:
            running = ", ".join(self._stubborn_work(busy)) or "none"
            _log.error(
                "reconciles, sources or timers go on although they were cancelled, and are abandoned: %s",
                running,
            )
            guard.revoke()
            is_idle = await guard.wait_idle(_CALL_TIMEOUT)
            # A thread cannot be stopped before the process ends, and may act without this client.
            raise WorkAbandonedError(running, may_act=threads.is_busy or not is_idle)

    def _stubborn_work(self, tasks: Iterable[asyncio.Task[None]]) -> list[str]:
        reconciles = [f"{name} {work}" for name, loop in self._loops.items() for work in loop.running()]
        return reconciles + _describe_background([*tasks, *self._sources])

    async def _until_stopping(self, tasks: Sequence[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
        """Wait until tasks have ended, or the process is to end; returns those that have not."""
        busy = set(tasks)
        stopping = self._spawn(_passed(self._stopping))
        try:
            while busy and not stopping.done():
                done, _ = await asyncio.wait({stopping, *busy}, return_when=asyncio.FIRST_COMPLETED)
                busy -= done
        finally:
            stopping.cancel()
        return busy

    def _running_reconciles(self) -> str:
        return ", ".join(self._reconciles_in_flight()) or "none"

    def _reconciles_in_flight(self) -> list[str]:
        return [
            f"{name} {flight.request}" for name, each in list(self._loops.items()) for flight in each.requests.flights
        ]

    def _make_elector(self) -> LeaderElector:
        options = self._options
        if not options.leader_election_id:
            raise ManagerStateError("leader election needs the name of a Lease: Manager(leader_election='my-operator')")
        from masthead._leaderelection.leader_elector import LeaderElector

        return LeaderElector(
            self._client,
            options.leader_election_id,
            options.leader_election_namespace or None,
            identity=options.identity or None,
            lease_duration=options.lease_duration,
            renew_deadline=options.renew_deadline,
            retry_period=options.retry_period,
            clock=self._clock,
            metrics=self._metrics,
            recorder=self._recorder,
        )

    def _make_shards(self) -> ShardedRun:
        from masthead._controller.shard_member import ShardMember
        from masthead._controller.sharded_run import ShardedRun, sharded_informers

        options, manager = self._options, self._manager
        if options.leader_election:
            raise ManagerStateError(
                "a leader works on all objects, and replicas that share them have no leader: leader_election or sharding"
            )
        if not manager.sharding:
            raise ManagerStateError("sharding needs the name of a group: Manager(sharding='my-operator')")
        member = ShardMember(
            self._client,
            manager.sharding,
            options.leader_election_namespace or None,
            identity=options.identity or None,
            by=manager.shard_by,
            lease_duration=options.lease_duration,
            renew_deadline=options.renew_deadline,
            retry_period=options.retry_period,
            clock=self._clock,
        )
        informers = sharded_informers(manager.controllers, self._factory, manager.shard_by)
        return ShardedRun(member, informers, lambda: list(self._loops.values()), self._lead)

    def _make_probes(self) -> ProbeServer:
        health: dict[str, Callable[[], object]] = {
            "ping": _ping,
            "reconciles": self._check_stuck,
            **self._manager.health_checks,
        }
        if self._elector is not None:
            health["leader-election"] = self._elector.health_check
        if self._shards is not None:
            health["sharding"] = self._shards.member.health_check
        ready = {
            "informers": self._check_synced,
            "controllers": self._check_started,
            **self._manager.ready_checks,
        }
        options, metrics = self._options, self._metrics
        return ProbeServer(
            health,
            ready,
            metrics_registry=metrics.registry if isinstance(metrics, PrometheusMetrics) else None,
            debug=self.describe,
            probe_bind=options.probe_bind,
            metrics_bind=options.metrics_bind,
            debug_bind=options.debug_bind,
        )

    async def _check_synced(self) -> None:
        late = [
            f"{name} ({each.last_error or 'no full state has come yet'})"
            for name, each in self._factory.health.items()
            if not each.is_synced
        ]
        if late:
            raise ManagerStateError(f"not synced: {', '.join(late)}")

    async def _check_stuck(self) -> None:
        problems = [f"{name}: {loop.problem}" for name, loop in self._loops.items() if loop.problem]
        if problems:
            raise ManagerStateError(f"{'; '.join(problems)}; restart the process")

    async def _check_started(self) -> None:
        # A replica that does not lead is ready to.
        late = [name for name, each in self._loops.items() if not each.is_started]
        if late:
            raise ManagerStateError(f"not started: {', '.join(late)}")

    def _spawn(self, coroutine: Coroutine[object, None, None]) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(coroutine)

    def _services(self, threads: ThreadRunner) -> ControllerServices:
        return ControllerServices(
            self._client,
            self._factory,
            self._recorder,
            threads,
            metrics=self._metrics,
            clock=self._clock,
            share=self._shards,
            may_work=self._may_work,
            failures=self._failures,
            detects_mutations=self._detects_mutations,
        )

    def _may_work(self) -> bool:
        """Whether the lease is held. After a pause of the process it may have expired before the elector notices."""
        if self._shards is not None:
            return self._shards.member.is_member
        return self._elector is None or self._elector.is_leader


def _resync_periods(
    controllers: Iterable[Controller[Any]],
) -> dict[type[Object] | GroupVersionResource, float]:
    """The shortest resync period of the controllers of each resource, at which its informers look for what is due."""
    found: dict[type[Object] | GroupVersionResource, float] = {}
    for controller in controllers:
        if controller.resync:
            resource = controller.primary.resource
            found[resource] = min(controller.resync, found.get(resource, controller.resync))
    return found


def _describe_background(tasks: Iterable[asyncio.Task[None]]) -> list[str]:
    """Name the running timers and sources among tasks, with the current line of their coroutines."""
    return sorted(
        describe_task(task.get_name(), task)
        for task in tasks
        if task.get_name().startswith((TIMER_TASK_PREFIX, SOURCE_TASK_PREFIX)) and not task.done()
    )


def _start_label(controller: str) -> str:
    """Return the name of a controller's start in the log of failures."""
    return f"start of controller {controller}"


def _is_virtual(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether the loop's time is not that of the machine, which a watchdog would measure."""
    return abs(loop.time() - time.monotonic()) > 1.0


async def _ping() -> None:
    """The event loop runs: that is all."""


async def _passed(event: asyncio.Event) -> None:
    await event.wait()


async def _ended(tasks: Sequence[asyncio.Task[None]]) -> None:
    if tasks:
        await asyncio.wait(tasks)


def default_metrics(options: RunOptions) -> Metrics:
    """Return Prometheus, if its metrics are served, and it is installed."""
    if options.metrics_bind == "0":
        return NO_METRICS
    try:
        return _prometheus()
    except ConfigError:
        return NO_METRICS


@functools.cache
def _prometheus() -> PrometheusMetrics:
    """The metrics in the global registry, where the program's own are; it takes each name only once."""
    return PrometheusMetrics()
