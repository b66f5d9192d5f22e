"""Errors of fields, in the words of kube-apiserver.

A validation returns a list of `FieldError`; all of them make one ``Invalid`` Status.
"""

from __future__ import annotations

import json
import math
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, cast

from masthead._meta.quoting import quoted
from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

OMITTED: Final = object()
"""Placeholder for an invalid value that the message omits."""

_TITLES: Final = {
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
_JSON_ESCAPES: Final = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


@set_module("masthead.webhook")
@dataclass(frozen=True, slots=True)
class FieldError:
    """The error of one field.

    Attributes:
        reason: The reason of a cause in a Status, such as ``FieldValueRequired``.
        field: The path, such as ``spec.containers[0].name``.
        value: The invalid value; `OMITTED` if the message omits it.
        detail: Why it is invalid.
    """

    reason: str
    field: str
    value: object = OMITTED
    detail: str = ""

    def __post_init__(self) -> None:
        # Counted at creation, so that validation stops early however it collects its errors.
        if (gathering := _gathering.get()) is not None:
            gathering.add(self)

    @property
    def body(self) -> str:
        """The message without the field's name."""
        text = _TITLES[self.reason]
        if self.reason not in _WITHOUT_VALUE and self.value is not OMITTED:
            text = f"{text}: {format_value(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"


@set_module("masthead.webhook")
def required(field: str, detail: str = "") -> FieldError:
    """A required value is missing."""
    return FieldError("FieldValueRequired", field, detail=detail)


@set_module("masthead.webhook")
def invalid(field: str, value: object, detail: str) -> FieldError:
    """A value is invalid."""
    return FieldError("FieldValueInvalid", field, value, detail)


@set_module("masthead.webhook")
def forbidden(field: str, detail: str) -> FieldError:
    """A value may not be set or changed here."""
    return FieldError("FieldValueForbidden", field, detail=detail)


@set_module("masthead.webhook")
def duplicate(field: str, value: object) -> FieldError:
    """A value is duplicate where it must be unique."""
    return FieldError("FieldValueDuplicate", field, value)


@set_module("masthead.webhook")
def not_supported(field: str, value: object, supported: Iterable[str]) -> FieldError:
    """A value is not one of the supported ones."""
    # A set has no order; the server sorts its sets, too.
    ordered = sorted(supported) if isinstance(supported, set | frozenset) else supported
    known = ", ".join(quoted(name) for name in ordered)
    return FieldError("FieldValueNotSupported", field, value, f"supported values: {known}" if known else "")


@set_module("masthead.webhook")
def too_long(field: str, limit: int) -> FieldError:
    """A value has too many bytes."""
    unit = "byte" if limit == 1 else "bytes"
    return FieldError("FieldValueTooLong", field, detail=f"may not be more than {limit} {unit}")


@set_module("masthead.webhook")
def too_many(field: str, count: int, limit: int) -> FieldError:
    """A list or map has too many items."""
    unit = "item" if limit == 1 else "items"
    return FieldError("FieldValueTooMany", field, count, f"must have at most {limit} {unit}")


def type_invalid(field: str, value: object, detail: str) -> FieldError:
    """A value has the wrong type."""
    return FieldError("FieldValueTypeInvalid", field, value, detail)


@set_module("masthead.webhook")
def not_found(field: str, value: object) -> FieldError:
    """A value refers to what does not exist."""
    return FieldError("FieldValueNotFound", field, value)


def internal_error(field: str, detail: str) -> FieldError:
    """The server cannot decide about a value."""
    return FieldError("InternalError", field, detail=detail)


class EnumText(str):
    """A value of one of Go's string types, such as an enum; messages show it as JSON."""

    __slots__ = ()


def format_value(value: object) -> str:
    """Write a bad value as a message shows it: a string as ``%q``, a number as ``%v``, the rest as JSON."""
    if isinstance(value, str) and not isinstance(value, EnumText):
        return quoted(value)
    if isinstance(value, float):
        return float_text(value)
    return json_text(value)


def sorted_keys(value: object) -> object:
    """Return a value whose objects have their keys in the order in which Go writes a map."""
    if isinstance(value, dict):
        return {key: sorted_keys(inner) for key, inner in sorted(cast("dict[str, object]", value).items())}
    return [sorted_keys(item) for item in cast("list[object]", value)] if isinstance(value, list) else value


def json_text(value: object) -> str:
    """Write a value as Go's ``json.Marshal`` does: without spaces, and safe within HTML and JavaScript."""
    return "".join(_json_pieces(value)).translate(_JSON_ESCAPES)


def _json_pieces(value: object) -> Iterator[str]:
    """Write JSON as Go does, which has other exponents than Python."""
    if isinstance(value, float):
        yield _json_float(value)
    elif isinstance(value, dict):
        yield "{"
        for index, (key, inner) in enumerate(cast("dict[str, object]", value).items()):
            yield f"{',' if index else ''}{json.dumps(key, ensure_ascii=False)}:"
            yield from _json_pieces(inner)
        yield "}"
    elif isinstance(value, list | tuple):
        yield "["
        for index, item in enumerate(cast("list[object]", value)):
            if index:
                yield ","
            yield from _json_pieces(item)
        yield "]"
    else:
        yield json.dumps(value, ensure_ascii=False)


def float_text(value: float) -> str:
    """Write a number as Go's ``%v`` does: as short as possible, with an exponent from a million on."""
    if not math.isfinite(value):
        return {math.inf: "+Inf", -math.inf: "-Inf"}.get(value, "NaN")
    # The bounds of Go's %v; JSON has others.
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return _plain_float(value)
    mantissa, _, exponent = f"{Decimal(repr(float(value))).normalize():e}".partition("e")
    return f"{mantissa}e{exponent[0]}{exponent[1:]:0>2}"


def _json_float(value: float) -> str:
    """JSON has exponents for larger and smaller numbers only."""
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        return _plain_float(value)
    return float_text(value).replace("e-0", "e-")


def _plain_float(value: float) -> str:
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    return f"{Decimal(repr(float(value))).normalize():f}"


MAX_FINDINGS: Final = 1_000
"""The most errors that are listed; kube-apiserver lists all, and its response can be a thousand times the
request."""
MAX_TEXT: Final = 1024 * 1024
"""The most characters of all errors together; the first is listed whatever its length."""


class _Enough(Exception):  # noqa: N818 - it never leaves this module
    """More errors were found than are listed."""


class _Gathering:
    """The errors of one object that were found so far."""

    def __init__(self) -> None:
        self.found: list[FieldError] = []
        self._left = MAX_TEXT

    def add(self, error: FieldError) -> None:
        self.found.append(error)
        self._left -= len(error.field) + len(error.detail)
        if len(self.found) > MAX_FINDINGS or self._left < 0:
            raise _Enough


_gathering: Final[ContextVar[_Gathering | None]] = ContextVar("_gathering", default=None)


def errors_so_far() -> Sequence[FieldError]:
    """Return the errors of the object that is being validated; none outside of `gather`."""
    gathering = _gathering.get()
    return gathering.found if gathering is not None else ()


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
    # The errors found so far are reported; the rest would not be read.
    except _Enough:
        return gathering.found
    finally:
        _gathering.reset(token)
