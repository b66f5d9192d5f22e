"""Scalars as Go decodes and encodes them, and what a decoding finds on its way.

`encoding/json` continues after a value of the wrong type, and reports the first of them at the end. Types with an
``UnmarshalJSON`` method stop it immediately: times, quantities, integers that may be strings.
"""

from __future__ import annotations

import base64
import functools
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Self, cast

from masthead._meta.quantity import Quantity, QuantityFormat
from masthead.errors import ArgumentError
from masthead_server.wire.body_limits import MAX_ITEMS, too_large
from masthead_server.wire.go_base64 import decode_base64
from masthead_server.wire.go_time import MICRO_TIME, TIME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.wire.go_time import TimeLayout

__all__ = [
    "ANYTHING",
    "MICRO_TIME_TEXT",
    "TIME_TEXT",
    "ByteString",
    "Decoding",
    "GoValue",
    "IntOrString",
    "Integer",
    "Mismatch",
    "NumberLiteral",
    "QuantityText",
    "Scalar",
    "TimeText",
    "TypeMismatch",
    "join_path",
    "write_quantity",
]

_MAX_UNKNOWN: Final = 100
_MAX_REPORTED: Final = 1024 * 1024
"""Characters of the paths of unknown fields that are reported."""
_MAX_CACHED_LENGTH: Final = 64
_INT32: Final = 2**31


class NumberLiteral(float):
    """A number with the text that it was written as."""

    _text: str

    def __new__(cls, text: str) -> Self:
        """Read a number."""
        made = super().__new__(cls, text)
        made._text = text
        return made

    def __str__(self) -> str:
        """Return the text that it was written as."""
        return self._text


_JSON_TYPES: Final[Mapping[type, str]] = {
    str: "string",
    bool: "bool",
    dict: "object",
    list: "array",
    int: "number",
    float: "number",
    NumberLiteral: "number",
}
NO_QUANTITY: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


class Mismatch(Exception):  # noqa: N818 - it becomes a StatusFailure on the way out
    """A value cannot be decoded; the message is Go's."""


class TypeMismatch(NamedTuple):
    """A value of the wrong type.

    Attributes:
        got: The type of the value in JSON.
        owner: The struct that has the field.
        field: The path of the field.
        wanted: The type of the field in Go.
    """

    got: str
    owner: str
    field: str
    wanted: str

    def __str__(self) -> str:
        return f"json: cannot unmarshal {self.got} into Go struct field {self.owner}.{self.field} of type {self.wanted}"


class Decoding:
    """What a decoding found on its way.

    Attributes:
        unknown: The paths of fields that the kind does not have.
        path: The current path: fields with a leading dot, preceded by their embedded struct in angle brackets; indexes
            in brackets; keys of maps with an opening brace.
        mismatch: The first value of the wrong type, or Go's message about it.
    """

    def __init__(self) -> None:
        self.unknown: list[str] = []
        self.path: list[str] = []
        self.mismatch: TypeMismatch | str = ""
        self._reported = 0
        self._items = 0

    def add_unknown(self, name: str) -> None:
        """Record an unknown field; Go lists a hundred of them."""
        # Long paths count as well, or the list could exceed the body by far.
        if len(self.unknown) < _MAX_UNKNOWN and self._reported < _MAX_REPORTED:
            self.unknown.append(self.where(name))
            self._reported += len(self.unknown[-1])

    def add_items(self, count: int, *, are_structs: bool) -> None:
        """Count the items of lists. A text, which may have to be read as an address, counts as a quarter of a struct.

        Raises:
            StatusFailure: If there are too many in the object.
        """
        # Quarters of a struct, so that the sum stays an integer.
        self._items += 4 * count if are_structs else count
        if self._items > 4 * MAX_ITEMS:
            raise too_large(f"limit is {MAX_ITEMS} structs, or {4 * MAX_ITEMS} plain values, in the lists of an object")

    def where(self, name: str) -> str:
        """The path of a field of the struct that is being read."""
        return join_path([*self.path, f".{name}"])

    def add_mismatch(self, value: object, owner: str, wanted: str, *, shows_number: bool = False) -> None:
        """Record a value of the wrong type, if it is the first.

        Args:
            value: The value.
            owner: The struct that has the field.
            wanted: The type of the field in Go.
            shows_number: Whether the message contains the number, because it does not fit.
        """
        if not self.mismatch:
            got = _JSON_TYPES.get(type(value), "null")
            if shows_number and got == "number":
                got = f"number {value}"
            self.mismatch = TypeMismatch(got, owner, self._field(), wanted)

    def fail(self, value: object, owner: str, wanted: str, *, shows_number: bool = False) -> Mismatch:
        """Make the error of a type that stops the decoding at a value of the wrong type."""
        # Go discards an earlier mismatch when UnmarshalJSON fails.
        self.mismatch = ""
        self.add_mismatch(value, owner, wanted, shows_number=shows_number)
        return Mismatch(str(self.mismatch))

    def nested(self) -> Decoding:
        """Begin the decoding of a value inside of this one, whose unknown fields are not reported."""
        inner = Decoding()
        inner.path = self.path
        # The limit is for the whole object, not for each nested value.
        inner._items = self._items
        return inner

    def _field(self) -> str:
        """The path of the field that is being read, in which neither indexes nor keys stand."""
        steps = [step.replace("<", ".").replace(">", "") for step in self.path if step[0] in ".<"]
        return "".join(steps).removeprefix(".")


