"""Quantities: ``500m`` of CPU, ``128Mi`` of memory.

The grammar of the API::

    quantity = [sign] number [suffix]
    number   = digits | digits "." digits | digits "." | "." digits
    suffix   = decimal | binary | exponent
    decimal  = "n" | "u" | "m" | "k" | "M" | "G" | "T" | "P" | "E"     powers of 1000
    binary   = "Ki" | "Mi" | "Gi" | "Ti" | "Pi" | "Ei"                 powers of 1024
    exponent = ("e" | "E") [sign] digits                               a power of 10

The API's resolution is 1e-9, so a quantity is an integral number of nanos: one ``int`` holds it exactly, and arithmetic
never rounds.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from operator import index
from typing import Any, Final, NamedTuple, final

from masthead._meta.pydantic_schemas import core_schemas, find_serializer
from masthead._module import set_module
from masthead.errors import QuantityError


@set_module("masthead.meta")
class QuantityFormat(StrEnum):
    """The notation in which a quantity is printed."""

    DECIMAL_SI = "DecimalSI"
    """A power of 1000 as a letter: ``250m``, ``12M``."""
    DECIMAL_EXPONENT = "DecimalExponent"
    """A power of 1000 as an exponent: ``250e-3``, ``12e6``."""
    BINARY_SI = "BinarySI"
    """A power of 1024 as a letter and an i: ``12Mi``."""


_ONE: Final = 10**9
"""One, in nanos."""

# The index of a suffix is the power of its base, counted from nano and from one.
_DECIMAL_SUFFIXES: Final = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_BINARY_SUFFIXES: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_TEXT: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(.*)", re.DOTALL)
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]+)")

_BINARY_MAX: Final = (2**63 - 1) * _ONE
"""Where binary text is capped; decimal text is not (apimachinery pkg/api/resource: ParseQuantity)."""

# differs from client-go: it takes text and exponents of any size, so that adding 1 to 1e999999999 counts with a
# billion digits. Here both have a limit, low enough that Python prints the number whatever
# sys.set_int_max_str_digits() allows.
_MAX_LENGTH: Final = 512
_LIMIT: Final = 10**600 * _ONE
_TOO_LARGE: Final = "its size is 1e600 or more"
_NO_NUMBER: Final = "it is neither text nor a number"


@set_module("masthead")
@final
class Quantity:
    """An exact, immutable amount that prints in canonical form.

    Quantities are equal when their values are, however they were written: ``Quantity("1")`` equals
    ``Quantity("1000m")`` and ``1``. The suffix decides in which notation they print, and a sum prints in that
    of its left side.

    As on the API server, digits beyond a billionth are rounded away from zero, and text with a binary suffix is
    capped at 2**63-1.

    Example:
        >>> Quantity("0.5") + Quantity("250m")
        Quantity('750m')
        >>> sum([Quantity("1Gi"), Quantity("512Mi")])
        Quantity('1536Mi')
    """

    __slots__ = ("_format", "_nanos")

    _nanos: int
    _format: QuantityFormat

    def __new__(cls, value: Quantity | str | float | Decimal) -> Quantity:
        """Read text, or take a number.

        Args:
            value: Text such as ``1.5Gi``, or a number. A float counts as the decimal number that it prints as.

        Raises:
            QuantityError: If the text is not a quantity, or the number is not finite or too large.
        """
        # Immutable, so that it needs no copy.
        if isinstance(value, Quantity):
            return value
        if isinstance(value, str):
            return cls._of(*_parse(value))
        return cls._of(_count_nanos(value), QuantityFormat.DECIMAL_SI)

    @classmethod
    def _of(cls, nanos: int, notation: QuantityFormat) -> Quantity:
        if not -_LIMIT < nanos < _LIMIT:
            raise _refusal(nanos // _ONE, _TOO_LARGE)
        self = object.__new__(cls)
        self._nanos = nanos
        self._format = notation
        return self

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> Any:  # noqa: ANN401 - pydantic's
        """Return the schema for pydantic: text or a number, serialized as text."""
        del source, handler  # there is one schema of all quantities
        return core_schemas().quantity_schema()

    @property
    def __pydantic_serializer__(self) -> Any:  # noqa: ANN401 - pydantic's
        """The serializer by which pydantic writes a quantity where a model has a field of any type."""
        return find_serializer("quantity_serializer")

    @property
    def format(self) -> QuantityFormat:
        """The notation that it was written in."""
        return self._format

    @property
    def nanos(self) -> int:
        """The exact value, as a number of billionths."""
        return self._nanos

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self._nanos > 0) - (self._nanos < 0)

    @property
    def is_zero(self) -> bool:
        """Whether it is zero."""
        return not self._nanos

    def to_format(self, notation: QuantityFormat) -> Quantity:
        """Return the same amount, to be printed in this notation."""
        return self._of(self._nanos, notation)

    def value(self) -> int:
        """Return the whole number, rounded away from zero: 2 for ``1500m``."""
        return self.scaled_value(0)

    def milli_value(self) -> int:
        """Return the number of thousandths, rounded away from zero: 1500 for ``1.5``."""
        return self.scaled_value(-3)

    def scaled_value(self, exponent: int) -> int:
        """Return the number of ``10**exponent``, rounded away from zero.

        Args:
            exponent: 6 counts in millions, -3 in thousandths.
        """
        # differs from client-go: ScaledValue overflows beyond int64, and rounds some negative fractions the
        # wrong way (Value() of -0.0000000001 is 1). Here it is exact at any size.
        multiplier, divisor = _power_of_ten(-9 - exponent)
        return self.sign * _divide_up(abs(self._nanos) * multiplier, divisor)

    def as_decimal(self) -> Decimal:
        """Return the exact value, whatever the precision of the decimal context."""
        digits, zeros = _factor_out(self._nanos, 10, most=9)
        return Decimal(f"{digits}e{zeros - 9}")

    def __int__(self) -> int:
        """Return ``value()``, which rounds away from zero."""
        return self.value()

    def __float__(self) -> float:
        """Return the nearest float, which is an infinity beyond 1e308."""
        try:
            return self._nanos / _ONE
        except OverflowError:
            return self.sign * math.inf

    def __bool__(self) -> bool:
        return self._nanos != 0

    def __str__(self) -> str:
        # differs from client-go: a quantity fresh from some texts, such as +1, 01 or 1.001, repeats the text.
        return _print(self._nanos, self._format)

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by value and notation; the text alone would lose the notation of a small binary one."""
        return self._of, (self._nanos, self._format)

    def __copy__(self) -> Quantity:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Quantity:
        return self

    @staticmethod
    def _nanos_of(operand: object) -> int | None:
        if isinstance(operand, Quantity):
            return operand.nanos
        return operand * _ONE if isinstance(operand, int) else None

    def __hash__(self) -> int:
        whole, rest = divmod(self._nanos, _ONE)
        return hash(self._nanos if rest else whole)  # a whole quantity equals an int and must hash like it

    def __eq__(self, other: object) -> bool:
        nanos = self._nanos_of(other)
        return NotImplemented if nanos is None else self._nanos == nanos

    def __lt__(self, other: Quantity | int) -> bool:
        nanos = self._nanos_of(other)
        return NotImplemented if nanos is None else self._nanos < nanos

    def __le__(self, other: Quantity | int) -> bool:
        nanos = self._nanos_of(other)
        return NotImplemented if nanos is None else self._nanos <= nanos

    def __gt__(self, other: Quantity | int) -> bool:
        nanos = self._nanos_of(other)
        return NotImplemented if nanos is None else self._nanos > nanos

    def __ge__(self, other: Quantity | int) -> bool:
        nanos = self._nanos_of(other)
        return NotImplemented if nanos is None else self._nanos >= nanos

    def __add__(self, other: Quantity | int) -> Quantity:
        nanos = self._nanos_of(other)
        return NotImplemented if nanos is None else self._with_nanos(nanos, other)

    __radd__ = __add__

    def __sub__(self, other: Quantity | int) -> Quantity:
        nanos = self._nanos_of(other)
        return NotImplemented if nanos is None else self._with_nanos(-nanos, other)

    def __rsub__(self, other: int) -> Quantity:
        return -self + other

    def _with_nanos(self, nanos: int, other: Quantity | int) -> Quantity:
        # As in client-go, a zero takes the notation of the other side. An int has none to give.
        notation = other.format if isinstance(other, Quantity) and not self._nanos else self._format
        return self._of(self._nanos + nanos, notation)

    def __mul__(self, factor: int) -> Quantity:
        return self._of(self._nanos * index(factor), self._format)  # index() keeps floats out

    __rmul__ = __mul__

    def __neg__(self) -> Quantity:
        return self._of(-self._nanos, self._format)

    def __abs__(self) -> Quantity:
        return -self if self._nanos < 0 else self


