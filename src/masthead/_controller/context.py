"""The context of a reconcile: its request, its object, and helpers for reads and writes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast, overload

from masthead._controller.deletion import delete_object
from masthead._controller.finalization import Finalization, check_cleanup, run_cleanup
from masthead._controller.primary_writer import (
    PrimaryWriter,
    open_resource,
    resource_client,
    target_of,
)
from masthead._controller.server_side_apply import ServerSideApply
from masthead._controller.status import status_patch
from masthead._meta.conditions import check_condition
from masthead._meta.object import Object
from masthead._meta.unstructured import Unstructured
from masthead._meta.v1 import Condition
from masthead._module import set_module
from masthead.errors import ArgumentError, StaleObjectError

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from masthead._client.client import Client
    from masthead._client.options import LabelSelection
    from masthead._controller.cache_reader import CacheReader
    from masthead._controller.controller_services import ControllerServices
    from masthead._controller.declarations import KindLike
    from masthead._controller.flight import Flight
    from masthead._controller.requests import Request
    from masthead._meta.gvk import GroupVersionResource
    from masthead._meta.model import Struct
    from masthead._meta.v1 import ConditionStatus

__all__ = ["ReconcileContext", "begin_finalize", "end_finalize", "has_finalized"]

T = TypeVar("T", bound=Object)
V = TypeVar("V")
ListOf: TypeAlias = list[V]  # the class below has a method of that name
K = TypeVar("K", bound=Object)


@set_module("masthead.aio")
class ReconcileContext(Generic[T]):
    """The request, the object and the helpers of one reconcile.

    ::

        @app.controller(Website, owns=[Deployment])
        async def reconcile(ctx: masthead.aio.ReconcileContext[Website], site: Website) -> None:
            await ctx.apply(deployment_for(site))
            await ctx.update_status({"ready": True}, conditions=[ctx.condition("Ready", True, "Deployed")])

    Reads come from the caches, and wait for earlier writes of the same reconcile to become visible.
    """

    def __init__(
        self,
        services: ControllerServices,
        reader: CacheReader,
        flight: Flight,
        obj: T | None,
        log: logging.Logger | logging.LoggerAdapter[logging.Logger],
        *,
        field_manager: str,
        finalizer: str,
        cleaned: set[tuple[str, str]],
    ) -> None:
        self._services = services
        self._reader = reader
        self._flight = flight
        self._object = obj
        self._log = log
        self._field_manager = field_manager
        self._finalizer = finalizer
        self._cleaned = cleaned

    # Created on first use, because most reconciles find nothing to change.
    @cached_property
    def _primary(self) -> PrimaryWriter[T]:
        request, kind = self._flight.request, self._reader.primary_kind
        return PrimaryWriter(
            open_resource(self._services.client, kind, request.namespace),
            request.name,
            self._object,
            self._field_manager,
            writes=self._flight.writes,
            kind=kind,
        )

    @cached_property
    def _finalization(self) -> Finalization:
        return Finalization(self._primary, self._finalizer, self._cleaned)

    @cached_property
    def _server_side_apply(self) -> ServerSideApply:
        services = self._services
        return ServerSideApply(services.client, self._reader, self._flight, self._primary, services.applied)

    @property
    def request(self) -> Request:
        """The namespace and name of the object to reconcile."""
        return self._flight.request

    @property
    def obj(self) -> T | None:
        """The cached object at the beginning of the reconcile; None if it was deleted."""
        return self._object

    @property
    def client(self) -> Client:
        """The client of the cluster. The controller observes its writes, and waits for the caches to show them."""
        return self._services.client

    @property
    def cache(self) -> CacheReader:
        """The caches. Their reads do not wait for earlier writes."""
        return self._reader

    @property
    def log(self) -> logging.Logger | logging.LoggerAdapter[logging.Logger]:
        """A logger whose records name the controller, the object and the reconcile."""
        return self._log

    @property
    def reconcile_id(self) -> str:
        """The id of this reconcile, as in the log."""
        return self._flight.id

    @property
    def attempt(self) -> int:
        """The number of failures of this object since its last success."""
        return self._flight.attempt

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons to reconcile: ``deployments.apps default/web changed``, or the error of the last attempt."""
        return tuple(self._flight.reasons)

    @property
    def now(self) -> datetime:
        """The wall-clock time in UTC; in a test environment, the environment's clock."""
        return self._services.clock()

    @overload
    async def get(self, kind: type[K], name: str, namespace: str | None = None) -> K | None: ...
    @overload
    async def get(
        self, kind: GroupVersionResource | str, name: str, namespace: str | None = None
    ) -> Unstructured | None: ...
    async def get(self, kind: KindLike, name: str, namespace: str | None = None) -> Object | None:
        """Return an object from the cache, or None. It includes earlier writes of this reconcile.

        Args:
            kind: A class or resource that the controller has declared.
            name: The name of the object.
            namespace: Its namespace; None for the request's. Ignored for a cluster-scoped kind.

        Raises:
            NotCachedError: If the controller has not declared the kind.
            DeadlineError: If the cache does not catch up.
        """
        await self._flight.wait_for_writes()
        return self._reader.get(kind, name, self._namespace_of(kind) if namespace is None else namespace)

    @overload
    async def list(
        self,
        kind: type[K],
        *,
        namespace: str | None = None,
        label_selector: LabelSelection | None = None,
    ) -> ListOf[K]: ...
    @overload
    async def list(
        self,
        kind: GroupVersionResource | str,
        *,
        namespace: str | None = None,
        label_selector: LabelSelection | None = None,
    ) -> ListOf[Unstructured]: ...
    async def list(
        self,
        kind: KindLike,
        *,
        namespace: str | None = None,
        label_selector: LabelSelection | None = None,
    ) -> Sequence[Object]:
        """List objects from the cache. The list includes earlier writes of this reconcile.

        Args:
            kind: A class or resource that the controller has declared.
            namespace: Only objects of this namespace; None for the request's, empty for all.
            label_selector: Only objects with matching labels.

        Raises:
            NotCachedError: If the controller has not declared the kind.
            SelectorError: If the selector is invalid.
            DeadlineError: If the cache does not catch up.
        """
        await self._flight.wait_for_writes()
        # None means the request's namespace; an explicit empty string means all namespaces.
        where = self._namespace_of(kind) if namespace is None else namespace
        return self._reader.list(kind, namespace=where or None, label_selector=label_selector)

    def _namespace_of(self, kind: KindLike) -> str:
        """Return the default namespace for objects of a kind."""
        return self.request.namespace if self._reader.has_namespaces(kind) else ""

    @overload
    async def owned(self, kind: type[K]) -> ListOf[K]: ...
    @overload
    async def owned(self, kind: GroupVersionResource | str) -> ListOf[Unstructured]: ...
    async def owned(self, kind: KindLike) -> Sequence[Object]:
        """List the objects of a kind that the reconciled object owns, from the cache.

        Raises:
            NotCachedError: If the controller has not declared that it owns the kind.
            DeadlineError: If the cache does not catch up.
        """
        await self._flight.wait_for_writes()
        return [] if self._object is None else self._reader.owned(kind, self._object)

    async def apply(
        self,
        obj: K | Mapping[str, object],
        *,
        owned: bool = True,
        force: bool = True,
        field_manager: str | None = None,
    ) -> K:
        """Apply an object with server-side apply, and make the reconciled object its owner.

        No request is sent if the cache proves that the same configuration has been applied already. An owned object
        that no cache shows is first read from the server. Before an object is created, gets the reconciled object as
        its controller, or is written without an owner, the server confirms the reconciled object, because the cache
        may be older than its deletion or its present spec; see `confirm`.

        Args:
            obj: The object with the fields that the controller sets; the namespace is optional. The ``stringData`` of a
                Secret is sent as ``data``.
            owned: Whether the reconciled object becomes the controller of the object, so that both are deleted
                together.
            force: Take over fields that other managers own.
            field_manager: The owner of the fields; None for the controller's field manager.

        Returns:
            The object from the server's response, or from the cache if no request was sent.

        Raises:
            ApplyConflictError: If other managers own some of the fields with other values, and not `force`.
            AlreadyControlledError: If another object controls it: use another name, or ``owned=False``.
            StaleObjectError: If the reconciled object was changed, deleted or recreated, and the cache does not show it
                yet. The reconcile ends with this error and is retried after a backoff.
            ConflictError: If other clients keep changing the object.
            ArgumentError: If the owner is in another namespace, or the object has no name.
            UnknownKindError: If the server does not serve the kind of an untyped object.
            StatusError: If the server rejects the request.
        """
        applied = await self._server_side_apply.apply(
            self._check_applicable(obj, owned=owned),
            owned=owned,
            field_manager=field_manager or self._field_manager,
            force=force,
        )
        return cast("K", applied)

    async def delete(self, obj: Object) -> None:
        """Delete an object if it still exists, and the decision to delete it rests on current objects.

        First the server confirms the reconciled object, with one read: an old spec in the cache must not delete a child
        that the current spec wants; see `confirm`. Then uid and version of a cached object are preconditions of the
        request. An object that was recreated under the same name, or has another controller by now, is not deleted. An
        object without a uid is deleted by name.

        Raises:
            StaleObjectError: If the reconciled object or the spec of `obj` has changed, and the cache does not show it
                yet. The reconcile ends with this error and is retried after a backoff.
            ConflictError: If other clients keep changing the object.
            StatusError: If the server rejects the request.
        """
        resource = resource_client(self.client, obj, await target_of(self.client, obj), obj.metadata.namespace)
        if not await delete_object(resource, obj, self._primary.confirm):
            self._log.debug("%s %s is another object now, and is not deleted", obj.kind, obj.key)

    async def confirm(self) -> bool:
        """Ask the server whether the cache is right about the reconciled object: its uid, spec and deletion.

        ::

            @app.controller(Website, finalizer="example.com/domain")
            async def reconcile(ctx: masthead.aio.ReconcileContext[Website], site: Website) -> None:
                if await ctx.finalize(lambda: print(f"cancel the domain of {site.key}")):
                    return
                if not await ctx.confirm():  # one read from the server
                    raise masthead.TemporaryError("the cache is behind", delay=1)
                print(f"buy a domain for {site.key}")

        A cache lags behind the server, far behind if its watch has fallen silent. Writes through this context are safe:
        patches and deletions name the uid, `apply` confirms the object before it creates or takes over a child, and
        `delete` before each deletion. Writes through `client`, and effects outside of the cluster, are not: confirm the
        object before anything that is expensive or cannot be undone.

        Returns:
            Whether the object still exists with the same uid and generation (without a generation: with the same
            version), and is being deleted only if `obj` is. Changes by this reconcile do not count if they
            have named the version that they replaced. If `obj` is None: whether the server has no such object either.

        Raises:
            StatusError: If the server rejects the request.
        """
        return await self._primary.confirm()

    def record(
        self,
        type: str,
        reason: str,
        message: str,
        *,
        regarding: Object | None = None,
        related: Object | None = None,
        action: str = "",
    ) -> None:
        """Record an Event. It is sent in the background, so this method never waits.

        Args:
            type: ``Normal`` or ``Warning``.
            reason: A machine-readable reason in one word, such as ``Created``.
            message: A human-readable description.
            regarding: The subject of the Event; None for the reconciled object.
            related: Another object that is involved.
            action: The machine-readable action in one word; the reason if empty.

        Raises:
            ArgumentError: If the type or the reason is invalid.
        """
        # The newest known version, because a write of this reconcile may have changed or removed the object.
        about = regarding if regarding is not None else self._primary.latest
        if about is None:
            self._log.info("no event %s about %s, which is gone: %s", reason, self.request, message)
            return
        self._services.recorder.record(about, type, reason, message, action=action or reason, related=related)

    def condition(
        self,
        type: str,
        status: bool | ConditionStatus,
        reason: str,
        message: str = "",
    ) -> Condition:
        """Create a condition for `update_status`, with the generation of the reconciled object.

        Args:
            type: The type, such as ``Ready``.
            status: True, False or ``Unknown``.
            reason: A machine-readable reason in one CamelCase word, such as ``Deployed``.
            message: A human-readable explanation.

        Raises:
            ArgumentError: If the type, the status or the reason is invalid.
        """
        # The generation of the reconciled object, and not of a later version that this reconcile has not seen.
        generation = None if self._object is None else self._object.metadata.generation
        text: ConditionStatus = ("True" if status else "False") if isinstance(status, bool) else status
        # Without this check, kinds whose definition has no constraints would store anything.
        check_condition(type, text, reason)
        return Condition(type=type, status=text, reason=reason, message=message, observed_generation=generation)

    async def update_status(
        self,
        status: Mapping[str, object] | Struct | None = None,
        *,
        conditions: Sequence[Condition] = (),
    ) -> bool:
        """Change status fields of the reconciled object. No request is sent if they have the wanted values already.

        Other fields are unchanged; None removes a field. A condition replaces the one of the same type, and its
        transition time changes only with its status. ``observedGeneration`` is set if the status has that field. After
        a conflict, the change is repeated on the newest version.

        Args:
            status: The fields by wire or Python names, or a typed object with these fields set.
            conditions: The conditions; see `condition`.

        Returns:
            Whether a request was sent; False if the object was deleted.

        Raises:
            ConflictError: If other clients keep changing the object.
            StatusError: If the server rejects the request.
            ArgumentError: If the status does not fit the kind.
        """
        generation = None if self._object is None else self._object.metadata.generation

        def change(current: Object) -> Mapping[str, object] | None:
            return status_patch(current, status, conditions, generation=generation, now=self._services.clock())

        # Without the subresource, the status is an ordinary field of the object.
        subresource = "" if self._object is None else _status_subresource(self._object)
        return await self._primary.patch(change, subresource)

    async def finalize(
        self,
        cleanup: Callable[[], object],
        *,
        finalizer: str = "",
    ) -> bool:
        """Guard the reconciled object with a finalizer, and clean up on its deletion.

        ::

            @app.controller(Website, finalizer="example.com/bucket")
            async def reconcile(ctx: masthead.aio.ReconcileContext[Website], site: Website) -> None:
                if await ctx.finalize(lambda: delete_bucket(site)):
                    return  # the object is being deleted, and the cleanup is done

        While the object is not being deleted, this adds the finalizer. Once the server has confirmed the object and its
        deletion, `cleanup` is called, in this and the following reconciles until it succeeds; then the finalizer is
        removed. If the cache shows the object with its finalizer and without a deletion, no request is sent: see
        `confirm`.

        Args:
            cleanup: Called before the object is removed; with `masthead.aio`, it may be a coroutine function.
            finalizer: The finalizer; empty for the declared finalizer of the controller.

        Returns:
            Whether the object is being deleted or has been deleted, so that there is nothing else to reconcile.

        Raises:
            ArgumentError: If neither the call nor the controller names a finalizer, `cleanup` is not a function, or it
                is a coroutine function and nothing awaits it.
            NameFormatError: If the finalizer is not a qualified name.
            StaleObjectError: If the object is to be cleaned up, and was changed in a way that the cache does not show
                yet. The reconcile ends with this error and is retried after a backoff.
            StatusError: If the server rejects a write.
            Exception: Whatever `cleanup` raises: the finalizer stays, and the reconcile is retried.
        """
        check_cleanup(cleanup)
        # Split in two, so that the blocking façade can call the cleanup in the reconciler's thread.
        is_due = await begin_finalize(self, finalizer)
        if is_due:
            await run_cleanup(cleanup)
        return await end_finalize(self, finalizer, is_cleaned=is_due)

    def _check_applicable(self, obj: Object | Mapping[str, object], *, owned: bool) -> Object:
        """Return the object to apply.

        Raises:
            ArgumentError: If it is not an object, has no name, or there is no object to own it.
            StaleObjectError: If its owner was deleted.
        """
        given = Unstructured.from_dict(obj) if isinstance(obj, Mapping) else obj
        if not isinstance(cast("object", given), Object):
            raise ArgumentError(f"apply an object or plain data, not {type(obj).__name__}", value=obj)
        if not given.metadata.name:
            raise ArgumentError(f"to apply a {given.kind or 'object'}, set metadata.name", value=given.key)
        # Checked here, because the server's error for a missing kind does not name the object.
        for key, value in (("apiVersion", given.api_version), ("kind", given.kind)):
            if not value:
                raise ArgumentError(f"to apply {given.kind or 'the object'} {given.key}, set {key}", value=given.key)
        # A write of this reconcile found the deletion: the object is only cached.
        if owned and self._object is not None and self._primary.latest is None:
            raise StaleObjectError(f"{self.request} is gone: {given.kind} {given.key} is not applied")
        if owned and self._primary.latest is None:
            raise ArgumentError(
                f"{self.request} is gone, and cannot own {given.kind} {given.key}; with owned=False it gets no owner",
                value=given.key,
            )
        return given


async def begin_finalize(context: ReconcileContext[Any], finalizer: str) -> bool:
    """Begin `ReconcileContext.finalize`, and return whether to clean up. Both façades call it on the event loop."""
    finalization = context._finalization  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    return await finalization.begin(finalizer)


async def end_finalize(context: ReconcileContext[Any], finalizer: str, *, is_cleaned: bool) -> bool:
    """End `ReconcileContext.finalize`, and return whether the object is being deleted, or was deleted."""
    finalization = context._finalization  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    return await finalization.end(finalizer, is_cleaned=is_cleaned)


def has_finalized(context: ReconcileContext[Any]) -> bool:
    """Whether a reconcile has called `ReconcileContext.finalize`."""
    # A cached property, which nothing else evaluates.
    return "_finalization" in vars(context)


def _status_subresource(obj: Object) -> str:
    """Return ``status`` if the kind has that subresource, or is unknown."""
    resource = type(obj).RESOURCE
    return "" if resource is not None and resource.subresource("status") is None else "status"
