"""Request bodies: from bytes in one of three formats to an object as the server keeps it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from masthead._server.resources.defaults import apply_defaults
from masthead._server.resources.schema import Mismatch, schema_of
from masthead._server.wire import go_json
from masthead._server.wire.failures import StatusFailure, bad_request
from masthead._server.wire.go_yaml import decode_yaml
from masthead._server.wire.limits import BODY_LIMIT
from masthead._server.wire.request import JSON_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._meta.apitype import ApiType
    from masthead._meta.object import Object
    from masthead._server.resources.resource import ServedResource
    from masthead._server.wire.options import WriteOptions
    from masthead._server.wire.plain import Plain
    from masthead._server.wire.request import ApiRequest

    RefusalFactory: TypeAlias = Callable[[Plain, str], StatusFailure]

__all__ = [
    "BODY_LIMIT",
    "clean",
    "finish",
    "is_slow",
    "media_type",
    "read_ahead",
    "read_object",
    "read_options",
    "read_part",
]

PROTOBUF_TYPE: Final = "application/vnd.kubernetes.protobuf"
YAML_TYPE: Final = "application/yaml"
_QUICK_YAML: Final = 8 * 1024
"""Bytes of YAML that are read in a moment; it can take a hundred times longer than JSON."""


def read_object(request: ApiRequest, served: ServedResource, options: WriteOptions) -> Plain:
    """Read the object that a request brings, in its stored shape and with its defaults.

    Raises:
        StatusFailure: It cannot be read, is of another kind, or has fields that its kind has not and the client is strict.
    """
    return finish(read_part(request, served.cls, options), served)


def read_part(
    request: ApiRequest, cls: type[Object], options: WriteOptions, *, older: tuple[str, ...] = ()
) -> Plain:
    """Read an object of any kind, such as a Scale; it gets no defaults.

    Args:
        request: What brings it.
        cls: Its kind.
        options: How strict to be; warnings go there.
        older: Versions of the same shape that it may be of as well.

    Raises:
        StatusFailure: As for `read_object`.
    """
    gvk = cls.GVK
    body = _read(request, gvk.kind, gvk.api_version, older)
    twice: list[str] = []
    if options.field_validation != "Ignore" and media_type(request) != PROTOBUF_TYPE:
        twice = [f'duplicate field "{path}"' for path in _duplicates(request, body)]

    def refuse(_: Plain, problem: str) -> StatusFailure:
        return bad_request(
            f'{gvk.kind} in version "{gvk.version}" cannot be handled as a {gvk.kind}: {problem}'
        )

    return clean(body, cls, options, twice, refuse)


def clean(
    body: Plain, cls: type[Object], options: WriteOptions, said: list[str], refuse: RefusalFactory
) -> Plain:
    """Drop what a kind does not have, and complain of it as the client wishes.

    Args:
        body: The object.
        cls: Its kind.
        options: How strict to be; warnings go there.
        said: What is already known to be wrong with it.
        refuse: Makes the refusal.

    Raises:
        StatusFailure: A field has the wrong type, or the client is strict and there is something to complain of.
    """
    try:
        found, unknown = schema_of(cast("ApiType", cls)).clean(body)
    except Mismatch as error:
        raise refuse(body, str(error)) from None
    if options.field_validation != "Ignore":
        said = [*said, *(f'unknown field "{path}"' for path in unknown)]
        if said and options.field_validation == "Strict":
            raise refuse(body, f"strict decoding error: {', '.join(said)}")
        options.warnings.extend(said)
    return found


def finish(found: Plain, served: ServedResource) -> Plain:
    """Give a clean object its defaults, and the shape in which it is stored."""
    apply_defaults(served.group, served.version, served.kind, found)
    return served.to_storage(found)


def read_options(request: ApiRequest) -> Plain | None:
    """Read the options that a deletion brings in its body; None if there is no body.

    Raises:
        StatusFailure: They cannot be read.
    """
    if not request.body:
        return None
    options = _read(request, "DeleteOptions", "meta.k8s.io/v1")
    go_json.check_delete_options(options)
    return options


def is_slow(request: ApiRequest) -> bool:
    """Whether a body takes so long to read that nobody should wait for it in the meantime: YAML of some length."""
    return len(request.body) > _QUICK_YAML and media_type(request) == YAML_TYPE


def read_ahead(request: ApiRequest) -> ApiRequest:
    """Read a body before it is known what it should be; safe in any thread. What is wrong with it is said later."""
    return replace(request, document=_document_of(request.body))


def _document_of(body: bytes) -> Callable[[], object]:
    """Read YAML; returns what gives the document, or raises what was raised."""
    try:
        found = decode_yaml(body)
    except (go_json.JsonError, StatusFailure) as error:
        problem = error

        def fail() -> object:
            raise problem

        return fail
    return lambda: found


def media_type(request: ApiRequest) -> str:
    """The format of a body; JSON if nothing is said."""
    return request.headers.get("content-type", JSON_TYPE).partition(";")[0].strip().lower() or JSON_TYPE


def _read(request: ApiRequest, kind: str, api_version: str, older: tuple[str, ...] = ()) -> Plain:
    match media_type(request):
        case "application/json":
            found = _read_json(request.body, kind)
        case "application/yaml":
            found = _read_yaml(request, kind)
        case "application/vnd.kubernetes.protobuf":
            found = _read_protobuf(request.body, kind, api_version)
        case _:
            raise StatusFailure(
                415,
                "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include: application/json, "
                "application/yaml, application/vnd.kubernetes.protobuf",
            )
    said = _as_object(found)
    version = said.get("apiVersion")
    if said.get("kind") == kind and (version == api_version or version in older):
        return said
    if refusal := go_json.refused_kind(found, request.body, kind, api_version):
        raise refusal
    return said


def _as_object(found: object) -> Plain:
    return cast("Plain", found) if isinstance(found, dict) else {}


def _read_json(body: bytes, kind: str) -> object:
    try:
        return go_json.decode(body)
    except go_json.JsonError as problem:
        raise go_json.malformed(body, kind, problem) from None


def _read_yaml(request: ApiRequest, kind: str) -> object:
    try:
        return (request.document or _document_of(request.body))()
    except go_json.JsonError as problem:
        raise go_json.malformed(request.body, kind, problem) from None


def _read_protobuf(body: bytes, kind: str, api_version: str) -> object:
    from masthead._server.wire import protobuf

    try:
        return protobuf.decode(body, (api_version, kind))
    except protobuf.ProtobufError as error:
        message = f"the object provided is unrecognized (must be of type {kind}): {error}"
        raise bad_request(message) from None


def _duplicates(request: ApiRequest, body: Plain) -> list[str]:
    if media_type(request) == YAML_TYPE:
        return []
    return go_json.duplicate_keys(request.body, body)
