"""The informers that a program shares: one per resource, namespace and selector."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar, cast

from masthead._cache.callables import check_plain
from masthead._cache.factory.groups import InformerGroups
from masthead._cache.factory.informers import Informers
from masthead._cache.factory.selection import (
    ListSelectors,
    apply_tweak,
    check_selectors,
    informer_key,
    namespaces_of,
    parse_resource,
    resource_of,
)
from masthead._cache.informer.informer import SharedInformer, lifecycle_of
from masthead._cache.informer.lifecycle import STOP_TIMEOUT
from masthead._cache.informer.mutation_detector import log_mutations
from masthead._cache.options import InformerOptions, options_of
from masthead._errors.facades import ASYNC_ONLY
from masthead._meta.object import Object
from masthead._meta.registry import registry
from masthead._module import set_module
from masthead.errors import (
    ArgumentError,
    ClosedError,
    DeadlineError,
    InformerStateError,
    MutationError,
    UnknownKindError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self, Unpack

    from masthead._cache.factory.selection import Form, InformerKey, Tweak
    from masthead._cache.informer.health import InformerHealth
    from masthead._cache.options import CommonInformerArguments
    from masthead._client.client import Client
    from masthead._client.options import FieldSelection, LabelSelection
    from masthead._client.read_verbs import ReadVerbs
    from masthead._meta.gvk import GroupVersionResource
    from masthead._meta.unstructured import Unstructured
    from masthead._meta.v1 import PartialObjectMetadata

__all__ = ["OnInformer", "SharedInformerFactory", "follow_informers", "server_of"]

T = TypeVar("T", bound=Object)

OnInformer: TypeAlias = "Callable[[InformerKey, SharedInformer[Any]], object]"
"""Called with each informer of a factory, before it is started by it."""


@set_module("masthead.aio")
class SharedInformerFactory(InformerGroups):
    """Creates one informer per resource, namespace and selector, and starts and stops all of them.

    ::

        factory = SharedInformerFactory(client, namespace="shop")
        pods = factory.core_v1.pods
        pods.informer.add_event_handler(on_add=lambda pod: print("added", pod.key))
        async with factory:
            await factory.wait_for_cache_sync(timeout=30)
            pods.lister.namespace("shop").get("web")

    An informer is created on first use, as by ``factory.core_v1.pods``. While the factory runs, new informers are
    started immediately, so that no one waits for an informer that never starts.

    ::

        new ──start──> running ──stop──> stopped; the stores can still be read
    """

    _INFORMER: ClassVar[type[SharedInformer[Any]]] = SharedInformer
    """The class of the informers."""

    def __init__(
        self,
        client: Client,
        *,
        namespace: str | Sequence[str] | None = None,
        label_selector: LabelSelection | None = None,
        field_selector: FieldSelection | None = None,
        tweak: Tweak | None = None,
        resyncs: Mapping[type[Object] | GroupVersionResource, float] | None = None,
        **options: Unpack[CommonInformerArguments[Object]],
    ) -> None:
        """Create a factory. Nothing is sent before the start.

        Args:
            client: The client of the informers.
            namespace: One namespace, or several; None for all. Cluster-scoped kinds ignore it.
            label_selector: Labels that objects must have, of every kind.
            field_selector: Fields that objects must have, of every kind.
            tweak: Called with each kind and its selectors; returns the selectors to use.
            resyncs: Resync periods by class or resource, instead of ``resync``.
            **options: Options of all informers, such as ``resync``, ``transform`` and ``hold``; see
                `masthead.cache.InformerOptions`.

        Raises:
            ArgumentError: If a namespace or an option is invalid, or the list of namespaces is empty.
            SelectorError: If a selector is invalid.
            UnknownKindError: If a class in `resyncs` does not declare its resource.
            TypeError: If there is no such option.
        """
        super().__init__(self.informer)
        self._client = client
        self._resyncs = {resource_of(kind): period for kind, period in (resyncs or {}).items()}
        self._namespaces = namespaces_of(namespace)
        self._selectors = check_selectors(ListSelectors(label_selector=label_selector, field_selector=field_selector))
        if tweak is not None:
            check_plain("a tweak", tweak)
        self._tweak = tweak
        self._options: InformerOptions[Any] = options_of("SharedInformerFactory()", options)
        for period in self._resyncs.values():
            # An invalid period is refused now, not when its informer is created.
            replace(self._options, resync=period)
        # Held briefly, and never while a caller's code runs: the event loop waits for it, too.
        self._lock = threading.Lock()
        self._informers: dict[InformerKey, SharedInformer[Any]] = {}
        self._followers: tuple[OnInformer, ...] = ()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False

    def informer(
        self,
        kind: type[T],
        *,
        namespace: str | Sequence[str] | None = None,
        label_selector: LabelSelection | None = None,
        field_selector: FieldSelection | None = None,
    ) -> SharedInformer[T]:
        """The informer of a kind, by its class: from ``masthead.api``, or your own.

        Equal arguments return the same informer; other namespaces or selectors have informers of their own.

        Args:
            kind: The class.
            namespace: The namespaces; None for the factory's, empty for all.
            label_selector: Labels that objects must have; None for the factory's selector, empty for all objects.
            field_selector: Fields that objects must have; None for the factory's selector, empty for all objects.

        Raises:
            ClosedError: If the informer is new, and the factory has stopped.
            UnknownKindError: If the class does not declare its resource.
            ArgumentError: If a namespace is invalid, or the kind is cluster-scoped.
            SelectorError: If a selector is invalid.
        """
        key = self._key("typed", kind, namespace, label_selector, field_selector)
        return self._get_or_create(key, lambda: self._create(key))

    def informer_for(
        self, kind: type[T], constructor: Callable[[Client, float], SharedInformer[T]]
    ) -> SharedInformer[T]:
        """The informer of a kind, created by a function if there is none yet. The first one created wins.

        It serves all later requests for the kind with the factory's namespaces and selectors.

        Args:
            kind: The class.
            constructor: Called with the client and the resync period. The factory's transform is set on its result.

        Raises:
            ClosedError: If the informer is new, and the factory has stopped.
            UnknownKindError: If the class does not declare its resource.
            ArgumentError: If the constructor does not return an informer.
            InformerStateError: If the factory has a transform, and the informer has been started.
            Exception: Any exception of the constructor.
        """
        key = self._key("typed", kind)

        def create() -> SharedInformer[T]:
            informer = constructor(self._client, self._period(key))
            if not isinstance(cast("object", informer), SharedInformer):
                raise ArgumentError(
                    f"the constructor for {kind.__name__} made a {type(informer).__name__}; it must make a "
                    "SharedInformer",
                    value=informer,
                )
            if self._options.transform is not None:
                informer.set_transform(self._options.transform)
            return informer

        return self._get_or_create(key, create)

    def for_resource(self, resource: GroupVersionResource) -> Informers[Object]:
        """The informer and lister of any resource, for generic code.

        If the resource has a class, they are those of `informer`, and the objects are of that class; otherwise the
        objects are `Unstructured`. Both have metadata.

        Args:
            resource: Such as ``GroupVersionResource("apps", "v1", "deployments")``.

        Raises:
            ClosedError: If the informer is new, and the factory has stopped.
            ArgumentError: If it is not a resource.
        """
        # differs from client-go: a resource without a class is no error.
        try:
            kind = registry.object_class(registry.kind_of(resource_of(resource)))
        except UnknownKindError:
            return cast("Informers[Object]", self.dynamic(resource))
        return Informers(self.informer(kind))

    def dynamic(
        self,
        what: GroupVersionResource | str,
        resource: str | None = None,
        *,
        namespace: str | Sequence[str] | None = None,
        label_selector: LabelSelection | None = None,
        field_selector: FieldSelection | None = None,
    ) -> Informers[Unstructured]:
        """The informer and lister of any resource, with `Unstructured` objects.

        Args:
            what: The resource; or the API version, such as ``apps/v1``.
            resource: With an API version, the plural. The cluster is not asked.
            namespace: The namespaces; None for the factory's, empty for all.
            label_selector: Labels that objects must have; None for the factory's selector.
            field_selector: Fields that objects must have; None for the factory's selector.

        Raises:
            ClosedError: If the informer is new, and the factory has stopped.
            ArgumentError: If the resource or a namespace is invalid, or the resource is known to be cluster-scoped.
            SelectorError: If a selector is invalid.
        """
        key = self._key("untyped", parse_resource(what, resource), namespace, label_selector, field_selector)
        return Informers(self._get_or_create(key, lambda: self._create(key)))

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
            ClosedError: If the informer is new, and the factory has stopped.
            UnknownKindError: If the class does not declare its resource.
            ArgumentError: If the resource or a namespace is invalid, or the resource is known to be cluster-scoped.
            SelectorError: If a selector is invalid.
        """
        key = self._key("metadata", parse_resource(what, resource), namespace, label_selector, field_selector)
        return Informers(self._get_or_create(key, lambda: self._create(key)))

    @property
    def health(self) -> Mapping[str, InformerHealth]:
        """The health of each informer, by name; a number is appended to the second of two equal names."""
        return {name: informer.health for name, informer in self._by_name().items()}

    async def start(self) -> None:
        """Start all informers that are not running yet, and return. May be called again.

        Raises:
            ClosedError: If the factory has stopped.
            InformerStateError: If the factory was started in another event loop.
        """
        loop = asyncio.get_running_loop()
        with self._lock:
            self._check_open("be started")
            if self._loop is not None and self._loop is not loop:
                raise InformerStateError(
                    "the factory was started in another event loop; a factory has one, make another"
                )
            self._loop = loop
        # Outside the lock: an informer created now sees the loop, and is started twice, which is harmless.
        for informer in self._all():
            _start(informer)

    async def wait_for_cache_sync(self, timeout: float | None = None, *, handlers: bool = False) -> bool:
        """Wait until all informers created so far have synced.

        Args:
            timeout: Seconds to wait; None for no limit.
            handlers: Whether to wait also until every handler has returned from every initial add.

        Returns:
            True. A timeout is an error, not a False that can be overlooked; ``if not ...`` of ported code is right.

        Raises:
            DeadlineError: If that takes longer than `timeout` seconds; names the late informers and their last errors.
            InformerStateError: If the factory was not started.
            ClosedError: If an informer has stopped.
        """
        # differs from client-go: a timeout is an error that names the late informers, not a false among the results.
        if self._loop is None:
            raise InformerStateError("the factory is not started, so nothing will sync; start() it first")
        try:
            async with asyncio.timeout(timeout):
                # One after the other: either way, the wait ends when the slowest has synced.
                for informer in self._all():
                    await informer.wait_for_cache_sync(handlers=handlers)
        except TimeoutError:
            late = "; ".join(_describe_late(self._by_name(), handlers=handlers))
            raise DeadlineError(f"not synced within {timeout:g} s: {late}") from None
        return True

    async def stop(self, *, timeout: float = STOP_TIMEOUT) -> None:
        """Stop all informers, and wait for their tasks and handlers to end. A second shutdown is a no-op.

        The stores can still be read. If a handler shuts the factory down, the call does not wait.

        Args:
            timeout: Seconds that running calls of handlers have to return.

        Raises:
            MutationError: If mutation detection is on, and has found some.
            Exception: If an informer has ended because of a defect, which is logged as well.
        """
        self.stop_nowait(timeout)
        errors: list[Exception] = []
        # One after the other in this task, which may be a handler's. They have all been told to stop already.
        for informer in self._all():
            try:
                await informer.stop(timeout=timeout)
            except Exception as error:  # noqa: BLE001 - raised after all have stopped
                errors.append(error)
        raise_all(errors)

    def check_at_end(self) -> None:
        """Compare the objects of all informers with mutation detection.

        Raises:
            MutationError: If some were mutated; it names them.
        """
        errors: list[Exception] = []
        for informer in self._all():
            try:
                lifecycle_of(informer).check_mutations_at_end()
            except MutationError as error:
                # Collected, so that one error names the objects of all informers.
                errors.append(error)
        raise_all(errors)

    def stop_nowait(self, timeout: float = STOP_TIMEOUT) -> None:
        """Stop all informers without waiting; on their event loop, or before the start."""
        with self._lock:
            self._is_closed = True
        for informer in self._all():
            informer.stop_nowait(timeout)

    @property
    def is_called_from_handler(self) -> bool:
        """Whether a handler of one of the informers is the caller, which cannot wait for its own end."""
        return any(informer.is_called_from_handler for informer in self._all())

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else "new" if self._loop is None else "running"
        return f"<SharedInformerFactory: {state}, {len(self._informers)} informers>"

    if not TYPE_CHECKING:
        __enter__ = __exit__ = ASYNC_ONLY

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            await self.stop()
        except MutationError as mutations:
            # It must not replace the error that the block ends with.
            if error is None:
                raise
            log_mutations(mutations)

    def _key(
        self,
        form: Form,
        kind: type[Object] | GroupVersionResource,
        namespace: str | Sequence[str] | None = None,
        label_selector: LabelSelection | None = None,
        field_selector: FieldSelection | None = None,
    ) -> InformerKey:
        defaults = self._selectors
        selectors = ListSelectors(
            label_selector=defaults.label_selector if label_selector is None else label_selector,
            field_selector=defaults.field_selector if field_selector is None else field_selector,
        )
        selectors = apply_tweak(self._tweak, kind, selectors)
        namespaces = self._namespaces if namespace is None else namespaces_of(namespace)
        return informer_key(form, kind, namespaces, selectors, is_explicit=namespace is not None)

    def _get_or_create(self, key: InformerKey, create: Callable[[], SharedInformer[Any]]) -> SharedInformer[Any]:
        with self._lock:
            existing = self._informers.get(key)
        if existing is not None:
            return existing
        self._check_open(f"make an informer for {key.name}")
        # Not under the lock, which is not reentrant: a constructor may ask this factory for another informer.
        created = create()
        with self._lock:
            # Checked again: an informer that joins after the shutdown would never be stopped.
            self._check_open(f"make an informer for {key.name}")
            # If two threads create the same informer, the first wins; the other's is never started.
            informer, loop = self._informers.setdefault(key, created), self._loop
            followers = self._followers
        if informer is created:
            for follower in followers:
                follower(key, informer)
        if informer is created and loop is not None:
            _start_on(loop, informer)
        return informer

    def _create(self, key: InformerKey) -> SharedInformer[Any]:
        namespaces: Sequence[str | None] = key.namespaces or [None]
        sources = [self._source(key, namespace) for namespace in namespaces]
        selectors = dict(key.selectors)
        options = replace(
            self._options,
            name=key.name,
            resync=self._period(key),
            label_selector=selectors.get("labelSelector"),
            field_selector=selectors.get("fieldSelector"),
            shard_selector=selectors.get("shardSelector"),
        )
        return self._make(sources[0] if len(sources) == 1 else sources, options)

    # Any: only the callers know the type of the objects.
    def _make(
        self, source: ReadVerbs[Any] | list[ReadVerbs[Any]], options: InformerOptions[Any]
    ) -> SharedInformer[Any]:
        return self._INFORMER.from_options(source, options)

    def _follow(self, follower: OnInformer) -> Callable[[], None]:
        with self._lock:
            # In one step: an informer that another thread creates now is seen once.
            self._followers = (*self._followers, follower)
            informers = list(self._informers.items())
        for key, informer in informers:
            follower(key, informer)
        return lambda: self._unfollow(follower)

    def _unfollow(self, follower: OnInformer) -> None:
        with self._lock:
            self._followers = tuple(other for other in self._followers if other is not follower)

    def _source(self, key: InformerKey, namespace: str | None) -> ReadVerbs[Any]:
        if isinstance(key.kind, type):
            return self._client.resource(key.kind, namespace)
        open_resource = self._client.dynamic if key.form == "untyped" else self._client.metadata
        return open_resource(key.kind, namespace=namespace)

    def _period(self, key: InformerKey) -> float:
        return self._resyncs.get(key.resource, self._options.resync)

    def _all(self) -> list[SharedInformer[Any]]:
        with self._lock:
            return list(self._informers.values())

    def _by_name(self) -> dict[str, SharedInformer[Any]]:
        """The informers by name. Two classes of one resource have the same name, and are numbered."""
        with self._lock:
            informers = list(self._informers.items())
        counts: Counter[str] = Counter()
        names: dict[str, SharedInformer[Any]] = {}
        for key, informer in informers:
            name = key.name
            counts[name] += 1
            names[name if counts[name] == 1 else f"{name} ({counts[name]})"] = informer
        return names

    def _check_open(self, action: str) -> None:
        if self._is_closed:
            raise ClosedError(f"the factory cannot {action} any more: it has stopped; make a new one")


