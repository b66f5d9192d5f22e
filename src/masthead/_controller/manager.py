"""The manager: the controllers of a program, and its options.

A manager is a declaration. Each run has a separate `ManagerRuntime`, so that one manager can run several times, also
concurrently, as in tests with several replicas.
"""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast, overload

from masthead._cache.options import InformerOptions
from masthead._client.client import Client
from masthead._controller.controller import Controller
from masthead._controller.controller_services import utc_now
from masthead._controller.declarations import kind_of
from masthead._controller.logs import setup_logging
from masthead._controller.main_loop import StopTimeoutError, run_main
from masthead._controller.options import RunOptions
from masthead._controller.permissions import check_permissions
from masthead._controller.runtime import ManagerRuntime, default_metrics
from masthead._controller.signals import stop_on_signals
from masthead._controller.sources import SourceSpec
from masthead._controller.thread_runner import NoThreads
from masthead._controller.timers import TimerSpec, check_interval
from masthead._controller.webhook_decorators import WebhookDecorators
from masthead._meta.fork_pauses import paused_at_forks
from masthead._meta.green_threads import refuse_green_threads
from masthead._meta.object import Object
from masthead.errors import ArgumentError, ManagerStateError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
    from datetime import datetime
    from os import PathLike
    from typing import Unpack

    from masthead._cache.factory.factory import SharedInformerFactory
    from masthead._cache.options import Hold
    from masthead._cache.store.transforms import Transform
    from masthead._config.model import Config
    from masthead._controller.controller import ControllerOptions
    from masthead._controller.declarations import KindLike, Reconciler
    from masthead._controller.manager_page import PageMaker
    from masthead._controller.options import RunOverrides
    from masthead._controller.permissions import Permission
    from masthead._controller.thread_runner import ThreadRunner
    from masthead._recorder.recorder import Recorder
    from masthead._sansio.sharding import ShardKey
    from masthead._webhook.rotation import RotationPolicy
    from masthead.metrics import Metrics

__all__ = ["Manager"]

T = TypeVar("T", bound=Object)
F = TypeVar("F", bound="Callable[..., object]")
R = TypeVar("R", bound="Callable[..., object] | type | Reconciler")


