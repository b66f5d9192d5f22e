"""YAML as kubectl writes it. The expected texts are kubectl's own."""

from __future__ import annotations

import pytest
import yaml

from masthead._cli.go_yaml import dump, sort_keys

WORDS = "word " * 20


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("", '""'),
        ("a b", "a b"),
        (" a", "' a'"),
        ("it's: so", "'it''s: so'"),
        ("a:b", "a:b"),
        ("#a", "'#a'"),
        ("a#b", "a#b"),
        ("-", "'-'"),
        ("-a", "-a"),
        ("*", "'*'"),
        ("yes", '"yes"'),
        ("y", '"y"'),
        ("null", '"null"'),
        ("1.50", '"1.50"'),
        ("1_000", '"1_000"'),
        ("0x1f", '"0x1f"'),
        ("0xg", "0xg"),
        ("1e3", '"1e3"'),
        ("1e999", "1e999"),
        (".5", '".5"'),
        (".a", ".a"),
        ("1:30", '"1:30"'),
        ("2024-02-29", '"2024-02-29"'),
        ("2023-02-29", "2023-02-29"),
        ("2024-1-2T3:4:5Z", '"2024-1-2T3:4:5Z"'),
        ("a\nb", "|-\n  a\n  b"),
        ("a\n\nb\n", "|\n  a\n\n  b"),
        ("a\n\n", "|+\n  a\n"),
        (" a\n", "|2\n   a"),
        ("a \nb", '"a \\nb"'),
        ("a\tb", '"a\\tb"'),
        ("\x1b[0m", '"\\e[0m"'),
        ("é日", "é日"),
        ("\U0001f600", '"\\U0001F600"'),
        (WORDS.strip(), WORDS.strip()[:79] + "\n  " + WORDS.strip()[80:]),
        ("\ufeffa", '"\\uFEFF\\x61"'),
    ],
)
def test_text_has_the_style_of_kubectl(text: str, written: str) -> None:
    assert dump({"k": text}) == f"k: {written}\n"


def test_large_numbers_have_an_exponent() -> None:
    assert dump([1e21, 1e6, 1234567.5]) == "- 1e+21\n- 1000000\n- 1.2345675e+06\n"


def test_marks_of_direction_are_escaped() -> None:
    assert dump({"k": "a\u202eb"}) == 'k: "a\\u202Eb"\n'


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({}, "{}\n"),
        ([], "[]\n"),
        ({"a": {}, "b": [], "c": None, "d": True, "e": 7, "f": 1.5, "g": 2.0}, None),
        ({"a": [{"c": 1, "b": [1, [2, {"d": 3}]]}]}, "a:\n- b:\n  - 1\n  - - 2\n    - d: 3\n  c: 1\n"),
        ({"k" * 129: {"a": 1}}, f"? {'k' * 129}\n: a: 1\n"),
    ],
)
def test_collections_have_the_layout_of_kubectl(value: object, written: str | None) -> None:
    made = dump(value)

    assert written is None or made == written
    assert yaml.safe_load(made) == value


def test_numbers_in_keys_count_as_numbers() -> None:
    assert sort_keys(["a10", "a2", "b", "B", "a", "1", "a.b", "_"]) == [
        "_",
        "1",
        "B",
        "a",
        "a.b",
        "a2",
        "a10",
        "b",
    ]