def follow_informers(factory: SharedInformerFactory, follower: OnInformer) -> Callable[[], None]:
    """Call a function with each informer of a factory, now and in future; return what ends that."""
    return factory._follow(follower)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def server_of(factory: SharedInformerFactory) -> str:
    """The address of the server of a factory, without credentials."""
    return factory._client.config.server  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def raise_all(errors: Sequence[Exception]) -> None:
    """Raise the errors that informers ended with: the first that is no mutation, or all mutations as one error.

    Raises:
        MutationError: If there are only mutations; it names the objects.
        Exception: The first other error.
    """
    mutations = [error for error in errors if isinstance(error, MutationError)]
    for error in errors:
        if error not in mutations:
            raise error
    if mutations:
        keys = [key for error in mutations for key in error.keys]
        raise MutationError("; ".join(map(str, mutations)), keys=keys)


def _start(informer: SharedInformer[Any]) -> None:
    """Start an informer on the running event loop, unless it was started or stopped before."""
    with contextlib.suppress(InformerStateError):  # it is running, or its owner has stopped it
        lifecycle_of(informer).start()


def _start_on(loop: asyncio.AbstractEventLoop, informer: SharedInformer[Any]) -> None:
    """Start an informer now if this is its loop; otherwise before the loop runs the caller's next request.

    Raises:
        ClosedError: If the loop has ended.
    """
    if _running_loop() is loop:
        _start(informer)
        return
    try:
        # A loop runs the calls of one thread in order, so the caller's next request finds the informer started.
        loop.call_soon_threadsafe(_start, informer)
    except RuntimeError:
        # The loop is closed, and a factory has one loop for its whole life.
        raise ClosedError("the factory's event loop has ended, and its informers with it; make a new factory") from None


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _describe_late(informers: Mapping[str, SharedInformer[Any]], *, handlers: bool) -> list[str]:
    """A few words about each informer that has not synced."""
    texts: list[str] = []
    for name, informer in informers.items():
        health = informer.health
        behind = [handler for handler, pending in health.pending.items() if pending]
        if not informer.has_synced:
            texts.append(f"{name} ({health.last_error or 'no full state has come yet'})")
        elif handlers and behind:
            texts.append(f"{name} (its handlers {', '.join(behind)} have not processed the initial objects)")
    return texts
