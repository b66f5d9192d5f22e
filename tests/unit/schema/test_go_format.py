"""Plain data as Go's fmt package writes it."""

from __future__ import annotations

from typing import Any

import pytest

from masthead._schema.go_format import go_string, go_type, go_value


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "<nil>"),
        (True, "true"),
        (7, "7"),
        (2**64, "1.8446744073709552e+19"),
        (1.5, "1.5"),
        (2.0, "2"),
        (1e-7, "1e-07"),
        (1e21, "1e+21"),
        (100000.0, "100000"),
        (1e6, "1e+06"),
        (1000000.5, "1.0000005e+06"),
        (-2e7, "-2e+07"),
        (0.0001, "0.0001"),
        (-0.0, "-0"),
        (1.25e100, "1.25e+100"),
        ("a b", "a b"),
        ([], "[]"),
        (["a", None, {"b": 1}], "[a <nil> map[b:1]]"),
        ({"b": {}, "a": [1]}, "map[a:[1] b:map[]]"),
    ],
)
def test_values_are_written_as_by_percent_v(value: Any, written: str) -> None:
    assert go_value(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("a", "a"),
        (1, "%!s(int64=1)"),
        (1.5, "%!s(float64=1.5)"),
        (None, "%!s(<nil>)"),
        (False, "%!s(bool=false)"),
        ({"a": 1}, "map[a:%!s(int64=1)]"),
        (["a", True], "[a %!s(bool=true)]"),
    ],
)
def test_what_is_no_string_is_marked_by_percent_s(value: Any, written: str) -> None:
    assert go_string(value) == written


def test_types_have_the_names_of_go() -> None:
    values: list[Any] = [{}, [], "", True, 1, 1.5, 2**63, None]

    assert [go_type(value) for value in values] == [
        "map[string]interface {}",
        "[]interface {}",
        "string",
        "bool",
        "int64",
        "float64",
        "float64",
        "%!s(<nil>)",
    ]
