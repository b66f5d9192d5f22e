"""Shared informers: one copy of a collection, for any number of handlers and readers.

::

    your thread ──start, stop, wait──> portal ──> the client's loop: the informer, one of its tasks
         └──────indexer, lister: memory──────────────────┘   └──> one thread for each handler

The contract is in `masthead._cache.informer.informer`. The informer does not keep the portal alive: a client that nobody closes
still goes when nobody holds it any more, and its informers go with it.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from masthead._cache.informer.core import GRACE
from masthead._cache.informer.informer import ThreadedInformer
from masthead._client.read_verbs import ReadVerbs as AsyncReading
from masthead._meta.object import Object
from masthead._sansio.backoff import Backoff
from masthead._sansio.buffer import LIMIT
from masthead._sync.arranged import Arranged
from masthead._sync.facade import Facade, behind
from masthead._sync.portal import Portal
from masthead.errors import ClosedError, InvalidValueError, MutationError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine, Mapping
    from typing import Self

    from masthead._cache.informer.informer import SharedInformer as AsyncInformer
    from masthead._cache.reflector.listwatch import ListWatch
    from masthead._cache.store.indexer import Indexer
    from masthead._cache.store.storage import Hold, Stored
    from masthead._cache.store.transforms import Transform
    from masthead._client.options import FieldSelection, LabelSelection
    from masthead._sansio.changes import Queue
    from masthead._sansio.deltafifo import KeyListerGetter
    from masthead._sansio.store import IndexFunc
    from masthead._sync.portal import Spawn
    from masthead._sync.read_verbs import ReadVerbs
    from masthead.metrics import Metrics

__all__ = ["PortalInformer", "SharedInformer", "facing"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.sync")


class PortalInformer(ThreadedInformer[T]):
    """The informer behind the façade. It runs as a task of the portal, and so ends before the client is closed.

    Attributes:
        spawn: What begins a task of the portal.
        on_end: What there is to do when it has ended.
        face: What users hold in its place, if anybody does.
    """

    spawn: Spawn
    on_end: Callable[[], None] | None = None
    face: weakref.ref[SharedInformer[T]] | None = None

    def _spawn(self, coroutine: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = self.spawn(coroutine)
        if (on_end := self.on_end) is not None:
            task.add_done_callback(lambda _: on_end())
        return task


class SharedInformer(Arranged[T]):
    """Keeps a copy of a collection, and tells handlers of every change. The module's text is its contract.

    ::

        informer = SharedInformer(client.core_v1.pods(), label_selector="app=web")
        informer.add_indexers({"node": lambda pod: [pod.spec.node_name] if pod.spec.node_name else []})
        informer.add_event_handler(on_add=lambda pod: print("added", pod.key))
        with informer:
            informer.wait_synced(timeout=30)
            informer.lister.namespace("default").get("web")

    ::

        new ──start, run──> running ──stop, cancelled, client closed──> stopped; never again

    Any number of threads may use it at the same time. Handlers are called in a thread of their own each, and may block;
    indexers, transforms and handlers of errors are called on the client's event loop, and must neither block nor call
    the client.
    """

    _async: PortalInformer[T]
    _has_own_portal = False

    def __init__(
        self,
        source: ReadVerbs[T] | ListWatch[T] | Sequence[ReadVerbs[T]],
        *,
        resync: float = 0.0,
        indexers: Mapping[str, IndexFunc[T]] | None = None,
        label_selector: LabelSelection | None = None,
        field_selector: FieldSelection | None = None,
        shard_selector: str | None = None,
        transform: Transform[T] | None = None,
        hold: Hold = "lazy",
        name: str = "",
        page_size: int = 0,
        watch_list: bool = True,
        stall_after: float | None = None,
        buffer_limit: int = LIMIT,
        detect_mutations: bool | None = None,
        metrics: Metrics | None = None,
        queue: Callable[[KeyListerGetter[Stored]], Queue[Stored]] | None = None,
        backoff: Callable[[], Backoff] = Backoff,
    ) -> None:
        """Describe what to keep. Nothing is sent before the start.

        Args:
            source: What to mirror: a resource of a client, in one namespace or in all; several, each of another
                namespace; or a `ListWatch`.
            resync: Every how many seconds handlers are told of every object again; 0 for never. Nothing is asked of the
                server for it.
            indexers: What to index the objects by, beside their namespace.
            label_selector: Only objects with such labels.
            field_selector: Only objects with such fields.
            shard_selector: Only the objects of one shard, where the server has them.
            transform: What is done to each object before it is kept; see `masthead._cache.store.transforms`.
            hold: How objects are stored: ``lazy``, decoded where one looks; ``eager``, decoded at once; ``compact``,
                compressed, and decoded whenever one looks.
            name: What logs and metrics call it; the resource by default.
            page_size: How many objects of a list to ask for at a time; 0 for what suits the server.
            watch_list: Whether to try watches that begin with what there is.
            stall_after: Seconds without a byte after which a watch counts as dead and is opened again; None for the
                client's own. Servers send something about once a minute; below that, quiet watches are opened anew
                that often, which costs little.
            buffer_limit: How many notices are kept, each by itself, for a handler that does not keep up.
            detect_mutations: Whether to find out who changes shared objects; None for what the environment variable
                MASTHEAD_MUTATION_DETECTOR says.
            metrics: Where to count; None for nowhere.
            queue: Makes the queue between list-watch and store, such as a `DeltaFIFO`; None for the ordered one.
            backoff: Makes what says how long to wait after failures.

        Raises:
            InvalidValueError: if there is nothing to mirror, or an option is senseless.
            SelectorError: if a selector is none.
            IndexConflictError: if an indexer has the name of one that is always there.
            ConfigError: if objects are to be stored in a way that needs something which is not installed.
        """
        portal, awaited = _unwrapped(source)
        inner: PortalInformer[T] = PortalInformer(
            awaited,
            resync=resync,
            indexers=indexers,
            label_selector=label_selector,
            field_selector=field_selector,
            shard_selector=shard_selector,
            transform=transform,
            hold=hold,
            name=name,
            page_size=page_size,
            watch_list=watch_list,
            stall_after=stall_after,
            buffer_limit=buffer_limit,
            detect_mutations=detect_mutations,
            metrics=metrics,
            queue=queue,
            backoff=backoff,
        )
        self._has_own_portal = portal is None
        super().__init__(portal or Portal(), inner)
        _meet(self, self._portal, inner)
        if self._has_own_portal:
            inner.on_end = self._portal.close_soon

    def run(self) -> None:
        """Keep the copy until `stop` is called, the task is cancelled, or the client is closed.

        Raises:
            InformerStateError: if it was started before, or stopped: an informer runs once.
        """
        self._async.check_startable()
        try:
            self._portal.call(self._async.run())
        except ClosedError:
            if not self._async.is_stopped:  # the client was closed before
                raise
        finally:
            self._close_own()

    def start(self) -> None:
        """Begin to keep the copy, and return at once.

        Raises:
            InformerStateError: if it was started before, or stopped: an informer runs once.
        """
        self._async.check_startable()
        try:
            self._portal.call(self._async.start())
        except BaseException:
            self._close_own()
            raise

    def stop(self, *, grace: float = GRACE) -> None:
        """End it, and wait until nothing of it is left. Stopping twice does nothing.

        What handlers have not heard is dropped. A handler may stop its informer, and is not waited for then.

        Args:
            grace: For how many seconds calls of handlers that are under way may go on.

        Raises:
            MutationError: if it looks for changes of shared objects, and there are some.
            Exception: if it has ended by itself for a reason that nobody foresaw; the log has it, too.
        """
        inner: PortalInformer[T] = self._async
        if inner.is_called_from_handler:
            self._portal.soon(lambda: inner.stop_nowait(grace))
            return
        try:
            self._portal.call(inner.stop(grace=grace))
        except ClosedError:  # the client is, and what ran there has ended with it
            if not self._portal.is_forked:  # or a thread that did not come along may hold what is asked for
                inner.stop_nowait(grace)
                inner.check_at_end()
        finally:
            if self._has_own_portal:
                self._portal.close()

    def wait_synced(self, timeout: float | None = None, *, handlers: bool = False) -> bool:
        """Wait until the first full state is in the store.

        Args:
            timeout: For how many seconds.
            handlers: Wait also until every handler has returned from every initial add.

        Returns:
            True. Being late is an error, not a False that can be overlooked; ``if not ...`` of ported code is right.

        Raises:
            DeadlineError: if that takes longer than `timeout` seconds; says what went wrong last.
            ClosedError: if the informer has stopped.
            InformerStateError: if it has not been started.
        """
        result: bool = self._portal.call(self._async.wait_synced(timeout, handlers=handlers))
        return result

    def wait_for(self, version: str | int | Object, timeout: float | None = None) -> None:
        """Wait until the copy is at least as new as a version: read your own writes.

        ::

            made = client.core_v1.pods("default").create(pod)
            informer.wait_for(made)

        Args:
            version: An object that was written, or the resource version of one, of this kind.
            timeout: For how many seconds.

        Raises:
            DeadlineError: if that takes longer than `timeout` seconds; says where it is, and what went wrong last.
            ClosedError: if the informer has stopped.
            InformerStateError: if it has not been started.
            InvalidValueError: if it is no version, or an object of another kind.
        """
        self._portal.call(self._async.wait_for(version, timeout))

    def wait_until(self, condition: Callable[[Indexer[T]], bool], timeout: float | None = None) -> None:
        """Wait until something is true of the copy. It is looked at once it has synced, and then after each change.

        ::

            client.core_v1.pods("default").delete("web")
            informer.wait_until(lambda copy: copy.get_by_key("default/web") is None)

        Args:
            condition: Is called with `indexer`, on the event loop: it must neither block nor, with the blocking client,
                call that.
            timeout: For how many seconds.

        Raises:
            DeadlineError: if that takes longer than `timeout` seconds; says what went wrong last.
            ClosedError: if the informer has stopped.
            InformerStateError: if it has not been started.
            InvalidValueError: if the condition is no plain function.
            Exception: whatever the condition raises.
        """
        self._portal.call(self._async.wait_until(condition, timeout))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            self.stop()
        except MutationError as found:
            if error is None:
                raise
            _log.error("informer %s: %s", self.name, found)

    def __repr__(self) -> str:
        return repr(self._async)

    def _close_own(self) -> None:
        """Close a portal that nobody else has, unless the informer lives there."""
        if self._has_own_portal and not self._async.is_running:
            self._portal.close()
            self._async.stop_nowait()


def facing(portal: Portal, informer: AsyncInformer[T]) -> SharedInformer[T]:
    """What users hold in place of an informer; the same one, as long as anybody holds it."""
    inner = cast("PortalInformer[T]", informer)
    found = inner.face() if inner.face is not None else None
    if found is None:
        found = cast("SharedInformer[T]", SharedInformer.__new__(SharedInformer))
        Facade.__init__(found, portal, inner)
        _meet(found, portal, inner)
    return found


def _meet(face: SharedInformer[T], portal: Portal, inner: PortalInformer[T]) -> None:
    inner.spawn = portal.spawn
    inner.face = weakref.ref(face)


def _unwrapped(
    source: ReadVerbs[T] | ListWatch[T] | Sequence[ReadVerbs[T]],
) -> tuple[Portal | None, AsyncReading[T] | ListWatch[T] | list[AsyncReading[T]]]:
    """What a source is behind the façade, and its portal; None if it has none, because it is no client's.

    Raises:
        InvalidValueError: if it is of the async façade, or of several clients.
    """
    given: list[Any] = list(source) if isinstance(source, Sequence) else [source]
    if any(isinstance(each, AsyncReading) for each in given):
        raise InvalidValueError(
            "a resource of an async client goes with masthead.aio.SharedInformer; give one of masthead.Client",
            value=source,
        )
    pairs = [behind(each) if isinstance(each, Facade) else (None, each) for each in given]
    portals = {portal for portal, _ in pairs if portal is not None}
    if len(portals) > 1:
        raise InvalidValueError("one informer has one client; these resources are of several", value=source)
    awaited = [each for _, each in pairs]
    return portals.pop() if portals else None, awaited if isinstance(source, Sequence) else awaited[0]
