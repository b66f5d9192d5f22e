"""The context of a reconcile: what it is about, and the helpers that every controller needs."""

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

__all__ = ["ReconcileContext", "begin_finalize", "end_finalize"]

T = TypeVar("T", bound=Object)
V = TypeVar("V")
ListOf: TypeAlias = list[V]  # the class below has a method of that name
K = TypeVar("K", bound=Object)


@set_module("masthead.aio")
class ReconcileContext(Generic[T]):
    """What a reconcile is about, and what it needs.

    ::

        @app.controller(Website, owns=[Deployment])
        async def reconcile(ctx: masthead.aio.ReconcileContext[Website], site: Website) -> None:
            await ctx.apply(deployment_for(site))
            await ctx.update_status({"ready": True}, conditions=[ctx.condition("Ready", True, "Deployed")])

    It belongs to one reconcile. Reads come from the caches and wait for the writes that this reconcile has made.
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

    # Made when they are first needed: most reconciles find nothing to change.

    @cached_property
    def _primary(self) -> PrimaryWriter[T]:
        request = self._flight.request
        resource = open_resource(self._services.client, self._reader.primary_kind, request.namespace)
        return PrimaryWriter(resource, request.name, self._object, self._field_manager)

    @cached_property
    def _finalization(self) -> Finalization:
        return Finalization(self._primary, self._finalizer, self._cleaned)

    @cached_property
    def _server_side_apply(self) -> ServerSideApply:
        services = self._services
        return ServerSideApply(services.client, self._reader, self._flight, self._primary, services.applied)

    @property
    def request(self) -> Request:
        """The name of the object to reconcile."""
        return self._flight.request

    @property
    def obj(self) -> T | None:
        """The object as the cache had it when the reconcile began; None if it is gone."""
        return self._object

    @property
    def client(self) -> Client:
        """The client of the cluster. The controller knows the writes that are made with it, and waits for them."""
        return self._services.client

    @property
    def cache(self) -> CacheReader:
        """The caches, without waiting for one's own writes."""
        return self._reader

    @property
    def log(self) -> logging.Logger | logging.LoggerAdapter[logging.Logger]:
        """A logger; its lines name the controller, the object and the reconcile."""
        return self._log

    @property
    def reconcile_id(self) -> str:
        """The id of this reconcile, as in the log."""
        return self._flight.id

    @property
    def attempt(self) -> int:
        """How often the reconcile of this object has failed since it last succeeded."""
        return self._flight.attempt

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it runs, for logs: such as ``deployments.apps default/web changed``, or the error of the last attempt."""
        return tuple(self._flight.reasons)

    @property
    def now(self) -> datetime:
        """The wall clock, in UTC: for what is due at a time. In a test environment it is the environment's."""
        return self._services.clock()

    # Reads.

    @overload
    async def get(self, kind: type[K], name: str, namespace: str | None = None) -> K | None: ...
    @overload
    async def get(
        self, kind: GroupVersionResource | str, name: str, namespace: str | None = None
    ) -> Unstructured | None: ...
    async def get(self, kind: KindLike, name: str, namespace: str | None = None) -> Object | None:
        """Return an object from the cache, or None; never older than what this reconcile has written.

        Args:
            kind: The class, or the resource, which the controller has declared.
            name: Its name.
            namespace: Its namespace; None for the one of the request, unless the kind is cluster-scoped.

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
        """List objects from the cache; never older than what this reconcile has written.

        Args:
            kind: The class, or the resource, which the controller has declared.
            namespace: Only those of a namespace; None for the one of the request, unless the kind is cluster-scoped; empty
                for all.
            label_selector: Only those with such labels.

        Raises:
            NotCachedError: If the controller has not declared the kind.
            SelectorError: If the selector is invalid.
            DeadlineError: If the cache does not catch up.
        """
        await self._flight.wait_for_writes()
        where = self._namespace_of(kind) if namespace is None else namespace
        return self._reader.list(kind, namespace=where or None, label_selector=label_selector)

    def _namespace_of(self, kind: KindLike) -> str:
        """The namespace in which objects of a kind are looked for by default."""
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

    # Writes.

    async def apply(
        self,
        obj: K | Mapping[str, object],
        *,
        owned: bool = True,
        force: bool = True,
        field_manager: str | None = None,
    ) -> K:
        """Apply an object with server-side apply; the reconciled object becomes its owner.

        Nothing is sent if the cache shows that the object has been applied like this already, in whatever form it is passed.
        If no cache has the kind, an object that is to be owned is read from the server first. Before the reconciled object
        becomes the controller of an object, the server confirms that it still exists: the cache may be older than its deletion.

        Args:
            obj: The object, with the fields that the controller decides; its namespace may be left out. The ``stringData`` of a
                Secret is sent as ``data``.
            owned: Whether the reconciled object becomes its controller, so that it is deleted with it.
            force: Take over fields that other managers own.
            field_manager: Who owns the fields; None for the controller.

        Returns:
            The object as the server has it; from the cache if nothing was sent.

        Raises:
            ApplyConflictError: If other managers own some of the fields with other values, and not `force`.
            AlreadyControlledError: If another object controls it: give it another name, or no owner.
            StaleObjectError: If the reconciled object is gone, or another one has its name. The reconcile ends with it, and is
                repeated after a backoff.
            ConflictError: If others keep writing the object.
            ArgumentError: If the owner is in another namespace, or the object has no name.
            UnknownKindError: If the server does not serve the kind of an untyped object.
            StatusError: If the server refuses it.
        """
        given = self._checked(obj, owned=owned)
        applied = await self._server_side_apply.apply(
            given,
            owned=owned,
            field_manager=field_manager or self._field_manager,
            force=force,
        )
        return cast("K", applied)

    async def delete(self, obj: Object) -> None:
        """Delete an object, if it still exists; one of the same name that was created since is left alone.

        An object without a uid is deleted by its name, after the server has confirmed the reconciled object. A child that has
        got another controller since it was cached is left alone, too.

        Raises:
            StaleObjectError: If the cache is wrong about the reconciled object, and the child may belong to another one of that
                name. The reconcile ends with it, and is repeated after a backoff.
            ConflictError: If others keep writing the object.
            StatusError: If the server refuses it.
        """
        resource = resource_client(self.client, obj, await target_of(self.client, obj), obj.metadata.namespace)
        if not await delete_object(resource, obj, self._object, self._primary.confirm):
            self._log.debug("%s %s is another object now, and is not deleted", obj.kind, obj.key)

    async def confirm(self) -> bool:
        """Ask the server whether the cache is right about the reconciled object.

        ::

            @app.controller(Website, finalizer="example.com/domain")
            async def reconcile(ctx: masthead.aio.ReconcileContext[Website], site: Website) -> None:
                if await ctx.finalize(lambda: print(f"cancel the domain of {site.key}")):
                    return
                if await ctx.confirm():  # otherwise it is gone, and the cache will show that
                    print(f"buy a domain for {site.key}")

        A cache is always a little behind, and a watch that has fallen silent leaves it far behind. What a reconcile writes with
        this context is safe: patches and deletions name the uid, and `apply` confirms the owner of a new child. What it does
        outside of the cluster, or with `client`, is not: ask before what is expensive or cannot be undone.

        Returns:
            Whether the object still exists, with the same uid, even if it is being deleted by now. If the cache does not have it,
            and so `obj` is None: whether it is gone.

        Raises:
            StatusError: If the server refuses to tell.
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
        """Record an event. Never waits: events are sent in the background.

        Args:
            type: ``Normal`` or ``Warning``.
            reason: Why, in one word for programs: ``Created``.
            message: What happened, for people.
            regarding: The object that it is about; None for the reconciled one.
            related: Another object that is involved.
            action: What was done, in one word for programs; the reason if empty.

        Raises:
            ArgumentError: If the type or the reason is invalid.
        """
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
        """Make a condition for `update_status`, with the generation of the object that was reconciled.

        Args:
            type: Such as ``Ready``.
            status: True or False, or ``Unknown``.
            reason: Why, in one word for programs.
            message: Why, for people.
        """
        generation = None if self._object is None else self._object.metadata.generation
        text = ("True" if status else "False") if isinstance(status, bool) else status
        return Condition(type=type, status=text, reason=reason, message=message, observed_generation=generation)

    async def update_status(
        self,
        status: Mapping[str, object] | Struct | None = None,
        *,
        conditions: Sequence[Condition] = (),
    ) -> bool:
        """Change fields of the status of the reconciled object; nothing is sent if they are as wanted already.

        The fields that are given are set, None removes one, all others stay. Conditions replace those of the same type; the
        transition time changes only with the status. ``observedGeneration`` is set if the status has it. If others write
        the object at the same time, the change is made again on the newest version.

        Args:
            status: The fields, by wire or Python names, or an object with the fields that are set.
            conditions: The conditions; see `condition`.

        Returns:
            Whether anything was written; False as well if the object is gone.

        Raises:
            ConflictError: If others keep writing the object.
            StatusError: If the server refuses it.
            ArgumentError: If the status does not fit the kind.
        """
        generation = None if self._object is None else self._object.metadata.generation

        def change(current: Object) -> Mapping[str, object] | None:
            return status_patch(current, status, conditions, generation=generation, now=self._services.clock())

        subresource = "" if self._object is None else _status_subresource(self._object)
        return await self._primary.patch(change, subresource)

    async def finalize(
        self,
        cleanup: Callable[[], object],
        *,
        finalizer: str = "",
    ) -> bool:
        """Guard the reconciled object with a finalizer, and clean up when it is deleted.

        ::

            @app.controller(Website, finalizer="example.com/bucket")
            async def reconcile(ctx: masthead.aio.ReconcileContext[Website], site: Website) -> None:
                if await ctx.finalize(lambda: delete_bucket(site)):
                    return  # the object is being deleted, and all is cleaned up

        Before the object is deleted, this adds the finalizer. When it is being deleted, and the server confirms that, `cleanup`
        is called, again and again until it returns without an error; then the finalizer is removed. If the cache shows the
        object alive with its finalizer, the server is not asked: see `confirm`.

        Args:
            cleanup: What to do before the object may go; with `masthead.aio`, it may be a coroutine function.
            finalizer: Its name, if it is not the one that the controller has declared.

        Returns:
            Whether the object is being deleted or gone, so that there is nothing more to reconcile.

        Raises:
            ArgumentError: If neither the call nor the controller names a finalizer, `cleanup` is not a function, or it is
                a coroutine function and nothing awaits it.
            NameFormatError: If the finalizer is not a qualified name.
            StatusError: If the server refuses a write.
            Exception: Whatever `cleanup` raises: the finalizer stays, and the reconcile is repeated.
        """
        check_cleanup(cleanup)
        is_due = await begin_finalize(self, finalizer)
        if is_due:
            await run_cleanup(cleanup)
        return await end_finalize(self, finalizer, is_cleaned=is_due)

    def _checked(self, obj: Object | Mapping[str, object], *, owned: bool) -> Object:
        """What is to be applied, as an object.

        Raises:
            ArgumentError: If it is no object, has no name, or there is no object to own it.
            StaleObjectError: If its owner is gone.
        """
        given = Unstructured.from_dict(obj) if isinstance(obj, Mapping) else obj
        if not isinstance(cast("object", given), Object):
            raise ArgumentError(f"apply an object or plain data, not {type(obj).__name__}", value=obj)
        if not given.metadata.name:
            raise ArgumentError(f"to apply a {given.kind or 'object'}, set metadata.name", value=given.key)
        for key, value in (("apiVersion", given.api_version), ("kind", given.kind)):
            if not value:
                raise ArgumentError(f"to apply {given.kind or 'the object'} {given.key}, set {key}", value=given.key)
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
    return await context._finalization.begin(finalizer)  # noqa: SLF001


async def end_finalize(context: ReconcileContext[Any], finalizer: str, *, is_cleaned: bool) -> bool:
    """End `ReconcileContext.finalize`, and return whether the object is being deleted or gone."""
    return await context._finalization.end(finalizer, is_cleaned=is_cleaned)  # noqa: SLF001


def _status_subresource(obj: Object) -> str:
    """``status`` if the kind has that subresource, or if nothing is known about it."""
    resource = type(obj).RESOURCE
    return "" if resource is not None and resource.subresource("status") is None else "status"
