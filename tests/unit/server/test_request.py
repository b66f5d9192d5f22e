"""Paths and queries are read as the standard library would read them, without what that costs."""

from __future__ import annotations

import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.options import read_version
from masthead_server.wire.request import ApiRequest, parse_query
from masthead_server.wire.request_info import read_request_info

pieces = st.sampled_from(
    ["%3d", "%3D", "=", "a", "%20", "%0a", "%0D", "+", "é", "%C3%A9", "%ff", "%00", "%25", ".", "~"]
)
texts = st.lists(pieces, min_size=1, max_size=8).map("".join)


@given(texts)
def test_the_values_of_a_query_are_unescaped(text: str) -> None:
    assert parse_query(f"x={text}") == {"x": [urllib.parse.unquote_plus(text)]}


@given(texts)
def test_the_names_in_a_path_are_unescaped(text: str) -> None:
    info = read_request_info(ApiRequest("GET", f"/api/v1/pods/{text}"))

    assert info.name == urllib.parse.unquote(text)


def test_bytes_that_are_not_utf8_are_replaced() -> None:
    assert parse_query("x=\udcff%ff") == {"x": ["\N{REPLACEMENT CHARACTER}" * 2]}


def test_an_invalid_version_is_quoted_as_go_quotes() -> None:
    with pytest.raises(StatusFailure) as refused:
        read_version('a"b')

    assert refused.value.message == (
        r'resourceVersion: Invalid value: "a\"b": strconv.ParseUint: parsing "a\"b": invalid syntax'
    )
