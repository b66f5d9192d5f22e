"""Formats of strings: those that kube-apiserver checks, as it does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._schema.formats import checked_format, is_known, string_format
from masthead._schema.schema import Schema

VECTORS: dict[str, dict[str, list[str]]] = json.loads(
    (Path(__file__).parent / "format_vectors.json").read_text(encoding="utf-8")
)
"""Texts that the format library of kube-apiserver accepts and rejects, by format."""


@pytest.mark.parametrize("name", VECTORS)
def test_a_format_accepts_what_the_server_accepts(name: str) -> None:
    check = string_format(name)
    assert [each for each in VECTORS[name]["valid"] if not check(each)] == []
    assert [each for each in VECTORS[name]["invalid"] if check(each)] == []


@pytest.mark.parametrize("name", VECTORS)
@pytest.mark.parametrize("text", ["1" * 200_000, "a." * 100_000, " " * 200_000, "(" * 200_000, "a@" + "b" * 200_000])
def test_long_texts_take_no_time(name: str, text: str) -> None:
    assert string_format(name)(text) in {True, False}


@given(st.text(), st.sampled_from(sorted(VECTORS)))
def test_any_text_is_checked(text: str, name: str) -> None:
    assert string_format(name)(text) in {True, False}


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        (Schema(type="string", format="date-time"), "date-time"),
        (Schema(type="string", format="datetime"), "datetime"),
        (Schema(type="string", format="int32"), ""),
        (Schema(type="string", format="semver"), ""),
        (Schema(type="integer", format="int32"), "int32"),
        (Schema(type="integer", format="float"), ""),
        (Schema(type="number", format="double"), "double"),
        (Schema(type="number", format="date"), ""),
        (Schema(type="array", format="date"), ""),
        (Schema(format="ipv4"), "ipv4"),
        (Schema(int_or_string=True, format="ipv4"), "ipv4"),
    ],
)
def test_a_format_is_checked_for_its_type_only(schema: Schema, name: str) -> None:
    assert checked_format(schema) == name


def test_dashes_in_the_name_of_a_format_do_not_matter() -> None:
    assert is_known("k8s-short-name", "string")
    assert is_known("k8sshortname", "string")
    assert not is_known("", "string")
