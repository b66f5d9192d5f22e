"""Detects a controller's own writes in the requests and responses of the REST client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

import msgspec

from masthead._meta import typeinfo
from masthead._meta.patch import PatchType
from masthead._sansio.own_writes import OwnWrite

if TYPE_CHECKING:
    from masthead._rest.call import Call
    from masthead._rest.response import Response

__all__ = ["ObjectPath", "own_writes_of", "parse_path"]

_CREATED: Final = 201
_NAMESPACE_SUBRESOURCES: Final = frozenset({"finalize", "status"})


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    finalizers: list[str] | None = None
    labels: dict[str, str] | None = None


class _Details(msgspec.Struct):
    uid: str = ""


class _NamespaceSpec(msgspec.Struct):
    finalizers: list[str] | None = None


class _NamespaceAnswer(msgspec.Struct):
    kind: str = ""
    spec: _NamespaceSpec = msgspec.field(default_factory=_NamespaceSpec)


class _Answer(msgspec.Struct):
    """The metadata in a response: of an object, or of the Status of a deletion."""

    kind: str = ""
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    details: _Details | None = None


class _Item(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _Collection(msgspec.Struct):
    """The objects of a deleted collection, before their deletion."""

    items: list[_Item] = []


class _DeleteOptions(msgspec.Struct, rename="camel"):
    dry_run: list[str] | None = None


class _Version(msgspec.Struct, rename="camel"):
    resource_version: str | None = None


class _Sent(msgspec.Struct):
    metadata: _Version = msgspec.field(default_factory=_Version)


class _Operation(msgspec.Struct):
    op: str = ""
    path: str = ""
    value: object = None


class ObjectPath(NamedTuple):
    """The resource and object of an API path.

    Attributes:
        resource: The resource, such as ``deployments.apps``.
        namespace: Empty for a cluster-scoped resource.
        name: Empty for a collection.
        subresource: Empty for the object itself.
    """

    resource: str
    namespace: str
    name: str
    subresource: str = ""


def parse_path(path: str) -> ObjectPath | None:
    """Parse the path of a call; None if it is not the path of a resource."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    match parts:
        case ["api", _, *rest]:
            group = ""
        case ["apis", group, _, *rest]:
            pass
        case _:
            return None
    namespace = ""
    # The subresources of a namespace have the same form as collections of namespaced resources.
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in _NAMESPACE_SUBRESOURCES:
        namespace, rest = rest[1], rest[2:]
    if not rest or not rest[0]:
        return None
    resource = f"{rest[0]}.{group}" if group else rest[0]
    return ObjectPath(resource, namespace, rest[1] if len(rest) > 1 else "", "/".join(rest[2:]))


def own_writes_of(call: Call, response: Response) -> list[OwnWrite]:
    """Return the writes of a call that a cache can show: one write, or the deletions of a collection."""
    where = parse_path(call.path)
    # A dry run changes nothing, so no cache will ever show it.
    if where is None or _is_dry_run(call):
        return []
    try:
        if call.method == "DELETE" and not where.name:
            return _deletions(where, typeinfo.decode_json(response.body, _Collection))
        answer = typeinfo.decode_json(response.body, _Answer)
    # Without the versions of a write, its event counts as foreign, which only costs a reconcile.
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    # A delete is answered with a Status if the object is gone, else with the object.
    is_removal = answer.kind == "Status"
    found = _removal(call, where, answer) if is_removal else _write(call, response, where, answer)
    return [] if found is None else [found]


def _is_dry_run(call: Call) -> bool:
    """Whether a call is a dry run, by its query or, for a delete, by its body."""
    if any(name == "dryRun" for name, _ in call.query):
        return True
    if call.method != "DELETE" or call.body is None:
        return False
    try:
        return bool(typeinfo.decode_json(call.body, _DeleteOptions).dry_run)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def _deletions(where: ObjectPath, found: _Collection) -> list[OwnWrite]:
    """Return the deletions of a collection. The response has the objects before their deletion."""
    return [
        OwnWrite(
            where.resource,
            _key(metadata.namespace, metadata.name),
            metadata.uid,
            None,
            metadata.resource_version,
            is_deletion=True,
        )
        for metadata in (item.metadata for item in found.items)
        if metadata.name and metadata.uid and metadata.resource_version
    ]


def _removal(call: Call, where: ObjectPath, answer: _Answer) -> OwnWrite | None:
    """Return the write of a delete whose response is a Status."""
    uid = answer.details.uid if answer.details is not None else ""
    if call.method != "DELETE" or not uid:
        return None
    return OwnWrite(where.resource, _key(where.namespace, where.name), uid, None, "")


def _write(call: Call, response: Response, where: ObjectPath, answer: _Answer) -> OwnWrite | None:
    """Return the write of a call whose response is the object."""
    found = answer.metadata
    name = where.name or found.name
    if not name or not found.uid or not found.resource_version:
        return None
    key = _key(where.namespace or found.namespace, name)
    if _is_removed(call, found) and not _is_emptied_first(where, response):
        return OwnWrite(where.resource, key, found.uid, None, "")
    replaced = _replaced_version(call, response)
    # The write changed nothing, so no event will follow.
    if replaced == found.resource_version:
        return None
    # A Scale has the name and version of the scaled object, but not its labels.
    labels = None if answer.kind == "Scale" else found.labels or {}
    return OwnWrite(where.resource, key, found.uid, replaced, found.resource_version, labels=labels)


def _key(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


def _is_removed(call: Call, found: _Metadata) -> bool:
    """Whether the server has removed the object: after its last finalizer, or without any."""
    if found.deletion_timestamp is None:
        # The response of some kinds, such as Service, has no deletion timestamp.
        return call.method == "DELETE"
    if found.finalizers:
        return False
    return call.method != "POST" and not found.deletion_grace_period_seconds


def _is_emptied_first(where: ObjectPath, response: Response) -> bool:
    """Whether the object is a namespace that is removed later, when it is empty. It has finalizers in its spec, too."""
    if where.resource != "namespaces":
        return False
    try:
        answer = typeinfo.decode_json(response.body, _NamespaceAnswer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return True
    # A response with metadata alone does not contain the spec.
    return answer.kind != "Namespace" or bool(answer.spec.finalizers)


def _replaced_version(call: Call, response: Response) -> str | None:
    """Return the version that a write replaced; empty for a creation, None if unknown."""
    if response.status == _CREATED:
        return ""
    if call.body is None or call.method not in {"PUT", "PATCH"}:
        return None
    try:
        # A JSON patch pins the version by a test operation.
        if call.content_type == PatchType.JSON:
            return _tested_version(typeinfo.decode_json(call.body, list[_Operation]))
        return typeinfo.decode_json(call.body, _Sent).metadata.resource_version or None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None  # such as an apply patch in YAML


def _tested_version(operations: list[_Operation]) -> str | None:
    for operation in operations:
        if (
            operation.op == "test"
            and operation.path == "/metadata/resourceVersion"
            and isinstance(operation.value, str)
        ):
            return operation.value
    return None
