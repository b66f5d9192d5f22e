"""Objects in the version that a webhook or a policy asks for: converted, encoded, and decoded after a patch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import msgspec

from masthead._meta.gvk import GroupVersionKind
from masthead._meta.quoting import quoted
from masthead_server import scheme
from masthead_server.resources.codec import KindDecoder
from masthead_server.resources.custom.codec import SchemaCodec
from masthead_server.resources.custom.conversions import Conversions
from masthead_server.resources.custom.object_metadata import drop_invalid_metadata
from masthead_server.resources.go_values import Mismatch
from masthead_server.wire import go_json
from masthead_server.wire.failures import StatusFailure, internal_error
from masthead_server.wire.plain import Plain, text

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.admission.matching import Match
    from masthead_server.resources.resource import ServedResource

__all__ = ["convert_object", "decode_object", "encode_object"]

_IDENTITY: Final = frozenset({"apiVersion", "kind"})
_SCHEME: Final = "pkg/api/legacyscheme/scheme.go:30"


async def encode_object(attributes: AdmissionAttributes, match: Match, found: Plain | None) -> bytes:
    """Encode an object of a request as a webhook gets it; ``null`` without one.

    Args:
        attributes: The request.
        match: The resource and kind that the webhook asks for.
        found: The object, in the stored shape.

    Raises:
        StatusFailure: If it cannot be converted.
    """
    if found is None:
        return b"null"
    converted = await convert_object(attributes, match, found)
    # The kind of a subresource, such as Eviction, has no codec.
    if match.kind != match.served.gvk:
        return msgspec.json.encode(converted)
    return match.served.codec.encode({key: value for key, value in converted.items() if key not in _IDENTITY})


async def convert_object(attributes: AdmissionAttributes, match: Match, found: Plain) -> Plain:
    """Convert an object of a request to the version that a webhook or a policy asks for; parts of it may be shared.

    Args:
        attributes: The request.
        match: The resource and kind that it asks for.
        found: The object, in the stored shape.

    Raises:
        StatusFailure: If it cannot be converted.
    """
    served, kind = match.served, match.kind
    if kind != served.gvk:
        pass
    elif served is not attributes.served and isinstance(served.codec, SchemaCodec):
        found = await _convert_custom(served.codec, found, attributes.served, served)
    elif served.has_own_shape and isinstance(served.codec, KindDecoder):
        # With the fields that Go writes even if they are unset.
        found, _ = served.codec.decoder.clean(served.from_storage(_copy(found)))
    return {"kind": kind.kind, "apiVersion": kind.api_version, **found}


async def decode_object(
    attributes: AdmissionAttributes, match: Match, patched: object, *, is_strict: bool = False
) -> Plain:
    """Decode an object after the patch of a webhook or a policy, with its defaults, in the stored shape.

    Args:
        attributes: The request.
        match: The resource and kind that the webhook or policy asks for.
        patched: The object after the patch.
        is_strict: Whether a built-in kind must not have unknown fields.

    Raises:
        StatusFailure: If it is no object of its kind.
    """
    served, kind = match.served, match.kind
    if problem := go_json.wrong_type(patched) or go_json.wrong_name(cast("Plain", patched or {})):
        raise internal_error(problem)
    found = cast("Plain", patched or {})
    try:
        if isinstance(served.codec, SchemaCodec) and kind == served.gvk:
            decoded = _decode_custom(served, found)
        elif kind == served.gvk:
            _check_kind(found, kind)
            decoded, unknown = served.codec.decode(found)
            if is_strict and unknown:
                fields = ", ".join(f"unknown field {quoted(path)}" for path in unknown)
                raise internal_error(f"strict decoding error: {fields}")
        else:
            return _decode_subresource(found, kind)
    except Mismatch as error:
        raise internal_error(str(error)) from None
    served.apply_defaults(decoded)
    if served is not attributes.served and isinstance(served.codec, SchemaCodec):
        return await _convert_custom(served.codec, decoded, served, attributes.served)
    return served.to_storage(decoded)


def _decode_custom(served: ServedResource, found: Plain) -> Plain:
    if problem := served.codec.kind_problem(dict(sorted(found.items()))):
        raise internal_error(problem)
    api_version = text(found, "apiVersion")
    if api_version.rpartition("/")[0] != served.group:
        problem = f"{api_version}, Kind={text(found, 'kind')} is unstructured and is not suitable for converting"
        raise StatusFailure(500, "", f"{problem} to {quoted(served.api_version)}")
    if "metadata" in found:
        found["metadata"] = drop_invalid_metadata(found["metadata"])
    return served.codec.decode(found)[0]


def _decode_subresource(found: Plain, kind: GroupVersionKind) -> Plain:
    _check_kind(found, kind)
    # The options of a connection are of no class: they come from a query, and are never stored.
    if not scheme.is_registered(kind):
        return {name: value for name, value in found.items() if name not in _IDENTITY}
    return KindDecoder(scheme.object_class(kind)).decode(found)[0]


def _check_kind(found: Plain, expected: GroupVersionKind) -> None:
    """Refuse a patch that made an object of another kind; a missing kind is the expected one."""
    api_version = text(found, "apiVersion") or expected.api_version
    group, _, version = api_version.rpartition("/")
    if "/" in group:
        raise internal_error(f"unexpected GroupVersion string: {api_version}")
    actual = GroupVersionKind(group, version, text(found, "kind") or expected.kind)
    if actual == expected:
        return
    if not scheme.is_registered(actual):
        wanted = f"no kind {quoted(actual.kind)} is registered for version {quoted(actual.api_version)}"
        raise internal_error(f"{wanted} in scheme {quoted(_SCHEME)}")
    # Go decodes whatever kind it finds, and fails when it converts the result to its internal type.
    KindDecoder(scheme.object_class(actual)).decode(found)
    package = expected.group.partition(".")[0] or "core"
    problem = f"converting ({actual.version}.{actual.kind}) to ({package}.{expected.kind}): unknown conversion"
    raise StatusFailure(500, "", problem)


async def _convert_custom(codec: SchemaCodec, found: Plain, source: ServedResource, target: ServedResource) -> Plain:
    return await Conversions().run(codec.convert, _copy(found), source.api_version, target.api_version)


def _copy(found: Plain) -> Plain:
    return cast("Plain", msgspec.json.decode(msgspec.json.encode(found)))
