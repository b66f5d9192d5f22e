"""Warning headers, good and bad."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._sansio.warnings import ServerWarning, parse_warnings

TEXTS = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1)


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ('299 - "v1beta1 is deprecated"', [ServerWarning("v1beta1 is deprecated")]),
        ('299 kube:443 "a"', [ServerWarning("a", "kube:443")]),
        ('299 - "a" "Sun, 06 Nov 1994 08:49:37 GMT"', [ServerWarning("a")]),
        ('299 - "a", 299 - "b" "Sun, 06 Nov 1994 08:49:37 GMT" ,299 - "c"', [*map(ServerWarning, "abc")]),
        (r'299 - "say \"a, b\" \\ c"', [ServerWarning(r'say "a, b" \ c')]),
        ('  299\t-  "a"  ', [ServerWarning("a")]),
        ('299 - "\x1b[31mred\nblue"', [ServerWarning("red   blue")]),
        ('199 - "other", 299 - "a"', [ServerWarning("a")]),
        ('299 - ""', []),
        ('299 - "a", 299 b "c', [ServerWarning("a")]),
        ("299 - a", []),
        ('299 "a"', []),
        ('29 - "a"', []),
        ('٢٩٩ - "a"', []),
        ('299 - "a" "b" "c"', []),
        ("", []),
    ],
)
def test_only_valid_warnings_of_code_299_are_returned(header: str, expected: list[ServerWarning]) -> None:
    assert parse_warnings([header]) == expected


def test_all_headers_are_read_and_a_bad_one_spoils_no_other() -> None:
    found = parse_warnings(['299 - "a"', "rubbish", '299 - "b"'])

    assert [warning.text for warning in found] == ["a", "b"]


@given(st.lists(TEXTS))
def test_any_texts_come_back_as_they_were_quoted(texts: list[str]) -> None:
    header = ", ".join(f"299 - {quoted(text)}" for text in texts)

    assert [warning.text for warning in parse_warnings([header])] == texts


@given(st.text() | st.text('29 -"\\,abc'))
def test_invalid_headers_never_raise(header: str) -> None:
    for warning in parse_warnings([header]):
        assert warning.code == 299
        assert warning.text.isprintable()


def test_a_long_text_with_bad_quotes_takes_no_time() -> None:
    assert parse_warnings(['299 - "' + "\\a" * 100_000]) == []
