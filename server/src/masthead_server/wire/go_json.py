"""JSON as Go decodes it, and kube-apiserver's messages about a body that it cannot decode.

msgspec decodes well-formed documents. This module has the documents that Go accepts and msgspec does not, and the exact
messages for a body that is no object of the expected kind.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, cast

import msgspec

from masthead._meta.gvk import GroupVersionKind
from masthead._meta.quoting import quoted
from masthead._schema.errors import format_value
from masthead_server import scheme
from masthead_server.wire.body_limits import (
    LongNumberError,
    count_values,
    may_nest_too_deeply,
    nests_too_deeply,
    refuse_long_numbers,
    refuse_many_values,
)
from masthead_server.wire.failures import bad_request
from masthead_server.wire.go_scanner import JsonError, problem_with

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.wire.failures import StatusFailure
    from masthead_server.wire.plain import Plain

__all__ = [
    "JsonError",
    "check_delete_options",
    "decode",
    "malformed",
    "problem_with",
    "refused_kind",
    "type_name",
    "wrong_name",
    "wrong_type",
]


def decode(data: bytes) -> object:
    """Decode a document that Go would decode.

    Unlike msgspec it accepts, as Go does, bytes that are not UTF-8 and halves of surrogate pairs, and
    replaces them with U+FFFD.

    Raises:
        JsonError: If it is not JSON.
        StatusFailure: If it has too many values.
    """
    refuse_many_values(data)
    try:
        refuse_long_numbers(data)
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, LongNumberError) as error:
        if problem := _problem_with_body(data, error):
            raise JsonError(problem) from None
        found = _decode_as_go(data)
    if may_nest_too_deeply(data) and nests_too_deeply(found):
        # differs from Go, whose limit is 10,000: no object of the API is as deep.
        raise JsonError(_TOO_DEEP)
    return found


def _problem_with_body(data: bytes, error: Exception) -> str:
    """Return Go's message about a document; empty if Go would decode it."""
    # The scanner in Python is slow; a hostile body must not occupy the server for long.
    if len(data) <= _MAX_SCANNED_BYTES and count_values(data) <= _MAX_SCANNED_VALUES:
        problem = problem_with(data)
    elif isinstance(error, RecursionError):
        problem = _TOO_DEEP
    else:
        # differs from Go in the message, unless the end is missing: finding the error takes too long here.
        problem = _END_MISSING if _TRUNCATED in str(error) else ""
        if not problem and not isinstance(error, UnicodeDecodeError | LongNumberError):
            problem = str(error)
    return problem or (_beyond_float(str(error)) if isinstance(error, LongNumberError) else "")


_MAX_SCANNED_BYTES: Final = 1024 * 1024
_MAX_SCANNED_VALUES: Final = 20_000
"""Bytes and values of a body that is scanned byte by byte for Go's message."""
_TRUNCATED: Final = "truncated"
_END_MISSING: Final = "unexpected end of JSON input"
_TOO_DEEP: Final = "exceeded max depth"


def _decode_as_go(data: bytes) -> object:
    try:
        return _repair_surrogates(json.loads(data.decode("utf-8", "replace"), parse_float=_finite))
    except RecursionError:
        raise JsonError(_TOO_DEEP) from None
    except json.JSONDecodeError as error:
        raise JsonError(str(error)) from None


def type_name(value: object) -> str:
    """Return Go's name for the type of a JSON value; empty for null, which has every type."""
    if value is None:
        return ""
    # Before the table: bool is a subclass of int.
    if isinstance(value, bool):
        return "bool"
    return _TYPE_NAMES.get(type(value), "number")


_TYPE_NAMES: Final[dict[type, str]] = {str: "string", list: "array", dict: "object"}
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def _finite(text: str) -> float:
    number = float(text)
    if number in _INFINITIES:
        raise JsonError(_beyond_float(text))
    return number


