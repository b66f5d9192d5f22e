"""A running server: asked, steered and waited for, from its own event loop or from any other thread."""

from __future__ import annotations

import asyncio
import concurrent.futures
import errno
import logging
import os
import socket
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from aiohttp.http_exceptions import HttpProcessingError

from masthead._server.access import AccessControl
from masthead._server.clock import VirtualClock
from masthead._server.cluster import ClusterState
from masthead._server.connection import HttpServer, abort_connection
from masthead._server.controllers.manager import ControllerManager
from masthead._server.faults import Effect, Faults
from masthead._server.files import write_private
from masthead._server.http import HttpHandler
from masthead._server.resources.catalog import Catalog
from masthead._server.storage import JournalError, Storage
from masthead._server.verbs.rest import Rest
from masthead._server.verbs.watch import WatchLimits
from masthead.errors import ClosedError, ConfigError, InvalidValueError, UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._meta.object import Object
    from masthead._server.clock import Timer
    from masthead._server.request_recorder import RecordedRequest
    from masthead._server.settings import Settings
    from masthead._server.storage import Record
    from masthead._server.tls import Certificates

__all__ = ["Change", "Server"]

ResultT = TypeVar("ResultT")
ObjectT = TypeVar("ObjectT", bound="Object")
_COMPACT_EVERY: Final = 300.0
"""Seconds; a token or version lives at least as long, and at most twice as long."""
_STOP_WITHIN: Final = 0.5
"""Seconds that answers have to get out when the server stops."""
_CONNECTIONS: Final = logging.getLogger("masthead.server.connections")
"""Where aiohttp says what went wrong."""
_TURNS_TO_ACCEPT: Final = 4
"""Turns of the loop in which a connection that has come in is accepted."""
_REST_WITHIN: Final = 30.0
_NOT_HERE: Final = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
"""How a machine says that it has no such address, though its host table does: IPv6 is often switched off."""
_ANYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Addresses that stand for all of a machine's, and one of them."""