class Manager(WebhookDecorators):
    """Runs controllers: starts the caches, then the controllers, and stops them gracefully.

    ::

        app = masthead.Manager(leader_election="website-operator")

        @app.controller(Website, owns=[Deployment, Service])
        async def reconcile(ctx: masthead.aio.ReconcileContext[Website], site: Website) -> masthead.controller.Result |
        None: ...

        if __name__ == "__main__":
            app.run()

    The same manager serves blocking and async programs: `run` blocks until the process is asked to stop, `serve` is the
    coroutine for async programs. Reconcilers and timers are coroutine functions, or plain functions that run in threads
    with blocking clients.

    Args:
        name: The name of the program in Events and the user agent; the name of the lease, or ``masthead``, by default.
        namespaces: The namespaces to watch, for all controllers; None for all.
        leader_election: The name of a Lease: controllers run only in the replica that holds it. None for no election.
        sharding: The name of a group of replicas that divide the objects among them: one replica reconciles an object
            at a time. None for no sharding. Timers and sources run in every replica.
        shard_by: The property that assigns an object to a replica: its ``uid`` or its ``namespace``; the same in all
            replicas.
        options: The options of its runs. Environment variables and the arguments of `run` take precedence.
        client_options: Further arguments of the client, such as ``rate``.
        metrics: The metrics registry; by default Prometheus, if it is installed and ``metrics_bind`` is not ``0``.
        permissions: Permissions for sources and timers, for ``masthead manifests``.
        hold: The representation of cached objects: ``lazy`` decodes a section on its first read, ``eager`` decodes all
            sections immediately, and ``compact`` compresses objects and decodes them at every read, which takes several
            times less memory.
        transform: A function that changes objects before they are cached, such as `drop_managed_fields`.
        webhook_certificates: The lifetimes of the certificates of webhooks; None for a year.
        record: The file of a recording of all caches and reconciles; or a function that makes the `Recorder` of a
            factory, for other options. None for no recording.

    Raises:
        ArgumentError: If an argument is invalid.
    """

    _THREADS: ClassVar[type[ThreadRunner]] = NoThreads
    """Runs plain reconcilers and timers."""
    _PAGE: ClassVar[PageMaker | None] = None
    """Makes the page of a run."""

    def __init__(
        self,
        name: str = "",
        *,
        namespaces: str | Sequence[str] | None = None,
        leader_election: str | None = None,
        sharding: str | None = None,
        shard_by: ShardKey = "uid",
        options: RunOptions | None = None,
        client_options: Mapping[str, object] | None = None,
        metrics: Metrics | None = None,
        permissions: Iterable[Permission] = (),
        hold: Hold = "lazy",
        transform: Transform[Object] | None = None,
        webhook_certificates: RotationPolicy | None = None,
        record: str | PathLike[str] | Callable[[SharedInformerFactory], Recorder] | None = None,
    ) -> None:
        super().__init__(webhook_certificates)
        base = options or RunOptions()
        if namespaces is not None:
            given = (namespaces,) if isinstance(namespaces, str) else tuple(namespaces)
            base = base.overridden(namespaces=given)
        for argument, value in (("leader_election", leader_election), ("sharding", sharding)):
            if value is not None and not isinstance(cast("object", value), str):
                raise ArgumentError(
                    f"{argument} is {value!r}; it must be a name, such as 'my-operator', or None", value=value
                )
        # An empty name is an error of the run, not of the declaration: the environment may set the name.
        if leader_election is not None:
            base = base.overridden(leader_election=True, leader_election_id=leader_election)
        if sharding is not None:
            base = base.overridden(sharding=True)
        self._name = name or leader_election or sharding or "masthead"
        self._sharding = sharding or ""
        self._shard_by: ShardKey = shard_by
        self._options = base
        self._client_options = dict(client_options or {})
        self._metrics = metrics
        self._permissions = check_permissions(permissions)
        self._cache_options: InformerOptions[Object] = InformerOptions(hold=hold, transform=transform)
        self._record = record
        self._controllers: list[Controller[Any]] = []
        self._sources: list[SourceSpec] = []
        self._timers: list[TimerSpec] = []
        self._health_checks: dict[str, Callable[[], object]] = {}
        self._ready_checks: dict[str, Callable[[], object]] = {}
        self._runtimes: list[ManagerRuntime] = []

    @property
    def name(self) -> str:
        """The name of the program in Events and the user agent."""
        return self._name

    @property
    def options(self) -> RunOptions:
        """The options in the code, without environment variables and arguments."""
        return self._options

    @property
    def controllers(self) -> Sequence[Controller[Any]]:
        """The controllers, in the order in which they were declared."""
        return tuple(self._controllers)

    @property
    def sources(self) -> Sequence[SourceSpec]:
        """The sources of external events."""
        return tuple(self._sources)

    @property
    def timers(self) -> Sequence[TimerSpec]:
        """The periodic functions."""
        return tuple(self._timers)

    @property
    def sharding(self) -> str:
        """The name of the group of replicas that share the objects; empty for no sharding."""
        return self._sharding

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """Permissions for sources and timers."""
        return self._permissions

    @property
    def cache_options(self) -> InformerOptions[Object]:
        """The options of its caches."""
        return self._cache_options

    @property
    def record(self) -> str | PathLike[str] | Callable[[SharedInformerFactory], Recorder] | None:
        """The recording of its caches and reconciles; None for none."""
        return self._record

    @property
    def shard_by(self) -> ShardKey:
        """The property that assigns an object to a replica."""
        return self._shard_by

    @property
    def health_checks(self) -> Mapping[str, Callable[[], object]]:
        """The program's own checks for ``/healthz``."""
        return self._health_checks

    @property
    def ready_checks(self) -> Mapping[str, Callable[[], object]]:
        """The program's own checks for ``/readyz``."""
        return self._ready_checks

    def controller(self, kind: type[T] | KindLike, **options: Unpack[ControllerOptions[T]]) -> Callable[[R], R]:
        """Register a controller: a decorator for a function or a class, also callable with a `Reconciler`.

        The decorator returns its argument unchanged.

        Args:
            kind: The kind to reconcile: a class, or a resource such as ``apps/v1/deployments``.
            options: The options of `Controller`.

        Raises:
            ArgumentError: If an argument is invalid, or there is a controller of that name.
            NameFormatError: If the finalizer is not a qualified name.
            SelectorError: If a selector is invalid.
            UnknownKindError: If a class has no resource.
        """
        # Checked before the decorator is called: `@app.controller` without a kind would replace the function by a
        # decorator.
        kind_of(kind)

        def register(function: R) -> R:
            self.add(Controller(function, kind, **options))
            return function

        return register

    def add(self, controller: Controller[T]) -> Controller[T]:
        """Register a controller.

        Raises:
            ArgumentError: If there is a controller of that name.
        """
        if any(other.name == controller.name for other in self._controllers):
            raise ArgumentError(
                f"there is a controller {controller.name!r} already; give this one another name=...",
                value=controller.name,
            )
        self._controllers.append(controller)
        return controller

    @overload
    def source(self, function: F, /) -> F: ...
    @overload
    def source(self, function: None = None, /, *, controller: str | Callable[..., object] = "") -> Callable[[F], F]: ...
    def source(
        self, function: F | None = None, /, *, controller: str | Callable[..., object] = ""
    ) -> F | Callable[[F], F]:
        """Register a source of external events: an async generator function that yields objects to reconcile.

        ::

            @app.source(controller=reconcile)
            async def deploy_hooks() -> AsyncIterator[masthead.controller.Request]:
                while True:
                    name = await messages.get()
                    yield masthead.controller.Request("default", name)

        The function may take the client as an argument. It runs as long as the controllers, and restarts after a
        backoff if it raises.

        Args:
            function: The generator function.
            controller: The name or the reconciler of the controller; optional if there is only one.

        Raises:
            ArgumentError: If the function is not an async generator function or requires more than the client, or the
                controller does not exist.
        """
        is_reconciler = any(
            function in (controller.name, controller.function.given) for controller in self._controllers
        )
        if function is not None and is_reconciler:
            raise ArgumentError(
                "that is a controller, not a source: write @manager.source(controller=...) above the source",
                value=function,
            )

        def register(given: F) -> F:
            self._sources.append(SourceSpec(cast("Callable[..., Any]", given), self._find_controller(controller)))
            return given

        return register if function is None else register(function)

    def timer(self, seconds: float) -> Callable[[F], F]:
        """Register a function to call periodically while the controllers run.

        ::

            @app.timer(3600)
            async def report(client: masthead.aio.Client) -> None: ...

            @app.timer(60)
            def collect(client: masthead.Client) -> None: ...

        The function may take the client as an argument; a plain function runs in a thread, with a blocking client.
        Errors are logged and do not change the schedule. Calls never overlap. At the stop, a running call has the
        graceful timeout to finish.

        Args:
            seconds: The time between the end of one call and the next.

        Raises:
            ArgumentError: If the time is not positive, or the function requires more than the client.
        """
        # Checked before the decorator is called: `@app.timer` without a time would replace the function by a decorator.
        check_interval(seconds)

        def register(given: F) -> F:
            self._timers.append(TimerSpec(cast("Callable[..., object]", given), seconds))
            return given

        return register

    def health_check(self, name: str) -> Callable[[F], F]:
        """Register a check for ``/healthz``: a function that raises if something is wrong.

        Raises:
            ArgumentError: If the name is not text, or the check not a function.
        """
        _check_name("health_check", name)

        def register(given: F) -> F:
            self._health_checks[name] = _require_function(given)
            return given

        return register

    def ready_check(self, name: str) -> Callable[[F], F]:
        """Register a check for ``/readyz``: a function that raises while the program is not ready.

        Raises:
            ArgumentError: If the name is not text, or the check not a function.
        """
        _check_name("ready_check", name)

        def register(given: F) -> F:
            self._ready_checks[name] = _require_function(given)
            return given

        return register

    def run(self, config: Config | None = None, **overrides: Unpack[RunOverrides]) -> None:
        """Run until the process receives SIGTERM or SIGINT, or `stop` is called.

        Args:
            config: The cluster; None for the kubeconfig of the options, or the cluster that kubectl would use.
            overrides: Options that take precedence over the environment and the code; see `RunOptions`.

        Raises:
            ManagerStateError: If there is no controller, source, timer or webhook, or an event loop is running already.
            ConfigError: If there is no configuration of a cluster, or an environment variable is invalid.
            DeadlineError: If a reconcile, source or timer ignored its cancellation, and was abandoned.
            MastheadError: If the manager cannot be started.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            raise ManagerStateError("an event loop is running here already; use `await manager.serve()`")
        # Only `run` reads the environment: `serve` and `running` are for programs with another configuration.
        options = RunOptions.from_environment(os.environ, self._options).overridden(**overrides)
        if options.log_format or options.log_level:
            setup_logging(options.log_format, options.log_level or "INFO")
        run_main(self._run(config, options))

    async def serve(self, client: Client | Config | None = None, **overrides: Unpack[RunOverrides]) -> None:
        """Run until `stop` is called, or the task is cancelled. Signals and environment variables are not handled.

        Args:
            client: A client, which is not closed at the end, or the configuration of one.
            overrides: Options that take precedence over the code; see `RunOptions`.

        Raises:
            ManagerStateError: If there is no controller, source, timer or webhook.
            MastheadError: If the manager cannot be started.
        """
        async with self.running(client, **overrides) as runtime:
            await runtime.wait_for_stop()

    @asynccontextmanager
    async def running(
        self,
        client: Client | Config | None = None,
        *,
        clock: Callable[[], datetime] = utc_now,
        detect_mutations: bool | None = None,
        **overrides: Unpack[RunOverrides],
    ) -> AsyncGenerator[ManagerRuntime]:
        """Run while a block is executed, in the running event loop.

        Args:
            client: A client, which is not closed at the end, or the configuration of one.
            clock: The clock for timestamps in the API.
            detect_mutations: Whether to detect mutations of cached objects, for tests; None for the value of the
                environment variable ``MASTHEAD_MUTATION_DETECTOR``.
            overrides: Options that take precedence over the code; see `RunOptions`.

        Raises:
            ManagerStateError: If there is no controller, source, timer or webhook.
            MastheadError: If the manager cannot be started.
        """
        self._check_runnable()
        options = self._options.overridden(**overrides)
        # A client of the caller stays open; the caller may use it after the run.
        own = not isinstance(client, Client)
        used = self.make_client(client, options) if not isinstance(client, Client) else client
        runtime = ManagerRuntime(
            self,
            options,
            used,
            threads=self._THREADS,
            make_page=self._PAGE,
            metrics=self._metrics,
            clock=clock,
            detect_mutations=detect_mutations,
        )
        self._runtimes.append(runtime)
        try:
            async with runtime:
                yield runtime
        finally:
            self._runtimes.remove(runtime)
            if own:
                await used.close()

    @contextmanager
    def running_in_thread(
        self, config: Config | None = None, **overrides: Unpack[RunOverrides]
    ) -> Generator[ManagerRuntime]:
        """Run while a block is executed, with an event loop in a separate thread; for blocking programs and tests.

        Args:
            config: The cluster; None for the cluster that kubectl would use.
            overrides: Options that take precedence over the code; see `RunOptions`.

        Raises:
            ManagerStateError: If there is no controller, source, timer or webhook.
            MastheadError: If the manager cannot be started.
        """
        self._check_runnable()
        started = threading.Event()
        runtimes: list[ManagerRuntime] = []
        errors: list[BaseException] = []

        async def main() -> None:
            async with self.running(config, **overrides) as runtime:
                runtimes.append(runtime)
                started.set()
                with paused_at_forks():
                    await runtime.wait_for_stop()

        def target() -> None:
            try:
                run_main(main())
            except BaseException as error:  # noqa: BLE001 - raised below, in the caller's thread
                errors.append(error)
            finally:
                started.set()

        # A green thread would share the loop's thread, and block it.
        refuse_green_threads("a manager in the background")
        thread = threading.Thread(target=target, name="masthead-manager", daemon=True)
        thread.start()
        started.wait()
        if errors:
            thread.join()
            raise errors[0]
        try:
            yield runtimes[0]
        finally:
            runtimes[0].stop()
            thread.join()
        if errors:
            raise errors[0]

    def stop(self) -> None:
        """Ask all runs to stop gracefully, from any thread."""
        for runtime in list(self._runtimes):
            runtime.stop()

    def make_client(self, config: Config | None, options: RunOptions) -> Client:
        """Create the client of a run.

        Raises:
            ConfigError: If there is no configuration of a cluster.
        """
        metrics = default_metrics(options) if self._metrics is None else self._metrics
        # Options of the program take precedence over ours.
        arguments = {"user_agent": self._name, "metrics": metrics, **self._client_options}
        if config is not None:
            return Client(config, **cast("Any", arguments))
        return Client(kubeconfig=options.kubeconfig or None, context=options.context or None, **cast("Any", arguments))

    def __repr__(self) -> str:
        names = ", ".join(controller.name for controller in self._controllers)
        return f"<Manager {self._name}: {names or 'no controllers'}>"

    async def _run(self, config: Config | None, options: RunOptions) -> None:
        self._check_runnable()
        client = self.make_client(config, options)
        try:
            runtime = ManagerRuntime(
                self, options, client, threads=self._THREADS, make_page=self._PAGE, metrics=self._metrics
            )
            self._runtimes.append(runtime)
            try:
                with stop_on_signals(lambda signal: runtime.stop(f"received {signal.name}")):
                    async with runtime:
                        await runtime.wait_for_stop()
            finally:
                self._runtimes.remove(runtime)
            # The exit status of the process must show that the stop was not graceful.
            if runtime.abandoned_work:
                raise StopTimeoutError(f"stopped, but not gracefully: abandoned {runtime.abandoned_work}")
        finally:
            await client.close()

    def _check_runnable(self) -> None:
        if not (self._controllers or self._timers or self._sources or self.webhooks):
            raise ManagerStateError("there is nothing to run; register a controller with @manager.controller(Kind)")

    def _find_controller(self, wanted: str | Callable[..., object]) -> Controller[Any]:
        """Find a controller by its name or its reconciler; without either, return the only one."""
        if not wanted and len(self._controllers) == 1:
            return self._controllers[0]
        for controller in self._controllers:
            if wanted and wanted in {controller.name, controller.function.given}:
                return controller
        known = ", ".join(controller.name for controller in self._controllers) or "none"
        raise ArgumentError(f"say which controller a source is for: controller=...; there are: {known}", value=wanted)


def _check_name(decorator: str, name: object) -> None:
    # Checked before the decorator is called: without its name, it would replace the function by a decorator.
    if not isinstance(name, str) or not name:
        given = getattr(name, "__qualname__", repr(name))
        raise ArgumentError(f"a check needs a name, not {given}: write @manager.{decorator}('database')", value=name)


def _require_function(given: object) -> Callable[[], object]:
    if isinstance(given, type) or not callable(given):
        raise ArgumentError(f"a check is a function, not {given!r}", value=given)
    return given
