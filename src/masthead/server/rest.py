"""The verbs: what a request to a resource does, from its path and query to its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from masthead.server import bodies, catalog, deleting, discovery, patches, reviews, subresources, writing
from masthead.server.events import MetadataOnly, WholeObjects, Writer
from masthead.server.failures import Failure, details_of
from masthead.server.faults import Call, Effect
from masthead.server.lists import check_not_ahead, read_page
from masthead.server.negotiation import Form, negotiate
from masthead.server.options import DeleteOptions, ListOptions, WriteOptions, read_version
from masthead.server.request import Answer, Target, parse_path
from masthead.server.selection import Selection
from masthead.server.watching import Watch

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead.server.catalog import Served
    from masthead.server.cluster import Cluster
    from masthead.server.faults import Faults
    from masthead.server.lists import Page
    from masthead.server.plain import Plain
    from masthead.server.request import Request
    from masthead.server.watching import WatchLimits
    from masthead.server.writing import Written

__all__ = ["Rest"]

_METHODS: Final = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_COLLECTION: Final = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_JSON_PATCH: Final = "application/json-patch+json"
_MERGE_PATCH: Final = "application/merge-patch+json"


@dataclass(frozen=True, slots=True)
class Context:
    """A request, and what it was found to be about."""

    request: Request
    target: Target
    served: Served
    call: Call
    form: Form

    @property
    def writer(self) -> Writer:
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
        self, cluster: Cluster, faults: Faults, limits: WatchLimits, on_idle: Callable[[], object]
    ) -> None:
        self._cluster = cluster
        self._faults = faults
        self._limits = limits
        self._on_idle = on_idle
        self._verbs: dict[str, Callable[[Context], Answer]] = {
            "get": self._get,
            "list": self._list,
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
        }

    def call_of(self, request: Request) -> tuple[Call, Target | None]:
        """Tell what a request is about."""
        target = parse_path(request.path)
        if target is None or not target.resource:
            return Call(request.method.lower()), None
        call = Call(
            _verb(request, target),
            target.group,
            target.resource,
            target.namespace,
            target.name,
            target.subresource,
        )
        return call, target

    def answer(self, request: Request, call: Call, target: Target | None) -> Answer | Watch:
        """Do what a request asks.

        Raises:
            Failure: It is refused.
        """
        if call.verb != "watch" and (fault := self._faults.strike(call, Effect.ANSWER)) and fault.failure:
            raise fault.failure
        if target is None:
            return _describe(request)
        served = catalog.find(target.group, target.version, target.resource)
        if served is None or not _fits(target, served):
            raise catalog.unknown_resource()
        _check_allowed(served, target, call)
        form = negotiate(request.headers.get("accept", ""), is_watch=call.verb == "watch")
        context = Context(request, target, served, call, form)
        if call.verb == "watch":
            return self._watch(context)
        answer = self._verbs[call.verb](context)
        return answer if form.content_type == answer.content_type else _as_yaml(answer)

    def _get(self, context: Context) -> Answer:
        target, served = context.target, context.served
        if target.subresource:
            return subresources.read(self._cluster, served, target)
        if not served.is_stored:
            raise served.missing(target.name)
        check_not_ahead(self._cluster.storage, read_version(context.request.first("resourceVersion")))
        record = self._cluster.find(served, target.namespace, target.name)
        return Answer(200, context.writer.stored(record.value))

    def _list(self, context: Context) -> Answer:
        options = ListOptions.of(context.request)
        selection = Selection(context.served, context.target.namespace, options)
        stale = self._faults.strike(context.call, Effect.STALE) if options.version else None
        storage = self._cluster.storage
        latest = max(storage.compacted, storage.revision - stale.amount) if stale else None
        return Answer(200, _listed(context, read_page(storage, selection, options, latest=latest)))

    def _watch(self, context: Context) -> Watch:
        target = context.target
        options = ListOptions.of(context.request, is_watch=True, has_watch_list=self._limits.has_watch_list)
        selection = Selection(context.served, target.namespace, options, name=target.name)
        return Watch(self._cluster, selection, options, context.writer, self._limits, self._on_idle)

    def _create(self, context: Context) -> Answer:
        request, target, served = context.request, context.target, context.served
        options = WriteOptions.of(request, "CreateOptions")
        if target.subresource:
            return subresources.create(self._cluster, served, target, request, options)
        if not served.is_stored:
            return reviews.create(self._cluster, served, target, request, options)
        body = bodies.read_object(request, served, options)
        writing.check_names(body.found, target.namespace, "", is_namespaced=served.is_namespaced)
        written = writing.create(self._cluster, served, target.namespace, body.found, options)
        return _written(context, written, body.warnings)

    def _update(self, context: Context) -> Answer:
        request, target, served = context.request, context.target, context.served
        options = WriteOptions.of(request, "UpdateOptions")
        if subresources.is_special(target.subresource):
            return subresources.update(self._cluster, served, target, request, options)
        body = bodies.read_object(request, served, options)
        writing.check_names(body.found, target.namespace, target.name, is_namespaced=served.is_namespaced)
        written = writing.update(
            self._cluster,
            served,
            target.namespace,
            target.name,
            lambda _: body.found,
            options,
            subresource=target.subresource,
            may_create=True,
        )
        return _written(context, written, body.warnings)

    def _patch(self, context: Context) -> Answer:
        request, target, served = context.request, context.target, context.served
        apply = _patch_of(request)
        options = WriteOptions.of(request, "PatchOptions")
        if subresources.is_special(target.subresource):
            return subresources.patch(self._cluster, served, target, apply, options)
        warnings: list[str] = []

        def change(old: Plain | None) -> Plain:
            shown = {"kind": served.kind, "apiVersion": served.api_version, **served.from_storage(old or {})}
            patched = apply(shown)
            body = bodies.tidy(patched, served, options)
            warnings.extend(body.warnings)
            writing.check_names(body.found, target.namespace, target.name, is_namespaced=served.is_namespaced)
            return body.found

        written = writing.update(
            self._cluster,
            served,
            target.namespace,
            target.name,
            change,
            options,
            subresource=target.subresource,
        )
        return _written(context, written, warnings)

    def _delete(self, context: Context) -> Answer:
        request, target, served = context.request, context.target, context.served
        options = DeleteOptions.of(request, bodies.read_options(request))
        deleted = deleting.delete(self._cluster, served, target.namespace, target.name, options)
        if not deleted.is_gone:
            code = 202 if options.orphans is False else 200
            return Answer(code, served.encode(deleted.found))
        if served.strategy.returns_deleted:
            return Answer(200, served.encode(deleted.found))
        meta = deleted.found["metadata"]
        details = details_of(meta["name"], served.group, served.name, uid=meta["uid"])
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": details,
        }
        return Answer(200, msgspec.json.encode(status))

    def _delete_collection(self, context: Context) -> Answer:
        request, target, served = context.request, context.target, context.served
        options = ListOptions.of(request)
        how = DeleteOptions.of(request, bodies.read_options(request))
        selection = Selection(served, target.namespace, options)
        page = read_page(self._cluster.storage, selection, options)
        body = _listed(context, page)
        for record in page.records:
            namespace, _, name = record.key.rpartition("/") if served.is_namespaced else ("", "", record.key)
            deleting.delete(self._cluster, served, namespace, name, how)
        return Answer(200, body)


def _describe(request: Request) -> Answer:
    if request.method not in {"GET", "HEAD"}:
        if discovery.describe(request) is None:
            return discovery.not_found_page()
        raise _not_allowed()
    found = discovery.describe(request)
    if found is not None:
        return found
    target = parse_path(request.path)
    if target is not None and (target.group in catalog.GROUPS or not target.group):
        raise catalog.unknown_resource()
    return discovery.not_found_page()


def _verb(request: Request, target: Target) -> str:
    if request.method == "HEAD":
        return "get"
    if target.is_watch:
        return "watch" if request.method == "GET" else request.method.lower()
    verb = (_METHODS if target.name else _COLLECTION).get(request.method, request.method.lower())
    if verb == "list" and request.query.get("watch", ["false"])[0].lower() not in {"false", "0"}:
        return "watch"
    return verb


def _fits(target: Target, served: Served) -> bool:
    """Whether a path to a resource is one that leads somewhere."""
    if target.namespace and not served.is_namespaced:
        return False
    if target.name and served.is_namespaced and not target.namespace:
        return False
    if target.tail and target.subresource != "proxy":
        return False
    return not target.subresource or served.resource.subresource(target.subresource) is not None


def _check_allowed(served: Served, target: Target, call: Call) -> None:
    part = served.resource.subresource(target.subresource) if target.subresource else None
    verbs = frozenset(part.verbs) if part else served.verbs
    needs_namespace = served.is_namespaced and not target.namespace and call.verb == "create"
    has_name_too_many = call.verb == "create" and bool(target.name) and not target.subresource
    if call.verb not in verbs or needs_namespace or has_name_too_many:
        raise _not_allowed()


def _not_allowed() -> Failure:
    message = "the server does not allow this method on the requested resource"
    return Failure(405, "MethodNotAllowed", message, details={})


def _patch_of(request: Request) -> Callable[[Plain], Plain]:
    match bodies.media_type(request):
        case "application/json-patch+json":
            return lambda document: patches.apply_json_patch(document, request.body)
        case "application/merge-patch+json":
            return lambda document: patches.apply_merge_patch(document, request.body)
        case _:
            raise Failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})


def _listed(context: Context, page: Page) -> bytes:
    served, form = context.served, context.form
    metadata: Plain = {"resourceVersion": str(page.revision)}
    if page.token:
        metadata["continue"] = page.token
    if page.remaining is not None:
        metadata["remainingItemCount"] = page.remaining
    if form.metadata_only:
        kind, api_version = "PartialObjectMetadataList", f"meta.k8s.io/{form.metadata_only}"
        items = b",".join(context.writer.stored(record.value) for record in page.records)
    else:
        kind, api_version = f"{served.kind}List", served.api_version
        items = b",".join([b"{" + served.tail(record.value) for record in page.records])
    head = msgspec.json.encode({"kind": kind, "apiVersion": api_version, "metadata": metadata})
    return b'%b,"items":[%b]}' % (head[:-1], items)


def _written(context: Context, written: Written, warnings: list[str]) -> Answer:
    headers = tuple(("Warning", f'299 - "{_escaped(each)}"') for each in warnings)
    body = written.body
    if context.form.metadata_only:
        body = context.writer.stored(body[1:])
    return Answer(201 if written.is_new else 200, body, headers=headers)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _as_yaml(answer: Answer) -> Answer:
    from masthead.meta import yaml

    return Answer(
        answer.code, yaml.dump(msgspec.json.decode(answer.body)).encode(), "application/yaml", answer.headers
    )
