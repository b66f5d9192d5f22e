"""AdmissionReview v1 and v1beta1 on the wire: decoded requests and encoded responses."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import msgspec

from masthead._meta import typeinfo, wire
from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
from masthead._meta.object import Object
from masthead._webhook.requests import AdmissionRequest, UserInfo
from masthead.errors import DecodeError, MastheadError

if TYPE_CHECKING:
    from masthead._webhook.requests import Operation

__all__ = ["AdmissionReview", "ReviewError", "decode_review", "encode_response", "typed_request"]

T = TypeVar("T", bound=Object)

_GROUP: Final = "admission.k8s.io"
_VERSIONS: Final = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1")
_OPERATIONS: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_NULL: Final = b"null"


class ReviewError(MastheadError):
    """A review that no API server sends. The answer is 400."""


class _Kind(msgspec.Struct):
    group: str = ""
    version: str = ""
    kind: str = ""


class _Resource(msgspec.Struct):
    group: str = ""
    version: str = ""
    resource: str = ""


class _User(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: list[str] | None = None
    extra: dict[str, list[str]] | None = None


class _Request(msgspec.Struct, rename="camel"):
    uid: str
    operation: str
    kind: _Kind = msgspec.field(default_factory=_Kind)
    resource: _Resource = msgspec.field(default_factory=_Resource)
    sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    user_info: _User = msgspec.field(default_factory=_User)
    object: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(_NULL))
    old_object: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(_NULL))
    dry_run: bool | None = None
    options: dict[str, Any] | None = None


class AdmissionReview(msgspec.Struct, rename="camel"):
    """A review as it arrives.

    Attributes:
        api_version: The version, which the response repeats.
        kind: ``AdmissionReview``.
        request: The request; its objects are still bytes.
    """

    api_version: str = ""
    kind: str = ""
    request: _Request | None = None


_DECODER: Final = typeinfo.json_decoder(AdmissionReview)


def decode_review(body: bytes) -> AdmissionReview:
    """Decode a review; its objects stay bytes.

    Raises:
        ReviewError: If it is not an AdmissionReview of a known version.
    """
    try:
        review = _DECODER.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise ReviewError(f"the body is not an AdmissionReview: {error}") from None
    if review.kind != "AdmissionReview" or review.api_version not in _VERSIONS:
        raise ReviewError(
            f"the body is {review.api_version or 'nothing'} {review.kind}, not an AdmissionReview of "
            f"{' or '.join(_VERSIONS)}"
        )
    request = review.request
    if request is None or not request.uid or request.operation not in _OPERATIONS:
        raise ReviewError("the AdmissionReview has no request with a uid and an operation")
    return review


def typed_request(review: AdmissionReview, cls: type[T]) -> AdmissionRequest[T]:
    """Return the request of a review, with objects of a class.

    Raises:
        ReviewError: If an object is not of that kind.
    """
    request = review.request
    assert request is not None
    user, kind, resource = request.user_info, request.kind, request.resource
    extra = {key: tuple(values) for key, values in (user.extra or {}).items()}
    return AdmissionRequest(
        uid=request.uid,
        operation=cast("Operation", request.operation),
        kind=GroupVersionKind(kind.group, kind.version, kind.kind),
        resource=GroupVersionResource(resource.group, resource.version, resource.resource),
        subresource=request.sub_resource,
        namespace=request.namespace,
        name=request.name,
        user=UserInfo(user.username, user.uid, tuple(user.groups or ()), extra),
        object=_decode_object(cls, request.object, "object"),
        old=_decode_object(cls, request.old_object, "oldObject"),
        dry_run=bool(request.dry_run),
        options=request.options or {},
    )


def _decode_object(cls: type[T], raw: msgspec.Raw, what: str) -> T | None:
    data = bytes(raw)
    if data == _NULL:
        return None
    try:
        return cls.from_wire(data)
    except DecodeError as error:
        raise ReviewError(f"{what} of the AdmissionReview: {error}") from None


def encode_response(
    review: AdmissionReview,
    *,
    status: dict[str, object] | None = None,
    patch: list[Any] | None = None,
    warnings: list[str] | None = None,
    audit_annotations: dict[str, str] | None = None,
) -> bytes:
    """Encode the response to a review.

    Args:
        review: The review, whose version and uid are repeated.
        status: The Status of a refusal; None if the request is allowed.
        patch: The JSON patch of the object; None or empty for no change.
        warnings: The warnings for the client.
        audit_annotations: Annotations for the audit log.
    """
    request = review.request
    response: dict[str, object] = {"uid": "" if request is None else request.uid, "allowed": status is None}
    if status is not None:
        response["status"] = status
    elif patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(wire.encode(patch)).decode()
    if warnings:
        response["warnings"] = warnings
    if audit_annotations:
        response["auditAnnotations"] = audit_annotations
    return wire.encode({"apiVersion": review.api_version, "kind": "AdmissionReview", "response": response})
