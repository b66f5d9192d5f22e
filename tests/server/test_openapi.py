"""OpenAPI over HTTP: the index, documents, their caching, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import Caller

if TYPE_CHECKING:
    from masthead.server import Server

APPS = "/openapi/v3/apis/apps/v1"


def index(caller: Caller) -> dict[str, str]:
    response = caller.call("GET", "/openapi/v3")
    assert response.code == 200
    return {name: entry["serverRelativeURL"] for name, entry in response.json["paths"].items()}


def test_the_index_is_json_that_claims_to_be_text(caller: Caller) -> None:
    response = caller.call("GET", "/openapi/v3")

    assert response.content_type == "text/plain; charset=utf-8"
    assert "apis/apps/v1" in response.json["paths"]


def test_every_url_of_the_index_leads_to_a_document_that_never_expires(caller: Caller) -> None:
    for url in index(caller).values():
        response = caller.call("GET", url)

        assert (response.code, response.content_type) == (200, "application/json"), url
        assert response.headers["cache-control"] == "public, immutable"
        assert response.headers["expires"].endswith(" UTC")
        assert response.headers["vary"] == "Accept"
        assert response.json["openapi"] == "3.0.0"


def test_a_document_without_a_hash_is_revalidated(caller: Caller) -> None:
    first = caller.call("GET", APPS)

    assert first.headers["cache-control"] == "no-cache, private"
    assert "expires" not in first.headers
    again = caller.call("GET", APPS, headers={"If-None-Match": first.headers["etag"]})
    assert (again.code, again.body) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]


@pytest.mark.parametrize("condition", ["*", "W/{etag}", '"other", {etag}'])
def test_conditions_may_name_several_tags(caller: Caller, condition: str) -> None:
    etag = caller.call("GET", APPS).headers["etag"]

    assert caller.call("GET", APPS, headers={"If-None-Match": condition.format(etag=etag)}).code == 304


def test_an_outdated_hash_is_redirected_to_the_present_one(caller: Caller) -> None:
    response = caller.call("GET", f"{APPS}?hash=0123")

    assert (response.code, response.body) == (301, b"")
    assert response.headers["location"] == index(caller)["apis/apps/v1"]


@pytest.mark.parametrize("accept", ["", "*/*", "application/*", "application/json;q=0.9", "text/html, */*"])
def test_json_is_sent_to_those_who_take_it(caller: Caller, accept: str) -> None:
    assert caller.call("GET", APPS, headers={"Accept": accept}).code == 200


@pytest.mark.parametrize("accept", ["text/html", "application/yaml", "application/vnd.kubernetes.protobuf"])
def test_other_types_are_not_acceptable(caller: Caller, accept: str) -> None:
    response = caller.call("GET", APPS, headers={"Accept": accept})

    assert (response.code, response.body, response.headers["vary"]) == (406, b"", "Accept")


@pytest.mark.parametrize("path", ["/openapi/v3/", f"{APPS}/", "/openapi/v3/nothing", "/openapi/v3/apis/nothing/v1"])
def test_other_paths_are_not_found(caller: Caller, path: str) -> None:
    response = caller.call("GET", path)

    assert (response.code, response.body) == (404, b"")


@pytest.mark.parametrize("path", ["/openapi", "/openapi/v4", "/openapi/v31"])
def test_paths_beside_have_the_page_of_unknown_ones(caller: Caller, path: str) -> None:
    assert caller.call("GET", path).body == b"404 page not found\n"


def test_any_method_reads_a_document(caller: Caller) -> None:
    assert caller.call("POST", APPS, body=b"{}").body == caller.call("GET", APPS).body


def test_the_first_requests_may_come_at_once(server: Server) -> None:
    def read(_: int) -> Any:
        caller = Caller(server.url, server.token)
        try:
            return index(caller)
        finally:
            caller.close()

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(read, range(8)))

    assert all(each == found[0] for each in found)


@pytest.mark.slow
def test_nothing_of_it_is_imported_before_the_first_request() -> None:
    program = (
        "import sys, urllib.request, masthead.server\n"
        "with masthead.server.run(token=None) as server:\n"
        "    assert not [each for each in sys.modules if each.startswith('masthead_server.openapi')]\n"
        "    assert 'masthead._schema.builtin.facts' not in sys.modules\n"
        "    urllib.request.urlopen(server.url + '/openapi/v3').read()\n"
        "    assert 'masthead._schema.builtin.facts' in sys.modules\n"
    )

    subprocess.run([sys.executable, "-c", program], check=True)
