"""Generated code is laid out as the formatter would lay it out: the formatter itself is asked."""

from __future__ import annotations

import ast
import itertools

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.unit.codegen.tools import reformatted

from masthead._codegen.layout import Brackets, docstring, lay_out, lay_out_field, text, tuple_of

# Each example starts the formatter anew: so one example is many statements, and a failing one stays as it is.
few = settings(max_examples=20, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])

names = st.integers(1, 64).map(lambda length: "n" * length)
strings = names.map(lambda name: f'"{name}"')
texts = st.text(st.characters(codec="utf-8"), max_size=30) | st.text("'\"\\ a\n", max_size=8)
prose = st.lists(
    st.sampled_from(["word", '"', '"""', "\\", "'", "\n", "\n\n", "  ", "\t", "- ", " 1. ", "\u2028", "\x00"])
    | st.text(st.characters(codec="utf-8"), max_size=4)
    | st.integers(1, 120).map(lambda length: "w" * length),
    max_size=40,
).map(" ".join)


@st.composite
def nested_calls(draw: st.DrawFn, depth: int = 2) -> Brackets:
    inner: st.SearchStrategy[str | Brackets] = strings
    if depth:
        inner |= nested_calls(depth - 1) | st.lists(names, min_size=1, max_size=4).map(tuple_of)
    parts = draw(st.lists(inner, min_size=1, max_size=5))
    if draw(st.booleans()):
        return Brackets(f"{draw(names)}(", parts)
    is_spread = draw(st.booleans())
    if draw(st.booleans()):
        # The formatter joins the lines of a tuple with one part, whose comma says nothing about its layout.
        is_spread = is_spread and len(parts) > 1
        return Brackets("(", parts, is_call=False, is_spread=is_spread, is_tuple=True)
    return Brackets("[", parts, "]", is_call=False, is_spread=is_spread)


def indented(lines: list[str]) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in lines)


@pytest.mark.slow
@few
@given(st.lists(nested_calls(), min_size=1, max_size=30))
def test_calls_lists_and_tuples_break_where_the_formatter_breaks_them(nodes: list[Brackets]) -> None:
    made = "class A:\n" + "".join(indented(lay_out("made = ", node, indent=4)) for node in nodes)

    assert reformatted(made) == made


def test_fields_break_where_the_formatter_breaks_them() -> None:
    lengths = range(1, 66, 4)
    patterns = ["{}", "{} | None", "list[{}]", "dict[str, {}]", "list[{} | None]"]
    values: list[str | Brackets] = ["None", "[]"]
    values += [Brackets("field(", ["default=None", f'name="{"s" * length}"']) for length in range(1, 80, 20)]
    made = "class A:\n" + "".join(
        indented(lay_out_field("a" * attribute, pattern.format("n" * name), value, indent=4))
        for attribute, name, pattern, value in itertools.product(lengths, lengths, patterns, values)
    )

    assert reformatted(made) == made


@few
@given(st.lists(texts, min_size=1, max_size=30))
def test_a_string_is_quoted_as_the_formatter_quotes_it(values: list[str]) -> None:
    made = "".join(f"made = {text(value)}\n" for value in values)

    assert reformatted(made) == made
    assert [ast.literal_eval(line.removeprefix("made = ")) for line in made.splitlines()] == values


@pytest.mark.slow
@few
@given(st.lists(prose.filter(str.strip), min_size=1, max_size=30))
def test_a_docstring_keeps_its_text_and_needs_no_formatter(contents: list[str]) -> None:
    made = "\n\n".join(
        f"class A{number}:\n{indented(docstring(content, indent=4))}" for number, content in enumerate(contents)
    )

    assert reformatted(made) == made
    said = [ast.get_docstring(each) or "" for each in ast.parse(made).body if isinstance(each, ast.ClassDef)]
    assert [each.split() for each in said] == [content.split() for content in contents]


def test_a_docstring_keeps_lists_and_paragraphs() -> None:
    content = "First line.\n\n- one " + "word " * 30 + "\n- two"

    lines = docstring(content, indent=4)

    assert lines[:2] == ['"""First line.', ""]
    assert lines[2].startswith("- one word")
    assert lines[3].startswith("  word")
    assert lines[-2:] == ["- two", '"""']
    assert all(len(line) <= 116 for line in lines)
