"""The verbs: what a request to a resource does, from its path and query to its answer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._meta.gvk import GroupVersionResource
from masthead._server.faults import Effect
from masthead._server.resources import warnings as kind_warnings
from masthead._server.resources.catalog import unknown_resource
from masthead._server.verbs import bodies, delete, discovery, reviews, subresources, write
from masthead._server.verbs.events import MetadataOnly, Representation, WholeObjects
from masthead._server.verbs.lists import check_not_ahead, read_page
from masthead._server.verbs.selection import SelectionPredicate
from masthead._server.verbs.watch import Watcher
from masthead._server.wire import patches
from masthead._server.wire.failures import StatusFailure, bad_request, details_of
from masthead._server.wire.negotiation import Form, negotiate
from masthead._server.wire.options import CollectionOptions, DeletionOptions, WriteOptions, read_version
from masthead._server.wire.request import (
    JSON_TYPE,
    ApiResponse,
    status_response,
    warning_header,
)
from masthead._server.wire.request_info import split_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._server.cluster import ClusterState
    from masthead._server.faults import Faults
    from masthead._server.resources.resource import ServedResource
    from masthead._server.verbs.lists import Page
    from masthead._server.verbs.watch import WatchLimits
    from masthead._server.verbs.write import Written
    from masthead._server.wire.plain import Plain
    from masthead._server.wire.request import ApiRequest
    from masthead._server.wire.request_info import RequestInfo

__all__ = ["Rest"]

_READ_MANY: Final = frozenset({"list", "watch"})
_NEED_NAME: Final = frozenset({"get", "update", "patch", "delete"})
_NEED_NAMESPACE: Final = frozenset({"create", "deletecollection"})


@dataclass(frozen=True, slots=True)
class RequestContext:
    """A request, and what it was found to be about."""

    request: ApiRequest
    info: RequestInfo
    served: ServedResource
    form: Form
    warnings: list[str] = field(default_factory=list[str])

    @property
    def writer(self) -> Representation:
        """Writes objects in the form that the client asked for."""
        version = self.form.metadata_only
        return MetadataOnly(version) if version else WholeObjects(self.served)


class Rest:
    """Does what requests ask.

    Args:
        cluster: What they are about.
        faults: What is to go wrong.
        limits: How watches behave.
        on_idle: Called when a watch has told everything.
    """

    def __init__(
        self, cluster: ClusterState, faults: Faults, limits: WatchLimits, on_idle: Callable[[], object]
    ) -> None:
        self._cluster = cluster
        self._catalog = cluster.catalog
        self._discovery = discovery.Discovery(cluster.catalog)
        self._faults = faults
        self._limits = limits
        self._on_idle = on_idle
        self._verbs: dict[str, Callable[[RequestContext], ApiResponse]] = {
            "get": self._get,
            "list": self._list,
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
        }

    def answer(self, request: ApiRequest, info: RequestInfo) -> ApiResponse | Watcher:
        """Do what a request asks.

        Raises:
            StatusFailure: It is refused before it is clear what it is about.
        """
        if not info.is_resource_request or (info.group and not self._catalog.versions(info.group)):
            return self._describe(request)
        served = self._catalog.find(GroupVersionResource(info.group, info.version, info.resource))
        if served is None or not _fits(info, served):
            raise unknown_resource()
        _check_allowed(served, info)
        form = negotiate(
            request.headers.get("accept", ""),
            of_collection=info.verb in _READ_MANY,
            is_watch=info.verb == "watch",
        )
        context = RequestContext(request, info, served, form)
        if deprecated := kind_warnings.deprecation(served.group, served.version, served.kind):
            context.warnings.append(deprecated)
        if info.verb == "watch":
            return self._watch(context)
        try:
            answer = self._verbs[info.verb](context)
        except StatusFailure as failure:
            answer = status_response(failure)
        return _finished(context, answer)

    def _get(self, context: RequestContext) -> ApiResponse:
        request, info, served = context.request, context.info, context.served
        if context.form.is_list:
            problem = f"the requested object is not a list (*{_package(served)}.{served.kind})"
            raise StatusFailure(
                406, "NotAcceptable", f"you requested PartialObjectMetadataList, but {problem}"
            )
        if "export" in request.query:
            raise bad_request("the export parameter, deprecated since v1.14, is no longer supported")
        if info.subresource:
            answer = subresources.read(self._cluster, served, info)
            return _only_metadata(context, answer) if context.form.metadata_only else answer
        if not served.is_stored:
            raise served.missing(info.name)
        check_not_ahead(self._cluster.storage, read_version(request.first("resourceVersion")))
        record = self._cluster.find(served, info.namespace, info.name)
        return ApiResponse(200, context.writer.stored(record.value))

    def _list(self, context: RequestContext) -> ApiResponse:
        options = CollectionOptions.of(context.request)
        selection = SelectionPredicate(context.served, context.info.namespace, options)
        stale = self._faults.strike(context.info, Effect.STALE) if options.version else None
        storage = self._cluster.storage
        latest = max(storage.compacted, storage.revision - stale.amount) if stale else None
        return ApiResponse(200, _listed(context, read_page(storage, selection, options, latest=latest)))

    def _describe(self, request: ApiRequest) -> ApiResponse:
        found = self._discovery.describe(request)
        if found is not None:
            if request.method != "GET" and not discovery.takes_any_method(request):
                raise _not_allowed()
            if found.content_type == JSON_TYPE:
                negotiate(request.headers.get("accept", ""))
            return found
        path = split_path(request.path)
        if path is not None and (not path.group or self._catalog.versions(path.group)):
            raise unknown_resource()
        return discovery.not_found_page()

    def _watch(self, context: RequestContext) -> Watcher:
        info = context.info
        options = CollectionOptions.of(
            context.request, is_watch=True, has_watch_list=self._limits.has_watch_list
        )
        selection = SelectionPredicate(context.served, info.namespace, options, name=info.name)
        return Watcher(
            self._cluster,
            selection,
            options,
            context.writer,
            self._limits,
            self._on_idle,
            headers=tuple(warning_header(each) for each in context.warnings),
        )

    def _create(self, context: RequestContext) -> ApiResponse:
        request, info, served = context.request, context.info, context.served
        options = WriteOptions.of(request, "CreateOptions", context.warnings)
        if info.subresource:
            return subresources.create(self._cluster, served, info, request, options)
        if not served.is_stored:
            return reviews.create(self._cluster, served, info, request, options)
        found = bodies.read_object(request, served, options)
        write.check_names(found, info.namespace, "", is_namespaced=served.is_namespaced)
        return _written(context, write.create(self._cluster, served, info.namespace, found, options))

    def _update(self, context: RequestContext) -> ApiResponse:
        request, info, served = context.request, context.info, context.served
        options = WriteOptions.of(request, "UpdateOptions", context.warnings)
        if subresources.is_special(info.subresource):
            return subresources.update(self._cluster, served, info, request, options)
        found = bodies.read_object(request, served, options)
        write.check_names(found, info.namespace, info.name, is_namespaced=served.is_namespaced)
        written = write.update(
            self._cluster,
            served,
            info.namespace,
            info.name,
            lambda _: found,
            options,
            subresource=info.subresource,
            is_put=True,
        )
        return _written(context, written)

    def _patch(self, context: RequestContext) -> ApiResponse:
        request, info, served = context.request, context.info, context.served
        patch = _Patch(request)
        options = WriteOptions.of(request, "PatchOptions", context.warnings)
        if subresources.is_special(info.subresource):
            return subresources.patch(self._cluster, served, info, patch.applier(options), options)
        apply = patch.applier(options)

        def change(old: Plain | None) -> Plain:
            shown = {"kind": served.kind, "apiVersion": served.api_version, **served.from_storage(old or {})}
            patched = apply(shown)
            if not patched.get("kind") and not patched.get("apiVersion"):
                options.warnings.extend(f'unknown field "{name}"' for name in sorted(patched))
                raise write.nameless(info.name)
            if problem := patches.problem_with_kind(patched, served.kind, served.api_version):
                raise patches.refused_patch(patched, problem)
            slips = patch.slips() if options.field_validation != "Ignore" else []
            cleaned = bodies.clean(patched, served.cls, options, slips, patches.refused_patch)
            found = bodies.finish(cleaned, served)
            write.check_names(found, info.namespace, info.name, is_namespaced=served.is_namespaced)
            return found

        written = write.update(
            self._cluster,
            served,
            info.namespace,
            info.name,
            change,
            options,
            subresource=info.subresource,
        )
        return _written(context, written)

    def _delete(self, context: RequestContext) -> ApiResponse:
        request, info, served = context.request, context.info, context.served
        options = DeletionOptions.of(request, bodies.read_options(request))
        _warn_of_deletion(context, options)
        deleted = delete.delete(self._cluster, served, info.namespace, info.name, options)
        if not deleted.is_gone or served.strategy.returns_deleted:
            code = 202 if options.orphans is False and not deleted.is_gone else 200
            answer = ApiResponse(code, served.encode(deleted.found))
            return _only_metadata(context, answer) if context.form.metadata_only else answer
        meta = deleted.found["metadata"]
        details = details_of(meta["name"], served.group, served.name, uid=meta["uid"])
        head: Plain = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return ApiResponse(200, msgspec.json.encode({**head, "details": details}))

    def _delete_collection(self, context: RequestContext) -> ApiResponse:
        request, info, served = context.request, context.info, context.served
        options = CollectionOptions.of(request)
        how = DeletionOptions.of(request, bodies.read_options(request))
        _warn_of_deletion(context, how)
        selection = SelectionPredicate(served, info.namespace, options)
        page = read_page(self._cluster.storage, selection, options)
        body = _listed(context, page)
        for record in page.records:
            namespace, name = served.split(record.key)
            delete.delete(self._cluster, served, namespace, name, how)
        return ApiResponse(200, body)


def _warn_of_deletion(context: RequestContext, how: DeletionOptions) -> None:
    served = context.served
    told = kind_warnings.on_delete(served.group, served.name, policy=how.policy, orphans=how.orphans)
    context.warnings.extend(told)


class _Patch:
    """The patch that a request brings.

    Raises:
        StatusFailure: It is in no format that the server takes.
    """

    def __init__(self, request: ApiRequest) -> None:
        self._body = request.body
        self._is_json_patch = bodies.media_type(request) == "application/json-patch+json"
        if not self._is_json_patch and bodies.media_type(request) != "application/merge-patch+json":
            raise StatusFailure(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})

    def applier(self, options: WriteOptions) -> Callable[[Plain], Plain]:
        """What applies it to an object, of which it makes another."""
        apply = patches.apply_json_patch if self._is_json_patch else patches.apply_merge_patch
        return lambda document: apply(document, self._body, lenient=options.field_validation == "Ignore")

    def slips(self) -> list[str]:
        """What a strict reader finds wrong with it."""
        find = patches.json_patch_slips if self._is_json_patch else patches.merge_patch_slips
        return find(self._body)


def _fits(info: RequestInfo, served: ServedResource) -> bool:
    """Whether a path to a resource is one that leads somewhere."""
    if info.namespace and not served.is_namespaced:
        return False
    if info.name and served.is_namespaced and not info.namespace:
        return False
    if info.tail and info.subresource != "proxy":
        return False
    return not info.subresource or served.resource.subresource(info.subresource) is not None


def _check_allowed(served: ServedResource, info: RequestInfo) -> None:
    part = served.resource.subresource(info.subresource) if info.subresource else None
    verbs = frozenset(part.verbs) if part else served.verbs
    lacks_namespace = served.is_namespaced and not info.namespace and info.verb in _NEED_NAMESPACE
    lacks_name = info.verb in _NEED_NAME and not info.name
    has_name_too_many = info.verb == "create" and bool(info.name) and not info.subresource
    if info.verb not in verbs or lacks_namespace or lacks_name or has_name_too_many:
        raise _not_allowed()


def _not_allowed() -> StatusFailure:
    message = "the server does not allow this method on the requested resource"
    return StatusFailure(405, "MethodNotAllowed", message, details={})


def _listed(context: RequestContext, page: Page) -> bytes:
    served, form = context.served, context.form
    metadata: Plain = {"resourceVersion": str(page.revision)}
    if page.token:
        metadata["continue"] = page.token
    if page.remaining is not None:
        metadata["remainingItemCount"] = page.remaining
    if form.metadata_only:
        if not form.is_list:
            problem = f"the requested object is a list (*{_package(served)}.{served.kind}List)"
            raise StatusFailure(406, "NotAcceptable", f"you requested PartialObjectMetadata, but {problem}")
        kind, api_version = "PartialObjectMetadataList", f"meta.k8s.io/{form.metadata_only}"
        items = b",".join(context.writer.stored(record.value) for record in page.records)
    else:
        kind, api_version = f"{served.kind}List", served.api_version
        items = b",".join([b"{" + served.tail(record.value) for record in page.records])
    head = msgspec.json.encode({"kind": kind, "apiVersion": api_version, "metadata": metadata})
    listed = b"null" if form.metadata_only and not page.records else b"[%b]" % items
    return b'%b,"items":%b}' % (head[:-1], listed)


def _package(served: ServedResource) -> str:
    """Where Go has a kind's type, which messages name."""
    return served.stored_group.partition(".")[0] or "core"


