"""Merge patches, applied as kube-apiserver applies them, and what all patches share.

Its library for merge patches departs from RFC 7386 in one place: the objects within lists lose their nulls,
too. Bodies come as bytes, since the message about a malformed one depends on them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

import msgspec

from masthead._meta.quoting import quoted
from masthead._schema.errors import format_value, invalid
from masthead_server.wire.failures import StatusFailure, bad_request, refused_fields
from masthead_server.wire.go_duplicates import duplicate_keys
from masthead_server.wire.go_json import (
    JsonError,
    decode,
    refused_kind,
    type_name,
    wrong_name,
    wrong_type,
)

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

__all__ = [
    "apply_merge_patch",
    "copy_json",
    "merge_patch_errors",
    "problem_with_kind",
    "refused_patch",
    "spelled",
]

_T = TypeVar("_T")


def apply_merge_patch(document: Plain, body: bytes, *, lenient: bool = False) -> Plain:
    """Apply a merge patch to a copy of an object.

    Args:
        document: The object in the client's version; it is not changed, and shares nothing with the result.
        body: The patch from the request.
        lenient: Whether field validation is ``Ignore``.

    Raises:
        StatusFailure: If the patch is malformed, or is not an object.
    """
    bad_patch = bad_request("Invalid JSON Patch")
    try:
        patch = decode(body)
    except JsonError as problem:
        raise bad_patch if lenient else bad_request(f"error decoding patch: {problem}") from None
    found = type_name(patch)
    if found == "object":
        return cast("Plain", _merge(copy_json(document), patch))
    if patch is None or (lenient and found != "array"):
        raise bad_patch
    if lenient:
        raise refused_patch(_prune_nulls(patch), wrong_type(patch))
    message = f"json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
    raise bad_request(f"error decoding patch: {message}")


def merge_patch_errors(body: bytes) -> list[str]:
    """List the errors of strict field validation in a merge patch that was applied."""
    return [f"duplicate field {quoted(path)}" for path in duplicate_keys(body, decode(body))]


def problem_with_kind(patched: Plain, kind: str, api_version: str) -> str:
    """Return the message about a patch that changed an object's kind; empty if it did not."""
    if problem := wrong_name(patched):
        return problem
    refusal = refused_kind(patched, b"", kind, api_version)
    if refusal is None:
        return ""
    # Patches have another frame around the same problem.
    return refusal.message.partition(f"cannot be handled as a {kind}: ")[2] or refusal.message


def refused_patch(patched: object, problem: str) -> StatusFailure:
    """The result of a patch is not an object of its kind."""
    if type_name(patched) == "object":
        patched = dict(sorted(cast("Plain", patched).items()))
    return refused_fields("", "", "", [invalid("patch", spelled(patched), problem)])


def copy_json(value: _T) -> _T:
    """Return a deep copy of decoded JSON."""
    # Many times faster than copy.deepcopy.
    return cast("_T", msgspec.json.decode(msgspec.json.encode(value)))


def spelled(value: object) -> str:
    """Write a scalar as JSON; a number with a point keeps the point, which Go's own encoder would drop."""
    return repr(value) if isinstance(value, float) else format_value([value])[1:-1]


def _merge(target: object, patch: object) -> object:
    # RFC 7386: a target that is no object counts as an empty one, and nulls of the patch have nothing to remove.
    if not isinstance(target, dict):
        return _prune_nulls(patch)
    if not isinstance(patch, dict):
        return patch
    result = cast("Plain", target)
    for key, value in cast("Plain", patch).items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merge(result.get(key), value)
    return result


def _prune_nulls(value: object) -> object:
    """Remove null members of objects at any depth; lists keep theirs."""
    if isinstance(value, dict):
        return {key: _prune_nulls(member) for key, member in cast("Plain", value).items() if member is not None}
    if isinstance(value, list):
        return [_prune_nulls(item) for item in cast("list[object]", value)]
    return value
