"""OpenAPI v2 over HTTP, for older clients."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.server.calls import Caller

V2 = "/openapi/v2"
PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
OLD_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


@pytest.mark.parametrize(
    ("accept", "sent"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        (PROTOBUF, PROTOBUF),
        (OLD_PROTOBUF, PROTOBUF),
        (f"{OLD_PROTOBUF}, application/json", PROTOBUF),
        (f"{PROTOBUF};q=0.5, application/json", "application/json"),
        (f"text/html, {PROTOBUF}; q=often", PROTOBUF),
    ],
)
def test_the_preferred_form_is_sent(caller: Caller, accept: str, sent: str) -> None:
    response = caller.call("GET", V2, headers={"Accept": accept})

    assert (response.code, response.content_type) == (200, sent)


def test_other_forms_are_not_acceptable(caller: Caller) -> None:
    assert caller.call("GET", V2, headers={"Accept": "application/yaml"}).code == 406


def test_it_is_compressed_for_those_who_take_it(caller: Caller) -> None:
    plain = caller.call("GET", V2)
    packed = caller.call("GET", V2, headers={"Accept-Encoding": "deflate, gzip;q=0.5"})

    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert packed.headers["etag"] == plain.headers["etag"]
    refused = caller.call("GET", V2, headers={"Accept-Encoding": "gzip;q=0"})
    assert refused.body == plain.body


def test_it_is_revalidated_by_its_tag(caller: Caller) -> None:
    first = caller.call("GET", V2)
    conditions = {"If-None-Match": first.headers["etag"], "Accept-Encoding": "gzip"}

    again = caller.call("GET", V2, headers=conditions)

    assert (again.code, again.body) == (304, b"")
    assert "content-encoding" not in again.headers


@pytest.mark.parametrize("path", ["/openapi/v2/", "/openapi/v2/apis"])
def test_nothing_is_below_it(caller: Caller, path: str) -> None:
    assert caller.call("GET", path).body == b"404 page not found\n"
