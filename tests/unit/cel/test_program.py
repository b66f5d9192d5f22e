"""Expressions, compiled and evaluated on their own."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from masthead._cel.errors import CelError, CompileError, CostError, EvaluationError
from masthead._cel.program import COST_LIMIT, Program
from masthead._cel.types import BOOL, DOUBLE, DYN, INT, STRING, Type, list_of, map_of
from masthead._cel.values import MAX_INT, MIN_INT, Uint

NUMBERS = st.integers(MIN_INT, MAX_INT)
SMALL = st.integers(-100, 100)


def evaluate(source: str, **variables: tuple[Type, Any]) -> Any:
    program = Program(source, {name: type_ for name, (type_, _) in variables.items()})
    outcome = program.evaluate(*(value for _, value in variables.values()))
    if outcome.error is not None:
        raise outcome.error
    return outcome.value


@pytest.mark.parametrize(
    ("operator", "result"),
    [
        ("+", lambda a, b: a + b),
        ("-", lambda a, b: a - b),
        ("*", lambda a, b: a * b),
        (
            "/",
            lambda a, b: int(math.copysign(1, a) * math.copysign(1, b)) * (abs(a) // abs(b)) if b else None,
        ),
        ("%", lambda a, b: int(math.copysign(1, a)) * (abs(a) % abs(b)) if b else None),
    ],
)
@given(left=NUMBERS | SMALL, right=NUMBERS | SMALL)
@example(left=MIN_INT, right=-1)
def test_arithmetic_is_exact_or_an_error(operator: str, result: Any, left: int, right: int) -> None:
    expected = result(left, right)
    overflows = (left, right) == (MIN_INT, -1) and operator in "/%"
    if expected is None or overflows or not MIN_INT <= expected <= MAX_INT:
        with pytest.raises(EvaluationError):
            evaluate(f"a {operator} b", a=(INT, left), b=(INT, right))
    else:
        assert evaluate(f"a {operator} b", a=(INT, left), b=(INT, right)) == expected


@given(left=st.integers(0, 2**64 - 1), right=st.integers(0, 2**64 - 1))
def test_unsigned_numbers_do_not_wrap_around(left: int, right: int) -> None:
    for source, expected in (("a + b", left + right), ("a - b", left - right), ("a * b", left * right)):
        program = Program(source, {"a": DYN, "b": DYN})
        outcome = program.evaluate(Uint(left), Uint(right))
        if 0 <= expected < 2**64:
            assert outcome.value == expected
            assert type(outcome.value) is Uint
        else:
            assert str(outcome.error) == "unsigned integer overflow"


@given(st.lists(NUMBERS, max_size=20))
def test_macros_agree_with_python(numbers: list[int]) -> None:
    items = (list_of(INT), numbers)
    assert evaluate("l.all(x, x > 0)", l=items) == all(number > 0 for number in numbers)
    assert evaluate("l.exists(x, x > 0)", l=items) == any(number > 0 for number in numbers)
    assert evaluate("l.exists_one(x, x > 0)", l=items) == (sum(number > 0 for number in numbers) == 1)
    assert evaluate("l.filter(x, x > 0)", l=items) == [number for number in numbers if number > 0]
    assert evaluate("l.map(x, x > 0)", l=items) == [number > 0 for number in numbers]
    assert evaluate("l.sort()", l=items) == sorted(numbers)
    assert evaluate("l.isSorted()", l=items) == (numbers == sorted(numbers))


@given(st.text(max_size=30), st.text(max_size=5))
def test_strings_agree_with_python(text: str, part: str) -> None:
    given_ = {"s": (STRING, text), "p": (STRING, part)}
    assert evaluate("s.contains(p)", **given_) == (part in text)
    assert evaluate("s.startsWith(p)", **given_) == text.startswith(part)
    assert evaluate("s.size()", s=(STRING, text)) == len(text)
    assert evaluate("s + p", **given_) == text + part
    assert evaluate("s == p", **given_) == (text == part)
    if part:
        assert evaluate("s.split(p)", **given_) == text.split(part)


@given(st.booleans(), st.booleans())
def test_errors_count_only_where_no_operand_decides(left: bool, right: bool) -> None:
    variables = {"a": (BOOL, left), "b": (BOOL, right)}
    assert evaluate("a && b", **variables) == (left and right)
    assert evaluate("(1 / 0 > 0 || a) == true || true", **variables) is True
    if left:
        assert evaluate("1 / 0 > 0 || a", a=(BOOL, left)) is True
    else:
        with pytest.raises(EvaluationError, match="division by zero"):
            evaluate("1 / 0 > 0 || a", a=(BOOL, left))


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_doubles_never_fail(left: float, right: float) -> None:
    for operator in "+-*/":
        assert isinstance(evaluate(f"a {operator} b", a=(DOUBLE, left), b=(DOUBLE, right)), float)
    assert evaluate("a < b", a=(DOUBLE, left), b=(DOUBLE, right)) == (left < right)


# Input that is no expression

TOKENS = st.sampled_from(
    [
        "a",
        "b",
        "1",
        "1.5",
        "'x'",
        '"y"',
        "b'z'",
        "true",
        "null",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ".",
        ",",
        ":",
        "?",
        "!",
        "-",
        "+",
        "*",
        "/",
        "%",
        "<",
        "<=",
        "==",
        "!=",
        ">=",
        ">",
        "&&",
        "||",
        "in",
        "all(",
        "map(",
        "x,",
        "has(",
        ".?",
        "[?",
    ]
)


@given(st.lists(TOKENS, max_size=25).map(" ".join))
def test_any_tokens_either_compile_or_raise_a_compile_error(source: str) -> None:
    try:
        program = Program(source, {"a": INT, "b": map_of(STRING, INT)})
    except CelError:
        return
    outcome = program.evaluate(1, {"k": 1})
    assert outcome.error is None or isinstance(outcome.error, CelError)


@given(st.text(max_size=60))
def test_any_text_either_compiles_or_raises_a_compile_error(source: str) -> None:
    with contextlib.suppress(CelError):
        Program(source, {"a": INT})


@pytest.mark.parametrize(
    "source",
    [
        "(" * 300 + "true" + ")" * 300,
        "[" * 300 + "]" * 300,
        "!" * 5 + "(" * 1000,
        "a" + " + a" * 400,
        "a" + ".b" * 400,
        "f(" * 400,
        "{1:" * 400,
        "true ? " * 400,
        "x" * 100_001,
        "optional.of(1)" + ".optMap(x, x + 1)" * 60,
        "[1]" + ".map(x, [x]" * 200 + ")" * 200,
    ],
    ids=lambda source: str(source)[:12],
)
def test_what_is_too_deep_or_too_large_does_not_compile(source: str) -> None:
    with pytest.raises(CompileError):
        Program(source, {"a": DYN})


def test_terms_in_a_row_are_not_deep() -> None:
    assert evaluate(" && ".join(["a"] * 5000), a=(BOOL, True)) is True


@pytest.mark.parametrize(
    "source",
    [
        "l.all(a, l.all(b, l.all(c, a + b + c >= 0)))",
        "l.map(a, l.map(b, l.map(c, c))).size() > 0",
        "'aaaaaaaaaa'" + ".replace('', 'aaaaaaaaaa')" * 7 + ".size() > 0",
        "lists.range(100000000).size() > 0",
        "'%.9999f'.format([1.0]) == ''",
    ],
    ids=lambda source: str(source)[:20],
)
def test_an_evaluation_ends_when_it_costs_too_much(source: str) -> None:
    program = Program(source, {"l": list_of(INT)})
    outcome = program.evaluate(list(range(300)))
    assert isinstance(outcome.error, CostError)
    assert outcome.cost < COST_LIMIT * 200


def test_the_names_of_variables_that_are_used_are_known() -> None:
    program = Program("self.all(x, x > 0)", {"self": list_of(INT), "oldSelf": list_of(INT)})
    assert program.names == {"self"}
