"""Requests, and the keys of caches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead.controller import Request
from masthead.errors import ArgumentError

NAMES = st.text("ab-.", min_size=1, max_size=8)


@given(st.one_of(st.just(""), NAMES), NAMES)
def test_a_key_that_is_parsed_is_the_key_of_its_request(namespace: str, name: str) -> None:
    key = f"{namespace}/{name}" if namespace else name

    assert Request.parse(key) == Request(namespace, name)
    assert Request.parse(key).key == str(Request.parse(key)) == key


@pytest.mark.parametrize("key", ["", "/", "/name", "namespace/", "a/b/c", "a//c"])
def test_a_key_that_is_not_one_is_rejected(key: str) -> None:
    with pytest.raises(ArgumentError, match="is not a key such as 'namespace/name' or 'name'"):
        Request.parse(key)
