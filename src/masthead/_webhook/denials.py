"""Answers of a webhook that refuse a request, and the Status that the API server gives to its client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from masthead._module import set_module
from masthead._schema.errors import OMITTED
from masthead._schema.errors import FieldError as SchemaError
from masthead._schema.errors import not_supported as schema_not_supported
from masthead.errors import ArgumentError, MastheadError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from masthead._meta.gvk import GroupVersionKind

__all__ = ["DeniedError", "FieldError", "InvalidObjectError", "denial_status", "invalid_status"]

_MAX_ERRORS: Final = 100
"""The maximum number of causes in a Status."""
_MAX_MESSAGE: Final = 64 * 1024
"""The maximum number of characters of a message."""


@set_module("masthead.webhook")
class FieldError:
    """An invalid field, in the words of kube-apiserver.

    ::

        FieldError.invalid("spec.replicas", 7, "must be even")
        # spec.replicas: Invalid value: 7: must be even

    Use the class methods; each is one reason of kube-apiserver.
    """

    __slots__ = ("_error",)

    def __init__(self, error: SchemaError) -> None:
        self._error = error

    @property
    def path(self) -> str:
        """The path of the field, such as ``spec.containers[0].name``."""
        return self._error.field

    @property
    def reason(self) -> str:
        """The reason of the cause, such as ``FieldValueInvalid``."""
        return self._error.reason

    @property
    def message(self) -> str:
        """The message without the path, such as ``Invalid value: 7: must be even``."""
        return self._error.body

    @classmethod
    def invalid(cls, path: str, value: object, detail: str) -> Self:
        """Create the error of an invalid value."""
        return cls._create("FieldValueInvalid", path, value, detail)

    @classmethod
    def required(cls, path: str, detail: str = "") -> Self:
        """Create the error of a missing value."""
        return cls._create("FieldValueRequired", path, OMITTED, detail)

    @classmethod
    def forbidden(cls, path: str, detail: str) -> Self:
        """Create the error of a value that must not be set or changed."""
        return cls._create("FieldValueForbidden", path, OMITTED, detail)

    @classmethod
    def duplicate(cls, path: str, value: object) -> Self:
        """Create the error of a value that must be unique."""
        return cls._create("FieldValueDuplicate", path, value, "")

    @classmethod
    def not_found(cls, path: str, value: object) -> Self:
        """Create the error of a reference to an object that does not exist."""
        return cls._create("FieldValueNotFound", path, value, "")

    @classmethod
    def not_supported(cls, path: str, value: object, supported: Iterable[str]) -> Self:
        """Create the error of a value that is not one of the supported ones."""
        return cls(schema_not_supported(_check_path(path), value, supported))

    @classmethod
    def _create(cls, reason: str, path: str, value: object, detail: str) -> Self:
        return cls(SchemaError(reason, _check_path(path), value, detail))

    def __str__(self) -> str:
        return str(self._error)

    def __repr__(self) -> str:
        return f"<FieldError {self._error}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldError) and self._error == other._error

    __hash__ = None  # type: ignore[assignment] # the value may be a list


@set_module("masthead.webhook")
class DeniedError(MastheadError):
    """Raised by a webhook to refuse a request.

    Args:
        message: The reason for the client.
        code: The HTTP status code of the client's response.
        reason: The reason of the Status, such as ``Forbidden`` or ``Conflict``.
    """

    def __init__(self, message: str, *, code: int = 403, reason: str = "Forbidden") -> None:
        super().__init__(message)
        self.code: int = code
        self.reason: str = reason


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
                f"a validation returned {error!r}; return FieldError.invalid(path, value, detail) and the like",
                value=error,
            )
    return cast("tuple[FieldError, ...]", checked)


def denial_status(denied: DeniedError) -> dict[str, object]:
    """Return the Status of a refused request."""
    return {"status": "Failure", "message": str(denied)[:_MAX_MESSAGE], "reason": denied.reason, "code": denied.code}


def invalid_status(kind: GroupVersionKind, name: str, errors: tuple[FieldError, ...]) -> dict[str, object]:
    """Return the Status of an object with invalid fields, with a cause per field, as kube-apiserver's own."""
    listed = errors[:_MAX_ERRORS]
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
                {"reason": error.reason, "message": error.message[:_MAX_MESSAGE], "field": error.path}
                for error in listed
            ],
        },
        "code": 422,
    }


def _check_path(path: object) -> str:
    if not isinstance(path, str) or not path:
        raise ArgumentError(f"a field error needs a path such as 'spec.replicas', not {path!r}", value=path)
    return path
