"""A running server: asked, steered and waited for, from its own event loop or from any other thread."""

from __future__ import annotations

import asyncio
import concurrent.futures
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from aiohttp import web

from masthead.errors import ConfigError, UnknownKindError
from masthead.server import catalog
from masthead.server.clock import VirtualClock
from masthead.server.cluster import Cluster
from masthead.server.controllers import Controllers
from masthead.server.faults import Faults
from masthead.server.http import Front
from masthead.server.kubeconfig import kubeconfig
from masthead.server.rest import Rest
from masthead.server.storage import Storage
from masthead.server.watching import WatchLimits

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead.meta.object import Object
    from masthead.meta.unstructured import Unstructured
    from masthead.server.http import Seen
    from masthead.server.settings import Settings
    from masthead.server.storage import Record
    from masthead.server.tls import Certificates

__all__ = ["Change", "Server"]

ResultT = TypeVar("ResultT")
ObjectT = TypeVar("ObjectT", bound="Object | Unstructured")
_COMPACT_EVERY: Final = 300.0
"""Seconds; a token or version lives at least as long, and at most twice as long."""
_STOP_WITHIN: Final = 2.0


@dataclass(frozen=True, slots=True)
class Change(Generic[ObjectT]):
    """One thing that happened to an object.

    Attributes:
        type: ``ADDED``, ``MODIFIED`` or ``DELETED``.
        version: The resourceVersion that it made.
        object: The object after it; of a deletion, as it was last.
    """

    type: str
    version: str
    object: ObjectT


