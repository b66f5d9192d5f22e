"""The environment of blocking tests: the async one, in a thread, whose time stands still between its calls."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from typing import TYPE_CHECKING, TypeVar

import masthead
from masthead._module import set_module
from masthead.testing._environment import Environment
from masthead.testing.virtual_time import VirtualLoop

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping
    from typing import Self, Unpack

    from masthead import Client, Manager
    from masthead._config.model import Config
    from masthead._controller.options import RunOverrides
    from masthead._meta.object import Object
    from masthead.testing._replica import Replica
    from masthead.testing._writes import Write
    from masthead_server.server import Server

__all__ = ["BlockingEnvironment", "BlockingReplica"]

T = TypeVar("T")


@set_module("masthead.testing")
class BlockingEnvironment:
    """Runs managers against an embedded server, for blocking tests. See `Environment`, whose arguments it takes.

    ::

        from masthead.api.core.v1 import ConfigMap, Secret
        from masthead.testing import BlockingEnvironment

        app = masthead.Manager("copies")

        @app.controller(Secret, owns=[ConfigMap])
        def reconcile(ctx: masthead.ReconcileContext[Secret], secret: Secret) -> None:
            ctx.apply(ConfigMap.new(secret.metadata.name))

        def test_a_secret_gets_a_config_map() -> None:
            with BlockingEnvironment(app) as env:
                env.client.core_v1.secrets("default").create(Secret.new("a"))
                env.wait_for_idle()
                assert env.writes == ["apply configmaps default/a"]
                env.advance(3600)  # takes no time

    Server and managers run in a thread, in virtual time: it passes only in `wait_for_idle` and `advance`. With a `config`, time is
    real.
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
        self._is_virtual = config is None
        self._environment = Environment(
            *managers,
            crds=crds,
            objects=objects,
            config=config,
            server_options=server_options,
            detect_mutations=detect_mutations,
            **overrides,
        )
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._leave: asyncio.Event | None = None
        self._client: Client | None = None
        self._error: BaseException | None = None
        self._ended: concurrent.futures.Future[None] = concurrent.futures.Future()

    @property
    def server(self) -> Server:
        """The embedded server: its faults, requests and history.

        Raises:
            RuntimeError: If the environment is not entered, or has another server.
        """
        return self._environment.server

    @property
    def client(self) -> Client:
        """A blocking client for the test itself, whose writes are not recorded.

        Raises:
            RuntimeError: If the environment is not entered.
        """
        if self._client is None:
            raise RuntimeError("enter the environment first: with BlockingEnvironment(...) as env")
        return self._client

    @property
    def config(self) -> Config:
        """The configuration of clients."""
        return self._environment.config

    @property
    def writes(self) -> list[Write]:
        """The write requests of all replicas since the start or the last `clear`; see `Environment.writes`."""
        return self._do(lambda: self._environment.writes)

    @property
    def events(self) -> list[str]:
        """The Events that replicas have created since, such as ``Normal Deployed default/web: the site is up``."""
        return self._do(lambda: self._environment.events)

    @property
    def missing_permissions(self) -> list[str]:
        """What replicas have requested, and the rules of ``masthead manifests`` do not allow."""
        return self._do(lambda: self._environment.missing_permissions)

    @property
    def failures(self) -> list[str]:
        """What failed when it was last called, and how; see `Environment.failures`."""
        return self._do(lambda: self._environment.failures)

    @property
    def now(self) -> float:
        """The seconds of the environment's clock."""
        return self._do(lambda: self._environment.now)

    def clear(self) -> None:
        """Forget what was written until now."""
        self._do(self._environment.clear)

    def start(
        self, manager: Manager | Callable[[], Manager], name: str = "", **overrides: Unpack[RunOverrides]
    ) -> BlockingReplica:
        """Run a manager, as a replica of its own. See `Environment.start`.

        Raises:
            ManagerStateError: If the manager has run in a replica that has ended.
            MastheadError: If the manager cannot be started.
        """
        return BlockingReplica(self._call(self._environment.start(manager, name, **overrides)), self._call)

    def advance(self, seconds: float) -> None:
        """Let time pass: whatever is due on the way runs at its time.

        Raises:
            ValueError: If time would go back.
            NotIdleError: If something runs again and again, so that time hardly passes.
        """
        self._call(self._environment.advance(seconds))

    def wait_for_idle(self, *, retries_within: float = 1.0, timeout: float = 600.0) -> None:
        """Wait until nothing is left to do. See `Environment.wait_for_idle`.

        Raises:
            NotIdleError: If something is left to do after `timeout` seconds.
            RuntimeError: If a replica has ended by itself.
        """
        self._call(self._environment.wait_for_idle(retries_within=retries_within, timeout=timeout))

    # Its life.

    def __enter__(self) -> Self:
        entered: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._thread = threading.Thread(target=self._run, args=(entered,), name="masthead-testing", daemon=True)
        self._thread.start()
        try:
            entered.result()
            self._client = masthead.Client(self.config, user_agent="masthead-testing")
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._error = error
        if self._client is not None:
            self._client.close()
        if self._loop is not None and self._leave is not None:
            self._loop.call_soon_threadsafe(self._leave.set)
        if self._thread is not None:
            self._thread.join()
            self._ended.result()

    def _run(self, entered: concurrent.futures.Future[None]) -> None:
        factory = VirtualLoop if self._is_virtual else asyncio.new_event_loop
        try:
            with asyncio.Runner(loop_factory=factory) as runner:
                runner.run(self._live(entered))
        except BaseException as error:  # noqa: BLE001 - raised in the thread of the test
            if not entered.done():
                entered.set_exception(error)
                self._ended.set_result(None)
            else:
                self._ended.set_exception(error)
        else:
            self._ended.set_result(None)

    async def _live(self, entered: concurrent.futures.Future[None]) -> None:
        leave = self._leave = asyncio.Event()
        environment = await self._environment.__aenter__()
        self._loop = asyncio.get_running_loop()
        self._hold()
        try:
            entered.set_result(None)
            await leave.wait()
        finally:
            self._release()
            # With the error of the test, which is not raised in this thread.
            error = self._error
            await environment.__aexit__(type(error), error, None)

    def _hold(self) -> None:
        if isinstance(self._loop, VirtualLoop):
            self._loop.hold()

    def _release(self) -> None:
        if isinstance(self._loop, VirtualLoop):
            self._loop.release()

    def _call(self, coroutine: Coroutine[object, None, T]) -> T:
        """Run a coroutine in the loop, and let time pass meanwhile."""
        if self._loop is None:
            coroutine.close()
            raise RuntimeError("enter the environment first: with BlockingEnvironment(...) as env")

        async def run() -> T:
            self._release()
            try:
                return await coroutine
            finally:
                self._hold()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result()

    def _do(self, act: Callable[[], T]) -> T:
        """Call a function in the loop; at the end, when that is over, here."""
        if self._loop is None or self._loop.is_closed():
            return act()

        async def do() -> T:
            return act()

        return asyncio.run_coroutine_threadsafe(do(), self._loop).result()


@set_module("masthead.testing")
class BlockingReplica:
    """One run of a manager in a blocking environment; see `Replica`."""

    def __init__(self, replica: Replica, call: Callable[[Coroutine[object, None, None]], None]) -> None:
        self._replica = replica
        self._run = call

    @property
    def name(self) -> str:
        """Its name, and its identity in elections."""
        return self._replica.name

    @property
    def is_running(self) -> bool:
        """Whether it has neither stopped nor crashed."""
        return self._replica.is_running

    @property
    def is_leading(self) -> bool:
        """Whether its controllers run."""
        return self._replica.is_leading

    def stop(self) -> None:
        """Stop it gracefully, as SIGTERM does: reconciles in flight are finished, and its lease is released.

        Raises:
            Exception: Whatever ended it before.
        """
        self._run(self._replica.stop())

    def crash(self) -> None:
        """Kill it: from now on it sends nothing, and nothing is finished or released."""
        self._run(self._replica.crash())
