"""Test environments: managers against a server, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast, get_args
from urllib.parse import urlsplit

from masthead._cache.informer import mutation_detector
from masthead._cache.informer.informer import pipeline_of
from masthead._client.client import Client
from masthead._controller.controller_services import utc_now
from masthead._controller.manager import Manager as BaseManager
from masthead._meta.object import Object
from masthead._module import set_module
from masthead._sansio.key_order import KeyOrder
from masthead._webhook.locations import SERVICE_PORT, service_location, service_name
from masthead.errors import ArgumentError, ManagerStateError
from masthead.testing._accounts import create_account, describe_missing
from masthead.testing._clusters import EmbeddedCluster, RemoteCluster, difference
from masthead.testing._configurations import config_of
from masthead.testing._eventually import EXPECTED_ERRORS, Patience
from masthead.testing._failures import FailureReport, UnexpectedFailureError
from masthead.testing._manifests import installed_definitions, webhook_manifests
from masthead.testing._pace import Pace
from masthead.testing._replay import OwnChanges
from masthead.testing._replica import Replica
from masthead.testing._seeds import SeededStreams
from masthead.testing._writes import WriteLog
from masthead.testing.virtual_time import LoopClock, VirtualLoop, now, process

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime
    from pathlib import Path
    from typing import Self, Unpack

    from masthead import Manager
    from masthead._config.model import Config
    from masthead._controller.options import RunOverrides
    from masthead._recording.recording import RecordedMoment, Recording
    from masthead._webhook.locations import Locate
    from masthead.testing._clusters import ClusterView
    from masthead.testing._exchanges import RequestHook
    from masthead.testing._pace import EndlessWork
    from masthead.testing._writes import Write
    from masthead_server.runner import ServerRunner
    from masthead_server.server import Server

__all__ = ["Environment", "NotIdleError", "definition_of", "patience_of"]

T = TypeVar("T")

_MAX_LINES: Final = 12
"""The maximum number of lines per section of a message."""
_POLL_SECONDS: Final = 0.02
"""Seconds between two checks, in real time."""
_BUSY_TURNS: Final = 500
"""Turns of a busy loop between two checks."""
_ADVANCE_TURNS: Final = 100
"""Turns of the loop between two checks while time passes."""
_MAX_REAL_SECONDS: Final = 5.0
"""The maximum wait of a test with an embedded server, in real seconds."""
_WEBHOOK_SECONDS: Final = 60.0
"""Seconds for webhooks to become ready."""
_USER_AGENT: Final = "masthead-testing"


@set_module("masthead.testing")
class NotIdleError(AssertionError):
    """An environment does not become idle: `wait_for_idle` finds remaining work, or time does not pass in `advance`.

    The message lists the remaining work, and the objects in a reconcile loop.
    """


@set_module("masthead.testing")
class Environment:
    """Runs managers against an embedded server, for tests.

    ::

        from masthead.api.core.v1 import ConfigMap, Secret
        from masthead.testing import Environment, in_virtual_time

        app = masthead.Manager("copies")

        @app.controller(Secret, owns=[ConfigMap])
        async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
            await ctx.apply(ConfigMap.new(secret.metadata.name))

        @in_virtual_time
        async def test_a_secret_gets_a_config_map() -> None:
            async with Environment(app) as env:
                await env.client.core_v1.secrets("default").create(Secret.new("a"))
                await env.wait_for_idle()
                assert env.writes == ["apply configmaps default/a"]

                env.clear()
                await env.advance(3600)  # takes no time
                await env.wait_for_idle()
                assert env.writes == []

    In virtual time (`masthead.testing.in_virtual_time`) hours pass in milliseconds, and every requeue, retry and timer
    runs at its time; so does every renewal of a lease, 1,800 an hour, which ``leader_election=False`` avoids. On any
    other event loop time passes as usual; there, `advance` refuses to wait for more than a few seconds.

    A reconcile, mapper, predicate, indexer, transform, source or timer that fails makes the test fail: leaving the
    environment raises `UnexpectedFailureError`, unless the function has succeeded since, or the test has read
    `failures`.

    Args:
        managers: Managers, or functions that create them; `start` adds more replicas.
        crds: Definitions to install first: objects, plain data, or classes of custom resources; None for the custom
            resources of the managers' controllers.
        objects: Objects to apply next, before the managers start.
        config: An existing cluster, such as a kube-apiserver of a test; None for an embedded server. It needs real
            time, and has neither `server` nor faults. Webhooks are off there, unless `webhook_bind` and
            `webhook_url` name an address that it can reach.
        server_options: Arguments of `masthead.server.run`, such as ``{"workloads": True}``.
        rbac: Whether the server authorizes requests, and each manager acts as a service account with exactly the rules
            of ``masthead manifests``: a request without a rule fails with `masthead.ForbiddenError`. The account is in
            the namespace of `client`; namespaces that a manager is limited to must exist.
        seed: Makes runs in virtual time repeatable: all random numbers of server, client and replicas come from it, so
            that uids, generated names, reconcile ids, backoffs and watch timeouts are the same in every run. None for
            different ones.
        key_order: The order in which controllers take ready objects of equal priority: ``fifo``, ``lifo`` or
            ``random`` (by `seed`). No object waits for ever in any of them.
        recording: A recording to begin with: its path, or an open one. The server has the objects of a moment, and the
            clock its time. Webhooks of the recorded cluster are not called, and its definitions stay.
        at: The moment to begin at; None for the begin. See `masthead.recording.RecordedMoment`.
        until: A moment to play the recording until, once the managers run; None to leave that to `play`.
        leave_out: The field managers whose recorded writes are not played; None for those of the managers, which write
            again: their names and those of their controllers. See `play`.
        detect_mutations: Whether mutations of cached objects fail the test; None for yes, unless the environment
            variable ``MASTHEAD_MUTATION_DETECTOR`` is 0.
        overrides: Options of the managers; see `masthead.controller.RunOptions`. Probes and metrics are off by default.

    Raises:
        ArgumentError: If `config` and `server_options` are given, `key_order` is unknown, or `config` or the moments do
            not go with `recording`.
    """

    def __init__(  # noqa: PLR0913 - each is something that a test may want to say
        self,
        *managers: Manager | Callable[[], Manager],
        crds: Iterable[object] | None = None,
        objects: Iterable[Object | Mapping[str, object]] = (),
        config: Config | None = None,
        server_options: Mapping[str, object] | None = None,
        rbac: bool = False,
        seed: int | None = None,
        key_order: KeyOrder = "fifo",
        recording: str | Path | Recording | None = None,
        at: RecordedMoment | None = None,
        until: RecordedMoment | None = None,
        leave_out: Iterable[str] | None = None,
        detect_mutations: bool | None = None,
        **overrides: Unpack[RunOverrides],
    ) -> None:
        if recording is None and (at, until, leave_out) != (None, None, None):
            raise ArgumentError("at, until and leave_out are for a recording; pass recording=, too")
        if recording is not None and config is not None:
            raise ArgumentError("a recording is replayed by an embedded server; leave out config")
        if config is not None and server_options:
            raise ArgumentError("server_options are for an embedded server; leave out config")
        self._managers = managers
        self._crds = None if crds is None else tuple(crds)
        self._installed: set[tuple[type[Object], ...]] = set()
        self._with_webhooks: set[str] = set()
        self._objects = tuple(objects)
        self._config = config
        self._server_options = dict(server_options or {})
        self._source, self._at, self._until = recording, at, until
        self._recording: Recording | None = None
        self._left_out = None if leave_out is None else frozenset(leave_out)
        self._rbac = rbac
        self._streams = SeededStreams(seed)
        if key_order not in get_args(KeyOrder):
            raise ArgumentError(f"key_order is one of {', '.join(get_args(KeyOrder))}", value=key_order)
        self._key_order: KeyOrder = key_order
        if rbac:
            self._server_options.setdefault("authorization", "rbac")
        self._detects_mutations = mutation_detector.is_on(detect_mutations, default=True)
        self._overrides = overrides
        self._stack = AsyncExitStack()
        self._log = WriteLog()
        self._replicas: list[Replica] = []
        self._failures = FailureReport()
        self._clock: Callable[[], datetime] = utc_now
        self._shift: Callable[[float], None] | None = None
        self._server: Server | None = None
        self._client: Client | None = None
        self._cluster: ClusterView | None = None
        self._runner: ServerRunner | None = None
        self._was_entered = False
        self._hooks: list[RequestHook] = []
        """Hooks that control the requests of all replicas from their start on."""
        self._context = copy_context()

    @property
    def server(self) -> Server:
        """The embedded server: its faults, requests and history.

        Raises:
            RuntimeError: If the environment is not entered, or its cluster is not embedded.
        """
        if self._server is None:
            raise RuntimeError("there is no embedded server: enter the environment, without config")
        return self._server

    @property
    def is_embedded(self) -> bool:
        """Whether the cluster is an embedded server, whose time may be virtual."""
        return self._config is None

    @property
    def client(self) -> Client:
        """The client of the test itself; its writes are not recorded.

        Raises:
            RuntimeError: If the environment is not entered.
        """
        if self._client is None:
            raise RuntimeError("enter the environment first: async with Environment(...) as env")
        return self._client

    @property
    def config(self) -> Config:
        """The configuration of clients."""
        return self.client.config

    @property
    def replicas(self) -> list[Replica]:
        """The running replicas, in the order of their start."""
        return [replica for replica in self._replicas if replica.is_running]

    @property
    def now(self) -> float:
        """Virtual seconds since the start of the test; in real time, the event loop's clock."""
        return now()

    @property
    def writes(self) -> list[Write]:
        """Write requests of all replicas since the start or the last `clear`, oldest first.

        Writes of Leases, Events and certificates are not listed: an idle operator still renews its lease.
        """
        return self._log.writes

    @property
    def events(self) -> list[str]:
        """Events that replicas have created since then, such as ``Normal Deployed default/web: the site is up``."""
        return self._log.events

    @property
    def missing_permissions(self) -> list[str]:
        """Requests that the rules of ``masthead manifests`` do not allow, such as ``get secrets shop/tls``.

        To fix it, declare the kind (``owns=``, ``watches=``, ``reads=``) or the finalizer, or add a
        `masthead.controller.Permission`.
        """
        return list(dict.fromkeys(text for replica in self._replicas for text in replica.missing_permissions))

    @property
    def failures(self) -> list[str]:
        """Functions whose last call failed, with the error: ``sites default/a: ValueError: no host (9 times)``.

        Listed are reconciles, by controller and object; mappers and predicates (``sites mapper of secrets
        default/tls``); indexers (``indexer sites/host of sites default/a``); ``source feed``; ``timer sweep``;
        controllers that cannot start; objects rejected by a transform; and mutated objects of caches. `wait_for_idle`
        waits neither for late retries, nor after a `masthead.PermanentError`. A `masthead.TemporaryError` is a request
        for a retry, and not listed.

        Reading this property marks the failures as expected. All others raise `UnexpectedFailureError` at the end.
        """
        return self._failures.look(self._replicas)

    def clear(self) -> None:
        """Forget all recorded writes and Events."""
        self._log.clear()

    async def __aenter__(self) -> Self:
        if self._was_entered:
            raise RuntimeError("an environment can be entered once; create another Environment(...)")
        self._was_entered = True
        self._context = copy_context()
        try:
            await self._open()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        failures = self._failures.unseen(self._replicas)
        await self._close()
        failures += self._failures.unseen_mutations(
            self._replicas
        )  # again, because reconciles may have ended during the close
        if not failures:
            return
        unexpected = UnexpectedFailureError(failures, self._missing_lines())
        if error is None:
            raise unexpected
        # The failures may have caused the error of the block, and must not hide it.
        error.add_note(str(unexpected))

    async def _open(self) -> None:
        self._streams.enter()
        config = self._config
        if config is None:
            clock = LoopClock()
            self._clock = clock.now
            self._shift = clock.shift
            defaults = {"clock": clock, "bootstrap": False, **self._streams.server_options()}
            if self._source is not None:
                defaults |= self._replay_options(self._source)
            self._server_options = {**defaults, **self._server_options}
            # Registered before the start, which may fail halfway.
            self._stack.push_async_callback(self._stop_server)
            server = await self._start_server()
            if self._recording is not None:
                # The time of the incident, which certificates, leases and timeouts refer to.
                clock.shift((server.replay.time - clock.now()).total_seconds())
            config = config_of(server)
        self._client = Client(config, user_agent=_USER_AGENT, field_manager=_USER_AGENT)
        self._stack.push_async_callback(self._client.close)
        if self._cluster is None:
            self._cluster = RemoteCluster(self._client)
        managers = [_make(manager) for manager in self._managers]
        await self._install(self._crds or ())
        for manager in managers:
            await self._install_kinds(manager)
        if self._objects:
            # Applied and not created: an existing cluster may have them already.
            await self._client.apply_manifests(list(self._objects), force=True)
        for manager in managers:
            await self.start(manager)
        if self._until is not None:
            await self.play(self._until)

    def _replay_options(self, source: str | Path | Recording) -> dict[str, object]:
        """Return the options of a server that replays a recording, which is opened."""
        from masthead._recording.recording import Recording

        self._recording = source if isinstance(source, Recording) else Recording(source)
        if self._recording is not source:
            self._stack.callback(self._recording.close)
        # Nothing answers the webhooks of the recorded cluster, which would refuse all writes.
        webhooks = dict.fromkeys(("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"), False)
        # The first change is played by `play`.
        at = -1 if self._at is None else self._at
        return {"recording": self._recording, "at": at, "admission": webhooks}

    async def play(self, until: RecordedMoment | None = None) -> None:
        """Play the recording until a moment, and wait until the environment is idle.

        In virtual time, each change comes at its time; otherwise all come as fast as possible. Replicas may write
        meanwhile. What they have recorded themselves is left out:

        - writes of recorded reconciles of their controllers, deletions included;
        - changes whose field managers are those of `leave_out`; of another's change of the same object, only the fields
          that it changes are played;
        - their Leases.

        All other deletions are played. An object that still has finalizers is only marked as deleted, because a replica
        has to remove them.

        Args:
            until: The moment; None for the end.

        Raises:
            ArgumentError: If the moment is not one of the recording, or has passed.
            ManagerStateError: If the environment replays no recording.
            NotIdleError: If the environment does not become idle.
        """
        if self._recording is None or self._server is None:
            raise ManagerStateError("there is no recording to play: pass recording= to the environment")
        is_own = OwnChanges(
            self._recording, [replica.manager for replica in self._replicas], self._left_out, self._overrides
        )
        loop = asyncio.get_running_loop()
        speed = 1.0 if isinstance(loop, VirtualLoop) else 0.0
        replay = self._server.replay
        replay.play(until, speed=speed, leave_out=is_own, accepts_writes=True)
        waiting = loop.create_task(replay.wait())
        try:
            await self._pass_time(waiting, self._pace())
        finally:
            waiting.cancel()
        await self.wait_for_idle()

    async def _install_kinds(self, manager: Manager) -> None:
        """Install the custom resources of a manager, unless the test has passed `crds`."""
        if self._crds is not None:
            return
        definitions = installed_definitions(manager, self._locate(manager))
        # Also over recorded ones: an operator is deployed with its definitions, which name its webhooks.
        fresh = {classes: definition for classes, definition in definitions.items() if classes not in self._installed}
        self._installed.update(fresh)
        await self._install(fresh.values())

    def _locate(self, manager: Manager) -> Locate | None:
        """Return the location of a manager's webhooks; None in a cluster that cannot reach this process."""
        return service_location(self.client.namespace, service_name(manager.name)) if self.is_embedded else None

    async def _install_webhooks(self, manager: Manager) -> None:
        """Install the Service and the configurations of a manager's webhooks."""
        locate = self._locate(manager)
        if manager.webhooks and locate is not None and manager.name not in self._with_webhooks:
            self._with_webhooks.add(manager.name)
            objects = webhook_manifests(manager, self.client.namespace, locate)
            await self.client.apply_manifests(objects, force=True)

    async def _wait_for_webhooks(self, replica: Replica) -> None:
        """Wait until the server trusts the webhooks of a replica, and route calls to it.

        Raises:
            ManagerStateError: If they do not become ready.
        """
        try:
            async with asyncio.timeout(_WEBHOOK_SECONDS):
                await replica.runtime.wait_for_webhooks()
        except TimeoutError:
            reasons = [*replica.runtime.pending_work(), *describe_missing(replica.missing_permissions)]
            raise ManagerStateError(f"replica {replica.name} is not ready:\n" + "\n".join(reasons)) from None
        self._route_webhooks(replica.manager)

    def _route_webhooks(self, manager: Manager) -> None:
        """Let the Service lead to the newest running replica, as every replica can answer."""
        alike = [replica for replica in self.replicas if replica.manager.name == manager.name]
        ports = [port for replica in alike if (port := replica.runtime.webhook_port) is not None]
        if ports and self._server is not None:
            service = f"{self.client.namespace}/{service_name(manager.name)}"
            self._server.listen_on_service(service, ports[-1], port=SERVICE_PORT)

    async def _install(self, definitions: Iterable[object]) -> None:
        if manifests := [definition_of(definition) for definition in definitions]:
            await self.client.apply_manifests(manifests, force=True)

    async def _start_server(self) -> Server:
        import masthead.server

        runner = masthead.server.run(**cast("Any", self._server_options))
        server = self._server = await runner.__aenter__()
        self._runner = runner
        self._cluster = EmbeddedCluster(server)
        return server

    async def _stop_server(self) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.__aexit__(None, None, None)

    async def stop_server(self) -> None:
        """Stop the embedded server: connections break, and requests fail until `start_server`.

        Raises:
            RuntimeError: If the cluster is not embedded.
        """
        server = self.server
        # Clients keep their configuration, so that the next server needs the same address and token.
        self._server_options |= {"port": urlsplit(server.url).port, "token": server.token}
        await self._stop_server()
        if self._server_options.get("data") is None:
            # A restarted server has the objects, and plays nothing more.
            for option in ("recording", "at"):
                self._server_options.pop(option, None)
            # After the stop, which finishes the requests in flight.
            self._server_options["snapshot"] = server.snapshot()

    async def start_server(self) -> None:
        """Restart the embedded server at the same address, with its objects, without its faults.

        Raises:
            ConfigError: If another program uses the port now.
        """
        if self._runner is None:
            await self._start_server()
            self._server_options.pop("snapshot", None)
            for replica in self.replicas:
                self._route_webhooks(replica.manager)

    async def _close(self) -> None:
        try:
            # Standbys first: a stopped leader would hand over to them.
            for replica in reversed(self._replicas):
                if replica.is_running:
                    await self._stop(replica)
            for replica in self._replicas:
                await replica.bury()
        finally:
            await self._stack.aclose()
            self._streams.leave()

    async def _stop(self, replica: Replica) -> None:
        """Stop a replica; kill it if it spins, because its graceful timeout would never pass."""
        stopping = asyncio.get_running_loop().create_task(replica.stop())
        try:
            await self._pass_time(stopping, self._pace(), checks_loops=False)
        except NotIdleError:
            await replica.crash()
            stopping.cancel()
            await asyncio.wait({stopping})
        else:
            stopping.result()

    async def start(
        self, manager: Manager | Callable[[], Manager], name: str = "", **overrides: Unpack[RunOverrides]
    ) -> Replica:
        """Run a manager as a new replica.

        A replica simulates a process, whose memory is lost at its end. So the successor of a stopped or crashed replica
        needs a new manager: pass a function that creates it.

        Args:
            manager: A manager, or a function that creates one. Replicas of one manager share the state of its
                functions.
            name: The name of the replica, and its identity in elections; derived from the manager's name by default.
            overrides: Options of the replica.

        Raises:
            ManagerStateError: If the manager has run in a stopped or crashed replica.
            MastheadError: If the manager cannot be started.
        """
        starting = self._start_replica(manager, name, **overrides)
        if process.get() is None:
            return await starting
        # The caller is a task of a replica that may have just been killed, and the start must not end with it.
        return await asyncio.get_running_loop().create_task(starting, context=self._context.copy())

    async def _start_replica(
        self, manager: Manager | Callable[[], Manager], name: str, **overrides: Unpack[RunOverrides]
    ) -> Replica:
        # The thread of a blocking test has no seed.
        self._streams.use()
        manager = _make(manager)
        # Before anything is installed: a refused manager must leave no trace.
        self._check_fresh(manager)
        await self._install_kinds(manager)
        await self._install_webhooks(manager)
        name = name or f"{manager.name}-{len(self._replicas)}"
        # No ports: tests run several replicas in one process.
        base: RunOverrides = {
            "metrics_bind": "0",
            "probe_bind": "0",
            "webhook_bind": "127.0.0.1:0" if self.is_embedded else "0",
            "identity": name,
        }
        options: RunOverrides = {**base, **self._overrides, **overrides}
        config = self.config
        if self._rbac:
            config = await create_account(self.client, manager, manager.options.overridden(**options))
        replica = Replica(
            name, manager, config, self._log, self._clock, options, self._detects_mutations, self._streams
        )
        replica.key_order = self._key_order
        replica.on_end = lambda: self._route_webhooks(manager)
        replica.hooks.extend(self._hooks)
        await replica.start()
        self._replicas.append(replica)
        # A hook may have killed it.
        if replica.is_running:
            await self._wait_for_webhooks(replica)
        return replica

    def _check_fresh(self, manager: Manager) -> None:
        """Refuse a manager with the memory of an ended process.

        Raises:
            ManagerStateError: If the manager has run in a stopped or crashed replica.
        """
        for replica in self._replicas:
            if replica.manager is manager and not replica.is_running:
                raise ManagerStateError(
                    f"manager {manager.name} has run in replica {replica.name}, which has ended; a new process would "
                    "not have "
                    "the memory that its functions share. Pass a function that makes the manager: "
                    "env.start(make_manager)"
                )

    async def advance(self, seconds: float) -> None:
        """Let time pass. Timers on the way run at their time.

        Raises:
            ValueError: If `seconds` is negative.
            ManagerStateError: If the server is embedded, time is real, and the test would wait for more than 5 seconds.
            NotIdleError: If time cannot pass, because an object is reconciled or written more than nine times a second,
                or a task never waits.
        """
        if seconds < 0:
            raise ValueError(f"time does not go back: cannot advance by {seconds} seconds")
        self._check_real_time(f"advance({seconds:g})", seconds)
        await self._sleep(seconds, self._pace())
        await self._pause()

    def _check_real_time(self, call: str, seconds: float) -> None:
        """Refuse long waits of tests that were probably meant to run in virtual time.

        Raises:
            ManagerStateError: If the server is embedded, and time is real.
        """
        if seconds <= _MAX_REAL_SECONDS or self._config is not None:
            return
        if not isinstance(asyncio.get_running_loop(), VirtualLoop):
            raise ManagerStateError(
                f"{call} would wait for real: the test does not run in virtual time. Decorate it with "
                "@masthead.testing.in_virtual_time, below @pytest.mark.asyncio if it has that, or use "
                "BlockingEnvironment; "
                "to wait in real time, await asyncio.sleep()"
            )

    async def _pass_time(self, future: asyncio.Future[None], pace: Pace, *, checks_loops: bool = True) -> None:
        """Wait for a future, as long as virtual time passes.

        Raises:
            NotIdleError: If the loop is never idle, or time hardly passes.
        """
        loop = asyncio.get_running_loop()
        if not isinstance(loop, VirtualLoop):
            await asyncio.wait({future})
            return
        while not await loop.wait_for_future(future, _ADVANCE_TURNS):
            if checks_loops:
                self._check(pace.find_hot_loop())
            if stuck := pace.count_turns(_ADVANCE_TURNS):
                raise NotIdleError(self._report(stuck.problem, await self._remaining_work(0.0)))

    def _check(self, endless: EndlessWork | None) -> None:
        """Check that no work without an end was found.

        Raises:
            NotIdleError: If there is some.
        """
        if endless is not None:
            raise NotIdleError(self._report(endless.problem, endless.lines))

    async def _sleep(self, seconds: float, pace: Pace) -> None:
        """Sleep, as long as virtual time passes.

        Raises:
            NotIdleError: If it does not.
        """
        # A task, so that the pace can be checked while time passes.
        sleeping = asyncio.get_running_loop().create_task(asyncio.sleep(seconds))
        try:
            await self._pass_time(sleeping, pace)
        finally:
            sleeping.cancel()

    def shift_clock(self, seconds: float) -> None:
        """Set the wall clock forward, or back with a negative number, like an administrator. Timers are not affected.

        Raises:
            ManagerStateError: If the cluster is not embedded.
        """
        if self._shift is None:
            raise ManagerStateError("only the clock of an embedded cluster can be set")
        self._shift(seconds)

    async def wait_for_idle(self, *, retries_within: float = 1.0, timeout: float = 600.0) -> None:  # noqa: ASYNC109 - virtual
        """Wait until the environment is idle.

        It is idle when the server is idle, every cache equals the server's state, all events are handled, no key is
        enqueued, and no reconcile runs or waits for its writes to become visible. Time passes only if some task waits
        for it, such as a broken watch or an early retry. Requeued objects are for later, and late retries are listed in
        `failures`, unless a `masthead.TemporaryError` has asked for them.

        Args:
            retries_within: Wait for retries of failed reconciles, and for ``requeue_after=0``, that are due within this
                number of seconds.
            timeout: Seconds to wait.

        Raises:
            NotIdleError: If work remains after the timeout, or controllers fight: one object is written again and
                again. The message lists the remaining work and the last writes.
            ManagerStateError: If the server is embedded, time is real, and `retries_within` is more than 5 seconds.
            RuntimeError: If a replica has failed.
        """
        self._check_real_time(f"wait_for_idle(retries_within={retries_within:g})", retries_within)
        clock = asyncio.get_running_loop().time
        deadline = clock() + timeout
        pace = self._pace()
        while True:
            is_idle = await self._pause()
            left = await self._remaining_work(retries_within)
            if not left and is_idle:
                return
            # Before the deadline: a fight explains why the time was not enough.
            self._check(pace.find_fight())
            if clock() >= deadline:
                raise NotIdleError(self._report(f"not idle after {timeout:g} s", left))
            if left and is_idle:
                await self._step(deadline, left, pace)
            elif not is_idle and (stuck := pace.count_turns(_BUSY_TURNS)):
                raise NotIdleError(self._report(stuck.problem, left))

    async def eventually(self, step: Callable[[], Awaitable[T]], *, timeout: float = 60.0) -> T:  # noqa: ASYNC109
        """Repeat a step until it succeeds, as work proceeds and time passes; return its result.

        Args:
            step: A coroutine function. It is repeated after an AssertionError, and after errors of this package, such
                as `masthead.NotFoundError`.
            timeout: Seconds, of virtual time if the test runs in it.

        Raises:
            EventuallyError: If the step still fails after the time. The message lists the remaining work.
            NotIdleError: If time does not pass.
            Exception: Any other error of the step.
        """
        patience = self._be_patient(timeout)
        while True:
            try:
                return await step()
            except EXPECTED_ERRORS as error:
                await patience.wait(error)

    def _be_patient(self, timeout: float) -> Patience:
        """Return the waits between the attempts of `eventually`."""
        pace, loop = self._pace(), asyncio.get_running_loop()

        async def proceed(seconds: float) -> None:
            if seconds:
                due = loop.next_timer if isinstance(loop, VirtualLoop) else None
                wait = 0.0 if due is None else due - loop.time()
                await self._sleep(min(max(wait, _POLL_SECONDS), seconds), pace)
            await self._pause()
            self._check(pace.find_hot_loop())

        async def report(problem: str) -> str:
            return self._report(problem, await self._remaining_work(timeout))

        return Patience(timeout, proceed, report)

    async def _pause(self) -> bool:
        """Let tasks run until all wait for time; return whether they do."""
        loop = asyncio.get_running_loop()
        if isinstance(loop, VirtualLoop):
            return await loop.until_idle(_BUSY_TURNS)
        await asyncio.sleep(_POLL_SECONDS)
        return True

    async def _step(self, deadline: float, left: list[str], pace: Pace) -> None:
        """Let time pass until the next timer."""
        loop = asyncio.get_running_loop()
        if not isinstance(loop, VirtualLoop):  # real time passes without us
            return
        due = loop.next_timer
        # Work remains, all tasks wait, and no timer will wake one: waiting for the timeout would not help.
        if due is None:
            raise NotIdleError(self._report("nothing will happen any more", left))
        await self._sleep(max(0.0, min(due, deadline) - loop.time()), pace)

    async def _remaining_work(self, retries_within: float) -> list[str]:
        """Describe the remaining work, one sentence per item."""
        cluster = self._cluster
        work = cluster.pending_work() if cluster is not None else []
        leaderless: dict[str, list[str]] = {}
        leaders: set[str] = set()
        for replica in self._replicas:
            replica.check()
            if not replica.is_running or replica.is_paused:
                continue
            runtime = replica.runtime
            # Standbys have no work, but an election without a leader is not idle.
            election = runtime.options.leader_election_id if runtime.options.leader_election else ""
            if election and not replica.is_leading:
                leaderless.setdefault(election, []).append(replica.name)
            else:
                leaders.add(election)
                work += [f"{replica.name}: {pending}" for pending in runtime.pending_work(retries_within)]
            work += await self._describe_lag(replica)
        work += [
            f"none of {', '.join(names)} leads {election}"
            for election, names in leaderless.items()
            if election not in leaders
        ]
        return work

    async def _describe_lag(self, replica: Replica) -> list[str]:
        lags: list[str] = []
        for where, informer in replica.caches():
            if self._cluster is None or pipeline_of(informer).is_paused:
                continue
            versions = await self._cluster.versions(where, replica.name)
            if problem := difference(informer, versions):
                lags.append(f"{replica.name}: the cache of {where.name} is behind: {problem}")
        return lags

    def _pace(self) -> Pace:
        return Pace(lambda: self.replicas, self._log)

    def _missing_lines(self) -> list[str]:
        """Return the permissions that replicas lack, if the server refuses such requests."""
        return describe_missing(self.missing_permissions) if self._rbac else []

    def _report(self, problem: str, left: list[str]) -> str:
        lines = [problem, *_shorten(left), *self._missing_lines()]
        reasons = [
            f"{replica.name} {name}: {'; '.join(why)}"
            for replica in self.replicas
            for name, why in replica.reasons().items()
        ]
        if reasons:
            lines += ["enqueued or delayed:", *_shorten(reasons)]
        if self.writes:
            lines += [
                "last writes:",
                *(f"  {write} ({write.replica})" for write in self.writes[-_MAX_LINES:]),
            ]
        return "\n".join(lines)


