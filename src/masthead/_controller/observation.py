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

__all__ = ["ObjectPath", "own_write_of", "parse_path"]

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


class _Details(msgspec.Struct):
    uid: str = ""


class _Answer(msgspec.Struct):
    """What a response says of an object, or a Status of one that is gone."""

    kind: str = ""
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    details: _Details | None = None


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


def own_write_of(call: Call, response: Response) -> OwnWrite | None:
    """The write that a call has made; None if it has made none that a cache could show."""
    if any(name == "dryRun" for name, _ in call.query):
        return None
    where = parse_path(call.path)
    if where is None or (call.method == "DELETE" and not where.name):
        return None
    try:
        answer = typeinfo.decode_json(response.body, _Answer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if answer.kind == "Status":
        return _removal(call, where, answer)
    return _write(call, response, where, answer.metadata)


def _removal(call: Call, where: ObjectPath, answer: _Answer) -> OwnWrite | None:
    """The write of a delete that was answered with a Status."""
    uid = answer.details.uid if answer.details is not None else ""
    if call.method != "DELETE" or not uid:
        return None
    return OwnWrite(where.resource, _key(where.namespace, where.name), uid, None, "")


def _write(call: Call, response: Response, where: ObjectPath, found: _Metadata) -> OwnWrite | None:
    """The write of a call that was answered with the object."""
    name = where.name or found.name
    if not name or not found.uid or not found.resource_version:
        return None
    key = _key(where.namespace or found.namespace, name)
    if _is_removed(call, found):
        return OwnWrite(where.resource, key, found.uid, None, "")
    replaced = _replaced_version(call, response)
    # The write has changed nothing, and there will be no event.
    if replaced == found.resource_version:
        return None
    return OwnWrite(where.resource, key, found.uid, replaced, found.resource_version)


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
    for each in operations:
        if each.op == "test" and each.path == "/metadata/resourceVersion" and isinstance(each.value, str):
            return each.value
    return None
