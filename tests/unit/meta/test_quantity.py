"""Quantities: what is read, how it prints, how it counts.

``quantity_vectors.json`` holds the results of Go's implementation for some 1500 texts and 300 pairs.
"""

from __future__ import annotations

import copy
import math
import pickle
from contextlib import suppress
from decimal import Decimal, localcontext
from fractions import Fraction
from operator import add, ge, gt, le, lt, mul, sub
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._meta.quantity import Quantity, QuantityFormat, parse_quantity
from masthead.errors import ArgumentError, QuantityError

if TYPE_CHECKING:
    from collections.abc import Callable

BINARY = QuantityFormat.BINARY_SI
DECIMAL = QuantityFormat.DECIMAL_SI
EXPONENT = QuantityFormat.DECIMAL_EXPONENT


class Vectors(msgspec.Struct):
    accepted: list[tuple[str, str, QuantityFormat, int, int | None, int | None]]
    refused: list[str]
    pairs: list[tuple[str, str, int, str, str]]


VECTORS = msgspec.json.decode(Path(__file__).with_name("quantity_vectors.json").read_bytes(), type=Vectors)

SUFFIXES = (
    "",
    "n",
    "u",
    "m",
    "k",
    "M",
    "G",
    "T",
    "P",
    "E",
    "Ki",
    "Mi",
    "Gi",
    "Ti",
    "Pi",
    "Ei",
    "e3",
    "e-5",
    "E+2",
)


def write_quantity(sign: str, whole: str, fraction: str | None, suffix: str) -> Quantity:
    return Quantity(sign + whole + ("" if fraction is None else f".{fraction}") + suffix)


quantities = st.builds(
    write_quantity,
    sign=st.sampled_from(["", "+", "-"]),
    whole=st.text("0123456789", min_size=1, max_size=20),
    fraction=st.none() | st.text("0123456789", max_size=15),
    suffix=st.sampled_from(SUFFIXES),
)
formats = st.sampled_from(QuantityFormat)


def test_accepted_text_has_the_value_and_form_of_go() -> None:
    for text, canonical, notation, sign, value, milli_value in VECTORS.accepted:
        quantity = Quantity(text)

        assert (text, str(quantity)) == (text, canonical)
        assert (text, quantity.format, quantity.sign) == (text, notation, sign)
        assert value is None or (text, quantity.value()) == (text, value)
        assert milli_value is None or (text, quantity.milli_value()) == (text, milli_value)


def test_text_that_go_refuses_is_refused() -> None:
    for text in VECTORS.refused:
        with pytest.raises(QuantityError):
            Quantity(text)


def test_pairs_compare_add_and_subtract_as_go_does() -> None:
    for left, right, order, total, difference in VECTORS.pairs:
        a, b = Quantity(left), Quantity(right)

        assert (left, right, (a > b) - (a < b)) == (left, right, order)
        assert (left, right, a == b, a <= b, a >= b) == (left, right, order == 0, order <= 0, order >= 0)
        assert (left, right, str(a + b), str(a - b)) == (left, right, total, difference)


@pytest.mark.parametrize("text", ["1Ki", "128Mi", "1Gi", "3Ti", "5Pi", "7Ei", "-512Mi"])
def test_binary_suffixes_print_in_the_form_they_were_given(text: str) -> None:
    assert str(Quantity(text)) == text


@pytest.mark.parametrize("text", ["1n", "10u", "100m", "0", "4", "2k", "12M", "3G", "4T", "5P", "6E", "-250m"])
def test_decimal_suffixes_print_in_the_form_they_were_given(text: str) -> None:
    assert str(Quantity(text)) == text


def test_a_binary_quantity_below_1024_or_with_a_fraction_prints_as_a_decimal_one() -> None:
    assert str(Quantity("0.5Ki")) == "512"
    assert str(Quantity("1.0001Ki")) == "1024102400u"
    assert Quantity("0.5Ki").format is BINARY


def test_a_binary_quantity_without_a_factor_of_1024_prints_all_its_digits() -> None:
    assert str(Quantity("1.953125Ki")) == "2000"


