"""Columns of custom resources."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._printers.custom import custom_printer, printer_of_version

NOW = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)


def cell(kind: str, value: object) -> object:
    printer = custom_printer([{"name": "V", "type": kind, "jsonPath": ".v"}])
    return printer.cells({"metadata": {"name": "a"}, "v": value}, NOW)[1]


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        ("string", "text", "text"),
        ("string", 3, "3"),
        ("string", 1.0, "1"),
        ("string", 12345678.5, "1.23456785e+07"),
        ("string", True, "true"),
        ("string", None, "<no value>"),
        ("string", {"b": 1.0, "a": "<&>", "c": 1e21}, '{"a":"\\u003c\\u0026\\u003e","b":1,"c":1e+21}'),
        ("string", [0.00001, 1e-7], "[0.00001,1e-7]"),
        ("string", 10**30, "<invalid>"),
        ("integer", 3, 3),
        ("integer", -3.9, -3),
        ("integer", 1e300, -(2**63)),
        ("integer", "3", None),
        ("integer", True, None),
        ("integer", None, None),
        ("number", 3, 3),
        ("number", 1e6, 1_000_000),
        ("number", 0.5, 0.5),
        ("number", "0.5", None),
        ("boolean", True, True),
        ("boolean", 1, None),
        ("date", "2026-05-04T03:00:01Z", "2m"),
        ("date", "", "<unknown>"),
        ("date", "yesterday", "<invalid>"),
        ("date", 7, None),
        ("other", "x", None),
    ],
)
def test_a_value_is_shown_as_its_column_has_it(kind: str, value: object, shown: object) -> None:
    found = cell(kind, value)
    assert found == shown
    assert type(found) is type(shown)


def test_what_is_missing_or_does_not_fit_is_null() -> None:
    paths = (".none", ".list[0]", ".list[?(@.a=='b')]", ".text[0]")
    printer = custom_printer([{"name": path, "type": "string", "jsonPath": path} for path in paths])
    assert printer.cells({"list": [], "text": "x"}, NOW) == ["", None, None, None, None]


def test_a_path_that_is_invalid_hides_its_column_and_all_behind_it() -> None:
    columns = [{"name": path, "type": "string", "jsonPath": path} for path in (".a", ".b[", ".c")]
    assert [column.name for column in custom_printer(columns).columns] == ["Name", ".a"]


def test_a_version_without_columns_has_an_age() -> None:
    printer = printer_of_version({"name": "v1"})
    assert [(column.name, column.type, column.description) for column in printer.columns] == [
        ("Name", "string", ""),
        ("Age", "date", ""),
    ]


def test_a_column_without_a_description_shows_its_path() -> None:
    (_, column) = custom_printer([{"name": "A", "type": "string", "jsonPath": ".a"}]).columns
    assert column.description == "Custom resource definition column (in JSONPath format): .a"


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@given(st.sampled_from(["string", "integer", "number", "boolean", "date", "x"]), ANYTHING)
def test_no_value_makes_a_printer_fail(kind: str, value: Any) -> None:
    assert isinstance(cell(kind, value), str | int | float | bool | None)


def test_columns_share_a_limit_of_what_they_visit() -> None:
    columns = [{"name": f"C{number}", "type": "string", "jsonPath": ".list[*]"} for number in range(100)]
    cells = custom_printer(columns).cells({"list": ["x"] * 3_000}, NOW)
    assert cells[1] == "x"
    assert cells[-1] is None
