"""REST: dispatches a request to the verb and the resource that it names, and writes the response."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from masthead_server import scheme
from masthead_server.resources.catalog import unknown_resource
from masthead_server.resources.custom.conversions import Conversions
from masthead_server.resources.warnings.headers import fit
from masthead_server.threads import compute_in_thread
from masthead_server.verbs import bodies, delete, discovery, reviews, subresources, write
from masthead_server.verbs.connect import admit_connect
from masthead_server.verbs.delete import DeletionContext
from masthead_server.verbs.health import Health
from masthead_server.verbs.held_view import HeldView
from masthead_server.verbs.lists import check_not_ahead, read_page
from masthead_server.verbs.openapi import OpenApiHandler, is_openapi
from masthead_server.verbs.patch import RequestPatch, patch_object, patch_type
from masthead_server.verbs.representation import go_type, representation_for
from masthead_server.verbs.routing import find_resource, not_allowed
from masthead_server.verbs.selection import SelectionPredicate
from masthead_server.verbs.token_issuer import describe_issuer
from masthead_server.verbs.watch import Watcher
from masthead_server.verbs.write_context import WriteContext
from masthead_server.wire.body_limits import is_costly
from masthead_server.wire.encoders import encoder_for
from masthead_server.wire.failures import StatusFailure, bad_request, details_of
from masthead_server.wire.negotiation import negotiate
from masthead_server.wire.options import (
    CollectionOptions,
    DeletionOptions,
    FeatureGates,
    WriteOptions,
    manager_of_user_agent,
    read_version,
)
from masthead_server.wire.request import (
    APPLY_PATCH_TYPE,
    JSON_TYPE,
    ApiResponse,
    status_response,
    warning_header,
)
from masthead_server.wire.request_info import split_path

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead_server.cluster import ClusterState
    from masthead_server.faults import Faults
    from masthead_server.resources.resource import ServedResource
    from masthead_server.verbs.representation import Representation
    from masthead_server.verbs.watch import WatchLimits
    from masthead_server.verbs.write import Written
    from masthead_server.wire.negotiation import MediaTypeOptions
    from masthead_server.wire.plain import Plain
    from masthead_server.wire.request import ApiRequest
    from masthead_server.wire.request_info import RequestInfo

__all__ = ["Rest"]

T = TypeVar("T")
_READ_MANY: Final = frozenset({"list", "watch"})
_LARGE_BODY: Final = 500_000
"""Bytes of JSON above which a body is encoded as YAML or protobuf in a thread."""
_LARGE_LIST: Final = 256 * 1024
"""Bytes of a list's objects above which its encoding waits for its turn."""
_RESOURCE_METRICS: Final = "/apis/metrics.k8s.io/"
_TABLE_SUBRESOURCES: Final = frozenset({"", "status", "scale", "approval", "ephemeralcontainers", "resize"})
"""The subresources with a table representation; empty for the object."""


@dataclass(frozen=True, slots=True)
class RequestContext:
    """A request to a resource, with the results of routing and negotiation.

    Attributes:
        request: The request.
        info: The verb and the names in the path.
        served: The resource.
        media: The negotiated media type.
        representation: The negotiated form of objects.
        conversions: The conversions of the request; None if no webhook converts the objects.
        warnings: The Warning headers of the response, whatever the outcome.
    """

    request: ApiRequest
    info: RequestInfo
    served: ServedResource
    media: MediaTypeOptions
    representation: Representation
    conversions: Conversions | None = None
    warnings: list[str] = field(default_factory=list[str])

    async def evaluate(self, compute: Callable[..., T], *args: object) -> T:
        """Evaluate code that may need conversions, and has no effects before its last one."""
        return compute(*args) if self.conversions is None else await self.conversions.run(compute, *args)


