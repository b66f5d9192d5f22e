"""ConversionReview v1 on the wire."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from masthead._meta import typeinfo, wire
from masthead._webhook.reviews import ReviewError

__all__ = ["ConversionReview", "decode_conversion", "encode_conversion"]

_VERSION: Final = "apiextensions.k8s.io/v1"
_MAX_MESSAGE: Final = 16 * 1024


class _Request(msgspec.Struct):
    uid: str
    target: str = msgspec.field(default="", name="desiredAPIVersion")
    objects: list[dict[str, Any]] | None = None


class ConversionReview(msgspec.Struct, rename="camel"):
    """A review as it arrives.

    Attributes:
        api_version: ``apiextensions.k8s.io/v1``.
        kind: ``ConversionReview``.
        request: The objects, and the version to convert them to.
    """

    api_version: str = ""
    kind: str = ""
    request: _Request | None = None


_DECODER: Final = typeinfo.json_decoder(ConversionReview)


def decode_conversion(body: bytes) -> tuple[str, str, list[dict[str, Any]]]:
    """Decode a review; return its uid, the desired API version, and the objects.

    Raises:
        ReviewError: If it is not a ConversionReview.
    """
    try:
        review = _DECODER.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise ReviewError(f"the body is not a ConversionReview: {error}") from None
    if review.kind != "ConversionReview" or review.api_version != _VERSION:
        raise ReviewError(
            f"the body is {review.api_version or 'nothing'} {review.kind}, not a ConversionReview of {_VERSION}"
        )
    request = review.request
    if request is None or not request.uid or not request.target:
        raise ReviewError("the ConversionReview has no request with a uid and a desiredAPIVersion")
    return request.uid, request.target, request.objects or []


def encode_conversion(uid: str, converted: list[dict[str, Any]] | None, problem: str = "") -> bytes:
    """Encode the response to a review: the converted objects in their order, or the problem."""
    result = {"status": "Failure", "message": problem[:_MAX_MESSAGE]} if problem else {"status": "Success"}
    objects = {} if problem else {"convertedObjects": converted or []}
    response = {"uid": uid, **objects, "result": result}
    return wire.encode({"apiVersion": _VERSION, "kind": "ConversionReview", "response": response})
