"""Answers of a webhook that refuse a request, and the Status that the API server gives to its client."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from masthead._meta import wire
from masthead._meta.shape import ShapeError
from masthead._module import set_module
from masthead._schema.errors import OMITTED, FieldError
from masthead.errors import ArgumentError, MastheadError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead._meta.gvk import GroupVersionKind

__all__ = ["DeniedError", "InvalidObjectError", "check_field_errors", "denial_status", "invalid_status"]

_MAX_ERRORS: Final = 100
"""The maximum number of causes in a Status."""
_ERROR_CODES: Final = range(400, 600)
_REASONS: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Gone",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
"""The reasons of kube-apiserver's own errors, by code."""
_MAX_MESSAGE: Final = 64 * 1024
"""The maximum number of characters of a message."""


@set_module("masthead.webhook")
class DeniedError(MastheadError):
    """Raised by a webhook to refuse a request.

    Args:
        message: The reason for the client.
        code: The HTTP status code of the client's response.
        reason: The reason of the Status, such as ``Forbidden`` or ``Conflict``; that of the code by default.

    Raises:
        ArgumentError: If the code is not one of an error: 400 to 599.
    """

    def __init__(self, message: str, *, code: int = 403, reason: str | None = None) -> None:
        super().__init__(message)
        if code not in _ERROR_CODES:
            raise ArgumentError(f"the code of DeniedError must be from 400 to 599, not {code!r}", value=code)
        self.code: int = code
        self.reason: str = _REASONS.get(code, "") if reason is None else reason


@set_module("masthead.webhook")
class InvalidObjectError(MastheadError):
    """Raised by a webhook to refuse an object because of invalid fields. Returning the errors has the same effect.

    Args:
        errors: The errors, at least one.
    """

    def __init__(self, *errors: FieldError) -> None:
        super().__init__("; ".join(map(str, errors)))
        self.errors: tuple[FieldError, ...] = check_field_errors(errors)
        if not errors:
            raise ArgumentError("InvalidObjectError needs at least one FieldError")


def check_field_errors(errors: Iterable[object]) -> tuple[FieldError, ...]:
    """Check that all items are field errors, and return them.

    Raises:
        ArgumentError: If an item is not a `FieldError`.
    """
    checked = tuple(errors)
    for error in checked:
        if not isinstance(error, FieldError):
            raise ArgumentError(
                f"a validation returned {error!r}; return masthead.webhook.invalid(path, value, detail) and the like",
                value=error,
            )
    return cast("tuple[FieldError, ...]", checked)


def denial_status(denied: DeniedError) -> dict[str, object]:
    """Return the Status of a refused request."""
    return {"status": "Failure", "message": str(denied)[:_MAX_MESSAGE], "reason": denied.reason, "code": denied.code}


def invalid_status(kind: GroupVersionKind, name: str, errors: tuple[FieldError, ...]) -> dict[str, object]:
    """Return the Status of an object with invalid fields, with a cause per field, as kube-apiserver's own."""
    listed = [_printable(error) for error in errors[:_MAX_ERRORS]]
    texts = [str(error) for error in listed]
    if len(errors) > len(listed):
        texts.append(f"and {len(errors) - len(listed)} more")
    summary = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    subject = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    return {
        "status": "Failure",
        "message": f'{subject} "{name}" is invalid: {summary}'[:_MAX_MESSAGE],
        "reason": "Invalid",
        "details": {
            "name": name,
            **({"group": kind.group} if kind.group else {}),
            "kind": kind.kind,
            "causes": [
                {"reason": error.reason, "message": error.body[:_MAX_MESSAGE], "field": error.field} for error in listed
            ],
        },
        "code": 422,
    }


def _printable(error: FieldError) -> FieldError:
    """Return an error whose value can be written as JSON: the user may have passed a typed one."""
    if error.value is OMITTED or isinstance(error.value, str | int | float | None):
        return error
    try:
        return replace(error, value=wire.decode_plain(wire.encode(error.value)))
    except (ArgumentError, ShapeError):
        return replace(error, value=str(error.value))
