"""Request bodies: from bytes in one of three formats to an object as the server keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from masthead.server import go_json
from masthead.server.failures import Failure, bad_request
from masthead.server.kinds.defaults import apply_defaults
from masthead.server.request import JSON_TYPE
from masthead.server.schema import Mismatch, schema_of

if TYPE_CHECKING:
    from masthead.meta.apitype import ApiType
    from masthead.meta.object import Object
    from masthead.server.catalog import Served
    from masthead.server.options import WriteOptions
    from masthead.server.plain import Plain
    from masthead.server.request import Request

__all__ = ["BODY_LIMIT", "ReadBody", "read_object", "read_options", "read_part", "tidy"]

BODY_LIMIT: Final = 3 * 1024 * 1024
"""Bytes; what is longer is refused unread."""
PROTOBUF_TYPE: Final = "application/vnd.kubernetes.protobuf"
YAML_TYPE: Final = "application/yaml"


class ReadBody:
    """An object that was read, and what to warn the client of.

    Attributes:
        found: The object in its stored shape, with its defaults.
        warnings: For the client.
    """

    __slots__ = ("found", "warnings")

    def __init__(self, found: Plain, warnings: list[str]) -> None:
        self.found = found
        self.warnings = warnings


def read_object(request: Request, served: Served, options: WriteOptions) -> ReadBody:
    """Read the object that a request brings.

    Raises:
        Failure: It cannot be read, is of another kind, or has fields that its kind has not and the client is strict.
    """
    body, complaints = _read_kind(request, served.cls, options)
    return tidy(body, served, options, complaints)


def read_part(request: Request, cls: type[Object], options: WriteOptions) -> ReadBody:
    """Read an object of a kind that is not the resource's own, such as a Scale; it gets no defaults.

    Raises:
        Failure: As for `read_object`.
    """
    body, complaints = _read_kind(request, cls, options)
    return ReadBody(*clean(body, cls, options, complaints))


def tidy(body: Plain, served: Served, options: WriteOptions, complaints: list[str] | None = None) -> ReadBody:
    """Bring an object into the shape in which it is stored, with its defaults.

    Args:
        body: The object, of the version that `served` is.
        served: Its resource.
        options: How strict to be about fields that the kind does not have.
        complaints: What is already known to be wrong with it.

    Raises:
        Failure: A field has the wrong type, or the client is strict and there is something to complain of.
    """
    found, warnings = clean(body, served.cls, options, complaints or [])
    apply_defaults(served.group, served.version, served.kind, found)
    return ReadBody(served.to_storage(found), warnings)


def clean(
    body: Plain, cls: type[Object], options: WriteOptions, complaints: list[str]
) -> tuple[Plain, list[str]]:
    """Drop what the kind does not have; returns the object and what to warn the client of.

    Raises:
        Failure: As for `tidy`.
    """
    gvk = cls.GVK
    try:
        found, unknown = schema_of(cast("ApiType", cls)).clean(body)
    except Mismatch as error:
        raise _handled(gvk.kind, gvk.version, str(error)) from None
    if options.field_validation == "Ignore":
        return found, []
    said = [*complaints, *(f'unknown field "{path}"' for path in unknown)]
    if said and options.field_validation == "Strict":
        raise _handled(gvk.kind, gvk.version, f"strict decoding error: {', '.join(said)}")
    return found, said


def read_options(request: Request) -> Plain | None:
    """Read the options that a deletion brings in its body; None if there is no body.

    Raises:
        Failure: They cannot be read.
    """
    if not request.body:
        return None
    return _read(request, "DeleteOptions", "meta.k8s.io/v1")


def media_type(request: Request) -> str:
    """The format of a body; JSON if nothing is said."""
    return request.headers.get("content-type", JSON_TYPE).partition(";")[0].strip().lower() or JSON_TYPE


def _read(request: Request, kind: str, api_version: str) -> Plain:
    match media_type(request):
        case "application/json":
            return _read_json(request.body, kind, api_version)
        case "application/yaml":
            return _read_yaml(request.body, kind, api_version)
        case "application/vnd.kubernetes.protobuf":
            return _read_protobuf(request.body, kind)
        case _:
            raise Failure(
                415,
                "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include: application/json, "
                "application/yaml, application/vnd.kubernetes.protobuf",
            )


def _read_json(body: bytes, kind: str, api_version: str) -> Plain:
    try:
        found = go_json.decode(body)
    except go_json.JsonError:
        raise go_json.unreadable(body, kind, api_version, JSON_TYPE) from None
    if not isinstance(found, dict):
        raise go_json.unreadable(body, kind, api_version, JSON_TYPE)
    return cast("Plain", found)


def _read_yaml(body: bytes, kind: str, api_version: str) -> Plain:
    from masthead.errors import MastheadError
    from masthead.meta import yaml

    try:
        found = yaml.load_one(body.decode())
    except (MastheadError, ValueError):
        raise go_json.unreadable(body, kind, api_version, YAML_TYPE) from None
    if not isinstance(found, dict):
        raise go_json.unreadable(body, kind, api_version, YAML_TYPE)
    return cast("Plain", found)


def _read_protobuf(body: bytes, kind: str) -> Plain:
    from masthead.server import protobuf

    try:
        return protobuf.decode(body)
    except protobuf.ProtobufError as error:
        message = f"the object provided is unrecognized (must be of type {kind}): {error}"
        raise bad_request(message) from None


def _read_kind(request: Request, cls: type[Object], options: WriteOptions) -> tuple[Plain, list[str]]:
    kind, api_version = cls.GVK.kind, cls.GVK.api_version
    body = _read(request, kind, api_version)
    if body.get("kind", kind) != kind or body.get("apiVersion", api_version) != api_version:
        raise go_json.unreadable(request.body, kind, api_version, media_type(request))
    if options.field_validation == "Ignore" or media_type(request) != JSON_TYPE:
        return body, []
    return body, [f'duplicate field "{path}"' for path in go_json.duplicate_keys(request.body, body)]


def _handled(kind: str, version: str, problem: str) -> Failure:
    return bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {problem}')
