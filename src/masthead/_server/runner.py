"""From settings to a running server and back: in this event loop, or in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING

from masthead._server.clock import SystemClock, VirtualClock
from masthead._server.server import Server
from masthead._server.settings import Settings, Token
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path
    from types import TracebackType

    from masthead._server.clock import Clock

__all__ = ["ServerRunner", "run", "run_alone"]


def run(  # noqa: PLR0913 - each is something that a user may want to say
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    data: str | Path | None = None,
    token: str | Token | None = Token.RANDOM,
    tls: bool = False,
    controllers: bool | Collection[str] = True,
    clock: Clock | type[Clock] | None = None,
    bookmark_every: float = 60.0,
    watch_timeout: float = 1800.0,
    watch_list: bool = True,
    history: int = 10_000,
    history_bytes: int = 64 * 1024 * 1024,
    backlog: int = 10_000,
    seed: int | None = None,
    allow_remote: bool = False,
    allowed_hosts: Sequence[str] = (),
) -> ServerRunner:
    """Run a server for the length of a block.

    ``async with run() as server`` runs it in the event loop of the block; ``with run() as server`` runs it in a thread
    of its own, for code that blocks. At the end of the block it is gone, and so is what it stored, unless ``data``
    says where to keep it. Any number of servers can run side by side; each takes a `run` of its own.

    Args:
        host: The address to listen on.
        port: The port; 0 for any that is free.
        data: A file to keep objects in, made if it is not there. Without one they live in memory.
        token: What clients must show; a random one by default, None to let everybody in.
        tls: Speak TLS, with an authority made for this run; `Server.ca` and the kubeconfig have its certificate.
        controllers: Do what a cluster's controllers would: empty and remove deleted namespaces, collect garbage, end
            pods when their grace period is over, let go of volumes that nothing uses. Without, the server behaves
            like kube-apiserver alone. (The collector also deletes objects whose ownerReferences name objects that
            are not there, as the real one does; owners of kinds that this server does not serve count as there.)
        clock: What the time is, or a class to make that of for this server alone; the machine's by default. See
            `VirtualClock`.
        bookmark_every: Seconds between a watch's bookmarks.
        watch_timeout: Seconds until a watch ends that did not say when.
        watch_list: Whether a watch may begin with the state (``sendInitialEvents``); without, it is refused.
        history: How many revisions of history to keep; those older than ten minutes go in any case.
        history_bytes: How many bytes of it to keep at most: what objects were before they changed, or were deleted.
            Watches and continue tokens from before that expire, as they do when there are too many revisions.
        backlog: How many changes may come while a watch's client does not read; after that the watch is closed.
        seed: Makes uids and generated names the same in every run.
        allow_remote: Allow a host that other machines can reach.
        allowed_hosts: Further names that the server is reached by, such as ``host.docker.internal``; ``"*"`` for any.
            Whoever shows no bearer token must address it by a name of this machine (``localhost``, ``127.0.0.1``,
            ``::1``), by `host` or by one of these, and so must web pages: or any page that somebody visits could talk
            to a server that wants no token. With `allow_remote`, numeric addresses are allowed, too.

    Raises:
        ConfigError: On entering the block: the address or the file cannot be had, a value makes no sense, another
            server runs by the same virtual clock, or the block was entered before.
    """
    chosen = {} if isinstance(token, Token) else {"token": token}
    return ServerRunner(
        Settings(
            host=host,
            port=port,
            data=data,
            tls=tls,
            controllers=controllers,
            clock=SystemClock() if clock is None else clock() if isinstance(clock, type) else clock,
            bookmark_every=bookmark_every,
            watch_timeout=watch_timeout,
            watch_list=watch_list,
            history=history,
            history_bytes=history_bytes,
            backlog=backlog,
            seed=seed,
            allow_remote=allow_remote,
            allowed_hosts=allowed_hosts,
            **chosen,
        )
    )


class ServerRunner:
    """A server that runs for the length of one block; enter it with ``async with`` or with ``with``, and once."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._was_entered = False
        self._block: AbstractAsyncContextManager[Server] | None = None
        self._thread: _ServerThread | None = None

    async def __aenter__(self) -> Server:
        self._enter_once()
        self._block = serving(self._settings)
        return await self._block.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        block, self._block = self._block, None
        if block is not None:
            await block.__aexit__(kind, error, trace)

    def __enter__(self) -> Server:
        self._enter_once()
        self._thread = _ServerThread(self._settings)
        return self._thread.start_server()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.stop_server()

    def _enter_once(self) -> None:
        if self._was_entered:
            raise ConfigError("this server was started before; call masthead.server.run() again for another")
        self._was_entered = True


@asynccontextmanager
async def serving(settings: Settings) -> AsyncGenerator[Server]:
    """Run a server in this event loop for the length of a block.

    Raises:
        ConfigError: The settings cannot be had.
    """
    from masthead._server.tls import Certificates

    settings.check()
    clock = settings.clock
    with clock.taken() if isinstance(clock, VirtualClock) else nullcontext():
        server = Server(settings, Certificates(*settings.names()) if settings.tls else None)
        try:
            await server.start()
            yield server
        finally:
            await server.stop()


def run_alone(serve: Coroutine[object, object, None]) -> None:
    """Run a server in an event loop of its own: uvloop's where that is installed, which is faster."""
    with asyncio.Runner(loop_factory=_fastest_loop()) as runner:
        runner.run(serve)


def _fastest_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


class _ServerThread:
    """Runs a server in an event loop of its own."""

    def __init__(self, settings: Settings) -> None:
        self._thread = threading.Thread(target=self._run, name="masthead-server", daemon=True)
        self._settings = settings
        self._is_up = threading.Event()
        self._server: Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._error: BaseException | None = None

    def start_server(self) -> Server:
        """Start, and wait until the server listens."""
        self._thread.start()
        self._is_up.wait()
        if self._server is None:
            self._thread.join()
            raise self._error or RuntimeError("the server did not start")
        return self._server

    def stop_server(self) -> None:
        """Stop, and wait until everything is let go of."""
        if self._thread.is_alive() and self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            run_alone(self._serve())
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
            self._error = error
        finally:
            self._is_up.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        async with serving(self._settings) as server:
            self._server = server
            self._is_up.set()
            await self._stop.wait()
