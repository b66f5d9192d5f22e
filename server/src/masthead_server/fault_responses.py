"""The responses of faults: what kube-apiserver would send for the same request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from masthead._meta import typeinfo
from masthead_server.wire.failures import MODIFIED, StatusFailure, already_exists, conflict, too_far_ahead
from masthead_server.wire.options import read_version
from masthead_server.wire.plain import metadata, text
from masthead_server.wire.request import ApiResponse, status_response
from masthead_server.wire.tokens import ContinueToken, expired

if TYPE_CHECKING:
    from masthead_server.wire.request import ApiRequest
    from masthead_server.wire.request_info import RequestInfo

__all__ = [
    "FaultContext",
    "FaultResponder",
    "conflict_response",
    "expired_response",
    "object_name",
    "status_responder",
    "throttle_responder",
    "to_response",
    "version_too_large_response",
]

_INJECTED: Final = "an injected fault"
_KNOWN: Final = {
    400: ("BadRequest", _INJECTED),
    401: ("Unauthorized", "Unauthorized"),
    403: ("Forbidden", f"forbidden: {_INJECTED}"),
    404: ("NotFound", "the server could not find the requested resource"),
    405: ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
    406: ("NotAcceptable", _INJECTED),
    409: ("Conflict", _INJECTED),
    410: ("Expired", _INJECTED),
    413: ("RequestEntityTooLarge", _INJECTED),
    415: ("UnsupportedMediaType", _INJECTED),
    422: ("Invalid", _INJECTED),
    429: ("TooManyRequests", _INJECTED),
    500: ("InternalError", f"Internal error occurred: {_INJECTED}"),
    503: ("ServiceUnavailable", _INJECTED),
    504: ("Timeout", f"Timeout: {_INJECTED}"),
}
"""The reason and the message of each code."""
_TOO_MANY: Final = b"Too many requests, please try again later.\n"


@dataclass(frozen=True, slots=True)
class FaultContext:
    """A request that a fault is injected into, and the server's state at the time.

    Attributes:
        info: What it is about.
        request: The whole request.
        revision: The newest revision.
    """

    info: RequestInfo
    request: ApiRequest
    revision: int


FaultResponder: TypeAlias = Callable[[FaultContext], StatusFailure | ApiResponse]
"""Makes the response to a request that a fault is injected into."""


def status_responder(code: int, reason: str | None, message: str, *, retry_after: int | None) -> FaultResponder:
    """Respond with a Status of this code."""
    usual_reason, usual_message = _KNOWN.get(code, ("", _INJECTED))
    failure = StatusFailure(
        code,
        usual_reason if reason is None else reason,
        message or usual_message,
        details=None if retry_after is None else {"retryAfterSeconds": retry_after},
        retry_after=retry_after,
    )
    return lambda _: failure


def throttle_responder(retry_after: int) -> FaultResponder:
    """Respond as kube-apiserver's limit of requests in flight does."""
    headers = (("Retry-After", str(retry_after)),)
    return lambda _: ApiResponse(429, _TOO_MANY, "text/plain; charset=utf-8", headers)


def conflict_response(context: FaultContext) -> StatusFailure:
    """Respond as if another client had written first."""
    info = context.info
    if info.verb == "create" and not info.name:
        return already_exists(info.group, info.resource, object_name(context.request.body))
    return conflict(info.group, info.resource, info.name, MODIFIED)


def expired_response(context: FaultContext) -> StatusFailure:
    """Respond that the version of a list has expired."""
    token = context.request.first("continue")
    return expired(ContinueToken.of(token) if token else None)


def version_too_large_response(context: FaultContext) -> StatusFailure:
    """Respond that the version is too large; without one in the request, it is the next one."""
    wanted = read_version(context.request.first("resourceVersion"), of_list=True)
    return too_far_ahead(wanted or context.revision + 1, context.revision)


class _Named(msgspec.Struct):
    name: str = ""


class _WithName(msgspec.Struct):
    metadata: _Named = msgspec.field(default_factory=_Named)


def object_name(body: bytes) -> str:
    """The name of the object in a body of JSON or protobuf; empty if it has none."""
    try:
        return typeinfo.decode_json(body, _WithName).metadata.name
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    from masthead_server.wire import protobuf

    try:
        return text(metadata(protobuf.decode(body)), "name")
    except protobuf.ProtobufError:
        return ""


def to_response(outcome: StatusFailure | ApiResponse) -> ApiResponse:
    """Make the response to send."""
    return outcome if isinstance(outcome, ApiResponse) else status_response(outcome)
