"""Reads own writes off the requests and responses of the REST client."""

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
    """What a response says of an object, or a Status of one that is gone."""

    kind: str = ""
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    details: _Details | None = None


class _Item(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _Collection(msgspec.Struct):
    """The objects of a collection as they were before they were deleted."""

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
    """What a path of the API addresses.

    Attributes:
        resource: The resource, such as ``deployments.apps``.
        namespace: Empty for a cluster-scoped resource.
        name: Empty for a collection.
    """

    resource: str
    namespace: str
    name: str


def parse_path(path: str) -> ObjectPath | None:
    """Parse the path of a call; None if it is not the path of a resource."""
    parts = [unquote(each) for each in path.strip("/").split("/")]
    match parts:
        case ["api", _, *rest]:
            group = ""
        case ["apis", group, _, *rest]:
            pass
        case _:
            return None
    namespace = ""
    # The subresources of a namespace look like the collections of resources in it.
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in _NAMESPACE_SUBRESOURCES:
        namespace, rest = rest[1], rest[2:]
    if not rest or not rest[0]:
        return None
    resource = f"{rest[0]}.{group}" if group else rest[0]
    return ObjectPath(resource, namespace, rest[1] if len(rest) > 1 else "")


def own_writes_of(call: Call, response: Response) -> list[OwnWrite]:
    """The writes that a call has made, as far as a cache could show them: one, or the deletions of a collection."""
    where = parse_path(call.path)
    if where is None or _is_dry_run(call):
        return []
    try:
        if call.method == "DELETE" and not where.name:
            return _deletions(where, typeinfo.decode_json(response.body, _Collection))
        answer = typeinfo.decode_json(response.body, _Answer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    is_removal = answer.kind == "Status"
    found = _removal(call, where, answer) if is_removal else _write(call, response, where, answer)
    return [] if found is None else [found]


def _is_dry_run(call: Call) -> bool:
    """Whether a call changes nothing. A delete says so in its body."""
    if any(name == "dryRun" for name, _ in call.query):
        return True
    if call.method != "DELETE" or call.body is None:
        return False
    try:
        return bool(typeinfo.decode_json(call.body, _DeleteOptions).dry_run)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def _deletions(where: ObjectPath, found: _Collection) -> list[OwnWrite]:
    """The deletions of a collection, whose response has the objects as they were before."""
    return [
        OwnWrite(
            where.resource,
            _key(each.namespace, each.name),
            each.uid,
            None,
            each.resource_version,
            is_deletion=True,
        )
        for each in (item.metadata for item in found.items)
        if each.name and each.uid and each.resource_version
    ]


def _removal(call: Call, where: ObjectPath, answer: _Answer) -> OwnWrite | None:
    """The write of a delete that was answered with a Status."""
    uid = answer.details.uid if answer.details is not None else ""
    if call.method != "DELETE" or not uid:
        return None
    return OwnWrite(where.resource, _key(where.namespace, where.name), uid, None, "")


def _write(call: Call, response: Response, where: ObjectPath, answer: _Answer) -> OwnWrite | None:
    """The write of a call that was answered with the object."""
    found = answer.metadata
    name = where.name or found.name
    if not name or not found.uid or not found.resource_version:
        return None
    key = _key(where.namespace or found.namespace, name)
    if _is_removed(call, found) and not _is_emptied_first(where, response):
        return OwnWrite(where.resource, key, found.uid, None, "")
    replaced = _replaced_version(call, response)
    # The write has changed nothing, and there will be no event.
    if replaced == found.resource_version:
        return None
    # A Scale has the name and the version of the object that was scaled, but not its labels.
    labels = None if answer.kind == "Scale" else found.labels or {}
    return OwnWrite(where.resource, key, found.uid, replaced, found.resource_version, labels=labels)


def _key(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


def _is_removed(call: Call, found: _Metadata) -> bool:
    """Whether the object is gone: its last finalizer was removed, or it was deleted at once."""
    if found.deletion_timestamp is None:
        # Some kinds, such as Service, answer with the object as it was.
        return call.method == "DELETE"
    if found.finalizers:
        return False
    return call.method != "POST" and not found.deletion_grace_period_seconds


def _is_emptied_first(where: ObjectPath, response: Response) -> bool:
    """Whether the object is a namespace that stays until it is empty. Its finalizers are in the spec, too."""
    if where.resource != "namespaces":
        return False
    try:
        answer = typeinfo.decode_json(response.body, _NamespaceAnswer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return True
    # A response with the metadata alone does not say.
    return answer.kind != "Namespace" or bool(answer.spec.finalizers)


def _replaced_version(call: Call, response: Response) -> str | None:
    """The version that a write replaced; empty if it created the object, None if it does not say."""
    if response.status == _CREATED:
        return ""
    if call.body is None or call.method not in {"PUT", "PATCH"}:
        return None
    try:
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
