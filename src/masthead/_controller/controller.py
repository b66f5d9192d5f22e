"""The declaration of a controller: its kind, the changes that reconcile it, and its options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Generic, TypedDict, TypeVar

from masthead._cache.callables import check_plain
from masthead._controller.declarations import (
    ReconcileFunction,
    WatchSpec,
    check_annotations,
    check_selection,
    kind_of,
    owned_specs,
    read_specs,
    watched_specs,
)
from masthead._controller.permissions import check_permissions
from masthead._controller.predicates import predicate_of
from masthead._errors.options import explain_arguments
from masthead._meta.names import check_qualified_name
from masthead._meta.object import Object
from masthead._module import set_module
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from masthead._client.options import FieldSelection, LabelSelection
    from masthead._controller.declarations import (
        KindLike,
        Mapper,
        Owns,
        Reads,
        Reconciler,
        SelectionArguments,
        Watches,
    )
    from masthead._controller.permissions import Permission
    from masthead._controller.predicates import PredicateLike
    from masthead._controller.requests import Request
    from masthead._sansio.rate_limiters import QueueRateLimiter
    from masthead._sansio.store_indices import IndexFunc

__all__ = ["DEFAULT_TIMEOUT", "Controller", "ControllerOptions"]

T = TypeVar("T", bound=Object)

DEFAULT_TIMEOUT: Final = 300.0
"""Seconds after which a reconcile counts as hung."""
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?")


@set_module("masthead.controller")
class ControllerOptions(TypedDict, Generic[T], total=False):
    """The options of a controller; `Controller` describes them and has their defaults."""

    name: str
    owns: Iterable[KindLike | Owns[Any]]
    watches: Mapping[Any, Mapper] | Iterable[Watches[Any]]
    reads: Iterable[KindLike | Reads[Any]]
    indexers: Mapping[str, IndexFunc[T]] | None
    workers: int
    predicate: PredicateLike | None
    namespace: str | Sequence[str] | None
    label_selector: LabelSelection | None
    field_selector: FieldSelection | None
    resync: float
    timeout: float | None
    rate_limiter: Callable[[], QueueRateLimiter[Request]] | None
    field_manager: str
    finalizer: str
    ignore_own_writes: bool
    permissions: Iterable[Permission]


@set_module("masthead.controller")
class Controller(Generic[T]):
    """A declared controller; `Manager.controller` creates and registers one.

    ::

        @app.controller(Website, owns=[Deployment, Service], watches={Secret: sites_using_secret}, workers=4)
        async def reconcile(ctx: masthead.aio.ReconcileContext[Website], site: Website) -> masthead.controller.Result |
        None: ...

    The contract:

     1. An object is reconciled after every change of the object itself or of an object that maps to it, and once after
        the
        start. Changes that arrive before the reconcile begins are coalesced into one reconcile.
     2. An object is never reconciled concurrently with itself.
     3. A reconcile sees the writes of earlier reconciles of the same object.
     4. A reconcile that changes a watched object runs again until it changes nothing: once for all its writes, when the
        caches show them. With `ignore_own_writes`, it runs again only after changes of others.
     5. A reconcile that raises is retried after a backoff, with its error as a reason. After a `PermanentError` it
        waits for
        the next change, after a `TemporaryError` for the delay of the error.
     6. No change is lost if a watch breaks, a mapper or a reconcile raises, or the process stops: the next run begins
        with
        all objects.
     7. Reconciles begin when the caches show the state of the server at the start, or at the time when the lease or the
        shards were acquired. So a reconcile sees all earlier writes of other replicas.

    Args:
        function: The reconciler: a function ``(ctx)`` or ``(ctx, obj)``, or a class or object with such a method
            ``reconcile``. A coroutine function runs on the event loop, a plain one in a thread with a blocking context.
            For a deleted object it is called with None, or with the context alone, unless its annotation of the object
            excludes None.
        kind: The kind to reconcile: a class, or a resource such as ``apps/v1/deployments``.
        name: The name in logs, metrics and managed fields; the plural of the kind by default.
        owns: Kinds of owned objects; a change reconciles their owner.
        watches: Other kinds, with functions that map a changed object to the objects to reconcile.
        reads: Kinds that are only read from the cache.
        indexers: Indices of the reconciled objects, for `CacheReader.by_index`.
        workers: The number of concurrent reconciles.
        predicate: A filter for changes of the reconciled objects; see `masthead.predicates`.
        namespace: Only objects of one namespace or of several; None for the manager's namespaces.
        label_selector: Only objects with matching labels.
        field_selector: Only objects with matching fields.
        resync: Seconds between reconciles of an unchanged object; 0 for none.
        timeout: Seconds after which a reconcile is cancelled, and retried after a backoff; None for no limit. A plain
            function cannot be cancelled: the timeout is logged and counted, its object stays in flight, and an
            additional worker replaces the blocked one.
        rate_limiter: Factory for the rate limiter of failed reconciles; None for client-go's default.
        field_manager: The owner of applied fields; the name by default.
        finalizer: The finalizer of `ReconcileContext.finalize`, such as ``example.com/bucket``.
        ignore_own_writes: Whether own writes do not reconcile the object again, so that every reconcile has to complete
            its work: see `docs/operators.md#own-writes`.
        permissions: Permissions in addition to the implied ones, for ``masthead manifests``.

    Raises:
        ArgumentError: If an argument is invalid.
        NameFormatError: If the finalizer is not a qualified name.
        SelectorError: If a selector is invalid.
        UnknownKindError: If a class has no resource.
    """

    @explain_arguments
    def __init__(
        self,
        function: Callable[..., object] | type | Reconciler,
        kind: type[T] | KindLike,
        *,
        name: str = "",
        owns: Iterable[KindLike | Owns[Any]] = (),
        watches: Mapping[Any, Mapper] | Iterable[Watches[Any]] = (),
        reads: Iterable[KindLike | Reads[Any]] = (),
        indexers: Mapping[str, IndexFunc[T]] | None = None,
        workers: int = 1,
        predicate: PredicateLike | None = None,
        namespace: str | Sequence[str] | None = None,
        label_selector: LabelSelection | None = None,
        field_selector: FieldSelection | None = None,
        resync: float = 0.0,
        timeout: float | None = DEFAULT_TIMEOUT,
        rate_limiter: Callable[[], QueueRateLimiter[Request]] | None = None,
        field_manager: str = "",
        finalizer: str = "",
        ignore_own_writes: bool = False,
        permissions: Iterable[Permission] = (),
    ) -> None:
        # Checked in the declaration, so that a wrong signature fails at import and not in the first reconcile.
        self._function = ReconcileFunction.of(function)
        check_annotations(function, kind)
        selection: SelectionArguments = {
            "namespace": namespace,
            "label_selector": label_selector,
            "field_selector": field_selector,
        }
        primary = WatchSpec(
            kind_of(kind),
            "for",
            predicate=predicate_of(predicate),
            **check_selection(selection),
        )
        self._name = name or primary.resource.resource
        if not _NAME.fullmatch(self._name):
            raise ArgumentError(
                f"the name of a controller must be of lower-case letters, digits, '-' and '.', not {name!r}",
                value=name,
            )
        others = [*owned_specs(owns), *watched_specs(watches), *read_specs(reads)]
        # The reconciled kind first: `primary`, and the first informer of a `CacheReader`.
        self._specs = (primary, *others)
        self._indexers = dict(indexers or {})
        # A coroutine function would index every object under a coroutine.
        for indexer in self._indexers.values():
            check_plain("an indexer", indexer)
        self._workers = _whole_number("workers", workers)
        self._resync = _seconds("resync", resync)
        self._timeout = None if timeout is None else _seconds("timeout", timeout, positive=True)
        if rate_limiter is not None and not callable(rate_limiter):
            raise ArgumentError(
                "rate_limiter must be a function or a class that makes a rate limiter, and is of type "
                f"{type(rate_limiter).__name__}",
                value=rate_limiter,
            )
        self._rate_limiter = rate_limiter
        self._field_manager = field_manager or self._name
        if finalizer:
            check_qualified_name(finalizer)
        self._finalizer = finalizer
        self._ignore_own_writes = _flag("ignore_own_writes", ignore_own_writes)
        self._permissions = check_permissions(permissions)

    @property
    def name(self) -> str:
        """The name in logs, metrics and managed fields."""
        return self._name

    @property
    def function(self) -> ReconcileFunction:
        """The reconciler."""
        return self._function

    @property
    def specs(self) -> tuple[WatchSpec, ...]:
        """All declared kinds, the reconciled kind first."""
        return self._specs

    @property
    def primary(self) -> WatchSpec:
        """The reconciled kind."""
        return self._specs[0]

    @property
    def indexers(self) -> Mapping[str, IndexFunc[Any]]:
        """The indices of the reconciled objects."""
        return self._indexers

    @property
    def workers(self) -> int:
        """The number of concurrent reconciles."""
        return self._workers

    @property
    def resync(self) -> float:
        """Seconds between reconciles of an unchanged object; 0 for none."""
        return self._resync

    @property
    def timeout(self) -> float | None:
        """Seconds after which a reconcile is cancelled; None for no limit."""
        return self._timeout

    @property
    def field_manager(self) -> str:
        """The owner of applied fields."""
        return self._field_manager

    @property
    def finalizer(self) -> str:
        """The finalizer of `ReconcileContext.finalize`; empty if it has none."""
        return self._finalizer

    @property
    def ignore_own_writes(self) -> bool:
        """Whether own writes do not reconcile the object again."""
        return self._ignore_own_writes

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """Permissions in addition to the implied ones."""
        return self._permissions

    def make_rate_limiter(self) -> QueueRateLimiter[Request] | None:
        """Create a rate limiter for failed reconciles; None for the queue's default."""
        return None if self._rate_limiter is None else self._rate_limiter()

    def __repr__(self) -> str:
        return f"<Controller {self._name} of {self.primary.resource.group_resource}, {self._workers} workers>"


def _whole_number(name: str, value: object) -> int:
    # In Python, True is an integer.
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ArgumentError(f"{name} is {value!r}; it must be a whole number, at least 1", value=value)
    return value


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ArgumentError(f"{name} is {value!r}; it must be True or False", value=value)
    return value


def _seconds(name: str, value: object, *, positive: bool = False) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not (0 <= float(value) < float("inf")) or (positive and not value):  # type: ignore[arg-type]
        least = "more than 0" if positive else "0 or more"
        raise ArgumentError(f"{name} is {value!r}; it must be a number of seconds, {least}", value=value)
    return float(value)  # type: ignore[arg-type]
