"""Runs managers against a server, in virtual time, until nothing is left to do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from masthead._cache.informer import mutation_detector
from masthead._client.client import Client
from masthead._controller.controller_services import utc_now
from masthead._controller.manager import Manager as BaseManager
from masthead._meta.object import Object
from masthead._module import set_module
from masthead.errors import ArgumentError, ManagerStateError
from masthead.testing._clusters import EmbeddedCluster, RemoteCluster, difference
from masthead.testing._configurations import config_of
from masthead.testing._failures import FailureReport, UnexpectedFailureError
from masthead.testing._hot_loops import HotKey, find_hot_key
from masthead.testing._replica import Replica
from masthead.testing._writes import WriteLog
from masthead.testing.virtual_time import LoopClock, VirtualLoop, now

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from typing import Self, Unpack

    from masthead import Manager
    from masthead._config.model import Config
    from masthead._controller.options import RunOverrides
    from masthead.testing._clusters import ClusterView
    from masthead.testing._writes import Write
    from masthead_server.runner import ServerRunner
    from masthead_server.server import Server

__all__ = ["Environment", "NotIdleError"]

_MAX_WRITES: Final = 100
"""How often one object may be written until it settles; beyond, controllers fight about it."""
_MAX_RECONCILES: Final = 1_000
"""How many reconciles there may be until it settles, and …"""
_MAX_RECONCILES_PER_OBJECT: Final = 50
_MAX_LINES: Final = 12
"""How many lines of each kind a message has."""
_POLL: Final = 0.02
"""Seconds between two looks, in real time."""
_TURNS: Final = 500
"""Turns of a loop that is never idle between two looks."""
_ADVANCE_TURNS: Final = 100
"""Turns of the loop between two looks while time passes."""
_MAX_STUCK_TURNS: Final = 50_000
"""Turns of the loop in which neither time passes nor a reconcile ends, before something is said to spin."""
_MAX_RATE: Final = 20.0
"""Reconciles per object and virtual second, in the long run."""
_MAX_REAL_SECONDS: Final = 5.0
"""How long a test against an embedded server may wait in real time."""
_USER_AGENT: Final = "masthead-testing"


@set_module("masthead.testing")
class NotIdleError(AssertionError):
    """An environment does not come to rest: in `wait_for_idle`, something is left to do; in `advance`, time does not pass.

    The message says what is left, and which object is reconciled again and again.
    """


@set_module("masthead.testing")
class Environment:
    """Runs managers against an embedded server, as a cluster would, for tests.

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
    environment raises `UnexpectedFailureError`, unless the function has succeeded since, or the test has read `failures`.

    Args:
        managers: Managers to run, or functions that make them; more replicas come with `start`.
        crds: The definitions to install first: objects, plain data, or classes of custom resources; None for the classes
            that the controllers of each manager name.
        objects: Objects that are applied next, before the managers start.
        config: A cluster that is there, such as a kube-apiserver of a test; None for an embedded server. It needs real
            time, and has neither `server` nor faults.
        server_options: Arguments of `masthead.server.run`, such as ``{"workloads": True}``.
        detect_mutations: Whether a controller that changes an object of a cache makes the test fail; None for yes, unless
            the environment variable ``MASTHEAD_MUTATION_DETECTOR`` is 0.
        overrides: Options of the managers; see `masthead.controller.RunOptions`. Probes and metrics are off by default.

    Raises:
        ArgumentError: If `config` and `server_options` are given.
    """

    def __init__(
        self,
        *managers: Manager | Callable[[], Manager],
        crds: Iterable[object] | None = None,
        objects: Iterable[Object | Mapping[str, object]] = (),
        config: Config | None = None,
        server_options: Mapping[str, object] | None = None,
        detect_mutations: bool | None = None,
        **overrides: Unpack[RunOverrides],
    ) -> None:
        if config is not None and server_options:
            raise ArgumentError("server_options are for an embedded server; leave out config")
        self._managers = managers
        self._crds = None if crds is None else tuple(crds)
        self._installed: set[type[Object]] = set()
        self._objects = tuple(objects)
        self._config = config
        self._server_options = dict(server_options or {})
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

    # What there is.

    @property
    def server(self) -> Server:
        """The embedded server: its faults, requests and history.

        Raises:
            RuntimeError: If the environment is not entered, or has another server.
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
        """A client for the test itself, whose writes are not recorded.

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
        """The replicas that run, in the order of their start."""
        return [replica for replica in self._replicas if replica.is_running]

    @property
    def now(self) -> float:
        """The virtual seconds since the test began; in real time, the seconds of the event loop's clock."""
        return now()

    # What was written.

    @property
    def writes(self) -> list[Write]:
        """The write requests of all replicas since the start or the last `clear`, oldest first.

        Without those of Leases and Events: an operator that has nothing to do still renews its lease.
        """
        return self._log.writes

    @property
    def events(self) -> list[str]:
        """The Events that replicas have created since, such as ``Normal Deployed default/web: the site is up``."""
        return self._log.events

    @property
    def missing_permissions(self) -> list[str]:
        """What replicas have requested, and the rules of ``masthead manifests`` do not allow: ``get secrets shop/tls``.

        Declare the kind (``owns=``, ``watches=``, ``reads=``) or the finalizer, or add a `masthead.controller.Permission`.
        """
        return list(dict.fromkeys(text for replica in self._replicas for text in replica.missing_permissions))

    @property
    def failures(self) -> list[str]:
        """What failed when it was last called, and how: ``sites default/a: ValueError: no host (9 times)``.

        These are reconciles, by controller and object; mappers and predicates (``sites mapper of secrets default/tls``),
        indexers (``indexer sites/host of sites default/a``), ``source feed``, ``timer sweep``, controllers that cannot be
        started, objects that a cache cannot use, because its transform raises, and objects of caches that were changed in
        place. `wait_for_idle` waits neither for a retry that is due late, nor after a `masthead.PermanentError`.
        A `masthead.TemporaryError` is not listed: with it, a reconcile asks for a retry.

        Reading this tells the environment that the test expects these failures. Others make `UnexpectedFailureError`
        at its end.
        """
        return self._failures.look(self._replicas)

    def clear(self) -> None:
        """Forget what was written until now."""
        self._log.clear()

    # Its life.

    async def __aenter__(self) -> Self:
        try:
            await self._open()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        failures = self._failures.unseen(self._replicas)
        await self._close()
        failures += self._failures.unseen_mutations(self._replicas)  # of reconciles that ended just now, too
        if not failures:
            return
        found = UnexpectedFailureError(failures)
        if error is None:
            raise found
        # The error that ends the block may be a consequence of these failures, and must not be hidden by them.
        error.add_note(str(found))

    async def _open(self) -> None:
        config = self._config
        if config is None:
            clock = LoopClock()
            self._clock = clock.now
            self._shift = clock.shift
            self._server_options = {"clock": clock, "bootstrap": False, **self._server_options}
            self._stack.push_async_callback(self._stop_server)
            config = config_of(await self._start_server())
        self._client = Client(config, user_agent=_USER_AGENT, field_manager=_USER_AGENT)
        self._stack.push_async_callback(self._client.close)
        if self._cluster is None:
            self._cluster = RemoteCluster(self._client)
        managers = [_make(manager) for manager in self._managers]
        await self._install(self._crds or ())
        for manager in managers:
            await self._install_kinds(manager)
        if self._objects:
            await self._client.apply_manifests(list(self._objects), force=True)
        for manager in managers:
            await self.start(manager)

    async def _install_kinds(self, manager: Manager) -> None:
        """Install the custom resources of a manager, unless the test has said what to install."""
        if self._crds is not None:
            return
        kinds = [kind for kind in _custom_resources(manager) if kind not in self._installed]
        self._installed.update(kinds)
        await self._install(kinds)

    async def _install(self, definitions: Iterable[object]) -> None:
        if given := [_definition_of(definition) for definition in definitions]:
            await self.client.apply_manifests(given, force=True)

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
        """Stop the embedded server: connections break, and no request is answered until `start_server`.

        Raises:
            RuntimeError: If there is no embedded server, or its objects would be lost.
        """
        server = self.server
        if "data" not in self._server_options:
            raise RuntimeError("the server's objects would be lost: keep them, with server_options={'data': path}")
        self._server_options |= {"port": urlsplit(server.url).port, "token": server.token}
        await self._stop_server()

    async def start_server(self) -> None:
        """Start the embedded server again, at the same address, with its objects; without its faults.

        Raises:
            ConfigError: If another program listens there by now.
        """
        if self._runner is None:
            await self._start_server()

    async def _close(self) -> None:
        try:
            for replica in reversed(self._replicas):
                if replica.is_running:
                    await self._stop(replica)
        finally:
            await self._stack.aclose()

    async def _stop(self, replica: Replica) -> None:
        """Stop a replica; one that spins would let its graceful timeout never pass, and is killed."""
        stopping = asyncio.get_running_loop().create_task(replica.stop())
        try:
            await self._pass_time(stopping, lambda: None)
        except NotIdleError:
            await replica.crash()
            stopping.cancel()
            await asyncio.wait({stopping})
        else:
            stopping.result()

    async def start(
        self, manager: Manager | Callable[[], Manager], name: str = "", **overrides: Unpack[RunOverrides]
    ) -> Replica:
        """Run a manager, as a replica of its own.

        Each replica stands for a process, and a process that ends takes its memory with it. So a replica that follows one
        which has stopped or crashed needs a manager of its own: pass a function that makes it.

        Args:
            manager: A manager, or a function that makes one. Replicas of one manager share whatever its functions refer to.
            name: The name of the replica, and its identity in elections; made of the manager's name by default.
            overrides: Its options.

        Raises:
            ManagerStateError: If the manager has run in a replica that has ended.
            MastheadError: If the manager cannot be started.
        """
        manager = _make(manager)
        self._check_fresh(manager)
        await self._install_kinds(manager)
        name = name or f"{manager.name}-{len(self._replicas)}"
        base: RunOverrides = {"metrics_bind": "0", "probe_bind": "0", "identity": name}
        options: RunOverrides = {**base, **self._overrides, **overrides}
        replica = Replica(name, manager, self.config, self._log, self._clock, options, self._detects_mutations)
        await replica.start()
        self._replicas.append(replica)
        return replica

    def _check_fresh(self, manager: Manager) -> None:
        """Refuse a manager that keeps the memory of a process that has ended.

        Raises:
            ManagerStateError: If there is such a process.
        """
        for replica in self._replicas:
            if replica.manager is manager and not replica.is_running:
                raise ManagerStateError(
                    f"manager {manager.name} has run in replica {replica.name}, which has ended; a new process would not have "
                    "the memory that its functions share. Pass a function that makes the manager: env.start(make_manager)"
                )

    # Time.

    async def advance(self, seconds: float) -> None:
        """Let time pass: whatever is due on the way runs at its time.

        Raises:
            ValueError: If time would go back.
            ManagerStateError: If the server is embedded, time is real, and the test would wait for more than 5 seconds.
            NotIdleError: If an object is reconciled again and again, more than 20 times a second, or something else runs
                without ever waiting, so that time does not pass.
        """
        if seconds < 0:
            raise ValueError(f"time does not go back: cannot advance by {seconds} seconds")
        self._check_real_time(f"advance({seconds:g})", seconds)
        began, before = asyncio.get_running_loop().time(), self._reconciles()
        sleeping = asyncio.get_running_loop().create_task(asyncio.sleep(seconds))
        try:
            await self._pass_time(sleeping, lambda: self._check_pace(began, before))
        finally:
            sleeping.cancel()
        await self._pause()

    def _check_real_time(self, call: str, seconds: float) -> None:
        """Refuse long waits of a test that was probably meant to run in virtual time.

        Raises:
            ManagerStateError: If the server is embedded, and time is real.
        """
        if seconds <= _MAX_REAL_SECONDS or self._config is not None:
            return
        if not isinstance(asyncio.get_running_loop(), VirtualLoop):
            raise ManagerStateError(
                f"{call} would wait for real: the test does not run in virtual time. Decorate it with "
                "@masthead.testing.in_virtual_time, below @pytest.mark.asyncio if it has that, or use BlockingEnvironment; "
                "to wait in real time, await asyncio.sleep()"
            )

    async def _pass_time(self, future: asyncio.Future[None], check: Callable[[], None]) -> None:
        """Wait for a future, unless virtual time stands still.

        Raises:
            NotIdleError: If the loop is never idle, or `check` raises it.
        """
        loop = asyncio.get_running_loop()
        if not isinstance(loop, VirtualLoop):
            await asyncio.wait({future})
            return
        progress, turns = (loop.time(), self._reconciles()), 0
        while not await loop.wait_for_future(future, _ADVANCE_TURNS):
            check()
            turns += _ADVANCE_TURNS
            if progress != (now := (loop.time(), self._reconciles())):
                progress, turns = now, 0
            elif turns >= _MAX_STUCK_TURNS:
                problem = "time does not pass: something runs again and again, and never waits"
                raise NotIdleError(self._report(problem, await self._left(0.0)))

    def _check_pace(self, began: float, before: int) -> None:
        """Find objects that are reconciled so often that time hardly passes.

        Raises:
            NotIdleError: If there is one.
        """
        hot = self._hottest(began)
        if hot is not None:
            raise NotIdleError(self._report(f"time hardly passes: {hot}", []))
        done = self._reconciles() - before
        per_object = _MAX_RECONCILES_PER_OBJECT + _MAX_RATE * (asyncio.get_running_loop().time() - began)
        if done > _MAX_RECONCILES + per_object * self._cached_objects():
            problem = f"time hardly passes: there were {done} reconciles; {self._hottest(began, min_count=1)}"
            raise NotIdleError(self._report(problem, []))

    def _hottest(self, since: float, **limits: int) -> HotKey | None:
        recent = {
            f"{name} of {replica.name}": reconciles
            for replica in self.replicas
            for name, reconciles in replica.recent_reconciles().items()
        }
        return find_hot_key(recent, since, **limits)

    def _cached_objects(self) -> int:
        return sum(len(informer.indexer) for replica in self.replicas for _, informer in replica.caches())

    def shift_clock(self, seconds: float) -> None:
        """Set the wall clock forward, or back with a negative number, as an administrator does; timers are not affected.

        Raises:
            ManagerStateError: If the cluster is not embedded.
        """
        if self._shift is None:
            raise ManagerStateError("only the clock of an embedded cluster can be set")
        self._shift(seconds)

    async def wait_for_idle(self, *, retries_within: float = 1.0, timeout: float = 600.0) -> None:  # noqa: ASYNC109 - virtual
        """Wait until nothing is left to do.

        That is so when the server is idle, every cache equals what the server has, all events are handled, no key is
        enqueued, and no reconcile is running or waits until its writes are visible. Time passes only if something waits
        for it, such as a watch that broke, or a retry that comes soon. What was requeued is for later, and a retry that is
        due later is listed in `failures`, unless a `masthead.TemporaryError` has asked for it.

        Args:
            retries_within: A reconcile that has failed, or has returned ``requeue_after=0``, is waited for if it is repeated
                within so many seconds.
            timeout: For how many seconds.

        Raises:
            NotIdleError: If something is left to do after `timeout` seconds, or controllers fight: one object is
                written again and again. The message says what is left, and what was written.
            ManagerStateError: If the server is embedded, time is real, and `retries_within` is more than 5 seconds.
            RuntimeError: If a replica has ended by itself.
        """
        self._check_real_time(f"wait_for_idle(retries_within={retries_within:g})", retries_within)
        clock = asyncio.get_running_loop().time
        deadline = clock() + timeout
        began, before = clock(), self._reconciles()
        self._log.counts.clear()
        while True:
            is_idle = await self._pause()
            left = await self._left(retries_within)
            if not left and is_idle:
                return
            self._check_fights(began, before)
            if clock() >= deadline:
                raise NotIdleError(self._report(f"not idle after {timeout:g} s", left))
            if left and is_idle:
                await self._step(deadline, left)

    async def _pause(self) -> bool:
        """Let everything happen that needs no time; returns whether nothing more can."""
        loop = asyncio.get_running_loop()
        if isinstance(loop, VirtualLoop):
            return await loop.until_idle(_TURNS)
        await asyncio.sleep(_POLL)
        return True

    async def _step(self, deadline: float, left: list[str]) -> None:
        """Let time pass until the next timer."""
        loop = asyncio.get_running_loop()
        if not isinstance(loop, VirtualLoop):
            return
        due = loop.next_timer
        if due is None:
            raise NotIdleError(self._report("nothing will happen any more", left))
        await asyncio.sleep(max(0.0, min(due, deadline) - loop.time()))

    async def _left(self, retries_within: float) -> list[str]:
        """What is left to do, in a sentence each."""
        cluster = self._cluster
        found = cluster.pending_work() if cluster is not None else []
        leaderless: dict[str, list[str]] = {}
        leaders: set[str] = set()
        for replica in self._replicas:
            replica.check()
            if not replica.is_running or replica.is_paused:
                continue
            runtime = replica.runtime
            election = runtime.options.leader_election_id if runtime.options.leader_election else ""
            if election and not replica.is_leading:
                leaderless.setdefault(election, []).append(replica.name)
            else:
                leaders.add(election)
                found += [f"{replica.name}: {each}" for each in runtime.pending_work(retries_within)]
            found += await self._behind(replica)
        found += [
            f"none of {', '.join(names)} leads {election}"
            for election, names in leaderless.items()
            if election not in leaders
        ]
        return found

    async def _behind(self, replica: Replica) -> list[str]:
        found: list[str] = []
        for where, informer in replica.caches():
            if self._cluster is None:
                continue
            versions = await self._cluster.versions(where)
            if problem := difference(informer, versions):
                found.append(f"{replica.name}: the cache of {where.name} is behind: {problem}")
        return found

    def _reconciles(self) -> int:
        return sum(replica.reconciles() for replica in self.replicas)

    def _check_fights(self, began: float, before: int) -> None:
        """Find what would go on forever.

        Raises:
            NotIdleError: If there is something.
        """
        for (resource, key), count in self._log.counts.most_common(1):
            if count > _MAX_WRITES:
                last = [
                    f"{each} by {each.field_manager or each.replica}"
                    for each in self._log.about(resource, key, _MAX_LINES)
                ]
                raise NotIdleError(self._report(f"{resource} {key} was written {count} times; the last of them:", last))
        objects = self._cached_objects()
        done = self._reconciles() - before
        if done > _MAX_RECONCILES + _MAX_RECONCILES_PER_OBJECT * objects:
            hot = self._hottest(began, min_count=1)
            problem = f"there were {done} reconciles of {objects} objects, and no end{f'; {hot}' if hot else ''}"
            raise NotIdleError(self._report(problem, []))

    def _report(self, problem: str, left: list[str]) -> str:
        lines = [problem, *_shortened(left)]
        reasons = [
            f"{replica.name} {name}: {'; '.join(why)}"
            for replica in self.replicas
            for name, why in replica.reasons().items()
        ]
        if reasons:
            lines += ["enqueued or delayed:", *_shortened(reasons)]
        if self.writes:
            lines += [
                "last writes:",
                *(f"  {write} ({write.replica})" for write in self.writes[-_MAX_LINES:]),
            ]
        return "\n".join(lines)


