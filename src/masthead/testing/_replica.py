"""A manager in a test environment: run, stopped, paused or killed."""

from __future__ import annotations

import asyncio
import contextlib
from contextvars import Context
from typing import TYPE_CHECKING, Any, Final

from masthead._cache.factory.selection import ListSelectors, informer_key, resource_of
from masthead._cache.informer.informer import pipeline_of
from masthead._controller.cache_reader import informer_of
from masthead._controller.rbac_rules import grants_of
from masthead._meta.wall_clock import use_wall_clock
from masthead._module import set_module
from masthead._sansio.key_order import key_order as current_key_order
from masthead.errors import ArgumentError, MutationError
from masthead.testing._failures import FailedCall
from masthead.testing._permissions import PermissionCheck
from masthead.testing._recording_transport import RecordingTransport
from masthead.testing._replica_faults import ReplicaFaults
from masthead.testing.virtual_time import VirtualLoop, process

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Container, Iterator, Mapping, Sequence
    from datetime import datetime

    from masthead import Manager
    from masthead._cache.factory.selection import Form, InformerKey
    from masthead._cache.informer.health import InformerHealth
    from masthead._cache.informer.informer import SharedInformer
    from masthead._client.client import Client
    from masthead._config.model import Config
    from masthead._controller.options import RunOverrides
    from masthead._controller.requests import Request
    from masthead._controller.runtime import ManagerRuntime
    from masthead._meta.gvk import GroupVersionResource
    from masthead._meta.object import Object
    from masthead._sansio.key_order import KeyOrder
    from masthead.testing._exchanges import RequestHook
    from masthead.testing._seeds import SeededStreams
    from masthead.testing._writes import WriteLog

__all__ = ["Replica"]

_BURIAL_SECONDS: Final = 5.0
"""Real seconds to wait for the cancelled tasks of a killed replica."""