def parse_quantity(value: object) -> Quantity:
    """Convert a decoded JSON or YAML value to a quantity.

    Results for text are cached, because a cluster repeats the same few quantities. Surrounding whitespace is ignored,
    as on the API server.

    Raises:
        QuantityError: If the value is neither a number nor text that is a quantity.
    """
    if isinstance(value, str):
        return parse_text(value)
    if isinstance(value, Quantity | int | float | Decimal):
        return Quantity(value)
    raise _refusal(value, _NO_NUMBER)


@lru_cache(maxsize=4096)
def parse_text(text: str) -> Quantity:
    """Parse a quantity; `parse_quantity` for text only.

    Raises:
        QuantityError: If the text is not a quantity.
    """
    if len(text) > _MAX_LENGTH:  # before it is stripped, to bound the cache
        raise _refusal(text, f"it is longer than {_MAX_LENGTH} characters")
    return Quantity(text.strip())


class _Unit(NamedTuple):
    """The meaning of a suffix: the nanos of one unit, as a fraction, and its notation."""

    multiplier: int
    divisor: int
    notation: QuantityFormat


_UNITS: Final = {
    suffix: _Unit(_ONE * 1024**power, 1, QuantityFormat.BINARY_SI) for power, suffix in enumerate(_BINARY_SUFFIXES)
} | {
    suffix: _Unit(1000**power, 1, QuantityFormat.DECIMAL_SI)  # also for no suffix, which is in both lists
    for power, suffix in enumerate(_DECIMAL_SUFFIXES)
}


