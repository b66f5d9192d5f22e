"""Base64 as Go decodes it."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead_server.wire.go_base64 import decode_base64


@given(st.binary(max_size=60))
def test_what_is_encoded_is_decoded(data: bytes) -> None:
    assert decode_base64(base64.b64encode(data).decode()) == data
    assert decode_base64(base64.urlsafe_b64encode(data).decode().rstrip("="), is_url=True) == data


def test_newlines_are_ignored() -> None:
    assert decode_base64("Y\nQ=\r\n=\n") == b"a"


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("a", 0),
        ("aaaaa", 4),
        ("aaa", 0),
        ("=", 0),
        ("a=", 1),
        ("aa=", 3),
        ("aa=a", 2),
        ("aa==a", 4),
        ("aaa=a", 4),
        ("aa*a", 2),
        ("a\na", 1),
    ],
)
def test_an_error_has_the_position_that_go_reports(text: str, position: int) -> None:
    with pytest.raises(ValueError, match=f"^illegal base64 data at input byte {position}$"):
        decode_base64(text)


@given(st.text("abA+/_-=\n*é", max_size=24), st.booleans())
def test_any_text_is_decoded_or_refused(text: str, is_url: bool) -> None:
    try:
        decode_base64(text, is_url=is_url)
    except ValueError as error:
        position = int(str(error).rpartition(" ")[2])
        assert 0 <= position <= len(text.encode())