def _written(context: RequestContext, written: Written) -> ApiResponse:
    answer = ApiResponse(201 if written.is_new else 200, written.body)
    return _only_metadata(context, answer) if context.form.metadata_only else answer


def _only_metadata(context: RequestContext, answer: ApiResponse) -> ApiResponse:
    return replace(answer, body=context.writer.stored(answer.body[1:]))


def _finished(context: RequestContext, answer: ApiResponse) -> ApiResponse:
    """Add what the client is to be told, and write the answer in the format that it asked for."""
    if context.warnings:
        told = tuple(warning_header(each) for each in kind_warnings.fit(context.warnings))
        answer = replace(answer, headers=(*answer.headers, *told))
    if context.form.content_type == answer.content_type:
        if _is_for_eyes(context.request) and len(answer.body) <= _LONGEST_REWRITTEN:
            return replace(answer, body=msgspec.json.format(answer.body, indent=2))
        return answer
    return replace(answer, body=_yaml_of(answer.body), content_type=context.form.content_type)


_LONGEST_REWRITTEN: Final = 64 * 1024
"""Bytes of JSON that are indented, or rewritten as YAML: where it nests deeply, either makes hundreds of each."""


def _yaml_of(body: bytes) -> bytes:
    """Write an answer as YAML; what is long or deep stays JSON, which is YAML too."""
    if len(body) > _LONGEST_REWRITTEN:
        return body
    from masthead._meta import yaml

    # The real server's YAML is in order of the keys.
    ordered = msgspec.json.encode(msgspec.json.decode(body), order="sorted")
    try:
        return yaml.dump(msgspec.json.decode(ordered)).encode()
    except RecursionError:
        return body


def _is_for_eyes(request: ApiRequest) -> bool:
    """Whether the answer is to be indented: for a client that says so, and for those that people look through."""
    wanted = request.first("pretty")
    if wanted:
        return wanted not in {"0", "false"}
    return request.headers.get("user-agent", "").startswith(("curl", "Wget", "Mozilla/5.0"))
