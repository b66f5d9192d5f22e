"""The verbs: what a request to a resource does, from its path and query to its answer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._server.faults import Call, Effect
from masthead._server.resources import catalog
from masthead._server.resources import warnings as kind_warnings
from masthead._server.verbs import bodies, deleting, discovery, reviews, subresources, writing
from masthead._server.verbs.events import MetadataOnly, WholeObjects, Writer
from masthead._server.verbs.lists import check_not_ahead, read_page
from masthead._server.verbs.selection import Selection
from masthead._server.verbs.watching import Watch
from masthead._server.wire import patches
from masthead._server.wire.failures import Failure, bad_request, details_of
from masthead._server.wire.negotiation import Form, negotiate
from masthead._server.wire.options import DeleteOptions, ListOptions, WriteOptions, read_version
from masthead._server.wire.request import JSON_TYPE, Answer, Target, parse_path, refusal, warning_header

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._server.cluster import Cluster
    from masthead._server.faults import Faults
    from masthead._server.resources.catalog import ServedResource
    from masthead._server.verbs.lists import Page
    from masthead._server.verbs.watching import WatchLimits
    from masthead._server.verbs.writing import Written
    from masthead._server.wire.plain import Plain
    from masthead._server.wire.request import Request

__all__ = ["Rest"]

_METHODS: Final = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_COLLECTION: Final = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_READ_MANY: Final = frozenset({"list", "watch"})
_NEED_NAME: Final = frozenset({"get", "update", "patch", "delete"})
_NEED_NAMESPACE: Final = frozenset({"create", "deletecollection"})


@dataclass(frozen=True, slots=True)
class Context:
    """A request, and what it was found to be about."""

    request: Request
    target: Target
    served: ServedResource
    call: Call
    form: Form
    warnings: list[str] = field(default_factory=list[str])

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
            Failure: It is refused before it is clear what it is about.
        """
        if target is None or (target.group and not catalog.versions_in(target.group)):
            return _describe(request)
        served = catalog.find(target.group, target.version, target.resource)
        if served is None or not _fits(target, served):
            raise catalog.unknown_resource()
        _check_allowed(served, target, call)
        form = negotiate(
            request.headers.get("accept", ""),
            of_collection=call.verb in _READ_MANY,
            is_watch=call.verb == "watch",
        )
        context = Context(request, target, served, call, form)
        if deprecated := kind_warnings.deprecation(served.group, served.version, served.kind):
            context.warnings.append(deprecated)
        if call.verb == "watch":
            return self._watch(context)
        try:
            answer = self._verbs[call.verb](context)
        except Failure as failure:
            answer = refusal(failure)
        return _finished(context, answer)

    def _get(self, context: Context) -> Answer:
        request, target, served = context.request, context.target, context.served
        if context.form.is_list:
            problem = f"the requested object is not a list (*{_package(served)}.{served.kind})"
            raise Failure(406, "NotAcceptable", f"you requested PartialObjectMetadataList, but {problem}")
        if "export" in request.query:
            raise bad_request("the export parameter, deprecated since v1.14, is no longer supported")
        if target.subresource:
            answer = subresources.read(self._cluster, served, target)
            return _only_metadata(context, answer) if context.form.metadata_only else answer
        if not served.is_stored:
            raise served.missing(target.name)
        check_not_ahead(self._cluster.storage, read_version(request.first("resourceVersion")))
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
        return Watch(
            self._cluster,
            selection,
            options,
            context.writer,
            self._limits,
            self._on_idle,
            headers=tuple(warning_header(each) for each in context.warnings),
        )

    def _create(self, context: Context) -> Answer:
        request, target, served = context.request, context.target, context.served
        options = WriteOptions.of(request, "CreateOptions", context.warnings)
        if target.subresource:
            return subresources.create(self._cluster, served, target, request, options)
        if not served.is_stored:
            return reviews.create(self._cluster, served, target, request, options)
        found = bodies.read_object(request, served, options)
        writing.check_names(found, target.namespace, "", is_namespaced=served.is_namespaced)
        return _written(context, writing.create(self._cluster, served, target.namespace, found, options))

    def _update(self, context: Context) -> Answer:
        request, target, served = context.request, context.target, context.served
        options = WriteOptions.of(request, "UpdateOptions", context.warnings)
        if subresources.is_special(target.subresource):
            return subresources.update(self._cluster, served, target, request, options)
        found = bodies.read_object(request, served, options)
        writing.check_names(found, target.namespace, target.name, is_namespaced=served.is_namespaced)
        written = writing.update(
            self._cluster,
            served,
            target.namespace,
            target.name,
            lambda _: found,
            options,
            subresource=target.subresource,
            is_put=True,
        )
        return _written(context, written)

    def _patch(self, context: Context) -> Answer:
        request, target, served = context.request, context.target, context.served
        patch = _Patch(request)
        options = WriteOptions.of(request, "PatchOptions", context.warnings)
        if subresources.is_special(target.subresource):
            return subresources.patch(self._cluster, served, target, patch.applier(options), options)
        apply = patch.applier(options)

        def change(old: Plain | None) -> Plain:
            shown = {"kind": served.kind, "apiVersion": served.api_version, **served.from_storage(old or {})}
            patched = apply(shown)
            if not patched.get("kind") and not patched.get("apiVersion"):
                options.warnings.extend(f'unknown field "{name}"' for name in sorted(patched))
                raise writing.nameless(target.name)
            if problem := patches.problem_with_kind(patched, served.kind, served.api_version):
                raise patches.refused_patch(patched, problem)
            slips = patch.slips() if options.field_validation != "Ignore" else []
            cleaned = bodies.clean(patched, served.cls, options, slips, patches.refused_patch)
            found = bodies.finish(cleaned, served)
            writing.check_names(found, target.namespace, target.name, is_namespaced=served.is_namespaced)
            return found

        written = writing.update(
            self._cluster,
            served,
            target.namespace,
            target.name,
            change,
            options,
            subresource=target.subresource,
        )
        return _written(context, written)

    def _delete(self, context: Context) -> Answer:
        request, target, served = context.request, context.target, context.served
        options = DeleteOptions.of(request, bodies.read_options(request))
        _warn_of_deletion(context, options)
        deleted = deleting.delete(self._cluster, served, target.namespace, target.name, options)
        if not deleted.is_gone or served.strategy.returns_deleted:
            code = 202 if options.orphans is False and not deleted.is_gone else 200
            answer = Answer(code, served.encode(deleted.found))
            return _only_metadata(context, answer) if context.form.metadata_only else answer
        meta = deleted.found["metadata"]
        details = details_of(meta["name"], served.group, served.name, uid=meta["uid"])
        head: Plain = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return Answer(200, msgspec.json.encode({**head, "details": details}))

    def _delete_collection(self, context: Context) -> Answer:
        request, target, served = context.request, context.target, context.served
        options = ListOptions.of(request)
        how = DeleteOptions.of(request, bodies.read_options(request))
        _warn_of_deletion(context, how)
        selection = Selection(served, target.namespace, options)
        page = read_page(self._cluster.storage, selection, options)
        body = _listed(context, page)
        for record in page.records:
            namespace, name = served.split(record.key)
            deleting.delete(self._cluster, served, namespace, name, how)
        return Answer(200, body)


