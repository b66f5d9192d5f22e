"""The errors that an API server returns as a ``Status``: one class per reason, and the table that chooses it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from masthead._errors.advice import FailedRequest, advice_for, names_another
from masthead._errors.base import MastheadError, printable
from masthead._errors.field_manager_conflicts import field_manager_conflicts, has_field_manager_conflicts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._errors.field_manager_conflicts import FieldManagerConflict
    from masthead._meta.v1 import Status, StatusDetails

_MAX_MESSAGE = 10_000
"""The number of characters of the server's message in ``str(error)``."""
_INVALID_VALUE = re.compile(r'(?:(?<!\S)(\S{1,300}): )?(Invalid value: )("[^"\\]*(?:\\.[^"\\]*)*"|\{.*\})', re.DOTALL)
_PUBLIC_FIELD = re.compile(
    r"\[?(metadata\.(name|generateName|namespace|labels|finalizers|ownerReferences)|type|immutable)\b"
)
"""Fields of a Secret without secret values. Annotations are not among them: kubectl stores the last apply there."""
_MAX_RETRY_AFTER = 2**31 - 1
"""The largest ``retryAfterSeconds``: the API declares it as int32."""
_MAX_CODE = 999


class StatusError(MastheadError):
    """The server returned a failure.

    Catch the subclass for the reason that you can handle. An instance of this class itself has a reason without a
    subclass, which a newer server or an aggregated API may return.

    Attributes:
        verb: The API verb: ``get``, ``create``, ``patch`` ...
        resource: The resource, such as ``pods`` or ``deployments.apps``.
        namespace: The namespace; empty for none.
        name: The name of the object; empty for a collection.
        code: The HTTP status code.
        reason: The reason of the Status, such as ``NotFound``.
        message: The server's message, unchanged; ``str(error)`` removes terminal escapes and truncates it.
        details: Causes, uid and retry delay, if the server sent them.
    """

    reason_name: ClassVar[str] = ""
    """The ``reason`` of a Status that becomes this class."""
    usual_code: ClassVar[int] = 0
    """The HTTP code that usually accompanies the reason."""
    advice: ClassVar[str] = ""
    """The next step; the last sentence of the message."""

    def __init__(
        self,
        message: str,
        *,
        verb: str = "",
        resource: str = "",
        namespace: str = "",
        name: str = "",
        code: int = 0,
        reason: str = "",
        details: StatusDetails | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.verb = verb
        self.resource = resource
        self.namespace = namespace
        self.name = name
        # Errors that the client raises itself have no response.
        self.code: int = code or self.usual_code
        self.reason: str = reason or self.reason_name
        self.details = details

    @property
    def retry_after(self) -> float | None:
        """The seconds to wait before a retry, if the server sent them."""
        # The API omits the field, or sends 0, if there is nothing to wait for.
        seconds = self.details.retry_after_seconds if self.details is not None else None
        return float(min(seconds, _MAX_RETRY_AFTER)) if seconds and seconds > 0 else None

    def __str__(self) -> str:
        subject = "/".join(part for part in (self.namespace, self.name) if part)
        tried = " ".join(part for part in (self.verb, self.resource, subject) if part)
        message = self.message
        if self.resource.partition("/")[0] == "secrets":  # the server may repeat the rejected values
            message = _INVALID_VALUE.sub(_hide_value, message)
        # A webhook may send megabytes, which a log line must not repeat.
        message = message if len(message) <= _MAX_MESSAGE else f"{message[:_MAX_MESSAGE]}..."
        failure = f"{message or 'the server gave no message'} ({self.code} {self.reason[:_MAX_MESSAGE] or 'Unknown'})"
        sentence = f"{tried}: {failure}." if tried else f"{failure}."
        return " ".join(part for part in (printable(sentence), self.next_step) if part)

    @property
    def next_step(self) -> str:
        """The next step: for a known message, else for the reason."""
        # A 501 is final, whatever the reason says about retries.
        if self.code == _NOT_IMPLEMENTED:
            return ""
        # Class attributes do not appear there.
        if "advice" in self.__dict__:  # set on the instance by the code that raised it
            return self.advice
        request = FailedRequest(
            reason=self.reason_name,
            verb=self.verb,
            resource=self.resource,
            namespace=self.namespace,
            message=self.message,
            has_causes=bool(self.details is not None and self.details.causes),
        )
        return advice_for(request) or self.advice


def _hide_value(invalid: re.Match[str]) -> str:
    """Mask a rejected value of a Secret, except in public fields."""
    path, words, value = invalid.groups(default="")
    is_public = _PUBLIC_FIELD.match(path) and not value.startswith("{")
    return f"{path and f'{path}: '}{words}{value if is_public else '<hidden>'}"


class BadRequestError(StatusError):
    """The request itself is wrong."""

    reason_name: ClassVar[str] = "BadRequest"
    usual_code: ClassVar[int] = 400
    advice = "Change what the message names; sending the same again will not help."


class UnauthorizedError(StatusError):
    """The request could not be authenticated."""

    reason_name: ClassVar[str] = "Unauthorized"
    usual_code: ClassVar[int] = 401
    advice = "Renew the credentials, or check which user the kubeconfig's current context names."


class ForbiddenError(StatusError):
    """The user is not authorized, or admission denied the request."""

    reason_name: ClassVar[str] = "Forbidden"
    usual_code: ClassVar[int] = 403
    advice = (
        "Grant the user a role with this verb on this resource, or check the admission rule that the message names."
    )


class NotFoundError(StatusError):
    """The object, or the resource, does not exist."""

    reason_name: ClassVar[str] = "NotFound"
    usual_code: ClassVar[int] = 404
    advice = "Check name and namespace."


class MethodNotAllowedError(StatusError):
    """The resource does not support this verb."""

    reason_name: ClassVar[str] = "MethodNotAllowed"
    usual_code: ClassVar[int] = 405
    advice = "Ask discovery which verbs the resource has."


class NotAcceptableError(StatusError):
    """The server has no representation that the client accepts."""

    reason_name: ClassVar[str] = "NotAcceptable"
    usual_code: ClassVar[int] = 406
    advice = "Ask for application/json."


class AlreadyExistsError(StatusError):
    """An object with that name exists already."""

    reason_name: ClassVar[str] = "AlreadyExists"
    usual_code: ClassVar[int] = 409
    advice = "Update or apply it instead, or create under another name."


class ConflictError(StatusError):
    """The object was changed concurrently; as an `ApplyConflictError`, other field managers own some of its fields."""

    reason_name: ClassVar[str] = "Conflict"
    usual_code: ClassVar[int] = 409
    advice = "Read the object again, repeat the change on the new version, and retry."


class ApplyConflictError(ConflictError):
    """A server-side apply conflicts with other field managers, which own fields with other values. Nothing changed.

    A retry conflicts again, so `retry_on_conflict` does not retry it. For each field there are three solutions: take it
    over with ``force=True``, leave it out so that its manager keeps it, or share it by applying its present value.
    """

    advice = (
        "For each of these fields: take it over with force=True; or leave it out, so that its manager keeps it; or "
        "apply "
        "its present value, to share it. error.conflicts lists them."
    )

    @property
    def conflicts(self) -> tuple[FieldManagerConflict, ...]:
        """Fields of other managers; a field with several managers is listed once for each."""
        return field_manager_conflicts(self.details)

    @property
    def next_step(self) -> str:
        """The next step: the three solutions, and the migration for fields that client-side apply has set."""
        if any(conflict.operation == "Update" for conflict in self.conflicts):
            return f"{super().next_step} If client-side apply has set them, upgrade_managed_fields hands them over."
        return super().next_step


class GoneError(StatusError):
    """The requested data is no longer available and will not come back."""

    reason_name: ClassVar[str] = "Gone"
    usual_code: ClassVar[int] = 410
    advice = "List again and continue from the new resource version."


class ExpiredError(StatusError):
    """The resource version or continue token is older than the server's history."""

    reason_name: ClassVar[str] = "Expired"
    usual_code: ClassVar[int] = 410
    advice = "List again and continue from the new resource version."


class RequestEntityTooLargeError(StatusError):
    """The request body is larger than the server accepts."""

    reason_name: ClassVar[str] = "RequestEntityTooLarge"
    usual_code: ClassVar[int] = 413
    advice = "Split the object, or keep large data outside the API."


class UnsupportedMediaTypeError(StatusError):
    """The server does not support the content type of the body."""

    reason_name: ClassVar[str] = "UnsupportedMediaType"
    usual_code: ClassVar[int] = 415
    advice = "Use another patch kind; custom resources take no strategic merge patch."


class UnprocessableError(StatusError):
    """The object failed validation; ``details.causes`` lists the fields."""

    reason_name: ClassVar[str] = "Invalid"
    usual_code: ClassVar[int] = 422
    advice = "Fix the fields that the message names; error.details.causes lists them."


class TooManyRequestsError(StatusError):
    """The server is rate limiting, or an eviction would violate a disruption budget."""

    reason_name: ClassVar[str] = "TooManyRequests"
    usual_code: ClassVar[int] = 429
    advice = "Wait a little (error.retry_after, where the server says how long), then try again."


class InternalServerError(StatusError):
    """An internal error of the server."""

    reason_name: ClassVar[str] = "InternalError"
    usual_code: ClassVar[int] = 500
    advice = "Try again; if it stays, the API server's log says more."


class StoreReadError(StatusError):
    """The server cannot read the object from its storage, for example because it cannot decrypt it."""

    reason_name: ClassVar[str] = "StorageReadError"
    usual_code: ClassVar[int] = 500
    advice = "Check the API server's encryption configuration; a retry will not help."


class ServerTimeoutError(StatusError):
    """The server did not finish in time; the operation may or may not have been carried out."""

    reason_name: ClassVar[str] = "ServerTimeout"
    usual_code: ClassVar[int] = 500
    advice = "Read the object to see whether the change was made, then try again."


class ServiceUnavailableError(StatusError):
    """The server, or the aggregated API behind it, is not ready."""

    reason_name: ClassVar[str] = "ServiceUnavailable"
    usual_code: ClassVar[int] = 503
    advice = "Try again a little later."


class GatewayTimeoutError(StatusError):
    """The request ran out of time on the server."""

    reason_name: ClassVar[str] = "Timeout"
    usual_code: ClassVar[int] = 504
    advice = "Try again, with a smaller page or a longer timeout."


_NOT_IMPLEMENTED = 501
"""501: a retry does not help."""

_STATUS_ERRORS: tuple[type[StatusError], ...] = (
    BadRequestError,
    UnauthorizedError,
    ForbiddenError,
    NotFoundError,
    MethodNotAllowedError,
    NotAcceptableError,
    ConflictError,
    AlreadyExistsError,
    ExpiredError,
    GoneError,
    RequestEntityTooLargeError,
    UnsupportedMediaTypeError,
    UnprocessableError,
    TooManyRequestsError,
    InternalServerError,
    StoreReadError,
    ServerTimeoutError,
    ServiceUnavailableError,
    GatewayTimeoutError,
)

BY_REASON: Mapping[str, type[StatusError]] = {cls.reason_name: cls for cls in _STATUS_ERRORS}
"""The error class for each reason of a Status."""

# Reversed, so that the first class with a code wins.
BY_CODE: Mapping[int, type[StatusError]] = {cls.usual_code: cls for cls in reversed(_STATUS_ERRORS)}
"""The error class for a code with an unknown reason: the first of `_STATUS_ERRORS` with that code."""


def status_error_class(*, reason: str, code: int, verb: str = "") -> type[StatusError]:
    """Choose the error class for a failure: by its reason, or by its code if the reason is unknown.

    A 409 without a reason is an `AlreadyExistsError` for a create, and a `ConflictError` otherwise. Any other code
    from 500 up is an `InternalServerError`, as in client-go.
    """
    if cls := BY_REASON.get(reason):
        return cls
    # Both have 409; a create cannot conflict with a version that it does not have.
    if code == AlreadyExistsError.usual_code and verb == "create":
        return AlreadyExistsError
    return BY_CODE.get(code, InternalServerError if code >= InternalServerError.usual_code else StatusError)


def error_from_status(
    status: Status, *, verb: str = "", resource: str = "", namespace: str = "", name: str = ""
) -> StatusError:
    """Convert a failure Status into the error to raise.

    Resource and name default to those in the details of the Status.

    Args:
        status: The Status from the response body.
        verb: The API verb of the request.
        resource: The resource of the request.
        namespace: The namespace of the request.
        name: The name of the object.
    """
    details = status.details
    if details is not None:
        group = f".{details.group}" if details.group else ""
        # The name of a missing namespace, say, must not pass for the name of the requested object.
        is_of_another = names_another(details.kind or "", resource)
        resource = resource or (f"{details.kind}{group}" if details.kind else "")
        name = name or ("" if is_of_another else details.name or "")
    code, reason = status.code or 0, status.reason or ""
    if not 0 <= code <= _MAX_CODE:  # not an HTTP status code
        code = 0
    # The reason decides before the code: proxies and aggregated servers reuse codes.
    cls = status_error_class(reason=reason, code=code, verb=verb)
    # Kubernetes has no reason for this conflict; the causes tell.
    if cls is ConflictError and has_field_manager_conflicts(details):
        cls = ApplyConflictError
    return cls(
        status.message or "",
        verb=verb,
        resource=resource,
        namespace=namespace,
        name=name,
        code=code,
        reason=reason,
        details=details,
    )
