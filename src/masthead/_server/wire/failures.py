"""Failures: every one a Status, with the message of kube-apiserver.

`StatusFailure` is raised anywhere below the HTTP layer and becomes the response. `FieldError` is one error of
a validation; all of them make one ``Invalid`` failure.
"""

from __future__ import annotations

import json
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from masthead._server.wire.plain import Plain

OMITTED: Final = object()
"""Stands for an invalid value that the message does not repeat."""

_WORDS: Final = {
    "FieldValueNotFound": "Not found",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueInvalid": "Invalid value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueTooLong": "Too long",
    "FieldValueTooShort": "Too short",
    "FieldValueTooMany": "Too many",
    "FieldValueTooFew": "Too few",
    "FieldValueTypeInvalid": "Invalid value",
    "InternalError": "Internal error",
}
_WITHOUT_VALUE: Final = frozenset(
    {"FieldValueRequired", "FieldValueForbidden", "FieldValueTooLong", "FieldValueTooShort", "InternalError"}
)
_ESCAPES: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}
_JSON_ESCAPES: Final = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}
_PLAIN_FLOATS: Final = 1e21
"""Go formats whole numbers from here on with an exponent."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """The error of one field.

    Attributes:
        reason: ``FieldValueRequired`` and so on, as a Status' cause has it.
        field: The path, such as ``spec.containers[0].name``.
        value: The invalid value; `OMITTED` if the message does not repeat it.
        detail: Why it is invalid.
    """

    reason: str
    field: str
    value: object = OMITTED
    detail: str = ""

    def __post_init__(self) -> None:
        if (gathering := _gathering.get()) is not None:
            gathering.add(self)

    @property
    def body(self) -> str:
        """The message without the field's name."""
        words = _WORDS[self.reason]
        if self.reason not in _WITHOUT_VALUE and self.value is not OMITTED:
            words = f"{words}: {shown(self.value)}"
        return f"{words}: {self.detail}" if self.detail else words

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"


def required(field: str, detail: str = "") -> FieldError:
    """A required value is missing."""
    return FieldError("FieldValueRequired", field, detail=detail)


def invalid(field: str, value: object, detail: str) -> FieldError:
    """A value is invalid."""
    return FieldError("FieldValueInvalid", field, value, detail)


def forbidden(field: str, detail: str) -> FieldError:
    """A value may not be set or changed here."""
    return FieldError("FieldValueForbidden", field, detail=detail)


def duplicate(field: str, value: object) -> FieldError:
    """A value is duplicate where it must be unique."""
    return FieldError("FieldValueDuplicate", field, value)


def not_supported(field: str, value: object, supported: Iterable[str]) -> FieldError:
    """A value is not one of the supported ones."""
    ordered = sorted(supported) if isinstance(supported, set | frozenset) else supported
    known = ", ".join(quoted(each) for each in ordered)
    return FieldError("FieldValueNotSupported", field, value, f"supported values: {known}" if known else "")


def too_long(field: str, limit: int) -> FieldError:
    """A value has too many bytes."""
    unit = "byte" if limit == 1 else "bytes"
    return FieldError("FieldValueTooLong", field, detail=f"may not be more than {limit} {unit}")


def quoted(value: str) -> str:
    """Write a string as Go's ``%q`` does."""
    if (
        value.isprintable() and '"' not in value and "\\" not in value
    ):  # nearly every one, and long ones at once
        return f'"{value}"'
    if len(value) > _LONG:
        # differs from Go, which escapes only what is not printable, and some of it otherwise: checking each
        # character takes too long.
        escaped = value.encode("unicode_escape").decode("ascii").replace('"', '\\"')
        return f'"{escaped}"'
    strange = {each for each in set(value) if each in _ESCAPES or not each.isprintable()}
    # One after the other, each over all of the text, is many times faster than character by character. The
    # backslash comes first: all others become something that has one.
    for each in sorted(strange, key="\\".__ne__):
        value = value.replace(each, _escaped(each))
    return f'"{value}"'


_LONG: Final = 10_000
"""Characters of a text that is escaped character by character."""


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shown(value: object) -> str:
    """Write a bad value as a message shows it: a string as ``%q``, a number as ``%v``, the rest as JSON."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < _PLAIN_FLOATS:
        return str(int(value))
    # Go's JSON is safe within HTML and JavaScript.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_JSON_ESCAPES)


class StatusFailure(Exception):  # noqa: N818 - it is a response, a Status
    """A request has failed.

    Attributes:
        code: The status code.
        reason: The reason of the Status; empty where kube-apiserver has none.
        message: The message of the Status.
        details: The details of the Status, if it has any.
        metadata: The metadata of the Status, where the failure of an expired continue token has a new one.
        retry_after: Seconds for the Retry-After header.
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
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.metadata = metadata
        self.retry_after = retry_after

    def status(self) -> Plain:
        """Return the body of the response."""
        # The fields are in the order of Go's struct metav1.Status.
        body: Plain = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata or {},
            "status": "Failure",
            "message": self.message,
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


MODIFIED: Final = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def bad_request(message: str) -> StatusFailure:
    """The request is malformed."""
    return StatusFailure(400, "BadRequest", message)


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


MOST_FINDINGS: Final = 1_000
"""The most errors that are listed; kube-apiserver lists all, and its response can be a thousand times the
request."""
_MOST_TEXT: Final = 1024 * 1024
"""The most characters of all errors together; the first is listed whatever its length."""


class _Enough(Exception):  # noqa: N818 - it never leaves this module
    """More errors were found than are listed."""


class _Gathering:
    """The errors of one object that were found so far."""

    def __init__(self) -> None:
        self.found: list[FieldError] = []
        self._left = _MOST_TEXT

    def add(self, error: FieldError) -> None:
        self.found.append(error)
        self._left -= len(error.field) + len(error.detail)
        if len(self.found) > MOST_FINDINGS or self._left < 0:
            raise _Enough


_gathering: Final[ContextVar[_Gathering | None]] = ContextVar("_gathering", default=None)


def gather(find: Callable[[], Sequence[FieldError]]) -> list[FieldError]:
    """Validate an object, and stop when there are more errors than are listed.

    An object of a few megabytes can have a million errors. A validation that has found too many is not
    finished; the response has the first of them.

    Args:
        find: Finds all errors.
    """
    gathering = _Gathering()
    token = _gathering.set(gathering)
    try:
        return list(find())
    except _Enough:
        return gathering.found
    finally:
        _gathering.reset(token)


def refused_fields(group: str, kind: str, name: str, errors: Sequence[FieldError]) -> StatusFailure:
    """Some fields are invalid: 422 with a cause for each, up to a limit."""
    causes: list[Plain] = []
    words: dict[str, None] = {}
    left = _MOST_TEXT
    for each in errors[:MOST_FINDINGS]:
        body = each.body
        left -= len(each.field) + len(body)
        # At least one cause, even a long one: without any, a 422 would not say what is wrong.
        if left < 0 and causes:
            break
        causes.append({"reason": each.reason, "message": body, "field": each.field})
        # kube-apiserver writes equal messages once, but keeps a cause for each.
        words[f"{each.field}: {body}"] = None
    listed = next(iter(words)) if len(words) == 1 else f"[{', '.join(words)}]"
    kind_name = f"{kind}.{group}" if group else kind
    details = {**details_of(name, group, kind), "causes": causes}
    return StatusFailure(422, "Invalid", f"{kind_name} {quoted(name)} is invalid: {listed}", details=details)
