"""Quantities and versions: ``quantity('500m')``, ``semver('1.2.3')``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._cel.declarations import Function, function, method, overload
from masthead._cel.errors import NO_OVERLOAD, EvaluationError
from masthead._cel.types import BOOL, DOUBLE, INT, QUANTITY, SEMVER, STRING
from masthead._cel.values import MAX_INT, MAX_UINT, MIN_INT, Opaque, Value
from masthead._meta.quantity import Quantity
from masthead._meta.quoting import quoted
from masthead.errors import QuantityError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FUNCTIONS", "QuantityValue", "SemverValue"]

_QUANTITY: Final = re.compile(r"([+-]?)([0-9]*\.?[0-9]*)([eEinumkKMGTP]*[-+]?[0-9]*)\Z")
_FORMAT_WRONG: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_SUFFIX_WRONG: Final = "unable to parse quantity's suffix"


class _Amount(NamedTuple):
    """A quantity as the server keeps small ones: a number of 64 bits, and a power of ten."""

    value: int
    scale: int

    @property
    def integer(self) -> int | None:
        """The integer, if the server takes it for one: ``1000m`` it does not."""
        if self.scale < 0:
            return None
        value = self.value * 10 ** min(self.scale, 20)
        return value if MIN_INT <= value <= MAX_INT else None

    def plus(self, other: _Amount) -> _Amount | None:
        """Add another; None if the sum does not fit."""
        if not other.value:
            return self
        if not self.value:
            return other
        scale = min(self.scale, other.scale)
        if max(self.scale, other.scale) - scale > 20:
            return None
        value = self.value * 10 ** (self.scale - scale) + other.value * 10 ** (other.scale - scale)
        return _Amount(value, scale) if MIN_INT <= value <= MAX_INT else None


class QuantityValue(Opaque):
    """A quantity.

    Attributes:
        quantity: The quantity.
        amount: How the server keeps it; None if it is too large or precise for that.
        is_computed: Whether an addition made it. The server cannot compare others with it.
    """

    __slots__ = ("amount", "is_computed", "quantity")

    type_name = "kubernetes.Quantity"

    def __init__(self, quantity: Quantity, amount: _Amount | None, *, is_computed: bool = False) -> None:
        self.quantity = quantity
        self.amount = amount
        self.is_computed = is_computed

    def equals(self, other: Value) -> bool:
        """Whether the other is as much.

        Raises:
            EvaluationError: If the other is no quantity, or computed.
        """
        if not isinstance(other, QuantityValue) or other.is_computed:
            raise EvaluationError(NO_OVERLOAD)
        return self.quantity == other.quantity

    def __str__(self) -> str:
        return str(self.quantity)


def to_quantity(text: str) -> QuantityValue:
    """Read a quantity.

    Raises:
        EvaluationError: If the text is invalid.
    """
    match = _QUANTITY.match(text)
    if not text or match is None:
        raise EvaluationError(_FORMAT_WRONG)
    # To the server, a quantity without digits is zero.
    number = match[2] if match[2].strip(".") else "0"
    try:
        quantity = Quantity(f"{match[1]}{number}{match[3]}")
    except QuantityError:
        raise EvaluationError(_SUFFIX_WRONG) from None
    return QuantityValue(quantity, _amount_of(match[1], number, match[3]))


def _amount_of(sign: str, number: str, suffix: str) -> _Amount | None:
    """How the server keeps a quantity: as an amount if it has few enough digits."""
    whole, _, fraction = number.partition(".")
    whole = whole.lstrip("0") or "0"
    if suffix in _BINARY:
        power = _BINARY[suffix]
        room = 15 - len(whole) - power * 3 // 10 - 1
        multiplier, scale = 2**power, 0
        if fraction:
            return None
    else:
        multiplier = 1
        scale = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
        room = 18 - len(whole) - len(fraction)
    scale -= len(fraction)
    if room < 0 or scale < -9:
        return None
    value = int(whole + fraction) * multiplier
    return _Amount(-value if sign == "-" else value, scale) if value <= MAX_INT else None


_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def _is_quantity(text: str) -> bool:
    try:
        to_quantity(text)
    except EvaluationError:
        return False
    return True


def _is_integer(value: QuantityValue) -> bool:
    return value.amount is not None and value.amount.integer is not None


def _as_integer(value: QuantityValue) -> int:
    integer = value.amount.integer if value.amount is not None else None
    if integer is None:
        raise EvaluationError("cannot convert value to integer")
    return integer


def _compare_quantities(left: QuantityValue, right: QuantityValue) -> int:
    return (left.quantity > right.quantity) - (left.quantity < right.quantity)


def _of_integer(number: int) -> QuantityValue:
    return QuantityValue(Quantity(number), _Amount(number, 0))


def _add(left: QuantityValue, right: QuantityValue) -> QuantityValue:
    amount = left.amount.plus(right.amount) if left.amount and right.amount else None
    return QuantityValue(left.quantity + right.quantity, amount, is_computed=True)


def _subtract(left: QuantityValue, right: QuantityValue) -> QuantityValue:
    negated = _Amount(-right.amount.value, right.amount.scale) if right.amount else None
    return _add(left, QuantityValue(-right.quantity, negated))


_DIGITS: Final = frozenset("0123456789")
_ALPHANUMERIC: Final = _DIGITS | frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-")


class SemverValue(Opaque):
    """A semantic version.

    Attributes:
        numbers: Major, minor and patch.
        prerelease: The parts of the prerelease, each a number or a text.
    """

    __slots__ = ("numbers", "prerelease")

    type_name = "kubernetes.Semver"

    def __init__(self, numbers: tuple[int, int, int], prerelease: tuple[int | str, ...]) -> None:
        self.numbers = numbers
        self.prerelease = prerelease

    @property
    def key(self) -> tuple[object, ...]:
        """What it is ordered by: a prerelease precedes its release, numbers precede texts, builds do not count."""
        parts = tuple((0, part, "") if isinstance(part, int) else (1, 0, part) for part in self.prerelease)
        return (self.numbers, not parts, parts)

    def equals(self, other: Value) -> bool:
        """Whether the other is the same version; builds do not count.

        Raises:
            EvaluationError: If the other is no version.
        """
        if not isinstance(other, SemverValue):
            raise EvaluationError(NO_OVERLOAD)
        return self.key == other.key


def _compare_versions(left: SemverValue, right: SemverValue) -> int:
    mine, theirs = left.key, right.key
    return (mine > theirs) - (mine < theirs)


def _version_number(text: str, name: str) -> int:
    if not _DIGITS.issuperset(text):
        raise EvaluationError(f"Invalid character(s) found in {name.lower()} number {quoted(text)}")
    if len(text) > 1 and text.startswith("0"):
        raise EvaluationError(f"{name} number must not contain leading zeroes {quoted(text)}")
    return _parse_uint(text)


def _parse_uint(text: str) -> int:
    if not text:
        raise EvaluationError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > 20 or int(text) > MAX_UINT:
        raise EvaluationError(f"strconv.ParseUint: parsing {quoted(text)}: value out of range")
    return int(text)


def _prerelease_part(text: str) -> int | str:
    if not text:
        raise EvaluationError("Prerelease is empty")
    if _DIGITS.issuperset(text):
        if len(text) > 1 and text.startswith("0"):
            raise EvaluationError(f"Numeric PreRelease version must not contain leading zeroes {quoted(text)}")
        return _parse_uint(text)
    if not _ALPHANUMERIC.issuperset(text):
        raise EvaluationError(f"Invalid character(s) found in prerelease {quoted(text)}")
    return text


def _check_build(text: str) -> None:
    if not text:
        raise EvaluationError("Build meta data is empty")
    if not _ALPHANUMERIC.issuperset(text):
        raise EvaluationError(f"Invalid character(s) found in build meta data {quoted(text)}")


def to_semver(text: str, normalize: bool = False) -> SemverValue:
    """Read a semantic version; a normalized one may begin with v, have leading zeros, and lack minor and patch.

    Raises:
        EvaluationError: If the text is invalid.
    """
    if normalize:
        text = _normalize(text)
    if not text:
        raise EvaluationError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise EvaluationError("No Major.Minor.Patch elements found")
    major = _version_number(parts[0], "Major")
    minor = _version_number(parts[1], "Minor")
    rest, plus, build = parts[2].partition("+")
    patch_text, dash, prerelease = rest.partition("-")
    patch = _version_number(patch_text, "Patch")
    parsed = tuple(map(_prerelease_part, prerelease.split("."))) if dash else ()
    if plus:
        for part in build.split("."):
            _check_build(part)
    return SemverValue((major, minor, patch), parsed)


def _normalize(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    for index, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[index] = stripped if stripped[:1].isdigit() else f"0{stripped}"
    if len(parts) < 3:
        if set("+-") & set(parts[-1]):
            raise EvaluationError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        to_semver(text, normalize)
    except EvaluationError:
        return False
    return True


def _number(index: int) -> Callable[[SemverValue], int]:
    def number(value: SemverValue) -> int:
        # The server converts without a check.
        unsigned = value.numbers[index]
        return unsigned if unsigned <= MAX_INT else unsigned - 2**64

    return number


FUNCTIONS: Final[tuple[Function, ...]] = (
    function("quantity", overload("string_to_quantity", (STRING,), QUANTITY, to_quantity)),
    function("isQuantity", overload("is_quantity_string", (STRING,), BOOL, _is_quantity)),
    function("sign", overload("quantity_sign", (QUANTITY,), INT, lambda value: value.quantity.sign)),
    function(
        "isGreaterThan",
        method(
            "quantity_is_greater_than",
            (QUANTITY, QUANTITY),
            BOOL,
            lambda left, right: left.quantity > right.quantity,
        ),
        method(
            "semver_is_greater_than",
            (SEMVER, SEMVER),
            BOOL,
            lambda left, right: _compare_versions(left, right) > 0,
        ),
    ),
    function(
        "isLessThan",
        method(
            "quantity_is_less_than",
            (QUANTITY, QUANTITY),
            BOOL,
            lambda left, right: left.quantity < right.quantity,
        ),
        method(
            "semver_is_less_than",
            (SEMVER, SEMVER),
            BOOL,
            lambda left, right: _compare_versions(left, right) < 0,
        ),
    ),
    function(
        "compareTo",
        method("quantity_compare_to", (QUANTITY, QUANTITY), INT, _compare_quantities),
        method("semver_compare_to", (SEMVER, SEMVER), INT, _compare_versions),
    ),
    function(
        "asApproximateFloat",
        method("quantity_get_float", (QUANTITY,), DOUBLE, lambda value: float(value.quantity)),
    ),
    function("asInteger", method("quantity_get_int", (QUANTITY,), INT, _as_integer)),
    function("isInteger", method("quantity_is_integer", (QUANTITY,), BOOL, _is_integer)),
    function(
        "add",
        method("quantity_add", (QUANTITY, QUANTITY), QUANTITY, _add),
        method(
            "quantity_add_int",
            (QUANTITY, INT),
            QUANTITY,
            lambda left, right: _add(left, _of_integer(right)),
        ),
    ),
    function(
        "sub",
        method("quantity_sub", (QUANTITY, QUANTITY), QUANTITY, _subtract),
        method(
            "quantity_sub_int",
            (QUANTITY, INT),
            QUANTITY,
            lambda left, right: _subtract(left, _of_integer(right)),
        ),
    ),
    function(
        "semver",
        overload("string_to_semver", (STRING,), SEMVER, to_semver),
        overload("string_bool_to_semver", (STRING, BOOL), SEMVER, to_semver),
    ),
    function(
        "isSemver",
        overload("is_semver_string", (STRING,), BOOL, _is_semver),
        overload("is_semver_string_bool", (STRING, BOOL), BOOL, _is_semver),
    ),
    function("major", method("semver_major", (SEMVER,), INT, _number(0))),
    function("minor", method("semver_minor", (SEMVER,), INT, _number(1))),
    function("patch", method("semver_patch", (SEMVER,), INT, _number(2))),
)
