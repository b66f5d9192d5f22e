"""A running manager of a test environment, which can be stopped or killed."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from masthead._cache.factory.selection import ListSelectors, informer_key
from masthead._controller.cache_reader import informer_of
from masthead._controller.rbac_rules import grants_of
from masthead._module import set_module
from masthead.errors import MutationError
from masthead.testing._failures import FailedCall
from masthead.testing._permissions import PermissionCheck
from masthead.testing._writes import RecordingTransport
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
    from masthead.testing._writes import WriteLog

__all__ = ["Replica"]


@set_module("masthead.testing")
class Replica:
    """One run of a manager in an environment, as one pod of its Deployment would run it; made by `Environment.start`.

    Attributes:
        manager: What runs.
        client: The client that its controllers use.
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
    ) -> None:
        self._name = name
        self.manager: Manager = manager
        options = manager.options.overridden(**overrides)
        self.client: Client = manager.make_client(config, options)
        self._permissions = PermissionCheck(grants_of(manager, options, self.client.namespace))
        self._transport = RecordingTransport(log, name, self._permissions)
        self.client.rest.wrap_transport(self._transport.around)
        self._overrides = overrides
        self._detects_mutations = detects_mutations
        self._clock = clock
        self._runtime: ManagerRuntime | None = None
        self._ready = asyncio.Event()
        self._leave = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_paused = False
        self._last_failures: dict[str, FailedCall] | None = None

    @property
    def name(self) -> str:
        """Its name, and its identity in elections."""
        return self._name

    @property
    def runtime(self) -> ManagerRuntime:
        """Its controllers, queues and informers.

        Raises:
            RuntimeError: If it has not been started.
        """
        if self._runtime is None:
            raise RuntimeError(f"replica {self.name} has not been started")
        return self._runtime

    @property
    def is_running(self) -> bool:
        """Whether it has been started, and has neither stopped nor crashed."""
        return self._task is not None and not self._task.done() and not self._leave.is_set()

    @property
    def is_leading(self) -> bool:
        """Whether its controllers run."""
        return self.is_running and self.runtime.is_leading

    @property
    def missing_permissions(self) -> list[str]:
        """What it has requested, and the rules of ``masthead manifests`` do not allow."""
        return list(self._permissions.missing)

    async def start(self) -> None:
        """Start it.

        Raises:
            MastheadError: If the manager cannot be started.
        """
        task = self._task = asyncio.get_running_loop().create_task(self._run(), name=f"replica {self.name}")
        ready = asyncio.get_running_loop().create_task(self._ready.wait())
        try:
            await asyncio.wait({task, ready}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
        if task.done():
            task.result()

    async def stop(self) -> None:
        """Stop it gracefully, as SIGTERM does: reconciles in flight are finished, and its lease is released.

        Raises:
            Exception: Whatever ended it before.
        """
        if self._is_paused:
            self.resume()
        self._note_end()
        self._leave.set()
        if self._task is not None:
            await self._task

    async def crash(self) -> None:
        """Kill it: from now on it sends nothing, and nothing is finished or released."""
        self._note_end()
        self._transport.sever()
        if self._is_paused:
            self.resume()
        if self._runtime is not None:
            self._runtime.abort()
        self._leave.set()
        if self._task is not None:
            await asyncio.wait({self._task})

    def pause(self) -> None:
        """Let nothing of it run until `resume`, as if its machine were suspended; in virtual time only.

        Threads go on until they call the client. Timers that expire meanwhile run late.

        Raises:
            RuntimeError: If time is real.
        """
        self._virtual_loop().freeze(self)
        self._is_paused = True

    def resume(self) -> None:
        """Let it go on: it does not know yet that time has passed.

        Raises:
            RuntimeError: If time is real.
        """
        self._virtual_loop().thaw(self)
        self._is_paused = False

    @property
    def is_paused(self) -> bool:
        """Whether it is paused."""
        return self._is_paused

    def _virtual_loop(self) -> VirtualLoop:
        loop = asyncio.get_running_loop()
        if not isinstance(loop, VirtualLoop):
            raise RuntimeError("a replica can be paused in virtual time only")  # noqa: TRY004 - it is about time
        return loop

    @property
    def has_ended_by_itself(self) -> bool:
        """Whether it has ended, and the test has neither stopped nor crashed it."""
        return self._task is not None and self._task.done() and not self._leave.is_set()

    @property
    def error(self) -> BaseException | None:
        """The error that ended it."""
        return self._task.exception() if self._task is not None and self._task.done() else None

    def check(self) -> None:
        """See whether it still runs, or was stopped by the test.

        Raises:
            RuntimeError: If it has ended by itself.
        """
        if self.has_ended_by_itself:
            raise RuntimeError(f"replica {self.name} has ended by itself") from self.error

    def caches(self) -> Iterator[tuple[InformerKey, SharedInformer[Any]]]:
        """The informers of its controllers, and what each is to hold."""
        namespaces = self.runtime.options.namespaces
        seen: set[int] = set()
        for controller in self.manager.controllers:
            for spec in controller.specs:
                informer = informer_of(self.runtime.factory, spec)
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
        """How many reconciles its controllers have done."""
        return sum(loop.requests.metrics.counts.total() for loop in self.runtime.loops.values())

    def reasons(self) -> Mapping[str, tuple[str, ...]]:
        """Why keys are enqueued or delayed, by controller and key."""
        return {
            f"{name} {key}": why
            for name, loop in self.runtime.loops.items()
            for key, why in loop.requests.queue.waiting().items()
        }

    def failures(self) -> Mapping[str, FailedCall]:
        """Return the functions whose last call failed; of a replica that has ended, as of its end."""
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
        """Keep the failures: the controllers forget theirs."""
        if self._last_failures is None:
            self._last_failures = self._runtime_failures()

    def recent_reconciles(self) -> Mapping[str, Sequence[tuple[float, Request]]]:
        """Return the objects reconciled last and when, by controller."""
        return {name: loop.requests.metrics.recent for name, loop in self.runtime.loops.items()}

    def mutations(self, reported: Container[str] = ()) -> Mapping[str, FailedCall]:
        """Return the objects of its caches that were changed in place; also after its end.

        Args:
            reported: Failures that are reported already: a reconcile names its own object.
        """
        if self._runtime is None or not self._detects_mutations:
            return {}
        found: dict[str, FailedCall] = {}
        for _, informer in self.caches():
            try:
                informer.check_mutations()
            except MutationError as error:
                names = self._reconcilers_of(informer)
                if not all(any(f"{name} {key} in the cache" in reported for name in names) for key in error.keys):
                    found[f"cache of {informer.name}"] = FailedCall(str(error))
        return found

    def _reconcilers_of(self, informer: SharedInformer[Any]) -> list[str]:
        """Return the names of the controllers whose reconciled objects an informer has."""
        factory = self.runtime.factory
        return [
            controller.name
            for controller in self.manager.controllers
            if informer_of(factory, controller.primary) is informer
        ]

    @contextlib.asynccontextmanager
    async def _running(self) -> AsyncGenerator[ManagerRuntime]:
        # Mutations are raised by its informers at their end, and reported by `mutations`.
        with contextlib.suppress(MutationError):
            async with self.manager.running(
                self.client, clock=self._clock, detect_mutations=self._detects_mutations, **self._overrides
            ) as runtime:
                yield runtime

    async def _run(self) -> None:
        process.set(self)
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
                if ending.done() and not ending.cancelled() and not self._leave.is_set():
                    ending.result()
        finally:
            await self.client.close()


def _cache_failures(informer: str, health: InformerHealth) -> dict[str, FailedCall]:
    """Return the failures of the user's functions that an informer calls, and the objects that it cannot use."""
    found = {f"cache of {informer} {key}": FailedCall(problem) for key, problem in health.broken.items()}
    for index, errors in health.index_failures.items():
        found |= {f"indexer {index} of {informer} {key}": FailedCall(error) for key, error in errors.items()}
    for handler, times in health.handler_failures.items():
        if times:
            found[f"handler {handler} of {informer}"] = FailedCall("it raised; the log has the error", times)
    return found