def _warn_of_deletion(context: Context, how: DeleteOptions) -> None:
    served = context.served
    told = kind_warnings.on_delete(served.group, served.name, policy=how.policy, orphans=how.orphans)
    context.warnings.extend(told)


class _Patch:
    """The patch that a request brings.

    Raises:
        Failure: It is in no format that the server takes.
    """

    def __init__(self, request: Request) -> None:
        self._body = request.body
        self._is_json_patch = bodies.media_type(request) == "application/json-patch+json"
        if not self._is_json_patch and bodies.media_type(request) != "application/merge-patch+json":
            raise Failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})

    def applier(self, options: WriteOptions) -> Callable[[Plain], Plain]:
        """What applies it to an object, of which it makes another."""
        apply = patches.apply_json_patch if self._is_json_patch else patches.apply_merge_patch
        return lambda document: apply(document, self._body, lenient=options.field_validation == "Ignore")

    def slips(self) -> list[str]:
        """What a strict reader finds wrong with it."""
        find = patches.json_patch_slips if self._is_json_patch else patches.merge_patch_slips
        return find(self._body)


def _describe(request: Request) -> Answer:
    found = discovery.describe(request)
    if found is not None:
        if request.method != "GET" and not discovery.takes_any_method(request):
            raise _not_allowed()
        if found.content_type == JSON_TYPE:
            negotiate(request.headers.get("accept", ""))
        return found
    target = parse_path(request.path)
    if target is not None and (target.group in catalog.GROUPS or not target.group):
        raise catalog.unknown_resource()
    return discovery.not_found_page()


