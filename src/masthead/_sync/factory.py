"""Informers that a program shares: one for each resource, selection and namespace, however many ask for it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from masthead._cache.factory.factory import SharedInformerFactory as AsyncFactory
from masthead._cache.factory.factory import raise_all
from masthead._cache.informer.core import GRACE
from masthead._meta.object import Object
from masthead._sansio.backoff import Backoff
from masthead._sansio.buffer import LIMIT
from masthead._sync.client import Client
from masthead._sync.facade import behind
from masthead._sync.groups import InformerGroups
from masthead._sync.informer import PortalInformer, SharedInformer, facing
from masthead._sync.informers import Informers
from masthead.errors import ClosedError, InvalidValueError, MutationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    from masthead._cache.factory.selection import Tweak
    from masthead._cache.informer.health import Health
    from masthead._cache.store.storage import Hold
    from masthead._cache.store.transforms import Transform
    from masthead._client.options import FieldSelection, LabelSelection
    from masthead._client.read_verbs import ReadVerbs
    from masthead._meta.gvk import GroupVersionResource
    from masthead._meta.unstructured import Unstructured
    from masthead._meta.v1 import PartialObjectMetadata
    from masthead._sync.portal import Portal, Spawn
    from masthead.metrics import Metrics

__all__ = ["SharedInformerFactory"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.sync")


class _PortalFactory(AsyncFactory):
    """The factory behind the façade.

    Attributes:
        spawn: What begins a task of the portal.
    """

    spawn: Spawn

    def _make(self, source: ReadVerbs[Any] | list[ReadVerbs[Any]], **options: Any) -> PortalInformer[Any]:  # noqa: ANN401
        made: PortalInformer[Any] = PortalInformer(source, **options)
        made.spawn = self.spawn
        return made

    def check_at_end(self) -> None:
        """Look whether somebody changed objects, where that is looked for at all.

        Raises:
            MutationError: naming the objects.
        """
        errors: list[Exception] = []
        for each in self._all():
            try:
                each.check_at_end()
            except MutationError as error:
                errors.append(error)
        raise_all(errors)


class SharedInformerFactory(InformerGroups):
    """Makes informers, once each, starts and stops them.

    ::

        factory = SharedInformerFactory(client, namespace="shop")
        pods = factory.core_v1.pods
        pods.informer.add_event_handler(on_add=lambda pod: print("added", pod.key))
        with factory:
            factory.wait_for_cache_sync(timeout=30)
            pods.lister.namespace("shop").get("web")

    An informer is made when it is first asked for, as by ``factory.core_v1.pods``. What is asked for while the factory
    runs is started at once, so that nobody waits for an informer that nobody has started.

    ::

        new ──start──> running ──shutdown──> closed; what was made can still be read
    """

    _async: _PortalFactory

    def __init__(
        self,
        client: Client,
        *,
        resync: float = 0.0,
        namespace: str | Sequence[str] | None = None,
        label_selector: LabelSelection | None = None,
        field_selector: FieldSelection | None = None,
        tweak: Tweak | None = None,
        transform: Transform[Object] | None = None,
        resyncs: Mapping[type[Object] | GroupVersionResource, float] | None = None,
        hold: Hold = "lazy",
        page_size: int = 0,
        watch_list: bool = True,
        stall_after: float | None = None,
        buffer_limit: int = LIMIT,
        detect_mutations: bool | None = None,
        metrics: Metrics | None = None,
        backoff: Callable[[], Backoff] = Backoff,
    ) -> None:
        """Describe what the informers have in common. Nothing is sent before the start.

        Args:
            client: Whose cluster.
            resync: Every how many seconds handlers are told of every object again; 0 for never.
            namespace: Whose objects: those of one namespace or of several; None for all. Kinds that live in no namespace
                are not concerned.
            label_selector: Only objects with such labels, of every kind.
            field_selector: Only objects with such fields, of every kind.
            tweak: Has the last word on what is selected, kind by kind; see `masthead._cache.factory.selection`.
            transform: What is done to each object, of whatever kind, before it is kept.
            resyncs: Other periods than `resync`, by class or resource.
            hold: How objects are stored; this and what follows as for a `SharedInformer`.
            page_size: How many objects of a list to ask for at a time.
            watch_list: Whether to try watches that begin with what there is.
            stall_after: Seconds without a byte after which a watch counts as dead.
            buffer_limit: How many notices are kept for a handler that does not keep up.
            detect_mutations: Whether to find out who changes shared objects.
            metrics: Where to count.
            backoff: Makes what says how long to wait after failures.

        Raises:
            InvalidValueError: if a namespace is none, there is none in the list, or an option is senseless.
            SelectorError: if a selector is none.
            UnknownKindError: if a class in `resyncs` does not say where it is served.
        """
        portal, awaited = _unwrapped(client)
        inner = _PortalFactory(
            awaited,
            resync=resync,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            tweak=tweak,
            transform=transform,
            resyncs=resyncs,
            hold=hold,
            page_size=page_size,
            watch_list=watch_list,
            stall_after=stall_after,
            buffer_limit=buffer_limit,
            detect_mutations=detect_mutations,
            metrics=metrics,
            backoff=backoff,
        )
        inner.spawn = portal.spawn
        super().__init__(portal, inner)
        self._client = client

    def informer(
        self,
        kind: type[T],
        *,
        namespace: str | Sequence[str] | None = None,
        label_selector: LabelSelection | None = None,
        field_selector: FieldSelection | None = None,
    ) -> SharedInformer[T]:
        """The informer of a kind, by its class: one of ``masthead.api``, or your own.

        Informers of other namespaces or selectors stand side by side; who asks for the same gets the same.

        Args:
            kind: The class.
            namespace: Whose objects; None for the factory's own choice, empty for all namespaces.
            label_selector: Which objects; None for the factory's own choice, empty for all.
            field_selector: Which objects; None for the factory's own choice, empty for all.

        Raises:
            ClosedError: if it is a new one, and the factory is shut down.
            UnknownKindError: if the class does not say where its objects are served.
            InvalidValueError: if a namespace is none, or the kind lives in no namespace.
            SelectorError: if a selector is none.
        """
        found = self._async.informer(
            kind, namespace=namespace, label_selector=label_selector, field_selector=field_selector
        )
        return facing(self._portal, found)

    def informer_for(
        self, kind: type[T], constructor: Callable[[Client, float], SharedInformer[T]]
    ) -> SharedInformer[T]:
        """The informer of a kind, made in your own way if it is not there yet: the first who makes one wins.

        Everybody who then asks for the kind, with no other namespace or selector than the factory's, gets this one.

        Args:
            kind: The class.
            constructor: Is given the client and the period for resyncs. If the factory has a transform, that is set.

        Raises:
            ClosedError: if it is a new one, and the factory is shut down.
            UnknownKindError: if the class does not say where its objects are served.
            InvalidValueError: if something else than an informer is made.
            InformerStateError: if the factory's transform is to be set, and the informer has been started.
            Exception: whatever the constructor raises.
        """

        def make(_: object, resync: float) -> PortalInformer[T]:
            made = constructor(self._client, resync)
            if not isinstance(cast("object", made), SharedInformer):
                return cast("PortalInformer[T]", made)  # which is refused
            portal, inner = behind(made)
            if portal is not self._portal:
                raise InvalidValueError(
                    f"the informer for {kind.__name__} is not of the factory's client; make it from the client that the "
                    "constructor is given",
                    value=made,
                )
            return cast("PortalInformer[T]", inner)

        return facing(self._portal, self._async.informer_for(kind, make))

    def for_resource(self, resource: GroupVersionResource) -> Informers[Object]:
        """The informer and lister of any resource, for code that does not know what it is.

        Where the resource has a class, they are those that everybody shares, and the objects are of it; where it has
        none, the objects are `Unstructured`. Either way they have their metadata.

        Args:
            resource: Such as ``GroupVersionResource("apps", "v1", "deployments")``.

        Raises:
            ClosedError: if they are new, and the factory is shut down.
            InvalidValueError: if it is no resource.
        """
        return Informers(self._portal, self._async.for_resource(resource))

    def dynamic(
        self,
        what: GroupVersionResource | str,
        resource: str | None = None,
        *,
        namespace: str | Sequence[str] | None = None,
        label_selector: LabelSelection | None = None,
        field_selector: FieldSelection | None = None,
    ) -> Informers[Unstructured]:
        """The informer and lister of any resource, whose objects have no type. The options are those of `informer`.

        Args:
            what: The resource; or the API version, such as ``apps/v1``.
            resource: With an API version, the plural; nothing is looked up on the cluster.
            namespace: As for `informer`, like those that follow.
            label_selector: Which objects.
            field_selector: Which objects.

        Raises:
            ClosedError: if they are new, and the factory is shut down.
            InvalidValueError: if there is no such resource or namespace, or the resource is known to live in none.
            SelectorError: if a selector is none.
        """
        found = self._async.dynamic(
            what, resource, namespace=namespace, label_selector=label_selector, field_selector=field_selector
        )
        return Informers(self._portal, found)

    def metadata(
        self,
        what: type[Object] | GroupVersionResource | str,
        resource: str | None = None,
        *,
        namespace: str | Sequence[str] | None = None,
        label_selector: LabelSelection | None = None,
        field_selector: FieldSelection | None = None,
    ) -> Informers[PartialObjectMetadata]:
        """The informer and lister of the metadata of any resource. The arguments are those of `dynamic`, or a class.

        Raises:
            ClosedError: if they are new, and the factory is shut down.
            UnknownKindError: if the class does not say where its objects are served.
            InvalidValueError: if there is no such resource or namespace, or the resource is known to live in none.
            SelectorError: if a selector is none.
        """
        found = self._async.metadata(
            what, resource, namespace=namespace, label_selector=label_selector, field_selector=field_selector
        )
        return Informers(self._portal, found)

    @property
    def health(self) -> Mapping[str, Health]:
        """How the informers are doing, by name; of two informers with one name, the later has a number behind it."""
        result: Mapping[str, Health] = self._async.health
        return result

    def start(self) -> None:
        """Start every informer that is not started yet, and return at once. May be called again.

        Raises:
            ClosedError: if the factory is shut down.
            InformerStateError: if it was started in another event loop.
        """
        self._portal.call(self._async.start())

    def wait_for_cache_sync(self, timeout: float | None = None, *, handlers: bool = False) -> bool:
        """Wait until the first full state is in the store of every informer that was made so far.

        Args:
            timeout: For how many seconds.
            handlers: Wait also until every handler has returned from every initial add.

        Returns:
            True. Being late is an error, not a False that can be overlooked; ``if not ...`` of ported code is right.

        Raises:
            DeadlineError: if that takes longer than `timeout` seconds; says which are late, and what went wrong last.
            InformerStateError: if the factory was not started.
            ClosedError: if an informer has stopped.
        """
        result: bool = self._portal.call(self._async.wait_for_cache_sync(timeout, handlers=handlers))
        return result

    def shutdown(self, *, grace: float = GRACE) -> None:
        """Stop every informer, and wait until nothing of them is left. Doing it twice does nothing.

        Their copies can still be read. A handler may shut the factory down, and is not waited for then.

        Args:
            grace: For how many seconds calls of handlers that are under way may go on.

        Raises:
            MutationError: if it looks for changes of shared objects, and there are some.
            Exception: if an informer has ended by itself for a reason that nobody foresaw; the log has it, too.
        """
        inner: _PortalFactory = self._async
        if inner.is_called_from_handler:
            self._portal.soon(lambda: inner.stop_nowait(grace))
            return
        try:
            self._portal.call(inner.shutdown(grace=grace))
        except ClosedError:  # the client is, and what ran there has ended with it
            if not self._portal.is_forked:  # or a thread that did not come along may hold what is asked for
                inner.stop_nowait(grace)
                inner.check_at_end()

    def __repr__(self) -> str:
        return repr(self._async)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            self.shutdown()
        except MutationError as found:
            if error is None:
                raise
            _log.error("%s", found)


def _unwrapped(client: Client) -> tuple[Portal, Any]:
    """A client's portal, and what is behind its façade.

    Raises:
        InvalidValueError: if it is of the async façade, or none.
    """
    if not isinstance(cast("object", client), Client):
        raise InvalidValueError(
            f"a factory needs a masthead.Client, and was given a {type(client).__module__}.{type(client).__name__}; "
            "for an async client, use masthead.aio.SharedInformerFactory",
            value=client,
        )
    return behind(client)
