"""Runs an environment in a thread, for blocking tests; virtual time passes only during their calls."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from typing import TYPE_CHECKING, Generic, TypeVar

import masthead
from masthead.testing._environment import patience_of
from masthead.testing._eventually import EXPECTED_ERRORS
from masthead.testing.virtual_time import VirtualLoop

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Self

    from masthead import Client
    from masthead.testing._environment import Environment

__all__ = ["EnvironmentFacade", "EnvironmentThread", "ThreadFacade"]

AsyncT_co = TypeVar("AsyncT_co", covariant=True)
T = TypeVar("T")


class EnvironmentThread:
    """The thread and event loop of an environment.

    Args:
        environment: The environment to enter there.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._leave: asyncio.Event | None = None
        self._error: BaseException | None = None
        self._ended: concurrent.futures.Future[None] = concurrent.futures.Future()

    @property
    def was_started(self) -> bool:
        """Whether the thread was started, whether or not it has ended."""
        return self._thread is not None

    def start(self) -> None:
        """Start the thread, and enter the environment.

        Raises:
            BaseException: Whatever entering raises.
        """
        # The caller gets the error of a failed start.
        entered: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._thread = threading.Thread(target=self._run, args=(entered,), name="masthead-testing", daemon=True)
        self._thread.start()
        entered.result()

    def stop(self, error: BaseException | None) -> None:
        """Leave the environment with the error of the test, and wait for the thread.

        Raises:
            BaseException: Whatever leaving raises.
        """
        self._error = error
        if self._loop is not None and self._leave is not None:
            self._loop.call_soon_threadsafe(self._leave.set)
        if self._thread is not None:
            self._thread.join()
            self._ended.result()

    def call(self, coroutine: Coroutine[object, None, T]) -> T:
        """Run a coroutine in the loop, and let virtual time pass.

        Raises:
            RuntimeError: If the environment is not entered.
            BaseException: Whatever the coroutine raises.
        """
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

    def on_loop(self, function: Callable[[], T]) -> T:
        """Call a function in the loop, without letting virtual time pass.

        Raises:
            BaseException: Whatever the function raises.
        """
        # Tests read `writes` and `failures` after they have left the environment, too; no other thread runs then.
        if self._loop is None or self._loop.is_closed():
            return function()

        async def call() -> T:
            return function()

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result()

    def _run(self, entered: concurrent.futures.Future[None]) -> None:
        factory = VirtualLoop if self._environment.is_embedded else asyncio.new_event_loop
        try:
            with asyncio.Runner(loop_factory=factory) as runner:
                runner.run(self._serve(entered))
        except BaseException as error:  # noqa: BLE001 - raised in the thread of the test
            # Only one call of the test raises the error: `start`, or else `stop`.
            if not entered.done():
                entered.set_exception(error)
                self._ended.set_result(None)
            else:
                self._ended.set_exception(error)
        else:
            self._ended.set_result(None)

    async def _serve(self, entered: concurrent.futures.Future[None]) -> None:
        leave = self._leave = asyncio.Event()
        environment = await self._environment.__aenter__()
        # After the entry: calls before it would run in a half-open environment.
        self._loop = asyncio.get_running_loop()
        self._hold()
        try:
            entered.set_result(None)
            await leave.wait()
        finally:
            self._release()
            # The error of the test is passed on, because it is not raised in this thread.
            error = self._error
            await environment.__aexit__(type(error), error, None)

    def _hold(self) -> None:
        if isinstance(self._loop, VirtualLoop):
            self._loop.hold()

    def _release(self) -> None:
        if isinstance(self._loop, VirtualLoop):
            self._loop.release()


class ThreadFacade(Generic[AsyncT_co]):
    """Calls an object of an environment in its thread, and waits for the result."""

    _async: AsyncT_co

    def __init__(self, portal: EnvironmentThread, inner: AsyncT_co) -> None:
        self._portal = portal
        self._async = inner

    def _on_loop(self, function: Callable[[], T]) -> T:
        return self._portal.on_loop(function)


class EnvironmentFacade(ThreadFacade["Environment"]):
    """The base of the blocking environment: enters the async one, and has a blocking client."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(EnvironmentThread(environment), environment)
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        """A blocking client for the test itself, whose writes are not recorded.

        Raises:
            RuntimeError: If the environment is not entered.
        """
        if self._client is None:
            raise RuntimeError("enter the environment first: with BlockingEnvironment(...) as env")
        return self._client

    def eventually(self, step: Callable[[], T], *, timeout: float = 60.0) -> T:
        """Repeat a step until it succeeds, as work proceeds and virtual time passes; return its result.

        Args:
            step: A function. It is repeated after an AssertionError, and after errors of this package, such as
                `masthead.NotFoundError`.
            timeout: Seconds of virtual time.

        Raises:
            EventuallyError: If the step still fails after the time. The message lists the remaining work.
            NotIdleError: If time does not pass.
            Exception: Any other error of the step.
        """
        patience = self._on_loop(lambda: patience_of(self._async, timeout))
        while True:
            try:
                return step()
            except EXPECTED_ERRORS as error:
                self._portal.call(patience.wait(error))

    def __enter__(self) -> Self:
        if self._portal.was_started:
            raise RuntimeError(
                "an environment can be entered once; the fixture kube_environment has entered it: write "
                "env = kube_environment(...), without with"
            )
        try:
            self._portal.start()
            self._client = masthead.Client(self._async.config, user_agent="masthead-testing")
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._client is not None:
            self._client.close()
        self._portal.stop(error)
