"""AdmissionReviews: the request to a webhook, and the validation of its response. Everything here is pure."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import msgspec

from masthead._meta.quoting import quoted
from masthead._meta.v1 import Status
from masthead_server.resources.go_decoder import GoList, GoMap, GoStruct
from masthead_server.resources.go_values import ByteString, Decoding, Mismatch, Scalar
from masthead_server.wire import go_json
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.go_yaml import decode_yaml
from masthead_server.wire.plain import Plain, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from masthead._meta.apitype import ApiType
    from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.admission.matching import Match
    from masthead_server.resources.go_values import GoValue

__all__ = [
    "AdmissionResponse",
    "ReviewError",
    "DecodedReview",
    "choose_version",
    "decode_review",
    "describe_request",
    "encode_review",
    "verify_response",
]

_GROUP: Final = "admission.k8s.io"
_KIND: Final = "AdmissionReview"
_VERSIONS: Final = ("v1", "v1beta1")
_NO_KIND: Final = "couldn't get version/kind; json parse error:"
_SCHEME: Final = "pkg/util/webhook/client.go:71"
_STRING: Final = Scalar("string", (str,), "")
_FIELDS: Final[Mapping[str, GoValue]] = {
    "uid": Scalar("types.UID", (str,), ""),
    "allowed": Scalar("bool", (bool,), False),
    "status": GoStruct(cast("ApiType", Status)),
    "patch": ByteString(),
    "patchType": Scalar("v1.PatchType", (str,), ""),
    "auditAnnotations": GoMap(_STRING),
    "warnings": GoList(_STRING),
}
"""The fields of an AdmissionResponse."""
_META_KINDS: Final = frozenset(
    {"CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions", "WatchEvent"}
)
"""Kinds that every group version has in Go, besides its own."""


class DecodedReview(NamedTuple):
    """The review that a webhook sent.

    Attributes:
        identity: Its group, version and kind, as Go writes them.
        response: The AdmissionResponse, with its fields checked; None without one.
    """

    identity: str
    response: Plain | None


class ReviewError(Exception):
    """A response is no valid AdmissionReview; the message is that of kube-apiserver."""


@dataclass(frozen=True, slots=True)
class AdmissionResponse:
    """The response of a webhook.

    Attributes:
        is_allowed: Whether the request may go on.
        status: The Status of a denial; None without one.
        patch: The JSON patch of the object; empty for none.
        patch_type: The type of the patch; empty without one.
        annotations: The audit annotations.
        warnings: The warnings for the client.
    """

    is_allowed: bool
    status: Plain | None
    patch: bytes
    patch_type: str
    annotations: Mapping[str, str]
    warnings: Sequence[str]


def choose_version(versions: Sequence[str]) -> str:
    """Return the version of the review to send; empty if a webhook accepts none that the server knows."""
    return next((version for version in versions if version in _VERSIONS), "")


def describe_request(attributes: AdmissionAttributes, match: Match) -> Plain:
    """Return the AdmissionRequest of a request, without its uid and objects; match conditions see it, too."""
    request: Plain = {"kind": _kind(match.kind), "resource": _resource(match.served.gvr)}
    if attributes.subresource:
        request["subResource"] = attributes.subresource
    request["requestKind"] = _kind(attributes.kind)
    request["requestResource"] = _resource(attributes.served.gvr)
    if attributes.subresource:
        request["requestSubResource"] = attributes.subresource
    for field, value in (("name", attributes.name), ("namespace", attributes.namespace)):
        if value:
            request[field] = value
    return {
        **request,
        "operation": attributes.operation.value,
        "userInfo": attributes.user.to_plain(),
        "dryRun": attributes.is_dry_run,
        "options": attributes.options or None,
    }


def encode_review(version: str, uid: str, request: Plain, new: bytes, old: bytes) -> bytes:
    """Encode the AdmissionReview of a request.

    Args:
        version: The version of the review.
        uid: Identifies the call.
        request: The AdmissionRequest without its objects.
        new: The encoded object.
        old: The encoded stored object.
    """
    objects = {"object": msgspec.Raw(new), "oldObject": msgspec.Raw(old)}
    head = {"kind": _KIND, "apiVersion": f"{_GROUP}/{version}"}
    return msgspec.json.encode({**head, "request": {"uid": uid, **request, **objects}})


def decode_review(body: bytes, version: str) -> DecodedReview:
    """Decode the response of a webhook.

    Args:
        body: The body of the response.
        version: The version of the review that was sent.

    Raises:
        ReviewError: If it cannot be decoded.
    """
    review = _read(body)
    api_version, kind = text(review, "apiVersion"), text(review, "kind")
    identity = f"{api_version if '/' in api_version else f'/{api_version}'}, Kind={kind}"
    _check_kind(api_version or f"{_GROUP}/{version}", kind or _KIND, version)
    return DecodedReview(identity, _read_response(review.get("response")))


def _check_kind(api_version: str, kind: str, version: str) -> None:
    """Refuse everything but an AdmissionReview of a version; a missing kind or version is the expected one."""
    group, _, named = api_version.rpartition("/")
    if "/" in group:
        raise ReviewError(f"unexpected GroupVersion string: {api_version}")
    kinds = {_KIND, "Status", *_META_KINDS} if group == _GROUP and named in _VERSIONS else {"Status"}
    # Go's serializers know a Status in the core group, whatever their scheme has.
    if kind not in kinds or (kinds == {"Status"} and (group, named) != ("", "v1")):
        problem = f"no kind {quoted(kind)} is registered for version {quoted(api_version)}"
        raise ReviewError(f"{problem} in scheme {quoted(_SCHEME)}")
    if kind != _KIND or named != version:
        # Kinds of meta are of its package, whatever version they are registered for.
        package = named if kind == _KIND else "v1"
        raise ReviewError(f"converting ({package}.{kind}) to ({version}.{_KIND}): unknown conversion")


def _read(body: bytes) -> Plain:
    """Decode JSON, or YAML, which Go's codec takes everything else for."""
    try:
        found = go_json.decode(body) if body.lstrip()[:1] == b"{" else decode_yaml(body).value
    except StatusFailure as failure:
        # It has more values than this server decodes; the failure policy decides what that means.
        raise ReviewError(failure.message) from None
    except go_json.JsonError as error:
        problem = str(error)
        raise ReviewError(problem if problem.startswith("yaml:") else f"{_NO_KIND} {problem}") from None
    if problem := go_json.wrong_type(found) or go_json.wrong_name(cast("Plain", found or {})):
        raise ReviewError(problem)
    return cast("Plain", found or {})