def test_a_binary_quantity_below_one_becomes_a_decimal_one() -> None:
    assert Quantity("0.0001Ki").format is DECIMAL


def test_binary_text_is_capped_and_decimal_text_is_not() -> None:
    assert Quantity("100Ei") == 2**63 - 1
    assert Quantity("-100Ei") == -(2**63 - 1)
    assert Quantity("100E") == 10**20


def test_a_sum_of_binary_quantities_is_not_capped() -> None:
    assert str(Quantity("4Ei") + Quantity("4Ei")) == "8Ei"


def test_suffixes_beyond_exa_do_not_exist_so_the_digits_grow() -> None:
    assert str(Quantity("1000E")) == "1000E"
    assert str(Quantity("1Ei") * 1024) == "1024Ei"
    assert str(Quantity("1e21")) == "1e21"


def test_the_plus_sign_and_leading_zeros_do_not_print() -> None:
    assert str(Quantity("+01.500k")) == "1500"


def test_negative_fractions_round_away_from_zero_too() -> None:
    tiny = Quantity("-0.0000000001")

    assert (str(tiny), tiny.value(), tiny.milli_value()) == ("-1n", -1, -1)


@pytest.mark.parametrize("text", ["", "+", "-", ".", "-.", "Mi", "k", "e3", "-Ki", ".m"])
def test_text_without_a_digit_is_refused_although_go_reads_most_of_it_as_zero(text: str) -> None:
    with pytest.raises(QuantityError, match="does not begin with a number"):
        Quantity(text)


@pytest.mark.parametrize("text", ["1\n", "\n1", "1\x00", "\uff11", "1\u0663", "1e\u0663"])
def test_line_ends_and_foreign_digits_are_refused(text: str) -> None:
    with pytest.raises(QuantityError):
        Quantity(text)


def test_a_refusal_names_the_text_the_reason_and_a_right_form() -> None:
    with pytest.raises(QuantityError) as caught:
        Quantity("12 Gigs")

    assert str(caught.value).startswith("'12 Gigs' is not a quantity: ' Gigs' is neither a suffix nor an exponent")
    assert "1.5Gi" in str(caught.value)
    assert caught.value.value == "12 Gigs"
    assert isinstance(caught.value, ArgumentError)


def test_a_refusal_of_long_text_is_short() -> None:
    with pytest.raises(QuantityError) as caught:
        Quantity("9" * 100_000)

    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("text", ["1e600", "1e999999999", "-1e2147483647", "9" * 512 + "e100", "1" * 513])
def test_absurdly_large_text_is_refused_at_once(text: str) -> None:
    with pytest.raises(QuantityError):
        Quantity(text)


def test_absurdly_small_text_is_a_billionth() -> None:
    assert str(Quantity("1e-999999999")) == "1e-9"
    assert str(Quantity("-" + "9" * 400 + "e-2147483648")) == "-1e-9"


def test_nothing_stays_nothing_at_any_exponent() -> None:
    assert str(Quantity("0e999999999")) == "0"
    assert str(Quantity("0e-999999999")) == "0"


def test_the_largest_quantity_prints_whatever_the_interpreter_allows() -> None:
    largest = Quantity("9" * 500 + "e99")

    assert str(largest) == "9" * 500 + "e99"
    assert largest.value() == int("9" * 500) * 10**99
    assert float(-largest) == -math.inf


def test_arithmetic_refuses_to_grow_beyond_the_limit() -> None:
    with pytest.raises(QuantityError, match="1e600"):
        mul(Quantity("1e599"), 10)
    with pytest.raises(QuantityError, match="1e600"):
        Quantity(10**5000)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (-3, "-3"),
        (2**40, "1099511627776"),
        (0.1, "100m"),
        (1e-5, "10u"),
        (1e21, "1000E"),
        (-2.5, "-2500m"),
        (Decimal("1.50"), "1500m"),
        (Decimal("1E+3"), "1k"),
        (Decimal("-0"), "0"),
    ],
)
def test_numbers_are_taken_as_they_print(number: float | Decimal, text: str) -> None:
    assert str(Quantity(number)) == text
    assert str(parse_quantity(number)) == text


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, Decimal("NaN"), Decimal("Infinity"), True])
def test_numbers_that_are_no_amount_are_refused(number: float | Decimal) -> None:
    with pytest.raises(QuantityError):
        Quantity(number)


