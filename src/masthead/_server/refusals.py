"""What a fault answers: what kube-apiserver would have said to that very request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from masthead._meta import typeinfo
from masthead._server.wire.failures import MODIFIED, Failure, already_exists, conflict, too_far_ahead
from masthead._server.wire.options import read_version
from masthead._server.wire.plain import metadata, text
from masthead._server.wire.request import Answer, refusal
from masthead._server.wire.tokens import ContinueToken, expired

if TYPE_CHECKING:
    from masthead._server.faults import Call
    from masthead._server.wire.request import Request

__all__ = [
    "Asked",
    "Refuse",
    "answer_of",
    "answering",
    "conflicting",
    "expiring",
    "name_in",
    "throttling",
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
class Asked:
    """A request that a fault strikes, and what the server knew at the time.

    Attributes:
        call: What it is about.
        request: All of it.
        revision: The newest.
    """

    call: Call
    request: Request
    revision: int


Refuse: TypeAlias = Callable[[Asked], Failure | Answer]
"""Makes the answer to a request that a fault strikes."""


def answering(code: int, reason: str | None, message: str, *, retry_after: int | None) -> Refuse:
    """Answer with a Status of this code."""
    usual_reason, usual_message = _KNOWN.get(code, ("", _ASKED_FOR))
    failure = Failure(
        code,
        usual_reason if reason is None else reason,
        message or usual_message,
        details=None if retry_after is None else {"retryAfterSeconds": retry_after},
        retry_after=retry_after,
    )
    return lambda _: failure


def throttling(retry_after: int) -> Refuse:
    """Answer as the filter does that lets only so many requests in at a time."""
    headers = (("Retry-After", str(retry_after)),)
    return lambda _: Answer(429, _TOO_MANY, "text/plain; charset=utf-8", headers)


def conflicting(asked: Asked) -> Failure:
    """Answer as if somebody else had been faster."""
    call = asked.call
    if call.verb == "create" and not call.name:
        return already_exists(call.group, call.resource, name_in(asked.request.body))
    return conflict(call.group, call.resource, call.name, MODIFIED)


def expiring(asked: Asked) -> Failure:
    """Answer that the moment of a list is forgotten."""
    token = asked.request.first("continue")
    return expired(ContinueToken.of(token) if token else None)


def too_large(asked: Asked) -> Failure:
    """Answer that the version has not come yet; if the request names none, the next one is said to be missing."""
    wanted = read_version(asked.request.first("resourceVersion"), of_list=True)
    return too_far_ahead(wanted or asked.revision + 1, asked.revision)


class _Named(msgspec.Struct):
    name: str = ""


class _WithName(msgspec.Struct):
    metadata: _Named = msgspec.field(default_factory=_Named)


def name_in(body: bytes) -> str:
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


def answer_of(refused: Failure | Answer) -> Answer:
    """Write a refusal out."""
    return refused if isinstance(refused, Answer) else refusal(refused)
