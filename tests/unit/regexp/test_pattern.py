"""Patterns: Go's ``regexp`` decides what is valid, what matches, and what an error says."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._regexp.pattern import MatchLimitError, Pattern, PatternError, compile_pattern

VECTORS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "go_vectors.jsonl").read_text(encoding="utf-8").splitlines()
]
"""Patterns and texts with the results of Go 1.26: an error, or for each text if it matches, and all matches."""


@pytest.mark.parametrize("vector", [each for each in VECTORS if "error" in each], ids=lambda each: each["pattern"][:20])
def test_invalid_patterns_have_the_errors_of_go(vector: dict[str, Any]) -> None:
    with pytest.raises(PatternError) as caught:
        Pattern(vector["pattern"])
    assert str(caught.value) == vector["error"]


def test_texts_match_as_in_go() -> None:
    for vector in VECTORS:
        for text, matches, found in vector.get("matches", ()):
            pattern = compile_pattern(vector["pattern"])
            assert pattern.search(text) is matches, (vector["pattern"], text)
            assert pattern.find_all(text) == found, (vector["pattern"], text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", "a" * 50_000 + "b"),
        ("^(a|a)*$", "a" * 50_000 + "b"),
        ("(a*)*b", "a" * 50_000),
        ("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 50_000),
        (r"(.*)(.*)(.*)(.*)(.*)[^a]$", "a" * 50_000),
        ("(a?){100}a{100}$", "a" * 99),
    ],
)
def test_patterns_that_explode_elsewhere_take_linear_time(pattern: str, text: str) -> None:
    assert not compile_pattern(pattern).search(text)


def test_a_search_that_takes_too_long_is_stopped() -> None:
    many_states = Pattern("[ab]*a[ab]{900}c")
    text = "".join("ab"[(index * index // 7) % 2] for index in range(20_000))
    with pytest.raises(MatchLimitError, match="matching takes too long"):
        many_states.search(text)


@pytest.mark.parametrize("pattern", ["a" * 30_000, "(a{1000}){1}" * 30, r"\Q" + "a" * 30_000, "(?i)" * 30_000])
def test_a_pattern_that_is_too_large_is_an_error(pattern: str) -> None:
    with pytest.raises(PatternError, match="expression too large"):
        Pattern(pattern)


def test_many_different_characters_do_not_fill_the_memory() -> None:
    pattern = Pattern("^[^a]*$")
    assert pattern.search("".join(chr(code) for code in range(0x100, 0x4000)))
    assert not pattern.search("".join(chr(code) for code in range(0x100, 0x4000)) + "a")
    assert sum(map(len, pattern._states.values())) < 10_000


def test_find_considers_what_precedes_its_start() -> None:
    assert compile_pattern(r"\bb").find("ab b") == (3, 4)
    assert compile_pattern("^b").find("ab", 1) is None
    assert compile_pattern("b").find_all("abbb", 2) == ["b", "b"]


@given(
    st.text(alphabet="ab\n_ ", max_size=12),
    st.sampled_from(["a*b", "(a|b_)+$", r"\b_?a", "(?m)^b", "a{2,3}?"]),
)
def test_search_and_find_agree(text: str, pattern: str) -> None:
    compiled = compile_pattern(pattern)
    assert compiled.search(text) is (compiled.find(text) is not None)
    assert compiled.search(text) is bool(compiled.find_all(text))


@given(st.text(max_size=30))
def test_any_text_is_a_pattern_or_a_pattern_error(text: str) -> None:
    with suppress(PatternError):
        Pattern(text).search("some text")