def test_a_quantity_made_of_a_quantity_is_that_quantity() -> None:
    quantity = Quantity("1Gi")

    assert Quantity(quantity) is quantity
    assert parse_quantity(quantity) is quantity


def test_equal_amounts_are_equal_and_hash_alike_however_written() -> None:
    assert Quantity("1") == Quantity("1000m") == Quantity("1e0") == 1
    assert len({Quantity("1Ki"), Quantity("1024"), Quantity("1.024k"), 1024}) == 1
    assert Quantity("1") != Quantity("1001m")


def test_quantities_compare_with_ints_from_both_sides() -> None:
    assert 1 < Quantity("1500m") < 2
    assert 2 >= Quantity("2") >= 2


def test_other_types_are_never_equal() -> None:
    one: object = Quantity("1")

    assert one not in ("1", 1.0, Decimal(1), None)


@pytest.mark.parametrize("operation", [lt, le, gt, ge, add, sub, mul])
@pytest.mark.parametrize("other", ["2", 0.5, Decimal(2), None])
def test_other_types_are_neither_ordered_nor_counted_with(
    operation: Callable[[object, object], object], other: object
) -> None:
    with pytest.raises(TypeError):
        operation(Quantity("1"), other)


def test_a_sum_keeps_the_notation_of_its_left_side() -> None:
    assert str(Quantity("1Gi") + Quantity("512")) == "1073742336"
    assert (Quantity("1Gi") + Quantity("1k")).format is BINARY
    assert str(Quantity("1k") - Quantity("1Ki")) == "-24"
    assert (Quantity("1k") - Quantity("1Ki")).format is DECIMAL


def test_a_zero_takes_the_notation_of_what_is_added() -> None:
    assert str(Quantity("0") + Quantity("1Gi")) == "1Gi"
    assert str(Quantity("0") - Quantity("1Gi")) == "-1Gi"


def test_an_int_has_no_notation() -> None:
    assert str(Quantity("0Ki") + 2048) == "2Ki"
    assert str(1024 + Quantity("1Ki")) == "2Ki"
    assert str(4096 - Quantity("1Ki")) == "3Ki"
    assert str(Quantity("3Ki") - 1024) == "2Ki"


def test_sum_works_and_keeps_the_notation() -> None:
    assert str(sum([Quantity("1Gi"), Quantity("512Mi"), Quantity("512Mi")])) == "2Gi"


def test_products_negatives_and_sizes_are_exact() -> None:
    assert str(Quantity("100m") * 3) == "300m"
    assert str(3 * Quantity("128Mi")) == "384Mi"
    assert str(-Quantity("1Gi")) == "-1Gi"
    assert str(abs(Quantity("-1500m"))) == "1500m"
    assert abs(Quantity("2")) == 2


def test_value_and_its_kin_round_away_from_zero() -> None:
    quantity = Quantity("-1234567u")

    assert (quantity.value(), quantity.milli_value(), int(quantity)) == (-2, -1235, -2)
    assert (quantity.scaled_value(-6), quantity.scaled_value(-9)) == (-1234567, -1234567000)
    assert (quantity.scaled_value(6), quantity.scaled_value(-12)) == (-1, -1234567000000)


def test_as_decimal_is_exact_in_any_context_and_shows_no_needless_zeros() -> None:
    with localcontext() as context:
        context.prec = 3

        assert str(Quantity("123456789.987654321").as_decimal()) == "123456789.987654321"
        assert str(Quantity("1500m").as_decimal()) == "1.5"
        assert str(Quantity("2Ki").as_decimal()) == "2048"
        assert str(Quantity("0").as_decimal()) == "0"


def test_float_is_the_nearest_one() -> None:
    assert float(Quantity("100m")) == 0.1
    assert float(Quantity("1e400")) == math.inf


def test_truth_sign_and_zero_agree() -> None:
    facts = [(bool(q), q.is_zero, q.sign) for q in map(Quantity, ("-1n", "0Ki", "1n"))]

    assert facts == [(True, False, -1), (False, True, 0), (True, False, 1)]