def _verb(request: Request, target: Target) -> str:
    if target.is_watch:
        return "watch" if request.method == "GET" else request.method.lower()
    verb = (_METHODS if target.name else _COLLECTION).get(request.method, request.method.lower())
    if verb == "list" and request.query.get("watch", ["false"])[0].lower() not in {"false", "0"}:
        return "watch"
    return verb


def _fits(target: Target, served: ServedResource) -> bool:
    """Whether a path to a resource is one that leads somewhere."""
    if target.namespace and not served.is_namespaced:
        return False
    if target.name and served.is_namespaced and not target.namespace:
        return False
    if target.tail and target.subresource != "proxy":
        return False
    return not target.subresource or served.resource.subresource(target.subresource) is not None


def _check_allowed(served: ServedResource, target: Target, call: Call) -> None:
    part = served.resource.subresource(target.subresource) if target.subresource else None
    verbs = frozenset(part.verbs) if part else served.verbs
    lacks_namespace = served.is_namespaced and not target.namespace and call.verb in _NEED_NAMESPACE
    lacks_name = call.verb in _NEED_NAME and not target.name
    has_name_too_many = call.verb == "create" and bool(target.name) and not target.subresource
    if call.verb not in verbs or lacks_namespace or lacks_name or has_name_too_many:
        raise _not_allowed()


def _not_allowed() -> Failure:
    message = "the server does not allow this method on the requested resource"
    return Failure(405, "MethodNotAllowed", message, details={})


def _listed(context: Context, page: Page) -> bytes:
    served, form = context.served, context.form
    metadata: Plain = {"resourceVersion": str(page.revision)}
    if page.token:
        metadata["continue"] = page.token
    if page.remaining is not None:
        metadata["remainingItemCount"] = page.remaining
    if form.metadata_only:
        if not form.is_list:
            problem = f"the requested object is a list (*{_package(served)}.{served.kind}List)"
            raise Failure(406, "NotAcceptable", f"you requested PartialObjectMetadata, but {problem}")
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


def _written(context: Context, written: Written) -> Answer:
    answer = Answer(201 if written.is_new else 200, written.body)
    return _only_metadata(context, answer) if context.form.metadata_only else answer


def _only_metadata(context: Context, answer: Answer) -> Answer:
    return replace(answer, body=context.writer.stored(answer.body[1:]))


def _finished(context: Context, answer: Answer) -> Answer:
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


def _is_for_eyes(request: Request) -> bool:
    """Whether the answer is to be indented: for a client that says so, and for those that people look through."""
    wanted = request.first("pretty")
    if wanted:
        return wanted not in {"0", "false"}
    return request.headers.get("user-agent", "").startswith(("curl", "Wget", "Mozilla/5.0"))