def join_path(steps: list[str]) -> str:
    """Write a path with indexes and keys, and without embedded structs."""
    written: list[str] = []
    for step in steps:
        if step.startswith("<"):
            written.append(step.partition(">")[2])
        elif step.startswith("{"):
            written.append(f".{step[1:]}")
        else:
            written.append(step)
    return "".join(written).removeprefix(".")


class GoValue(Protocol):
    """A type of value."""

    @property
    def go_type(self) -> str:
        """Its name in Go."""
        ...

    @property
    def zero(self) -> object:
        """What Go writes for it where nothing is set."""
        ...

    def clean(self, value: object, decoding: Decoding, owner: str) -> Any:  # noqa: ANN401 - plain data
        """Return a value as the server keeps it.

        Args:
            value: Decoded JSON.
            decoding: The findings so far.
            owner: The struct that has the field, for messages.

        Raises:
            Mismatch: If it cannot be decoded, and Go stops there.
        """
        ...


class _Anything:
    """Free-form JSON."""

    go_type = "runtime.RawExtension"
    zero = None

    def clean(self, value: object, decoding: Decoding, owner: str) -> object:
        del decoding, owner
        return value


ANYTHING: Final = _Anything()


class Scalar:
    """A string, boolean or float.

    Args:
        go_type: Its type in Go.
        accepted: The types that JSON may give for it.
        zero: Its zero value.
    """

    def __init__(self, go_type: str, accepted: tuple[type, ...], zero: object) -> None:
        self.go_type = go_type
        self.zero = zero
        self.simple = accepted[0] if len(accepted) == 1 else None
        """The one type whose values are taken as they are."""
        self._accepted = accepted

    def clean(self, value: object, decoding: Decoding, owner: str) -> object:
        """Return the value, or zero if it has the wrong type."""
        # An exact type: in Python a boolean would pass for an integer.
        if type(value) in self._accepted:
            return value
        if value is not None:
            decoding.add_mismatch(value, owner, self.go_type)
        return self.zero


class Integer:
    """An integer of some width.

    Args:
        go_type: Its type in Go.
        bits: Its width, sign included.
    """

    zero = 0

    def __init__(self, go_type: str, bits: int) -> None:
        self.go_type = go_type
        self._limit = 2 ** (bits - 1)

    def clean(self, value: object, decoding: Decoding, owner: str) -> int:
        """Return the value, or zero if it is no integer or too large."""
        if type(value) is int and -self._limit <= value < self._limit:
            return value
        if value is not None:
            decoding.add_mismatch(value, owner, self.go_type, shows_number=True)
        return 0


class ByteString:
    """Bytes: base64 in JSON, or a list of numbers."""

    go_type = "[]uint8"
    zero = None

    def clean(self, value: object, decoding: Decoding, owner: str) -> str:
        """Return the text; empty for null in a map, and if it is not base64."""
        if isinstance(value, str):
            try:
                # Written again, it has neither newlines nor stray bits in its last letter.
                return base64.b64encode(decode_base64(value)).decode()
            except ValueError as error:
                decoding.mismatch = decoding.mismatch or str(error)
                return ""
        if isinstance(value, list):
            return self._encode_text(cast("list[object]", value), decoding, owner)
        if value is not None:
            decoding.add_mismatch(value, owner, self.go_type)
        return ""

    @staticmethod
    def _encode_text(value: list[object], decoding: Decoding, owner: str) -> str:
        decoding.add_items(len(value), are_structs=False)
        made = bytearray()
        for item in value:
            if type(item) is int and 0 <= item < 256:
                made.append(item)
            else:
                made.append(0)
                if item is not None:
                    decoding.add_mismatch(item, owner, "uint8", shows_number=True)
        return base64.b64encode(made).decode()


