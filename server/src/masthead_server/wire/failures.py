"""Failures: every one a Status, with the message of kube-apiserver.

`StatusFailure` is raised anywhere below the HTTP layer and becomes the response. The errors of fields make one
``Invalid`` failure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead._schema.errors import MAX_FINDINGS, MAX_TEXT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._schema.errors import FieldError
    from masthead_server.wire.plain import Plain


class StatusFailure(Exception):  # noqa: N818 - it is a response, a Status
    """A request has failed.

    Attributes:
        code: The status code.
        reason: The reason of the Status; empty where kube-apiserver has none.
        message: The message of the Status.
        details: The details of the Status, if it has any.
        metadata: The metadata of the Status, where the failure of an expired continue token has a new one.
        retry_after: Seconds for the Retry-After header.
        state: The status of the Status, which a webhook may choose.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Plain | None = None,
        metadata: Plain | None = None,
        retry_after: int | None = None,
        state: str = "Failure",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.metadata = metadata
        self.retry_after = retry_after
        self.state = state

    def status(self) -> Plain:
        """Return the body of the response."""
        # The fields are in the order of Go's struct metav1.Status.
        body: Plain = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata or {},
            "status": self.state,
            # A header in it may be no UTF-8, and holds lone surrogates then, which JSON cannot.
            "message": self.message.encode("utf-8", "replace").decode(),
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


def details_of(name: str, group: str, kind: str, *, uid: str = "") -> Plain:
    """Return the details that name an object; empty ones are left out, as kube-apiserver does."""
    parts = {"name": name, "group": group, "kind": kind, "uid": uid}
    return {key: value for key, value in parts.items() if value}


def qualified(group: str, resource: str) -> str:
    """Return a resource's name in messages: ``pods``, ``deployments.apps``."""
    return f"{resource}.{group}" if group else resource


def not_found(group: str, resource: str, name: str) -> StatusFailure:
    """There is no such object."""
    message = f"{qualified(group, resource)} {quoted(name)} not found"
    return StatusFailure(404, "NotFound", message, details=details_of(name, group, resource))


def already_exists(group: str, resource: str, name: str) -> StatusFailure:
    """There is already such an object."""
    message = f"{qualified(group, resource)} {quoted(name)} already exists"
    return StatusFailure(409, "AlreadyExists", message, details=details_of(name, group, resource))


def conflict(group: str, resource: str, name: str, problem: str) -> StatusFailure:
    """The object is not in the state that the client expects."""
    message = f"Operation cannot be fulfilled on {qualified(group, resource)} {quoted(name)}: {problem}"
    return StatusFailure(409, "Conflict", message, details=details_of(name, group, resource))


MODIFIED: Final = "the object has been modified; please apply your changes to the latest version and try again"


def bad_request(message: str) -> StatusFailure:
    """The request is malformed."""
    return StatusFailure(400, "BadRequest", message)


def internal_error(problem: str) -> StatusFailure:
    """The server cannot do its part of a request."""
    message = f"Internal error occurred: {problem}"
    return StatusFailure(500, "InternalError", message, details={"causes": [{"message": problem}]})


def too_far_ahead(wanted: int, newest: int) -> StatusFailure:
    """A version does not exist yet: the client is to retry in a second."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return StatusFailure(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {wanted}, current: {newest}",
        details={"causes": [cause], "retryAfterSeconds": 1},
        retry_after=1,
    )


def refused_fields(group: str, kind: str, name: str, errors: Sequence[FieldError]) -> StatusFailure:
    """Some fields are invalid: 422 with a cause for each, up to a limit."""
    causes: list[Plain] = []
    words: dict[str, None] = {}
    left = MAX_TEXT
    for error in errors[:MAX_FINDINGS]:
        body = error.body
        left -= len(error.field) + len(body)
        # At least one cause, even a long one: without any, a 422 would not name the problem.
        if left < 0 and causes:
            break
        causes.append({"reason": error.reason, "message": body, "field": error.field})
        # kube-apiserver writes equal messages once, but keeps a cause for each.
        words[f"{error.field}: {body}"] = None
    listed = next(iter(words)) if len(words) == 1 else f"[{', '.join(words)}]"
    kind_name = f"{kind}.{group}" if group else kind
    details = {**details_of(name, group, kind), "causes": causes}
    return StatusFailure(422, "Invalid", f"{kind_name} {quoted(name)} is invalid: {listed}", details=details)
