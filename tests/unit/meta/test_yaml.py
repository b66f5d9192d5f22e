"""YAML as Kubernetes reads it."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.meta.data import json_values, texts

from masthead._meta import yaml
from masthead.errors import DecodeError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("22:22", "22:22"),
        ("1:30:00", "1:30:00"),
        ("2026-01-01", "2026-01-01"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("12", 12),
        ("-7", -7),
        ("0x1F", 31),
        ("0o17", 15),
        ("1_000", 1000),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("yes", True),
        ("off", False),
        ("[y, Y, n, N]", [True, True, False, False]),
        ("[yy, 'n']", ["yy", "n"]),
        ("~", None),
        ("null", None),
        ("'12'", "12"),
        ("1.2.3", "1.2.3"),
        ("100m", "100m"),
        ("=", "="),
        ("[=, =~]", ["=", "=~"]),
    ],
)
def test_plain_words_mean_what_they_mean_to_the_api(text: str, value: object) -> None:
    found = yaml.load_all(f"x: {text}")

    assert found == [{"x": value}]


@given(json_values)
def test_dumped_data_loads_equal(value: object) -> None:
    assert yaml.load_one(yaml.dump({"x": value})) == {"x": value}


@given(
    texts
    | st.sampled_from(
        [
            "1e3",
            "123e456",
            "0o17",
            "yes",
            "y",
            "N",
            "null",
            "1_0",
            "0x1",
            ".5",
            "+1",
            "2026-01-01",
            "a: b",
            "a\nb\n",
            " x",
        ]
    )
)
def test_text_stays_text(text: str) -> None:
    assert yaml.load_one(yaml.dump([text])) == [text]


def test_numbers_in_text_are_quoted_for_readers_that_know_more_numbers_than_we_do() -> None:
    assert yaml.dump({"commit": "123e456", "mode": "0o17"}) == "commit: '123e456'\nmode: '0o17'\n"


def test_letters_that_other_readers_take_for_booleans_are_quoted() -> None:
    assert yaml.dump({"y": "n", "x": "Y"}) == "'y': 'n'\nx: 'Y'\n"


def test_many_lines_are_written_as_a_block() -> None:
    assert yaml.dump({"script": "a\nb\n"}) == "script: |\n  a\n  b\n"


def test_documents_are_read_one_by_one_and_empty_ones_left_out() -> None:
    assert yaml.load_all("---\na: 1\n---\n---\n# nothing\n---\nb: 2\n") == [{"a": 1}, {"b": 2}]
    assert yaml.load_all("") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb:\n  - c: 1\n    c: 2\n", 'Pod: b[0].c: the key "c" appears twice (line 4)'),
        ("a: [", "Pod: not YAML"),
        ("a:\n\t- b", "Pod: not YAML"),
        ("{{x}}: 1", "Pod: the key a list or map is not text; put it in quotes (line 1)"),
        ("a: !!python/object:os.system x", "Pod: a: the tag !!python/object:os.system means nothing to Kubernetes"),
        ("", "Pod: expected one YAML document, got no document"),
        ("a: 1\n---\nb: 2", "Pod: expected one YAML document, got 2 documents"),
        ("[" * 100_000, "Pod: nested too deeply"),
        ("[" * 300 + "]" * 300, "nested too deeply"),
        ("a: &a [*a]", "nested too deeply"),
        ("\n".join(["a0: &a0 [x,x]", *(f"a{i}: &a{i} [*a{i - 1},*a{i - 1},*a{i - 1}]" for i in range(1, 30))]), "expand to over"),  # noqa: E501
    ],
)  # fmt: skip
def test_bad_yaml_gives_a_clear_error_of_ours(text: str, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        yaml.load_one(text, kind="Pod")

    assert message in str(caught.value)


def test_merge_keys_are_followed() -> None:
    assert yaml.load_all("base: &b {a: 1, c: 3}\nx:\n  <<: *b\n  a: 2\n")[0] == {
        "base": {"a": 1, "c": 3},
        "x": {"a": 2, "c": 3},
    }


@given(st.binary(max_size=40) | st.text(max_size=40))
def test_random_text_never_raises_anything_but_our_error(text: bytes | str) -> None:
    with contextlib.suppress(DecodeError):
        yaml.load_all(text)


def test_a_long_scalar_with_many_aliases_is_rejected_before_it_is_expanded() -> None:
    text = "a: &a " + "x" * 100_000 + "\nb: [" + "*a, " * 100 + "]"
    with pytest.raises(DecodeError, match=r"aliases expand to over .* characters"):
        yaml.load_all(text)


def test_aliases_of_what_is_short_are_followed() -> None:
    assert yaml.load_one("a: &a {b: c}\nd: [*a, *a]") == {"a": {"b": "c"}, "d": [{"b": "c"}, {"b": "c"}]}


def test_a_list_that_holds_itself_is_refused_however_often_it_does() -> None:
    with pytest.raises(DecodeError, match="nested too deeply"):
        yaml.load_all("a: &a [" + "*a, " * 10_000 + "]")


def test_a_number_that_nothing_can_hold_is_refused() -> None:
    for text in ("1" * 5_000, "0x" + "f" * 5_000, "1." + "1" * 5_000):
        with pytest.raises(DecodeError, match="is not valid in JSON"):
            yaml.load_all(f"a: {text}")
