"""Counts, percentages, port numbers and port names. The tables hold the results of Go's intstr package."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._meta.intstr import IntOrString, parse_int_or_string, scaled_value
from masthead.errors import ArgumentError


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("80", 80),
        ("-5", -5),
        ("+5", 5),
        ("-0", 0),
        ("007", 7),
        ("00000000000000000000000000000000000000007", 7),
        ("2147483647", 2147483647),
        ("2147483648", "2147483648"),
        ("-2147483648", -2147483648),
        ("-2147483649", "-2147483649"),
    ],
)
def test_decimal_text_of_32_bits_becomes_a_number(text: str, parsed: IntOrString) -> None:
    assert parse_int_or_string(text) == parsed


@pytest.mark.parametrize(
    "text",
    ["http", "25%", "", "+", "-", "0x10", "1_000", " 80", "80 ", "80\n", "1.5", "1e3", "\u0663", "9" * 9999],
)
def test_other_text_stays_text(text: str) -> None:
    assert parse_int_or_string(text) == text


@pytest.mark.parametrize(
    ("percentage", "total", "down", "up"),
    [
        ("25%", 10, 2, 3),
        ("25%", 0, 0, 0),
        ("0%", 7, 0, 0),
        ("100%", 7, 7, 7),
        ("33%", 3, 0, 1),
        ("34%", 3, 1, 2),
        ("1%", 1, 0, 1),
        ("200%", 5, 10, 10),
        ("-25%", 10, -3, -2),
        ("+25%", 10, 2, 3),
        ("025%", 10, 2, 3),
        ("25%", -10, -3, -2),
        ("10%", 19, 1, 2),
        ("99%", 101, 99, 100),
        ("9223372036854775807%", 0, 0, 0),
    ],
)
def test_a_percentage_is_its_share_of_the_total(percentage: str, total: int, down: int, up: int) -> None:
    assert scaled_value(percentage, total, round_up=False) == down
    assert scaled_value(percentage, total, round_up=True) == up


def test_a_share_of_a_huge_total_is_exact() -> None:
    assert scaled_value("100%", 2**62 + 1, round_up=False) == 2**62 + 1


@given(st.integers(), st.integers(), st.booleans())
def test_a_count_is_returned_as_it_is(count: int, total: int, round_up: bool) -> None:
    assert scaled_value(count, total, round_up=round_up) == count


@given(st.integers(-1000, 1000), st.integers(-(10**9), 10**9))
def test_a_share_is_rounded_in_the_requested_direction(percentage: int, total: int) -> None:
    exact = Fraction(percentage * total, 100)

    assert scaled_value(f"{percentage}%", total, round_up=True) == math.ceil(exact)
    assert scaled_value(f"{percentage}%", total, round_up=False) == math.floor(exact)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "%",
        "25",
        "25%%",
        "25 %",
        " 25%",
        "25% ",
        "25%\n",
        "x%",
        "2.5%",
        "1_0%",
        "0x10%",
        "+-1%",
        "\u0663%",
        "http",
        "9223372036854775808%",
        "9" * 9999 + "%",
    ],
)
def test_text_that_is_no_percentage_is_refused(value: str) -> None:
    with pytest.raises(ArgumentError, match=r"'25%'") as caught:
        scaled_value(value, 10, round_up=True)

    assert caught.value.value == value


def test_a_bool_is_not_a_count() -> None:
    with pytest.raises(ArgumentError, match="True is neither a count nor a percentage"):
        scaled_value(True, 10, round_up=True)


@given(st.integers(-(2**31), 2**31 - 1))
def test_every_number_of_32_bits_is_read_from_its_own_text(number: int) -> None:
    assert parse_int_or_string(str(number)) == number


@given(st.text())
def test_any_text_is_a_number_or_itself(text: str) -> None:
    parsed = parse_int_or_string(text)

    assert parsed == text or parsed == int(text)
