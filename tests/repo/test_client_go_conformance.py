"""docs/conformance-client-go.md: the tests that it names exist, and its totals are right."""

from __future__ import annotations

import functools
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "conformance-client-go.md").read_text("utf-8")
REASONS = ("Differs", "Not offered", "Go", "Missing")
"""Why a test of client-go has no equal here, in the order of the columns."""


@functools.cache
def read_names(path: str) -> frozenset[str]:
    """The test functions and state machines of a file."""
    source = (ROOT / "tests" / path).read_text("utf-8")
    found = re.findall(r"^\s*(?:async )?def (test_\w+)|^(Test\w+) = ", source, re.MULTILINE)
    return frozenset(function or machine for function, machine in found)


def read_rows(section: str) -> Iterator[tuple[list[str], str]]:
    """The tests of client-go in each row, and what is said about them."""
    for names, here in re.findall(r"^\| (Test[\w, ]*) \| (.+) \|$", section, re.MULTILINE):
        yield names.split(", "), here


def judge(here: str) -> str:
    """The column that counts a row."""
    found = re.match(r"\*([\w ]+)\*:", here)
    return found[1] if found else "covered"


def test_every_test_that_the_list_of_client_gos_tests_names_exists() -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", TEXT)

    assert named
    assert [f"{path}::{name}" for path, name in named if name not in read_names(path)] == []


def test_every_row_names_a_test_or_gives_a_reason() -> None:
    rows = list(read_rows(TEXT))

    assert rows
    assert [names for names, here in rows if judge(here) == "covered" and "::" not in here] == []
    assert {judge(here) for _, here in rows} <= {"covered", *REASONS}


def test_totals_of_the_list_of_client_gos_tests_are_the_sums_of_its_rows() -> None:
    sections = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))
    totals = {
        package: [int(number) for number in numbers.split("|")]
        for package, numbers in re.findall(r"^\| \[(\S+)\]\(#\w+\) \|([\d| ]+) \|$", TEXT, re.MULTILINE)
    }

    assert totals.keys() == sections.keys()
    for package, section in sections.items():
        counted: Counter[str] = Counter()
        for names, here in read_rows(section):
            counted[judge(here)] += len(names)
        columns = [counted[column] for column in ("covered", *REASONS)]
        assert totals[package] == [sum(columns), *columns], package