def _is_our_fault(record: logging.LogRecord) -> bool:
    """Whether a record is of any use: of clients that speak no HTTP, or hung up, a traceback tells nothing."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError | ConnectionError))


_CONNECTIONS.addFilter(_is_our_fault)


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

    Everything here may be called from any thread, but for `start` and `stop`, which are for `run` and belong to the
    server's own event loop. Once the server has stopped, `requests`, `history` and `revision` still tell what was;
    `compact`, `advance`, `quiesce` and `wait_until_quiet` raise `ClosedError`, and a fault finds nobody to strike.

    Attributes:
        url: Where it listens.
        token: The bearer token that lets a client in; None if everybody is let in.
        faults: What is to go wrong, and when.
    """

    def __init__(self, settings: Settings, certificates: Certificates | None) -> None:
        self.url: str = ""
        self.token: str | None = settings.token
        catalog = Catalog.builtin()
        self.faults: Faults = Faults(catalog, self._release_bookmarks)
        self._settings = settings
        self._certificates = certificates
        self._loop = asyncio.get_running_loop()
        self._progress = asyncio.Event()
        self._has_stopped = False
        self._storage = Storage(
            settings.journal(), window=settings.history, most_bytes=settings.history_bytes
        )
        self._cluster = ClusterState(
            self._storage, settings.clock, catalog, seed=settings.seed, token=settings.token
        )
        self._controllers = ControllerManager(self._cluster, settings.controllers, self._progress.set)
        limits = WatchLimits(
            bookmark_every=settings.bookmark_every,
            timeout=settings.watch_timeout,
            backlog=settings.backlog,
            has_watch_list=settings.watch_list,
        )
        self._handler = HttpHandler(
            Rest(self._cluster, self.faults, limits, self._progress.set),
            self.faults,
            access=AccessControl(settings.token, settings.hosts()),
            clock=settings.clock,
            revision=lambda: self._storage.revision,
            on_idle=self._progress.set,
        )
        self._http = HttpServer(self._handler.handle, clock=settings.clock, logger=_CONNECTIONS)
        self._listeners: list[asyncio.Server] = []
        self._compaction_timer: Timer | None = None
        self._earlier = self._storage.revision

    async def start(self) -> None:
        """Begin to listen; `run` does this, in the server's own event loop.

        Raises:
            ConfigError: The address cannot be had.
        """
        settings = self._settings
        self._cluster.add_first_namespaces()
        context = self._certificates.server_context() if self._certificates else None
        try:
            sockets = _listening_sockets(settings.host, settings.port)
        except OSError as error:
            problem = f"cannot listen on {settings.host}:{settings.port}: {_why(error)}"
            raise ConfigError(f"{problem}. Name another port, or none for any that is free.") from None
        port = sockets[0].getsockname()[1]
        for each in sockets:
            self._listeners.append(await self._loop.create_server(self._http, sock=each, ssl=context))
        self._controllers.start()
        host = _ANYWHERE.get(settings.host, settings.host)
        self.url = f"{'https' if context else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"
        self._compaction_timer = settings.clock.call_later(_COMPACT_EVERY, self._compact_and_reschedule)

    async def stop(self) -> None:
        """End every watch, answer what is under way, and let go of the port, the timers and the file.

        `run` does this at the end of its block, in the server's own event loop. A second time is harmless.
        """
        if self._has_stopped:
            return
        self._has_stopped = True
        # A connection that is half accepted when the listener closes would be nobody's, and leak: so no more of them,
        # and time for those that are.
        for listener in self._listeners:
            for each in listener.sockets:
                self._loop.remove_reader(each.fileno())
        for _ in range(_TURNS_TO_ACCEPT):
            await asyncio.sleep(0)
        for listener in self._listeners:
            listener.close()
        if self._compaction_timer is not None:
            self._compaction_timer.cancel()
        self._controllers.stop()
        for watch in tuple(self._handler.watches):
            watch.end()
        transports = [each.transport for each in self._http.connections]
        self._http.pre_shutdown()  # or connections without a request would be waited for
        await self._http.shutdown(_STOP_WITHIN)
        for transport in transports:
            if transport is not None:
                abort_connection(transport)  # or one whose client does not read would stay open for ever
        await asyncio.sleep(0)
        self._storage.close()
        self._progress.set()

    def __repr__(self) -> str:
        return f"<Server {self.url or 'that does not listen yet'}{', stopped' if self._has_stopped else ''}>"

    @property
    def ca(self) -> str:
        """The certificate to trust, in PEM; empty without TLS."""
        return self._certificates.authority if self._certificates else ""

    def kubeconfig(self) -> str:
        """A kubeconfig for this server, as YAML, with all that a client needs to be let in."""
        from masthead._server.kubeconfig import (
            kubeconfig,  # and YAML with it, which few who start a server need
        )

        return kubeconfig(self.url, token=self.token, authority=self.ca)

    def write_kubeconfig(self, path: str | Path) -> Path:
        """Write the kubeconfig to a file that only its owner can read; returns its path.

        It is written beside its place and then put there, so that nobody reads half of one.

        Raises:
            ConfigError: The file cannot be written, or is a symbolic link, which could lead anywhere.
        """
        target = Path(path)
        try:
            write_private(target, self.kubeconfig())
        except OSError as error:
            problem = f"cannot write a kubeconfig to {target}: {error.strerror}"
            raise ConfigError(
                f"{problem}. Name a file in a folder that exists and that you may write."
            ) from None
        return target

    @property
    def revision(self) -> int:
        """The version of the last write."""
        return self._storage.revision

    @property
    def requests(self) -> list[RecordedRequest]:
        """The requests that came in, oldest first: the last 10,000, with the bodies of the last, 8 MiB in all.

        A request is there once all of it has come in, before it is answered. One that was refused before its body was
        read (no token, a wrong one, a foreign host) is there without its body; of those, the last 1,000 are kept, apart
        from the others. Paths, queries and headers take 16 MiB at most, of the refused 2 MiB: before that is
        exceeded, the oldest requests go.
        """
        return self._read(lambda: list(self._handler.recorder))

    def history(self, obj: ObjectT) -> list[Change[ObjectT]]:
        """Everything that happened to the object of this kind, namespace and name since the last compaction.

        One that was deleted and made anew is the same object here; the uid tells them apart.

        Raises:
            UnknownKindError: The server does not serve such objects.
            InvalidValueError: The object is of a kind that lives in namespaces, and names none.
        """
        served = self._cluster.catalog.by_kind(obj.gvk)
        if served is None:
            raise UnknownKindError(f"the server serves no {obj.gvk}")
        name, namespace = obj.metadata.name, obj.metadata.namespace
        if served.is_namespaced and not namespace:
            raise InvalidValueError(f"{served.kind} {name!r} names no namespace to look for it in", value=obj)
        key = served.key(namespace or "", name or "")

        def read() -> list[tuple[str, str, bytes]]:
            records = [record for record in self._storage.table(served.table).log if record.key == key]
            return [(_type_of(each), str(each.revision), served.write(each.value)) for each in records]

        return [Change(kind, version, type(obj).from_json(body)) for kind, version, body in self._read(read)]

    def compact(self, revision: int | None = None) -> int:
        """Forget the past up to a revision, the present one by default; returns that revision.

        Versions and continue tokens from before expire. Watches that are under way and have been told everything go
        on; one that has not is closed.

        Raises:
            ClosedError: The server has stopped.
        """
        return self._call(lambda: self._storage.compact(revision))

    def advance(self, seconds: float) -> None:
        """Move a virtual clock on; whatever falls due on the way happens, in order and each at its own time.

        What the controllers have to do on the way they do at its time, too, so that many small steps come to the
        same as a large one. What else is set in motion, such as a bookmark on its way to a client, is done once
        `quiesce` returns.

        Raises:
            ConfigError: The server has the machine's clock.
            ValueError: The time would go back.
            ClosedError: The server has stopped.
        """
        clock = self._settings.clock
        if not isinstance(clock, VirtualClock):
            raise ConfigError("only a virtual clock can be moved: start the server with clock=VirtualClock")
        self._call(lambda: clock.advance(seconds, settle=self._controllers.drain))

    async def quiesce(self, *, within: float = _REST_WITHIN) -> None:
        """Wait until the server is at rest: nothing will happen unless a client asks, or time passes.

        That is so when every request that came in whole is answered, the controllers have nothing left to do, and
        every watch was sent all that happened: handed to the network, that is; when its client reads it, only the
        client knows. A watch that a fault made silent, or that was cut off because its client did not read, has
        nothing more to be sent. One whose client does not read, and is not cut off yet, is waited for.

        Args:
            within: Seconds of real time, whatever the clock.

        Raises:
            TimeoutError: It did not come to rest in time; the message says what was waited for.
            ClosedError: The server has stopped, or did meanwhile.
        """
        self._check_running()
        if asyncio.get_running_loop() is self._loop:
            await self._rest(within)
        else:
            waiting = asyncio.run_coroutine_threadsafe(self._rest(within), self._loop)
            await asyncio.wrap_future(waiting)

    def wait_until_quiet(self, *, within: float = _REST_WITHIN) -> None:
        """Do what `quiesce` does, for code that blocks.

        Raises:
            TimeoutError: It did not come to rest in time; the message says what was waited for.
            ClosedError: The server has stopped, or did meanwhile.
            ConfigError: It is called in the server's own event loop, which it would block.
        """
        self._check_running()
        if self._is_own_thread():
            raise ConfigError("this would block the server's own event loop: await server.quiesce() instead")
        asyncio.run_coroutine_threadsafe(self._rest(within), self._loop).result()

    async def _rest(self, within: float) -> None:
        restless: list[str] = []
        try:
            async with asyncio.timeout(within):
                while restless := await self._pending_work_soon():
                    self._progress.clear()
                    await self._progress.wait()
                    self._check_running()
        except TimeoutError:
            what = "; ".join(restless)
            raise TimeoutError(f"the server did not come to rest within {within:g} seconds: {what}") from None

    async def _pending_work_soon(self) -> list[str]:
        """What keeps the server from being at rest, once it has seen what already lies in its sockets."""
        for _ in range(_TURNS_TO_ACCEPT):
            await asyncio.sleep(0)
        return self._pending_work()

    def _pending_work(self) -> list[str]:
        """What keeps the server from being at rest."""
        found = [f"{each.info} is not answered" for each in self._handler.in_flight]
        if not self._controllers.is_idle:
            found.append("the controllers have work to do")
        unread = [info for watch, info in self._handler.watches.items() if not watch.is_caught_up]
        return found + [f"the client of {info} does not take what it is sent" for info in unread]

    def _compact_and_reschedule(self) -> None:
        """Forget what was there two times ago, and come back."""
        with suppress(JournalError):  # the disk is full; perhaps it is not the next time
            self._storage.compact(self._earlier)
        self._earlier = self._storage.revision
        self._compaction_timer = self._settings.clock.call_later(_COMPACT_EVERY, self._compact_and_reschedule)

    def _release_bookmarks(self) -> None:
        def release() -> None:
            for watch, info in tuple(self._handler.watches.items()):
                if not self.faults.has_pending(info, Effect.HOLD_BOOKMARKS):
                    watch.release_bookmarks()

        with suppress(ClosedError):
            self._call(release)

    def _is_own_thread(self) -> bool:
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:  # no loop runs in this thread
            return False

    def _check_running(self) -> None:
        if self._has_stopped:
            raise ClosedError("the server has stopped: this is only for the block that it runs in")

    def _read(self, act: Callable[[], ResultT]) -> ResultT:
        """Look at something; once the server has stopped, nothing changes it any more."""
        return act() if self._has_stopped else self._call(act)

    def _call(self, act: Callable[[], ResultT]) -> ResultT:
        """Do something in the loop's thread, wherever this is called from."""
        self._check_running()
        if self._is_own_thread():
            return act()

        async def do() -> ResultT:
            return act()

        doing = asyncio.run_coroutine_threadsafe(do(), self._loop)
        try:
            return doing.result()
        except concurrent.futures.CancelledError:
            raise ClosedError("the server stopped before this was done") from None