class Server:
    """A running server. `masthead.server.run` makes one.

    Everything here but `quiesce` may be called from any thread.

    Attributes:
        url: Where it listens.
        token: The bearer token that lets a client in; None if everybody is let in.
        faults: What is to go wrong, and when.
    """

    def __init__(self, settings: Settings, certificates: Certificates | None) -> None:
        self.url = ""
        self.token = settings.token
        self.faults = Faults()
        self._settings = settings
        self._certificates = certificates
        self._loop = asyncio.get_running_loop()
        self._moved = asyncio.Event()
        self._storage = Storage(settings.journal(), window=settings.history)
        self._cluster = Cluster(self._storage, settings.clock, seed=settings.seed, token=settings.token)
        self._controllers = Controllers(self._cluster, self._moved.set)
        limits = WatchLimits(
            bookmark_every=settings.bookmark_every,
            timeout=settings.watch_timeout,
            backlog=settings.backlog,
            has_watch_list=settings.watch_list,
        )
        rest = Rest(self._cluster, self.faults, limits, self._moved.set)
        self._front = Front(rest, self.faults, token=settings.token, on_idle=self._moved.set)
        self._http = web.Server(self._front.handle, handler_cancellation=True, access_log=None)
        self._listener: asyncio.Server | None = None
        self._earlier = self._storage.revision

    async def start(self) -> None:
        """Begin to listen.

        Raises:
            ConfigError: The address cannot be had.
        """
        settings = self._settings
        self._cluster.add_first_namespaces()
        if settings.controllers:
            self._controllers.start()
        context = self._certificates.server_context() if self._certificates else None
        try:
            self._listener = await self._loop.create_server(
                self._http, settings.host, settings.port, ssl=context
            )
        except OSError as error:
            self._storage.close()
            problem = f"cannot listen on {settings.host}:{settings.port}: {error.strerror}"
            raise ConfigError(f"{problem}. Name another port, or none for any that is free.") from None
        port = self._listener.sockets[0].getsockname()[1]
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        self.url = f"{'https' if context else 'http'}://{host}:{port}"
        settings.clock.call_later(_COMPACT_EVERY, self._forget)

    async def stop(self) -> None:
        """End every watch, answer what is under way, and let go of the port and the file."""
        if self._listener is not None:
            self._listener.close()
        for watch in tuple(self._front.watches):
            watch.end()
        await self._http.shutdown(_STOP_WITHIN)
        self._storage.close()

    @property
    def ca(self) -> str:
        """The certificate to trust, in PEM; empty without TLS."""
        return self._certificates.authority if self._certificates else ""

    def kubeconfig(self) -> str:
        """A kubeconfig for this server, as YAML, with all that a client needs to be let in."""
        return kubeconfig(self.url, token=self.token, authority=self.ca)

    def write_kubeconfig(self, path: str | Path) -> Path:
        """Write the kubeconfig to a file that only its owner can read; returns its path."""
        target = Path(path)
        target.touch(mode=0o600)
        target.write_text(self.kubeconfig(), "utf-8")
        return target

    @property
    def revision(self) -> int:
        """The version of the last write."""
        return self._storage.revision

    @property
    def requests(self) -> list[Seen]:
        """The last 10,000 requests, oldest first."""
        return self._call(lambda: list(self._front.seen))

    def history(self, obj: ObjectT) -> list[Change[ObjectT]]:
        """Everything that happened to the object of this kind, namespace and name, as far as it is remembered.

        Raises:
            UnknownKindError: The server does not serve such objects.
        """
        gvk = obj.gvk if not hasattr(type(obj), "GVK") else type(obj).GVK
        served = next(
            (each for each in catalog.resources_in(gvk.group, gvk.version) if each.kind == gvk.kind), None
        )
        if served is None:
            raise UnknownKindError(f"the server serves no {gvk}")
        key = served.key(obj.metadata.namespace, obj.metadata.name)

        def read() -> list[tuple[str, str, bytes]]:
            records = [record for record in self._storage.table(served.table).log if record.key == key]
            return [
                (_type_of(record), str(record.revision), served.write(record.value)) for record in records
            ]

        return [Change(kind, version, type(obj).from_json(body)) for kind, version, body in self._call(read)]

    def compact(self, revision: int | None = None) -> int:
        """Forget the past up to a revision, the present one by default: versions and tokens from before expire."""
        return self._call(lambda: self._storage.compact(revision))

    def advance(self, seconds: float) -> None:
        """Move a virtual clock on; whatever falls due on the way happens.

        Raises:
            ConfigError: The server has the machine's clock.
        """
        clock = self._settings.clock
        if not isinstance(clock, VirtualClock):
            raise ConfigError("only a virtual clock can be moved: start the server with clock=VirtualClock()")
        self._call(lambda: clock.advance(seconds))

    async def quiesce(self) -> None:
        """Wait until every request is answered and every watch has been told everything; from the server's loop."""
        while not self._is_quiet():
            self._moved.clear()
            await self._moved.wait()

    def wait_until_quiet(self, timeout: float = 30.0) -> None:
        """Do what `quiesce` does, from another thread.

        Raises:
            TimeoutError: It did not come to rest in time.
        """
        waiting = asyncio.run_coroutine_threadsafe(self.quiesce(), self._loop)
        try:
            waiting.result(timeout)
        except concurrent.futures.TimeoutError:
            waiting.cancel()
            raise TimeoutError(f"the server did not come to rest within {timeout} seconds") from None

    def _is_quiet(self) -> bool:
        if self._front.in_flight or not self._controllers.is_idle:
            return False
        return all(watch.is_idle for watch in self._front.watches)

    def _forget(self) -> None:
        self._storage.compact(self._earlier)
        self._earlier = self._storage.revision
        self._settings.clock.call_later(_COMPACT_EVERY, self._forget)

    def _call(self, act: Callable[[], ResultT]) -> ResultT:
        """Do something in the loop's thread, wherever this is called from."""
        try:
            if asyncio.get_running_loop() is self._loop:
                return act()
        except RuntimeError:
            pass  # no loop runs in this thread
        done: concurrent.futures.Future[ResultT] = concurrent.futures.Future()

        def run() -> None:
            try:
                done.set_result(act())
            except BaseException as error:  # noqa: BLE001 - it is the caller's
                done.set_exception(error)

        self._loop.call_soon_threadsafe(run)
        return done.result()


def _type_of(record: Record) -> str:
    if record.is_deleted:
        return "DELETED"
    return "ADDED" if record.before is None else "MODIFIED"