class IntOrString:
    """An integer of 32 bits, or a string."""

    go_type = "intstr.IntOrString"
    zero = 0

    def clean(self, value: object, decoding: Decoding, owner: str) -> int | str:
        """Return the value."""
        if isinstance(value, str):
            return value
        if type(value) is int and -_INT32 <= value < _INT32:
            return value
        if value is None:
            return 0
        raise decoding.fail(value, owner, "int32", shows_number=True)


class QuantityText:
    """A quantity, which is written in its canonical form, or as it came if Go takes it for canonical."""

    go_type = "resource.Quantity"
    zero = "0"

    def clean(self, value: object, decoding: Decoding, owner: str) -> str:
        """Return it as the server writes it."""
        del decoding, owner
        if value is None:
            return "0"
        if type(value) not in _QUANTITIES:
            raise Mismatch(NO_QUANTITY)
        # JSON numbers are valid quantities; Go reads their literal.
        text = value.strip() if isinstance(value, str) else str(value)
        return _written_quantity(text) if len(text) <= _MAX_CACHED_LENGTH else write_quantity(text)


def write_quantity(text: str) -> str:
    """Write a quantity as the server does.

    Raises:
        Mismatch: If it is no quantity.
    """
    match = _QUANTITY.fullmatch(text)
    if not text or match is None:
        raise Mismatch(NO_QUANTITY)
    sign, whole, fraction, suffix = match.groups(default="")
    try:
        # Go takes text without digits, such as "Mi", for zero.
        parsed = Quantity(f"{sign}{whole or '0'}.{fraction}{suffix}")
    except ArgumentError:
        raise Mismatch("unable to parse quantity's suffix") from None
    return text if _is_reused(whole or "0", fraction, suffix, parsed) else str(parsed)


def _is_reused(whole: str, fraction: str, suffix: str, parsed: Quantity) -> bool:
    """Tell whether Go writes a quantity unchanged, because it looks canonical."""
    digits = whole + fraction
    if parsed.format is QuantityFormat.BINARY_SI:
        # The same estimate as in Go, which decides whether an int64 can hold the value.
        fits = 14 - len(whole) - 3 * _BINARY_POWERS.index(suffix[0]) >= 0
        return not fraction and fits and int(whole) % 8 != 0
    exponent = int(suffix[1:]) if suffix[1:] else _DECIMAL_EXPONENTS[suffix]
    scale = exponent - len(fraction)
    # Canonical form: an exponent that is a multiple of three, no trailing zeros in groups of three.
    has_form = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    return has_form and len(digits) <= _MAX_DIGITS and scale >= _NANO


_QUANTITY: Final = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)", re.ASCII)
_QUANTITIES: Final = frozenset({str, int, float, NumberLiteral})
_BINARY_POWERS: Final = " KMGTPE"
_DECIMAL_EXPONENTS: Final = {
    "": 0,
    "n": -9,
    "u": -6,
    "m": -3,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_MAX_DIGITS: Final = 18
_NANO: Final = -9
_written_quantity: Final = functools.lru_cache(maxsize=4096)(write_quantity)
"""Writes short quantities; the same few stand in every container."""


class TimeText:
    """A time, which is written in UTC.

    Args:
        go_type: Its type in Go.
        layout: How it is read and written.
    """

    zero = None

    def __init__(self, go_type: str, layout: TimeLayout) -> None:
        self.go_type = go_type
        self._layout = layout

    def clean(self, value: object, decoding: Decoding, owner: str) -> str | None:
        """Return it in the canonical form."""
        if value is None:
            return None
        if not isinstance(value, str):
            raise decoding.fail(value, owner, "string")
        try:
            return self._layout.canonical(value)
        except ValueError as error:
            raise Mismatch(str(error)) from None


TIME_TEXT: Final = TimeText("v1.Time", TIME)
MICRO_TIME_TEXT: Final = TimeText("v1.MicroTime", MICRO_TIME)
