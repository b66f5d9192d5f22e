"""Texts that are no expressions: what the parser reports, and that it always reports something."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._cel.errors import CompileError
from masthead._cel.parser import parse

pieces = st.sampled_from([*"()[]{}.,?:!-+*|&'\"`\\ \n$aru019", "||", "&&", "in", "'\\u00", "0x", "1.5", "a.b", "f("])


def problems(source: str, *, is_plain: bool = False) -> list[str]:
    """The messages about a text that does not compile."""
    with pytest.raises(CompileError) as caught:
        parse(source, is_plain=is_plain)
    return [issue.message for issue in caught.value.issues]


@given(st.lists(pieces, max_size=8).map("".join), st.booleans())
def test_any_text_is_an_expression_or_an_error(source: str, is_plain: bool) -> None:
    # Nothing else is raised.
    with suppress(CompileError):
        parse(source, is_plain=is_plain)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("'a\nb'", "'a\n"),
        ("'\\u00' x", "'\\u00'"),
        ("'\\x3g'", "'\\x3g"),
        ('"\\777"', '"\\7'),
        ("'\\q'", "'\\q"),
    ],
)
def test_what_is_no_token_is_quoted_as_far_as_the_lexer_read_it(source: str, text: str) -> None:
    assert problems(source)[0] == f"Syntax error: token recognition error at: '{text}'"


@pytest.mark.parametrize("source", [")-", "!-", "-", "(-"])
def test_a_minus_without_an_operand_is_a_syntax_error(source: str) -> None:
    assert problems(source)[0].startswith("Syntax error: ")


@pytest.mark.parametrize(
    ("source", "syntax"),
    [("a.?b", ".?"), ("a[?0]", "[?"), ("[?a]", "?"), ("{?a: b}", "?"), ("M{?a: 1}", "?")],
)
def test_a_plain_expression_has_no_optionals(source: str, syntax: str) -> None:
    assert problems(source, is_plain=True) == [f"unsupported syntax '{syntax}'"]


def test_a_plain_expression_keeps_calls_that_are_macros_elsewhere() -> None:
    assert parse("has(x)", is_plain=True).function == "has"  # type: ignore[union-attr]
    assert problems("has(x)")