def _beyond_float(text: str) -> str:
    return f"json: cannot unmarshal number {text} into Go value of type float64"


_INFINITIES: Final = (float("inf"), float("-inf"))


def _repair_surrogates(value: object) -> object:
    if isinstance(value, str):
        # Go's decoder replaces a lone surrogate; Python's keeps it.
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_repair_surrogates(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        found = cast("dict[str, object]", value)
        return {cast("str", _repair_surrogates(key)): _repair_surrogates(member) for key, member in found.items()}
    return value


def malformed(body: bytes, kind: str, problem: JsonError) -> StatusFailure:
    """The failure of a body that could not be decoded.

    Args:
        body: The body.
        kind: The expected kind; ``DeleteOptions`` has a different message.
        problem: Why it could not be decoded.
    """
    actual = str(problem)
    return _build_unrecognized_failure(body, kind, actual if actual.startswith("yaml:") else f"{_NO_KIND} {actual}")


def refused_kind(document: object, body: bytes, kind: str, api_version: str) -> StatusFailure | None:
    """The failure of a document that is no object of a kind; None if it can be one.

    A kind or apiVersion that is missing, null or empty is taken as the expected one; but a custom resource
    must have both. A document that is null counts as an empty object.

    Args:
        document: The decoded document.
        body: The body that it was decoded from.
        kind: The expected kind.
        api_version: Its group and version.
    """
    if problem := wrong_type(document) or wrong_name(cast("Plain", document or {})):
        return _build_unrecognized_failure(body, kind, problem)
    found = cast("Plain", document or {})
    given_version = _field_value(found, "apiVersion")
    if given_version.count("/") > 1:
        return _build_unrecognized_failure(body, kind, f"unexpected GroupVersion string: {given_version}")
    expected = GroupVersionKind.of(api_version, kind)
    if kind != _OPTIONS and not scheme.is_registered(expected):
        return _refused_custom(found, body, expected)
    group, _, version = given_version.rpartition("/")
    actual = _complete_kind(GroupVersionKind(group, version, _field_value(found, "kind")), expected)
    return None if actual == expected else _mistaken(actual, expected, body)


def check_delete_options(options: Plain) -> None:
    """Check the types of DeleteOptions.

    Raises:
        StatusFailure: If one is wrong.
    """
    for struct, path, value, (json_type, go_type) in _typed_options(options):
        found = type_name(value)
        # A range would compare a float with each of its numbers.
        if go_type == "int64" and found == "number" and not (isinstance(value, int) and value in _INT64):
            found = f"number {format_value(value)}"
        if found not in {"", json_type}:
            raise bad_request(f"json: cannot unmarshal {found} into Go struct field {struct}.{path} of type {go_type}")


_INT64: Final = range(-(2**63), 2**63)
_OPTION_TYPES: Final = {
    "gracePeriodSeconds": ("number", "int64"),
    "preconditions": ("object", "v1.Preconditions"),
    "orphanDependents": ("bool", "bool"),
    "propagationPolicy": ("string", "v1.DeletionPropagation"),
    "dryRun": ("array", "[]string"),
    "ignoreStoreReadErrorWithClusterBreakingPotential": ("bool", "bool"),
}
_CONDITION_TYPES: Final = {"uid": ("string", "types.UID"), "resourceVersion": ("string", "string")}


def _typed_options(options: Plain) -> Iterator[tuple[str, str, object, tuple[str, str]]]:
    """The typed fields of the options: the struct, the path, the value, and its types in JSON and Go."""
    for name, value in options.items():
        if name not in _OPTION_TYPES:
            continue
        yield _OPTIONS, name, value, _OPTION_TYPES[name]
        if name == "dryRun" and isinstance(value, list):
            for item in cast("list[object]", value):
                yield _OPTIONS, name, item, ("string", "string")
        if name == "preconditions" and isinstance(value, dict):
            conditions = cast("Plain", value)
            for condition in filter(_CONDITION_TYPES.__contains__, conditions):
                yield (
                    "Preconditions",
                    f"{name}.{condition}",
                    conditions[condition],
                    _CONDITION_TYPES[condition],
                )


_NO_KIND: Final = "couldn't get version/kind; json parse error:"
_KIND_TYPE: Final = (
    r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
)
_OPTIONS: Final = "DeleteOptions"
_SHOWN_BYTES: Final = 30

_SCHEMES: Final = {
    "apiextensions.k8s.io": "pkg/apiserver/apiserver.go:55",
    "apiregistration.k8s.io": "pkg/apiserver/scheme/scheme.go:28",
    "meta.k8s.io": "pkg/apis/meta/internalversion/scheme/register.go:27",
}
_COMMON_SCHEME: Final = "pkg/api/legacyscheme/scheme.go:30"
"""The real server is made of several, each of which knows its own kinds only; messages name them."""
_INTERNAL_PACKAGES: Final = {
    "": "core",
    "events.k8s.io": "core",
    "rbac.authorization.k8s.io": "rbac",
    "internal.apiserver.k8s.io": "apiserverinternal",
}
"""Where the real server's own types are; elsewhere it is the group up to its first dot."""
_EVERYWHERE: Final = frozenset({"Status", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList"})
_IN_EVERY_VERSION: Final = frozenset(
    {
        *("WatchEvent", "ListOptions", "GetOptions", "DeleteOptions"),
        *("CreateOptions", "UpdateOptions", "PatchOptions"),
    }
)
_IN_META: Final = _IN_EVERY_VERSION | {*("Table", "TableOptions", "PartialObjectMetadata", "PartialObjectMetadataList")}
_OPTIONS_EVERYWHERE: Final = frozenset({"CreateOptions", "UpdateOptions"})


def wrong_type(value: object) -> str:
    """Return the message about a document that is no object; empty if it is one, or null."""
    if value is None or isinstance(value, dict):
        return ""
    return f"{_NO_KIND} json: cannot unmarshal {type_name(value)} into Go value of type {_KIND_TYPE}"


def _build_unrecognized_failure(body: bytes, kind: str, problem: str) -> StatusFailure:
    if kind == _OPTIONS:
        return bad_request(problem)
    beginning = body[:_SHOWN_BYTES]
    summary = beginning.decode("utf-8", "replace") if body.startswith(b"{") else beginning.hex()
    if len(body) > _SHOWN_BYTES:
        summary += " ..."
    expected = f"the object provided is unrecognized (must be of type {kind})"
    return bad_request(f"{expected}: {problem} ({summary or '<empty>'})")


def wrong_name(document: Plain) -> str:
    """Return the message about a kind or version that is no string; Go finds these two case-insensitively."""
    for key, value in document.items():
        name = {"kind": "kind", "apiversion": "apiVersion"}.get(key.lower())
        if name and value is not None and not isinstance(value, str):
            problem = f"cannot unmarshal {type_name(value)} into Go struct field .{name} of type string"
            return f"{_NO_KIND} json: {problem}"
    return ""


def _field_value(document: Plain, name: str) -> str:
    # Go's decoder matches names case-insensitively, and a later duplicate wins.
    actual = [value for key, value in document.items() if key.lower() == name.lower() and value is not None]
    return actual[-1] if actual else ""


def _complete_kind(actual: GroupVersionKind, expected: GroupVersionKind) -> GroupVersionKind:
    kind = actual.kind or expected.kind
    if actual.version or actual.group not in {"", expected.group}:
        return GroupVersionKind(actual.group, actual.version, kind)
    return GroupVersionKind(expected.group, expected.version, kind)


def _refused_custom(document: Plain, body: bytes, expected: GroupVersionKind) -> StatusFailure | None:
    if not document.get("kind"):
        missing = f"Object 'Kind' is missing in '{body.decode('utf-8', 'replace')}'"
        return _build_unrecognized_failure(body, expected.kind, missing)
    # Another kind is found later, when the object is validated.
    if "apiVersion" in document and document["apiVersion"] is None:
        problem = ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
        return bad_request(f'{expected.kind} in version "" cannot be handled as a {expected.kind}: {problem}')
    actual = document.get("apiVersion") or ""
    return None if actual == expected.api_version else _other_version(actual, expected)


def _other_version(actual: str, expected: GroupVersionKind) -> StatusFailure:
    wanted = f"does not match the expected API version ({expected.api_version})"
    return bad_request(f"the API version in the data ({actual}) {wanted}")


def _mistaken(actual: GroupVersionKind, expected: GroupVersionKind, body: bytes) -> StatusFailure | None:
    is_options = expected.kind == _OPTIONS
    if not actual.version:
        problem = f"Object 'apiVersion' is missing in '{body.decode('utf-8', 'replace')}'"
    # DeleteOptions are registered in every group and version.
    elif is_options and actual.kind == _OPTIONS:
        return None
    elif not _is_known(actual, expected):
        scheme = _SCHEMES.get(expected.group, _COMMON_SCHEME)
        version = quoted(actual.api_version)
        problem = f"no kind {quoted(actual.kind)} is registered for version {version} in scheme {quoted(scheme)}"
    elif _internal(actual) == _internal(expected):
        return _other_version(actual.api_version, expected)
    else:
        target = f"v1.{_OPTIONS}" if is_options else _internal(expected)
        version = "v1" if actual.kind in _EVERYWHERE | _IN_META else actual.version
        problem = f"converting ({version}.{actual.kind}) to ({target}): unknown conversion"
    if is_options:
        return bad_request(problem)
    version = quoted(actual.version)
    return bad_request(f"{actual.kind} in version {version} cannot be handled as a {expected.kind}: {problem}")


def _is_known(actual: GroupVersionKind, expected: GroupVersionKind) -> bool:
    """Tell whether the server behind the path has a kind at all."""
    if actual.kind in _EVERYWHERE:
        return True
    if expected.kind == _OPTIONS:
        return actual.kind in (_IN_META if actual.group == "meta.k8s.io" else _OPTIONS_EVERYWHERE)
    # The servers inside kube-apiserver have separate schemes, and do not know each other's kinds.
    if _SCHEMES.get(actual.group) != _SCHEMES.get(expected.group):
        return False
    if actual.kind in _IN_EVERY_VERSION or actual == _ANY_LIST:
        return bool(scheme.kinds_in(actual.group, actual.version))
    # Kinds of removed versions are known, but not served.
    if actual.group == expected.group and actual.version in _FORMER.get(actual.group, ()):
        actual = GroupVersionKind(actual.group, expected.version, actual.kind)
    return scheme.is_registered(actual)


_FORMER: Final = {
    "apps": ("v1beta1", "v1beta2"),
    "authentication.k8s.io": ("v1alpha1", "v1beta1"),
    "authorization.k8s.io": ("v1beta1",),
    "batch": ("v1beta1",),
    "discovery.k8s.io": ("v1beta1",),
    "flowcontrol.apiserver.k8s.io": ("v1beta1", "v1beta2", "v1beta3"),
    "node.k8s.io": ("v1alpha1", "v1beta1"),
    "policy": ("v1beta1",),
    "rbac.authorization.k8s.io": ("v1alpha1", "v1beta1"),
    "scheduling.k8s.io": ("v1beta1",),
    "storage.k8s.io": ("v1alpha1",),
}
"""Versions that kube-apiserver no longer serves, and still has in its scheme."""
_ANY_LIST: Final = GroupVersionKind("", "v1", "List")


def _internal(kind: GroupVersionKind) -> str:
    package = _INTERNAL_PACKAGES.get(kind.group) or kind.group.partition(".")[0]
    return f"{package}.{kind.kind}"
