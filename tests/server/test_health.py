"""The health endpoints of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.server.calls import Caller

import masthead.server

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def caller() -> Iterator[Caller]:
    with masthead.server.run(bootstrap=False) as server:
        made = Caller(server.url, server.token)
        yield made
        made.close()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/readyz", "ok"),
        ("/readyz?verbose", "[+]ping ok\n[+]log ok\n[+]etcd ok\n[+]etcd-readiness ok\nreadyz check passed\n"),
        ("/livez?verbose=false", "[+]ping ok\n[+]log ok\n[+]etcd ok\nlivez check passed\n"),
        (
            "/healthz?verbose&exclude=log&exclude=nope",
            (
                "[+]ping ok\n[+]log excluded: ok\n[+]etcd ok\n"
                'warn: some health checks cannot be excluded: no matches for "nope"\nhealthz check passed\n'
            ),
        ),
        ("/readyz?exclude=nope", "ok"),
        ("/livez/etcd", "ok"),
        ("/readyz/ping?verbose", "ok"),
    ],
)
def test_checks_are_listed_on_request(caller: Caller, path: str, body: str) -> None:
    found = caller.call("GET", path)

    assert (found.code, found.body.decode()) == (200, body)
    assert found.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("path", ["/readyz/nope", "/livez/etcd-readiness", "/healthz/ping/more", "/livez/"])
def test_an_unknown_check_does_not_exist(caller: Caller, path: str) -> None:
    found = caller.call("GET", path)

    assert (found.code, found.body) == (404, b"404 page not found\n")


def test_checks_are_listed_among_the_paths(caller: Caller) -> None:
    assert {"/healthz/ping", "/livez/etcd", "/readyz/etcd-readiness"} < set(caller.call("GET", "/").json["paths"])
