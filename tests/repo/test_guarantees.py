"""Every guarantee of informers has a test that names it, and none names one that is not given."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONTRACT = ROOT / "src/masthead/_cache/informer/informer.py"


def guaranteed() -> set[int]:
    """The numbers in the text at the beginning of the module."""
    text = ast.get_docstring(ast.parse(CONTRACT.read_text("utf-8"))) or ""
    return {int(number) for number in re.findall(r"^ ?(\d+)\. ", text, re.MULTILINE)}


def named() -> dict[int, list[str]]:
    """The tests that name a number, by number; nothing is imported for it."""
    found: dict[int, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                for number in filter(None, map(number_in, node.decorator_list)):
                    found[number].append(f"{path.relative_to(ROOT)}::{node.name}")
    return found


def number_in(decorator: ast.expr) -> int | None:
    """The number in ``@pytest.mark.guarantee(number)``; None if it is another decorator."""
    if not (isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.guarantee"):
        return None
    (number,) = decorator.args
    assert isinstance(number, ast.Constant), f"write the number down: {ast.unparse(decorator)}"
    assert isinstance(number.value, int)
    return number.value


def test_the_contract_is_numbered_without_a_gap() -> None:
    assert guaranteed() == set(range(1, max(guaranteed()) + 1))
    assert len(guaranteed()) >= 12


def test_every_guarantee_has_tests_that_name_it() -> None:
    assert guaranteed() - named().keys() == set()


def test_every_number_that_a_test_names_is_in_the_contract() -> None:
    assert {number: tests for number, tests in named().items() if number not in guaranteed()} == {}
