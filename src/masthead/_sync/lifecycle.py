"""How informers and factories of the async façade run on a portal, and what their blocking namesakes stand on.

::

    your thread ──start, stop, wait──> portal ──> the client's event loop: the informer, one of its tasks
         └──────indexer, lister: memory──────────────────┘   └──> one thread for each handler

An informer does not keep the portal alive: a client that is never closed is still collected once it is unreachable,
and takes its informers with it. Users hold one façade of an informer, however often they ask for it.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, cast

from masthead._cache.factory.factory import SharedInformerFactory
from masthead._cache.informer.informer import ThreadedInformer, lifecycle_of
from masthead._client.read_verbs import ReadVerbs as AsyncReadVerbs
from masthead._meta.object import Object
from masthead._sync.client import Client
from masthead._sync.facade import Facade, behind
from masthead._sync.portal import Portal
from masthead._sync.read_verbs import ReadVerbs
from masthead.errors import ArgumentError, ClosedError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine

    from masthead._cache.options import InformerOptions
    from masthead._client.client import Client as AsyncClient
    from masthead._client.listwatch import ListerWatcher, ListWatch
    from masthead._sync.portal import Spawn

__all__ = [
    "FactoryFacade",
    "InformerFacade",
    "PortalFactory",
    "PortalInformer",
    "RegistrationFacade",
    "client_of",
    "source_of",
]

T = TypeVar("T", bound=Object)


class HasHandlers(Protocol):
    """An object of the async façade that calls handlers, and ends."""

    @property
    def is_called_from_handler(self) -> bool:
        """Whether one of its handlers is the caller, which cannot wait for its own end."""
        ...


HasHandlersT = TypeVar("HasHandlersT", bound=HasHandlers)


class PortalInformer(ThreadedInformer[T]):
    """An informer that runs as a task of a portal, and so ends before the client is closed.

    Attributes:
        spawn: Starts a task of the portal.
        on_end: Is called when the informer has ended.
        facade: The façade that users hold, while they do.
    """

    spawn: Spawn
    on_end: Callable[[], None] | None = None
    facade: weakref.ref[InformerFacade[T]] | None = None

    def _spawn(self, coroutine: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = self.spawn(coroutine)
        if (on_end := self.on_end) is not None:
            task.add_done_callback(lambda _: on_end())
        return task


class PortalFactory(SharedInformerFactory):
    """A factory whose informers run as tasks of a portal.

    Attributes:
        spawn: Starts a task of the portal.
    """

    _INFORMER = PortalInformer
    spawn: Spawn

    def _make(
        self, source: AsyncReadVerbs[Object] | list[AsyncReadVerbs[Object]], options: InformerOptions[Object]
    ) -> PortalInformer[Object]:
        made = super()._make(source, options)
        assert isinstance(made, PortalInformer)
        # Before anything can start it: a factory that runs starts its new informers at once.
        made.spawn = self.spawn
        return made


class EndingFacade(Facade[HasHandlersT], Generic[HasHandlersT]):
    """A façade of something that handlers may end, too."""

    def _end(self, end: Coroutine[object, None, None], end_nowait: Callable[[], object]) -> None:
        """End it, and wait; a handler does not wait, because it would wait for itself.

        Raises:
            MutationError: If it looks for changes of shared objects, and there are some.
            Exception: If it has ended by itself because of a defect.
        """
        if self._async.is_called_from_handler:
            end.close()
            self._from_handler(end_nowait)
            return
        try:
            self._portal.call(end)
        except ClosedError:  # of the client, with which everything on its loop has ended
            if not self._portal.is_forked:  # a lock may be held there by a thread that the fork left behind
                end_nowait()
                self._after_close()

    def _from_handler(self, end_nowait: Callable[[], object]) -> None:
        """Begin the end in a handler's thread."""
        self._portal.soon(end_nowait)

    def _after_close(self) -> None:
        """Check what `end` would have checked."""


class RegistrationFacade(EndingFacade[HasHandlersT], Generic[HasHandlersT]):
    """The base of registrations."""

    def _from_handler(self, end_nowait: Callable[[], object]) -> None:
        end_nowait()  # at once: the handler must not be called again after it has removed itself


