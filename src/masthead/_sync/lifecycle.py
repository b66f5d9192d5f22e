"""Informers and factories of the async façade on a portal, and the bases of their blocking namesakes.

::

    your thread ──start, stop, wait──> portal ──> the client's event loop: the informer, one of its tasks
         └──────indexer, lister: memory──────────────────┘   └──> one thread for each handler

An informer does not keep the portal alive: an unreachable client that was never closed is still collected, together
with its informers. An informer has one façade, however often users ask for it.
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
    """An object of the async façade that calls handlers and can be stopped."""

    @property
    def is_called_from_handler(self) -> bool:
        """Whether the caller is one of its handlers, which cannot wait for itself."""
        ...


HasHandlersT = TypeVar("HasHandlersT", bound=HasHandlers)


class PortalInformer(ThreadedInformer[T]):
    """An informer that runs as a task of a portal, which ends the task before it closes the client.

    Attributes:
        spawn: Starts a task of the portal.
        on_end: Called when the informer has ended.
        facade: The façade of the informer, as long as users reference it.
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
        informer = super()._make(source, options)
        assert isinstance(informer, PortalInformer)
        # A running factory starts a new informer as soon as this returns.
        informer.spawn = self.spawn
        return informer


class EndingFacade(Facade[HasHandlersT], Generic[HasHandlersT]):
    """A façade of an object that its own handlers may stop."""

    def _end(self, end: Coroutine[object, None, None], end_nowait: Callable[[], object]) -> None:
        """Stop the object and wait for its end. A handler does not wait, because it would wait for itself.

        Raises:
            MutationError: If the mutation detector found a changed object.
            Exception: If a defect had ended the object before.
        """
        if self._async.is_called_from_handler:
            end.close()
            self._from_handler(end_nowait)
            return
        try:
            self._portal.call(end)
        except ClosedError:  # a closed client has ended everything on its loop
            # After a fork, a lock may be held by a thread that does not exist in this process.
            if not self._portal.is_forked:
                end_nowait()
                self._after_close()

    def _from_handler(self, end_nowait: Callable[[], object]) -> None:
        """Begin to stop, in a handler's thread."""
        self._portal.soon(end_nowait)

    def _after_close(self) -> None:
        """Run the checks of a stop that the closed client has cut short."""


class RegistrationFacade(EndingFacade[HasHandlersT], Generic[HasHandlersT]):
    """The base of registrations."""

    def _from_handler(self, end_nowait: Callable[[], object]) -> None:
        # Not through the loop: a handler that has removed itself must not be called again.
        end_nowait()


class InformerFacade(EndingFacade[PortalInformer[T]], Generic[T]):
    """The base of informers. An informer without a client has its own portal, which closes when it ends."""

    _has_own_portal = False

    def __init__(self, portal: Portal | None, inner: PortalInformer[T]) -> None:
        super().__init__(portal or Portal(), inner)
        inner.spawn = self._portal.spawn
        inner.facade = weakref.ref(self)
        if portal is None:
            self._has_own_portal = True
            inner.on_end = self._portal.close_soon

    def _run(self, run: Coroutine[object, None, None]) -> None:
        """Run the informer until it ends.

        Raises:
            InformerStateError: If it was started before, or stopped.
        """
        try:
            self._check_startable(run)
            self._portal.call(run)
        except ClosedError:
            # Closing the client stops its informers: that is a normal end.
            if not self._async.is_stopped:
                raise
        finally:
            self._close_own()

    def _start(self, start: Coroutine[object, None, None]) -> None:
        """Start the informer.

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
        """Close the informer's own portal, unless the informer runs there."""
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
        """Adapt a constructor of blocking informers to the async factory."""

        def make(_: object, resync: float) -> PortalInformer[T]:
            facade = constructor(self._client, resync)
            if not isinstance(cast("object", facade), InformerFacade):
                return cast("PortalInformer[T]", facade)  # the factory refuses it with a better message
            portal, inner = behind(facade)
            if portal is not self._portal:
                raise ArgumentError(
                    f"the informer for {kind.__name__} is not of the factory's client; make it from the client that "
                    "the constructor is given",
                    value=facade,
                )
            return inner

        return make


def source_of(
    source: ReadVerbs[T] | ListWatch[T] | ListerWatcher[T] | Sequence[ReadVerbs[T]],
) -> tuple[Portal | None, AsyncReadVerbs[T] | ListWatch[T] | ListerWatcher[T] | list[AsyncReadVerbs[T]]]:
    """Unwrap the source of an informer; return its portal, None without a client, and the async source.

    Raises:
        ArgumentError: If the source belongs to the async façade, or to several clients.
    """
    if isinstance(source, ReadVerbs):
        return behind(source)
    resources: Sequence[object] = source if isinstance(source, Sequence) else [source]
    if any(isinstance(resource, AsyncReadVerbs) for resource in resources):
        raise ArgumentError(
            "a resource of an async client goes with masthead.aio.SharedInformer; give one of masthead.Client",
            value=source,
        )
    if not isinstance(source, Sequence):
        return None, source
    if not all(isinstance(resource, ReadVerbs) for resource in resources):
        return None, cast("list[AsyncReadVerbs[T]]", source)  # the informer refuses it with a better message
    pairs = [behind(resource) for resource in source]
    if len({portal for portal, _ in pairs}) > 1:
        raise ArgumentError("one informer has one client; these resources are of several", value=source)
    return pairs[0][0] if pairs else None, [resource for _, resource in pairs]


def client_of(client: Client) -> tuple[Portal, AsyncClient]:
    """Unwrap the client of a factory; return its portal and the async client.

    Raises:
        ArgumentError: If it is not a blocking client.
    """
    if not isinstance(cast("object", client), Client):
        raise ArgumentError(
            f"a factory needs a masthead.Client, and was given a {type(client).__module__}.{type(client).__name__}; "
            "for an async client, use masthead.aio.SharedInformerFactory",
            value=client,
        )
    return behind(client)
