"""Request bodies: decoded from JSON, YAML or protobuf, and checked against the schema of their kind."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from masthead._meta.quoting import quoted
from masthead_server.resources.codec import KindDecoder
from masthead_server.resources.go_decoder import Mismatch
from masthead_server.wire import go_json
from masthead_server.wire.apply_configuration import decode_configuration
from masthead_server.wire.body_limits import is_costly, is_costly_yaml, is_slow_yaml
from masthead_server.wire.failures import StatusFailure, bad_request
from masthead_server.wire.go_duplicates import duplicate_keys, pairs_of
from masthead_server.wire.go_yaml import decode_yaml
from masthead_server.wire.request import APPLY_PATCH_TYPE, JSON_TYPE, YAML_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.resources.codec import Decoder
    from masthead_server.wire.go_yaml import YamlDocument
    from masthead_server.wire.options import WriteOptions
    from masthead_server.wire.plain import Plain
    from masthead_server.wire.request import ApiRequest

    RefusalFactory: TypeAlias = Callable[[Plain, str], StatusFailure]

__all__ = [
    "decode",
    "drop_unknown",
    "is_large",
    "is_slow",
    "media_type",
    "read_ahead",
    "read_options",
    "yaml_document",
    "yaml_problems",
]

_NUMBER: Final = "cannot unmarshal number "
_NUMERAL: Final = re.compile("(?<=number) [^ ]+(?= into )")
_YAML_TYPES: Final = frozenset({YAML_TYPE, APPLY_PATCH_TYPE})


def decode(request: ApiRequest, decoder: Decoder, options: WriteOptions, *, older: tuple[str, ...] = ()) -> Plain:
    """Decode the object that a request brings, without the fields that its kind does not have.

    Args:
        request: The request.
        decoder: Decodes the kind.
        options: How strict to be; warnings are added to them.
        older: Further versions of the same shape that are accepted.

    Raises:
        StatusFailure: If it cannot be read, is of another kind, or has unknown fields and the client is
            strict.
    """
    gvk, sent_as = decoder.gvk, media_type(request)
    if sent_as == YAML_TYPE and request.document is None:
        request = read_ahead(request)
    body = _read(request, sent_as, gvk.kind, gvk.api_version, older)

    def refuse(found: Plain, problem: str) -> StatusFailure:
        # Python's decoder has lost how a number was written, which Go's message repeats.
        if _NUMBER in problem and sent_as == JSON_TYPE:
            exact = _exact_problem(request, decoder)
            # With duplicate keys, it may be about another value.
            problem = exact if _NUMERAL.sub("", exact) == _NUMERAL.sub("", problem) else problem
        kind = found.get("kind") or gvk.kind  # a custom resource of another kind is refused for that later
        return bad_request(f'{kind} in version "{gvk.version}" cannot be handled as a {kind}: {problem}')

    problems: list[str] = []
    # kube-apiserver has no strict decoder for protobuf; it looks for duplicates only in JSON and YAML.
    if sent_as == YAML_TYPE:
        return drop_unknown(body, decoder, options, yaml_problems(yaml_document(request), options), refuse)
    if sent_as == JSON_TYPE:
        try:
            body, problems = _merge_duplicates(request, body, decoder)
        except Mismatch as error:
            raise refuse(body, str(error)) from None
    return drop_unknown(body, decoder, options, problems, refuse)


def drop_unknown(
    body: Plain, decoder: Decoder, options: WriteOptions, problems: list[str], refuse: RefusalFactory
) -> Plain:
    """Drop the fields that a kind does not have, and report them as strictly as the client's field validation.

    Args:
        body: The object.
        decoder: Decodes its kind.
        options: How strict to be; warnings are added to them.
        problems: What strict validation has found already.
        refuse: Makes the failure, given the object and the message.

    Raises:
        StatusFailure: If a field has the wrong type, or if the client is strict and there are problems.
    """
    options.documents[:] = [body]
    try:
        found, unknown = decoder.decode(body)
    except Mismatch as error:
        raise refuse(body, str(error)) from None
    if options.field_validation != "Ignore":
        problems = [*problems, *(f"unknown field {quoted(path)}" for path in unknown)]
        # All problems make one refusal, where Warn gives one warning for each.
        if problems and options.field_validation == "Strict":
            raise refuse(body, f"strict decoding error: {', '.join(problems)}")
        options.warnings.extend(problems)
    return found


def read_options(request: ApiRequest) -> Plain | None:
    """Decode the DeleteOptions in a body; None if there is no body.

    Raises:
        StatusFailure: If they cannot be read.
    """
    if not request.body:
        return None
    options = _read(request, media_type(request), "DeleteOptions", "meta.k8s.io/v1")
    go_json.check_delete_options(options)
    return options


def is_slow(request: ApiRequest) -> bool:
    """Whether a body takes too long to decode in the event loop: YAML of some length."""
    return is_slow_yaml(request.body) and media_type(request) in _YAML_TYPES


def is_large(request: ApiRequest) -> bool:
    """Whether a body has so many values that work on each of them would hold the event loop."""
    body = request.body
    if is_costly(body):
        return True
    return media_type(request) in _YAML_TYPES and is_costly_yaml(body)


def read_ahead(request: ApiRequest) -> ApiRequest:
    """Parse a body before its kind is known; safe in any thread. Its errors are raised when it is decoded."""
    return replace(request, document=_document_of(request))


def peek(request: ApiRequest) -> Plain | None:
    """Parse JSON or YAML ahead of its decoding, in any thread; None for other, invalid or too large bodies."""
    try:
        is_yaml = media_type(request) in _YAML_TYPES
        found = yaml_document(request).value if is_yaml else go_json.decode(request.body)
    except (go_json.JsonError, StatusFailure):
        return None
    return cast("Plain", found) if isinstance(found, dict) else None


def yaml_document(request: ApiRequest) -> YamlDocument:
    """Return the document of a body that is YAML.

    Raises:
        JsonError: If it is not YAML.
        StatusFailure: If it is larger than a body may be.
    """
    return (request.document or _document_of(request))()


def _document_of(request: ApiRequest) -> Callable[[], YamlDocument]:
    """Parse YAML; returns what gives the document or raises the error."""
    decode = decode_configuration if media_type(request) == APPLY_PATCH_TYPE else decode_yaml
    try:
        found = decode(request.body)
    except (go_json.JsonError, StatusFailure) as error:
        problem = error

        def fail() -> YamlDocument:
            raise problem

        return fail
    return lambda: found


def media_type(request: ApiRequest) -> str:
    """The media type of a body; JSON by default."""
    return request.headers.get("content-type", JSON_TYPE).partition(";")[0].strip().lower() or JSON_TYPE


def _read(request: ApiRequest, sent_as: str, kind: str, api_version: str, older: tuple[str, ...] = ()) -> Plain:
    match sent_as:
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
    document = _as_object(found)
    version = document.get("apiVersion")
    # Nearly every client sends both, and the right ones.
    if document.get("kind") == kind and (version == api_version or version in older):
        return document
    if refusal := go_json.refused_kind(found, request.body, kind, api_version):
        raise refusal
    return document


def _as_object(found: object) -> Plain:
    return cast("Plain", found) if isinstance(found, dict) else {}


def _read_json(body: bytes, kind: str) -> object:
    try:
        return go_json.decode(body)
    except go_json.JsonError as problem:
        raise go_json.malformed(body, kind, problem) from None


def _read_yaml(request: ApiRequest, kind: str) -> object:
    try:
        return yaml_document(request).value
    except go_json.JsonError as problem:
        raise go_json.malformed(request.body, kind, problem) from None


def _read_protobuf(body: bytes, kind: str, api_version: str) -> object:
    from masthead_server.wire import protobuf

    try:
        return protobuf.decode(body, (api_version, kind))
    except protobuf.ProtobufError as error:
        message = f"the object provided is unrecognized (must be of type {kind}): {error}"
        raise bad_request(message) from None


def _exact_problem(request: ApiRequest, decoder: Decoder) -> str:
    """Return Go's message about a number, with the literal of the body; empty if Go accepts all numbers."""
    from masthead_server.resources.go_values import NumberLiteral

    try:
        decoder.decode(cast("Plain", json.loads(request.body, parse_float=NumberLiteral)))
    except Mismatch as error:
        return str(error)
    except (ValueError, RecursionError):
        pass
    return ""


def yaml_problems(document: YamlDocument, options: WriteOptions) -> list[str]:
    """List the duplicate keys of YAML, which kube-apiserver puts together in one error, and apart in warnings."""
    problems = [
        f"line {duplicate.line}: key {quoted(duplicate.key)} already set in map" for duplicate in document.duplicates
    ]
    if not problems or options.field_validation != "Strict":
        return problems
    return ["yaml: unmarshal errors:" + "".join(f"\n  {problem}" for problem in problems)]


def _merge_duplicates(request: ApiRequest, body: Plain, decoder: Decoder) -> tuple[Plain, list[str]]:
    """Merge the values of duplicate keys; returns the object and what strict validation has found in doing so."""
    pairs = pairs_of(request.body, body)
    if pairs is None:
        return body, []
    # Go's structs merge duplicate objects field by field; maps and unstructured objects do not.
    if isinstance(decoder, KindDecoder):
        from masthead_server.resources.go_merge import merge_duplicates

        return merge_duplicates(decoder.decoder.root, pairs)
    # A custom resource is no struct: there, the last value counts.
    return body, [f"duplicate field {quoted(path)}" for path in duplicate_keys(request.body, body)]
