"""What the server says when it refuses: every failure as a Status, worded as kube-apiserver words it.

`StatusFailure` is raised anywhere below the HTTP layer and becomes the answer. `FieldError` is one finding of a
validation; many of them make one ``Invalid`` failure.
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
"""Stands for a bad value that the message does not repeat."""

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
"""Go writes whole numbers from here on with an exponent."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One field that is wrong, and how.

    Attributes:
        reason: ``FieldValueRequired`` and so on, as a Status' cause has it.
        field: The path, such as ``spec.containers[0].name``.
        value: What was given; `OMITTED` if the message is not to repeat it.
        detail: What is wrong with it.
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
        said = _WORDS[self.reason]
        if self.reason not in _WITHOUT_VALUE and self.value is not OMITTED:
            said = f"{said}: {shown(self.value)}"
        return f"{said}: {self.detail}" if self.detail else said

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"


def required(field: str, detail: str = "") -> FieldError:
    """A value that must be there is not."""
    return FieldError("FieldValueRequired", field, detail=detail)


def invalid(field: str, value: object, detail: str) -> FieldError:
    """A value breaks a rule."""
    return FieldError("FieldValueInvalid", field, value, detail)


def forbidden(field: str, detail: str) -> FieldError:
    """A value may not be set or changed here."""
    return FieldError("FieldValueForbidden", field, detail=detail)


def duplicate(field: str, value: object) -> FieldError:
    """A value stands twice where it may stand once."""
    return FieldError("FieldValueDuplicate", field, value)


def not_supported(field: str, value: object, supported: Iterable[str]) -> FieldError:
    """A value is none of those that the server knows."""
    ordered = sorted(supported) if isinstance(supported, set | frozenset) else supported
    known = ", ".join(quoted(each) for each in ordered)
    return FieldError("FieldValueNotSupported", field, value, f"supported values: {known}" if known else "")


def too_long(field: str, limit: int) -> FieldError:
    """A value has more bytes than it may have."""
    unit = "byte" if limit == 1 else "bytes"
    return FieldError("FieldValueTooLong", field, detail=f"may not be more than {limit} {unit}")


def quoted(value: str) -> str:
    """Write a string as Go's ``%q`` does."""
    if (
        value.isprintable() and '"' not in value and "\\" not in value
    ):  # nearly every one, and long ones at once
        return f'"{value}"'
    if len(value) > _LONG:
        # differs from Go, which escapes only what cannot be printed, and some of it otherwise: telling that of each
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
"""Characters of a text that is taken apart into its characters."""


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
    # Go's JSON can be put into HTML and JavaScript as it is.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_JSON_ESCAPES)


class StatusFailure(Exception):  # noqa: N818 - it is an answer, and becomes a Status on the way out
    """A request that is refused.

    Attributes:
        code: HTTP's status.
        reason: The Status' reason; empty where the real server gives none.
        message: What is printed.
        details: The Status' details, if there are any.
        metadata: The Status' metadata: an expired continue token carries a fresh one there.
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
        """The body of the answer."""
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
    """Details that say which object is meant; what is empty is left out, as the real server does."""
    parts = {"name": name, "group": group, "kind": kind, "uid": uid}
    return {key: value for key, value in parts.items() if value}


def qualified(group: str, resource: str) -> str:
    """Name a resource as messages do: ``pods``, ``deployments.apps``."""
    return f"{resource}.{group}" if group else resource


def not_found(group: str, resource: str, name: str) -> StatusFailure:
    """There is no such object."""
    message = f"{qualified(group, resource)} {quoted(name)} not found"
    return StatusFailure(404, "NotFound", message, details=details_of(name, group, resource))


def already_exists(group: str, resource: str, name: str) -> StatusFailure:
    """There is such an object already."""
    message = f"{qualified(group, resource)} {quoted(name)} already exists"
    return StatusFailure(409, "AlreadyExists", message, details=details_of(name, group, resource))


def conflict(group: str, resource: str, name: str, problem: str) -> StatusFailure:
    """The object is not what the writer thought that it was."""
    message = f"Operation cannot be fulfilled on {qualified(group, resource)} {quoted(name)}: {problem}"
    return StatusFailure(409, "Conflict", message, details=details_of(name, group, resource))


MODIFIED: Final = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def bad_request(message: str) -> StatusFailure:
    """The request makes no sense."""
    return StatusFailure(400, "BadRequest", message)


def too_far_ahead(wanted: int, newest: int) -> StatusFailure:
    """A version has not come yet: the client is to ask again in a second."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return StatusFailure(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {wanted}, current: {newest}",
        details={"causes": [cause], "retryAfterSeconds": 1},
        retry_after=1,
    )


MOST_FINDINGS: Final = 1_000
"""How many faults of one object are listed; the real server lists all, and its answer can be a thousand times the request."""
_MOST_TEXT: Final = 1024 * 1024
"""Characters of all the faults of an object together; the first is told whatever its length."""


class _Enough(Exception):  # noqa: N818 - it never leaves this module
    """More is wrong with an object than anybody wants to hear."""


class _Gathering:
    """What was found to be wrong with one object so far."""

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
    """Look for what is wrong with an object, and stop where that is more than can be told.

    An object of a few megabytes can have a million faults. A check that has found so many is not finished; the answer
    is then made of the first.

    Args:
        find: Looks for it all.
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
    """Some fields are wrong: 422 with a cause for each, as far as there is room."""
    causes: list[Plain] = []
    said: dict[str, None] = {}
    left = _MOST_TEXT
    for each in errors[:MOST_FINDINGS]:
        body = each.body
        left -= len(each.field) + len(body)
        if left < 0 and causes:
            break
        causes.append({"reason": each.reason, "message": body, "field": each.field})
        said[f"{each.field}: {body}"] = None
    listed = next(iter(said)) if len(said) == 1 else f"[{', '.join(said)}]"
    kind_name = f"{kind}.{group}" if group else kind
    details = {**details_of(name, group, kind), "causes": causes}
    return StatusFailure(422, "Invalid", f"{kind_name} {quoted(name)} is invalid: {listed}", details=details)
