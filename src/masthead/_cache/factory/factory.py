"""Informers that a program shares: one for each resource, selection and namespace, however many ask for it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from masthead._cache.callables import check_plain
from masthead._cache.factory.groups import InformerGroups
from masthead._cache.factory.informers import Informers
from masthead._cache.factory.selection import (
    ListSelectors,
    checked,
    named,
    namespaces_of,
    resource_of,
    tweaked,
    wanted,
)
from masthead._cache.informer.informer import SharedInformer, lifecycle_of
from masthead._cache.informer.lifecycle import GRACE
from masthead._cache.informer.mutation_detector import log_mutations
from masthead._cache.options import InformerOptions
from masthead._meta.object import Object
from masthead._meta.registry import registry
from masthead._module import set_module
from masthead._sansio.backoff import Backoff
from masthead._sansio.buffer import LIMIT
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
    from typing import Self

    from masthead._cache.factory.selection import Form, Tweak, Wanted
    from masthead._cache.informer.health import InformerHealth
    from masthead._cache.store.storage import Hold
    from masthead._cache.store.transforms import Transform
    from masthead._client.client import Client
    from masthead._client.options import FieldSelection, LabelSelection
    from masthead._client.read_verbs import ReadVerbs
    from masthead._meta.gvk import GroupVersionResource
    from masthead._meta.unstructured import Unstructured
    from masthead._meta.v1 import PartialObjectMetadata
    from masthead.metrics import Metrics

__all__ = ["SharedInformerFactory"]

T = TypeVar("T", bound=Object)


@set_module("masthead.aio")
class SharedInformerFactory(InformerGroups):
    """Makes informers, once each, starts and stops them.

    ::

        factory = SharedInformerFactory(client, namespace="shop")
        pods = factory.core_v1.pods
        pods.informer.add_event_handler(on_add=lambda pod: print("added", pod.key))
        async with factory:
            await factory.wait_for_cache_sync(timeout=30)
            pods.lister.namespace("shop").get("web")

    An informer is made when it is first asked for, as by ``factory.core_v1.pods``. What is asked for while the factory
    runs is started at once, so that no one waits for an informer that never starts.

    ::

        new ──start──> running ──shutdown──> closed; what was made can still be read
    """

    _INFORMER: ClassVar[type[SharedInformer[Any]]] = SharedInformer
    """The class of its informers."""

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
            resync: Seconds between resyncs, which deliver every object to the handlers again; 0 for never.
            namespace: Whose objects: those of one namespace or of several; None for all. Kinds that live in no namespace
                are not concerned.
            label_selector: Only objects with such labels, of every kind.
            field_selector: Only objects with such fields, of every kind.
            tweak: Has the last word on what is selected, kind by kind; see `masthead._cache.factory.selection`.
            transform: What is done to each object, of whatever kind, before it is kept.
            resyncs: Other periods than `resync`, by class or resource.
            hold: How objects are stored; this and what follows as for a `SharedInformer`.
            page_size: How many objects of a list to ask for at a time.
            watch_list: Whether to request states as the initial events of a watch (watch-list) before they are listed.
            stall_after: Seconds without a byte after which a watch counts as dead.
            buffer_limit: How many notifications are kept for a handler that does not keep up.
            detect_mutations: Whether to find out who changes shared objects.
            metrics: Where to count.
            backoff: Makes what says how long to wait after failures.

        Raises:
            ArgumentError: If a namespace or an option is invalid, or the list of namespaces is empty.
            SelectorError: If a selector is invalid.
            UnknownKindError: If a class in `resyncs` does not say where it is served.
        """
        super().__init__(self.informer)
        self._client = client
        self._resync = resync
        self._resyncs = {resource_of(what): period for what, period in (resyncs or {}).items()}
        self._namespaces = namespaces_of(namespace)
        self._selection = checked(ListSelectors(label_selector=label_selector, field_selector=field_selector))
        if tweak is not None:
            check_plain("a tweak", tweak)
        self._tweak = tweak
        self._transform = transform
        self._options: InformerOptions[Any] = InformerOptions(
            resync=resync,
            transform=transform,
            hold=hold,
            page_size=page_size,
            watch_list=watch_list,
            stall_after=stall_after,
            buffer_limit=buffer_limit,
            detect_mutations=detect_mutations,
            metrics=metrics,
            backoff=backoff,
        )
        for period in self._resyncs.values():
            replace(self._options, resync=period)  # which checks it
        # Held for a moment, never while a caller's code runs: the event loop waits for it, too.
        self._lock = threading.Lock()
        self._informers: dict[Wanted, SharedInformer[Any]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False

    # Which informers there are.

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
            ClosedError: If it is a new one, and the factory is shut down.
            UnknownKindError: If the class does not say where its objects are served.
            ArgumentError: If a namespace is invalid, or the kind is cluster-scoped.
            SelectorError: If a selector is invalid.
        """
        found = self._wanted("typed", kind, namespace, label_selector, field_selector)
        return self._obtain(found, lambda: self._made(found))

    def informer_for(
        self, kind: type[T], constructor: Callable[[Client, float], SharedInformer[T]]
    ) -> SharedInformer[T]:
        """The informer of a kind, made in your own way if it is not there yet: the first who makes one wins.

        Everybody who then asks for the kind, with no other namespace or selector than the factory's, gets this one.

        Args:
            kind: The class.
            constructor: Is given the client and the period for resyncs. If the factory has a transform, that is set.

        Raises:
            ClosedError: If it is a new one, and the factory is shut down.
            UnknownKindError: If the class does not say where its objects are served.
            ArgumentError: If something else than an informer is made.
            InformerStateError: If the factory's transform is to be set, and the informer has been started.
            Exception: Whatever the constructor raises.
        """
        found = self._wanted("typed", kind)

        def make() -> SharedInformer[T]:
            made = constructor(self._client, self._period(found))
            if not isinstance(cast("object", made), SharedInformer):
                raise ArgumentError(
                    f"the constructor for {kind.__name__} made a {type(made).__name__}; it must make a SharedInformer",
                    value=made,
                )
            if self._transform is not None:
                made.set_transform(cast("Transform[T]", self._transform))
            return made

        return self._obtain(found, make)

    def for_resource(self, resource: GroupVersionResource) -> Informers[Object]:
        """The informer and lister of any resource, for code that does not know what it is.

        Where the resource has a class, they are those that everybody shares, and the objects are of it; where it has
        none, the objects are `Unstructured`. Either way they have their metadata.

        Args:
            resource: Such as ``GroupVersionResource("apps", "v1", "deployments")``.

        Raises:
            ClosedError: If they are new, and the factory is shut down.
            ArgumentError: If it is no resource.
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
        """The informer and lister of any resource, whose objects have no type. The options are those of `informer`.

        Args:
            what: The resource; or the API version, such as ``apps/v1``.
            resource: With an API version, the plural; nothing is looked up on the cluster.
            namespace: As for `informer`, like those that follow.
            label_selector: Which objects.
            field_selector: Which objects.

        Raises:
            ClosedError: If they are new, and the factory is shut down.
            ArgumentError: If there is no such resource or namespace, or the resource is known to live in none.
            SelectorError: If a selector is invalid.
        """
        found = self._wanted("untyped", named(what, resource), namespace, label_selector, field_selector)
        return Informers(self._obtain(found, lambda: self._made(found)))

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
            ClosedError: If they are new, and the factory is shut down.
            UnknownKindError: If the class does not say where its objects are served.
            ArgumentError: If there is no such resource or namespace, or the resource is known to live in none.
            SelectorError: If a selector is invalid.
        """
        found = self._wanted("metadata", named(what, resource), namespace, label_selector, field_selector)
        return Informers(self._obtain(found, lambda: self._made(found)))

    @property
    def health(self) -> Mapping[str, InformerHealth]:
        """How the informers are doing, by name; of two informers with one name, the later has a number behind it."""
        return {name: each.health for name, each in self._named().items()}

    # Their life.

    async def start(self) -> None:
        """Start every informer that is not started yet, and return at once. May be called again.

        Raises:
            ClosedError: If the factory is shut down.
            InformerStateError: If it was started in another event loop.
        """
        loop = asyncio.get_running_loop()
        with self._lock:
            self._check_open("be started")
            if self._loop is not None and self._loop is not loop:
                raise InformerStateError(
                    "the factory was started in another event loop; a factory has one, make another"
                )
            self._loop = loop
        # Outside the lock: an informer that is made meanwhile sees the loop, and may begin twice,
        # which does no harm.
        for each in self._all():
            _begin(each)

    async def wait_for_cache_sync(self, timeout: float | None = None, *, handlers: bool = False) -> bool:
        """Wait until the first full state is in the store of every informer that was made so far.

        Args:
            timeout: For how many seconds.
            handlers: Wait also until every handler has returned from every initial add.

        Returns:
            True. Being late is an error, not a False that can be overlooked; ``if not ...`` of ported code is right.

        Raises:
            DeadlineError: If that takes longer than `timeout` seconds; says which are late, and what went wrong last.
            InformerStateError: If the factory was not started.
            ClosedError: If an informer has stopped.
        """
        # differs from client-go: late ones are an error that names them, not a false among the results.
        if self._loop is None:
            raise InformerStateError("the factory is not started, so nothing will sync; start() it first")
        try:
            async with asyncio.timeout(timeout):
                # One after the other: either way, the wait ends when the slowest has synced.
                for each in self._all():
                    await each.wait_synced(handlers=handlers)
        except TimeoutError:
            late = "; ".join(_late_ones(self._named(), handlers=handlers))
            raise DeadlineError(f"not synced within {timeout:g} s: {late}") from None
        return True

    async def shutdown(self, *, grace: float = GRACE) -> None:
        """Stop every informer, and wait until nothing of them is left. Doing it twice does nothing.

        Their copies can still be read. A handler may shut the factory down, and is not waited for then.

        Args:
            grace: For how many seconds calls of handlers that are under way may go on.

        Raises:
            MutationError: If it looks for changes of shared objects, and there are some.
            Exception: If an informer has ended by itself because of a defect, which is logged as well.
        """
        self.stop_nowait(grace)
        errors: list[Exception] = []
        # One after the other, and each in this task, which may be a handler's; they all end at the same time.
        for each in self._all():
            try:
                await each.stop(grace=grace)
            except Exception as error:  # noqa: BLE001 - first the others
                errors.append(error)
        raise_all(errors)

    def check_at_end(self) -> None:
        """Check whether shared objects were changed, in the informers that look for that.

        Raises:
            MutationError: Naming the objects.
        """
        errors: list[Exception] = []
        for each in self._all():
            try:
                lifecycle_of(each).check_mutations_at_end()
            except MutationError as error:
                # Collected, so that one error names the objects of all informers.
                errors.append(error)
        raise_all(errors)

    def stop_nowait(self, grace: float = GRACE) -> None:
        """Stop every informer, and wait for nothing; on their own loop, or before the start."""
        with self._lock:
            self._is_closed = True
        for each in self._all():
            each.stop_nowait(grace)

    @property
    def is_called_from_handler(self) -> bool:
        """Whether a handler of one of the informers asks, which cannot wait for its end."""
        return any(each.is_called_from_handler for each in self._all())

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else "new" if self._loop is None else "running"
        return f"<SharedInformerFactory: {state}, {len(self._informers)} informers>"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            await self.shutdown()
        except MutationError as found:
            # It must not replace the error that the block ends with.
            if error is None:
                raise
            log_mutations(found)

    # Inside.

    def _wanted(
        self,
        form: Form,
        what: type[Object] | GroupVersionResource,
        namespace: str | Sequence[str] | None = None,
        label_selector: LabelSelection | None = None,
        field_selector: FieldSelection | None = None,
    ) -> Wanted:
        own = self._selection
        selection = ListSelectors(
            label_selector=own.label_selector if label_selector is None else label_selector,
            field_selector=own.field_selector if field_selector is None else field_selector,
        )
        selection = tweaked(self._tweak, what, selection)
        namespaces = self._namespaces if namespace is None else namespaces_of(namespace)
        return wanted(form, what, namespaces, selection, is_explicit=namespace is not None)

    def _obtain(self, found: Wanted, make: Callable[[], SharedInformer[Any]]) -> SharedInformer[Any]:
        with self._lock:
            there = self._informers.get(found)
        if there is not None:
            return there
        self._check_open(f"make an informer for {found.name}")
        # Not under the lock, which is not reentrant: a constructor may ask this factory for another informer.
        made = make()
        with self._lock:
            # Checked again: an informer that joins after shutdown would never be stopped.
            self._check_open(f"make an informer for {found.name}")
            # Of two threads that make the same one, the first wins; the other's is never started.
            there, loop = self._informers.setdefault(found, made), self._loop
        if there is made and loop is not None:
            _begin_on(loop, made)
        return there

    def _made(self, found: Wanted) -> SharedInformer[Any]:
        namespaces: Sequence[str | None] = found.namespaces or [None]
        sources = [self._source(found, namespace) for namespace in namespaces]
        selectors = dict(found.selectors)
        options = replace(
            self._options,
            name=found.name,
            resync=self._period(found),
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

    def _source(self, found: Wanted, namespace: str | None) -> ReadVerbs[Any]:
        if isinstance(found.what, type):
            return self._client.resource(found.what, namespace)
        open_resource = self._client.dynamic if found.form == "untyped" else self._client.metadata
        return open_resource(found.what, namespace=namespace)

    def _period(self, found: Wanted) -> float:
        return self._resyncs.get(found.resource, self._resync)

    def _all(self) -> list[SharedInformer[Any]]:
        with self._lock:
            return list(self._informers.values())

    def _named(self) -> dict[str, SharedInformer[Any]]:
        """The informers by name. Two classes of one resource share theirs, and are numbered."""
        with self._lock:
            there = list(self._informers.items())
        counts: Counter[str] = Counter()
        names: dict[str, SharedInformer[Any]] = {}
        for found, each in there:
            name = found.name
            counts[name] += 1
            names[name if counts[name] == 1 else f"{name} ({counts[name]})"] = each
        return names

    def _check_open(self, what: str) -> None:
        if self._is_closed:
            raise ClosedError(f"the factory cannot {what} any more: it is shut down; make a new one")


def raise_all(errors: Sequence[Exception]) -> None:
    """Raise what informers ended with: all that was changed as one error, or something worse.

    Raises:
        MutationError: naming the objects.
        Exception: the first that is something else.
    """
    changed = [error for error in errors if isinstance(error, MutationError)]
    for error in errors:
        if error not in changed:
            raise error
    if changed:
        keys = [key for error in changed for key in error.keys]
        raise MutationError("; ".join(map(str, changed)), keys=keys)


def _begin(informer: SharedInformer[Any]) -> None:
    """Begin, on the loop that it shall belong to, unless it has begun."""
    with contextlib.suppress(InformerStateError):  # it is running, or its owner has stopped it
        lifecycle_of(informer).start()


def _begin_on(loop: asyncio.AbstractEventLoop, informer: SharedInformer[Any]) -> None:
    """Begin at once if this is the loop; from anywhere else, before whatever is asked of the loop next.

    Raises:
        ClosedError: If the loop has ended.
    """
    if _running_loop() is loop:
        _begin(informer)
        return
    try:
        # Calls that one thread hands to a loop keep their order, so whatever it asks next finds the informer
        # begun.
        loop.call_soon_threadsafe(_begin, informer)
    except RuntimeError:
        # The loop is closed. A factory has one loop for its whole life, so there is no other to try.
        raise ClosedError("the factory's event loop has ended, and its informers with it; make a new factory") from None


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _late_ones(informers: Mapping[str, SharedInformer[Any]], *, handlers: bool) -> list[str]:
    """Which informers have not synced, and why, each in a few words."""
    found: list[str] = []
    for name, each in informers.items():
        health = each.health
        behind = [handler for handler, pending in health.pending.items() if pending]
        if not each.has_synced:
            found.append(f"{name} ({health.last_error or 'no full state has come yet'})")
        elif handlers and behind:
            found.append(f"{name} (its handlers {', '.join(behind)} have not processed the initial objects)")
    return found
