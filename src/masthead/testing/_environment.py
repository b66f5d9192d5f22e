"""Runs managers against a server, in virtual time, until nothing is left to do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from masthead._client.client import Client
from masthead._config.loader import from_kubeconfig
from masthead._controller.services import utc_now
from masthead._meta.object import Object
from masthead._module import set_module
from masthead.errors import InvalidValueError, ManagerStateError
from masthead.testing._clusters import EmbeddedCluster, RemoteCluster, difference
from masthead.testing._replica import Replica
from masthead.testing._writes import WriteLog
from masthead.testing.virtual_time import LoopClock, VirtualLoop, now

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from typing import Self, Unpack

    from masthead._config.model import Config
    from masthead._controller.manager import Manager
    from masthead._controller.options import RunOverrides
    from masthead._server.runner import ServerRunner
    from masthead._server.server import Server
    from masthead.testing._clusters import ClusterView
    from masthead.testing._writes import Write

__all__ = ["Environment", "NotSettledError"]

_MOST_WRITES: Final = 100
"""How often one object may be written until it settles; beyond, controllers fight about it."""
_MOST_RECONCILES: Final = 1_000
"""How many reconciles there may be until it settles, and …"""
_RECONCILES_PER_OBJECT: Final = 50
_SHOWN: Final = 12
"""How many lines of each kind a message has."""
_POLL: Final = 0.02
"""Seconds between two looks, in real time."""
_TURNS: Final = 500
"""Turns of a loop that is never idle between two looks."""
_USER_AGENT: Final = "masthead-testing"


@set_module("masthead.testing")
class NotSettledError(AssertionError):
    """Something was left to do at the end of `Environment.settle`; the message says what."""


@set_module("masthead.testing")
class Environment:
    """Runs managers against an embedded server, as a cluster would, for tests.

    ::

        from masthead.api.core.v1 import ConfigMap, Secret
        from masthead.testing import Environment, in_virtual_time

        app = masthead.Manager("copies")

        @app.controller(Secret, owns=[ConfigMap])
        async def reconcile(ctx: masthead.aio.Context[Secret], secret: Secret) -> None:
            await ctx.apply(ConfigMap.new(secret.metadata.name))

        @in_virtual_time
        async def test_a_secret_gets_a_config_map() -> None:
            async with Environment(app) as env:
                await env.client.core_v1.secrets("default").create(Secret.new("a"))
                await env.settle()
                assert env.writes == ["apply configmaps default/a"]

                env.clear()
                await env.advance(3600)  # takes no time
                await env.settle()
                assert env.writes == []

    In virtual time (`masthead.testing.in_virtual_time`) hours pass in milliseconds, and every requeue, retry and timer
    runs at its time; so does every renewal of a lease, 1,800 an hour, which ``leader_election=False`` avoids. On any
    other event loop time passes as usual.

    Args:
        managers: What runs; more replicas come with `start`.
        crds: The definitions to install first: objects, plain data, or classes of custom resources; None for the classes
            that the controllers name.
        objects: Objects that are applied next, before the managers start.
        config: A cluster that is there, such as a kube-apiserver of a test; None for an embedded server. It needs real
            time, and has neither `server` nor faults.
        server_options: Arguments of `masthead.server.run`, such as ``{"workloads": True}``.
        overrides: Options of the managers; see `masthead.RunOptions`. Probes and metrics are off by default.

    Raises:
        InvalidValueError: If `config` and `server_options` are given.
    """

    def __init__(
        self,
        *managers: Manager,
        crds: Iterable[object] | None = None,
        objects: Iterable[Object | Mapping[str, object]] = (),
        config: Config | None = None,
        server_options: Mapping[str, object] | None = None,
        **overrides: Unpack[RunOverrides],
    ) -> None:
        if config is not None and server_options:
            raise InvalidValueError("server_options are for an embedded server; leave out config")
        self._managers = managers
        self._crds = _custom_resources(managers) if crds is None else tuple(crds)
        self._objects = tuple(objects)
        self._config = config
        self._server_options = dict(server_options or {})
        self._overrides = overrides
        self._stack = AsyncExitStack()
        self._log = WriteLog()
        self._replicas: list[Replica] = []
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
        return [each for each in self._replicas if each.is_running]

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

        Declare the kind (``owns=``, ``watches=``, ``reads=``) or the finalizer, or add a `masthead.Permission`.
        """
        return list(dict.fromkeys(text for each in self._replicas for text in each.missing_permissions))

    @property
    def failures(self) -> list[str]:
        """The objects whose last reconcile has failed, and how: ``sites default/a: ValueError: no host (9 times)``.

        `settle` does not wait for a retry that is due late, nor for one that never comes after a
        `masthead.TerminalError`: assert that this is empty where every object should have been reconciled.
        """
        return [f"{key}: {error}" for each in self.replicas for key, error in each.failures().items()]

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

    async def __aexit__(self, *exc: object) -> None:
        await self._close()

    async def _open(self) -> None:
        config = self._config
        if config is None:
            clock = LoopClock()
            self._clock = clock.now
            self._shift = clock.shift
            self._server_options = {"clock": clock, "bootstrap": False, **self._server_options}
            self._stack.push_async_callback(self._stop_server)
            config = from_kubeconfig((await self._start_server()).kubeconfig())
        self._client = Client(config, user_agent=_USER_AGENT, field_manager=_USER_AGENT)
        self._stack.push_async_callback(self._client.close)
        if self._cluster is None:
            self._cluster = RemoteCluster(self._client)
        given = [*map(_definition_of, self._crds), *self._objects]
        if given:
            await self._client.apply_manifests(given, force=True)
        for manager in self._managers:
            await self.start(manager)

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
            raise RuntimeError(
                "the server's objects would be lost: keep them, with server_options={'data': path}"
            )
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
                    await replica.stop()
        finally:
            await self._stack.aclose()

    async def start(self, manager: Manager, name: str = "", **overrides: Unpack[RunOverrides]) -> Replica:
        """Run a manager; once more, if it runs already: as another replica.

        Args:
            manager: What runs.
            name: The name of the replica, and its identity in elections; made of the manager's name by default.
            overrides: Its options.

        Raises:
            MastheadError: If the manager cannot be started.
        """
        name = name or f"{manager.name}-{len(self._replicas)}"
        base: RunOverrides = {"metrics_bind": "0", "probe_bind": "0", "identity": name}
        options: RunOverrides = {**base, **self._overrides, **overrides}
        replica = Replica(name, manager, self.config, self._log, self._clock, options)
        self._replicas.append(replica)
        await replica.start()
        return replica

    # Time.

    async def advance(self, seconds: float) -> None:
        """Let time pass: whatever is due on the way runs at its time.

        Raises:
            ValueError: If time would go back.
        """
        if seconds < 0:
            raise ValueError(f"time does not go back: cannot advance by {seconds} seconds")
        await asyncio.sleep(seconds)
        await self._pause()

    def shift_clock(self, seconds: float) -> None:
        """Set the wall clock forward, or back with a negative number, as an administrator does; timers are not affected.

        Raises:
            ManagerStateError: If the cluster is not embedded.
        """
        if self._shift is None:
            raise ManagerStateError("only the clock of an embedded cluster can be set")
        self._shift(seconds)

    async def settle(self, *, within: float = 1.0, timeout: float = 600.0) -> None:  # noqa: ASYNC109 - virtual
        """Wait until nothing is left to do.

        That is so when the server is idle, every cache equals what the server has, all events are handled, no key is
        enqueued, and no reconcile is running or waits until its writes are visible. Time passes only if something waits
        for it, such as a watch that broke, or a retry that comes soon. What was requeued is for later, and a retry that is
        due later is listed in `failures`.

        Args:
            within: A reconcile that has failed is waited for if it is repeated within so many seconds.
            timeout: For how many seconds.

        Raises:
            NotSettledError: If something is left to do after `timeout` seconds, or controllers fight: one object is
                written again and again. The message says what is left, and what was written.
            RuntimeError: If a replica has ended by itself.
        """
        clock = asyncio.get_running_loop().time
        deadline = clock() + timeout
        before = self._reconciles()
        self._log.counts.clear()
        while True:
            is_idle = await self._pause()
            left = await self._left(within)
            if not left and is_idle:
                return
            self._check_fights(before)
            if clock() >= deadline:
                raise NotSettledError(self._report(f"not settled within {timeout:g} s", left))
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
            raise NotSettledError(self._report("nothing will happen any more", left))
        await asyncio.sleep(max(0.0, min(due, deadline) - loop.time()))

    async def _left(self, within: float) -> list[str]:
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
                found += [f"{replica.name}: {each}" for each in runtime.pending_work(within)]
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
        return sum(each.reconciles() for each in self.replicas)

    def _check_fights(self, before: int) -> None:
        """Find what would go on forever.

        Raises:
            NotSettledError: If there is something.
        """
        for (resource, key), count in self._log.counts.most_common(1):
            if count > _MOST_WRITES:
                last = [
                    f"{each} by {each.field_manager or each.replica}"
                    for each in self._log.about(resource, key, _SHOWN)
                ]
                raise NotSettledError(
                    self._report(f"{resource} {key} was written {count} times; the last of them:", last)
                )
        objects = sum(len(informer.indexer) for each in self.replicas for _, informer in each.caches())
        done = self._reconciles() - before
        if done > _MOST_RECONCILES + _RECONCILES_PER_OBJECT * objects:
            raise NotSettledError(
                self._report(f"there were {done} reconciles of {objects} objects, and no end", [])
            )

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
            lines += ["last writes:", *(f"  {each} ({each.replica})" for each in self.writes[-_SHOWN:])]
        return "\n".join(lines)


def _shortened(lines: list[str]) -> list[str]:
    shown = [f"  {each}" for each in lines[:_SHOWN]]
    return [*shown, f"  and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else shown


def _custom_resources(managers: Iterable[Manager]) -> tuple[type[Object], ...]:
    """The classes that are definitions, among the kinds of controllers."""
    kinds = [spec.kind for each in managers for controller in each.controllers for spec in controller.specs]
    return tuple(dict.fromkeys(kind for kind in kinds if isinstance(kind, type) and hasattr(kind, "to_crd")))


def _definition_of(given: object) -> Mapping[str, object]:
    """The definition of a custom resource, of an object, plain data, or a class that makes one.

    Raises:
        InvalidValueError: If it is nothing of that.
    """
    if isinstance(given, Mapping):
        return cast("Mapping[str, object]", given)
    if isinstance(given, type) and callable(make := getattr(given, "to_crd", None)):
        given = make()
    if isinstance(given, Object):
        return given.to_dict()
    raise InvalidValueError(
        f"{given!r} is not the definition of a custom resource: give an object, plain data, or a class",
        value=given,
    )
