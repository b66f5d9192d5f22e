"""What a fault answers: what kube-apiserver would have said to that very request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from masthead._meta import typeinfo
from masthead._server.wire.failures import MODIFIED, StatusFailure, already_exists, conflict, too_far_ahead
from masthead._server.wire.options import read_version
from masthead._server.wire.plain import metadata, text
from masthead._server.wire.request import ApiResponse, status_response
from masthead._server.wire.tokens import ContinueToken, expired

if TYPE_CHECKING:
    from masthead._server.wire.request import ApiRequest
    from masthead._server.wire.request_info import RequestInfo

__all__ = [
    "FaultContext",
    "FaultResponder",
    "to_response",
    "status_responder",
    "conflict_response",
    "expired_response",
    "object_name",
    "throttle_responder",
    "too_large",
]

_ASKED_FOR: Final = "a fault that was asked for"
_KNOWN: Final = {
    400: ("BadRequest", _ASKED_FOR),
    401: ("Unauthorized", "Unauthorized"),
    403: ("Forbidden", f"forbidden: {_ASKED_FOR}"),
    404: ("NotFound", "the server could not find the requested resource"),
    405: ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
    406: ("NotAcceptable", _ASKED_FOR),
    409: ("Conflict", _ASKED_FOR),
    410: ("Expired", _ASKED_FOR),
    413: ("RequestEntityTooLarge", _ASKED_FOR),
    415: ("UnsupportedMediaType", _ASKED_FOR),
    422: ("Invalid", _ASKED_FOR),
    429: ("TooManyRequests", _ASKED_FOR),
    500: ("InternalError", f"Internal error occurred: {_ASKED_FOR}"),
    503: ("ServiceUnavailable", _ASKED_FOR),
    504: ("Timeout", f"Timeout: {_ASKED_FOR}"),
}
"""The reason and the message that go with a code."""
_TOO_MANY: Final = b"Too many requests, please try again later.\n"


@dataclass(frozen=True, slots=True)
class FaultContext:
    """A request that a fault strikes, and what the server knew at the time.

    Attributes:
        info: What it is about.
        request: All of it.
        revision: The newest.
    """

    info: RequestInfo
    request: ApiRequest
    revision: int


FaultResponder: TypeAlias = Callable[[FaultContext], StatusFailure | ApiResponse]
"""Makes the answer to a request that a fault strikes."""


def status_responder(
    code: int, reason: str | None, message: str, *, retry_after: int | None
) -> FaultResponder:
    """Answer with a Status of this code."""
    usual_reason, usual_message = _KNOWN.get(code, ("", _ASKED_FOR))
    failure = StatusFailure(
        code,
        usual_reason if reason is None else reason,
        message or usual_message,
        details=None if retry_after is None else {"retryAfterSeconds": retry_after},
        retry_after=retry_after,
    )
    return lambda _: failure


def throttle_responder(retry_after: int) -> FaultResponder:
    """Answer as the filter does that lets only so many requests in at a time."""
    headers = (("Retry-After", str(retry_after)),)
    return lambda _: ApiResponse(429, _TOO_MANY, "text/plain; charset=utf-8", headers)


def conflict_response(context: FaultContext) -> StatusFailure:
    """Answer as if somebody else had been faster."""
    info = context.info
    if info.verb == "create" and not info.name:
        return already_exists(info.group, info.resource, object_name(context.request.body))
    return conflict(info.group, info.resource, info.name, MODIFIED)


def expired_response(context: FaultContext) -> StatusFailure:
    """Answer that the moment of a list is forgotten."""
    token = context.request.first("continue")
    return expired(ContinueToken.of(token) if token else None)


def too_large(context: FaultContext) -> StatusFailure:
    """Answer that the version has not come yet; if the request names none, the next one is said to be missing."""
    wanted = read_version(context.request.first("resourceVersion"), of_list=True)
    return too_far_ahead(wanted or context.revision + 1, context.revision)


class _Named(msgspec.Struct):
    name: str = ""


class _WithName(msgspec.Struct):
    metadata: _Named = msgspec.field(default_factory=_Named)


def object_name(body: bytes) -> str:
    """The name of the object that a request brings, in JSON or protobuf; empty where it has none, or none is found."""
    try:
        return typeinfo.decode_json(body, _WithName).metadata.name
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    from masthead._server.wire import protobuf  # which few need

    try:
        return text(metadata(protobuf.decode(body)), "name")
    except protobuf.ProtobufError:
        return ""


def to_response(refused: StatusFailure | ApiResponse) -> ApiResponse:
    """Write a refusal out."""
    return refused if isinstance(refused, ApiResponse) else status_response(refused)