def patience_of(environment: Environment, timeout: float) -> Patience:
    """Return the waits between the attempts of `Environment.eventually`, for its blocking namesake."""
    return environment._be_patient(timeout)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def _shorten(lines: list[str]) -> list[str]:
    first = [f"  {line}" for line in lines[:_MAX_LINES]]
    return [*first, f"  and {len(lines) - _MAX_LINES} more"] if len(lines) > _MAX_LINES else first


def _make(manager: Manager | Callable[[], Manager]) -> Manager:
    """Return a manager, or call the function that creates it.

    Raises:
        ArgumentError: If the argument is neither a manager nor a function that returns one.
    """
    created = cast("object", manager if isinstance(manager, BaseManager) or not callable(manager) else manager())
    if not isinstance(created, BaseManager):
        raise ArgumentError(f"{created!r} is not a manager: pass one, or a function that makes one", value=manager)
    return cast("Manager", created)


def definition_of(source: object) -> Mapping[str, object]:
    """Return the definition of a custom resource as plain data.

    Raises:
        ArgumentError: If the argument is no object, plain data or class of a custom resource.
    """
    if isinstance(source, Mapping):
        return cast("Mapping[str, object]", source)
    if isinstance(source, type) and callable(make := getattr(source, "to_crd", None)):
        source = make()
    if isinstance(source, Object):
        return source.to_dict()
    raise ArgumentError(
        f"{source!r} is not the definition of a custom resource: give an object, plain data, or a class",
        value=source,
    )