class Rest:
    """Dispatches requests to verbs.

    Args:
        cluster: The cluster state.
        faults: The faults to inject.
        limits: The limits of watches.
        on_idle: Called when a watch has sent all its events.
        gates: The feature gates.
    """

    def __init__(
        self,
        cluster: ClusterState,
        faults: Faults,
        limits: WatchLimits,
        on_idle: Callable[[], object],
        gates: FeatureGates | None = None,
    ) -> None:
        self._cluster = cluster
        self._catalog = cluster.catalog
        self._discovery = discovery.Discovery(cluster.catalog, cluster.metrics)
        self._health = Health(cluster.storage)
        self._openapi = OpenApiHandler(cluster.catalog, cluster.clock)
        self._faults = faults
        self._limits = limits
        self._gates = gates or FeatureGates()
        self._on_idle = on_idle
        self._large_lists = asyncio.Lock()
        self._verbs: dict[str, Callable[[RequestContext], Awaitable[ApiResponse]]] = {
            "get": self._get,
            "list": self._list,
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
        }

    async def respond(self, request: ApiRequest, info: RequestInfo) -> ApiResponse | Watcher:
        """Handle a request; returns the response, or the watch to stream.

        Raises:
            StatusFailure: If it is refused before the resource is known.
        """
        # Discovery, OpenAPI and health checks; an unknown group has no resources either.
        if not info.resource or (info.group and not self._catalog.versions(info.group)):
            return await self._describe(request)
        if info.verb == "head" and info.group not in scheme.VERSIONS:
            # kube-apiserver's router does not know HEAD; the handler of custom resources takes it for GET.
            info = replace(info, verb="get" if info.name else "list")
        served = find_resource(self._catalog, info)
        if served is None:
            return discovery.not_found_page()
        context = self._context(request, info, served)
        if info.verb == "watch":
            return self._watch(context)
        try:
            response = await self._verbs[info.verb](context)
        except StatusFailure as failure:
            response = status_response(failure)
        # Nearly all responses are JSON, which needs no further encoding.
        if len(response.body) > _LARGE_BODY and context.media.content_type != JSON_TYPE:
            return await compute_in_thread(_finish, context, response)
        return _finish(context, response)

    def _context(self, request: ApiRequest, info: RequestInfo, served: ServedResource) -> RequestContext:
        media = negotiate(
            request.headers.get("accept", ""),
            of_collection=info.verb in _READ_MANY,
            is_watch=info.verb == "watch",
            has_table="list" in served.verbs and info.subresource in _TABLE_SUBRESOURCES,
            is_routed=not served.is_custom,
        )
        representation = representation_for(media, served, request, self._cluster.clock)
        # One set for the request, so that an object is converted once for all steps.
        conversions = Conversions() if served.converts_by_webhook else None
        # Before the verb runs, because a request that fails gets the warning, too.
        warnings = [served.deprecation_warning] if served.deprecation_warning else []
        return RequestContext(request, info, served, media, representation, conversions, warnings)

    def is_served(self, info: RequestInfo) -> bool:
        """Tell whether the path of a request leads to a resource or subresource.

        Raises:
            StatusFailure: If the resource does not allow the method, or if no built-in resource has the path.
        """
        return find_resource(self._catalog, info) is not None

    @property
    def may_wait(self) -> bool:
        """Whether requests may wait for other servers, so that they need a deadline."""
        return self._cluster.admission.may_wait

    async def admit_connect(self, request: ApiRequest, info: RequestInfo) -> tuple[ApiRequest, RequestInfo]:
        """Have admission decide about a connection to a pod, a service or a node; returns the request to go on with.

        Raises:
            StatusFailure: If a plugin refuses it.
        """
        return await admit_connect(self._cluster, request, info)

    async def _get(self, context: RequestContext) -> ApiResponse:
        request, info, served = context.request, context.info, context.served
        if context.media.is_metadata_list:
            if served.is_custom:  # whose Go type could be a list, for all that the server knows
                raise StatusFailure(500, "", "content is not a list")
            problem = f"the requested object is not a list (*{go_type(served)})"
            raise StatusFailure(406, "NotAcceptable", f"you requested PartialObjectMetadataList, but {problem}")
        if "export" in request.query:
            raise bad_request("the export parameter, deprecated since v1.14, is no longer supported")
        if info.subresource:
            read = subresources.read
            return ApiResponse(200, await context.evaluate(read, self._cluster, served, info, context.representation))
        if not served.is_stored:
            raise served.missing(info.name)
        check_not_ahead(self._cluster.storage, read_version(request.first("resourceVersion")))
        record = self._cluster.find(served, info.namespace, info.name)
        return ApiResponse(200, await context.evaluate(context.representation.one, record.value))

    async def _list(self, context: RequestContext) -> ApiResponse:
        options = CollectionOptions.of(context.request, self._gates)
        selection = SelectionPredicate(context.served, context.info.namespace, options)
        storage = self._cluster.storage
        view = HeldView(self._faults, context.info)
        # A list without a version is a consistent read, which is never stale.
        latest = view.find_stale(storage) if options.version else None
        frozen = view.freeze()
        page = await context.evaluate(partial(read_page, storage, selection, options, latest=latest, frozen=frozen))
        if context.representation.is_slow(page):
            return ApiResponse(200, await compute_in_thread(context.representation.page, page))
        if sum(len(record.value) for record in page.records) > _LARGE_LIST:
            await self._take_turn()
        return ApiResponse(200, await context.evaluate(context.representation.page, page))

    async def _take_turn(self) -> None:
        """Wait until no other large list is next, so that other requests have their turn between two of them.

        The lock makes it one list at a time. It is not held during the encoding, which may wait for a webhook.
        """
        async with self._large_lists:
            await asyncio.sleep(0)

    async def _describe(self, request: ApiRequest) -> ApiResponse:
        if is_openapi(request.path):
            return await self._openapi.respond(request)
        issuer = describe_issuer(request, self._cluster.tokens.accounts, self._cluster.url)
        if issuer is not None:
            return issuer
        if self._cluster.metrics.has_usages and f"{request.path}/".startswith(_RESOURCE_METRICS):
            if request.method != "GET":
                raise not_allowed()
            # Only a server whose tests set metrics needs it.
            from masthead_server.verbs import resource_metrics

            return resource_metrics.respond(self._cluster, request) or discovery.not_found_page()
        # Of any method, as with kube-apiserver.
        if (health := self._health.respond(request)) is not None:
            return health
        found = self._discovery.describe(request)
        if found is not None:
            if request.method != "GET" and not discovery.takes_any_method(request):
                raise not_allowed()
            if found.content_type == JSON_TYPE and not discovery.ignores_accept(request):
                encoder = encoder_for(negotiate(request.headers.get("accept", "")).content_type, request)
                # The other pages are always indented.
                if request.path.startswith("/api"):
                    found = replace(found, body=encoder.encode(found.body), content_type=encoder.content_type)
            return found
        path = split_path(request.path)
        if path is not None and path.group in scheme.VERSIONS:
            raise unknown_resource()
        return discovery.not_found_page()

    def _watch(self, context: RequestContext) -> Watcher:
        info = context.info
        options = CollectionOptions.of(context.request, self._gates, is_watch=True)
        selection = SelectionPredicate(context.served, info.namespace, options, name=info.name)
        context.representation.open_stream()
        return Watcher(
            self._cluster,
            selection,
            options,
            context.representation,
            self._limits,
            self._on_idle,
            view=HeldView(self._faults, info),
            headers=tuple(warning_header(warning) for warning in context.warnings),
        )

    async def _create(self, context: RequestContext) -> ApiResponse:
        request, served = context.request, context.served
        await _review(context)
        write_context = self._write_context(context, "CreateOptions")
        if context.info.subresource:
            return await subresources.create(write_context, request)
        if not served.is_stored:
            return await reviews.create(write_context, request)
        decoded = bodies.decode(request, served.codec, write_context.options)
        return await _represent(context, await write.create(write_context, decoded))

    async def _update(self, context: RequestContext) -> ApiResponse:
        request, served = context.request, context.served
        await _review(context)
        write_context = self._write_context(context, "UpdateOptions")
        if subresources.is_special(context.info.subresource):
            return await subresources.update(write_context, request)
        decode = partial(bodies.decode, request, served.codec, write_context.options)
        return await _represent(context, await write.replace(write_context, decode))

    async def _patch(self, context: RequestContext) -> ApiResponse:
        media_type = patch_type(context.request, context.served)
        await _review(context)
        if media_type == APPLY_PATCH_TYPE:
            return await self._apply(context)
        # Decoded in every attempt, because merging may change the decoded patch.
        patch = RequestPatch(context.request, media_type)
        write_context = self._write_context(context, "PatchOptions")
        if subresources.is_special(context.info.subresource):
            return await subresources.patch(write_context, patch)
        return await _represent(context, await patch_object(write_context, patch))

    async def _apply(self, context: RequestContext) -> ApiResponse:
        from masthead_server.verbs.apply import apply_object

        write_context = self._write_context(context, "PatchOptions", is_apply=True)
        request = context.request
        if request.document is None:
            request = bodies.read_ahead(request)  # decoded once, for all steps that need it
        if subresources.is_special(context.info.subresource):
            return await subresources.apply(write_context, request)
        return await _represent(context, await apply_object(write_context, request))

    def _write_context(self, context: RequestContext, kind: str, *, is_apply: bool = False) -> WriteContext:
        """Read the query of a write, whose options are of a kind that complaints name."""
        info = context.info
        return WriteContext(
            self._cluster,
            context.served,
            info.namespace,
            # A custom resource may be posted to a path with a name, which does not matter.
            info.name if info.verb != "create" or info.subresource else "",
            WriteOptions.of(context.request, kind, context.warnings, is_apply=is_apply),
            user=context.request.user,
            subresource=info.subresource,
            is_put=info.verb == "update",
            manager=context.request.first("fieldManager")
            or manager_of_user_agent(context.request.headers.get("user-agent", "")),
            is_large=bodies.is_large(context.request) or (bool(info.name) and self._is_stored_large(context)),
            conversions=context.conversions,
        )

    def _is_stored_large(self, context: RequestContext) -> bool:
        info, served = context.info, context.served
        record = self._cluster.storage.table(served.table).get(served.key(info.namespace, info.name))
        return record is not None and is_costly(record.value)

    async def _delete(self, context: RequestContext) -> ApiResponse:
        request, info, served = context.request, context.info, context.served
        options = DeletionOptions.of(request, bodies.read_options(request))
        _warn_of_deletion(context, options)
        deleted = await delete.delete(self._deletion(context, info.namespace, info.name, options))
        # A client that deletes with finalizers has to see that the object is still there.
        if not deleted.is_gone or served.strategy.returns_deleted:
            code = 202 if options.orphans is False and not deleted.is_gone else 200
            return ApiResponse(code, await context.evaluate(context.representation.one, deleted.value))
        meta = deleted.found["metadata"]
        details = details_of(meta["name"], served.group, served.name, uid=meta["uid"])
        head: Plain = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return ApiResponse(200, msgspec.json.encode({**head, "details": details}))

    def _deletion(
        self, context: RequestContext, namespace: str, name: str, options: DeletionOptions
    ) -> DeletionContext:
        return DeletionContext(
            self._cluster,
            context.served,
            namespace,
            name,
            options,
            user=context.request.user,
            warnings=context.warnings,
            conversions=context.conversions,
            is_of_collection=not context.info.name,
        )

    async def _delete_collection(self, context: RequestContext) -> ApiResponse:
        request, info, served = context.request, context.info, context.served
        options = CollectionOptions.of(request, self._gates)
        how = DeletionOptions.of(request, bodies.read_options(request))
        _warn_of_deletion(context, how)
        selection = SelectionPredicate(served, info.namespace, options)
        page = await context.evaluate(read_page, self._cluster.storage, selection, options)
        body = await context.evaluate(context.representation.page, page)
        for record in page.records:
            namespace, name = served.split(record.key)
            try:
                await delete.delete(self._deletion(context, namespace, name, how))
            except StatusFailure as failure:
                # Another request may have deleted it while a webhook converted the list.
                if failure.code != HTTPStatus.NOT_FOUND:
                    raise
        return ApiResponse(200, body)


def _warn_of_deletion(context: RequestContext, how: DeletionOptions) -> None:
    context.warnings.extend(context.served.delete_warnings(policy=how.policy, orphans=how.orphans))


async def _represent(context: RequestContext, written: Written) -> ApiResponse:
    body = await context.evaluate(context.representation.one, written.value)
    return ApiResponse(201 if written.is_new else 200, body)


async def _review(context: RequestContext) -> None:
    """Prepare the validation of a kind whose validation is slow, in a thread."""
    if context.served.description.is_reviewed_ahead:
        await compute_in_thread(_review_body, context.request, context.served)


def _review_body(request: ApiRequest, served: ServedResource) -> None:
    sent = bodies.peek(request)
    # It may be of any form; its errors are found when it is decoded.
    with suppress(Exception):
        served.behavior.review(sent or {})


def _finish(context: RequestContext, response: ApiResponse) -> ApiResponse:
    """Add the warnings, and encode the body in the negotiated media type."""
    encoder = encoder_for(context.media.content_type, context.request)
    warnings = (warning_header(warning) for warning in fit(context.warnings))
    headers = (*response.headers, *warnings)
    return ApiResponse(response.code, encoder.encode(response.body), encoder.content_type, headers)