class InformerFacade(EndingFacade[PortalInformer[T]], Generic[T]):
    """The base of informers: one that has no client has a portal of its own, which ends with it."""

    _has_own_portal = False

    def __init__(self, portal: Portal | None, inner: PortalInformer[T]) -> None:
        super().__init__(portal or Portal(), inner)
        inner.spawn = self._portal.spawn
        inner.facade = weakref.ref(self)
        if portal is None:
            self._has_own_portal = True
            inner.on_end = self._portal.close_soon

    def _run(self, run: Coroutine[object, None, None]) -> None:
        """Run it until it ends.

        Raises:
            InformerStateError: If it was started before, or stopped.
        """
        try:
            self._check_startable(run)
            self._portal.call(run)
        except ClosedError:
            if not self._async.is_stopped:  # the client was closed before
                raise
        finally:
            self._close_own()

    def _start(self, start: Coroutine[object, None, None]) -> None:
        """Start it.

        Raises:
            InformerStateError: If it was started before, or stopped.
        """
        self._check_startable(start)
        try:
            self._portal.call(start)
        except BaseException:
            self._close_own()
            raise

    def _end(self, end: Coroutine[object, None, None], end_nowait: Callable[[], object]) -> None:
        is_waited_for = not self._async.is_called_from_handler
        try:
            super()._end(end, end_nowait)
        finally:
            if self._has_own_portal and is_waited_for:
                self._portal.close()

    def _after_close(self) -> None:
        lifecycle_of(self._async).check_mutations_at_end()

    def _check_startable(self, coroutine: Coroutine[object, None, None]) -> None:
        try:
            lifecycle_of(self._async).check_startable()
        except BaseException:
            coroutine.close()
            raise

    def _close_own(self) -> None:
        """Close a portal that only this informer has, unless it runs there."""
        if self._has_own_portal and not lifecycle_of(self._async).is_running:
            self._portal.close()
            self._async.stop_nowait()


class FactoryFacade(EndingFacade[PortalFactory]):
    """The base of factories."""

    _client: Client

    def __init__(self, portal: Portal, inner: PortalFactory) -> None:
        super().__init__(portal, inner)
        inner.spawn = portal.spawn

    def _after_close(self) -> None:
        self._async.check_at_end()

    def _informer_constructor(
        self, kind: type[T], constructor: Callable[[Client, float], InformerFacade[T]]
    ) -> Callable[[AsyncClient, float], PortalInformer[T]]:
        """A constructor of informers as the async factory calls it."""

        def make(_: object, resync: float) -> PortalInformer[T]:
            made = constructor(self._client, resync)
            if not isinstance(cast("object", made), InformerFacade):
                return cast("PortalInformer[T]", made)  # which the factory refuses
            portal, inner = behind(made)
            if portal is not self._portal:
                raise ArgumentError(
                    f"the informer for {kind.__name__} is not of the factory's client; make it from the client that the "
                    "constructor is given",
                    value=made,
                )
            return inner

        return make


def source_of(
    source: ReadVerbs[T] | ListWatch[T] | ListerWatcher[T] | Sequence[ReadVerbs[T]],
) -> tuple[Portal | None, AsyncReadVerbs[T] | ListWatch[T] | ListerWatcher[T] | list[AsyncReadVerbs[T]]]:
    """The source of an informer as the async façade takes it, and its portal; None for one that has no client.

    Raises:
        ArgumentError: If it is of the async façade, or of several clients.
    """
    if isinstance(source, ReadVerbs):
        return behind(source)
    given: Sequence[object] = source if isinstance(source, Sequence) else [source]
    if any(isinstance(each, AsyncReadVerbs) for each in given):
        raise ArgumentError(
            "a resource of an async client goes with masthead.aio.SharedInformer; give one of masthead.Client",
            value=source,
        )
    if not isinstance(source, Sequence):
        return None, source
    if not all(isinstance(each, ReadVerbs) for each in given):
        return None, cast("list[AsyncReadVerbs[T]]", source)  # which the informer refuses
    pairs = [behind(each) for each in source]
    if len({portal for portal, _ in pairs}) > 1:
        raise ArgumentError("one informer has one client; these resources are of several", value=source)
    return pairs[0][0] if pairs else None, [each for _, each in pairs]


def client_of(client: Client) -> tuple[Portal, AsyncClient]:
    """The client of a factory as the async façade takes it, and its portal.

    Raises:
        ArgumentError: If it is of the async façade, or no client.
    """
    if not isinstance(cast("object", client), Client):
        raise ArgumentError(
            f"a factory needs a masthead.Client, and was given a {type(client).__module__}.{type(client).__name__}; "
            "for an async client, use masthead.aio.SharedInformerFactory",
            value=client,
        )
    return behind(client)
