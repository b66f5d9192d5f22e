"""Apply configurations: YAML, and the JSON that is YAML, too."""

from __future__ import annotations

import pytest

from masthead_server.wire.apply_configuration import decode_configuration, read_configuration
from masthead_server.wire.failures import StatusFailure


def read(body: bytes) -> object:
    return read_configuration(lambda: decode_configuration(body))


@pytest.mark.parametrize("body", [b'{"a": {"b": [1, "x", null]}}', b"a:\n  b: [1, x, null]\n", b"a: {b: [1, 'x', ~]}"])
def test_json_and_yaml_mean_the_same(body: bytes) -> None:
    assert read(body) == {"a": {"b": [1, "x", None]}}


@pytest.mark.parametrize("body", [b"", b"# nothing\n", b"null", b"---\n---\na: 1\n"])
def test_an_empty_document_is_an_empty_configuration(body: bytes) -> None:
    assert read(body) == {}


def test_the_last_of_duplicate_keys_counts_and_all_are_known() -> None:
    document = decode_configuration(b'{"a": 1,\n"a": 2}')

    assert document.value == {"a": 2}
    assert [(duplicate.line, duplicate.key) for duplicate in document.duplicates] == [(2, "a")]


def test_integers_beyond_64_bits_are_floats() -> None:
    assert repr(read(b'{"a": 9223372036854775807, "b": [9223372036854775808]}')) == repr(
        {"a": 9223372036854775807, "b": [9223372036854775808.0]}
    )


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (rb'{"a": "\ud83d\ude00"}', "yaml: found invalid Unicode character escape code"),
        (b"a: b: c", "yaml: mapping values are not allowed in this context"),
        (b"a: *b", "yaml: unknown anchor 'b' referenced"),
    ],
)
def test_what_is_not_yaml_is_refused_in_the_words_of_gos_parser(body: bytes, problem: str) -> None:
    with pytest.raises(StatusFailure) as refused:
        read(body)

    assert refused.value.message == f"error decoding YAML: error converting YAML to JSON: {problem}"
    assert (refused.value.code, refused.value.reason) == (400, "BadRequest")


@pytest.mark.parametrize(
    ("body", "kind"), [(b"text", "string"), (b"[]", "array"), (b"1.5", "number"), (b"true", "bool")]
)
def test_what_is_no_object_is_refused(body: bytes, kind: str) -> None:
    with pytest.raises(StatusFailure, match=f"json: cannot unmarshal {kind} into Go value of type map"):
        read(body)