def test_to_format_changes_the_print_and_not_the_amount() -> None:
    quantity = Quantity("2147483648")

    assert str(quantity.to_format(BINARY)) == "2Gi"
    assert str(quantity.to_format(EXPONENT)) == "2147483648"
    assert str(Quantity("12M").to_format(EXPONENT)) == "12e6"
    assert quantity.to_format(BINARY) == quantity


def test_the_repr_can_be_evaluated() -> None:
    assert repr(Quantity("0.5")) == "Quantity('500m')"


@pytest.mark.parametrize("attribute", ["format", "nanos", "note"])
def test_a_quantity_cannot_be_changed(attribute: str) -> None:
    with pytest.raises(AttributeError):
        setattr(Quantity("1"), attribute, 2)


def test_copies_are_the_same_object() -> None:
    quantity = Quantity("1")

    assert copy.copy(quantity) is quantity
    assert copy.deepcopy([quantity])[0] is quantity


def test_parsed_text_is_cached_and_may_have_surrounding_whitespace() -> None:
    assert parse_quantity("128Mi") is parse_quantity("128Mi")
    assert parse_quantity("128Mi") == parse_quantity(" 128Mi\n")


@pytest.mark.parametrize("value", [None, True, [], {}, b"1", object()])
def test_decoded_values_that_are_no_quantity_are_refused(value: object) -> None:
    with pytest.raises(QuantityError, match="neither text nor a number"):
        parse_quantity(value)


@given(quantities, formats)
def test_printing_and_reading_again_loses_nothing(quantity: Quantity, notation: QuantityFormat) -> None:
    shown = quantity.to_format(notation)

    if abs(quantity) < 2**63:  # binary text is capped beyond
        assert Quantity(str(shown)) == quantity


@given(quantities)
def test_pickling_keeps_amount_and_notation(quantity: Quantity) -> None:
    loaded = pickle.loads(pickle.dumps(quantity))

    assert (loaded, loaded.format) == (quantity, quantity.format)


@given(quantities, quantities)
def test_order_equality_and_hash_follow_the_exact_value(a: Quantity, b: Quantity) -> None:
    x, y = Fraction(a.as_decimal()), Fraction(b.as_decimal())

    assert (a < b, a <= b, a == b, a >= b, a > b) == (x < y, x <= y, x == y, x >= y, x > y)
    assert a != b or hash(a) == hash(b)


@given(quantities, quantities, st.integers(-1000, 1000))
def test_arithmetic_is_exact(a: Quantity, b: Quantity, factor: int) -> None:
    x, y = Fraction(a.as_decimal()), Fraction(b.as_decimal())

    assert Fraction((a + b).as_decimal()) == x + y
    assert Fraction((a - b).as_decimal()) == x - y
    assert Fraction((a * factor).as_decimal()) == x * factor


@given(quantities, st.integers(-12, 24))
def test_scaled_value_is_the_next_whole_number_away_from_zero(quantity: Quantity, exponent: int) -> None:
    exact = Fraction(quantity.as_decimal()) / Fraction(10) ** exponent

    assert quantity.scaled_value(exponent) == (math.ceil(exact) if exact > 0 else math.floor(exact))


@given(st.integers(-(2**70), 2**70))
def test_whole_quantities_behave_like_ints(number: int) -> None:
    quantity = Quantity(number)

    assert quantity == number
    assert hash(quantity) == hash(number)
    assert int(quantity) == number


@given(st.floats(-1e300, 1e300))
def test_floats_differ_by_less_than_a_billionth(number: float) -> None:
    exact = Fraction(Decimal(repr(number)))

    assert abs(Fraction(Quantity(number).as_decimal()) - exact) < Fraction(1, 10**9)


@given(st.text(max_size=12) | st.text("0123456789.+-eEinumkKMGTP", max_size=12))
def test_any_text_is_either_a_quantity_or_refused_with_our_error(text: str) -> None:
    with suppress(QuantityError):
        quantity = Quantity(text)

        assert Quantity(str(quantity)) == quantity