def _parse(text: str) -> tuple[int, QuantityFormat]:
    """Return the nanos of a text, and its notation."""
    if len(text) > _MAX_LENGTH:
        raise _refusal(text, f"it is longer than {_MAX_LENGTH} characters")
    match = _TEXT.fullmatch(text)
    assert match is not None, "every text matches, because the last group takes any rest"
    sign, whole, fraction, suffix = match.groups(default="")
    # differs from client-go, which parses text without any digit, such as "Mi" or "-", as zero.
    if not whole and not fraction:
        raise _refusal(text, "it does not begin with a number")
    unit = _UNITS.get(suffix) or _exponent_unit(suffix)
    if unit is None:
        raise _refusal(text, f"{_quote(suffix)} is neither a suffix nor an exponent that fits 32 bits")
    multiplier, divisor, notation = unit
    # In integers: floats would not be exact.
    nanos = _divide_up(int(whole + fraction) * multiplier, divisor * 10 ** len(fraction))
    if nanos >= _LIMIT:
        raise _refusal(text, _TOO_LARGE)
    if notation is QuantityFormat.BINARY_SI:
        # client-go caps binary quantities at the largest int64.
        nanos = min(nanos, _BINARY_MAX)
        if 0 < nanos < _ONE:
            notation = QuantityFormat.DECIMAL_SI
    return -nanos if sign == "-" else nanos, notation


def _exponent_unit(suffix: str) -> _Unit | None:
    match = _EXPONENT.fullmatch(suffix)
    # differs from client-go: an exponent that needs more than 32 bits wraps around there.
    if match is None or not -(2**31) <= (exponent := int(match[1])) < 2**31:
        return None
    # Beyond a thousand places any text is too large, zero, or rounds to 1e-9.
    multiplier, divisor = _power_of_ten(max(-1000, min(exponent + 9, 1000)))
    return _Unit(multiplier, divisor, QuantityFormat.DECIMAL_EXPONENT)


def _count_nanos(number: float | Decimal) -> int:
    # A bool is an int in Python, and surely a mistake here.
    if isinstance(number, bool):
        raise _refusal(number, _NO_NUMBER)
    if isinstance(number, int):
        return number * _ONE
    nanos, _ = _parse(str(number))
    return nanos


@lru_cache(maxsize=4096)
def _print(nanos: int, notation: QuantityFormat) -> str:
    """Return the canonical text: whole digits, before the largest suffix that leaves them whole."""
    if not nanos:
        return "0"
    # Smaller and fractional amounts have no binary suffix.
    if notation is QuantityFormat.BINARY_SI and abs(nanos) >= 1024 * _ONE and nanos % _ONE == 0:
        digits, power = _factor_out(nanos // _ONE, 1024, most=6)
        return f"{digits}{_BINARY_SUFFIXES[power]}"
    if notation is QuantityFormat.DECIMAL_EXPONENT:
        digits, power = _factor_out(nanos, 1000)
        return f"{digits}e{3 * power - 9}" if power != 3 else f"{digits}"
    # differs from client-go, which has no suffix above E, and drops it: 1000E prints as 1.
    digits, power = _factor_out(nanos, 1000, most=9)
    return f"{digits}{_DECIMAL_SUFFIXES[power]}"


def _factor_out(amount: int, factor: int, *, most: float = math.inf) -> tuple[int, int]:
    """Divide by the factor while that is exact, up to a limit; return the quotient and the number of divisions."""
    times = 0
    while times < most and amount % factor == 0:
        amount //= factor
        times += 1
    return amount, times


def _power_of_ten(places: int) -> tuple[int, int]:
    """Return ``10**places`` as a numerator and a denominator."""
    return 10 ** max(places, 0), 10 ** max(-places, 0)


def _divide_up(amount: int, divisor: int) -> int:
    """Return the quotient, rounded up."""
    return -(-amount // divisor)


def _refusal(value: object, why: str) -> QuantityError:
    example = "Write a number and one of n u m k M G T P E Ki Mi Gi Ti Pi Ei or nothing: 250m, 1.5Gi, 2"
    return QuantityError(f"{_quote(value)} is not a quantity: {why}. {example}.", value=value)


def _quote(value: object) -> str:
    """Return a value's repr, truncated to the length of a line."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"A number of {value.bit_length()} bits"  # Python refuses to print the largest ones
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