def _shortened(lines: list[str]) -> list[str]:
    shown = [f"  {line}" for line in lines[:_MAX_LINES]]
    return [*shown, f"  and {len(lines) - _MAX_LINES} more"] if len(lines) > _MAX_LINES else shown


def _make(manager: Manager | Callable[[], Manager]) -> Manager:
    """Return the manager, which a function makes.

    Raises:
        ArgumentError: If it is neither a manager nor a function that returns one.
    """
    made = cast("object", manager if isinstance(manager, BaseManager) or not callable(manager) else manager())
    if not isinstance(made, BaseManager):
        raise ArgumentError(f"{made!r} is not a manager: pass one, or a function that makes one", value=manager)
    return cast("Manager", made)


def _custom_resources(manager: Manager) -> tuple[type[Object], ...]:
    """The classes that are definitions, among the kinds of a manager's controllers."""
    kinds = [spec.kind for controller in manager.controllers for spec in controller.specs]
    return tuple(dict.fromkeys(kind for kind in kinds if isinstance(kind, type) and hasattr(kind, "to_crd")))


def _definition_of(given: object) -> Mapping[str, object]:
    """The definition of a custom resource, of an object, plain data, or a class that makes one.

    Raises:
        ArgumentError: If it is nothing of that.
    """
    if isinstance(given, Mapping):
        return cast("Mapping[str, object]", given)
    if isinstance(given, type) and callable(make := getattr(given, "to_crd", None)):
        given = make()
    if isinstance(given, Object):
        return given.to_dict()
    raise ArgumentError(
        f"{given!r} is not the definition of a custom resource: give an object, plain data, or a class",
        value=given,
    )
