"""Text of tables, as kubectl lays it out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._printers.layout import cell_text, lay_out

# Without line separators and direction marks, which are escaped, and so longer than here.
CELL = st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"]), max_size=12)


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (None, ""),
        (True, "true"),
        (False, "false"),
        (7, "7"),
        (0.5, "0.5"),
        (1e6, "1e+06"),
        (123456.75, "123456.75"),
        (-2.5e30, "-2.5e+30"),
        (0.0001, "0.0001"),
        (1.5e-05, "1.5e-05"),
        ("one\ntwo", "one..."),
        ("one\rtwo", "one..."),
        ("\x1b[31mred", "^[[31mred"),
        ("", ""),
    ],
)
def test_a_cell_is_one_line_of_text(cell: str | float | None, shown: str) -> None:
    assert cell_text(cell) == shown


def test_columns_are_three_blanks_apart_and_at_least_six_wide() -> None:
    lines = [["NAME", "A", "LAST"], ["a-long-name", "b", "c"], ["x", "", ""]]
    assert lay_out(lines).split("\n") == [
        "NAME          A     LAST",
        "a-long-name   b     c",
        "x                   ",
    ]


def test_a_tab_begins_another_cell_in_its_line_and_its_neighbours_alone() -> None:
    lines = [["A", "one\ttwo"], ["B", "longer\tthree"], ["C", "x"], ["D", "y\tz"]]
    assert lay_out(lines).split("\n") == [
        "A     one      two",
        "B     longer   three",
        "C     x",
        "D     y     z",
    ]


def test_characters_count_and_not_bytes() -> None:
    assert lay_out([["äöüß", "x"], ["1234567", "y"]]).split("\n") == ["äöüß      x", "1234567   y"]


@given(st.integers(1, 5).flatmap(lambda width: st.lists(st.lists(CELL, min_size=width, max_size=width), min_size=1)))
def test_every_cell_begins_where_its_column_does(lines: list[list[str]]) -> None:
    laid_out = lay_out(lines).split("\n")
    starts = [0]
    for column in range(len(lines[0]) - 1):
        starts.append(starts[-1] + max(6, 3 + max(len(line[column]) for line in lines)))
    for line, text in zip(lines, laid_out, strict=True):
        for start, cell in zip(starts, line, strict=True):
            assert text[start : start + len(cell)] == cell


def test_thousands_of_tabs_are_laid_out() -> None:
    assert len(lay_out([["\t" * 20_000]] * 3).split("\n")) == 3
