"""Reports of health checks, as kube-apiserver writes them."""

from __future__ import annotations

import pytest

from masthead_server.storage import JournalError, Storage
from masthead_server.verbs.health import Check, Health, check_all, report
from masthead_server.wire.request import ApiRequest


def test_a_report_has_a_line_for_each_check_and_the_outcome() -> None:
    checks = [Check("ping"), Check("etcd", is_excluded=True)]

    assert report("readyz", checks, ["etcd"]) == "[+]ping ok\n[+]etcd excluded: ok\nreadyz check passed\n"


def test_a_report_withholds_the_reasons_of_failures() -> None:
    checks = [Check("ping"), Check("etcd", "the disk is full")]

    assert report("livez", checks, []) == "[+]ping ok\n[-]etcd failed: reason withheld\nlivez check failed\n"


def test_a_report_warns_of_unknown_exclusions_in_their_order() -> None:
    assert report("healthz", [Check("ping")], ["no", "ping", 'a"b', "no"]) == (
        '[+]ping ok\nwarn: some health checks cannot be excluded: no matches for "a\\"b","no"\nhealthz check passed\n'
    )


def test_an_excluded_check_is_not_made() -> None:
    made: list[str] = []

    def find_problem(name: str) -> str:
        made.append(name)
        return ""

    assert check_all(("ping", "etcd"), ["etcd"], find_problem) == [Check("ping"), Check("etcd", is_excluded=True)]
    assert made == ["ping"]


class FullStorage(Storage):
    """A storage that cannot write."""

    def check_writable(self) -> None:
        raise JournalError("the disk is full")


@pytest.mark.parametrize(
    ("path", "query", "code", "body"),
    [
        (
            "/readyz",
            {},
            500,
            (
                "[+]ping ok\n[+]log ok\n[-]etcd failed: reason withheld\n[-]etcd-readiness failed: reason withheld\n"
                "readyz check failed\n"
            ),
        ),
        ("/livez", {"exclude": ["etcd"]}, 200, "ok"),
        ("/livez/etcd", {}, 500, "internal server error: the disk is full\n"),
        ("/livez/ping", {}, 200, "ok"),
    ],
)
def test_a_server_that_cannot_store_writes_is_unhealthy(
    path: str, query: dict[str, list[str]], code: int, body: str
) -> None:
    found = Health(FullStorage()).respond(ApiRequest("GET", path, query))

    assert found is not None
    assert (found.code, found.body.decode(), found.content_type) == (code, body, "text/plain; charset=utf-8")


@pytest.mark.parametrize("path", ["/", "/readyz/nonsense", "/livez/etcd-readiness", "/readyz/ping/more", "/version"])
def test_other_paths_are_not_about_health(path: str) -> None:
    assert Health(Storage()).respond(ApiRequest("GET", path)) is None