def _read_response(response: object) -> Plain | None:
    if response is None:
        return None
    if not isinstance(response, dict):
        where = f"{_KIND}.response of type v1.AdmissionResponse"
        raise ReviewError(f"json: cannot unmarshal {go_json.type_name(response)} into Go struct field {where}")
    decoding = Decoding()
    decoded: Plain = {}
    try:
        for name, value in cast("Plain", response).items():
            field = _FIELDS.get(name)
            if field is not None and value is not None:
                decoding.path[:] = [".response", f".{name}"]
                decoded[name] = field.clean(value, decoding, "AdmissionResponse")
    except Mismatch as error:
        raise ReviewError(str(error)) from None
    if decoding.mismatch:
        raise ReviewError(str(decoding.mismatch))
    return decoded


def verify_response(review: DecodedReview, version: str, uid: str, *, is_mutating: bool) -> AdmissionResponse:
    """Check a response against its request.

    Args:
        review: The review that the webhook sent.
        version: The version of the review.
        uid: The uid of the request.
        is_mutating: Whether the webhook may change the object.

    Raises:
        ReviewError: If it is invalid.
    """
    response = review.response
    if response is None:
        raise ReviewError("webhook response was absent")
    patch = base64.b64decode(text(response, "patch"))
    patch_type = response.get("patchType")
    # The older version was never that strict.
    if version == "v1":
        if text(response, "uid") != uid:
            raise ReviewError(f"expected response.uid={quoted(uid)}, got {quoted(text(response, 'uid'))}")
        if review.identity != (expected := f"{_GROUP}/v1, Kind={_KIND}"):
            raise ReviewError(f"expected webhook response of {expected}, got {review.identity}")
        _check_patch(patch, patch_type, is_mutating=is_mutating)
    elif patch:
        patch_type = "JSONPatch"
    return AdmissionResponse(
        is_allowed=bool(response.get("allowed")),
        status=response.get("status"),
        patch=patch if is_mutating else b"",
        patch_type=patch_type or "",
        annotations=response.get("auditAnnotations") or {},
        warnings=response.get("warnings") or [],
    )


def _check_patch(patch: bytes, patch_type: str | None, *, is_mutating: bool) -> None:
    if not is_mutating:
        if patch:
            raise ReviewError("validating webhook may not return response.patch")
        if patch_type is not None:
            raise ReviewError("validating webhook may not return response.patchType")
        return
    if patch and patch_type is None:
        raise ReviewError("webhook returned response.patch but not response.patchType")
    if not patch and patch_type is not None:
        raise ReviewError("webhook returned response.patchType but not response.patch")
    if patch_type is not None and not patch_type:
        raise ReviewError('webhook returned invalid response.patchType of ""')


def _kind(gvk: GroupVersionKind) -> Plain:
    return {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}


def _resource(gvr: GroupVersionResource) -> Plain:
    return {"group": gvr.group, "version": gvr.version, "resource": gvr.resource}
