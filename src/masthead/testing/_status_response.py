"""Responses that a test makes instead of a server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from masthead.testing._request_places import RequestPlace

__all__ = ["StatusResponse", "conflict_response", "forbidden_response", "throttled_response"]

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
"""The reason and the message of each code, as those of the embedded server's faults."""
_MODIFIED: Final = "the object has been modified; please apply your changes to the latest version and try again"


class StatusResponse:
    """A failed request: a Status as kube-apiserver sends it.

    Args:
        status: The HTTP status code.
        reason: The reason of the Status; None for the usual one of the code.
        message: The message of the Status; by default, the usual one of the code.
        retry_after: Seconds for the ``Retry-After`` header; 0 for none.
        details: The details of the Status.
        body: Another body than a Status, as plain text.
    """

    def __init__(
        self,
        status: int,
        reason: str | None = None,
        message: str = "",
        retry_after: int = 0,
        *,
        details: Mapping[str, object] | None = None,
        body: bytes | None = None,
    ) -> None:
        usual_reason, usual_message = _KNOWN.get(status, ("", _INJECTED))
        self._status = status
        reason = usual_reason if reason is None else reason
        contents: dict[str, object] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": dict[str, object](),
            "status": "Failure",
            "message": message or usual_message,
            **({"reason": reason} if reason else {}),
            **_details(details, retry_after),
            "code": status,
        }
        self._body = json.dumps(contents).encode() if body is None else body
        self._headers = {
            "content-type": "application/json" if body is None else "text/plain; charset=utf-8",
            "content-length": str(len(self._body)),
            **({"retry-after": str(retry_after)} if retry_after else {}),
        }

    @property
    def status(self) -> int:
        """The HTTP status code."""
        return self._status

    def header(self, name: str) -> str:
        """A header's value; empty if absent."""
        return self._headers.get(name.lower(), "")

    def headers_of(self, name: str) -> list[str]:
        """All values of a header."""
        value = self.header(name)
        return [value] if value else []

    async def read(self) -> bytes:
        """Return the body."""
        return self._body

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body."""
        yield self._body

    def close(self) -> None:
        """Do nothing: there is no connection."""


def _details(details: Mapping[str, object] | None, retry_after: int) -> dict[str, object]:
    merged = {**(details or {}), **({"retryAfterSeconds": retry_after} if retry_after else {})}
    return {"details": merged} if merged else {}


def conflict_response(verb: str, place: RequestPlace) -> StatusResponse:
    """Respond as if another client had written first."""
    subject, details = f"{place.group_resource} {quoted(place.name)}", _name_details(place)
    if verb == "create":
        return StatusResponse(409, "AlreadyExists", f"{subject} already exists", details=details)
    problem = f"Operation cannot be fulfilled on {subject}: {_MODIFIED}"
    return StatusResponse(409, "Conflict", problem, details=details)


def forbidden_response(verb: str, place: RequestPlace, user: str) -> StatusResponse:
    """Respond as if a user may not send a request."""
    # kube-apiserver authorizes a create before it reads the body, so that it knows no name.
    name = "" if verb == "create" else place.name
    resource = f"{place.plural}/{place.subresource}" if place.subresource else place.plural
    where = f"in the namespace {quoted(place.namespace)}" if place.namespace else "at the cluster scope"
    problem = (
        f"{place.group_resource}{f' {quoted(name)}' if name else ''} is forbidden: User {quoted(user)} cannot "
        f"{'patch' if verb == 'apply' else verb} resource {quoted(resource)} in API group {quoted(place.group)} {where}"
    )
    return StatusResponse(403, "Forbidden", problem, details=_name_details(place._replace(name=name)))


def throttled_response(retry_after: int) -> StatusResponse:
    """Respond as kube-apiserver's limit of requests in flight does: without a Status."""
    body = b"Too many requests, please try again later.\n"
    return StatusResponse(429, retry_after=retry_after, body=body)


def _name_details(place: RequestPlace) -> dict[str, object]:
    parts = {"name": place.name, "group": place.group, "kind": place.plural}
    return {key: value for key, value in parts.items() if value}