def _listening_sockets(host: str, port: int) -> list[socket.socket]:
    """Listen on every address of a host that this machine has, on one port.

    Looking the host up is not left to the event loop: uvloop does it in threads of libuv, which the process waits for
    when it exits; in one that was forked off, where they do not exist, that is a crash.

    Args:
        host: A number or a name.
        port: The port; 0 for any that is free.

    Raises:
        OSError: if there is no such host, or the port cannot be had.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    refusal: OSError | None = None
    sockets: list[socket.socket] = []
    with ExitStack() as undo:
        for family, _, _, _, address in dict.fromkeys(found):
            chosen = sockets[0].getsockname()[1] if sockets else port
            try:
                bound = socket.create_server((address[0], chosen, *address[2:]), family=family)
            except OSError as error:
                if error.errno not in _NOT_HERE:
                    raise
                refusal = error
                continue
            sockets.append(undo.enter_context(bound))
        if not sockets:
            raise refusal or OSError(errno.EADDRNOTAVAIL, "the host has no address")
        undo.pop_all()
    return sockets


def _why(error: OSError) -> str:
    """What is wrong with an address, without the address, which asyncio puts in front."""
    if error.errno is None or isinstance(error, socket.gaierror):  # whose numbers are not the system's
        return error.strerror or str(error)
    return os.strerror(error.errno)


def _type_of(record: Record) -> str:
    if record.is_deleted:
        return "DELETED"
    return "ADDED" if record.before is None else "MODIFIED"