@set_module("masthead.testing")
class Replica:
    """One run of a manager in an environment, like one pod of its Deployment; created by `Environment.start`.

    Attributes:
        manager: The manager.
        client: The client of its controllers.
    """

    def __init__(
        self,
        name: str,
        manager: Manager,
        config: Config,
        log: WriteLog,
        clock: Callable[[], datetime],
        overrides: RunOverrides,
        detects_mutations: bool,
        streams: SeededStreams,
    ) -> None:
        self._name = name
        self.manager: Manager = manager
        options = manager.options.overridden(**overrides)
        self.client: Client = manager.make_client(config, options)
        self._permissions = PermissionCheck(grants_of(manager, options, self.client.namespace))
        self._transport = RecordingTransport(log, self, self._permissions)
        self.client.rest.wrap_transport(self._transport.around)
        self._overrides = overrides
        self._detects_mutations = detects_mutations
        self._clock = clock
        self._streams = streams
        self._runtime: ManagerRuntime | None = None
        self._ready = asyncio.Event()
        self._leave = asyncio.Event()
        self._killed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_paused = False
        self._last_failures: dict[str, FailedCall] | None = None
        self._faults = ReplicaFaults(self)
        self.key_order: KeyOrder = "fifo"
        """The order of ready objects in its queues."""
        self.on_end: Callable[[], None] = lambda: None
        """Called when the replica is asked to end."""

    @property
    def name(self) -> str:
        """The name of the replica, and its identity in elections."""
        return self._name

    @property
    def runtime(self) -> ManagerRuntime:
        """The controllers, queues and informers.

        Raises:
            RuntimeError: Before the start.
        """
        if self._runtime is None:
            raise RuntimeError(f"replica {self.name} has not been started")
        return self._runtime

    @property
    def is_running(self) -> bool:
        """Whether the replica runs: started, and neither stopped nor crashed."""
        return self._task is not None and not self._task.done() and not self._leave.is_set()

    @property
    def is_leading(self) -> bool:
        """Whether the controllers of this replica run."""
        return self.is_running and self.runtime.is_leading

    @property
    def missing_permissions(self) -> list[str]:
        """Requests that the rules of ``masthead manifests`` do not allow."""
        return list(self._permissions.missing)

    async def start(self) -> None:
        """Start the manager.

        Raises:
            MastheadError: If the manager cannot be started.
        """
        # A task, because the replica runs on after its start.
        task = self._task = asyncio.get_running_loop().create_task(self._run(), name=f"replica {self.name}")
        await _wait_first(task, self._ready, self._killed)
        if task.done() and not self._killed.is_set():
            task.result()

    async def stop(self) -> None:
        """Stop gracefully, like SIGTERM: reconciles in flight are finished, and the lease is released.

        Raises:
            Exception: The error of a replica that failed before.
        """
        # A frozen process could not react.
        if self._is_paused:
            self.resume()
        self._note_end()
        self._leave.set()
        self.on_end()
        if self._task is not None:
            await _wait_first(self._task, self._killed)
        if self._task is not None and self._task.done() and not self._killed.is_set():
            self._task.result()

    async def crash(self) -> None:
        """Kill the replica: it sends nothing from now on, and finishes and releases nothing.

        In virtual time none of its code runs any more, not even ``finally`` blocks, like after SIGKILL. On other event
        loops its tasks are cancelled.
        """
        self.kill()
        if isinstance(asyncio.get_running_loop(), VirtualLoop):
            await asyncio.sleep(0)
        else:
            await self.bury()

    def kill(self) -> None:
        """Kill the replica as `crash` does, without waiting for the end of its tasks: one of them may be the caller."""
        if self._killed.is_set() or (self._task is not None and self._task.done()):
            return
        # Before the abort, whose cleanup would send requests.
        self._note_end()
        self._transport.sever()
        if self._is_paused:
            self.resume()
        loop = asyncio.get_running_loop()
        if isinstance(loop, VirtualLoop):
            loop.kill(self)
        if self._runtime is not None:
            self._runtime.abort()
        elif self._task is not None and asyncio.current_task() is not self._task:
            self._task.cancel()
        self._leave.set()
        self._killed.set()
        self.on_end()

    def sever(self) -> None:
        """Refuse all further requests of the replica, whose process is about to end."""
        self._transport.sever()

    def kill_soon(self) -> None:
        """Kill the replica at its next request, or when the running code waits, whichever is earlier."""
        self._transport.doom()
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        # The context is outside of the process, whose callbacks do not run after the kill.
        if task is not None and self._runtime is not None and self._runtime.serves_thread(task):
            # The thread gets the answer at the end of the task.
            task.add_done_callback(self._kill_after_thread, context=Context())
        else:
            loop.call_soon(self.kill, context=Context())

    def _kill_after_thread(self, _: asyncio.Task[None]) -> None:
        """Kill the replica when its threads wait."""
        loop = asyncio.get_running_loop()
        if isinstance(loop, VirtualLoop):
            loop.call_after_threads(self, self.kill)
        else:
            self.kill()

    async def bury(self) -> None:
        """Wait for the tasks of an ended replica, for a limited time. Tasks that ignore cancellation are abandoned."""
        self._transport.sever()
        loop = asyncio.get_running_loop()
        if isinstance(loop, VirtualLoop):
            await loop.bury(self)
        elif self._task is not None:
            await asyncio.wait({self._task}, timeout=_BURIAL_SECONDS)

    def pause_workers(self) -> None:
        """Start no reconcile until `resume_workers`. Running ones finish, and the caches follow the server.

        Enqueued objects do not keep `Environment.wait_for_idle` waiting.
        """
        self.runtime.pause_workers()

    def resume_workers(self) -> None:
        """Reconcile the enqueued objects."""
        self.runtime.resume_workers()

    def pause_informer(self, kind: type[Object] | GroupVersionResource | str | None = None) -> None:
        """Let the cache of a kind stand still until `resume_informer`. Workers go on, and no event is lost.

        Changes on the way, and reconciles that wait for their writes to become visible, do not keep
        `Environment.wait_for_idle` waiting.

        Args:
            kind: A kind of the controllers: the class, the resource, or its name, such as ``deployments.apps``; None
                for all kinds.

        Raises:
            ArgumentError: If no controller uses the kind.
        """
        for informer in self._informers_of(kind):
            pipeline_of(informer).pause()

    def resume_informer(self, kind: type[Object] | GroupVersionResource | str | None = None) -> None:
        """Let the cache of a kind follow the server again, beginning with the events of the pause.

        Raises:
            ArgumentError: If no controller uses the kind.
        """
        for informer in self._informers_of(kind):
            pipeline_of(informer).resume()

    def _informers_of(self, kind: type[Object] | GroupVersionResource | str | None) -> list[SharedInformer[Any]]:
        caches = list(self.caches())
        found = [informer for where, informer in caches if kind is None or _is_kind(where.resource, kind)]
        if not found:
            names = ", ".join(sorted({str(where.resource.group_resource) for where, _ in caches})) or "no kind"
            raise ArgumentError(f"replica {self.name} has no cache of {kind}; it has those of {names}", value=kind)
        return found

    @property
    def faults(self) -> ReplicaFaults:
        """Faults of the replica's requests: crashes, conflicts, lost responses."""
        return self._faults

    @property
    def user(self) -> str:
        """The user that the server sees, as far as the client knows: the service account of the manager."""
        impersonated = self.client.config.impersonate
        account = f"system:serviceaccount:{self.client.namespace}:{self.manager.name}"
        return account if impersonated is None else impersonated.user

    @property
    def hooks(self) -> list[RequestHook]:
        """The hooks that control the requests of this replica."""
        return self._transport.hooks

    def pause(self) -> None:
        """Suspend the replica until `resume`, like a suspended machine; in virtual time only.

        Threads run until they call the client. Timers that expire during the pause run late.

        Raises:
            RuntimeError: If time is real.
        """
        self._virtual_loop().freeze(self)
        self._is_paused = True

    def resume(self) -> None:
        """Resume the replica, unaware that time has passed.

        Raises:
            RuntimeError: If time is real.
        """
        self._virtual_loop().thaw(self)
        self._is_paused = False

    @property
    def is_paused(self) -> bool:
        """Whether the replica is paused."""
        return self._is_paused

    def _virtual_loop(self) -> VirtualLoop:
        loop = asyncio.get_running_loop()
        if not isinstance(loop, VirtualLoop):
            raise RuntimeError("a replica can be paused in virtual time only")  # noqa: TRY004 - it is about time
        return loop

    @property
    def has_ended_by_itself(self) -> bool:
        """Whether the replica ended without a `stop` or `crash` of the test."""
        return self._task is not None and self._task.done() and not self._leave.is_set()

    @property
    def error(self) -> BaseException | None:
        """The error that ended the replica."""
        return self._task.exception() if self._task is not None and self._task.done() else None

    def check(self) -> None:
        """Check that only the test has ended the replica, if at all.

        Raises:
            RuntimeError: If it ended otherwise.
        """
        if self.has_ended_by_itself:
            raise RuntimeError(f"replica {self.name} has ended by itself") from self.error

    def caches(self) -> Iterator[tuple[InformerKey, SharedInformer[Any]]]:
        """Yield the informers of the controllers, with their expected contents."""
        namespaces = self.runtime.options.namespaces
        seen: set[int] = set()
        for controller in self.manager.controllers:
            for spec in controller.specs:
                informer = informer_of(self.runtime.factory, spec)
                # Controllers share informers.
                if id(informer) in seen:
                    continue
                seen.add(id(informer))
                selection = ListSelectors(label_selector=spec.label_selector, field_selector=spec.field_selector)
                form: Form = "typed" if isinstance(spec.kind, type) else "untyped"
                yield (
                    informer_key(
                        form,
                        spec.kind,
                        namespaces if spec.namespace is None else spec.namespace,
                        selection,
                        is_explicit=spec.namespace is not None,
                    ),
                    informer,
                )

    def reconciles(self) -> int:
        """Return the number of completed reconciles."""
        return sum(loop.requests.metrics.counts.total() for loop in self.runtime.loops.values())

    def reasons(self) -> Mapping[str, tuple[str, ...]]:
        """Return the reasons of enqueued and delayed keys, by controller and key."""
        return {
            f"{name} {key}": why
            for name, loop in self.runtime.loops.items()
            for key, why in loop.requests.queue.waiting().items()
        }

    def failures(self) -> Mapping[str, FailedCall]:
        """Return the functions whose last call failed; for a stopped replica, at its end."""
        if self._last_failures is None:
            return self._runtime_failures()
        return self._last_failures

    def _runtime_failures(self) -> dict[str, FailedCall]:
        if self._runtime is None:
            return {}
        calls = {
            what: FailedCall(failure.message, failure.times)
            for what, failure in self._runtime.failing().items()
            if not failure.is_temporary
        }
        for name, health in self._runtime.factory.health.items():
            calls |= _cache_failures(name, health)
        return calls

    def _note_end(self) -> None:
        """Save the failures, which controllers forget when they stop."""
        if self._last_failures is None:
            self._last_failures = self._runtime_failures()

    def recent_reconciles(self) -> Mapping[str, Sequence[tuple[float, Request]]]:
        """Return recent reconciles by controller: time and object."""
        return {name: loop.requests.metrics.recent for name, loop in self.runtime.loops.items()}

    def mutations(self, reported: Container[str] = ()) -> Mapping[str, FailedCall]:
        """Return mutated objects of its caches, also after its end.

        Args:
            reported: Failures that are reported already: a reconcile reports its own object.
        """
        if self._runtime is None or not self._detects_mutations:
            return {}
        mutations: dict[str, FailedCall] = {}
        for _, informer in self.caches():
            try:
                informer.check_mutations()
            except MutationError as error:
                # A reconcile that mutates its own object fails itself, and is listed already.
                names = self._reconcilers_of(informer)
                if not all(any(f"{name} {key} in the cache" in reported for name in names) for key in error.keys):
                    mutations[f"cache of {informer.name}"] = FailedCall(str(error))
        return mutations

    def _reconcilers_of(self, informer: SharedInformer[Any]) -> list[str]:
        """Return the names of the controllers that reconcile the objects of an informer."""
        factory = self.runtime.factory
        return [
            controller.name
            for controller in self.manager.controllers
            if informer_of(factory, controller.primary) is informer
        ]

    @contextlib.asynccontextmanager
    async def _running(self) -> AsyncGenerator[ManagerRuntime]:
        # Informers raise mutations when they stop; `mutations` has reported them.
        with contextlib.suppress(MutationError):
            async with self.manager.running(
                self.client, clock=self._clock, detect_mutations=self._detects_mutations, **self._overrides
            ) as runtime:
                yield runtime

    async def _run(self) -> None:
        process.set(self)  # inherited by all tasks of the manager, for `pause`
        self._streams.use(self.name)
        use_wall_clock(self._clock)
        current_key_order.set(self.key_order)
        try:
            async with self._running() as runtime:
                self._runtime = runtime
                self._ready.set()
                leaving = asyncio.get_running_loop().create_task(self._leave.wait())
                ending = asyncio.get_running_loop().create_task(runtime.wait_for_stop())
                try:
                    await asyncio.wait({leaving, ending}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    leaving.cancel()
                    ending.cancel()
                # A manager that stopped on its own raises its error here.
                if ending.done() and not ending.cancelled() and not self._leave.is_set():
                    ending.result()
        finally:
            await self.client.close()


def _is_kind(resource: GroupVersionResource, kind: type[Object] | GroupVersionResource | str) -> bool:
    """Whether a resource is that of a kind; a name may leave out the group."""
    if isinstance(kind, str):
        return kind in {resource.resource, str(resource.group_resource)}
    return resource.group_resource == resource_of(kind).group_resource


async def _wait_first(task: asyncio.Task[None], *events: asyncio.Event) -> None:
    """Wait for the end of a task, or for one of several events."""
    create_task = asyncio.get_running_loop().create_task
    waiting = [create_task(event.wait()) for event in events]
    try:
        await asyncio.wait({task, *waiting}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for waiter in waiting:
            waiter.cancel()


def _cache_failures(informer: str, health: InformerHealth) -> dict[str, FailedCall]:
    """Return failures of an informer's user functions, and objects that it cannot use."""
    failures = {f"cache of {informer} {key}": FailedCall(problem) for key, problem in health.broken.items()}
    for index, errors in health.index_failures.items():
        failures |= {f"indexer {index} of {informer} {key}": FailedCall(error) for key, error in errors.items()}
    for handler, times in health.handler_failures.items():
        if times:
            failures[f"handler {handler} of {informer}"] = FailedCall("it raised; the log has the error", times)
    return failures
