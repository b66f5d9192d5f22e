"""Control characters in text from elsewhere: visible wherever people read it, and the same data wherever programs
do."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead import errors
from masthead._cli.outputs import parse_output
from masthead._errors.control_characters import escape_controls
from masthead._meta.yaml import dump, load_one
from masthead._printers.layout import lay_out

CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
ODD = st.text(st.sampled_from("ab \t\n\r\x00\x08\x1b\x7f\x85\x9b\u061c\u200f\u2028\u202e\u2066é😀") | st.characters())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "^[[2J"),
        ("a\x08b\x7f\r", "a^Hb^?^M"),
        ("\x9b2J", "\\x9b2J"),
        ("\u202eexe.txt", "\\u202eexe.txt"),
        ("\ud800", "\\ud800"),
        ("line\n\tindented é 😀", "line\n\tindented é 😀"),
    ],
)
def test_control_characters_become_visible(text: str, shown: str) -> None:
    assert escape_controls(text) == shown


@given(st.text(st.characters(exclude_categories=())))
def test_nothing_that_controls_a_terminal_is_left(text: str) -> None:
    shown = escape_controls(text)

    assert not CONTROLS.search(shown)
    assert escape_controls(shown) == shown
    assert shown == text or CONTROLS.search(text)


def test_errors_show_control_characters_that_others_put_into_them() -> None:
    for error in (errors.MastheadError("\x1b[2J"), errors.AuthError("\x9b"), errors.ProtocolError("\x08")):
        assert not CONTROLS.search(str(error))
        assert CONTROLS.search(error.args[0])


def test_columns_are_as_wide_as_what_is_shown() -> None:
    assert lay_out([["NAME", "AGE"], ["a\x1b[2Jbcd", "3s"]]) == "NAME        AGE\na^[[2Jbcd   3s"


@given(ODD)
def test_json_output_is_the_same_data_without_control_characters(text: str) -> None:
    printed = parse_output("json").render({"key": text})

    assert not CONTROLS.search(printed)
    assert json.loads(printed) == {"key": text}


@given(ODD, ODD)
def test_yaml_output_is_the_same_data_without_control_characters(key: str, text: str) -> None:
    printed = dump({key: text, "list": [text]})

    assert not CONTROLS.search(printed)
    assert load_one(printed) == {key: text, "list": [text]}
